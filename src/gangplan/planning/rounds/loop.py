"""One round after another: who is there, what the policy decides, what becomes of it."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gangplan.domain.cluster import NodeHealth
from gangplan.domain.job import WHOLE_DEVICE, Job
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import Action, ActionKind, Plan, RoundResult, VerdictKind
from gangplan.domain.round import Round
from gangplan.errors import BrokenPlanError
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.gates import counted_age
from gangplan.model.verifier.left import left_at
from gangplan.model.verifier.outcome import Outcome, Status
from gangplan.model.verifier.verify import verify
from gangplan.planning.policies.protocol import RoundPolicy, Steady
from gangplan.planning.predict.predictor import Predictor, Ran
from gangplan.planning.predict.traits import traits_of
from gangplan.planning.rounds.advance import advanced, begun, counted, started, stopped
from gangplan.planning.rounds.fair_self import Paces, completed, integrated, revised
from gangplan.planning.rounds.history import Arrival, Failure, History
from gangplan.planning.rounds.present import present_round
from gangplan.planning.rounds.standstill import stands_still
from gangplan.planning.rounds.state import FairSelf, JobState, State
from gangplan.planning.rounds.told import Telling, Told

_STARTS = frozenset({Status.STARTED, Status.MOVED, Status.RESIZED})
_STOPS = frozenset({Status.EVICTED, Status.MOVED, Status.RESIZED})
_EDGE = 1e-9
"""A round begins within so many of its lengths of an arrival: the arrival is in it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a history is played.

    Attributes:
        telling: what policies are told of the work.
        most_rounds: after so many it ends, whoever is left; positive.
        skip_steady: rounds in which nothing can change are passed without asking a policy that says so
            (:class:`~gangplan.planning.policies.protocol.Steady`).
        predictor: what is known at the beginning of how long jobs run.
    """

    telling: Telling = Telling()
    most_rounds: int = 10_000
    skip_steady: bool = True
    predictor: Predictor = Predictor()


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """One round, for those who watch.

    Attributes:
        number: of the round, from 0.
        round: what the policy saw.
        plan: what it decided.
        before, after: the world at its beginning and at its end.
        rounds: how many it stands for: more than one where nothing could change in those after it.
    """

    number: int
    round: Round
    plan: Plan
    before: State
    after: State
    rounds: int = 1


@dataclass(frozen=True, slots=True)
class Played:
    """A history that was played.

    Attributes:
        history: what was given.
        policy: name of the policy.
        settings: how it was played.
        state: the world at the end.
        paces: how fast its jobs are alone.
    """

    history: History
    policy: str
    settings: Settings
    state: State
    paces: Paces

    @property
    def finished(self) -> bool:
        """Whether all jobs have arrived and ended."""
        return self.state.arrived == len(self.history.arrivals) and not self.state.present


def play(
    history: History,
    policy: RoundPolicy,
    settings: Settings | None = None,
    *,
    on_round: Callable[[RoundRecord], None] | None = None,
    begin: State | None = None,
) -> Played:
    """Play a history until all its jobs have ended, or for ``settings.most_rounds``.

    Rounds in which nobody is there are skipped, and counted. So are those in which nothing can change where
    the policy says for how long that is; all is exact to the second all the same. It ends sooner where only
    jobs are left that the policy's verdicts say can never start: too large, or a strict deadline is lost.

    Args:
        history: what is given.
        policy: who decides.
        settings: how it is played.
        on_round: called after every round that is not skipped.
        begin: the world at the start of the round to go on with, of the same history, policy and settings;
            None: the beginning.

    Raises:
        BrokenPlanError: a plan of the policy breaks a rule.
    """
    settings = settings or Settings()
    world = _World(history, policy, settings)
    state = begin or State(now=history.template.now, predictor=settings.predictor)
    while state.totals.rounds < settings.most_rounds:
        state = world.skip(world.arrive(state))
        if not state.present:
            break
        record = world.step(state)
        state = record.after
        if on_round is not None:
            on_round(record)
        if world.over(record):
            break
    return Played(history, policy.name, settings, state, world.paces)


class _World:
    """What does not change from round to round."""

    def __init__(self, history: History, policy: RoundPolicy, settings: Settings) -> None:
        self._history = history
        self._policy = policy
        self._settings = settings
        # Ties by name, so that the order of the list means nothing.
        self._queue = sorted(history.arrivals, key=lambda a: (a.job.submit_time or 0.0, a.job.name))
        self._arrivals = {arrival.job.name: arrival for arrival in self._queue}
        self._milli_per_task = {
            arrival.job.name: {g.name: g.device_milli for g in arrival.job.component.task_groups}
            for arrival in self._queue
        }
        self.paces = Paces(history)
        self._failures: dict[str, list[Failure]] = {}
        for failure in sorted(history.failures, key=lambda failure: failure.begins):
            self._failures.setdefault(failure.node, []).append(failure)
        turns = {time for failure in history.failures for time in (failure.begins, failure.ends)}
        turns |= {node.drain_time for node in history.template.cluster.nodes if node.drain_time is not None}
        self._turns = sorted(turns)

    def arrive(self, state: State) -> State:
        """Let in who is submitted by now."""
        edge = state.now + _EDGE * self._length
        new: list[Arrival] = []
        while state.arrived + len(new) < len(self._queue):
            arrival = self._queue[state.arrived + len(new)]
            if (arrival.job.submit_time or 0.0) > edge:
                break
            new.append(arrival)
        if not new:
            return state
        joined = {arrival.job.name: self._begun(arrival, state) for arrival in new}
        return replace(state, live={**state.live, **joined}, arrived=state.arrived + len(new))

    def _begun(self, arrival: Arrival, state: State) -> JobState:
        job, telling = arrival.job, self._settings.telling
        fair = FairSelf(job.fair_progress, job.fair_finish_age)
        foreseen = telling.predicted(arrival, job.work_done, state.predictor, self.paces.reference(job.name))
        return replace(begun(arrival, state.now), fair=fair, fair_as_told=fair, foreseen=foreseen)

    def skip(self, state: State) -> State:
        """Go on to the next arrival's round when nobody is there; as it is when nobody comes any more."""
        if state.present or state.arrived == len(self._queue):
            return state
        arrival = self._queue[state.arrived].job.submit_time or 0.0
        empty = max(1, math.ceil((arrival - state.now) / self._length - _EDGE))
        empty = min(empty, self._settings.most_rounds - state.totals.rounds)
        totals = state.totals
        totals = replace(
            totals,
            rounds=totals.rounds + empty,
            skipped=totals.skipped + empty,
            capacity=totals.capacity + empty * self._length * self._history.devices,
        )
        skipped = replace(state, now=self._start_of(totals.rounds), answer=None, promises=(), totals=totals)
        return self.arrive(skipped) if totals.rounds < self._settings.most_rounds else skipped

    def step(self, state: State) -> RoundRecord:
        """One round, and those after it in which nothing can change.

        Raises:
            BrokenPlanError: the plan breaks a rule.
        """
        round_ = present_round(self._history, self._arrivals, state, self._settings.telling, self.paces)
        answer = self._policy.decide(round_, state.answer)
        plan = answer.plan if isinstance(answer, RoundResult) else answer
        if isinstance(answer, RoundResult):  # a plan is worth what it is under its outlook
            round_ = replace(round_, outlook=answer.outlook)
        facts = round_facts(round_)
        verification = verify(round_, plan, facts)
        if not verification.valid:
            raise BrokenPlanError(self._policy.name, state.totals.rounds, verification.violations)
        actions = {action.job: action for action in plan.actions}
        aside = _hopeless(answer)
        gates = facts.gates
        before = {job.name: job for job in round_.jobs}
        rounds = self._rounds_alike(state, round_, plan)
        seconds = rounds * self._length
        live: dict[str, JobState] = {}
        gone: dict[str, JobState] = {}
        for name, was in state.live.items():
            outcome = verification.outcomes[name]
            job = self._lived(state.now, seconds, name, was, outcome, actions.get(name))
            job = self._accounted(job, was, state, seconds, name)
            if was.running is None and name in gates:
                job = self._kept_behind(job, before[name], state.now, seconds)
            elif name not in aside:
                age = counted_age(before[name], state.now)
                job = self._fair(job, before[name], facts.jobs[name].isolated, age, seconds)
            (live if job.finished is None else gone)[name] = job
        live.update(_told(answer, plan, live))
        totals = replace(
            state.totals,
            rounds=state.totals.rounds + rounds,
            steady=state.totals.steady + rounds - 1,
            capacity=state.totals.capacity + seconds * _up(round_),
        )
        after = State(
            now=self._start_of(totals.rounds),
            live=live,
            ended={**state.ended, **gone} if gone else state.ended,
            arrived=state.arrived,
            answer=answer if isinstance(answer, RoundResult) else None,
            promises=_still_promised(state, plan, live | gone),
            totals=totals,
            predictor=self._learned(state, live | gone),
        )
        return RoundRecord(state.totals.rounds, round_, plan, state, after, rounds)

    def over(self, record: RoundRecord) -> bool:
        """Whether nothing happens after a round any more, though jobs are left."""
        state = record.after
        comes = state.arrived < len(self._queue) or (self._turns and self._turns[-1] > record.before.now)
        return not comes and not record.plan.actions and stands_still(state)

    def _rounds_alike(self, state: State, round_: Round, plan: Plan) -> int:
        """This round and those after it that are the same: until something happens, or may be decided."""
        policy, number = self._policy, state.totals.rounds
        if (
            not self._settings.skip_steady
            or not isinstance(policy, Steady)
            or self._settings.telling.told is Told.PREDICTED
            or any(action.kind is not ActionKind.KEEP for action in plan.actions)
            or round_.reservations  # one of them may be due in the next
        ):
            return 1
        until = min(policy.steady_until(round_), self._next(state, round_))
        most = self._settings.most_rounds - number
        if until == math.inf:
            return most
        tolerance = _EDGE * self._length
        rounds = max(1, min(most, math.ceil((until - state.now) / self._length)))
        while rounds > 1 and self._start_of(number + rounds - 1) >= until - tolerance:
            rounds -= 1
        return rounds

    def _next(self, state: State, round_: Round) -> float:
        """When something happens whatever is decided, if all is kept; seconds since the epoch."""
        times = [job.gate.not_before for job in round_.jobs if job.gate.not_before is not None]
        times = [time for time in times if time > state.now]
        if state.arrived < len(self._queue):
            times.append(self._queue[state.arrived].job.submit_time or 0.0)
        place = bisect.bisect_right(self._turns, state.now)
        times += self._turns[place : place + 1]
        for name, job in state.live.items():
            if job.throughput > 0:
                left = (self._arrivals[name].work - job.done) / job.throughput
                times.append(state.now + job.delay_left + left)
        return min(times, default=math.inf)

    def _lived(
        self, now: float, length: float, name: str, job: JobState, outcome: Outcome, action: Action | None
    ) -> JobState:
        """The job through so many seconds: what is done to it, then what it does, then what befalls it."""
        arrival = self._arrivals[name]
        job = counted(job, outcome.status, now, forced=outcome.forced)
        if outcome.status in _STOPS:
            job = stopped(job, self._held(name, job), now)
        if outcome.status in _STARTS:
            assert action is not None
            restart = arrival.job.restart_seconds
            job = started(job, action.placements, outcome.throughput, restart, now)
        if job.running is None:
            waited = replace(job.attended, waiting_seconds=job.attended.waiting_seconds + length)
            return replace(job, attended=waited)
        job = replace(job, throughput=outcome.throughput)
        crash = self._crash(job, now, length)
        seconds = length if crash is None else crash - now
        devices = self._held(name, job)
        job = advanced(job, arrival, devices, now, seconds)
        if crash is None or job.running is None:
            return job
        attended = job.attended
        attended = replace(
            attended,
            forced=attended.forced + 1,
            waiting_seconds=attended.waiting_seconds + (length - seconds),
        )
        return stopped(replace(job, attended=attended), devices, crash)

    def _accounted(self, job: JobState, was: JobState, state: State, seconds: float, name: str) -> JobState:
        """The job with what the peers' measures need carried on."""
        there = len(state.live)
        seconds = seconds if job.finished is None else job.finished - state.now
        share = self.paces.proportional(name, there)
        alone = (job.run - was.run) / share if share > 0 else 0.0
        attended = replace(
            job.attended,
            contention_seconds=job.attended.contention_seconds + there * seconds,
            proportional_seconds=job.attended.proportional_seconds + alone,
        )
        return replace(job, attended=attended)

    def _kept_behind(self, job: JobState, seen: Job, now: float, seconds: float) -> JobState:
        """The job after rounds behind its gate: it did not contend, and this time does not count."""
        begins = now if seen.gate.not_before is None else max(now, seen.gate.not_before)
        return replace(job, held_seconds=job.held_seconds + max(0.0, now + seconds - begins))

    def _fair(self, job: JobState, seen: Job, isolated: float, age: float, seconds: float) -> JobState:
        """The job with its fair self so many seconds older (decision 11)."""
        arrival = self._arrivals[seen.name]
        told, as_told = self._settings.telling.work(arrival), job.fair_as_told
        if seen.left_quantiles is not None:
            left = left_at(seen, self._history.template.policy.fairness_quantile)
            told = None if left is None else seen.work_done + left
            as_told = revised(as_told, told, isolated, age)
        fair = integrated(job.fair, arrival.work, isolated, age, seconds)
        if job.finished is not None:
            fair = completed(fair, arrival.work, isolated, age + seconds)
        return replace(job, fair=fair, fair_as_told=integrated(as_told, told, isolated, age, seconds))

    def _learned(self, state: State, jobs: Mapping[str, JobState]) -> Predictor:
        """What is known with those who have ended in this round, beside those who go on."""
        if self._settings.telling.told is not Told.PREDICTED:
            return state.predictor
        ended = []
        for name in sorted(state.present, key=lambda name: (jobs[name].finished or 0.0, name)):
            reference = self.paces.reference(name)
            if jobs[name].finished is not None and reference > 0.0:
                arrival = self._arrivals[name]
                ended.append(Ran(traits_of(arrival.job), arrival.work / reference))
        running = [
            Ran(traits_of(self._arrivals[name].job), jobs[name].done / reference)
            for name in sorted(state.present)
            if jobs[name].finished is None and (reference := self.paces.reference(name)) > 0.0
        ]
        return state.predictor.learned(ended).beside(running)

    def _held(self, name: str, job: JobState) -> float:
        """Devices that the job holds, parts of one counted as parts."""
        if job.running is None:
            return 0.0
        each = self._milli_per_task[name]
        milli = sum(placement.tasks * each.get(placement.group, 0) for placement in job.running.placements)
        return milli / WHOLE_DEVICE

    def _crash(self, job: JobState, now: float, seconds: float) -> float | None:
        """When the first of its nodes fails within so many seconds; None: none does."""
        assert job.running is not None
        if not self._failures:
            return None
        times = [
            failure.begins
            for node in {placement.node for placement in job.running.placements}
            for failure in self._failures.get(node, ())
            if now < failure.begins < now + seconds
        ]
        return min(times, default=None)

    @property
    def _length(self) -> float:
        return self._history.template.round_seconds

    def _start_of(self, number: int) -> float:
        """When round ``number`` begins; a product, so that no error adds up."""
        return self._history.template.now + number * self._length


