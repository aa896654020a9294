"""A test process that dies tells how it ended."""

from __future__ import annotations

import pytest
from tests.crashes import how_it_ended


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (None, "ended, it is not known how"),
        (0, "ended with exit code 0"),
        (7, "ended with exit code 7"),
        (-11, "was ended by SIGSEGV"),
        (-9, "was ended by SIGKILL"),
        (-1000, "was ended by signal 1000"),
    ],
)
def test_how_a_process_ended_in_words(code: int | None, words: str) -> None:
    assert how_it_ended(code) == words
