"""Rounds made and studied offline: scenario files, generated instances, simulation, what-if."""
