"""Plans of one round share what the round alone says: whatever was judged before, a plan is judged alike."""

import random
from collections import Counter
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gangplan.domain.plan import Plan
from gangplan.model.constraints import capacity, quota
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.fill import keep_and_fill, keep_only
from gangplan.model.packing.order import make_plan
from gangplan.model.terms import deadline, terms
from gangplan.model.verifier import starts
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.outcome import Status
from gangplan.model.verifier.outcome_table import table_of
from gangplan.model.verifier.reading import read_plan
from gangplan.model.verifier.verify import verify
from gangplan.testing.mutations import mutants
from gangplan.testing.strategies import rounds
from gangplan.testing.strategies.plans import plans

from .corpus import CORPUS
from .planned import drawn, planned

MUTANTS = 40
"""Most mutants of a plan that are judged."""


def some_plans(round_, seed, more=()):
    """Good plans of ``round_``, mutants of them that leave the round as it is, and no plan at all, in any
    order and some of them twice."""
    instance = build_instance(round_)
    good = [make_plan(instance, keep_only(instance)), make_plan(instance, keep_and_fill(instance))]
    good += [planned(round_, pipeline="greedy").plan, Plan()]
    draw = random.Random(seed)
    found = list(more)
    for plan in good:
        broken = [mutant.plan for mutant in mutants(round_, plan) if mutant.round_ is round_]
        found += [plan, *draw.sample(broken, min(MUTANTS, len(broken)))]
    found += draw.sample(found, min(5, len(found)))
    draw.shuffle(found)
    return found


def in_columns(round_, plan, facts):
    """Judged with every plain start read as columns, and whether there was one."""
    with patch.object(starts, "FEW", 0):
        found = read_plan(plan, facts)
        return verify(round_, plan, facts), found.starts is not None


def judged_alike(round_, some):
    """Plans judged one after the other, starts read as columns, are judged as each is alone, read one by one:
    too small to have columns.
    """
    shared = round_facts(round_)
    seen = Counter()
    for plan in some:
        (mine, columns), fresh = in_columns(round_, plan, shared), verify(round_, plan)
        assert mine == fresh
        seen["starts"] += columns
        seen["valid" if mine.valid else "broken"] += 1
    return seen


@settings(drawn, max_examples=max(20, settings().max_examples // 2))
@given(rounds("small"), st.integers(0, 2**32))
def test_a_plan_is_judged_alike_whatever_was_judged_before(round_, seed):
    seen = judged_alike(round_, some_plans(round_, seed))
    event(f"both valid and broken: {bool(seen['valid'] and seen['broken'])}")
    event(f"starts in columns: {seen['starts'] > 0}")
    assert seen["valid"]


@settings(drawn, max_examples=max(20, settings().max_examples // 2))
@given(st.data(), rounds("small"), st.integers(0, 2**32))
def test_nonsense_is_judged_alike_and_spoils_nothing(data, round_, seed):
    judged_alike(round_, some_plans(round_, seed, data.draw(st.lists(plans(round_), max_size=4))))


@pytest.mark.parametrize("name", CORPUS)
def test_plans_of_the_corpus_are_judged_alike(name):
    seen = judged_alike(CORPUS[name], some_plans(CORPUS[name], 0))
    assert seen["valid"]
    assert seen["broken"]
    assert seen["starts"] or name in {"gang", "grow", "broken"}  # two groups, and who runs already


@settings(drawn, max_examples=max(20, settings().max_examples // 2))
@given(rounds("small"), st.integers(0, 2**32))
def test_what_a_plan_leaves_is_the_sum_of_what_all_jobs_hold(round_, seed):
    """The verifier adds up what a plan changes; here, all jobs."""
    facts = round_facts(round_)
    parents = {queue.name: queue.parent for queue in round_.queues}
    for plan in some_plans(round_, seed):
        with patch.object(starts, "FEW", 0):
            found = read_plan(plan, facts)
        held, in_queue = Counter(), Counter()
        starting = set()
        for change in found.changes.values():
            groups = {group.name: group for group in change.job.component.task_groups}
            if change.status is not Status.KEPT:
                starting |= {node for _, node in change.started}
            for (name, node), part in change.after.items():
                group, where = groups[name], facts.nodes[node]
                held[node, "cpu"] += part.tasks * group.resources_per_task.cpu_milli
                held[node, "memory"] += part.tasks * group.resources_per_task.memory_bytes
                held[node, "device-count"] += part.tasks * group.devices_per_task
                queue = change.job.queue
                while queue is not None:
                    in_queue[queue, None] += part.tasks * group.device_milli
                    if where.accelerator_type is not None:
                        in_queue[queue, where.accelerator_type] += part.tasks * group.device_milli
                    queue = parents[queue]
        final = capacity.final_use(found)
        assert set(final) == starting
        for node, use in final.items():
            for dimension in ("cpu", "memory", "device-count"):
                assert capacity.amount(use, dimension) == held[node, dimension], (node, dimension)
        assert Counter(quota.final_use(found)) == in_queue


@settings(drawn, max_examples=max(20, settings().max_examples // 2))
@given(rounds("small"), st.integers(0, 2**32))
def test_every_job_s_worth_is_its_terms_one_by_one(round_, seed):
    facts = round_facts(round_)
    for plan in some_plans(round_, seed):
        judged = verify(round_, plan, facts)
        at_stake = {n: o for n, o in judged.outcomes.items() if o.status is not Status.WAITING}
        assert dict(judged.worth) == {
            name: {
                term.NAME: term.weight(round_) * float(term.evaluate(alone)[0])
                if term.SPREAD_OVER_HORIZON or not deadline.lost(alone)[0]
                else 0.0
                for term in terms()
            }
            for name, alone in ((name, table_of([outcome], facts)) for name, outcome in at_stake.items())
        }
