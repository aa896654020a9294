"""Files that a verb writes when all is done: whether they can be, before anything is."""

from __future__ import annotations

import os
from pathlib import Path

from gangplan.errors import FieldViolation, InvalidInputError


def check_places(*, makes_folders: bool = False, **places: Path | None) -> None:
    """Refuse files that cannot be written where they are wanted.

    Args:
        makes_folders: folders on the way that are not there are made.
        places: the files by the option that names them, ``jobs_parquet`` for ``--jobs-parquet``; None: none.

    Raises:
        InvalidInputError: every file that cannot be written, by its option.
    """
    wrong = [
        FieldViolation(f"--{option.replace('_', '-')}", reason)
        for option, path in places.items()
        if path is not None and (reason := _refused(path, makes_folders=makes_folders))
    ]
    if wrong:
        raise InvalidInputError(wrong)


def _refused(path: Path, *, makes_folders: bool) -> str:
    """Why no file can be written there; empty: it can."""
    if path.is_dir():
        return f"{path} is a folder: name a file in it"
    folder = path.parent
    if makes_folders:
        folder = next(each for each in path.parents if each.exists())
    if not folder.exists():
        return f"{path} cannot be written: there is no folder {folder}"
    if not folder.is_dir():
        return f"{path} cannot be written: {folder} is no folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{path} cannot be written: nothing may be written in {folder}"
    return ""
