"""Files written whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.files.paths import real_path
from envdoctor.files.text import plain

_LONGEST_NAME = 50


def write_whole(path: Path, text: str, *, next_step: str, follow: bool = True) -> None:
    """Write a text, so that there is the old file or the new one and never half of either.

    A link stays one and what it leads to is written; where ``follow`` is false the link itself is replaced.

    What is no regular file (a pipe, ``/dev/stdout``) is written to as it is.

    Raises:
        EnvdoctorError: it cannot be written.
    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        if not os.path.isdir(path.parent):  # `x/../file` leads nowhere where there is no x, and is not `file`
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        place = str(real_path(path)) if follow else os.path.join(str(real_path(path.parent)), path.name)
        if os.path.exists(place) and not os.path.isfile(place):
            with open(place, "wb") as stream:
                stream.write(data)
        else:
            _replace(place, data)
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or "a name that no file can have"
        raise EnvdoctorError(plain(str(path), 4096), found=found, expected="a file to write to", next_step=next_step) from error


def _replace(place: str, data: bytes) -> None:
    directory, name = os.path.split(place)
    mode = _mode(place)
    descriptor, part = tempfile.mkstemp(dir=directory, prefix=f".{name[:_LONGEST_NAME]}.", suffix=".new")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(part, mode)
        os.replace(part, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def _mode(place: str) -> int:
    """The mode of the file that is replaced, else what this process gives to new files; there is no call that only asks for that."""
    try:
        return stat.S_IMODE(os.stat(place).st_mode)
    except OSError:
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask
