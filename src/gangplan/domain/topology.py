"""The topology tree: named levels, domains, and who contains whom.

Scopes are level names. Two levels are always there and never declared: :data:`CLUSTER`
(the root, contains everything) and :data:`NODE` (one node). Declared levels lie between
them, outermost first, e.g. ``("spine", "rack", "nvlink-domain")``. A domain's identity is its
full name in the request; equality is on that name, never on a prefix (property P9).
"""

from __future__ import annotations

from dataclasses import dataclass, field

CLUSTER = "cluster"
NODE = "node"


@dataclass(frozen=True, slots=True)
class Domain:
    """One domain of the tree, e.g. a rack.

    Attributes:
        name: unique in the topology.
        level: a declared level's name.
        parent: the enclosing domain's name; None directly under the root. A parent may be of
            any outer level: levels can be skipped (unequal depth).
    """

    name: str
    level: str
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """Levels (outermost first, without ``cluster`` and ``node``) and the domains on them."""

    levels: tuple[str, ...] = ()
    domains: tuple[Domain, ...] = ()
    _by_name: dict[str, Domain] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {d.name: d for d in self.domains})

    @property
    def scopes(self) -> tuple[str, ...]:
        """All level names, widest first: ``("cluster", *levels, "node")``."""
        return (CLUSTER, *self.levels, NODE)

    def domain(self, name: str) -> Domain:
        """The domain of that name; KeyError when there is none."""
        return self._by_name[name]

    def path(self, name: str | None) -> tuple[Domain, ...]:
        """The domains that contain ``name``, itself included, innermost first; empty for None."""
        path: list[Domain] = []
        while name is not None:
            here = self._by_name[name]
            path.append(here)
            name = here.parent
        return tuple(path)

    def at_level(self, name: str | None, level: str) -> str | None:
        """The name of the domain at ``level`` that contains domain ``name`` (or is it), if any."""
        for here in self.path(name):
            if here.level == level:
                return here.name
        return None
