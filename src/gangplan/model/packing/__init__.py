"""From decisions to places: what is free, filling it, binding counts to nodes, and the plan."""
