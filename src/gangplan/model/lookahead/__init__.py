"""The look-ahead: a fluid plan over coarse time for all jobs, and what it says of this round (decision 31).

In the order of a look-ahead: time in ``buckets``; jobs in ``crowd``, alike ones together; what fits at a
time, by block size, in ``room``; all of it as a linear programme in ``fluid``; its solution handed out to
single jobs in ``service``; what these targets are worth in ``worth``;
gangs for which something must be kept in ``reserve``; and the ``outlook`` made of
it, with what earlier ones still owe. Whether one more job can be let in is asked in ``admission`` of the same
programme.
"""
