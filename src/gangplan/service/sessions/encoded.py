"""A record without its content as JSON, for stores, and back."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from types import MappingProxyType
from typing import Any

from gangplan.domain.plan import ActionKind
from gangplan.service.sessions.content import Content
from gangplan.service.sessions.in_flight import InFlight, Outcome
from gangplan.service.sessions.record import Applied, Carried, Record

FORMAT = 1
"""Grows when what was written before is read otherwise."""


def encode(record: Record) -> bytes:
    """All but the content and the serial, which stores keep apart."""
    carried = record.carried
    document = {
        "format": FORMAT,
        "revision": record.revision,
        "time_to_live": record.time_to_live,
        "plans": record.plans,
        "snapshot_digest": _text(record.snapshot_digest),
        "in_flight": [
            [
                entry.plan_id,
                entry.action_id,
                entry.kind.value,
                entry.job,
                _text(entry.action),
                entry.nodes,
                entry.depends_on,
                entry.since,
                entry.void_after,
                entry.stopped,
            ]
            for entry in record.in_flight
        ],
        "settled": {name: outcome.value for name, outcome in record.settled.items()},
        "applied": [
            [base, _text(applied.request), applied.revision, _text(applied.digest)]
            for base, applied in record.applied.items()
        ],
        "carried": [
            _text(carried.warm_start),
            _text(carried.outlook),
            [_text(claim) for claim in carried.claims],
        ],
        "promises": [_text(promise) for promise in carried.promises],
    }
    return json.dumps(document, separators=(",", ":")).encode()


def decode(
    encoded: bytes, *, session_id: str, caller: str, snapshot: str, serial: int, content: Content
) -> Record:
    """The record that :func:`encode` was given.

    Raises:
        ValueError: it was written by a later version.
    """
    document: dict[str, Any] = json.loads(encoded)
    if document["format"] != FORMAT:
        raise ValueError(f"session {session_id} has format {document['format']}, and {FORMAT} is known")
    warm_start, outlook, claims = document["carried"]
    return Record(
        session_id=session_id,
        caller=caller,
        content=content,
        revision=document["revision"],
        time_to_live=document["time_to_live"],
        plans=document["plans"],
        in_flight=tuple(_in_flight(*entry) for entry in document["in_flight"]),
        settled=MappingProxyType({name: Outcome(outcome) for name, outcome in document["settled"].items()}),
        applied=MappingProxyType(
            {
                base: Applied(b64decode(request), revision, b64decode(digest))
                for base, request, revision, digest in document["applied"]
            }
        ),
        carried=Carried(
            b64decode(warm_start),
            b64decode(outlook),
            tuple(b64decode(claim) for claim in claims),
            tuple(b64decode(promise) for promise in document.get("promises", ())),
        ),
        serial=serial,
        snapshot=snapshot,
        snapshot_digest=b64decode(document["snapshot_digest"]),
    )


def _in_flight(
    plan_id: str,
    action_id: str,
    kind: str,
    job: str,
    action: str,
    nodes: list[str],
    depends_on: list[str],
    since: float,
    void_after: float,
    stopped: bool,  # noqa: FBT001 (in the order of the document)
) -> InFlight:
    return InFlight(
        plan_id,
        action_id,
        ActionKind(kind),
        job,
        b64decode(action),
        tuple(nodes),
        tuple(depends_on),
        since,
        void_after,
        stopped,
    )


def _text(value: bytes) -> str:
    return b64encode(value).decode("ascii")
