"""Run in the interpreter of an executed stack: tries an import and writes down what came of it.

    python stack_child.py RESULT < {"package": ..., "module": ..., "names": [...]}     # which names there are, one by one
    python stack_child.py RESULT < {"script": ...}                                     # the script, as a whole

Python 3.8 and nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import types
from typing import Any

MOST_TEXT = 1000
MOST_FRAMES = 5


def place_of(path: str) -> str:
    """A file by what it is called in any environment."""
    path = path.replace("\\", "/")
    for mark in ("/site-packages/", "/dist-packages/"):
        if mark in path:
            return path.rsplit(mark, 1)[1]
    return "python/" + path.rsplit("/lib/python", 1)[1].split("/", 1)[1] if "/lib/python" in path else path.rsplit("/", 1)[-1]


def without_places(text: str) -> str:
    """A message without the directory that the environment lay in."""
    for entry in sorted({path for path in sys.path if path}, key=len, reverse=True):
        text = text.replace(entry.rstrip("/") + "/", "")
    return text.replace(sys.prefix, "<prefix>").replace(sys.base_prefix, "<python>")[:MOST_TEXT]


def frames_of(trace: types.TracebackType | None) -> list[str]:
    ours = ("importlib", "stack_child.py")
    frames = [frame for frame in traceback.extract_tb(trace) if not any(one in frame.filename for one in ours)]
    return [f"{place_of(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames[-MOST_FRAMES:]]


def first_cause(error: BaseException) -> BaseException:
    seen = {id(error)}
    while True:
        before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if before is None or id(before) in seen:
            return error
        seen.add(id(before))
        error = before


def told(error: BaseException) -> dict[str, Any]:
    first = first_cause(error)
    answer: dict[str, Any] = {
        "exception": type(error).__name__,
        "message": without_places(str(error)),
        "frames": frames_of(error.__traceback__),
    }
    if first is not error:
        answer["cause"] = {
            "exception": type(first).__name__,
            "message": without_places(str(first)),
            "frames": frames_of(first.__traceback__),
        }
    return answer


def attempt(script: str) -> dict[str, Any]:
    start = time.monotonic()
    try:
        exec(compile(script, "script.py", "exec"), {"__name__": "__main__"})
    except BaseException as error:  # noqa: BLE001  packages leave by SystemExit, too
        answer = told(error)
    else:
        answer = {}
    answer["seconds"] = round(time.monotonic() - start, 1)
    return answer


def statement(name: str, module: str) -> str:
    inside, _, what = name.rpartition(":")
    return f"from {inside or module} import {what}"


def survey(package: str, module: str, names: list[str]) -> dict[str, Any]:
    """The names that can be imported, and why the others cannot; what the package declares without an extra."""
    answer = attempt("import " + module)
    if "exception" in answer:
        return answer
    from importlib import metadata

    there: list[str] = []
    lacking: dict[str, str] = {}
    for name in names:
        one = attempt(statement(name, module))
        if "exception" in one:
            lacking[name] = "{}: {}".format(one["exception"], one["message"])[:200]
        else:
            there.append(name)
    requires = [line for line in metadata.requires(package) or () if "extra ==" not in line]
    version, python = metadata.version(package), sys.version.split()[0]
    return {"names": there, "lacking": lacking, "requires": requires, "version": version, "python": python}


if __name__ == "__main__":
    # The directory of this file is none of the stack's.
    sys.path[0] = os.getcwd()
    asked = json.load(sys.stdin)
    found = attempt(asked["script"]) if "script" in asked else survey(asked["package"], asked["module"], asked["names"])
    with open(sys.argv[1], "w", encoding="utf-8") as result:
        json.dump(found, result)
