"""Public traces: one file per format."""
