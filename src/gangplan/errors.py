"""Every exception that gangplan raises on purpose.

::

    GangplanError
    ├── InvalidInputError          the caller's input breaks the contract
    │   ├── UnsupportedFieldError  a field whose behaviour is not built yet
    │   ├── ScenarioError          a scenario file cannot be read (carries file and line)
    │   └── TraceError             a trace cannot be read (carries file and line)
    ├── UnknownSolverError         no backend of that name, or it is not installed
    ├── UnknownProposerError       no proposer of that name is installed
    ├── BackendError               a solver crashed, lied, or gave no usable answer
    ├── WorkerError                the solver process died, hung or was ended
    ├── NoVerifiedPlanError        not even keeping everything passes the verifier: a bug
    ├── BrokenPlanError            a policy's plan breaks a rule
    ├── UnauthenticatedError       nobody knows who calls
    ├── PermissionDeniedError      the caller may not call this
    ├── OverloadedError            too many calls; try again later
    │   └── RateLimitedError       too many of this caller
    ├── RequestTooLargeError       more than this caller may send
    ├── SessionError               a session is not what the caller takes it for
    │   ├── UnknownSessionError    there is none of that id, or no longer
    │   └── ResyncRequiredError    it is at another revision, or has another content
    ├── SessionStoreError          what a session is kept in cannot be read or written now
    ├── TooManyPlansError          a round is too large to be enumerated
    └── ServiceError               a gRPC call failed (client side)

Each class has one machine-readable ``reason``; :class:`InvalidInputError` lists all
violations at once, each with the path of the field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self


class GangplanError(Exception):
    """Base of every exception that gangplan raises on purpose."""

    reason = "INTERNAL"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One broken rule of the input.

    Attributes:
        field: path of the field, e.g. ``jobs[3].component.task_groups[0].count``.
        description: what is wrong and how to mend it, one sentence.
    """

    field: str
    description: str

    def __str__(self) -> str:
        return f"{self.field}: {self.description}"


class InvalidInputError(GangplanError):
    """The caller's input breaks the contract; ``violations`` names every place at once."""

    reason = "INVALID_INPUT"

    def __init__(self, violations: Sequence[FieldViolation]) -> None:
        self.violations = tuple(violations)
        super().__init__("; ".join(str(v) for v in self.violations))

    def placed(self, place: Callable[[str], str]) -> Self:
        """The same error, of the same class, with every field where the caller finds it.

        Args:
            place: the path in the caller's input by the path of the field.
        """
        return type(self)([FieldViolation(place(each.field), each.description) for each in self.violations])


class UnsupportedFieldError(InvalidInputError):
    """A field is set whose behaviour is not built yet."""

    reason = "UNSUPPORTED_FIELD"


class ScenarioError(InvalidInputError):
    """A scenario file cannot be read; the violations carry file and line."""

    reason = "INVALID_SCENARIO"


class TraceError(InvalidInputError):
    """A trace cannot be read; the violations carry file and line."""

    reason = "INVALID_TRACE"


class UnknownSolverError(GangplanError):
    """No solver backend of that name is known or installed; ``field`` is where a request named it."""

    reason = "UNKNOWN_SOLVER"
    field = "parameters.solver"


class UnknownProposerError(GangplanError):
    """No proposer of that name is installed; ``field`` is where a request named it."""

    reason = "UNKNOWN_PROPOSER"
    field = "parameters.proposers"


class BackendError(GangplanError):
    """A solver backend crashed, lied, or gave no usable answer."""

    reason = "BACKEND_FAILED"


class WorkerError(GangplanError):
    """The solver worker process died, hung or was ended."""

    reason = "WORKER_FAILED"


class NoVerifiedPlanError(GangplanError):
    """Not even the plan that keeps everything passes the verifier: a bug; please report the round."""

    reason = "NO_VERIFIED_PLAN"


class BrokenPlanError(GangplanError):
    """A policy's plan breaks a rule; ``violations`` has all that the verifier found."""

    reason = "BROKEN_PLAN"

    def __init__(self, policy: str, number: int, violations: Sequence[object]) -> None:
        self.violations = tuple(violations)
        super().__init__(f"{policy}, round {number}: {'; '.join(str(v) for v in self.violations)}")


class OverloadedError(GangplanError):
    """Too many calls are in flight; try again after ``retry_after_seconds``."""

    reason = "OVERLOADED"

    def __init__(self, message: str, retry_after_seconds: float) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)


class RateLimitedError(OverloadedError):
    """One caller calls more often than it may."""

    reason = "RATE_LIMITED"

    def __init__(self, per_second: float, burst: int, retry_after_seconds: float) -> None:
        super().__init__(
            f"this caller may call {per_second:g} times a second, and {burst} times at once",
            retry_after_seconds,
        )


class UnauthenticatedError(GangplanError):
    """A call comes without credentials, or with some that nobody has."""

    reason = "UNAUTHENTICATED"

    def __init__(self) -> None:
        super().__init__("no valid credentials")


class PermissionDeniedError(GangplanError):
    """The scope of a caller does not include what it calls."""

    reason = "PERMISSION_DENIED"

    def __init__(self) -> None:
        super().__init__("this caller may not call this method")


class RequestTooLargeError(GangplanError):
    """A caller sends more than it may."""

    reason = "REQUEST_TOO_LARGE"

    def __init__(self, limit: int) -> None:
        super().__init__(f"this caller may send {limit} bytes in a request, all chunks of it together")


class SessionError(GangplanError):
    """A session is not what the caller takes it for: open a new one with a snapshot."""

    reason = "RESYNC_REQUIRED"


class UnknownSessionError(SessionError):
    """There is no session of that id, or no longer."""


class ResyncRequiredError(SessionError):
    """The session is at another revision, has another content, or was changed by somebody else meanwhile."""


class SessionStoreError(GangplanError):
    """What a session is kept in cannot be read or written now; nothing was changed. Try again."""

    reason = "SESSION_STORE_UNAVAILABLE"


class TooManyPlansError(GangplanError):
    """A round has more plans than an enumeration may look at."""

    reason = "TOO_MANY_PLANS"


class ServiceError(GangplanError):
    """A gRPC call failed.

    Attributes:
        code: the status code's name.
        violations: what the server refused, by field.
        service_reason: the server's machine-readable reason; empty when it gave none.
        retry_after_seconds: when the server says to try again; None: it did not say.
    """

    reason = "SERVICE"

    def __init__(
        self,
        message: str,
        code: str,
        violations: Sequence[FieldViolation] = (),
        *,
        service_reason: str = "",
        retry_after_seconds: float | None = None,
    ) -> None:
        self.code = code
        self.violations = tuple(violations)
        self.service_reason = service_reason
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)
