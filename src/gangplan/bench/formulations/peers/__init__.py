"""The programmes of published schedulers (:mod:`gangplan.planning.programmes`) on drawn instances.

:mod:`~gangplan.bench.formulations.peers.draws` draws them from measured profiles, or from a seeded stand-in
(both by :mod:`~gangplan.bench.formulations.peers.crowd`);
:mod:`~gangplan.bench.formulations.peers.published` holds the figures to set beside ours.
"""
