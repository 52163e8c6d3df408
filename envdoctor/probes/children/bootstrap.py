"""First code of every probe's child: limits, the private pipe, then the probe's own ``run``.

``python bootstrap.py SETTINGS``, where SETTINGS is a JSON file with ``script``, ``params``,
``result`` (file descriptor; on Windows a handle), ``memory_bytes`` and ``timeout`` (seconds).
The script defines ``run(params, stage) -> measured``. JSON lines go to the pipe:
``{"stage": ...}`` any number of times, then one ``{"measured": ...}`` or ``{"error": ...}``.
Standard input is the parent's lifeline: when it closes, this process group ends.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType


def main() -> None:
    # The script's directory is no place for the patient's imports to come from.
    if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]
    with open(sys.argv[1], encoding="utf-8") as stream:
        settings = json.load(stream)
    _end_with_parent(settings["timeout"])
    _limit(settings["memory_bytes"])
    emit = _pipe(settings["result"])

    def report(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        module = error.name if isinstance(error, ImportError) else None
        emit({"error": {"type": kind.__name__, "message": str(error)[:4000], "import": isinstance(error, ImportError), "module": module}})
        sys.__excepthook__(kind, error, traceback)

    sys.excepthook = report
    measured = runpy.run_path(settings["script"])["run"](settings["params"], lambda name: emit({"stage": name}))
    emit({"measured": measured})
    sys.stdout.flush()
    # Libraries that crash or wait at interpreter exit cannot undo what was measured.
    os._exit(0)


def _pipe(result: int) -> Callable[[dict[str, Any]], None]:
    """The function that writes one message to the parent, from this process only and not from its forks."""
    if sys.platform == "win32":
        import msvcrt

        result = msvcrt.open_osfhandle(result, os.O_WRONLY)
    os.set_inheritable(result, False)
    owner = os.getpid()

    def emit(message: dict[str, Any]) -> None:
        if os.getpid() != owner:
            return
        line = json.dumps(message, allow_nan=False).encode("ascii") + b"\n"
        while line:
            line = line[os.write(result, line) :]

    return emit


def _limit(memory_bytes: int | None) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes is not None:
        # Not RLIMIT_AS: CUDA reserves hundreds of GiB of addresses that it never touches. RLIMIT_DATA counts, from
        # Linux 4.7 on, private memory that may be written, which is what an allocation that runs away takes.
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        cap = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (cap, hard))


def _end_with_parent(timeout: float) -> None:
    """End when the parent does, however it ended: by the lifeline, and by an alarm where a C loop keeps every thread from running."""
    lifeline = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if hasattr(signal, "alarm"):
        signal.alarm(int(timeout) + 10)

    def wait() -> None:
        os.read(lifeline, 1)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    main()
