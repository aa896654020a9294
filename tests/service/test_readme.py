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


async def test_the_example_in_python_runs_as_it_stands() -> None:
    [example] = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(example.splitlines()) <= 22

    def run(address: str) -> str:
        printed = io.StringIO()
        names: dict[str, Any] = {}
        with contextlib.redirect_stdout(printed):
            exec(example.replace("127.0.0.1:50051", address), names)
        return printed.getvalue()

    async with Server(ServerOptions(port=0, slots=1)) as server:
        *actions, last = (await asyncio.to_thread(run, server.address)).splitlines()
    assert len(actions) == 2
    assert all(line.startswith("PLACE train-") for line in actions)
    assert last.startswith("OPTIMAL 16.0 [")
