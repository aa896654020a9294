"""The first round after a start compiles nothing: that took half a minute of somebody's time budget."""

from __future__ import annotations

import subprocess
import sys

LOOK = """
import sys
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.practice import compile_loops
from gangplan.engine.round import plan_round
from gangplan.planning.generate import generate_named

def known():
    return {
        f"{name}.{key}": list(map(str, loop.signatures))
        for name, module in list(sys.modules.items()) if name.startswith("gangplan.")
        for key, loop in vars(module).items() if hasattr(loop, "nopython_signatures")
    }

compile_loops()
before = known()
assert any(before.values()), "no compiled loops: this test looks in the wrong place"
for name in ("S/steady/85/seed0", "M/steady/85/seed0", "S/nvlink-18x4/50/seed0", "S/cpu-heavy/85/seed0"):
    plan_round(generate_named(name), PlanParameters(time_budget_seconds=20.0))
print(sorted(name for name, signatures in known().items() if signatures != before.get(name)))
"""


def test_a_round_compiles_no_loop_that_practice_did_not() -> None:
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
