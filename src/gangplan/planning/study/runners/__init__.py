"""Where the simulations of a study run: one place a file.

Each has ``run(base, tasks, seconds)``, an iterator of the outcome of every task as they come, in any order;
closing it ends what runs.
"""
