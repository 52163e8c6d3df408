"""Questions to the file system that answer instead of failing, also of names too long, with NUL, in no encoding, or out of bounds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

Place: TypeAlias = "str | os.PathLike[str]"


def is_dir(path: Place) -> bool:
    """Whether a directory is there, links followed."""
    return os.path.isdir(path)


def is_file(path: Place) -> bool:
    """Whether a regular file is there, links followed."""
    return os.path.isfile(path)


def exists(path: Place) -> bool:
    """Whether anything is there, links followed."""
    try:
        return os.path.exists(path)
    except (OSError, ValueError):
        return False


def is_link(path: Place) -> bool:
    """Whether a symbolic link is there."""
    return os.path.islink(path)


def real_path(path: Place) -> Path:
    """The path with its links followed as far as they can be; as it is, where nothing can be said of it."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(path)


def working_directory() -> Path:
    """The directory of this process; the root of the file system where it was removed: nothing lies below it by chance."""
    try:
        return Path(os.getcwd())
    except OSError:
        return Path(os.path.sep)


def absolute(path: Place) -> str:
    """The path from the root on."""
    return os.path.normpath(os.path.join(working_directory(), path))


def why_missing(path: Place) -> str:
    """Why nothing can be read at a path, in a few words."""
    try:
        os.stat(path)
    except OSError as error:
        return (error.strerror or type(error).__name__).lower()
    except ValueError:
        return "a name that no file can have"
    return "no permission" if not os.access(path, os.R_OK) else "something else"
