"""What two or more parts of a scenario say about each other: names, references, levels, places.

Knows the file's types, not the file: every problem comes with the path of keys and indices that leads to it,
and whoever read the file turns that into a line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from gangplan.domain.job import WHOLE_DEVICE
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.planning.scenario.schema import Scenario
from gangplan.planning.scenario.schema.cluster import DomainGroup, NodeGroup
from gangplan.planning.scenario.schema.expected import Expected
from gangplan.planning.scenario.schema.jobs import JobClass, Where
from gangplan.planning.scenario.schema.part import Members, is_pattern
from gangplan.planning.scenario.schema.source import GeneratedSource, OpenbSource

Path = tuple[str | int, ...]
Problem = tuple[Path, str]
"""Where, and what is wrong and how to mend it."""

MOST_MEMBERS = 2_000_000
"""Most nodes, and most jobs, of one scenario."""


def did_you_mean(name: str, known: Iterable[str], what: str) -> str:
    """One sentence on a name that is not known, with the nearest that is."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"no {what} is named {name!r}; did you mean {near[0]!r}?"
    listed = ", ".join(repr(each) for each in known[:8]) + (", ..." if len(known) > 8 else "")
    verb = "are" if len(known) > 1 else "is"
    return f"no {what} is named {name!r}; there {verb} {listed or 'none'}"


