"""How long jobs will run, learned from those that have ended (decision 15).

* ``traits``: what is known of a job when it is submitted, and the groups that this puts it in.
* ``predictor``: the work left as quantiles: survivors of its groups, narrow ones before wide ones.
* ``errors``: how wrong it was, on jobs that it had not seen: coverage, pinball loss, relative error.

Everything is immutable and a function of what was learned, in its order.
"""
