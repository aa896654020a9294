"""Bounds of every number and name on the wire; the comments of the contract state the same figures.

They keep sums over a whole cluster within 64-bit integers and within what a double holds exactly enough.
"""

from __future__ import annotations

NAME_LENGTH = 512
"""Most characters of a name, label or revision."""

LEVELS = 16
"""Most declared topology levels."""

RESERVED_LEVELS = frozenset({"cluster", "node", "numa", "device"})
"""Level names that are always there or kept for levels below the node."""

DEVICES_PER_NODE = 1024
"""Most devices of a node and of a task."""

CPU_MILLI = 10**9
"""Most thousandths of a CPU: a million CPUs."""

MEMORY_BYTES = 2**46
"""Most bytes of memory: 64 TiB, so that 2^16 times as much is still a signed 64-bit integer."""

TASKS = 2**16
"""Most tasks of a group."""

ALLOWED_COUNTS = 1024
"""Most numbers of tasks that an elastic group may choose from."""

QUEUE_DEVICES = 2**40
"""Most devices of a queue limit."""

SECONDS = 100 * 366 * 86_400
"""Longest duration: a hundred years."""

EPOCH_SECONDS = 253_402_300_799
"""Latest time: the end of the year 9999."""

SMALLEST_FACTOR = 1e-9
LARGEST_FACTOR = 1e9
"""Range of speeds and weights that must be positive."""

THROUGHPUT = 1e15
"""Most work units per second."""

WORK = 1e18
"""Most work units."""

PRICE_MICROS = 10**15
"""Highest price of a device for an hour: a billion of the currency."""

SIZE_EXPONENT = 4.0
"""Largest gamma."""

FAIRNESS_POWER = 2.0
"""Largest p (decision 11)."""

DEADLINE_URGENCY = 2.0
"""Largest power of the horizon over the time left until a deadline."""

FREE_KINDS = 256
"""Most kinds of blocks of an outlook that are worth something while they are free."""

FREE_BLOCKS = 64
"""Most of each kind that are wanted free."""

START_ERRORS = 64
"""Most past errors of estimated starts for a class of jobs."""

START_RATIO = 1e6
"""Largest of them; the least is one over it."""

QUANTILES = 256
"""Most quantiles of a distribution."""

PROBABILITY = 0.001
"""Least probability of a quantile, and its distance from 1."""

SEED = 2**31 - 1
"""Largest seed that every solver takes."""

NODE_LIMIT = 2**31 - 1
"""Largest node limit that every solver takes."""

THREADS = 256
"""Most threads."""

PRIORITY = 2**31 - 1
"""Largest absolute class of priority."""

SERVICE = 1e6
"""Most rounds of reference service that an outlook asks for at once."""
TIERS = 16
"""Most tiers of a policy."""
