"""``gangplan tune``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gangplan.cli.exits import explained, resumable
from gangplan.cli.options.answer import form
from gangplan.cli.options.page import Report, check_page, write_page
from gangplan.cli.options.places import check_places
from gangplan.cli.options.simulations import Cluster, MostJobs, State, Workers, processes
from gangplan.cli.output import Format, print_document
from gangplan.cli.render.counting import counting
from gangplan.planning.default_policy import DEFAULT_POLICY

if TYPE_CHECKING:
    from gangplan.planning.study.schema import Bound
    from gangplan.planning.study.task import Base
    from gangplan.planning.tune.search import Tuned

_WHERE = re.compile(r"([a-z0-9_]+)\s*(>=|<=)\s*(.+)")


@explained
def tune(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A scenario with jobs, a trace (with --cluster), or a generated history."
        ),
    ],
    *,
    cluster: Cluster = None,
    policy: Annotated[
        str, typer.Option(help="Of gangplan's own, whose weights are turned.")
    ] = DEFAULT_POLICY,
    figure: Annotated[
        list[str] | None,
        typer.Option(help="Two or three figures.", show_default="completion_mean and rho_worst"),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=LOW:HIGH]",
            help="What is turned.",
            show_default="fairness_power, deadline_weight, switching_weight",
        ),
    ] = None,
    best: Annotated[
        str | None, typer.Option(help="The wish: this figure at its best.", show_default="the first figure")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="FIGURE>=X", help="The wish: only with these bounds; times such as 1h."),
    ] = None,
    points: Annotated[
        int, typer.Option(help="Of the design; each refinement tries half as many.", min=2)
    ] = 16,
    refinements: Annotated[int, typer.Option(help="Around the front.", min=0)] = 2,
    seeds: Annotated[int, typer.Option(help="Draws of every point, jobs drawn with replacement.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Of the design and the refinements.", min=0)] = 0,
    most_jobs: MostJobs = None,
    workers: Workers = None,
    state: State = None,
    report: Report = None,
    output: Annotated[Format, form("front, choice and prices of rules")] = Format.TABLE,
) -> None:
    """Find the weights of a policy by what they lead to: a Pareto front, a choice, the price of each rule.

    \b
    gangplan tune scenarios/studies/site.yaml --points 8 --refinements 1
    gangplan tune scenarios/studies/site.yaml --figure deadlines_met --figure completion_mean
    gangplan tune small/seed0 --best completion_mean --where "rho_worst<=1.5" --report front.html
    """  # noqa: D301 - \b keeps the lines
    from gangplan.planning.study.finished import Finished
    from gangplan.planning.study.runners.local import Local
    from gangplan.planning.tune.knobs import knobs
    from gangplan.planning.tune.search import Wish
    from gangplan.planning.tune.search import tune as tuned

    check_page(report)
    check_places(state=state)
    names = tuple(figure or ("completion_mean", "rho_worst"))
    bounds = _bounds(where or [])
    _check_figures(names, [*bounds, *([best] if best else [])])
    turned = knobs(weight or [])
    base = _base(source, cluster, policy, most_jobs, "resample" if seeds > 1 else "nothing")
    with resumable(state, "--state FILE"), counting("simulation") as tell:
        found = tuned(
            base,
            Local(processes(workers)),
            turned,
            Wish(names, bounds, best or names[0]),
            points=points,
            refinements=refinements,
            seeds=seeds,
            seed=seed,
            finished=Finished(state),
            on_progress=lambda done, wanted: tell(done, wanted, ""),
        )
    said = {
        "base": source,
        "policy": policy,
        "figures": list(names),
        "weights": {knob.name: [knob.low, knob.high] for knob in turned},
        "where": {name: bound.model_dump(exclude_none=True) for name, bound in bounds.items()},
        "best": best or names[0],
        "points": points,
        "refinements": refinements,
        "seeds": seeds,
        "seed": seed,
    }
    document = _document(said, found)
    write_page(report, document)
    if output is Format.TABLE:
        from gangplan.cli.render.console import print_answer
        from gangplan.cli.render.tuned import tuned as shown

        print_answer(shown(document))
    else:
        print_document(document, output)


def _base(source: str, cluster: Path | None, policy: str, most_jobs: int | None, draw: str) -> Base:
    from gangplan.errors import FieldViolation, InvalidInputError
    from gangplan.planning import sources
    from gangplan.planning.policies import names
    from gangplan.planning.study import schema
    from gangplan.planning.study.task import Base

    if policy not in names():
        raise InvalidInputError(
            [FieldViolation("--policy", f"no policy {policy!r}; there are: {', '.join(names())}")]
        )
    given: dict[str, Any] = {"generated": source}
    if cluster is not None:
        given = {"trace": source, "cluster": str(cluster), "replay": {"most_jobs": most_jobs}}
    part = schema.Base(policy=policy, **given)
    return Base.made(part, draw, (sources.read(source, cluster),))


def _bounds(words: list[str]) -> dict[str, Bound]:
    from gangplan.errors import FieldViolation, InvalidInputError
    from gangplan.planning.scenario.quantities import parse_duration
    from gangplan.planning.study.schema import Bound

    found: dict[str, dict[str, float]] = {}
    for word in words:
        match = _WHERE.fullmatch(word.strip())
        try:
            if match is None:
                raise ValueError
            number = re.fullmatch(r"[\d.]+(e[+-]?\d+)?", match[3])
            value = float(match[3]) if number else parse_duration(match[3])
        except ValueError:
            raise InvalidInputError(
                [FieldViolation("--where", f"{word!r} is no FIGURE>=X or FIGURE<=X")]
            ) from None
        found.setdefault(match[1], {})["at_least" if match[2] == ">=" else "at_most"] = value
    return {name: Bound(**sides) for name, sides in found.items()}


def _check_figures(names: tuple[str, ...], others: list[str]) -> None:
    from gangplan.errors import FieldViolation, InvalidInputError
    from gangplan.planning.scenario.checks import did_you_mean
    from gangplan.planning.study.figures import FIGURES

    wrong = [name for name in (*names, *others) if name not in FIGURES]
    if wrong:
        raise InvalidInputError(
            [FieldViolation("--figure", did_you_mean(name, FIGURES, "figure")) for name in wrong]
        )
    if not 2 <= len(set(names)) <= 3 or len(set(names)) < len(names):
        raise InvalidInputError([FieldViolation("--figure", "name two or three different figures")])
    blind = [name for name in names if not FIGURES[name].better]
    if blind:
        raise InvalidInputError(
            [FieldViolation("--figure", f"of {blind[0]!r} neither more nor less is better")]
        )


def _document(said: dict[str, Any], found: Tuned) -> dict[str, Any]:
    from gangplan.planning.study.figures import FIGURES
    from gangplan.planning.study.questions.words import bounds as in_words
    from gangplan.planning.study.questions.words import figure
    from gangplan.planning.study.schema import Bound

    bounds = in_words({name: Bound(**sides) for name, sides in said["where"].items()})
    answer = [f"{len(found.front)} of {len(found.tried)} policies are on the front."]
    if found.chosen is None:
        answer.insert(0, f"No policy that was tried keeps to the bounds: {bounds}.")
    else:
        one = found.tried[found.chosen]
        what = f"the preset {one.name}" if "preset" in one.weights else one.name
        if one.name == "weights":
            what = ", ".join(f"{name} {value:g}" for name, value in one.weights.items())
        figures = ", ".join(f"{name} {figure(name, one.figures.get(name))}" for name in said["figures"])
        wish = f"{FIGURES[said['best']].about} at its best{' with ' + bounds if bounds else ''}"
        answer.insert(0, f"For {wish}: {what} ({figures}).")
    return {
        "tune": said,
        "answer": answer,
        "tried": [
            {"name": one.name, "weights": dict(one.weights), "figures": dict(one.figures)}
            for one in found.tried
        ],
        "front": list(found.front),
        "chosen": found.chosen,
        "rules": [{"name": name, "price": dict(price)} for name, price in found.rules],
    }
