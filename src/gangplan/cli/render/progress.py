"""How far a round is, while it is planned: on standard error, a live line or one line per improvement."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gangplan.cli.render.console import talk_console
from gangplan.cli.render.figures import seconds, share, value
from gangplan.domain.plan import Stage, gaps

if TYPE_CHECKING:
    from rich.text import Text

    from gangplan.domain.plan import RoundResult

_REFRESH_PER_SECOND = 8
_NAME_WIDTH = 16
_FLOORS = ("keep_and_fill", "keep")


class Progress:
    """Shows every improvement: step, seconds, value, bound, relative gap and gap of gain.

    On a terminal one line that changes, its seconds running; else one line for each plan that is better than
    all before, or that comes with a lower bound. A context manager.
    """

    def __init__(self) -> None:
        self._console = talk_console()
        self._began = time.monotonic()
        self._floor: float | None = None
        self._best: Stage | None = None
        self._bound = float("inf")
        self._done = False
        self._live = None
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(
                console=self._console,
                get_renderable=self._running,
                refresh_per_second=_REFRESH_PER_SECOND,
                redirect_stdout=False,
                redirect_stderr=False,
            )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def stage(self, stage: Stage) -> None:
        """Take note of a candidate plan; what keeps and fills is the floor (decision 22)."""
        if stage.objective is None:
            return
        if self._floor is None and stage.name in _FLOORS:
            self._floor = stage.objective
        bound = self._bound if stage.bound is None else min(self._bound, stage.bound)
        better = self._best is None or self._best.objective is None or stage.objective > self._best.objective
        lower, self._bound = bound < self._bound, bound
        if better:
            self._best = stage
        if (better or lower) and self._live is None:
            self._print(self._line(stage.name, stage.seconds))

    def finish(self, result: RoundResult) -> None:
        """Show the answer itself, whose last steps are no candidates."""
        quality = result.quality
        self._floor, self._bound = quality.keep_and_fill, quality.bound
        name, elapsed = "answer", result.seconds_by_phase.get("total", time.monotonic() - self._began)
        self._best = Stage(name, elapsed, quality.objective, quality.bound)
        self._done = True
        if self._live is None:
            self._print(self._line(name, elapsed))

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)

    def _running(self) -> Text:
        from rich.text import Text

        if self._best is None:
            return Text(f"{'planning':{_NAME_WIDTH}} {seconds(time.monotonic() - self._began)}")
        elapsed = self._best.seconds if self._done else time.monotonic() - self._began
        return Text(self._line(self._best.name, elapsed), overflow="ellipsis", no_wrap=True)

    def _line(self, name: str, elapsed: float) -> str:
        assert self._best is not None
        assert self._best.objective is not None
        line = f"{name:{_NAME_WIDTH}} {seconds(elapsed):>8}  value {value(self._best.objective)}"
        if self._bound == float("inf"):
            return line
        floor = self._best.objective if self._floor is None else self._floor
        _, relative, of_gain = gaps(self._best.objective, self._bound, floor)
        line = f"{line}  bound {value(self._bound)}  gap {share(relative)}"
        return line if self._floor is None else f"{line}  of gain {share(of_gain)}"
