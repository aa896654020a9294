"""Sessions: a snapshot equals the fold of deltas (P24), and random histories against a model."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gangplan.client.following import chunks_of
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.errors import InvalidInputError, ResyncRequiredError, UnknownSessionError
from gangplan.kept import KeptRound
from gangplan.model.verifier.verify import verify
from gangplan.service.session_calls import SessionCalls
from gangplan.service.session_rounds import PlannedRound, SessionRounds
from gangplan.service.sessions.content import Change, Content, Item, Key, Kind
from gangplan.service.sessions.encoded import decode, encode
from gangplan.service.sessions.registry import Sessions
from gangplan.service.sessions.sqlite_store import SqliteStore
from gangplan.service.sessions.store import MemoryStore, SessionStore
from gangplan.service.wire import read_plan, write_result, write_round
from gangplan.service.wire.difference import expand
from gangplan.service.wire.session_content import (
    content_of,
    read_content,
    read_delta,
    request_of,
    write_delta,
)
from gangplan.testing.strategies import rounds
from gangplan.v1 import plan_pb2, round_pb2, session_pb2, session_service_pb2

KEYS = st.tuples(st.sampled_from(list(Kind)), st.sampled_from("abcd"))
ITEMS = st.builds(Item, st.binary(max_size=3), st.sampled_from(["", "1", "2"]))
CONTENTS = st.dictionaries(KEYS, ITEMS, max_size=8)


@given(st.lists(CONTENTS, min_size=1, max_size=6))
def test_a_content_is_the_fold_of_changes_and_has_the_digest_of_its_own(
    history: list[dict[Key, Item]],
) -> None:
    folded = Content.of({})
    for items in history:
        wanted = Content.of(items)
        change = folded.change_to(wanted)
        assert bool(change) == (folded != wanted)
        folded = folded.changed(change)
        assert folded == wanted
        assert folded.digest == wanted.digest


@given(rounds(), st.lists(st.integers(0, 8), max_size=4), st.data())
def test_a_part_of_a_snapshot_opens_no_session(round_: Round, cuts: list[int], data: st.DataObject) -> None:
    """However a snapshot is cut into chunks: all of them open a session, and the first few do not."""
    snapshot = write_round(round_)
    bare = round_pb2.PlanRoundRequest()
    bare.CopyFrom(snapshot)
    bare.ClearField("jobs")
    edges = [0, *sorted(cuts), len(snapshot.jobs)]
    parts = [bare, *(round_pb2.PlanRoundRequest(jobs=snapshot.jobs[a:b]) for a, b in pairwise(edges))]
    chunks = [chunk.SerializeToString() for chunk in chunks_of(parts)]
    calls = SessionCalls(Sessions(MemoryStore()))
    with pytest.raises(InvalidInputError) as refused:
        calls.open_session(chunks[: data.draw(st.integers(1, len(chunks) - 1))], "me")
    assert "more" in [violation.field for violation in refused.value.violations]
    assert calls.sessions.held == 0
    state = calls.open_session(chunks, "me").session
    assert state.digest == content_of(snapshot).digest


@given(CONTENTS, CONTENTS)
def test_other_contents_have_other_digests(one: dict[Key, Item], other: dict[Key, Item]) -> None:
    assert (Content.of(one).digest == Content.of(other).digest) == (one == other)


@given(rounds(), rounds())
def test_a_delta_leads_from_any_round_to_any_other(before: Round, after: Round) -> None:
    old, new = content_of(write_round(before)), content_of(write_round(after, compact=True))
    delta = write_delta(old.change_to(new), "s", 1, b"")
    decoded = session_service_pb2.ApplyDeltaRequest.FromString(delta.SerializeToString())
    change, moved, round_, parameters = read_delta(decoded, old)
    assert (round_, parameters) == read_content(new)
    assert read_delta(decoded, old, read_content(old))[2:] == (round_, parameters)
    assert old.changed(change) == new
    assert old.changed(change).digest == new.digest
    assert {job.name: job for job in round_.jobs} == {job.name: job for job in after.jobs}
    ran = {job.name: job.running for job in before.jobs}
    runs = {job.name: job.running for job in after.jobs}
    gone = set(ran.keys() - runs.keys())
    assert moved == gone | {name for name in runs if runs[name] != ran.get(name)}


@given(rounds(), st.data())
def test_a_delta_of_jobs_and_nodes_is_read_as_the_whole_would_be(round_: Round, data: st.DataObject) -> None:
    """Between any two parts of one round; also where the parts contradict themselves, then by refusal."""
    whole = content_of(write_round(round_))

    def part(draw: Any) -> Content:
        gone = [key for key in whole.items if key[0] in (Kind.JOB, Kind.NODE) and draw(key)]
        return whole.changed(Change(removed=frozenset(gone)))

    drawn = {key: data.draw(st.sampled_from(["both", "old", "new"])) for key in sorted(whole.items, key=str)}
    old, new = part(lambda key: drawn[key] == "new"), part(lambda key: drawn[key] == "old")
    try:
        before = read_content(old)
    except InvalidInputError:
        return
    delta = write_delta(old.change_to(new), "s", 1, b"")
    try:
        wanted = read_content(new)
    except InvalidInputError:
        with pytest.raises(InvalidInputError):
            read_delta(delta, old, before)
        return
    assert read_delta(delta, old, before)[2:] == wanted


GREEDY = PlanParameters(pipeline="greedy", time_budget_seconds=60.0)
NODES, NAMES = ("n0", "n1", "n2"), tuple(f"j{number}" for number in range(6))
ROUND_SECONDS = 100
TIME_TO_LIVE = 3600.0


class Histories(RuleBasedStateMachine):
    """A caller's session beside what the caller itself knows: jobs, nodes, and what is in flight."""

    def make_store(self) -> SessionStore:
        """Where sessions are kept."""
        return MemoryStore()

    def restart(self) -> None:
        """The service ends and begins anew."""
        sessions = Sessions(self.store, time_to_live=TIME_TO_LIVE, clock=lambda: self.clock)
        self.calls = SessionCalls(sessions)
        self.rounds = SessionRounds(self.calls)

    @initialize(
        nodes=st.sets(st.sampled_from(NODES), min_size=1),
        jobs=st.dictionaries(st.sampled_from(NAMES), st.integers(1, 4), min_size=2),
        promising=st.booleans(),
    )
    def open(self, nodes: set[str], jobs: dict[str, int], promising: bool) -> None:  # noqa: FBT001
        self.clock = 0.0
        self.store = self.make_store()
        self.restart()
        self.now = 1_000_000
        self.promising = promising
        self.nodes = {name: self.node(name) for name in nodes}
        self.jobs: dict[str, Any] = {name: self.job(name, jobs[name], 1.0) for name in jobs}
        self.begin()

    def begin(self) -> None:
        """A session of what the caller knows, with nothing in flight."""
        self.flying: dict[str, tuple[str, plan_pb2.Action]] = {}
        self.earlier: dict[str, list[tuple[str, plan_pb2.Action]]] = {}
        self.since: dict[tuple[str, str], int] = {}
        self.last: round_pb2.PlanRoundResponse | None = None
        self.promises: list[plan_pb2.Reservation] = []
        self.sent: list[session_service_pb2.ApplyDeltaRequest] = []
        snapshot = round_pb2.PlanRoundRequest(accelerators=[{"name": "A"}])
        snapshot.now.seconds = self.now
        snapshot.round_length.seconds = ROUND_SECONDS
        snapshot.cluster.nodes.extend(self.nodes.values())
        snapshot.jobs.extend(self.jobs.values())
        snapshot.parameters.pipeline = 3  # type: ignore[assignment]
        if self.promising:
            snapshot.policy.promises.after.seconds = ROUND_SECONDS
        self.state = self.opened(snapshot)

    def opened(self, snapshot: round_pb2.PlanRoundRequest) -> session_pb2.SessionState:
        chunk = session_service_pb2.OpenSessionRequest(snapshot=snapshot)
        return self.calls.open_session([chunk.SerializeToString()], "me").session

    def node(self, name: str) -> Any:
        node = round_pb2.PlanRoundRequest().cluster.nodes.add(name=name, accelerator_type="A", device_count=4)
        node.resources.cpu_milli, node.resources.memory_bytes = 8000, 2**30
        return node

    def job(self, name: str, devices: int, weight: float) -> Any:
        job = round_pb2.PlanRoundRequest().jobs.add(name=name, weight=weight)
        job.submit_time.seconds = 999_000
        job.components.add().task_groups.add(devices_per_task=devices)
        return job

    def delta(self, **changes: Any) -> None:
        request = session_service_pb2.ApplyDeltaRequest(
            session_id=self.state.session_id,
            base_revision=self.state.revision,
            base_digest=self.state.digest,
            **changes,
        )
        self.state = self.calls.apply_delta(request).session
        self.sent.append(request)

    @rule(name=st.sampled_from(NAMES), devices=st.integers(1, 4), weight=st.sampled_from([0.5, 1.0, 50.0]))
    def change_job(self, name: str, devices: int, weight: float) -> None:
        """New, or changed while it waits; what runs keeps its shape."""
        job = self.job(name, devices, weight)
        before = self.jobs.get(name)
        if before is not None and (before.HasField("running") or name in self.flying):
            job = type(job).FromString(before.SerializeToString())
            job.weight = weight
        self.delta(upsert_jobs=[job])
        self.jobs[name] = job

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def remove_job(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.jobs)))
        self.delta(remove_jobs=[name])
        del self.jobs[name]
        self.flying.pop(name, None)
        self.earlier.pop(name, None)

    @rule(name=st.sampled_from(NODES))
    def change_node(self, name: str) -> None:
        """Cordoned and back, new, or gone."""
        if name not in self.nodes:
            self.nodes[name] = self.node(name)
            self.delta(upsert_nodes=[self.nodes[name]])
        elif self.nodes[name].cordoned and len(self.nodes) > 1:
            del self.nodes[name]
            self.delta(remove_nodes=[name])
        else:
            self.nodes[name].cordoned = not self.nodes[name].cordoned
            self.delta(upsert_nodes=[self.nodes[name]])

    @rule(name=st.sampled_from(NODES))
    def break_or_mend_node(self, name: str) -> None:
        """What runs on a broken one is evicted, forced."""
        if name in self.nodes:
            self.nodes[name].health = 1 if self.nodes[name].health == 2 else 2
            self.delta(upsert_nodes=[self.nodes[name]])

    @precondition(lambda self: self.sent)
    @rule()
    def send_the_last_delta_again(self) -> None:
        before = self.calls.get_session(
            session_service_pb2.GetSessionRequest(session_id=self.state.session_id)
        ).session
        again = self.calls.apply_delta(self.sent[-1]).session
        assert again.revision == self.sent[-1].base_revision + 1
        now = self.calls.get_session(
            session_service_pb2.GetSessionRequest(session_id=self.state.session_id)
        ).session
        assert (now.revision, now.digest) == (before.revision, before.digest)

    @rule(behind=st.integers(1, 3))
    def send_a_late_delta(self, behind: int) -> None:
        request = session_service_pb2.ApplyDeltaRequest(
            session_id=self.state.session_id,
            base_revision=self.state.revision - behind,
            upsert_jobs=[self.job("late", 1, 3.0)],
        )
        with pytest.raises(ResyncRequiredError):
            self.calls.apply_delta(request)

    @rule()
    def send_nonsense(self) -> None:
        with pytest.raises(InvalidInputError):
            self.delta(upsert_jobs=[{"name": "bad", "queue": "nobody"}])

    @rule(later=st.integers(0, 2 * ROUND_SECONDS), short=st.booleans(), advisory=st.booleans())
    def plan(self, later: int, short: bool, advisory: bool) -> None:  # noqa: FBT001
        self.now += later
        request = round_pb2.PlanRoundRequest()
        request.now.seconds = self.now
        request.session.session_id = self.state.session_id
        request.session.digest = self.state.digest
        request.session.advisory = advisory
        if short and self.last is not None:
            request.session.difference_from = self.last.session.plan_id
        seen: list[Round] = []
        whole: list[round_pb2.PlanRoundResponse] = []

        def planned(round_: Round, parameters: PlanParameters) -> PlannedRound:
            assert parameters.pipeline == "greedy"
            seen.append(round_)
            result = plan_round(round_, parameters, budget=Budget())
            whole.append(write_result(result))
            anew = replace(parameters, kept=KeptRound.empty())
            assert timeless(whole[0]) == timeless(write_result(plan_round(round_, anew, budget=Budget())))
            return PlannedRound(result, write_result)

        answer = self.rounds.plan(request, "me", planned)
        self.check_seen(seen[0])
        assert verify(seen[0], read_plan(whole[0])).violations == ()
        if answer.session.difference_from:
            assert self.last is not None
            answer = expand(self.last, answer, self.jobs.keys())
        assert shape(answer) == shape(whole[0])
        assert list(answer.verdicts) == list(whole[0].verdicts)
        if not advisory:
            self.last = answer
            for job in [name for name in self.flying if self.is_void(name)]:
                del self.flying[job]
                self.earlier.pop(job, None)
            for action in whole[0].plan.actions:
                plan_id, before = self.flying.get(action.job, ("", action))
                if action.kind == plan_pb2.ACTION_KIND_EVICT and before.kind != plan_pb2.ACTION_KIND_PLACE:
                    self.since[plan_id, action.job] = self.now  # a stop that is planned again lasts
            made = [each.reservation for each in whole[0].plan.actions if each.HasField("reservation")]
            self.promises = [*filter(self.is_owed, self.promises), *made]
            new = {
                action.job: (answer.session.plan_id, action)
                for action in whole[0].plan.actions
                if action.kind not in (plan_pb2.ACTION_KIND_KEEP, plan_pb2.ACTION_KIND_RESERVE)
                and not (action.kind == plan_pb2.ACTION_KIND_EVICT and action.job in self.flying)
            }
            for job in new.keys() & self.flying.keys():
                self.earlier.setdefault(job, []).append(self.flying[job])
            self.flying |= new
            self.since |= {
                (plan_id, job): self.now
                for job, (plan_id, _) in self.flying.items()
                if plan_id == answer.session.plan_id
            }

    def is_void(self, name: str) -> bool:
        return self.now > self.since[self.flying[name][0], name] + 2 * ROUND_SECONDS

    def is_owed(self, promise: plan_pb2.Reservation) -> bool:
        job = self.jobs.get(promise.job)
        return job is not None and not job.HasField("running") and promise.expires_at.seconds >= self.now

    def check_seen(self, round_: Round) -> None:
        """The round is what the caller told, and what it was told to do as if it were under way."""
        seen = {(each.job, each.placements[0].node, round(each.latest_start)) for each in round_.reservations}
        owed = {
            (each.job, each.placements[0].node, round(each.latest_start.ToNanoseconds() / 1e9))
            for each in filter(self.is_owed, self.promises)
        }
        assert owed <= seen
        told = {(each.job, each.placements[0].node) for each in self.promises}
        assert {(job, node) for job, node, _ in seen} <= told
        assert {job.name for job in round_.jobs} == self.jobs.keys()
        assert {node.name for node in round_.cluster.nodes} == self.nodes.keys()
        held = [
            (place.node, device)
            for job in round_.jobs
            if job.running is not None
            for place in job.running.placements
            for device in place.devices
        ]
        assert len(held) == len(set(held))
        for job in round_.jobs:
            told = self.jobs[job.name].HasField("running")
            if job.name not in self.flying:
                assert (job.running is not None) == told
                continue
            _, action = self.flying[job.name]
            void = self.is_void(job.name)
            if void:
                assert (job.running is not None) == told
                assert job.running is None or not job.running.stopping
            elif action.kind == plan_pb2.ACTION_KIND_EVICT:
                assert job.running is not None
                assert job.running.stopping
            elif action.kind == plan_pb2.ACTION_KIND_PLACE and not action.depends_on:
                mine = {(place.node, device) for place in action.placements for device in place.devices}
                assert job.running is not None or mine & set(held)  # somebody else has its place by now
            if void:
                continue
            if job.running is not None and not told and not job.running.stopping:
                assert [place.node for place in job.running.placements] == [
                    place.node for place in action.placements
                ]

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), outcome=st.sampled_from(["DONE", "REFUSED", "EXPIRED"]))
    def report(self, data: st.DataObject, outcome: str) -> None:
        self.say(data.draw(st.sampled_from(sorted(self.flying))), outcome)

    @rule(later=st.integers(0, ROUND_SECONDS), stops=st.booleans())
    def plan_and_do(self, later: int, stops: bool) -> None:  # noqa: FBT001
        """A round as a caller should play it; sometimes it does the stops only."""
        self.plan(later, short=False, advisory=False)
        first = sorted(
            self.flying, key=lambda name: (self.flying[name][1].kind != plan_pb2.ACTION_KIND_EVICT, name)
        )
        for name in first:
            if not stops or self.flying[name][1].kind == plan_pb2.ACTION_KIND_EVICT:
                self.say(name, "DONE")

    def say(self, name: str, outcome: str) -> None:
        plan_id, action = self.flying[name]
        request = session_service_pb2.ReportOutcomesRequest(
            session_id=self.state.session_id,
            plan_id=plan_id,
            outcome_by_action={action.action_id: getattr(session_service_pb2, f"ACTION_OUTCOME_{outcome}")},
        )
        request.now.seconds = self.now
        state = self.calls.get_session(
            session_service_pb2.GetSessionRequest(session_id=self.state.session_id)
        ).session
        if f"{plan_id}/{action.action_id}" not in state.in_flight:
            with pytest.raises(InvalidInputError):
                self.calls.report_outcomes(request)
            del self.flying[name]
            self.earlier.pop(name, None)
            return
        if outcome == "DONE" and self.is_held_by_others(name, action):
            with pytest.raises(InvalidInputError, match="held"):
                self.calls.report_outcomes(request)
            return
        self.state = self.calls.report_outcomes(request).session
        twice = self.calls.report_outcomes(request).session
        assert (twice.revision, twice.digest) == (self.state.revision, self.state.digest)
        del self.flying[name]
        before = self.earlier.pop(name, [])
        if outcome != "DONE":
            # What was planned before it may still come about; the same once more comes to nothing as well.
            left = [flight for flight in before if flight[1].kind != action.kind]
            if left:
                self.flying[name], self.earlier[name] = left[-1], left[:-1]
            return
        job = self.jobs[name]
        if action.kind != plan_pb2.ACTION_KIND_PLACE and not action.forced_reason:
            job.disrupted_at.add(seconds=self.now)
        job.ClearField("running")
        if action.kind != plan_pb2.ACTION_KIND_EVICT:
            job.running.placements.MergeFrom(action.placements)
            job.running.started_at.seconds = self.now
            job.running.checkpoint_age.SetInParent()

    def is_held_by_others(self, name: str, action: plan_pb2.Action) -> bool:
        wanted = {(place.node, device) for place in action.placements for device in place.devices}
        return any(
            (place.node, device) in wanted and place.node in self.nodes
            for other, job in self.jobs.items()
            if other != name
            for place in job.running.placements
            for device in place.devices
        )

    @rule()
    def end_and_begin_anew(self) -> None:
        self.restart()
        record = self.calls.sessions.get(self.state.session_id)
        assert (
            decode(
                encode(record),
                session_id=record.session_id,
                caller=record.caller,
                snapshot=record.snapshot,
                serial=record.serial,
                content=record.content,
            )
            == record
        )

    @rule(later=st.integers(0, ROUND_SECONDS), many=st.sampled_from([False, False, False, True]))
    def others_plan_between(self, later: int, many: bool) -> None:  # noqa: FBT001
        """On jobs and nodes of the same names; perhaps so many that nothing is kept of this session."""
        snapshot = request_of(self.calls.sessions.get(self.state.session_id).content, compact=False)
        snapshot.now.seconds = self.now
        snapshot.round_length.seconds = ROUND_SECONDS
        for job in snapshot.jobs:
            job.weight += 1.0
        states = [self.opened(snapshot) for _ in range(9 if many else 1)]
        request = round_pb2.PlanRoundRequest()
        request.now.seconds = self.now + later
        request.session.session_id = states[0].session_id
        self.rounds.plan(
            request, "me", lambda *known: PlannedRound(plan_round(*known, budget=Budget()), write_result)
        )
        for state in states[1:]:
            self.calls.round_of(self.calls.sessions.get(state.session_id))
        for state in states:
            closing = session_service_pb2.CloseSessionRequest(session_id=state.session_id)
            self.calls.close_session(closing)

    @rule(told=st.booleans())
    def not_used_in_time(self, told: bool) -> None:  # noqa: FBT001
        """The session expires, whether the service looks for such ones or not, and is opened anew."""
        self.clock += 2 * TIME_TO_LIVE
        if told:
            self.rounds.forget_expired()
        with pytest.raises(UnknownSessionError):
            self.calls.get_session(session_service_pb2.GetSessionRequest(session_id=self.state.session_id))
        self.begin()

    @rule()
    def used_in_time(self) -> None:
        """What is used lives on, and what is kept of it stays."""
        record = self.calls.sessions.get(self.state.session_id)
        self.calls.round_of(record)
        kept = self.calls.remembered(self.state.session_id)
        self.clock += 0.9 * TIME_TO_LIVE
        self.rounds.forget_expired()
        assert self.calls.remembered(self.state.session_id) is kept

    @invariant()
    def the_session_is_what_the_caller_told(self) -> None:
        if not hasattr(self, "state"):
            return
        record = self.calls.sessions.get(self.state.session_id)
        request = request_of(record.content, compact=False)
        assert {job.name: job for job in request.jobs} == self.jobs
        assert {node.name: node for node in request.cluster.nodes} == self.nodes
        assert (record.revision, record.content.digest) == (self.state.revision, self.state.digest)
        assert Content.of(record.content.items).digest == self.state.digest
        assert self.calls.round_of(record) == read_content(record.content)


def timeless(answer: round_pb2.PlanRoundResponse) -> round_pb2.PlanRoundResponse:
    """An answer but for what tells of time."""
    found = round_pb2.PlanRoundResponse()
    found.CopyFrom(answer)
    for name in ("time_by_phase", "stages", "statistics"):
        found.ClearField(name)
    return found


def shape(answer: round_pb2.PlanRoundResponse) -> dict[str, tuple[Any, ...]]:
    return {
        each.job: (each.kind, str(each.placements), each.scope, each.throughput, sorted(each.depends_on))
        for each in answer.plan.actions
    }


class HistoriesOnDisk(Histories):
    """The same with a database that is closed and opened again at every restart."""

    def make_store(self) -> SessionStore:
        self.folder = tempfile.TemporaryDirectory()
        return SqliteStore(Path(self.folder.name) / "sessions.db")

    def restart(self) -> None:
        self.store.close()
        self.store = SqliteStore(Path(self.folder.name) / "sessions.db")
        super().restart()

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=30)
TestHistoriesOnDisk = HistoriesOnDisk.TestCase
TestHistoriesOnDisk.settings = settings(max_examples=settings().max_examples // 5, stateful_step_count=30)
