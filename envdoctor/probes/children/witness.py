"""The lines of Python that computed findings are shown by, each in a process of its own.

What is measured, by line: ``status`` of its process (negative for a signal), ``timed_out``, and ``said``, its last words.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

WORDS = 500
# A process that leaves this way was ended by an exception: another status may be anything.
RUN = "import sys, warnings; warnings.simplefilter('ignore'); exec(compile(sys.argv.pop(1), '<witness>', 'exec'), {'__name__': '__main__'})"


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    versions = {"python": platform.python_version()}
    for name in params["packages"]:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    measured: dict[str, Any] = {"versions": versions, "about": params["about"], "lines": {}}
    until = time.monotonic() + float(params["seconds"])
    for line in params["lines"]:
        stage("running " + line)
        measured["lines"][line] = alone(line, min(float(params["seconds_each"]), max(0.1, until - time.monotonic())))
    return measured


def alone(line: str, seconds: float) -> dict[str, Any]:
    """One line in a child of this child: what an import left half loaded would be another import's fault."""
    said = os.path.abspath("witness.out")
    with open(said, "wb") as output:
        command = [sys.executable, "-c", RUN, line]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output) as process:
            try:
                process.wait(timeout=seconds)
                timed_out = False
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                timed_out = True
    with open(said, encoding="utf-8", errors="replace") as output_again:
        words = [text.strip() for text in output_again if text.strip() and not text.startswith(" ")]
    return {"status": process.returncode, "timed_out": timed_out, "said": (words[-1] if words else "")[:WORDS]}
