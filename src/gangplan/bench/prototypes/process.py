"""Runs inside the prototypes' own interpreter: writes an instance out, or solves it with their whole model.

    python process.py FOLDER export SIZE SEED OCCUPANCY FILE
    python process.py FOLDER solve SIZE SEED OCCUPANCY SOLVER SETTINGS SECONDS
    python process.py FOLDER pipeline SIZE SEED OCCUPANCY SECONDS

``SETTINGS`` is ``same`` (one thread, relative gap 1e-7, no gangs of two half nodes: what ours solves) or
``own`` (theirs: relative gap 1e-4, two threads for HiGHS, all columns). The last line of the output is the
answer, as JSON. Needs numpy, scipy, numba, highspy and ortools. The working directory gets a pickle of each
instance.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

ARRAYS = (
    "rtype rspine nrack ncap req minc maxc base alpha comm w tenant quota hasdl dlneed sw rj rn rg npr"
).split()
COLUMNS = "cj ct cc cb cm cs cu ck cr".split()
PRICE_STEPS = 400


def _theirs(name: str) -> Any:
    """A module of the prototypes, which are found by path."""
    return importlib.import_module(name)


def make(size: str, seed: int, occupancy: float, *, spreads: bool) -> tuple[Any, float]:
    """The instance, and the seconds that its columns took."""
    gen = _theirs("gen")
    import numpy as np

    steady = _theirs("steady")

    instance = steady.gen_steady(size, seed, occ=occupancy)
    began = time.perf_counter()
    gen.cols(instance)
    if not spreads:
        kept = instance.cs != 1
        for name in COLUMNS:
            setattr(instance, name, getattr(instance, name)[kept])
        instance.K = int(kept.sum())
        instance.jp = np.searchsorted(instance.cj, np.arange(instance.J + 1))
    return instance, time.perf_counter() - began


def export(size: str, seed: int, occupancy: float, file: Path) -> dict[str, Any]:
    """Write the instance's arrays and its columns."""
    gen = _theirs("gen")
    import numpy as np

    instance, _ = make(size, seed, occupancy, spreads=False)
    arrays: dict[str, Any] = {name: np.asarray(getattr(instance, name)) for name in (*ARRAYS, *COLUMNS)}
    np.savez(file, speed=gen.SPEED, **arrays)
    return {"jobs": instance.J, "nodes": instance.N, "devices": instance.totG}


def solve(size: str, seed: int, occupancy: float, solver: str, settings: str, limit: float) -> dict[str, Any]:
    """Solve the whole F3 model, from the price greedy's plan on, and bind the solution."""
    f3 = _theirs("f3")
    f5 = _theirs("f5")

    same = settings == "same"
    _warm_up(solver, limit, same=same)
    instance, columns_s = make(size, seed, occupancy, spreads=not same)
    times = {"columns": columns_s}
    began = time.perf_counter()
    prices = f5.Lag(instance)
    _, (size_prices, tenant_prices), _ = prices.opt(PRICE_STEPS)
    greedy = f5.price_greedy(instance, prices, size_prices, tenant_prices)
    times["start"] = time.perf_counter() - began
    began = time.perf_counter()
    model = f3.build(instance)
    times["build"] = time.perf_counter() - began
    began = time.perf_counter()
    start = f3.complete(instance, model, greedy)
    times["start"] += time.perf_counter() - began
    answer, values, solved = _solve(instance, model, start, solver, limit, same=same)
    times |= solved
    began = time.perf_counter()
    bound_to, failures, _, _ = f3.bind(instance, values)
    plan_value = bound_to.verify()
    times["bind"] = time.perf_counter() - began
    return {
        "columns": len(model.c),
        "rows": int(model.A.shape[0]),
        "nonzeros": int(model.A.nnz),
        "objective": plan_value + instance.u0,
        "programme_objective": answer["obj"] + instance.u0,
        "programme_bound": answer["bound"] + instance.u0,
        "greedy_objective": greedy.obj() + instance.u0,
        "status": answer["status"],
        "proved": answer["status"].upper() == "OPTIMAL",
        "unbound_gangs": int(failures),
        "seconds_by_phase": times,
        "wall_s": sum(times.values()),
    }


