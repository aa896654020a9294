"""All the maths: no I/O, no solver library.

Two sides look at a round and share nothing but the domain, so that each can be held against the other.

**The model's side** decides. In the order of a round:

* the round as arrays: ``throughput`` and ``weights`` and ``switching`` (its constants), ``present`` (who runs
  where and may stay), ``filters`` (who may go where), ``sites`` (nodes and pools), ``options`` and ``shapes``
  (ways to run), ``table`` (what terms read) and ``pricing``, ``as_placed``, and ``instance``, which puts
  them together;
* the programme: ``layout`` (columns), ``rows``, ``formulation``, ``program`` (what solvers see), ``encode``
  (a plan as column values), ``duality`` (what row prices prove), ``ease`` (a second programme that binds
  better);
* decisions without a solver: ``prices`` (and their bound), ``occupancy`` (what is free), ``fill``,
  ``greedy``;
* from a decision to a plan: ``assignment``, ``bind`` (counts to nodes), ``resize`` (in place), ``order``
  (devices, kinds of action, who waits for whom);
* words: ``explain`` (verdicts) and ``notices``.

**The verifier's side** judges, from the round and a plan alone: ``facts`` (the constants once more, written
anew), ``forced`` (who cannot stay, once more), ``reading`` and ``outcome`` and ``outcomes`` (what a plan does
to each job), ``violation``, and ``verify``, which puts them together. It never imports the other side, nor
that one it.

They meet, side by side, in one file for each **term** (``terms/``: ``coefficients`` for the model,
``evaluate`` for the verifier) and each **constraint** (``constraints/``: ``rows`` for the model, where the
programme has any, ``violations`` for the verifier). The next term or constraint is one new file there: it is
found by scanning the folder, and its package's docstring and protocol say what it must offer. What it reads
of a job is a new column of ``table`` on one side and a new field of ``facts`` on the other.
"""