def domain_instances(scenario: Scenario) -> Iterator[tuple[Path, str, str, str | None]]:
    """Every domain as (path of its group, name, level, parent's name), parents first.

    Numbers of a group run on over all its parents, so that names stay unique.
    """
    levels = scenario.topology.levels

    def walk(
        groups: Sequence[DomainGroup], path: Path, parents: Sequence[str | None], outer: str | None
    ) -> Iterator[tuple[Path, str, str, str | None]]:
        for index, group in enumerate(groups):
            here = (*path, index)
            level = group.level or _next_level(levels, outer)
            names = Members.model_construct(name=group.name, count=group.count, names=None).numbered_names(
                len(parents)
            )
            made = list(names)
            for number, name in enumerate(made):
                yield here, name, level, parents[number // group.count]
            yield from walk(group.domains, (*here, "domains"), made, level)

    yield from walk(scenario.topology.domains, ("topology", "domains"), [None], None)


def _next_level(levels: Sequence[str], outer: str | None) -> str:
    if outer is None:
        return levels[0] if levels else ""
    if outer in levels and levels.index(outer) + 1 < len(levels):
        return levels[levels.index(outer) + 1]
    return ""


def node_domains(group: NodeGroup, domains: Sequence[str]) -> list[str | None]:
    """The domains in each of which the group has ``count`` nodes, in the topology's order for patterns."""
    if group.domain is None:
        return [None]
    wanted = [group.domain] if isinstance(group.domain, str) else group.domain
    found: list[str | None] = []
    for name in wanted:
        matching = [name] if name in domains else [domain for domain in domains if fnmatchcase(domain, name)]
        found.extend(domain for domain in matching if domain not in found)
    return found


def check(scenario: Scenario) -> list[Problem]:
    """Everything that is wrong between the parts, in the order of the file."""
    return list(_problems(scenario))


def _problems(scenario: Scenario) -> Iterator[Problem]:
    if isinstance(scenario.source, GeneratedSource):
        for field in (
            "accelerators",
            "topology",
            "nodes",
            "queues",
            "profiles",
            "policy",
            "jobs",
            "settings",
        ):
            if getattr(scenario, field) != Scenario.model_fields[field].default:
                yield (field,), "a generated source brings the whole round: leave this out"
        yield from _at(scenario)
        return
    yield from _at(scenario)
    yield from _topology(scenario)
    if any(_too_many(scenario)):
        yield from _too_many(scenario)
        return
    yield from _nodes(scenario)
    yield from _queues(scenario)
    for name in scenario.policy.headroom:
        yield from _type(("policy", "headroom", name), name, scenario)
    yield from _profiles(scenario)
    yield from _jobs(scenario)
    yield from _simulation(scenario)
    if scenario.expected is not None:
        yield from _expected(scenario, scenario.expected)


def _at(scenario: Scenario) -> Iterator[Problem]:
    for index, (before, after) in enumerate(zip(scenario.at, scenario.at[1:], strict=False), 1):
        if after <= before:
            yield ("at", index), "moments must grow from one to the next"
    if isinstance(scenario.source, GeneratedSource) and scenario.at != [0.0]:
        yield ("at",), "a generated source has one round: leave this out"


def _too_many(scenario: Scenario) -> Iterator[Problem]:
    for field, members in (("nodes", scenario.nodes), ("jobs", scenario.jobs)):
        total = sum(group.count if group.names is None else len(group.names) for group in members)
        if total > MOST_MEMBERS:
            yield (field,), f"{total} are more than the {MOST_MEMBERS} that one scenario may have"
    domains = 0
    stack = [(group, 1) for group in scenario.topology.domains]
    while stack:
        group, parents = stack.pop()
        domains += group.count * parents
        stack.extend((inner, group.count * parents) for inner in group.domains)
    if domains > MOST_MEMBERS:
        yield (
            ("topology", "domains"),
            f"{domains} are more than the {MOST_MEMBERS} that one scenario may have",
        )


def _pattern(path: Path, name: str | None, total: int) -> Iterator[Problem]:
    if name is None:
        return
    if total > 1 and not is_pattern(name):
        example = name.split("{")[0] + "-{}"
        yield (*path, "name"), f"{total} of them need numbers: write the name with one {{}}, e.g. {example}"
    elif "{" in name and not is_pattern(name):
        yield (*path, "name"), "a number's place is written {} or, padded, {:03}, once"


def _levels(scenario: Scenario) -> set[str]:
    return {CLUSTER, NODE, *scenario.topology.levels}


def _topology(scenario: Scenario) -> Iterator[Problem]:
    levels = scenario.topology.levels
    for index, level in enumerate(levels):
        if level in (CLUSTER, NODE):
            yield ("topology", "levels", index), f"{level!r} is always there: leave it out"
        elif level in levels[:index]:
            yield ("topology", "levels", index), f"{level!r} is listed twice"

    def walk(groups: Sequence[DomainGroup], path: Path, outer: str | None, parents: int) -> Iterator[Problem]:
        for index, group in enumerate(groups):
            here = (*path, index)
            level = group.level or _next_level(levels, outer)
            yield from _pattern(here, group.name, group.count * parents)
            if not level:
                place = f"below {outer!r}" if outer else "in topology.levels"
                yield here, f"there is no level {place} for this domain: add one to topology.levels"
            elif level not in levels:
                yield (*here, "level"), did_you_mean(level, levels, "level")
            elif outer in levels and levels.index(level) <= levels.index(str(outer)):
                yield (*here, "level"), f"level {level!r} is not inside {outer!r}, the level of its parent"
            yield from walk(
                group.domains, (*here, "domains"), level, min(group.count * parents, MOST_MEMBERS + 1)
            )

    yield from walk(scenario.topology.domains, ("topology", "domains"), None, 1)
    if any(_too_many(scenario)):
        return
    seen: dict[str, Path] = {}
    for path, name, _, _ in domain_instances(scenario):
        if seen.setdefault(name, path) != path:
            yield (*path, "name"), f"domain {name!r} is there already"


def _catalogue(scenario: Scenario) -> set[str] | None:
    """Names of the types that are known; None when a source may add some."""
    return None if isinstance(scenario.source, OpenbSource) else set(scenario.accelerators)


def _type(path: Path, name: str | None, scenario: Scenario) -> Iterator[Problem]:
    known = _catalogue(scenario)
    if name is not None and known is not None and name not in known:
        yield path, did_you_mean(name, known, "accelerator type")


def _nodes(scenario: Scenario) -> Iterator[Problem]:
    domains = [name for _, name, _, _ in domain_instances(scenario)]
    known = set(domains)
    seen: set[str] = set()
    for index, group in enumerate(scenario.nodes):
        path: Path = ("nodes", index)
        wanted = (
            [] if group.domain is None else [group.domain] if isinstance(group.domain, str) else group.domain
        )
        for each in wanted:
            if each not in known and not any(fnmatchcase(domain, each) for domain in domains):
                yield (*path, "domain"), did_you_mean(each, known, "domain")
        places = len(node_domains(group, domains))
        yield from _pattern(path, group.name, group.count * places)
        if group.names is not None and places and len(group.names) % places:
            yield (*path, "names"), f"{len(group.names)} names cannot be dealt evenly to {places} domains"
        yield from _duplicates(path, group, group.numbered_names(places), seen, "node")
        yield from _type((*path, "type"), group.type, scenario)
        if group.type is None and group.gpus:
            yield (*path, "gpus"), "name the accelerator `type` of the devices"
        if group.type is not None and not group.gpus:
            yield path, f"say how many `gpus` of type {group.type!r} each node has"
        if not group.gpus and not group.cpu and not group.memory:
            yield path, "a node has something: write `gpus`, `cpu` or `memory`"
        for field, devices in (("unhealthy_gpus", group.unhealthy_gpus), ("others", group.others.gpus)):
            spot = (*path, field) if field != "others" else (*path, "others", "gpus")
            yield from _node_devices(spot, devices, group)


def _node_devices(path: Path, devices: int | list[int], group: NodeGroup) -> Iterator[Problem]:
    if isinstance(devices, int):
        if devices and group.reporting == "EXACT":
            yield path, "on EXACT nodes list the device indices, e.g. [0, 1]"
        elif devices > group.gpus:
            yield path, f"{devices} devices are more than the node's {group.gpus}"
        return
    if devices and group.reporting == "COUNT_ONLY":
        yield path, "COUNT_ONLY nodes have no device indices: write how many"
        return
    yield from _indices(path, devices, group.gpus)


def _indices(path: Path, devices: Sequence[int], built_in: int) -> Iterator[Problem]:
    if len(set(devices)) < len(devices):
        yield path, "a device is listed twice"
    for device in devices:
        if device >= built_in:
            yield path, f"device {device} is not there: the node's go from 0 to {built_in - 1}"
            return


def _duplicates(
    path: Path, group: Members, names: Iterable[str], seen: set[str], what: str
) -> Iterator[Problem]:
    for name in names:
        if name in seen:
            yield (*path, "names" if group.names is not None else "name"), f"{what} {name!r} is there already"
            return
        seen.add(name)


def _queues(scenario: Scenario) -> Iterator[Problem]:
    parents = {queue.name: queue.parent for queue in scenario.queues}
    seen: set[str] = set()
    for index, queue in enumerate(scenario.queues):
        path: Path = ("queues", index)
        if queue.name in seen:
            yield (*path, "name"), f"queue {queue.name!r} is there already"
        seen.add(queue.name)
        for name in queue.limits:
            yield from _type((*path, "limits", name), name, scenario)
        if queue.parent is None:
            continue
        if queue.parent not in parents:
            yield (*path, "parent"), did_you_mean(queue.parent, parents, "queue")
            continue
        above: str | None = queue.parent
        steps = 0
        while above is not None and above != queue.name and steps <= len(parents):
            above = parents.get(above)
            steps += 1
        if above == queue.name:
            yield (*path, "parent"), f"queue {queue.name!r} is above itself"


def _profiles(scenario: Scenario) -> Iterator[Problem]:
    levels = _levels(scenario)
    for name, by_type in scenario.profiles.items():
        for kind, by_scope in by_type.items():
            path: Path = ("profiles", name, kind)
            yield from _type(path, kind, scenario)
            for scope, by_count in by_scope.items():
                if scope not in levels:
                    yield (*path, scope), did_you_mean(scope, levels, "level")
                for count in by_count:
                    if count < 1:
                        yield (*path, scope, count), f"{count} tasks are less than one"


def _jobs(scenario: Scenario) -> Iterator[Problem]:
    levels = _levels(scenario)
    queues = {queue.name for queue in scenario.queues}
    groups = {name: group for group in scenario.nodes for name in _node_names(scenario, group)}
    seen: set[str] = set()
    held: dict[tuple[str, int], tuple[str, bool]] = {}
    for index, job in enumerate(scenario.jobs):
        path: Path = ("jobs", index)
        yield from _pattern(path, job.name, job.count)
        yield from _duplicates(path, job, job.numbered_names(), seen, "job")
        if job.queue is not None and job.queue not in queues:
            yield (*path, "queue"), did_you_mean(job.queue, queues, "queue")
        for field in ("required", "preferred"):
            level = getattr(job, field)
            if level is not None and level not in levels:
                yield (*path, field), did_you_mean(level, levels, "level")
        if job.age is not None and (job.arrives or job.every):
            yield (*path, "age"), "a job that has yet to arrive has no `age`"
        if job.running is not None and job.arrives:
            yield (*path, "running"), "a job that has yet to arrive does not run"
        yield from _roles(path, job, scenario)
        if job.running is not None:
            yield from _running(path, job, groups, held)
        if job.promised is not None:
            yield from _promised(path, job, groups)


def _simulation(scenario: Scenario) -> Iterator[Problem]:
    if not scenario.simulation.failures or isinstance(scenario.source, OpenbSource):
        return
    nodes = {name for group in scenario.nodes for name in _node_names(scenario, group)}
    for number, failure in enumerate(scenario.simulation.failures):
        if failure.node not in nodes:
            path: Path = ("simulation", "failures", number, "node")
            yield path, did_you_mean(failure.node, nodes, "node")


def _node_names(scenario: Scenario, group: NodeGroup) -> Iterator[str]:
    domains = [name for _, name, _, _ in domain_instances(scenario)] if group.domain is not None else []
    return group.numbered_names(len(node_domains(group, domains)))


def _roles(path: Path, job: JobClass, scenario: Scenario) -> Iterator[Problem]:
    names: set[str] = set()
    for number, role in enumerate(job.roles):
        here = path if job.groups is None else (*path, "groups", number)
        if role.name in names:
            yield (*here, "name"), f"group {role.name!r} is there already"
        names.add(role.name)
        if not role.gpus and not role.cpu and not role.memory:
            yield here, "a task that asks for nothing cannot be placed: write `gpus`, `cpu` or `memory`"
        if role.gpu_milli is not None:
            if role.gpus != 1 or role.tasks != 1 or (role.counts or [1]) != [1]:
                yield (
                    (*here, "gpu_milli"),
                    "a part is of one device of one task: write `gpus: 1`, no `tasks`",
                )
            if role.split != "FREE":
                yield (*here, "split"), "a part of a device is of no whole node"
            if len(job.roles) > 1:
                yield (*here, "gpu_milli"), "beside other groups a part of a device is not supported yet"
        if role.counts is not None and role.tasks not in role.counts:
            yield (*here, "counts"), f"tasks: {role.tasks} is not among the counts it may run with"
        if role.counts is not None and len(set(role.counts)) < len(role.counts):
            yield (*here, "counts"), "a count is listed twice"
        for position, kind in enumerate(role.types):
            yield from _type((*here, "types", position), kind, scenario)
            if kind in role.types[:position]:
                yield (*here, "types", position), f"type {kind!r} is listed twice"
        if not role.gpus:
            for field in ("types", "profile"):
                if getattr(role, field):
                    yield (*here, field), "tasks without `gpus` run on any node: leave this out"
        if role.profile is not None and role.profile not in scenario.profiles:
            yield (*here, "profile"), did_you_mean(role.profile, scenario.profiles, "profile")


def split_where(where: Where, roles: Sequence[str]) -> Iterator[tuple[Path, str, str, int | list[int]]]:
    """The places as (path below ``where``, group, node, devices or tasks).

    Raises:
        KeyError: the form does not fit the groups; its argument is the key concerned.
    """
    for key, value in where.items():
        if isinstance(value, dict):
            if key not in roles:
                raise KeyError(key)
            for node, devices in value.items():
                yield (key, node), key, node, devices
        elif len(roles) == 1:
            yield (key,), roles[0], key, value
        else:
            raise KeyError(key)


def _running(
    path: Path, job: JobClass, groups: dict[str, NodeGroup], held: dict[tuple[str, int], tuple[str, bool]]
) -> Iterator[Problem]:
    running = job.running
    assert running is not None
    if len(list(job.numbered_names())) > 1:
        yield (*path, "running"), "what runs is one job: write it by itself, not in a class"
        return
    roles = {role.name: role for role in job.roles}
    if running.checkpoint is not None and running.since is not None and running.checkpoint > running.since:
        yield (*path, "running", "checkpoint"), "the last checkpoint is older than the run"
    if running.since is not None and job.age is not None and running.since > job.age:
        yield (*path, "running", "since"), "it cannot run for longer than its `age`"
    try:
        places = list(split_where(running.where, list(roles)))
    except KeyError as error:
        yield (*path, "running", "where", str(error.args[0])), _form(roles)
        return
    (name,) = job.numbered_names()
    for below, role, node, devices in places:
        spot = (*path, "running", "where", *below)
        yield from _place(spot, roles[role].gpus, devices, groups.get(node))
        part = roles[role].gpu_milli not in (None, WHOLE_DEVICE)
        for device in devices if isinstance(devices, list) else ():
            other, parts = held.setdefault((node, device), (name, part))
            if other != name and not (part and parts):
                yield spot, f"device {device} of {node!r} is held by job {other!r} already"


def _promised(path: Path, job: JobClass, groups: dict[str, NodeGroup]) -> Iterator[Problem]:
    promised = job.promised
    assert promised is not None
    if len(list(job.numbered_names())) > 1:
        yield (*path, "promised"), "a promise is made to one job: write it by itself, not in a class"
    if job.running is not None:
        yield (*path, "promised"), "it runs already"
    if promised.until is not None and promised.until < promised.by:
        yield (*path, "promised", "until"), "it ends before `by`"
    if promised.where is None:
        return
    roles = {role.name: role for role in job.roles}
    try:
        places = list(split_where(promised.where, list(roles)))
    except KeyError as error:
        yield (*path, "promised", "where", str(error.args[0])), _form(roles)
        return
    for below, role, node, devices in places:
        spot = (*path, "promised", "where", *below)
        yield from _place(spot, roles[role].gpus, devices, groups.get(node))


def _form(roles: Iterable[str]) -> str:
    names = list(roles)
    if len(names) == 1:
        return f"write node: devices, or {names[0]}: {{node: devices}}"
    return f"write group: {{node: devices}} with the groups {', '.join(names)}"


def _place(path: Path, per_task: int, devices: int | list[int], group: NodeGroup | None) -> Iterator[Problem]:
    if isinstance(devices, int):
        if not devices:
            yield path, "0 tasks are none: leave the node out"
        elif per_task and group is not None and group.reporting == "EXACT":
            yield path, "on EXACT nodes list the device indices, e.g. [0, 1]"
        return
    if not per_task:
        yield path, "tasks without `gpus` hold no devices: write how many tasks"
        return
    if not devices or len(devices) % per_task:
        yield path, f"{len(devices)} devices are no whole number of tasks of {per_task}"
    if group is not None and group.reporting == "COUNT_ONLY":
        yield path, "COUNT_ONLY nodes have no device indices: write how many tasks"
    elif group is not None:
        yield from _indices(path, devices, group.gpus)


def _expected(scenario: Scenario, expected: Expected) -> Iterator[Problem]:
    names = {name: job for job in scenario.jobs for name in job.numbered_names()}
    nodes = {name: group for group in scenario.nodes for name in _node_names(scenario, group)}
    domains = {name for _, name, _, _ in domain_instances(scenario)}
    if expected.objective is None and not expected.jobs and not expected.placed:
        yield ("expected",), "say what is known: `objective`, `jobs` or `placed`"
    if isinstance(scenario.source, OpenbSource):
        return
    for pattern in expected.placed:
        if not any(fnmatchcase(name, pattern) for name in names):
            yield ("expected", "placed", pattern), did_you_mean(pattern, names, "job")
    for name, statement in expected.jobs.items():
        if name not in names:
            yield ("expected", "jobs", name), did_you_mean(name, names, "job")
        for node in statement.nodes or ():
            if node not in nodes:
                yield ("expected", "jobs", name, "nodes"), did_you_mean(node, nodes, "node")
        if statement.domain is not None and statement.domain not in domains:
            yield ("expected", "jobs", name, "domain"), did_you_mean(statement.domain, domains, "domain")
    for name, where in (expected.plan or {}).items():
        path: Path = ("expected", "plan", name)
        if name not in names:
            yield path, did_you_mean(name, names, "job")
            continue
        roles = {role.name: role for role in names[name].roles}
        try:
            places = list(split_where(where, list(roles)))
        except KeyError as error:
            yield (*path, str(error.args[0])), _form(roles)
            continue
        for below, role, node, devices in places:
            if node not in nodes:
                yield (*path, *below), did_you_mean(node, nodes, "node")
            else:
                yield from _place((*path, *below), roles[role].gpus, devices, nodes[node])
