"""One job at length: why it waits and what would let it start, or why it runs where it runs.

What would let it start is tried, change by change: the round is changed so, and a plan is written that
starts the job beside all else that the plan does; only what the verifier accepts is told. What together
excludes it is proved by counting: with all that is named in place no domain has room, and without any one of
it some domain has, by that count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from gangplan.domain.cluster import Node, NodeHealth
from gangplan.domain.job import OPEN, TaskPlacement
from gangplan.domain.plan import Action, Counterfactual, Plan, Verdict, VerdictKind
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.judge import Judge
from gangplan.engine.practice import compile_loops
from gangplan.engine.recommend import Place, adopted, by_worth, known_job, make_room, occupancy_of, recommend
from gangplan.model.instance.free_blocks import with_free_blocks
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.packing.adopt import as_assigned
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.fill import ways_to_place
from gangplan.model.packing.occupancy import Fit
from gangplan.model.verifier.facts import round_facts
from gangplan.model.words.explain import explain, fits_by_counting

_MOST_COPIES = 8
_ALTERNATIVES = 5
_BY_PLACE = frozenset(
    {VerdictKind.NO_FIT_NOW, VerdictKind.NOT_CHOSEN, VerdictKind.NOT_FOUND_IN_BUDGET, VerdictKind.NEVER_FITS}
)


@dataclass(frozen=True, slots=True)
class Explained:
    """One job of a plan at length.

    Attributes:
        verdict: why it waits; None: it has a place.
        action: what the plan does with it; None: it waits.
        alternatives: other places beside all else that the plan does, best first.
        margin: what its place is worth more than the best other; None: it waits, or there is no other.
        message: all of it in a sentence.
    """

    verdict: Verdict | None
    action: Action | None
    alternatives: tuple[Place, ...]
    margin: float | None
    message: str


def explain_job(
    round_: Round, plan: Plan, job: str, *, budget: Budget | None = None, finished: bool = False
) -> Explained:
    """Explain what a plan does with one job.

    Args:
        round_: the round, with the outlook that the plan follows.
        plan: a plan for it.
        job: the job's name.
        budget: when to be done; what has not been tried by then is not told. None: no limit.
        finished: whether the plan is known to be the best, so that another use is known to be worth more.

    Raises:
        InvalidInputError: there is no such job, or the plan breaks a rule.
    """
    if budget is None:
        compile_loops()
        budget = Budget(None)
    known_job(round_, job)
    action = next((one for one in plan.actions if one.job == job and one.placements), None)
    if action is not None:
        return _why_here(round_, plan, action, budget)
    instance = with_free_blocks(build_instance(round_))
    j = instance.job_index[job]
    assignment, _ = adopted(Judge(instance, round_facts(round_), budget), plan)
    verdict = next(each for each in explain(instance, assignment, finished=finished) if each.job == job)
    if verdict.code == "NO_ARRANGEMENT" and not finished and starts(round_, job, plan) is not None:
        message = "there is room for it beside the plan, and the search ended before it was taken"
        verdict = replace(verdict, code="SEARCH_STOPPED", message=message)
    else:
        changes = _Changes(instance, j, plan, assignment, verdict, budget)
        verdict = replace(
            verdict, conflict_set=changes.conflict_set(), counterfactuals=tuple(changes.counterfactuals())
        )
    message = f"{job} waits: {verdict.message}"
    if verdict.counterfactuals:
        message += f"; it {verdict.counterfactuals[0].message}"
    evict = next((one for one in plan.actions if one.job == job), None)
    return Explained(verdict, evict, (), None, message)


def _why_here(round_: Round, plan: Plan, action: Action, budget: Budget) -> Explained:
    """Its place beside the others that there are for it, all others staying where the plan has them."""
    found = recommend(
        round_, action.job, budget=budget, limit=_ALTERNATIVES + 1, evictions=False, beside=plan
    )
    mine = [place for place in found.places if _placements(place, action.job) == action.placements]
    others = tuple(place for place in found.places if _placements(place, action.job) != action.placements)
    here = f"{action.job} runs on {', '.join(sorted({place.node for place in action.placements}))}"
    if not mine or not others:
        return Explained(
            None, action, others, None, f"{here}: there is no other place beside the rest of the plan"
        )
    margin = mine[0].value - others[0].value
    nodes = ", ".join(sorted({place.node for place in _placements(others[0], action.job)}))
    if abs(margin) <= 1e-9:
        message = f"{here}; on {nodes} it would be worth the same"
    else:
        word = "less" if margin > 0 else "more"
        message = f"{here}; the next best place, on {nodes}, is worth {abs(margin):.3f} {word}"
    return Explained(None, action, others, margin, message)


def _placements(place: Place, job: str) -> tuple[TaskPlacement, ...]:
    return next(one.placements for one in place.plan.actions if one.job == job)


class _Changes:
    """What excludes one waiting job, and what would let it start.

    Args:
        instance: the round as arrays.
        j: the job.
        plan: in which it waits.
        assignment: the same by index.
        verdict: why the job waits.
        budget: when to stop trying.
    """

    def __init__(
        self,
        instance: Instance,
        j: int,
        plan: Plan,
        assignment: Assignment,
        verdict: Verdict,
        budget: Budget,
    ) -> None:
        self.instance, self.j, self.plan, self.assignment = instance, j, plan, assignment
        self.verdict, self.budget = verdict, budget
        self.round = instance.round
        self.name = instance.jobs[j].name

    def conflict_set(self) -> tuple[str, ...]:
        """Names of what together excludes it; empty where nothing is proved."""
        verdict = self.verdict
        if self.name in self.instance.gated and self.instance.jobs[self.j].running is None:
            return (f"gate:{verdict.code}",)
        if verdict.code == "QUEUE_LIMIT":
            queue = self._queue()
            return () if queue is None else (f"queue:{queue}",)
        if verdict.kind not in _BY_PLACE or verdict.kind is VerdictKind.NEVER_FITS:
            return ()
        if verdict.code == "NODES_CLOSED":
            return tuple(f"node:{name}" for name in self._closed_needed())
        held = self._holders()
        if not held or self._fits(set(held)):
            return ()
        for i in by_worth(self.instance, sorted(held)):
            if self.budget.exhausted:
                return ()
            if not self._fits(held - {i}):
                held.discard(i)
        return tuple(sorted(f"job:{self.instance.jobs[i].name}" for i in held))

    def counterfactuals(self) -> Iterator[Counterfactual]:
        """Changes with which it starts, each tried alone."""
        for tries in (self._open_gate, self._raise_limit, self._open_nodes, self._end_jobs, self._add_nodes):
            if self.budget.exhausted:
                return
            found = tries()
            if found is not None:
                yield found

    def _starts(self, changed: Round) -> bool:
        return starts(changed, self.name, self.plan) is not None

    def _fits(self, beside: set[int]) -> bool:
        """Whether counting finds room beside what these jobs hold in the plan."""
        kept = self.assignment.kept & beside
        placed = {i: place for i, place in self.assignment.placed.items() if i in beside}
        occupancy = occupancy_of(self.instance, Assignment(kept=kept, placed=placed))
        return fits_by_counting(self.instance, self.j, occupancy)

    def _holders(self) -> set[int]:
        return set(self.assignment.kept) | set(self.assignment.placed)

    def _open_gate(self) -> Counterfactual | None:
        if self.name not in self.instance.gated:
            return None
        opened = _changed(self.round, self.name, lambda job: replace(job, gate=OPEN))
        if not self._starts(opened):
            return None
        return Counterfactual(f"starts once its gate {self.verdict.code} is open", gate=self.verdict.code)

    def _queue(self) -> str | None:
        """The one queue whose limit alone keeps it, if there is one."""
        found = self._raise_limit()
        return None if found is None else found.queue

    def _raise_limit(self) -> Counterfactual | None:
        if self.verdict.code != "QUEUE_LIMIT":
            return None
        parents = {queue.name: queue.parent for queue in self.round.queues}
        here = self.instance.jobs[self.j].queue
        chain = []
        while here is not None:
            chain.append(here)
            here = parents[here]
        most = sum(
            max(group.allowed_counts) * group.devices_per_task
            for group in self.instance.jobs[self.j].component.task_groups
        )
        for name in chain:
            for amount in range(1, most + 1):
                if self.budget.exhausted:
                    return None
                if self._starts(raised(self.round, name, amount)):
                    devices = "1 device" if amount == 1 else f"{amount} devices"
                    return Counterfactual(
                        f"starts with {devices} more under the limit of queue {name}",
                        queue=name,
                        resource="devices",
                        amount=amount,
                    )
        return None

    def _closed_needed(self) -> tuple[str, ...]:
        """Closed nodes without any of which, were the others open, it would not start.

        What stands on a node may depend on its being open, too: a claim or a promise comes into force, and
        may take what the job needs elsewhere; who runs there is not forced off any more. So all are tried,
        then those without claims of others, without running jobs, and without either.
        """
        every = {node.name for node in self.round.cluster.nodes if _is_closed(node)}
        others = [(each.job, each.placements) for each in self.round.claims]
        others += [(each.job, each.placements) for each in self.round.reservations]
        owed = {place.node for job, places in others if job != self.name for place in places}
        held = {place.node for job in self.round.jobs if job.running for place in job.running.placements}
        tries = dict.fromkeys(frozenset(every - some) for some in (set[str](), owed, held, owed | held))
        closed = frozenset[str]()
        for some in tries:
            if some and not self.budget.exhausted and self._starts(opened(self.round, some)):
                closed = some
                break
        for name in sorted(closed):
            if self.budget.exhausted:
                break
            fewer = closed - {name}
            if self._starts(opened(self.round, fewer)):
                closed = fewer
        return tuple(sorted(closed))

    def _open_nodes(self) -> Counterfactual | None:
        if self.verdict.code == "QUEUE_LIMIT" or self.name in self.instance.gated:
            return None
        nodes = self._closed_needed()
        if not nodes:
            return None
        return Counterfactual(f"starts once {_listed('node', nodes)} may be used again", nodes=nodes)

    def _end_jobs(self) -> Counterfactual | None:
        """Jobs that would have to end, or not to start: as few and as little worth as were found."""
        if self.verdict.kind is VerdictKind.NEVER_FITS or self.name in self.instance.gated:
            return None
        instance = self.instance
        running = [i for i in self._holders() if instance.jobs[i].running is not None]
        starting = [i for i in self._holders() if instance.jobs[i].running is None]
        order = [*sorted(starting), *by_worth(instance, sorted(running))]
        job_class = instance.classes[int(instance.class_of_job[self.j])]
        best: tuple[int, ...] | None = None
        for k in range(job_class.start, job_class.stop):
            found = make_room(instance, self.assignment, k, order, self.budget)
            if found is not None and (best is None or len(found[2]) < len(best)):
                best = found[2]
        if not best:
            return None
        names = tuple(sorted(instance.jobs[i].name for i in best))
        if not self._starts(without_jobs(self.round, names)):
            return None
        ends = any(instance.jobs[i].running is not None for i in best)
        verb = (
            ("ends" if len(names) == 1 else "end")
            if ends
            else "does not start"
            if len(names) == 1
            else "do not start"
        )
        return Counterfactual(f"fits if {_listed('job', names)} {verb}", jobs=names)

    def _add_nodes(self) -> Counterfactual | None:
        """Copies of a node, in its own domain: the fewest that are enough."""
        if self.verdict.code == "QUEUE_LIMIT" or self.name in self.instance.gated:
            return None
        templates: dict[object, Node] = {}
        for node in sorted(self.round.cluster.nodes, key=lambda node: node.name):
            shape = (node.domain, node.accelerator_type, node.device_count, node.resources)
            templates.setdefault(shape, node)
        best: Counterfactual | None = None
        for node in sorted(templates.values(), key=lambda node: (node.device_count, node.name)):
            for copies in range(1, _MOST_COPIES + 1):
                if self.budget.exhausted or (best is not None and copies >= best.copies):
                    break
                if self._starts(with_copies(self.round, node.name, copies)):
                    amount = copies * (node.device_count or node.resources.cpu_milli)
                    what = "1 node" if copies == 1 else f"{copies} nodes"
                    where = f" in {node.domain}" if node.domain else ""
                    best = Counterfactual(
                        f"fits with {what} more like {node.name}{where}",
                        node_like=node.name,
                        copies=copies,
                        resource="devices" if node.device_count else "cpu",
                        amount=amount,
                        level=self.verdict.level,
                    )
                    break
        return best


def starts(round_: Round, job: str, plan: Plan) -> Plan | None:
    """A plan that starts a job beside all else that another plan does, verified; None: none was found.

    A change may bring claims into force, and promises that are due: who has one starts there, too.

    Args:
        round_: the round, maybe changed since ``plan`` was made.
        job: the job's name.
        plan: what is said of jobs that are not there any more is passed over.
    """
    instance = build_instance(round_)
    j = instance.job_index[job]
    if job in instance.gated and instance.jobs[j].running is None:
        return None
    there = replace(plan, actions=tuple(one for one in plan.actions if one.job in instance.job_index))
    others = as_assigned(instance, there)
    if others is None:
        return None
    owed = {i for i in instance.placements if instance.jobs[i].running is None} - others.placed.keys()
    others = Assignment(
        (others.kept - {j}) | (owed - {j}), {i: p for i, p in others.placed.items() if i != j}
    )
    judge = Judge(instance, round_facts(round_), Budget(None))
    if j in owed:
        found = judge.consider("start", replace(others, kept=others.kept | {j}))
        return None if found is None else found.plan
    occupancy = occupancy_of(instance, others)
    job_class = instance.classes[int(instance.class_of_job[j])]
    for k in range(job_class.start, job_class.stop):
        if occupancy.members_allowed(job_class, instance.option_at(k)) < 1:
            continue
        for placed in ways_to_place(occupancy, k, Fit.BEST):
            found = judge.consider("start", replace(others, placed={**others.placed, j: placed}))
            if found is not None:
                return found.plan
            break
    return None


def applied(round_: Round, job: str, change: Counterfactual) -> Round:
    """The round with a counterfactual's change."""
    if change.gate:
        return _changed(round_, job, lambda one: replace(one, gate=OPEN))
    if change.queue:
        return raised(round_, change.queue, change.amount)
    if change.node_like:
        return with_copies(round_, change.node_like, change.copies)
    if change.nodes:
        return opened(round_, change.nodes)
    return without_jobs(round_, change.jobs)


