"""Checked reading of single fields: every violation is noted with its path, and reading goes on."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from gangplan.errors import FieldViolation, InvalidInputError, UnsupportedFieldError
from gangplan.service.wire import limits

_NANOS = 10**9
_EMPTY: Mapping[str, str] = MappingProxyType({})


class SecondsAndNanos(Protocol):
    """A protobuf ``Duration`` or ``Timestamp``."""

    @property
    def seconds(self) -> int:
        """Whole seconds."""

    @property
    def nanos(self) -> int:
        """Billionths of a second."""


class Fields:
    """Reads fields and collects what is wrong with them.

    The reading methods never raise: they note a violation at ``path + name`` and return a harmless value of
    the right type, so that one pass finds everything. ``path`` is empty or ends in a dot.
    """

    __slots__ = ("_known", "invalid", "unsupported")

    def __init__(self) -> None:
        self.invalid: list[FieldViolation] = []
        self.unsupported: list[FieldViolation] = []
        self._known: set[str] = set()

    def refuse(self, path: str, description: str) -> None:
        """Note that the field at ``path`` breaks the contract."""
        self.invalid.append(FieldViolation(path, description))

    def refuse_planned(self, path: str, description: str = "not supported yet; leave it unset") -> None:
        """Note that the field at ``path`` has its place in the contract, but no behaviour yet."""
        self.unsupported.append(FieldViolation(path, description))

    def raise_violations(self) -> None:
        """Raise what was noted, all at once.

        Raises:
            UnsupportedFieldError: all that is wrong is that planned fields are set.
            InvalidInputError: anything else is wrong, too.
        """
        if self.invalid:
            raise InvalidInputError((*self.invalid, *self.unsupported))
        if self.unsupported:
            raise UnsupportedFieldError(self.unsupported)

    def integer(self, value: int, path: str, name: str, low: int, high: int) -> int:
        """``value`` when it is from ``low`` to ``high``, else ``low``."""
        if low <= value <= high:
            return value
        self.refuse(f"{path}{name}", f"must be from {low:,} to {high:,}, and is {value:,}")
        return low

    def real(self, value: float, path: str, name: str, low: float, high: float) -> float:
        """``value`` when it is from ``low`` to ``high`` (so neither NaN nor infinite), else ``low``."""
        if low <= value <= high:
            return value
        self.refuse(f"{path}{name}", f"must be from {low:g} to {high:g}, and is {value:g}")
        return low

    def name(self, value: str, path: str, name: str) -> str:
        """A name: not empty, not over-long, printable, no space at either end."""
        known = self._known
        if value not in known and self._is_name(value, path, name):
            known.add(value)
        return value

    def surely_names(self, values: Sequence[str]) -> bool:
        """A quick look at very many: whether each is a name without any space, and comes once.

        Where it says no, :meth:`name` and :meth:`unique` tell which and why, if any.
        """
        joined = "".join(values)
        sure = (
            joined.isprintable()
            and " " not in joined
            and min(map(len, values), default=1) > 0
            and max(map(len, values), default=1) <= limits.NAME_LENGTH
        )
        distinct = set(values)
        if not sure or len(distinct) < len(values):
            return False
        self._known |= distinct
        return True

    def knows(self, value: str) -> bool:
        """Whether ``value`` was looked at and is a name."""
        return value in self._known

    def optional_name(self, value: str, path: str, name: str) -> str | None:
        """A name, or None when ``value`` is empty."""
        return self.name(value, path, name) if value else None

    def text(self, value: str, path: str, name: str) -> str:
        """Free text that may be empty: not over-long, without control characters."""
        if not value:
            return value
        if len(value) > limits.NAME_LENGTH:
            self.refuse(
                f"{path}{name}", f"has {len(value):,} characters; at most {limits.NAME_LENGTH} are allowed"
            )
        elif not value.isprintable() and any(unicodedata.category(c) == "Cc" for c in value):
            self.refuse(f"{path}{name}", "must not contain control characters")
        return value

    def labels(self, value: Mapping[str, str], path: str, name: str) -> Mapping[str, str]:
        """A map of labels as an immutable mapping."""
        if not value:
            return _EMPTY
        labels = dict(sorted(value.items()))
        for key, label in labels.items():
            self.name(key, path, f'{name}["{key}"]')
            self.text(label, path, f'{name}["{key}"]')
        return MappingProxyType(labels)

    def duration(self, value: SecondsAndNanos, path: str, name: str, *, positive: bool = False) -> float:
        """A duration in seconds, rounded to the nearest double: at least 0, or above 0 when ``positive``."""
        seconds, nanos = value.seconds, value.nanos
        if not -_NANOS < nanos < _NANOS or seconds * nanos < 0:
            self.refuse(f"{path}{name}", "is malformed: nanos must be below 1e9 and have the sign of seconds")
            return 1.0
        total = seconds * _NANOS + nanos
        if total > limits.SECONDS * _NANOS:
            self.refuse(f"{path}{name}", f"must be at most 100 years, and is {seconds:,} s")
        elif total < 0 or (positive and total == 0):
            wanted = "above 0" if positive else "at least 0"
            self.refuse(f"{path}{name}", f"must be {wanted}, and is {total / _NANOS:g} s")
        else:
            return total / _NANOS
        return 1.0

    def instant(self, value: SecondsAndNanos, path: str, name: str) -> float:
        """A time in seconds since the epoch, rounded to the nearest double."""
        seconds, nanos = value.seconds, value.nanos
        if not 0 <= nanos < _NANOS:
            self.refuse(f"{path}{name}", "is malformed: nanos must be from 0 to 999,999,999")
        elif not 0 <= seconds <= limits.EPOCH_SECONDS:
            self.refuse(f"{path}{name}", f"must be from 1970 to 9999, and is {seconds:,} s from 1970")
        else:
            return (seconds * _NANOS + nanos) / _NANOS
        return 0.0

    def unique(self, seen: dict[str, str], value: str, path: str) -> None:
        """Note when ``value`` was seen before; ``seen`` maps values to the path of the first one."""
        first = seen.setdefault(value, path)
        if first is not path and value:
            self.refuse(path, f"{value!r} is already the name at {first}")

    def known(self, value: str | None, known: Iterable[str], path: str, name: str, what: str) -> None:
        """Note when ``value``, unless None, is not among ``known`` names of a ``what``."""
        if value is not None and value not in known:
            self.refuse(f"{path}{name}", f"no {what} is named {value!r}")

    def _is_name(self, value: str, path: str, name: str) -> bool:
        if 0 < len(value) <= limits.NAME_LENGTH and value.isprintable() and value == value.strip():
            return True
        if not value:
            self.refuse(f"{path}{name}", "must not be empty")
        elif len(value) > limits.NAME_LENGTH:
            self.refuse(
                f"{path}{name}", f"has {len(value):,} characters; at most {limits.NAME_LENGTH} are allowed"
            )
        elif value != value.strip():
            self.refuse(f"{path}{name}", f"{value!r} must not begin or end with space")
        elif any(unicodedata.category(c) == "Cc" for c in value):
            self.refuse(f"{path}{name}", f"{value!r} must not contain control characters")
        else:
            return True
        return False


def seconds_and_nanos(value: float) -> tuple[int, int]:
    """``value`` seconds as whole seconds and nanoseconds from 0 to 999,999,999, rounded."""
    whole = math.floor(value)
    nanos = round((value - whole) * _NANOS)
    return (whole + 1, 0) if nanos == _NANOS else (whole, nanos)