def pipeline(size: str, seed: int, occupancy: float, limit: float) -> dict[str, Any]:
    """Their whole pipeline (``t14.py``), which compiles itself on a small instance when it is loaded.

    Its own gaps leave out ``u0``, what stopping everything would cost; these hold it, as ours do
    (decision 22).
    """
    import resource

    arguments, sys.argv = sys.argv, sys.argv[:1]
    t14 = _theirs("t14")

    sys.argv = arguments
    instance, columns_s = make(size, seed, occupancy, spreads=True)
    value, bound, seconds, events, more = t14.pipe(instance, limit)
    return {
        "objective": float(value + instance.u0),
        "bound": float(bound + instance.u0),
        "wall_s": columns_s + seconds,
        "events": [[columns_s + at, float(found + instance.u0)] for at, found in events],
        "columns": int(more["cols"]),
        "unbound_gangs": int(more["fail"]),
        "seconds_by_phase": {
            "columns": columns_s,
            "dual": more["td"],
            "relax": more["tlp"],
            "solve": more["tmip"],
        },
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _warm_up(solver: str, limit: float, *, same: bool) -> None:
    """Once through everything on a small instance, so that nothing is compiled or loaded while measuring."""
    f3 = _theirs("f3")
    f5 = _theirs("f5")

    instance, _ = make("S", 9, 0.5, spreads=True)
    prices = f5.Lag(instance)
    _, (size_prices, tenant_prices), _ = prices.opt(20)
    greedy = f5.price_greedy(instance, prices, size_prices, tenant_prices)
    model = f3.build(instance)
    _, values, _ = _solve(instance, model, f3.complete(instance, model, greedy), solver, limit, same=same)
    f3.bind(instance, values)


def _solve(
    instance: Any, model: Any, start: Any, solver: str, limit: float, *, same: bool
) -> tuple[dict[str, Any], Any, dict[str, float]]:
    cps = _theirs("cps")
    mip = _theirs("mip")
    import numpy as np

    if solver == "highs":
        options = {"threads": 1, "mip_rel_gap": 1e-7, "mip_abs_gap": 0.0} if same else {}
        answer = mip.hmip(model, instance, limit, options, x0=start)
        return answer, answer["x"], {"hand_over": answer["pass_"], "solve": answer["t"]}
    if not hasattr(cps, "led"):
        cps.led = cps.cp_model.CpSolver = _led_by_its_relaxation(cps.cp_model.CpSolver)
    hint = (np.arange(len(model.c)), np.rint(start).astype(int))
    proto, seconds = cps.build_proto(model, hint)
    more = {"relative_gap_limit": 1e-7} if same else {}
    answer = cps.solve(proto, limit, 1, **more)
    values = np.array(answer["s"].response_proto.solution)
    return answer, values, {"hand_over": seconds, "solve": answer["t"]}


def _led_by_its_relaxation(solver: type) -> type:
    """CP-SAT's solver with the one worker that ours has and the prototype's best runs had.

    It is a list, which the prototype's way of setting parameters cannot set.
    """

    class Led(solver):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.parameters.subsolvers.extend(["max_lp"])

    return Led


def main() -> None:
    """See the module's text."""
    folder, verb, size, seed, occupancy, *rest = sys.argv[1:]
    here = str(Path(__file__).parent)
    sys.path[:] = [folder, *(path for path in sys.path if path != here)]
    if verb == "export":
        row = export(size, int(seed), float(occupancy), Path(rest[0]))
    elif verb == "pipeline":
        row = pipeline(size, int(seed), float(occupancy), float(rest[0]))
    else:
        solver, settings, seconds = rest
        row = solve(size, int(seed), float(occupancy), solver, settings, float(seconds))
    sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
