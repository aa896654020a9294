"""``python -m gangplan.cli.demo``: a real service, one production-shaped round over gRPC, the plan, the end.

Starts ``gangplan serve`` as a process of its own on a free loopback port, lets it plan a scenario, shows the
plan as ``gangplan solve`` does, and stops the service. Exits with 0 only when all of that went well.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from gangplan.cli.exits import Exit, explain, say
from gangplan.errors import GangplanError
from gangplan.service.launched import ServiceFailedError, address_of

SCENARIO = Path("scenarios/openb-shaped.yaml")
START_SECONDS = 900.0
"""Far above what it takes: a minute where loops are compiled, more on a machine that is busy."""
STOP_SECONDS = 20.0


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration.

    Args:
        arguments: of the command line; None takes this process's.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="python -m gangplan.cli.demo", description=__doc__.splitlines()[0])
    parser.add_argument("scenario", nargs="?", type=Path, default=SCENARIO, help=f"by default {SCENARIO}")
    parser.add_argument("--time-limit", type=float, default=10.0, metavar="SECONDS")
    given = parser.parse_args(arguments)
    try:
        with service() as address:
            _plan(given.scenario, address, given.time_limit)
    except GangplanError as error:
        return int(explain(error))
    except ServiceFailedError as error:
        say(f"error: {error}")
        return int(Exit.BUG)
    say("The service stopped cleanly.")
    return int(Exit.DONE)


@contextlib.contextmanager
def service() -> Iterator[str]:
    """A ``gangplan serve`` on a free loopback port, drained at the end.

    Yields:
        Its address.

    Raises:
        ServiceFailedError: it does not get ready in time, or does not stop in time with exit code 0.
    """
    began = time.monotonic()
    serve = ["serve", "--port", "0", "--log-level", "error", "--sessions", "memory"]
    command = [sys.executable, "-m", "gangplan.cli.main", *serve]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        say("Starting the service: its loops are compiled the first time, which takes half a minute.")
        address = address_of(process, START_SECONDS, STOP_SECONDS)
        say(
            f"The service listens on {address} ({time.monotonic() - began:.1f} s with warm solver processes)."
        )
        yield address
        process.send_signal(signal.SIGTERM)
        code = process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ServiceFailedError(f"the service did not stop within {STOP_SECONDS:.0f} s") from error
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
    if code != 0:
        raise ServiceFailedError(f"the service ended with exit code {code}")


def _plan(scenario: Path, address: str, time_limit: float) -> None:
    from gangplan.cli.inputs import read_input
    from gangplan.cli.render.answer import answer
    from gangplan.cli.render.console import print_answer
    from gangplan.client import Client

    given = read_input(scenario)
    say(f"Sending {len(given.round.cluster.nodes):,} nodes and {len(given.round.jobs):,} jobs over gRPC.")
    began = time.monotonic()
    with Client(address) as client:
        result = client.plan_round(given.round, time_budget=time_limit)
    say(f"The plan came back after {time.monotonic() - began:.2f} s.")
    print_answer(answer(given.round, result, title=given.title))


if __name__ == "__main__":
    sys.exit(main())
