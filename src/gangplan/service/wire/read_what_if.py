"""A WhatIfRequest -> the round without and with its edits; every violation at its place in the request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.errors import InvalidInputError
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.planned import refuse_planned
from gangplan.service.wire.read_round import read_round_request
from gangplan.v1 import placement_service_pb2, round_pb2


def read_what_if_request(
    request: placement_service_pb2.WhatIfRequest,
) -> tuple[Round, Round, PlanParameters]:
    """The round without the edits, the round with them, and how to plan both.

    Raises:
        InvalidInputError: the request breaks the contract, or an edit is of what is not there.
    """
    fields = Fields()
    refuse_planned(request, "", fields)
    if not request.HasField("round"):
        fields.refuse("round", "must be set")
    if not request.edits:
        fields.refuse("edits", "must have at least one edit")
    fields.raise_violations()
    before, parameters = _read(request.round, {})
    edited = round_pb2.PlanRoundRequest()
    edited.CopyFrom(request.round)
    added: dict[tuple[str, str], str] = {}
    for index, edit in enumerate(request.edits):
        _apply(edit, f"edits[{index}]", edited, added, fields)
    fields.raise_violations()
    after, _ = _read(edited, _places(edited, added))
    return before, after, replace(parameters, request_id=request.round.request_id)


def _apply(
    edit: placement_service_pb2.RoundEdit,
    path: str,
    edited: round_pb2.PlanRoundRequest,
    added: dict[tuple[str, str], str],
    fields: Fields,
) -> None:
    """Make one edit; ``added`` remembers where each new object comes from."""
    cluster = edited.cluster
    which = edit.WhichOneof("edit")
    if which is None:
        fields.refuse(path, "must say what is changed")
    elif which == "remove_node":
        if not _removed(edit.remove_node, cluster.nodes, cluster.node_classes):
            fields.refuse(f"{path}.{which}", f"no node is named {edit.remove_node!r}")
    elif which == "remove_job":
        if not _removed(edit.remove_job, edited.jobs, edited.job_classes):
            fields.refuse(f"{path}.{which}", f"no job is named {edit.remove_job!r}")
    elif which == "add_job":
        edited.jobs.append(edit.add_job)
        added["jobs", edit.add_job.name] = f"{path}.{which}"
    elif which == "add_node":
        cluster.nodes.append(edit.add_node)
        added["cluster.nodes", edit.add_node.name] = f"{path}.{which}"
    else:
        for queue in edited.queues:
            if queue.name == edit.set_queue.name:
                queue.CopyFrom(edit.set_queue)
                added["queues", queue.name] = f"{path}.{which}"
                return
        fields.refuse(f"{path}.{which}.name", f"no queue is named {edit.set_queue.name!r}")


def _removed(name: str, singles: Any, classes: Any) -> bool:
    """Take a node or job away; whether it was there."""
    for index, one in enumerate(singles):
        if one.name == name:
            del singles[index]
            return True
    for number, alike in enumerate(classes):
        if name not in alike.names:
            continue
        index = list(alike.names).index(name)
        del alike.names[index]
        if alike.revisions:
            del alike.revisions[index]
        if not alike.names:
            del classes[number]
        return True
    return False


def _places(edited: round_pb2.PlanRoundRequest, added: dict[tuple[str, str], str]) -> dict[str, str]:
    """Where what stands in the edited round comes from, by its path there."""
    lists: dict[str, Any] = {
        "jobs": edited.jobs,
        "cluster.nodes": edited.cluster.nodes,
        "queues": edited.queues,
    }
    return {
        f"{name}[{index}]": added[name, one.name]
        for name, messages in lists.items()
        for index, one in enumerate(messages)
        if (name, one.name) in added
    }


def _read(request: round_pb2.PlanRoundRequest, places: dict[str, str]) -> tuple[Round, PlanParameters]:
    try:
        return read_round_request(request)
    except InvalidInputError as error:
        raise error.placed(lambda field: _at_home(field, places)) from error


def _at_home(field: str, places: dict[str, str]) -> str:
    head, bracket, rest = field.partition("]")
    home = places.get(head + bracket)
    if home is not None:
        return home + rest
    return "edits" if places else f"round.{field}"
