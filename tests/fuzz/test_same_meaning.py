"""Requests that mean the same have the same plan, whatever their bytes."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from tests.fuzz import same_meaning
from tests.fuzz.cases import rounds
from tests.fuzz.judge import Findings, Service

from gangplan.v1 import round_pb2

_TAKES_TIME = ("time_by_phase", "stages", "statistics")


def base(number: int) -> round_pb2.PlanRoundRequest:
    """A valid round with so much time that no clock decides."""
    request = round_pb2.PlanRoundRequest()
    request.CopyFrom(rounds()[number])
    request.parameters.time_budget.seconds = 60
    request.ClearField("previous_plan")
    return request


def answered(service: Service, encoded: bytes) -> Any:
    """The answer, but for what tells of time, and queues in notices by name, since they are in any order."""
    findings = Findings()
    answer: Any = service.judged(round_pb2.PlanRoundRequest, encoded, findings, "the same in other bytes")
    assert findings.wrong == []
    assert findings.statuses["OK"] == 1, findings.statuses
    for name in _TAKES_TIME:
        answer.ClearField(name)
    queues = [queue.name for queue in round_pb2.PlanRoundRequest.FromString(encoded).queues]
    for notice in answer.notices:
        notice.field = re.sub(r"queues\[(\d+)\]", lambda at: f"queues[{queues[int(at[1])]}]", notice.field)
    return answer


def compare(number: int, variants: int) -> None:
    service, request = Service(patience=60.0), base(number)
    wanted = answered(service, request.SerializeToString(deterministic=True))
    for variant in range(variants):
        rng = random.Random(f"{number}/{variant}")
        other = round_pb2.PlanRoundRequest()
        other.CopyFrom(request)
        same_meaning.permuted(other, rng)
        encoded = same_meaning.encoded(other, rng)
        assert round_pb2.PlanRoundRequest.FromString(encoded) == other  # the encoder's own fault otherwise
        assert answered(service, encoded) == wanted, f"variant {variant} of round {number}"


@pytest.mark.parametrize("number", range(len(rounds())))
def test_the_same_in_other_bytes_has_the_same_plan(number: int) -> None:
    compare(number, 4)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", range(len(rounds())))
def test_the_same_in_very_many_other_bytes(number: int) -> None:
    compare(number, 500)
