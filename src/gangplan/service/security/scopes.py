"""What a caller must be allowed to do for each method. Each scope includes those before it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Scope(Enum):
    """What a caller may do."""

    READ = "read"
    """Learn what the service is and knows; keeps no solver busy and changes nothing."""
    PLAN = "plan"
    """Have rounds planned and judged, and keep sessions."""
    ADMIN = "admin"
    """Whatever keeps the service busy for long: simulations and sweeps; and the sessions of others."""

    def includes(self, other: Scope) -> bool:
        """Whether who has this scope has ``other`` as well."""
        return _ORDER.index(self) >= _ORDER.index(other)


_ORDER = tuple(Scope)

_PLACEMENT = "/gangplan.v1.PlacementService/"
_SESSIONS = "/gangplan.v1.SessionService/"
_PLANNING = "/gangplan.v1.PlanningService/"

OPEN = ("/grpc.health.v1.Health/",)
"""What anybody may call: probes bring no credentials, and learn nothing but SERVING."""

SCOPES: Mapping[str, Scope] = {
    **{
        f"{_PLACEMENT}{method}": Scope.READ
        for method in ("GetCapabilities", "ListSolvers", "ComputeFairShares")
    },
    **{
        f"{_PLACEMENT}{method}": Scope.PLAN
        for method in (
            "PlanRound",
            "StreamRound",
            "ValidatePlan",
            "CheckAdmission",
            "ExplainJob",
            "RecommendPlacements",
            "WhatIf",
        )
    },
    f"{_SESSIONS}GetSession": Scope.READ,
    **{
        f"{_SESSIONS}{method}": Scope.PLAN
        for method in ("OpenSession", "ApplyDelta", "ReportOutcomes", "CloseSession")
    },
    f"{_PLANNING}Simulate": Scope.ADMIN,
    f"{_PLANNING}Sweep": Scope.ADMIN,
    **{
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo": Scope.READ
        for version in ("v1alpha", "v1")
    },
}
"""By the path of the method."""


def scope_of(method: str) -> Scope:
    """What ``method`` needs; one that is not in the table needs all there is."""
    return SCOPES.get(method, Scope.ADMIN)
