"""Policies on published workloads: who is better in whose measure, on the clusters of the papers.

``workloads`` makes histories of data sets by name, ``measure`` a row of one policy on one of them.
"""
