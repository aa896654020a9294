"""The programmes of published schedulers, as their papers state them, through our backends.

Each form is one file: a dataclass of its input, its :class:`~gangplan.model.program.Program` built from
arrays, and how its linear relaxation is rounded. Data are drawn in
:mod:`~gangplan.bench.formulations.peers.crowd` from measured profiles (or a seeded stand-in).
:mod:`~gangplan.bench.formulations.peers.published` holds the figures to set beside ours.
"""
