"""The side of the process that hashes mapped files which can be relied upon."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from envdoctor.hashing.digest import Reach, identity

_CHILD = str(Path(__file__).with_name("mapping_child.py"))


class Mapper:
    """A child process that hashes one mapped file at a time, for one thread; ``kill`` alone may be called from others."""

    def __init__(self) -> None:
        """Start the child.

        Raises:
            OSError: there is no Python to start, or no process to be had.
        """
        if not hasattr(os, "posix_spawn") or not os.path.basename(sys.executable or "").startswith(("python", "pypy")):
            raise FileNotFoundError("no Python interpreter to start")
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self._replies = open(self._answers, "rb")  # noqa: SIM115 - lives as long as the child
        try:
            # Not by subprocess: importing it takes as long as the child takes to start.
            self._pid: int | None = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", _CHILD],
                dict(os.environ),
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, requests, 0),
                    (os.POSIX_SPAWN_DUP2, answers, 1),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
            )
        except OSError:
            self._pid = None
            self._close()
            raise
        finally:
            os.close(requests)
            os.close(answers)
        self._lock = threading.Lock()

    def sha256(self, path: str, stat: os.stat_result, reach: Reach) -> str | None:
        """The sha256 of the file in that state; None where it cannot be mapped, has changed, or was the child's end."""
        state = " ".join(map(str, identity(stat)))
        try:
            os.write(self._requests, f"{state} {os.fsencode(path).hex()}\n".encode())
        except OSError:
            return None
        while answer := self._replies.readline():
            kind, rest = answer[:1], answer[1:].strip().decode("ascii", "replace")
            if kind == b"=":
                return rest if len(rest) == 64 else None
            if not kind.isdigit():
                return None
            reach(int(answer))
        return None

    def kill(self) -> None:
        """End the child at once, in the middle of a file if need be."""
        with self._lock:
            if self._pid is not None:
                os.kill(self._pid, signal.SIGKILL)

    def end(self) -> None:
        """End the child and wait for it."""
        with self._lock:
            pid, self._pid = self._pid, None
            if pid is None:
                return
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self._close()

    def _close(self) -> None:
        os.close(self._requests)
        self._replies.close()
