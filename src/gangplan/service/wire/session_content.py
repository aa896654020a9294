"""Requests and deltas on the wire <-> the content of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from google.protobuf.message import Message

from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.service.sessions.content import Change, Content, Item, Key, Kind
from gangplan.service.wire.advance import SmallChange, advance, in_order
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.planned import refuse_planned
from gangplan.service.wire.read_round import read_round_request
from gangplan.v1 import cluster_pb2, job_pb2, round_pb2, session_service_pb2

_LISTS: tuple[tuple[Kind, str, str], ...] = (
    (Kind.ACCELERATOR, "accelerators", ""),
    (Kind.QUEUE, "queues", ""),
    (Kind.PROFILE, "profiles", ""),
    (Kind.NODE, "nodes", "node_classes"),
    (Kind.JOB, "jobs", "job_classes"),
)
"""Kind, the list of a request that it is in, and the list of its classes."""
_WHOLE = ("topology", "policy", "parameters")
_LENGTHS = ("round_length", "horizon")
ROUND: Key = (Kind.ROUND, "")
NOT_KEPT = (
    "request_id",
    "now",
    "warm_start",
    "outlook",
    "claims",
    "reservations",
    "previous_plan",
    "session",
    "validate_only",
)
"""Fields of a request that are no part of a session's content."""


def content_of(request: round_pb2.PlanRoundRequest) -> Content:
    """The content of a session that a valid request is the snapshot of; classes expanded."""
    items: dict[Key, Item] = {ROUND: Item(_round_body(request))}
    for kind, singles, classes in _LISTS:
        holder: Any = request.cluster if kind is Kind.NODE else request
        for message in getattr(holder, singles):
            items[kind, message.name] = _item(message)
        for alike in getattr(holder, classes) if classes else ():
            items.update(_members(kind, alike))
    return Content.of(items)


def request_of(content: Content, *, compact: bool = True) -> round_pb2.PlanRoundRequest:
    """A request with that content, in the order of names; it has no ``now``.

    Args:
        content: of a session.
        compact: fold alike nodes and alike waiting jobs to classes.
    """
    request = round_pb2.PlanRoundRequest()
    base = content.items.get(ROUND)
    if base is not None:
        request.MergeFromString(base.body)
    by_kind: dict[Kind, list[tuple[str, Item]]] = {kind: [] for kind in Kind}
    for (kind, name), item in content.items.items():
        by_kind[kind].append((name, item))
    for kind, singles, classes in _LISTS:
        holder: Any = request.cluster if kind is Kind.NODE else request
        members = sorted(by_kind[kind], key=lambda each: each[0])
        if classes and compact:
            _fold(members, getattr(holder, singles), getattr(holder, classes))
            continue
        for name, item in members:
            _write(getattr(holder, singles).add(), name, item)
    return request


def read_content(content: Content) -> tuple[Round, PlanParameters]:
    """The round and the parameters that a content stands for, at the beginning of time and in order.

    Raises:
        InvalidInputError: it breaks the contract; the paths are those of :func:`request_of`, not compact.
    """
    try:
        return _read(content, compact=True)
    except InvalidInputError:
        return _read(content, compact=False)  # the same again, with paths that name each job and node


def read_delta(
    delta: session_service_pb2.ApplyDeltaRequest,
    content: Content,
    before: tuple[Round, PlanParameters] | None = None,
) -> tuple[Change, frozenset[str], Round, PlanParameters]:
    """What a delta changes, the jobs that it moves, and the round after it.

    A job is moved when the delta says anew where it runs, or that it is gone.

    Args:
        delta: the request.
        content: that it changes.
        before: what :func:`read_content` makes of ``content``, so that only what changes has to be read;
            None: everything is read.

    Raises:
        InvalidInputError: the delta breaks the contract, or what comes of it does; each violation with its
            path in the delta.
    """
    fields = Fields()
    refuse_planned(delta, "", fields)
    fields.raise_violations()
    put: dict[Key, Item] = {}
    removed: set[Key] = set()
    paths: dict[Key, str] = {}
    for kind, singles, classes in _LISTS:
        for index, message in enumerate(getattr(delta, f"upsert_{singles}")):
            _note(
                put, paths, (kind, message.name), _item(message), f"upsert_{singles}[{index}]", "name", fields
            )
        for index, alike in enumerate(getattr(delta, f"upsert_{classes}") if classes else ()):
            here = f"upsert_{classes}[{index}]"
            _check_class(alike, here, fields)
            for number, (key, item) in enumerate(_members(kind, alike)):
                _note(put, paths, key, item, f"{here}.template", f"names[{number}]", fields)
        for index, name in enumerate(getattr(delta, f"remove_{singles}")):
            here = f"remove_{singles}[{index}]"
            key = (kind, name)
            if key in put:
                fields.refuse(here, f"{name!r} is also at {paths[key]}")
            elif key in removed:
                fields.refuse(here, f"{name!r} is named twice")
            elif key not in content.items:
                fields.refuse(here, f"the session has no {kind.value} named {name!r}")
            removed.add(key)
            paths[key] = here
    base = _changed_round(delta, content.items.get(ROUND))
    if base is not None:
        put[ROUND] = base
    fields.raise_violations()
    put = {key: item for key, item in put.items() if content.items.get(key) != item}
    change = Change(put, frozenset(removed))
    try:
        round_, parameters = _after_delta(delta, change, content, before)
    except InvalidInputError as error:
        raise InvalidInputError(_translated(error, content.changed(change), delta, paths)) from error
    moved = frozenset(name for kind, name in removed if kind is Kind.JOB) | {
        name
        for (kind, name), item in put.items()
        if kind is Kind.JOB and _running(content.items.get((kind, name))) != _running(item)
    }
    return change, moved, round_, parameters


