"""Figures that papers publish, run again: the same jobs, cluster and policy, their figure beside ours.

A setting is one file of this folder, found by scanning it: ``NAME``, ``PAPER``, ``FIGURES`` by policy and
measure, ``prepare`` (the history and how it is played, from a folder of data, by the parts of the instance's
name) and ``measures``. :mod:`~gangplan.bench.published.measure` plays it and writes a row for each figure.
"""
