"""Errors as statuses, and back."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from google.rpc import code_pb2, error_details_pb2, status_pb2

from gangplan.errors import (
    BackendError,
    FieldViolation,
    InvalidInputError,
    OverloadedError,
    ResyncRequiredError,
    UnknownProposerError,
    UnknownSessionError,
    UnknownSolverError,
    UnsupportedFieldError,
)
from gangplan.service.status import MOST_BYTES, service_error, status_of


def detail(status: status_pb2.Status, kind: type) -> object:
    for packed in status.details:
        message = kind()
        if packed.Unpack(message):
            return message
    raise AssertionError(f"no {kind.__name__} in {status}")


VIOLATIONS = (FieldViolation("jobs[0].name", "is used twice"), FieldViolation("now", "must be set"))


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (InvalidInputError(VIOLATIONS), code_pb2.INVALID_ARGUMENT, "INVALID_INPUT"),
        (UnsupportedFieldError(VIOLATIONS), code_pb2.INVALID_ARGUMENT, "UNSUPPORTED_FIELD"),
        (UnknownSolverError("no solver 'x'"), code_pb2.INVALID_ARGUMENT, "UNKNOWN_SOLVER"),
        (UnknownProposerError("no proposer 'x'"), code_pb2.INVALID_ARGUMENT, "UNKNOWN_PROPOSER"),
        (OverloadedError("full", 1.5), code_pb2.RESOURCE_EXHAUSTED, "OVERLOADED"),
        (BackendError("secret"), code_pb2.INTERNAL, "BACKEND_FAILED"),
        (ZeroDivisionError("secret"), code_pb2.INTERNAL, "INTERNAL"),
    ],
)
def test_every_error_has_a_code_and_a_reason_in_our_domain(error: Exception, code: int, reason: str) -> None:
    status = status_of(error, incident="abc")
    info = detail(status, error_details_pb2.ErrorInfo)
    assert (status.code, info.reason, info.domain) == (code, reason, "gangplan")
    assert "secret" not in str(status)


def test_bad_input_lists_every_violation() -> None:
    bad = detail(status_of(InvalidInputError(VIOLATIONS)), error_details_pb2.BadRequest)
    assert [(v.field, v.description) for v in bad.field_violations] == [
        ("jobs[0].name", "is used twice"),
        ("now", "must be set"),
    ]


def test_more_violations_than_the_trailer_takes_are_counted() -> None:
    violations = [FieldViolation(f"jobs[{n}].weight", "must be above 0") for n in range(5_000)]
    status = status_of(InvalidInputError(violations))
    bad = detail(status, error_details_pb2.BadRequest)
    shown = len(bad.field_violations) - 1
    assert status.ByteSize() <= MOST_BYTES
    assert shown > 50
    assert bad.field_violations[-1].description.startswith(f"and {5_000 - shown} more")


def test_a_very_long_violation_does_not_break_the_trailer() -> None:
    status = status_of(InvalidInputError([FieldViolation("f" * 50_000, "d" * 50_000)]))
    assert status.ByteSize() <= MOST_BYTES


@pytest.mark.parametrize("letter", ["d", "%", "é", "😀"])
@pytest.mark.parametrize(
    "make",
    [
        UnknownSessionError,
        ResyncRequiredError,
        UnknownSolverError,
        lambda text: OverloadedError(text, 1.5),
        lambda text: InvalidInputError([FieldViolation(text, text)] * 50),
    ],
    ids=["session", "resync", "solver", "overload", "violations"],
)
def test_whatever_a_caller_says_its_error_fits_into_the_trailer(
    make: Callable[[str], Exception], letter: str
) -> None:
    """Message, percent-encoded, and status, in base64, together: clients take 8 KiB, and guess beyond it."""
    status = status_of(make(letter * 5_000))
    percent = sum(1 if 0x20 <= byte < 0x7F and byte != 0x25 else 3 for byte in status.message.encode())
    assert status.message
    assert percent + len(base64.b64encode(status.SerializeToString())) < 8_000


def test_overload_says_when_to_come_back() -> None:
    retry = detail(status_of(OverloadedError("full", 1.5)), error_details_pb2.RetryInfo)
    assert retry.retry_delay.ToTimedelta().total_seconds() == 1.5


def test_a_client_reads_back_code_and_violations() -> None:
    error = service_error(status_of(InvalidInputError(VIOLATIONS)))
    assert error.code == "INVALID_ARGUMENT"
    assert error.violations == VIOLATIONS
