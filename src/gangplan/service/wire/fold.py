"""Folds alike nodes or jobs to classes (decisions 34 and 43)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar


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
    things: Iterable[N],
    fill: Callable[[N, Any], None],
    singles: Any,
    classes: Any,
    *,
    foldable: Callable[[N], bool] = lambda _: True,
) -> None:
    """Write things one by one, and those that are alike but for name and revision as classes; in order.

    Args:
        things: nodes or jobs.
        fill: writes one into a message, but for name and revision.
        singles: repeated field for those that have no like.
        classes: repeated field for the classes.
        foldable: whether a thing may be a member of a class.
    """
    groups: dict[bytes | int, list[N]] = {}
    written: dict[int, bytes] = {}
    bare = singles.add()
    for position, thing in enumerate(things):
        bare.Clear()
        fill(thing, bare)
        encoded = bare.SerializeToString(deterministic=True)
        if foldable(thing):
            groups.setdefault(encoded, []).append(thing)
        else:
            groups[position] = [thing]
            written[position] = encoded
    del singles[-1]
    for key, members in groups.items():
        encoded = written[key] if isinstance(key, int) else key
        if len(members) == 1:
            message = singles.add(name=members[0].name, revision=members[0].revision)
            message.MergeFromString(encoded)
            continue
        message = classes.add(names=[member.name for member in members])
        message.template.MergeFromString(encoded)
        if any(member.revision for member in members):
            message.revisions.extend([member.revision for member in members])
