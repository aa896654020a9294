"""What every test shares: compiled loops, and the Hypothesis profiles.

HYPOTHESIS_PROFILE=deep draws many more examples.
"""

import os

import pytest
from hypothesis import HealthCheck, settings
from tests.crashes import Crashes, note_where_threads_stand

from gangplan.engine.practice import compile_loops

# No deadlines: two busy cores make them flaky. Quick draws the same examples every time, so that who changes
# nothing sees nothing change; fresh draws others (HYPOTHESIS_PROFILE=fresh make test), deep many others.
settings.register_profile("quick", max_examples=32, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("fresh", max_examples=50, deadline=None, print_blob=True)
settings.register_profile(
    "deep",
    max_examples=2_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
os.environ.setdefault("GANGPLAN_SESSIONS", "memory")  # for services of tests' own: no file in the user's home
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_configure(config: pytest.Config) -> None:
    """Tell of test processes that die, where there are more than one."""
    if getattr(config.option, "numprocesses", None):
        config.pluginmanager.register(Crashes())


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the loops in every process that runs tests, before any test's clock runs."""
    note_where_threads_stand(session.config)
    options = session.config.option
    if not options.collectonly and not getattr(options, "numprocesses", None):
        compile_loops()
