"""Where something stands in a request that holds another one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gangplan.errors import InvalidInputError, UnknownProposerError, UnknownSolverError


@contextlib.contextmanager
def within(path: str) -> Iterator[None]:
    """What is wrong with a message that is itself a field, at ``path``, said where the caller finds it."""
    try:
        yield
    except InvalidInputError as error:
        raise error.placed(lambda field: f"{path}{field}" if field else path.rstrip(".")) from error
    except (UnknownProposerError, UnknownSolverError) as error:
        error.field = f"{path}{error.field}"
        raise
