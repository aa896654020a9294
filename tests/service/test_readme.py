"""What the README shows, works."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from pathlib import Path
from typing import Any

from gangplan.service.options import ServerOptions
from gangplan.service.server import Server

README = Path(__file__).parents[2] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


async def test_the_example_in_python_runs_as_it_stands() -> None:
    example, _ = EXAMPLES
    assert len(example.splitlines()) <= 22

    def run(address: str) -> str:
        printed = io.StringIO()
        names: dict[str, Any] = {}
        with contextlib.redirect_stdout(printed):
            for code in EXAMPLES:
                exec(code.replace("127.0.0.1:50051", address), names)
        return printed.getvalue()

    async with Server(ServerOptions(port=0, slots=1)) as server:
        *actions, last, first, second = (await asyncio.to_thread(run, server.address)).splitlines()
    assert len(actions) == 2
    assert all(line.startswith("PLACE train-") for line in actions)
    assert last.startswith("OPTIMAL 16.0 [")
    assert first == "2 start, 1 waits"
    assert second == "2 go on, 1 starts"
