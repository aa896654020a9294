"""Any valid scenario reads back from what is written, with names and texts that YAML stumbles over."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangplan.planning.scenario import Scenario, dumps, expand, loads

TRICKY = [
    *("on", "no", "null", "~", "1e3", "010", "0x1F", "04:30", "2026-01-01", "true", ".5", "1_000", ".inf"),
    *("a: b", "- x", "# y", "'", '"', "<<", "=", "!t", "&a", "*a", "%", "@", "`", "{}", "[", "|", ">", "?"),
    *("\u00e9\u4e2d\U0001f600", "\u2028", "\x85", "a\nb", "a\n", "\n", " lead", "trail ", "\t", ""),
]
texts = st.sampled_from(TRICKY) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.sampled_from(
    [t for t in TRICKY if t and not any(c.isspace() or c in "\x85{" for c in t)]
) | st.from_regex(r"[a-z0-9][-a-z0-9./_]{0,8}", fullmatch=True)
durations = st.one_of(
    st.integers(0, 10**6),
    st.floats(0, 1e9, allow_nan=False),
    st.sampled_from(["5m", "2-04:00:00", "1h30m", "2d4h", "04:00:00", "90s", "1-12"]),
)
lengths = st.one_of(st.integers(1, 10**6), st.sampled_from(["5m", "2-04:00:00", "1h"]))
cpus = st.one_of(st.integers(1, 512), st.sampled_from(["500m", "1500m", "0.25", 2.5]))
memories = st.one_of(st.integers(1, 2**45), st.sampled_from(["80Gi", "512Mi", "1Ti", "64G", "1.5Gi", "3Ki"]))
positives = st.floats(1e-3, 1e6, allow_nan=False)
rates = st.floats(0, 1e6, allow_nan=False)


def some(draw: st.DrawFn, parts: dict[str, Any], **optional: st.SearchStrategy[Any]) -> dict[str, Any]:
    """``parts`` with each optional one in every other example."""
    for name, strategy in optional.items():
        if draw(st.booleans()):
            parts[name] = draw(strategy)
    return parts


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """A scenario that reads, checks and expands."""
    types = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    levels = draw(
        st.lists(names.filter(lambda name: name not in ("node", "cluster")), max_size=2, unique=True)
    )
    domains, innermost = draw_domains(draw, levels)
    queues = draw_queues(draw, types)
    profiles = {
        name: {
            kind: {
                scope: draw(st.dictionaries(st.integers(1, 64), rates, min_size=1, max_size=3))
                for scope in scopes
            }
            for kind, scopes in draw(
                st.dictionaries(
                    st.sampled_from(types),
                    st.lists(st.sampled_from(["node", *levels, "cluster"]), min_size=1, unique=True),
                    min_size=1,
                )
            ).items()
        }
        for name in draw(st.lists(names, max_size=2, unique=True))
    }
    nodes = [draw_nodes(draw, index, types, innermost) for index in range(draw(st.integers(0, 4)))]
    node_names = [
        (f"n{index}-1", group)
        for index, group in enumerate(nodes)
        if group.get("gpus", 0) >= 2 and group.get("reporting", "EXACT") == "EXACT"
    ]
    jobs = [
        draw_job(draw, index, types, levels, [queue["name"] for queue in queues], sorted(profiles))
        for index in range(draw(st.integers(0, 4)))
    ]
    if node_names and draw(st.booleans()):
        name, group = draw(st.sampled_from(node_names))
        held = draw(st.lists(st.integers(0, group["gpus"] - 1), min_size=1, max_size=2, unique=True))
        where: Any = draw(st.sampled_from([{name: held}, {"worker": {name: held}}]))
        running = some(draw, {"where": where}, since=durations)
        jobs.append({"name": "runs", "gpus": 1, "running": running})
    settings = some(
        draw, {}, round=lengths, horizon=lengths, now=st.sampled_from([0, 1.5, "2026-11-29T12:00:00Z"])
    )
    policy = some(
        draw,
        {},
        size_exponent=rates,
        fairness_power=st.floats(0, 2),
        priority_weights=st.dictionaries(st.integers(-5, 5), positives, max_size=3),
        deadline_weight=rates,
        locality_weight=rates,
        switching_weight=rates,
        disruption_limit=st.none() | st.integers(0, 100),
        hysteresis=st.floats(0.0, 1.0),
        minimum_run=durations,
        disruption_limit_per_job_hour=st.none() | st.integers(0, 9),
        reference_host=st.fixed_dictionaries({"cpu": cpus, "memory": memories}),
    )
    parts = {
        "gangplan": "scenario/v1",
        "accelerators": {kind: draw(positives) for kind in types},
        "topology": {"levels": levels, "domains": domains},
        "nodes": nodes,
        "queues": queues,
        "profiles": profiles,
        "jobs": jobs,
        "settings": settings,
        "policy": policy,
    }
    some(draw, parts, title=texts, about=texts, at=st.sampled_from([[0], [0, "5m"], [60, 120.5]]))
    if jobs and draw(st.booleans()):
        first = jobs[0].get("names", [jobs[0].get("name", "").replace("{}", "1")])[0]
        parts["expected"] = {
            "argument": "because it was drawn that way, and not for any better reason",
            "objective": draw(st.floats(-1e6, 1e6)),
            "jobs": {first: draw(st.sampled_from(["WAIT", {"action": "PLACE", "tasks": 2}]))},
        }
    some(
        draw,
        parts,
        solve=st.fixed_dictionaries(
            {
                "pipeline": st.sampled_from(["auto", "full", "greedy"]),
                "seed": st.integers(0, 99),
                "time_limit": lengths,
            }
        ),
    )
    return Scenario.model_validate(parts)


def draw_domains(draw: st.DrawFn, levels: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """A nested group of domains, and the names of the innermost."""
    if not levels:
        return [], []
    outer, inner = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    if len(levels) == 1:
        return [{"name": "d{}", "count": outer}], [f"d{number}" for number in range(1, outer + 1)]
    group = {
        "name": "d{}",
        "count": outer,
        "domains": [{"name": "e{:02}", "count": inner, "level": levels[1]}],
    }
    return [group], [f"e{number:02}" for number in range(1, outer * inner + 1)]


def draw_queues(draw: st.DrawFn, types: list[str]) -> list[dict[str, Any]]:
    """Queues, each below one that comes before it."""
    queues: list[dict[str, Any]] = []
    for name in draw(st.lists(names, max_size=3, unique=True)):
        queue = some(
            draw,
            {"name": name},
            limit=st.none() | st.integers(0, 64),
            limits=st.dictionaries(st.sampled_from(types), st.integers(0, 9)),
        )
        if queues and draw(st.booleans()):
            queue["parent"] = draw(st.sampled_from([each["name"] for each in queues]))
        queues.append(queue)
    return queues


def draw_nodes(draw: st.DrawFn, index: int, types: list[str], innermost: list[str]) -> dict[str, Any]:
    """A group of nodes named ``n<index>-1`` and on."""
    group: dict[str, Any] = {"name": f"n{index}-{{}}", "count": draw(st.integers(1, 3)), "cpu": draw(cpus)}
    if draw(st.booleans()):
        group = {"names": [f"n{index}-1", f"n{index}-x"], "memory": draw(memories)}
    elif innermost and draw(st.booleans()):
        group["domain"] = draw(st.sampled_from([innermost[0], innermost, "*"]))
    if draw(st.booleans()):
        group |= {"type": draw(st.sampled_from(types)), "gpus": draw(st.integers(1, 16))}
        if draw(st.booleans()):
            group |= {"reporting": "COUNT_ONLY", "unhealthy_gpus": draw(st.integers(0, group["gpus"]))}
        else:
            held = st.lists(st.integers(0, group["gpus"] - 1), unique=True)
            group |= {"unhealthy_gpus": draw(held), "others": {"gpus": draw(held), "cpu": draw(cpus)}}
    effects = st.sampled_from(["NO_SCHEDULE", "NO_EXECUTE"])
    return some(
        draw,
        group,
        labels=st.dictionaries(names, texts, max_size=2),
        taints=st.lists(st.fixed_dictionaries({"key": names, "value": texts, "effect": effects}), max_size=2),
        cordoned=st.booleans(),
        health=st.sampled_from(["HEALTHY", "UNHEALTHY"]),
        drain=st.integers(-100, 100),
        revision=texts,
    )


def draw_tasks(draw: st.DrawFn, types: list[str], profiles: list[str]) -> dict[str, Any]:
    """What a kind of task asks for."""
    tasks = draw(st.integers(1, 8))
    parts: dict[str, Any] = {"tasks": tasks}
    if draw(st.booleans()):
        more = draw(st.lists(st.integers(1, 16), max_size=3))
        parts["counts"] = draw(st.sampled_from([sorted({tasks, *more}), {"min": 1, "max": 8}]))
    if draw(st.booleans()):
        parts["gpus"] = draw(st.integers(1, 8))
        parts["types"] = draw(st.lists(st.sampled_from(types), unique=True))
        if profiles and draw(st.booleans()):
            parts["profile"] = draw(st.sampled_from(profiles))
    else:
        parts["cpu"] = draw(cpus)
    return some(
        draw,
        parts,
        memory=memories,
        split=st.sampled_from(["FREE", "WHOLE_NODES"]),
        selector=st.dictionaries(names, texts, max_size=2),
        tolerations=st.lists(
            st.fixed_dictionaries(
                {}, optional={"key": names, "value": texts, "effect": st.just("NO_EXECUTE")}
            ),
            max_size=2,
        ),
    )


def draw_job(
    draw: st.DrawFn, index: int, types: list[str], levels: list[str], queues: list[str], profiles: list[str]
) -> dict[str, Any]:
    """A job, or a class of some."""
    job: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"name": f"j{index}"},
                {"name": f"j{index}-{{}}", "count": 3},
                {"names": [f"j{index}-a", f"j{index}-b"]},
            ]
        )
    ).copy()
    if draw(st.booleans()):
        job |= draw_tasks(draw, types, profiles)
    else:
        job["groups"] = [{"name": name, **draw_tasks(draw, types, profiles)} for name in ("lead", "work")]
    if draw(st.booleans()):
        job["age"] = draw(durations)
    else:
        job["arrives"] = draw(durations)
    if queues and draw(st.booleans()):
        job["queue"] = draw(st.sampled_from(queues))
    scopes = st.sampled_from(["node", *levels, "cluster"])
    if draw(st.booleans()):
        job["deadline"] = draw(st.integers(-1000, 10**6) | st.just("-1h"))
        job |= draw(
            st.sampled_from([{}, {"deadline_kind": "STRICT"}, {"deadline_kind": "SOFT", "decay": "1h"}])
        )
    return some(
        draw,
        job,
        required=scopes,
        preferred=scopes,
        weight=positives,
        priority=st.integers(-5, 5),
        work=rates | st.just("2h"),
        done=rates,
        fair_progress=rates,
        fair_finish_age=durations,
        restart=durations,
        notice=durations,
        pausable=st.booleans(),
        movable=st.booleans(),
        resizable=st.booleans(),
        held=st.booleans(),
        not_before=durations,
        after=st.lists(names, max_size=2),
        held_time=durations,
        revision=texts,
    )


@given(scenarios(), st.sets(st.sampled_from(["title", "about", "settings", "accelerators", "topology"])))
def test_a_few_parts_of_a_scenario_read_back_equal(scenario, kept):
    """They may be scalars only, which need the outermost mapping open all the same."""
    fields = scenario.model_dump(mode="python", exclude_defaults=True)
    part = Scenario.model_validate({k: v for k, v in fields.items() if k in kept | {"gangplan"}})
    assert loads(dumps(part)) == part


@given(scenarios())
def test_what_is_written_reads_back_equal(scenario):
    text = dumps(scenario, header="drawn\n\nby hypothesis")
    assert loads(text) == scenario
    assert dumps(loads(text)) == dumps(scenario)


@given(scenarios())
def test_what_reads_expands_and_does_so_twice_alike(scenario):
    round_ = expand(scenario)
    assert round_ == expand(loads(dumps(scenario)))
    assert len({node.name for node in round_.cluster.nodes}) == len(round_.cluster.nodes)
    assert len({job.name for job in round_.jobs}) == len(round_.jobs)


def test_an_empty_scenario_with_a_title_reads_back():
    empty = Scenario(gangplan="scenario/v1", title="nothing yet")
    assert dumps(empty) == "gangplan: scenario/v1\ntitle: nothing yet\n"
    assert loads(dumps(empty)) == empty