def read_change(
    change: Change, content: Content, before: tuple[Round, PlanParameters]
) -> tuple[Round, PlanParameters]:
    """The round and the parameters after a change of jobs.

    Args:
        change: of jobs only.
        content: that it changes.
        before: what :func:`read_content` makes of ``content``.

    Raises:
        InvalidInputError: what comes of it breaks the contract; paths as of :func:`read_content`.
    """
    jobs = []
    for (_, name), item in sorted(change.put.items(), key=lambda each: each[0][1]):
        message = job_pb2.Job()
        _write(message, name, item)
        jobs.append(message)
    removed = [name for _, name in change.removed]
    round_ = advance(before[0], SmallChange(jobs=jobs, removed_jobs=removed))
    return read_content(content.changed(change)) if round_ is None else (round_, before[1])


def _after_delta(
    delta: session_service_pb2.ApplyDeltaRequest,
    change: Change,
    content: Content,
    before: tuple[Round, PlanParameters] | None,
) -> tuple[Round, PlanParameters]:
    kinds = {kind for kind, _ in (*change.put, *change.removed)}
    if before is not None and kinds <= {Kind.JOB, Kind.NODE}:
        nodes = None
        if delta.upsert_nodes or delta.upsert_node_classes:
            base = content.items.get(ROUND)
            topology = round_pb2.PlanRoundRequest.FromString(b"" if base is None else base.body)
            nodes = cluster_pb2.Cluster(
                topology=topology.cluster.topology,
                nodes=delta.upsert_nodes,
                node_classes=delta.upsert_node_classes,
            )
        round_ = advance(
            before[0],
            SmallChange(
                delta.upsert_jobs, delta.upsert_job_classes, nodes, delta.remove_jobs, delta.remove_nodes
            ),
        )
        if round_ is not None:
            return round_, before[1]
    return read_content(content.changed(change))


def write_delta(change: Change, session_id: str, base_revision: int, base_digest: bytes) -> Any:
    """A delta that makes ``change``.

    Returns:
        An ``ApplyDeltaRequest``; alike nodes and waiting jobs are folded.
    """
    delta = session_service_pb2.ApplyDeltaRequest(
        session_id=session_id, base_revision=base_revision, base_digest=base_digest
    )
    written: Any = delta
    for kind, singles, classes in _LISTS:
        members = sorted(
            ((name, item) for (other, name), item in change.put.items() if other is kind),
            key=lambda each: each[0],
        )
        if classes:
            _fold(members, getattr(written, f"upsert_{singles}"), getattr(written, f"upsert_{classes}"))
        else:
            for name, item in members:
                _write(getattr(written, f"upsert_{singles}").add(), name, item)
        getattr(written, f"remove_{singles}").extend(
            sorted(name for other, name in change.removed if other is kind)
        )
    base = change.put.get(ROUND)
    if base is not None:
        request = round_pb2.PlanRoundRequest.FromString(base.body)
        written.topology.CopyFrom(request.cluster.topology)
        for name in ("policy", "parameters", *_LENGTHS):
            getattr(written, name).SetInParent()
            getattr(written, name).CopyFrom(getattr(request, name))
    return delta


def changed_job(item: Item, edit: Callable[[job_pb2.Job], None]) -> Item:
    """A job's item after ``edit`` of its message, which has no name."""
    message = job_pb2.Job.FromString(item.body)
    edit(message)
    return Item(message.SerializeToString(deterministic=True), item.revision)


def _read(content: Content, *, compact: bool) -> tuple[Round, PlanParameters]:
    request = request_of(content, compact=compact)
    request.now.SetInParent()
    round_, parameters = read_round_request(request)
    return in_order(round_), parameters


def _round_body(request: round_pb2.PlanRoundRequest) -> bytes:
    """All of a request that is no list of named objects; what is empty is as if it were unset."""
    base = round_pb2.PlanRoundRequest()
    for name in (*_LENGTHS, "policy", "parameters"):
        value: Message = getattr(request, name)
        if request.HasField(name) and value.ByteSize():  # type: ignore[arg-type]
            getattr(base, name).CopyFrom(value)
    if request.cluster.topology.ByteSize():
        base.cluster.topology.CopyFrom(request.cluster.topology)
    return base.SerializeToString(deterministic=True)


