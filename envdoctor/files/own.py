"""What envdoctor itself has kept: believed only where this user wrote it and nobody else can."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from envdoctor.files.json_file import UnreadableError


def is_own(status: os.stat_result) -> bool:
    """Whether a file is a regular one of this user that nobody else may write."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def read_own(path: str | os.PathLike[str], limit: int) -> bytes:
    """The bytes of a file that envdoctor has kept, at most ``limit``.

    Raises:
        UnreadableError: there is none, it is a link or too large, or somebody else may have written it.
    """
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        with open(os.open(path, flags), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not is_own(status):
                raise UnreadableError("not a file that only this user can write")
            data = stream.read(limit + 1) if status.st_size <= limit else None
    except (OSError, ValueError) as error:
        raise UnreadableError(getattr(error, "strerror", None) or "a name that no file can have") from None
    if data is None or len(data) > limit:
        raise UnreadableError(f"more than the {limit} bytes that are read")
    return data


def remove_left(base: Path, pattern: re.Pattern[str]) -> None:
    """Remove the directories of this user in ``base`` whose names match, and whose first group is the number of a process that is gone."""
    if not hasattr(os, "geteuid"):
        return
    with os.scandir(base) as entries:
        for entry in entries:
            found = pattern.fullmatch(entry.name)
            if found is None or not entry.is_dir(follow_symlinks=False):
                continue
            if entry.stat(follow_symlinks=False).st_uid == os.geteuid() and _is_gone(int(found[1])):
                import shutil

                shutil.rmtree(entry.path, ignore_errors=True)


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
