"""Who decides where nobody is named: one name for command line and service, read without the engine."""

from __future__ import annotations

DEFAULT_POLICY = "tracking"