def _changed_round(delta: session_service_pb2.ApplyDeltaRequest, item: Item | None) -> Item | None:
    """The base of the round after a delta; None: it says nothing about it."""
    said = [name for name in (*_WHOLE, *_LENGTHS) if delta.HasField(name)]  # type: ignore[arg-type]
    if not said:
        return None
    base = round_pb2.PlanRoundRequest.FromString(b"" if item is None else item.body)
    for name in said:
        holder: Any = base.cluster if name == "topology" else base
        getattr(holder, name).CopyFrom(getattr(delta, name))
    return Item(_round_body(base))


def _item(message: Any) -> Item:
    """A named object without its name and, where it has one, its revision."""
    bare = type(message)()
    bare.CopyFrom(message)
    bare.ClearField("name")
    revision = ""
    if isinstance(message, (cluster_pb2.Node, job_pb2.Job)):
        revision = message.revision
        bare.ClearField("revision")
    return Item(bare.SerializeToString(deterministic=True), revision)


def _members(kind: Kind, alike: Any) -> Iterable[tuple[Key, Item]]:
    body = _item(alike.template).body
    revisions: Sequence[str] = alike.revisions or [""] * len(alike.names)
    for name, revision in zip(alike.names, revisions, strict=False):
        yield (kind, name), Item(body, revision)


def _check_class(alike: Any, path: str, fields: Fields) -> None:
    """What the members alone would not show."""
    if not alike.names:
        fields.refuse(f"{path}.names", "a class has at least one member")
    if alike.revisions and len(alike.revisions) != len(alike.names):
        fields.refuse(
            f"{path}.revisions",
            f"has {len(alike.revisions)} entries beside {len(alike.names)} names; give one each or none",
        )
    for name in ("name", "revision"):
        if getattr(alike.template, name):
            fields.refuse(f"{path}.template.{name}", "must be empty in a template")
    if isinstance(alike, job_pb2.JobClass) and alike.template.HasField("running"):
        fields.refuse(f"{path}.template.running", "members of a class wait; list running jobs one by one")


def _note(
    put: dict[Key, Item], paths: dict[Key, str], key: Key, item: Item, path: str, name: str, fields: Fields
) -> None:
    if key in put:
        fields.refuse(f"{path.removesuffix('.template')}.{name}", f"{key[1]!r} is already at {paths[key]}")
    elif not key[1]:
        fields.refuse(f"{path.removesuffix('.template')}.{name}", "must not be empty")
    put[key] = item
    paths[key] = path


def _write(message: Any, name: str, item: Item) -> None:
    message.MergeFromString(item.body)
    message.name = name
    if item.revision:
        message.revision = item.revision


def _fold(members: Sequence[tuple[str, Item]], singles: Any, classes: Any) -> None:
    """Write objects in order; those that are alike and do not run as classes."""
    alike: dict[bytes, list[tuple[str, Item]]] = {}
    for name, item in members:
        alike.setdefault(item.body, []).append((name, item))
    for body, group in alike.items():
        if len(group) > 1:
            message = classes.add()
            message.template.MergeFromString(body)
            if not (isinstance(message, job_pb2.JobClass) and message.template.HasField("running")):
                message.names.extend([name for name, _ in group])
                if any(item.revision for _, item in group):
                    message.revisions.extend([item.revision for _, item in group])
                continue
            del classes[-1]
        for name, item in group:
            _write(singles.add(), name, item)


def _running(item: Item | None) -> bytes:
    """Where a job runs, to compare; empty: nowhere."""
    if item is None:
        return b""
    return job_pb2.Job.FromString(item.body).running.SerializeToString(deterministic=True)


def _translated(
    error: InvalidInputError,
    content: Content,
    delta: session_service_pb2.ApplyDeltaRequest,
    paths: dict[Key, str],
) -> list[FieldViolation]:
    """Violations of the round after a delta, each at the place of the delta that it comes from."""
    names = {kind: content.names(kind) for kind, _, _ in _LISTS}
    return [_at_home(violation, names, delta, paths) for violation in error.violations]


def _at_home(
    violation: FieldViolation,
    names: dict[Kind, list[str]],
    delta: session_service_pb2.ApplyDeltaRequest,
    paths: dict[Key, str],
) -> FieldViolation:
    field = violation.field
    for kind, singles, _ in _LISTS:
        prefix = f"cluster.{singles}[" if kind is Kind.NODE else f"{singles}["
        if not field.startswith(prefix):
            continue
        number, _, rest = field.removeprefix(prefix).partition("]")
        name = names[kind][int(number)]
        here = paths.get((kind, name))
        if here is not None:
            return FieldViolation(f"{here}{rest}", violation.description)
        # Somebody else is broken by it: something that it refers to is gone or other.
        description = f"{kind.value} {name!r}{rest}: {violation.description}"
        return FieldViolation(_first_set(delta), description)
    return FieldViolation(field.removeprefix("cluster."), violation.description)


def _first_set(delta: session_service_pb2.ApplyDeltaRequest) -> str:
    """The first field of a delta that changes anything, those that take away before those that add."""
    set_fields = [
        field.name
        for field, _ in delta.ListFields()
        if field.name not in ("session_id", "base_revision", "base_digest", "validate_only")
    ]
    return min(set_fields, key=lambda name: (not name.startswith("remove_"), name), default="base_revision")
