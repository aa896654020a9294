"""Malformed and mutated requests: no crash, no INTERNAL, memory flat, and refusals that name real fields.

``FUZZ_SEED=7 make test-deep PYTEST_ARGS=tests/fuzz`` draws others. A finding says which case of which seed it
is: ``Requests(Service()).case(SEED, NUMBER)`` makes it again.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable

import pytest
from tests.fuzz.cases import Requests
from tests.fuzz.conftest import FUZZED
from tests.fuzz.judge import Findings, Service

from gangplan.bench.machine import resident_bytes
from gangplan.engine.practice import compile_loops

SEED = int(os.environ.get("FUZZ_SEED", "0"))
MEBIBYTE = 2**20
FLAT = 48 * MEBIBYTE
"""Most by which the process may grow once a tenth of the requests are answered."""
SHARDS = 8
DEEP = 200_000 // SHARDS
PLANNED = 8
"""One in so many requests may take its time, and its rounds are planned by the engine; the others have hardly
any, and only keep what runs."""
_SHOWN = 20


def fuzz(seed: int, count: int) -> Findings:
    """Ask ``count`` requests of a seed."""
    compile_loops()  # here, not within the first call that is planned
    service, findings = Service(), Findings()
    requests = Requests(service)
    size = 0
    for number in range(count):
        case = requests.case(seed, number)
        service.planner.quick = number % PLANNED != 0
        service.judged(case.kind, case.encoded, findings, case.name)
        if number == count // 10:
            gc.collect()
            size = resident_bytes(os.getpid())
    gc.collect()
    grown = resident_bytes(os.getpid()) - size
    print(f"seed {seed}: {dict(findings.statuses)}, grew by {grown / MEBIBYTE:.1f} MiB")
    if grown > FLAT:
        findings.wrong.append(f"the process grew by {grown / MEBIBYTE:.1f} MiB")
    return findings


def test_some(record_property: Callable[[str, object], None]) -> None:
    findings = fuzz(SEED, 1_500)
    record_property(FUZZED, dict(findings.statuses))
    assert findings.wrong[:_SHOWN] == []
    # It looks into both: what is refused, and what is planned all the same.
    assert min(findings.statuses["OK"], findings.statuses["INVALID_ARGUMENT"]) > 150


@pytest.mark.parametrize(("seed", "number"), [(22_001, 4_356), (23_205, 2_403)])
def test_what_was_found_before(seed: int, number: int) -> None:
    """Money worth next to nothing, and a job with next to nothing left: quotients beyond all numbers."""
    service, findings = Service(), Findings()
    case = Requests(service).case(seed, number)
    service.planner.quick = number % PLANNED != 0
    service.judged(case.kind, case.encoded, findings, case.name)
    assert findings.wrong == []


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_two_hundred_thousand(shard: int, record_property: Callable[[str, object], None]) -> None:
    findings = fuzz(1_000 * (SEED + 1) + shard, DEEP)
    record_property(FUZZED, dict(findings.statuses))
    assert findings.wrong[:_SHOWN] == []
    assert findings.statuses.total() == DEEP
