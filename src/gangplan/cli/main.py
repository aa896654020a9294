"""``gangplan``: the verbs, put together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gangplan import __version__

if TYPE_CHECKING:
    import typer


def main() -> None:
    """Run the command line of this process."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"gangplan {__version__}")
        return
    try:
        application()(prog_name="gangplan")
    except Exception:  # noqa: BLE001 - whatever a verb did not foresee is a bug, and says so
        import traceback

        traceback.print_exc()
        print("This is a bug in gangplan; please report it with the lines above.", file=sys.stderr)
        sys.exit(1)


def application() -> typer.Typer:
    """All verbs as one application."""
    import typer

    from gangplan.cli import check, import_trace, scenario, serve, solve, solvers

    app = typer.Typer(
        name="gangplan",
        help="A placement oracle for GPU clusters: exact, verified plans, and how good they are.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def show_version(*, wanted: bool) -> None:
        if wanted:
            print(f"gangplan {__version__}")
            raise typer.Exit

    @app.callback()
    def options(
        *,
        version: bool = typer.Option(
            False,
            "--version",
            "-V",
            help="Print the version.",
            is_eager=True,
            callback=lambda wanted: show_version(wanted=wanted),
        ),
    ) -> None:
        del version

    app.command()(serve.serve)
    app.command()(solve.solve)
    app.command()(check.check)
    app.command()(solvers.solvers)
    app.add_typer(scenario.application(), name="scenario")
    app.add_typer(import_trace.application(), name="import")
    return app
