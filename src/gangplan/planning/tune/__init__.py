"""Policy weights by what they lead to: a Pareto front over simulations, a wish, and the price of each rule.

* ``knobs``: which weights are turned, and how far.
* ``front``: which points no other one beats.
* ``search``: a seeded design, then refinement around the front.
* ``rules``: what each rule in force costs in device-hours.

Simulations are those of a study (:mod:`gangplan.planning.study`), run and kept in the same way.
"""
