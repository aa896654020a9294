"""Short letters and colours for jobs: readable by colour, and without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

# Backgrounds of the 256-colour palette on which black letters read well, ordered so that neighbours differ.
_COLOURS = (75, 214, 114, 213, 186, 209, 80, 147, 156, 222, 110, 181)


@dataclass(frozen=True, slots=True)
class Label:
    """How one job looks.

    Attributes:
        text: its letters; lower case when the job is kept as it was, upper case when the plan changed it.
        style: a rich style.
    """

    text: str
    style: str


def label_jobs(names: Iterable[str], changed: frozenset[str]) -> dict[str, Label]:
    """Label each job, in the order given. All labels are equally wide.

    Args:
        names: jobs that are to be shown.
        changed: jobs that start, move or change size.
    """
    order = list(dict.fromkeys(names))
    new = [name for name in order if name in changed]
    kept = [name for name in order if name not in changed]
    width = _width(max(len(new), len(kept)))
    labels: dict[str, Label] = {}
    for alphabet, group, offset, weight in (
        (ascii_uppercase, new, 0, "bold "),
        (ascii_lowercase, kept, len(_COLOURS) // 2, ""),
    ):
        for position, name in enumerate(group):
            colour = _COLOURS[(position + offset) % len(_COLOURS)]
            labels[name] = Label(_letters(position, width, alphabet), f"{weight}color(16) on color({colour})")
    return {name: labels[name] for name in order}


def label_width(labels: Mapping[str, Label]) -> int:
    """Letters per label; 1 when there is none."""
    return max((len(label.text) for label in labels.values()), default=1)


def _width(count: int) -> int:
    width = 1
    while len(ascii_uppercase) ** width < count:
        width += 1
    return width


def _letters(position: int, width: int, alphabet: str) -> str:
    letters = ""
    for _ in range(width):
        position, digit = divmod(position, len(alphabet))
        letters = alphabet[digit] + letters
    return letters
