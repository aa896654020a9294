"""``gangplan``: the verbs, put together."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from gangplan import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    import typer

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What standard output says where it goes to a disk that is full."""


def main() -> None:
    """Run the command line of this process."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        print(f"gangplan {__version__}")
        return
    verb = next((word for word in arguments if not word.startswith("-")), "")
    try:
        try:
            application(verb)(prog_name="gangplan")
        finally:
            sys.stdout.flush()  # here, not when the interpreter ends, where nobody can answer for it
    except OSError as error:
        if error.errno not in _NO_ROOM:
            _say_bug()
        print(f"error: the answer cannot be written: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is buffered goes nowhere
        sys.exit(5)
    except Exception:  # noqa: BLE001 - whatever a verb did not foresee is a bug, and says so
        _say_bug()


def _say_bug() -> NoReturn:
    """End with the traceback of what is being handled."""
    import traceback

    traceback.print_exc()
    print("This is a bug in gangplan; please report it with the lines above.", file=sys.stderr)
    sys.exit(1)


def application(verb: str | None = None) -> typer.Typer:
    """All verbs as one application.

    Args:
        verb: the only one that will be called; the others are there with their help but without their
            options, which are costly to prepare. None: any may be called.
    """
    import typer

    from gangplan.cli import (
        admit,
        bench,
        check,
        deploy,
        explain,
        import_trace,
        policies,
        report,
        rounds,
        scenario,
        serve,
        simulate,
        solve,
        solvers,
        token,
        trace,
        tune,
        whatif,
    )

    app = _typer(help="A placement oracle for GPU clusters: exact, verified plans, and how good they are.")

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

    verbs: tuple[Callable[..., Any], ...] = (
        serve.serve,
        solve.solve,
        simulate.simulate,
        whatif.whatif,
        tune.tune,
        report.report,
        check.check,
        explain.explain,
        explain.recommend,
        explain.shares,
        admit.admit,
        solvers.solvers,
        policies.policies,
        token.token,
        deploy.deploy,
    )
    for command in verbs:
        name = command.__name__
        app.command(name, help=command.__doc__)(command if verb in (None, name) else _never_called)
    groups: tuple[tuple[str, str, Callable[[], tuple[Callable[..., Any], ...]]], ...] = (
        ("scenario", scenario.HELP, lambda: scenario.VERBS),
        ("import", import_trace.HELP, import_trace.verbs),
        ("trace", trace.HELP, lambda: trace.VERBS),
        ("rounds", rounds.HELP, lambda: rounds.VERBS),
        ("bench", bench.HELP, lambda: bench.VERBS),
    )
    for name, about, verbs_of in groups:
        inner = _typer(help=about)
        for command in verbs_of() if verb in (None, name) else ():
            inner.command(command.__name__)(command)
        inner.callback()(_never_called)  # a single verb stays a word of its own
        app.add_typer(inner, name=name)
    return app


def _typer(*, help: str) -> typer.Typer:  # noqa: A002 - typer's own word
    import typer

    return typer.Typer(
        help=help,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # loading rich takes longer than all the rest of help
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _never_called() -> None:
    """Stands for a verb that this process does not call."""


if __name__ == "__main__":
    main()
