"""The other side: judges a plan from the round and the plan alone."""
