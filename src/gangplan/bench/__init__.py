"""The solver benchmark, with which anybody can check gangplan: ``gangplan bench``.

A *suite* (``suites/*.toml``, read by :mod:`~gangplan.bench.suites`) is a list of
:class:`~gangplan.bench.runs.Run`. The :mod:`~gangplan.bench.driver` measures each of them in a process of its
own (:mod:`~gangplan.bench.child`, which asks :mod:`~gangplan.bench.rounds`, :mod:`~gangplan.bench.models`,
:mod:`~gangplan.bench.churn`, ``filling``, :mod:`~gangplan.bench.growing`, :mod:`~gangplan.bench.histories`,
``formulations`` or ``prototypes``), and every run is one row of a file (:mod:`~gangplan.bench.rows`), also
one that died or hung. ``report`` makes tables and pictures of rows, :mod:`~gangplan.bench.gate` compares
deterministic counters with committed ones, :mod:`~gangplan.bench.growth` fits exponents to what ``growing``
counted, and :mod:`~gangplan.bench.profiler` says where the time of one round goes.

An edge: only the command line imports it. The protocol stands in ``benchmarks/README.md``.
"""
