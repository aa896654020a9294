"""The integer programme: columns, rows, a plan as column values, and what row prices prove."""
