"""The programmes of published schedulers, as their papers state them, through our backends.

Each is one file: a dataclass of its input, its :class:`~gangplan.model.program.Program` built from arrays,
and how its linear relaxation is rounded. The policies of :mod:`gangplan.planning.policies` fill them round by
round; :mod:`gangplan.bench.formulations.peers` measures them on drawn instances.
"""
