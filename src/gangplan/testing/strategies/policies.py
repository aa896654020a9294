"""Policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gangplan.domain.cluster import AcceleratorType, Node, Resources
from gangplan.domain.policy import FairnessForm, Policy
from gangplan.domain.quantiles import Quantiles
from gangplan.testing.strategies.draw import GIB, Draw


def draw_policy(d: Draw) -> Policy:
    """Any weights; limits of disruption now and then."""
    return Policy(
        size_exponent=d.one((1.0, 1.0, 0.5)),
        fairness_power=d.one((1.0, 0.0, 2.0, 0.5)),
        fairness_forms=_forms(d),
        queue_fairness_power=d.one((1.0, 0.0, 2.0)),
        fairness_quantile=d.one((0.5, 0.05, 0.8)),
        service_quantiles=d.one((None, Quantiles((0.2, 0.5, 0.9), (300.0, 2_000.0, 80_000.0)))),
        priority_weights={1: 2.0, 2: 4.0} if d.chance(80) else {},
        deadline_weight=d.one((0.5, 0.0, 2.0)),
        deadline_urgency=d.one((0.0, 1.0, 0.5)),
        deadline_quantile=d.one((0.8, 0.5)),
        locality_weight=d.one((0.1, 0.0, 0.3)),
        switching_weight=d.one((1.0, 0.0)),
        cost_weight=d.one((0.0, 0.0, 0.0, 1e-7, 4e-7)),
        tracking_weight=d.one((1.0, 0.0, 2.0)),
        fragmentation_weight=d.one((0.0, 0.0, 0.5, 5.0)),
        interactive_weight=d.one((1.0, 0.0, 3.0)),
        disruption_limit=d.one((None, None, None, None, None, None, None, 0, 1, 2)),
        minimum_run_seconds=d.one((0.0, 0.0, 0.0, 0.0, 0.0, 300.0)),
        disruption_limit_per_job_hour=d.one((None, None, None, None, None, 1)),
        hysteresis=d.one((0.05, 0.05, 0.0)),
        reference_host=Resources(8_000, 64 * GIB),
    )


def draw_headroom(d: Draw, types: Sequence[AcceleratorType], nodes: Sequence[Node]) -> Mapping[str, int]:
    """None, or some of what there is of a type: one device, most of them, or more than there are."""
    kind = d.one(types).name
    there = sum(node.usable_device_count for node in nodes if node.accelerator_type == kind)
    return d.one(({}, {kind: 1}, {kind: max(1, there - 1)}, {kind: there // 2}, {kind: there + 1}))


def _forms(d: Draw) -> Mapping[FairnessForm, float]:
    """The plain form half the time, else another one or a mixture, with or without a rest."""
    if d.chance(50):
        return {FairnessForm.WEIGHTS: 1.0}
    forms = list(FairnessForm)
    if d.chance(60):
        return {d.one(forms[::-1]): d.one((1.0, 0.5))}
    return {d.one(forms): 0.25, d.one(forms): 0.5}