def _told(answer: RoundResult | Plan, plan: Plan, jobs: Mapping[str, JobState]) -> dict[str, JobState]:
    """Jobs that have never run, with the first estimate and the first promise of a start that they get."""
    found: dict[str, JobState] = {}
    for verdict in answer.verdicts if isinstance(answer, RoundResult) else ():
        job = jobs.get(verdict.job)
        if job is not None and job.first_start is None and job.estimated_start is None:
            found[verdict.job] = replace(job, estimated_start=verdict.earliest_start)
    for action in plan.actions:
        if action.reservation is not None:
            job = found.get(action.job) or jobs.get(action.job)
            if job is not None and job.first_start is None and job.promised_start is None:
                found[action.job] = replace(job, promised_start=action.reservation.latest_start)
    return found


def _still_promised(state: State, plan: Plan, jobs: Mapping[str, JobState]) -> tuple[Reservation, ...]:
    """Promises after a round: the old and the new ones whose jobs have not started."""
    new = [action.reservation for action in plan.actions if action.reservation is not None]
    return tuple(
        promise
        for promise in (*state.promises, *new)
        if jobs[promise.job].running is None and jobs[promise.job].finished is None
    )


def _up(round_: Round) -> int:
    """Usable devices of nodes that are up."""
    up = (node for node in round_.cluster.nodes if node.health is NodeHealth.HEALTHY)
    return sum(node.usable_device_count for node in up)


def _hopeless(answer: RoundResult | Plan) -> frozenset[str]:
    """Jobs that were proved never to fit: their fair selves do not accrue (decision 11)."""
    if not isinstance(answer, RoundResult):
        return frozenset()
    return frozenset(v.job for v in answer.verdicts if v.kind is VerdictKind.NEVER_FITS)
