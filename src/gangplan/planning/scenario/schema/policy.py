"""The policy."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from gangplan.domain.policy import Policy
from gangplan.domain.presets import PRESETS
from gangplan.planning.scenario.quantities import Cpu, Duration, Memory, Name, NonNegative, Positive, Whole
from gangplan.planning.scenario.schema.amounts import Probability, QuantilesPart
from gangplan.planning.scenario.schema.part import Part

_DEFAULTS = Policy()


class HostPart(Part):
    """CPU and memory that go with one reference device (decision 41)."""

    cpu: Cpu = _DEFAULTS.reference_host.cpu_milli
    memory: Memory = _DEFAULTS.reference_host.memory_bytes


Form = Literal["WEIGHTS", "LOG", "NEGATIVE_POWER", "DEVICE_TIME", "EFFECTIVE_THROUGHPUT", "GITTINS"]


_FORMS: dict[Form, float] = {"WEIGHTS": 1.0}


class TierPart(Part):
    """Jobs for whose places all lower tiers yield (decision 8).

    Attributes:
        priorities: classes of priority in the tier.
        tolerance: how far below its best it may end, as a fraction.
    """

    priorities: Annotated[list[int], Field(min_length=1)]
    tolerance: Annotated[NonNegative, Field(le=1)] = 0.0


class PolicyPart(Part):
    """Weights and limits; the meaning of each stands in :class:`gangplan.domain.policy.Policy`.

    Attributes:
        preset: name of a policy that holds where nothing is written here; ``gangplan policies`` lists them.
        fairness_forms: a form's name, or several with their parts.
        service_quantiles: device time of jobs by probability, device-seconds or such as 40h.
    """

    preset: Name | None = None
    size_exponent: NonNegative = _DEFAULTS.size_exponent
    fairness_power: Annotated[NonNegative, Field(le=2)] = _DEFAULTS.fairness_power
    fairness_forms: Annotated[dict[Form, Annotated[Positive, Field(le=1)]], Field(min_length=1)] = _FORMS
    queue_fairness_power: Annotated[NonNegative, Field(le=2)] = _DEFAULTS.queue_fairness_power
    priority_weights: dict[int, Positive] = {}
    fairness_quantile: Probability = _DEFAULTS.fairness_quantile
    service_quantiles: QuantilesPart | None = None
    deadline_weight: NonNegative = _DEFAULTS.deadline_weight
    deadline_urgency: Annotated[NonNegative, Field(le=2)] = _DEFAULTS.deadline_urgency
    deadline_quantile: Probability = _DEFAULTS.deadline_quantile
    locality_weight: NonNegative = _DEFAULTS.locality_weight
    switching_weight: NonNegative = _DEFAULTS.switching_weight
    cost_weight: NonNegative = _DEFAULTS.cost_weight
    tracking_weight: NonNegative = _DEFAULTS.tracking_weight
    makespan_weight: NonNegative = _DEFAULTS.makespan_weight
    fragmentation_weight: NonNegative = _DEFAULTS.fragmentation_weight
    residual_weight: NonNegative = _DEFAULTS.residual_weight
    interactive_weight: NonNegative = _DEFAULTS.interactive_weight
    headroom: dict[Name, Annotated[Whole, Field(lt=2**31)]] = {}
    disruption_limit: Whole | None = _DEFAULTS.disruption_limit
    minimum_run: Duration = _DEFAULTS.minimum_run_seconds
    disruption_limit_per_job_hour: Whole | None = _DEFAULTS.disruption_limit_per_job_hour
    hysteresis: Annotated[NonNegative, Field(le=1)] = _DEFAULTS.hysteresis
    promise_after: Duration | None = _DEFAULTS.promise_after_seconds
    promise_quantile: Probability = _DEFAULTS.promise_quantile
    longest_run: Annotated[Duration, Field(gt=0)] | None = _DEFAULTS.longest_run_seconds
    tiers: list[TierPart] = []
    reference_host: HostPart = HostPart()

    @field_validator("preset")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value not in PRESETS:
            raise ValueError(f"{value!r} is none; there are {', '.join(sorted(PRESETS))}")
        return value

    @field_validator("fairness_forms", mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {value: 1.0} if isinstance(value, str) else value

    @field_validator("fairness_forms")
    @classmethod
    def _at_most_all(cls, value: dict[Form, float]) -> dict[Form, float]:
        if sum(value.values()) > 1.0 + 1e-9:
            raise ValueError(f"the parts must add up to at most 1, not {sum(value.values()):g}")
        return value

    @model_serializer(mode="wrap")
    def _with_what_differs_from_the_preset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is written beside a preset says something even where it is the default."""
        value: dict[str, Any] = handler(self)
        if self.preset is not None:
            unsaid = self.written - value.keys() - {"reference_host"}  # the same in all presets
            value |= {name: getattr(self, name) for name in sorted(unsaid)}
        return value

    @property
    def written(self) -> set[str]:
        """Names of the fields that hold whatever the preset says."""
        return self.model_fields_set - {"preset"}
