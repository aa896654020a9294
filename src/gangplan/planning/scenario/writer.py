"""Writes a scenario as the file that a person would have written."""

from __future__ import annotations

from typing import Any

import yaml

from gangplan.planning.scenario.reader import FLOAT
from gangplan.planning.scenario.schema import Scenario


class _Dumper(yaml.SafeDumper):
    """Quotes every text that any reader of YAML might take for something else."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001
        """Indent lists below their key."""
        return super().increase_indent(flow, False)

    def serialize(self, node: yaml.Node) -> None:
        """Keep the outermost mapping open, below the first line, also where it holds nothing but scalars."""
        if isinstance(node, yaml.MappingNode):
            node.flow_style = False
        super().serialize(node)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None
    if any(letter in value for letter in "\x85\u2028\u2029\ufeff"):
        style = '"'  # escaped there, lost as line breaks elsewhere
    elif "\n" in value and all(line == line.rstrip() for line in value.split("\n")):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+.0123456789"))


def dumps(scenario: Scenario, *, header: str = "") -> str:
    """The scenario's text; reading it gives an equal scenario.

    Args:
        scenario: what to write; defaults are left out.
        header: comment above the first line, without ``#``.
    """
    value: dict[str, Any] = scenario.model_dump(mode="python", exclude_defaults=True)
    for group in (*value.get("nodes", ()), *value.get("jobs", ())):
        if "names" in group:  # long: what they share is read first
            group["names"] = group.pop("names")
    comment = "".join(f"# {line}".rstrip() + "\n" for line in header.splitlines())
    first = f"gangplan: {value.pop('gangplan')}\n"
    if not value:
        return comment + first
    body: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True
    )
    return comment + first + body
