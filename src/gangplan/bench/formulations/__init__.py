"""What others use today, beside our pipeline: on the same rounds, judged by our own binder and verifier.

A *formulation* (:mod:`~gangplan.bench.formulations.catalogue`) takes the round as arrays, so that all have
the same options and the same coefficients of the same objective, the same backend and the same limits, and
hands back a plan. Its module's text says what it was told and which paper it is from. Nothing that it says of
itself is believed: the verifier judges the plan, and gaps are against the best bound that any programme of
the instance proved.

:mod:`~gangplan.bench.formulations.peers` holds the others' own programmes, on their own kind of data.
"""
