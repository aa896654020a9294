"""What runs a round: budget, solver processes, and the one screen that ties it together."""
