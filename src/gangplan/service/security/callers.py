"""The callers of a service: a file that is read anew when it changes.

A YAML list, one entry for each caller::

    - name: kueue
      scope: plan                       # read, plan or admin
      token_sha256: ["9f86d081884c7d65..."]  # of its tokens: two while one takes the place of the other
    - name: board
      scope: read
      certificate: board.example.com    # common name or alternative name of its certificate
      calls_per_second: 5
      burst: 10
      max_request_mib: 1

Tokens are 256 random bits (``gangplan token`` makes them), so that one round of SHA-256 keeps them: there is
no dictionary to try, and nothing to salt. The file holds no secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.observe.logs import get_logger
from gangplan.service.lines import LineMap
from gangplan.service.options import MEBIBYTE
from gangplan.service.security.rates import Rate
from gangplan.service.security.scopes import Scope

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_log = get_logger(__name__)


class Caller(BaseModel):
    """One caller.

    Attributes:
        name: by which it is known in limits, memory and logs.
        scope: what it may do.
        token_sha256: SHA-256 of each of its tokens, in hexadecimal.
        certificate: common name or subject alternative name of its certificate; empty: it has none.
        calls_per_second: in the long run; None: the service's.
        burst: calls at once after a pause; None: those of a second, or the service's where the rate is.
        max_request_mib: largest request, all chunks of a snapshot together, MiB; None: the service's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    name: str
    scope: Scope
    token_sha256: tuple[str, ...] = ()
    certificate: str = ""
    calls_per_second: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None
    burst: Annotated[int, Field(ge=1, le=10**6)] | None = None
    max_request_mib: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("must be letters, digits and . _ @ - only, 128 at most")
        return value

    @field_validator("token_sha256")
    @classmethod
    def _are_digests(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_DIGEST.fullmatch(each) for each in value):
            # The value is not told: somebody may have put the token itself here.
            raise ValueError(
                "must be the SHA-256 of a token, 64 hexadecimal digits; `gangplan token` makes both"
            )
        return value

    def rate(self, otherwise: Rate | None) -> Rate | None:
        """How often it may call; None: without limit."""
        per_second = self.calls_per_second or (otherwise.per_second if otherwise else None)
        if per_second is None:
            return None
        if self.burst is not None:
            return Rate(per_second, self.burst)
        if self.calls_per_second is None:
            return otherwise
        return Rate(per_second, max(1, round(per_second)))

    @property
    def max_request_bytes(self) -> int | None:
        """Largest request; None: the service's."""
        return None if self.max_request_mib is None else int(self.max_request_mib * MEBIBYTE)


_LIST: TypeAdapter[list[Caller]] = TypeAdapter(list[Caller])


def digest_of(token: str) -> str:
    """What a callers file keeps of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def read_callers(path: Path) -> tuple[Caller, ...]:
    """The callers in a file.

    Raises:
        InvalidInputError: it cannot be read, or is at fault; every place at once, and no value of it.
    """
    try:
        content = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except OSError as error:
        raise InvalidInputError([FieldViolation(str(path), f"cannot be read: {error.strerror}")]) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        raise InvalidInputError([FieldViolation(str(path), "is no YAML")]) from None
    lines = LineMap(path)
    try:
        callers = _LIST.validate_python([] if content is None else content)
    except ValidationError as error:
        raise InvalidInputError(
            [
                FieldViolation(lines.place(_field(each["loc"])), each["msg"])
                for each in error.errors(include_input=False, include_url=False, include_context=False)
            ]
        ) from None
    violations = [
        *_twice("name", ((place, caller.name) for place, caller in enumerate(callers))),
        *_twice("certificate", ((place, caller.certificate) for place, caller in enumerate(callers))),
        *_twice(
            "token_sha256",
            ((place, each) for place, caller in enumerate(callers) for each in set(caller.token_sha256)),
        ),
    ]
    if violations:
        raise InvalidInputError(
            [FieldViolation(lines.place(each.field), each.description) for each in violations]
        )
    return tuple(callers)


class CallersFile:
    """The callers as they are now. May be asked from several threads at once.

    A file that is at fault after a change is told in the log, and the callers stay as they were.

    Args:
        path: of the file.

    Raises:
        InvalidInputError: it cannot be read, or is at fault.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen = _stamp(path)
        self._callers = read_callers(path)

    def by_token(self, token: str) -> Caller | None:
        """Whose token this is; takes the same time for each token that is nobody's."""
        given, found = digest_of(token), None
        for caller in self._current():
            for known in caller.token_sha256:
                if hmac.compare_digest(given, known):
                    found = caller
        return found

    def by_certificate(self, names: Iterable[str]) -> Caller | None:
        """Whose certificate has one of these names."""
        wanted = {name for name in names if name}
        return next((each for each in self._current() if each.certificate in wanted), None)

    def _current(self) -> tuple[Caller, ...]:
        stamp = _stamp(self._path)
        if stamp == self._seen:
            return self._callers
        with self._lock:
            if stamp != self._seen:
                self._seen = stamp
                try:
                    self._callers = read_callers(self._path)
                    _log.info("callers read anew", callers=len(self._callers))
                except InvalidInputError as error:
                    _log.error("callers stay as they were: the file is at fault", fault=str(error))
        return self._callers


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Tells one content of a file from another; a name that points elsewhere now, too."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _field(location: Iterable[Any]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _twice(field: str, values: Iterable[tuple[int, str]]) -> Iterable[FieldViolation]:
    seen: set[str] = set()
    for place, value in values:
        if value and value in seen:
            yield FieldViolation(f"[{place}].{field}", "is another caller's as well")
        seen.add(value)