def _changed(round_: Round, name: str, change: Callable[..., object]) -> Round:
    jobs = tuple(change(job) if job.name == name else job for job in round_.jobs)
    return replace(round_, jobs=jobs)  # type: ignore[arg-type]


def raised(round_: Round, queue: str, amount: int) -> Round:
    """With higher limits of one queue, in all and by type."""
    return replace(
        round_,
        queues=tuple(
            replace(
                one,
                device_limit=None if one.device_limit is None else one.device_limit + amount,
                device_limit_by_type={
                    kind: limit + amount for kind, limit in one.device_limit_by_type.items()
                },
            )
            if one.name == queue
            else one
            for one in round_.queues
        ),
    )


def opened(round_: Round, names: Iterable[str]) -> Round:
    """With closed nodes open and in order."""
    some = set(names)
    return _with_nodes(
        round_,
        (
            replace(node, cordoned=False, health=NodeHealth.HEALTHY, drain_time=None)
            if node.name in some
            else node
            for node in round_.cluster.nodes
        ),
    )


def with_copies(round_: Round, name: str, copies: int) -> Round:
    """With so many more nodes like one, empty, open and in order."""
    like = next(node for node in round_.cluster.nodes if node.name == name)
    fresh = Node(
        name="",
        domain=like.domain,
        accelerator_type=like.accelerator_type,
        device_count=like.device_count,
        resources=like.resources,
        device_reporting=like.device_reporting,
        labels=like.labels,
        taints=like.taints,
    )
    taken = {node.name for node in round_.cluster.nodes}
    names = [f"{name}+{number}" for number in range(1, copies + len(taken) + 1)]
    added = [replace(fresh, name=free) for free in names if free not in taken][:copies]
    return _with_nodes(round_, (*round_.cluster.nodes, *added))


def without_jobs(round_: Round, names: Iterable[str]) -> Round:
    """Without some jobs, and without what was claimed by or promised to them."""
    gone = set(names)
    return replace(
        round_,
        jobs=tuple(job for job in round_.jobs if job.name not in gone),
        claims=tuple(claim for claim in round_.claims if claim.job not in gone),
        reservations=tuple(each for each in round_.reservations if each.job not in gone),
    )


def _with_nodes(round_: Round, nodes: Iterable[Node]) -> Round:
    return replace(round_, cluster=replace(round_.cluster, nodes=tuple(nodes)))


def _is_closed(node: Node) -> bool:
    return node.cordoned or node.health is not NodeHealth.HEALTHY or node.drain_time is not None


def _listed(noun: str, names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return f"{noun} {names[0]}"
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"{noun}s {shown}"
