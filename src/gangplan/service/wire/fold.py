"""Folds alike nodes or jobs to classes (decisions 34 and 43)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from google.protobuf.message import Message

M = TypeVar("M", bound=Message)
C = TypeVar("C", bound=Message)


def fold(
    messages: Iterable[M],
    make_class: Callable[..., C],
    *,
    foldable: Callable[[M], bool] = lambda _: True,
) -> tuple[list[M], list[C]]:
    """Messages that have no like, and classes of those alike but for name and revision; in order.

    Args:
        messages: nodes or jobs, each with ``name`` and ``revision``.
        make_class: makes a class from ``template``, ``names`` and ``revisions``.
        foldable: whether a message may be a member of a class.
    """
    groups: dict[bytes, list[tuple[M, str, str]]] = {}
    for position, message in enumerate(messages):
        template: Any = type(message)()
        template.CopyFrom(message)
        name, revision = template.name, template.revision
        template.name = template.revision = ""
        key = template.SerializeToString(deterministic=True) if foldable(message) else b"%d" % position
        groups.setdefault((b"c" if foldable(message) else b"s") + key, []).append((message, name, revision))
    single: list[M] = []
    classes: list[C] = []
    for members in groups.values():
        if len(members) == 1:
            single.append(members[0][0])
            continue
        alike: Any = type(members[0][0])()
        alike.CopyFrom(members[0][0])
        alike.name = alike.revision = ""
        revisions = [revision for _, _, revision in members]
        classes.append(
            make_class(
                template=alike,
                names=[name for _, name, _ in members],
                revisions=revisions if any(revisions) else [],
            )
        )
    return single, classes
