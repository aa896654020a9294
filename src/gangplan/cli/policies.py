"""``gangplan policies``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gangplan.cli.exits import explained
from gangplan.cli.options.answer import Output
from gangplan.cli.output import Format, print_document

if TYPE_CHECKING:
    from gangplan.domain.presets import Preset


@explained
def policies(
    *,
    output: Output = Format.TABLE,
) -> None:
    """List the policies with a name, and what each sets.

    \b
    gangplan policies
    gangplan policies -o yaml
    """  # noqa: D301 - \b keeps the lines
    from gangplan.domain.presets import PRESETS

    if output is not Format.TABLE:
        print_document([_document(preset) for preset in PRESETS.values()], output)
        return
    from rich.table import Table

    from gangplan.cli.render.console import print_answer

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("preset", no_wrap=True)
    table.add_column("is for", overflow="fold")
    table.add_column("sets", overflow="fold")
    for preset in PRESETS.values():
        sets = [f"{name} {_short(value)}" for name, value in _settings(preset).items()]
        table.add_row(preset.name, preset.purpose, ", ".join(sets))
    print_answer(table)


def _settings(preset: Preset) -> dict[str, Any]:
    """What differs from the defaults, as a scenario writes it."""
    from dataclasses import fields

    from gangplan.domain.policy import Policy

    default = Policy()
    found = {}
    for field in fields(Policy):
        value = getattr(preset.policy, field.name)
        if value != getattr(default, field.name):
            found[field.name] = value
    if "fairness_forms" in found:
        found["fairness_forms"] = {form.value: part for form, part in found["fairness_forms"].items()}
    return found


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return " + ".join(name if part == 1 else f"{part:g} {name}" for name, part in value.items())
    return f"{value:g}"


def _document(preset: Preset) -> dict[str, Any]:
    return {"name": preset.name, "purpose": preset.purpose, "policy": _settings(preset)}
