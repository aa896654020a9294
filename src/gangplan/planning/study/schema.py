"""The study file as types: what may be written, field by field."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from gangplan.planning.scenario.quantities import (
    Count,
    Duration,
    Name,
    NonNegative,
    PositiveDuration,
    Whole,
    parse_duration,
)
from gangplan.planning.scenario.schema.part import Part

Told = Literal["exact", "noisy", "predicted", "unknown"]
MOST_POINTS = 10_000
"""Most points of a grid."""
_AXIS = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class ReplayPart(Part):
    """How a trace is replayed, as the options of ``gangplan simulate`` say it.

    Attributes:
        queue: only jobs of this queue of the trace.
        skip: pass over so many jobs, in order of submission.
        most_jobs: no more than so many after these.
        elastic: let jobs have any measured number of GPUs.
        types: the cluster's type by the trace's word for it.
        restart: what every start of a job costs.
    """

    queue: str | None = None
    skip: Whole = 0
    most_jobs: Count | None = None
    elastic: bool = False
    types: dict[Name, Name] = Field(default_factory=dict)
    restart: Duration = 0.0


class Base(Part):
    """What every point starts from.

    Attributes:
        scenario: path of a scenario with jobs, relative to the study.
        trace: path of a trace, relative to the study.
        cluster: of a trace: path of a scenario with nodes, catalogue and policy.
        generated: name of a generated history; ``{}`` in it is the seed.
        replay: how a trace is replayed.
        policy: who decides.
        preset: what gangplan's own policies weigh.
        pipeline: which steps they take.
        told: what policies are told; by default what the scenario says.
        noise: largest relative error of ``told: noisy``.
        rounds: after so many a simulation ends, whoever is left.
        mtbf: mean time to a failure of each node; None: none fails, besides those of the scenario.
        repair: mean time until it is back.
    """

    scenario: str | None = None
    trace: str | None = None
    cluster: str | None = None
    generated: str | None = None
    replay: ReplayPart = ReplayPart()
    policy: Name = "fifo"
    preset: Name | None = None
    pipeline: Literal["full", "greedy"] = "greedy"
    told: Told | None = None
    noise: Annotated[NonNegative, Field(lt=1)] | None = None
    rounds: Count | None = None
    mtbf: PositiveDuration | None = None
    repair: PositiveDuration = 3600.0

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("scenario", "trace", "generated") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("name one of `scenario`, `trace` and `generated`")
        if (self.trace is None) != (self.cluster is None):
            raise ValueError("`trace` and `cluster` go together: a trace is replayed on a cluster")
        if self.replay.model_fields_set and self.trace is None:
            raise ValueError("`replay` is of a trace")
        return self


class Range(Part):
    """Whole numbers, or steps between two numbers.

    Attributes:
        start: the first; written ``from``.
        to: the last, which is one of them if the steps meet it.
        step: between two.
    """

    start: Annotated[int | float, Field(alias="from")]
    to: int | float
    step: Annotated[int | float, Field(gt=0)] = 1

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if self.to < self.start:
            raise ValueError(f"ends at {self.to}, below its beginning {self.start}")
        if (self.to - self.start) / self.step > MOST_POINTS:
            raise ValueError(f"has more than {MOST_POINTS} values")
        return self

    def values(self) -> list[Any]:
        """All of them, ascending."""
        count = int((self.to - self.start) / self.step + 1e-9) + 1
        return [self.start + k * self.step for k in range(count)]


def _number(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


Figure = Annotated[float | int, BeforeValidator(_number)]


class Bound(Part):
    """What a figure has to keep to.

    Attributes:
        at_least, at_most: in the figure's unit; times as seconds or such as 1h.
    """

    at_least: Figure | None = None
    at_most: Figure | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("write `at_least`, `at_most` or both")
        return self

    def kept(self, value: float | None) -> bool:
        """Whether a figure keeps to it; one that nobody can tell does not."""
        if value is None:
            return False
        low = self.at_least is None or value >= self.at_least - 1e-12
        return low and (self.at_most is None or value <= self.at_most + 1e-12)

    def __str__(self) -> str:
        parts = [f"at least {self.at_least:g}"] if self.at_least is not None else []
        parts += [f"at most {self.at_most:g}"] if self.at_most is not None else []
        return " and ".join(parts)


class Find(Part):
    """The question; one of ``smallest``, ``largest``, ``least``, ``most`` and ``compare``.

    Attributes:
        smallest, largest: axis whose smallest (largest) value keeps to ``where``: by bisection, since what
            keeps to it is taken to do so with more (with less) as well.
        least, most: figure that is least (most) among all points that keep to ``where``: by sweep.
        compare: axis whose values are compared with its first one, in the figures of ``show``.
        where: bounds by figure.
        confidence: a point keeps to its bounds if more than half of all draws do so with this confidence
            (sign test over the seeds); with one seed what it does is what counts.
    """

    smallest: Name | None = None
    largest: Name | None = None
    least: Name | None = None
    most: Name | None = None
    compare: Name | None = None
    where: dict[Name, Bound] = Field(default_factory=dict)
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        asked = [name for name in ("smallest", "largest", "least", "most", "compare") if getattr(self, name)]
        if len(asked) != 1:
            raise ValueError("ask for one of `smallest`, `largest`, `least`, `most` and `compare`")
        if (self.smallest or self.largest) and not self.where:
            raise ValueError("say in `where` what it has to keep to")
        if self.compare and self.where:
            raise ValueError("`compare` has no `where`")
        return self


def _named(value: dict[str, Any]) -> dict[str, Any]:
    for name in value:
        if not _AXIS.fullmatch(name):
            raise ValueError(f"{name!r} is no name of an axis: letters, digits, - and _")
    return value


class Study(Part):
    """A whole study file.

    Attributes:
        gangplan: ``study/v1``; the file's first line.
        title: one line.
        about: what it is for.
        base: what every point starts from.
        axes: values by name; each combination is a point.
        changes: made at every point, in order, each a mapping with the key of one edit; ``$name`` stands for
            the axis's value there, and where that is null nothing is changed.
        seeds: how many draws of every point.
        draw: what a seed draws besides failures, noise and a generated history: ``nothing``; ``resample``:
            as many jobs, each one of the source's with replacement, at the source's arrival times;
            ``windows``: of a trace, the ``replay.most_jobs`` jobs after those of the seed before.
        find: the question; None: all points as a table.
        show: figures of the tables and pictures, besides those of the question.
        time_limit: wall time of one simulation; one that takes longer has failed.
    """

    gangplan: Literal["study/v1"]
    title: str = ""
    about: str = ""
    base: Base
    axes: Annotated[
        dict[str, Range | Annotated[list[Any], Field(min_length=1)]],
        AfterValidator(_named),
        Field(min_length=1),
    ]
    changes: Annotated[list[dict[str, Any]], Field(min_length=1)]
    seeds: Annotated[Count, Field(le=1000)] = 1
    draw: Literal["nothing", "resample", "windows"] = "nothing"
    find: Find | None = None
    show: list[Name] = Field(default_factory=list)
    time_limit: PositiveDuration | None = None

    @field_validator("axes")
    @classmethod
    def _no_value_twice(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name, axis in value.items():
            if isinstance(axis, list) and len({repr(each) for each in axis}) < len(axis):
                raise ValueError(f"a value of {name!r} is written twice")
        return value

    def values(self, axis: str) -> list[Any]:
        """All values of an axis, in order."""
        found = self.axes[axis]
        return found.values() if isinstance(found, Range) else list(found)
