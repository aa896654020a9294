"""The verifier: it catches every mutation, never raises, and sees through names and orders (decision 39,
P13)."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.domain.round import Round
from gangplan.errors import TooManyPlansError
from gangplan.model.constraints import constraints
from gangplan.model.constraints.order import worst_use
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.outcomes import outcomes
from gangplan.model.verifier.verify import verify
from gangplan.testing.enumerate import best_plan
from gangplan.testing.mutations import mutants, mutations
from gangplan.testing.strategies import rounds
from gangplan.testing.strategies.plans import plans

from .corpus import CORPUS

RULES = [rule for family in constraints() for rule in family.RULES]


def best(round_):
    """The best plan; rounds that are too large are passed over."""
    try:
        return best_plan(round_, max_plans=3_000).plan
    except TooManyPlansError:
        assume(False)


def missed(round_, plan):
    """Mutants whose broken rule the verifier does not name."""
    return [
        mutant
        for mutant in mutants(round_, plan)
        if all(violation.rule != mutant.rule for violation in verify(mutant.round_, mutant.plan).violations)
    ]


@pytest.fixture(scope="module")
def caught():
    """How many mutants of the corpus are caught, by rule."""
    found = Counter()
    for round_ in CORPUS.values():
        plan = best_plan(round_).plan
        for mutant in mutants(round_, plan):
            rules = {violation.rule for violation in verify(mutant.round_, mutant.plan).violations}
            found[mutant.rule] += mutant.rule in rules
    return found


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_hit_by_a_mutation(rule, caught):
    assert caught[rule] > 0


def test_every_mutation_breaks_a_rule_that_exists():
    assert set(mutations()) == set(RULES)


def test_a_mutation_stands_in_the_file_of_its_rule_s_family():
    for rule, known in mutations().items():
        assert {mutation.__module__.rpartition(".")[2] for mutation in known} == {rule.partition(".")[0]}


@pytest.mark.parametrize("name", CORPUS)
def test_no_mutation_of_the_corpus_escapes(name):
    assert missed(CORPUS[name], best_plan(CORPUS[name]).plan) == []


@given(rounds("tiny"))
def test_no_mutation_of_a_drawn_plan_escapes(round_):
    assert missed(round_, best(round_)) == []


@given(st.data(), rounds("small"))
def test_it_never_raises_and_never_lets_nonsense_pass(data, round_):
    plan = data.draw(plans(round_))
    verification = verify(round_, plan)
    assert set(verification.outcomes) == {job.name for job in round_.jobs}
    assert verification.outcomes == outcomes(round_, plan)
    known = {job.name for job in round_.jobs}
    sane = {action.job for action in plan.actions} <= known and len({a.job for a in plan.actions}) == len(
        plan.actions
    )
    running = {job.name for job in round_.jobs if job.running} <= {action.job for action in plan.actions}
    event(f"valid: {verification.valid}")
    assert not verification.valid or (sane and running)


def shuffled(round_: Round, plan: Plan, seed: int) -> tuple[Round, Plan]:
    """The same round and plan with every list in another order."""
    draw = random.Random(seed)

    def mix(values):
        return tuple(draw.sample(list(values), len(values)))

    def mixed(job):
        groups = job.component.task_groups
        first = next((g for g in groups if g.devices_per_task), groups[0])
        order = (first, *mix([g for g in groups if g is not first]))
        running = job.running and replace(job.running, placements=mix(job.running.placements))
        return replace(job, component=replace(job.component, task_groups=order), running=running)

    cluster = round_.cluster
    tree = replace(cluster.topology, domains=mix(cluster.topology.domains))
    changed = replace(
        round_,
        cluster=replace(cluster, topology=tree, nodes=mix(cluster.nodes)),
        accelerators=mix(round_.accelerators),
        queues=mix(round_.queues),
        jobs=mix([mixed(job) for job in round_.jobs]),
        profiles=mix(round_.profiles),
    )
    actions = [
        replace(
            action,
            placements=mix(action.placements),
            depends_on=mix(action.depends_on),
            beneficiaries=mix(action.beneficiaries),
        )
        for action in plan.actions
    ]
    return changed, replace(plan, actions=mix(actions))


def renaming(round_: Round) -> tuple[Round, Callable[[Plan], Plan]]:
    """The same round with every node, domain, queue, profile and job named anew, jobs in the same order; and
    what names those of a plan, and its actions, anew.
    """

    def new(name):
        return None if name is None else f"x/{name}"

    def moved(placements):
        return tuple(replace(placement, node=new(placement.node)) for placement in placements)

    def promised(promise):
        places = moved(promise.placements)
        return replace(promise, job=new(promise.job), domain=new(promise.domain), placements=places)

    tree = round_.cluster.topology
    domains = tuple(replace(d, name=new(d.name), parent=new(d.parent)) for d in tree.domains)
    nodes = tuple(replace(n, name=new(n.name), domain=new(n.domain)) for n in round_.cluster.nodes)
    jobs = []
    for job in round_.jobs:
        groups = tuple(replace(g, profile=new(g.profile)) for g in job.component.task_groups)
        running = job.running and replace(job.running, placements=moved(job.running.placements))
        jobs.append(
            replace(
                job,
                name=new(job.name),
                queue=new(job.queue),
                running=running,
                component=replace(job.component, task_groups=groups),
                gate=replace(job.gate, after_jobs=tuple(new(name) for name in job.gate.after_jobs)),
            )
        )
    changed = replace(
        round_,
        cluster=replace(round_.cluster, topology=replace(tree, domains=domains), nodes=nodes),
        queues=tuple(replace(q, name=new(q.name), parent=new(q.parent)) for q in round_.queues),
        jobs=tuple(jobs),
        profiles=tuple(replace(p, name=new(p.name)) for p in round_.profiles),
        claims=tuple(
            replace(claim, job=new(claim.job), placements=moved(claim.placements)) for claim in round_.claims
        ),
        reservations=tuple(map(promised, round_.reservations)),
        outlook=round_.outlook
        and replace(
            round_.outlook, jobs=tuple(replace(entry, job=new(entry.job)) for entry in round_.outlook.jobs)
        ),
    )

    def rename(plan: Plan) -> Plan:
        actions = tuple(
            replace(
                action,
                id=f"y/{action.id}" if action.id else "",
                job=new(action.job),
                placements=moved(action.placements),
                depends_on=tuple(f"y/{key}" for key in action.depends_on),
                beneficiaries=tuple(new(name) for name in action.beneficiaries),
                reservation=action.reservation and promised(action.reservation),
            )
            for action in plan.actions
        )
        return replace(plan, actions=actions)

    return changed, rename


def judged(round_, plan, facts=None):
    verification = verify(round_, plan, facts)
    return (
        Counter(v.rule for v in verification.violations),
        verification.objective,
        verification.objective_by_term,
    )


def sound(round_, plan):
    """The plan, and each mutant that keeps one action per job and one id per action: those have one
    reading."""
    yield round_, plan
    for mutant in mutants(round_, plan):
        ids = [action.id for action in mutant.plan.actions]
        jobs = [action.job for action in mutant.plan.actions]
        if (
            len(set(ids)) == len(ids)
            and len(set(jobs)) == len(jobs)
            and mutant.rule != "structure.device-order"
        ):
            yield mutant.round_, mutant.plan


@settings(max_examples=max(15, settings().max_examples // 4))
@given(rounds("tiny"), st.integers(0, 2**32))
def test_the_order_of_lists_does_not_matter(round_, seed):
    for some, plan in sound(round_, best(round_)):
        assert judged(some, plan) == judged(*shuffled(some, plan, seed))


@given(rounds("tiny"))
def test_names_do_not_matter(round_):
    known = {}  # most mutants are of the round itself
    for some, plan in sound(round_, best(round_)):
        if id(some) not in known:
            anew, rename = renaming(some)
            known[id(some)] = some, round_facts(some), anew, round_facts(anew), rename
        _, facts, anew, their_facts, rename = known[id(some)]
        precise = replace(plan, actions=tuple(replace(a, preconditions=()) for a in plan.actions))
        assert judged(some, precise, facts) == judged(anew, rename(precise), their_facts)


@given(rounds("medium"))
def test_keeping_everything_is_always_a_plan(round_):
    """Keep all that is physically alive, let go of the rest (decision 20): valid, whatever the round is
    like."""
    round_ = replace(round_, claims=())  # which must be taken besides
    facts = round_facts(round_)
    actions = []
    for job in round_.jobs:
        if job.running is None:
            continue
        forced = facts.forced.get(job.name)
        if forced is not None:
            actions.append(Action(f"a/{job.name}", ActionKind.EVICT, job.name, forced=forced))
            continue
        scope = facts.scope(placement.node for placement in job.running.placements)
        actions.append(
            Action(
                f"a/{job.name}",
                ActionKind.KEEP,
                job.name,
                job.running.placements,
                scope,
                facts.jobs[job.name].present_throughput,
            )
        )
    assert verify(round_, Plan(tuple(actions))).violations == ()


@st.composite
def steps(draw):
    """Starts and stops on one node: what they take and give, and who waits for whom."""
    gives = {f"s{i}": draw(st.integers(0, 5)) for i in range(draw(st.integers(0, 5)))}
    takes = {f"t{i}": draw(st.integers(0, 5)) for i in range(draw(st.integers(1, 5)))}
    awaited = {name: draw(st.sets(st.sampled_from(sorted(gives)))) if gives else set() for name in takes}
    return draw(st.integers(0, 4)) + sum(gives.values()), takes, gives, awaited, draw(st.integers(0, 25))


@given(steps())
def test_the_worst_step_is_that_of_all_reachable_steps(steps_):
    """The minimum cut against every set of starts."""
    present, takes, gives, awaited, allowed = steps_
    names = [name for name in takes if takes[name] > 0]
    uses = []
    for mask in range(1, 2 ** len(names)):
        some = [name for i, name in enumerate(names) if mask >> i & 1]
        stops = set().union(*(awaited[name] for name in some))
        uses.append(present + sum(takes[name] for name in some) - sum(gives[stop] for stop in stops))
    found, starts = worst_use(present, takes, gives, awaited, allowed)
    worst = max(uses, default=0)
    assert (found > allowed) == (worst > allowed)
    if worst > allowed:
        assert found == worst
        stops = set().union(*(awaited[name] for name in starts))
        assert present + sum(takes[n] for n in starts) - sum(gives[s] for s in stops) == worst
