"""Quantiles on the wire -> :class:`~gangplan.domain.quantiles.Quantiles`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gangplan.domain.quantiles import Quantiles
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields


def read_quantiles(
    probabilities: Sequence[float], values: Sequence[float], name: str, path: str, fields: Fields
) -> Quantiles | None:
    """Two parallel arrays as a distribution; None, and refused, when they are none.

    Args:
        probabilities: of the message at ``path``.
        values: of the same message.
        name: the values' field there.
        path: of the message, with a dot at its end.
        fields: collects what is wrong.
    """
    if len(probabilities) > limits.QUANTILES:
        fields.refuse(f"{path}probabilities", f"has {len(probabilities)} entries; {limits.QUANTILES} at most")
        return None
    if len(values) != len(probabilities):
        fields.refuse(
            f"{path}{name}", f"must have {len(probabilities)} entries as probabilities has, not {len(values)}"
        )
        return None
    if not probabilities:
        fields.refuse(f"{path}probabilities", "must not be empty: a distribution has at least one quantile")
        return None
    at = [real_probability(p, path, f"probabilities[{i}]", fields) for i, p in enumerate(probabilities)]
    amounts = [fields.real(value, path, f"{name}[{i}]", 0.0, limits.WORK) for i, value in enumerate(values)]
    if any(a >= b for a, b in pairwise(at)):
        fields.refuse(f"{path}probabilities", "must be strictly ascending")
    if any(a > b for a, b in pairwise(amounts)):
        fields.refuse(f"{path}{name}", "must be ascending")
    return Quantiles(tuple(at), tuple(amounts))


def real_probability(value: float, path: str, name: str, fields: Fields) -> float:
    """A probability that is neither 0 nor 1, nor next to it."""
    return fields.real(value, path, name, limits.PROBABILITY, 1.0 - limits.PROBABILITY)
