"""What a study answers, as objects and as JSON says it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.planning.study.reader import Given
from gangplan.planning.study.schema import Study
from gangplan.planning.study.task import Outcome, Point
from gangplan.planning.study.verdict import Verdict, verdict


@dataclass(frozen=True, slots=True)
class Found:
    """A point with what came of it.

    Attributes:
        point: values by axis.
        outcomes: one for each seed, in order.
    """

    point: Point
    outcomes: tuple[Outcome, ...]

    def values(self, figure: str) -> list[float]:
        """A figure of every seed that has one, in order."""
        found = (outcome.figures.get(figure) for outcome in self.outcomes)
        return [value for value in found if value is not None]

    def median(self, figure: str) -> float | None:
        """The median of a figure over the seeds; None: no seed has one."""
        values = self.values(figure)
        return statistics.median(values) if values else None

    @property
    def errors(self) -> list[str]:
        """Why simulations failed, each reason once."""
        return list(dict.fromkeys(outcome.error for outcome in self.outcomes if outcome.error))

    def verdict(self, study: Study) -> Verdict | None:
        """Whether it keeps to the question's bounds; None: there are none."""
        if study.find is None or not study.find.where:
            return None
        return verdict(self.outcomes, study.find.where, study.find.confidence)

    @property
    def label(self) -> str:
        """Its values in words."""
        return label(self.point)


def label(point: Point) -> str:
    """Values by axis in words: ``h100 4, load 1.5``."""
    return ", ".join(f"{axis} {shown(value)}" for axis, value in point)


def shown(value: Any) -> str:
    """A value of an axis in words; nothing changed is ``as it is``."""
    if value is None:
        return "as it is"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {shown(each)}" for key, each in value.items())
    return ", ".join(map(shown, value)) if isinstance(value, list) else str(value)


@dataclass(frozen=True, slots=True)
class Result:
    """A study that was answered.

    Attributes:
        given: the study.
        points: all that were played, in the order in which they were asked for.
        answer: in sentences, one for each finding.
        findings: the same for programs; what they hold depends on the question.
        where: in what the simulations ran.
        played: simulations that ran now.
        reused: that had run before.
    """

    given: Given
    points: tuple[Found, ...]
    answer: tuple[str, ...]
    findings: tuple[Mapping[str, Any], ...]
    where: str
    played: int
    reused: int

    def document(self) -> dict[str, Any]:
        """As JSON says it; all but ``run`` is the same wherever and however often it ran."""
        study = self.given.study
        cpu = sum(outcome.cpu_s for point in self.points for outcome in point.outcomes)
        return {
            "study": {
                "title": self.given.name,
                "about": study.about,
                "file": study.model_dump(mode="json", exclude_defaults=True, by_alias=True),
            },
            "answer": list(self.answer),
            "findings": [dict(finding) for finding in self.findings],
            "points": [_point(point, study) for point in self.points],
            "run": {"where": self.where, "played": self.played, "reused": self.reused, "cpu_s": cpu},
        }


def _point(found: Found, study: Study) -> dict[str, Any]:
    names = dict.fromkeys(name for outcome in found.outcomes for name in outcome.figures)
    said = found.verdict(study)
    return {
        "values": dict(found.point),
        "figures": {name: [outcome.figures.get(name) for outcome in found.outcomes] for name in names},
        "left_out": [dict(outcome.left_out) for outcome in found.outcomes],
        "errors": found.errors,
        "verdict": None
        if said is None
        else {
            "kept": said.kept.value,
            "times": said.times,
            "draws": said.draws,
            "confidence": said.confidence,
        },
    }
