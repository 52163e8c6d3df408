"""Hashes memory-mapped files, in a process of its own.

A mapped page that cannot be had any more (the file was cut, the disk failed) ends a process with SIGBUS, and Python cannot
prevent it. So nothing but this process maps files; whoever asked it then reads the file instead. It runs with the standard
library alone and without ``site``.

A request is a line: device, inode, size, mtime and ctime in nanoseconds, the path in hexadecimal. The answer is any number
of lines with the bytes hashed so far, and then ``=`` and the sha256, or ``-`` where the file cannot be mapped, or is not, or
not until the end, in the state that the request tells.
"""

from __future__ import annotations

import hashlib
import mmap
import os

TYPE_CHECKING = False  # typing itself takes a while to import
if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW = 64 << 20  # bytes mapped at once: bounds resident memory, and what is hashed before progress is told


def serve() -> None:
    """Answer requests from standard input on standard output, until it ends."""
    with open(0, "rb") as requests:
        for request in requests:
            *state, path = request.split()
            digest = mapped_sha256(bytes.fromhex(path.decode()), tuple(map(int, state)), lambda done: _say(b"%d" % done))
            _say(b"-" if digest is None else b"=" + digest.encode())


def mapped_sha256(path: bytes, state: tuple[int, ...], reach: Callable[[int], None]) -> str | None:
    """The sha256 of the file while it stays in that state (device, inode, size, mtime_ns, ctime_ns), or None."""
    size = state[2]
    sha256 = hashlib.sha256()
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            for start in range(0, size, WINDOW):
                if _state(fd) != state:
                    return None
                length = min(WINDOW, size - start)
                with mmap.mmap(fd, length, access=mmap.ACCESS_READ, offset=start) as window:
                    sha256.update(window)
                reach(start + length)
            return sha256.hexdigest() if _state(fd) == state else None
        finally:
            os.close(fd)
    except (OSError, ValueError, OverflowError):
        return None


def _state(fd: int) -> tuple[int, ...]:
    stat = os.fstat(fd)
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _say(line: bytes) -> None:
    os.write(1, line + b"\n")


def _leave_no_core() -> None:
    import resource  # not on every system

    # 1 and not 0: zero does not keep Linux from piping the memory to a crash handler.
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))


if __name__ == "__main__":
    try:
        _leave_no_core()
        serve()
    except (KeyboardInterrupt, BrokenPipeError):
        pass
