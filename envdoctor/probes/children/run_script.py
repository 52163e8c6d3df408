"""A script in an interpreter of its own, so that its exit status is measured however it ends.

What is measured: ``status`` (as a shell says it: negative for a signal) and ``output``, the end of
what it wrote to standard output and standard error together.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

TAIL_BYTES = 96 * 1024


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("running the script")
    with open("reproduction.py", "w", encoding="utf-8") as file:
        file.write(params["script"])
    command = [sys.executable, "-u", "reproduction.py"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        output = b""
        if process.stdout is not None:
            while True:
                chunk = process.stdout.read(65536)
                if not chunk:
                    break
                output = (output + chunk)[-TAIL_BYTES:]
    return {"status": process.returncode, "output": output.decode("utf-8", "replace")}
