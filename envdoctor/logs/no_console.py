"""None where a stream of the console was expected: sys.stdout and sys.stderr are None in a program without a window.

https://docs.python.org/3/library/sys.html#sys.__stdout__ (pythonw), https://github.com/THU-MIG/yoloe/commit/e5f4f5c
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure

_SAYS = re.compile(r"'NoneType' object has no attribute '(?P<name>encoding|isatty|write|flush|fileno|buffer|reconfigure|writelines)'")
_STREAM = re.compile(r"\bsys\s*\.\s*(?:__)?std(?:out|err|in)\b")
# What is asked of little else.
_OF_STREAMS = frozenset(("encoding", "isatty"))
_NEAREST = 2


def judge_no_console(failure: Failure, around: str) -> Hit | None:
    """Certain where the code near the error names the stream; possible where nothing but the attribute speaks for one."""
    said = _SAYS.search(failure.told)
    if said is None:
        return None
    code = "\n".join((*(frame.text for frame in failure.frames[-_NEAREST:]), failure.near, around if not failure.frames else ""))
    shown = _STREAM.search(code) is not None
    if not shown and (failure.frames or said["name"] not in _OF_STREAMS):
        return None
    return Hit(
        "error-of-the-run",
        True if shown else None,
        detail="so it is under pythonw, in a packaged program without a window, as a service, and in some hosts of plug-ins"
        + ("" if shown else f"; any other None that is asked for {said['name']} says the same, and the line above would tell whose it is"),
        edge="code:the-program-has-no-console-to",
        headline="The program has no console to write to: its sys.stdout or sys.stderr is None",
        advice="python.exe in place of pythonw.exe, a build with a console; or, before everything else is imported, sys.stdout = "
        "sys.stderr = open(os.devnull, 'w') where they are None",
    )
