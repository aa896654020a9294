"""Traces in a format of our own, into which all public ones convert without losing a column.

A trace is JSON Lines (``.jsonl``, also ``.jsonl.gz``): one record on every line, ``kind`` says which.

1. ``header``, first and once: name, source, licence, what the raw columns are measured in.
2. ``job`` and ``measurement``, in any order: who came when, asked for what and took how long; how fast a
   model is on what.
3. ``end``, last and once: how many of each there are, and what was left out and why. Without it the file is
   cut off.

::

    {"kind":"header","format":"gangplan-trace/v1","name":"muri","reader":"muri","licence":"Apache-2.0"}
    {"kind":"job","id":"0","submit_s":0.0,"groups":[{"tasks":8}],"duration_s":5095.0,"raw":{"job_id":"0"}}
    {"kind":"end","jobs":1}

Times are seconds and count from the trace's own zero (``time_zero`` in the header), memory is bytes, CPU
thousandths. A key that is not there is unknown, or as by default. ``raw`` has the record as its source wrote
it, every column in its own words. The fields are documented in :mod:`~gangplan.planning.trace.records`.

``lines`` reads and writes it record by record, ``ledger`` counts, ``describe`` sums up, ``replay`` makes a
history that can be simulated, with the throughputs that ``speeds`` finds, and ``fit`` draws others like it.
"""
