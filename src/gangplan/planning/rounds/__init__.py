"""Rounds one after another: jobs arrive, make progress, end, and a policy decides at every round.

A bare, exact loop. In the order of a round:

* ``history``: what will happen whatever is decided: jobs with their true work, failures of nodes.
* ``told``: how much of it a policy is told (decision 15).
* ``state``: all that has happened so far, immutable, one for every round.
* ``present``: the round that a policy sees, made of history and state.
* ``fair_self``: what each job would have had with its fair share alone (decision 11), and the peers' ideas of
  that.
* ``advance``: what one job does within one round on what it really holds.
* ``loop``: one round after another, until nobody is left or a limit is reached; rounds in which nothing can
  change are passed.
* ``breakdowns``: nodes that fail at random.
* ``saved``: the world between two rounds in a file, to go on later.
* ``foreseen``: what was predicted of jobs when they came, beside what they took.

Policies are in :mod:`gangplan.planning.policies`; what comes out is measured by
:mod:`gangplan.planning.metrics`. Same history, policy and settings, same outcome, unless the policy reads a
clock.
"""
