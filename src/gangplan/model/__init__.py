"""All the maths: no I/O, no solver library.

Two sides look at a round and share nothing but the domain, so that each can be held against the other.

**The model's side** decides. In the order of a round:

* ``instance/``: the round as arrays. Its constants, who runs where and may stay, who may go where, nodes and
  pools, ways to run, and what each is worth; ``instance.instance`` puts them together.
* ``prices/``: what places cost, the bound that this proves, and ``names`` that outlive a round.
* ``packing/``: from a decision to a plan. What is free (``occupancy``, ``quotas``), plans without a solver
  (``fill``, ``price_greedy``), somebody else's plan (``adopt``), counts to nodes (``bind``,
  ``exchange``), resizes (``resize``, ``in_place``), devices (``placements``), who waits for whom (``waits``),
  actions (``order``).
* ``formulation/``: the integer programme. Columns (``layout``), ``rows``, ``formulate``, a plan as column
  values (``encode``), what row prices prove (``duality``), a stricter one that binds (``inflate``).
* ``lookahead/``: the fluid plan over coarse time, and the outlook that a round follows.
* ``program``: what solvers see of it; ``compiled``: loops as machine code.
* ``words/``: verdicts and notices.

**The verifier's side** judges, from the round and a plan alone: ``verifier/`` holds the constants once more,
written anew, who cannot stay, what a plan does to each job, and ``verify``, which puts them together. What
the round alone says is computed once for all its plans (``facts.RoundFacts.once``). It never imports the
other side, nor that one it.

They meet, side by side, in one file for each **term** (``terms/``: ``coefficients`` for the model,
``evaluate`` for the verifier), each **form** of fairness (``forms/``: ``urgencies`` and ``earned`` for the
model, ``urgency`` and ``earns`` for the verifier) and each **constraint** (``constraints/``: ``rows`` for the
model, where the programme has any, ``violations`` for the verifier). The next term, form or constraint is one
new file there: it is found by scanning the folder, and its package's docstring and protocol say what it must
offer. What it reads of a job is a new column of ``instance.table`` on one side and a new field of
``verifier.facts`` on the other.
"""
