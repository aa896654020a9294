"""Open-loop load on a service: what it answers in time, what it rejects, and how good its plans stay."""
