"""Folds alike nodes or jobs to classes (decisions 34 and 43)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from google.protobuf.message import Message

from gangplan.service.wire.put_together import delimited

_NAME = 1
"""Number of the name's field, in nodes and jobs."""


class Named(Protocol):
    """A node or a job."""

    @property
    def name(self) -> str:
        """Unique name."""

    @property
    def revision(self) -> str:
        """Opaque version."""


N = TypeVar("N", bound=Named)


def fold(
    things: Sequence[N],
    bodies: Sequence[bytes],
    holder: Message,
    singles: str,
    classes: str,
    *,
    foldable: Callable[[N], bool] = lambda _: True,
) -> None:
    """Write things one by one, and those that are alike but for name and revision as classes; in order.

    Args:
        things: nodes or jobs.
        bodies: the bytes of each, but for name and revision.
        holder: the message that holds them.
        singles: its repeated field for those that have no like.
        classes: its repeated field for the classes.
        foldable: whether a thing may be a member of a class.
    """
    groups: dict[bytes | int, list[int]] = {}
    for position, (thing, body) in enumerate(zip(things, bodies, strict=True)):
        if foldable(thing):
            groups.setdefault(body, []).append(position)
        else:
            groups[position] = [position]
    alone = [members[0] for members in groups.values() if len(members) == 1]
    add_named([things[i] for i in alone], [bodies[i] for i in alone], holder, singles)
    for members in groups.values():
        if len(members) == 1:
            continue
        message = getattr(holder, classes).add(names=[things[member].name for member in members])
        message.template.MergeFromString(bodies[members[0]])
        if any(things[member].revision for member in members):
            message.revisions.extend([things[member].revision for member in members])


def add_named(things: Sequence[Named], bodies: Sequence[bytes], holder: Message, field: str) -> None:
    """Add things by their bytes, with their names and revisions."""
    described = holder.DESCRIPTOR.fields_by_name[field]
    assert described.message_type is not None
    revision = described.message_type.fields_by_name["revision"].number
    holder.MergeFromString(
        b"".join(
            [
                delimited(
                    described.number,
                    delimited(_NAME, thing.name.encode())
                    + body
                    + (delimited(revision, thing.revision.encode()) if thing.revision else b""),
                )
                for thing, body in zip(things, bodies, strict=True)
            ]
        )
    )


def bodies_of(things: Iterable[N], fill: Callable[[N, Any], None], message: Any) -> list[bytes]:
    """The bytes of things, but for name and revision.

    Args:
        things: nodes or jobs.
        fill: writes one into a message, but for name and revision.
        message: an empty one, used for one after the other.
    """
    bodies = []
    for thing in things:
        message.Clear()
        fill(thing, message)
        bodies.append(message.SerializeToString(deterministic=True))
    return bodies
