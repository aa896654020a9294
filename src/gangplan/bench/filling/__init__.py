"""Filling a cluster: pods arrive one by one until they ask for more than there is; nothing leaves or moves.

The published experiment on the openb trace (Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing
Workloads with Fragmentation Gradient Descent", USENIX ATC 2023, section 6): the pods of a list arrive in a
random order, then further ones drawn from the list again, until all together ask for 130 % of the GPUs. What
counts is the percentage of all GPU thousandths that is allocated in the end.

* ``arrivals``: the trace as arrays, and the order in which pods come.
* ``typical``: what pods are expected, and ``peers``: fragmentation gradient descent, best fit and random.
* ``ledger``: whether what a policy did can be, counted anew.
* ``ceiling``: what no packing can exceed, however it is found.
* ``measure``: rows.
"""
