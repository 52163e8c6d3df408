"""Probes run one after the other, and on a terminal how far the one that runs is."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from envdoctor.facts.fact import Facts
    from envdoctor.probes.verdict import Verdict

VARY_SECONDS = 60.0
"""What finding a cure of a confirmed fault may cost, in seconds a probe."""
_CLEAR = "\r\x1b[K"


def run_probes(names: Sequence[str], interpreter: Path | None, facts: Facts, *, trust: bool) -> dict[str, Verdict]:
    """Each named probe's verdict, in that order."""
    from envdoctor.probes.registry import PROBES, run_probe

    verdicts = {}
    for number, name in enumerate(names, start=1):
        with shown(f"probe {number}/{len(names)} {name}", PROBES[name].cost) as told:
            verdicts[name] = run_probe(name, interpreter, facts, vary_seconds=VARY_SECONDS, trust=trust, told=told)
    return verdicts


@contextmanager
def shown(subject: str, cost: str) -> Iterator[Callable[[str], None] | None]:
    """What to tell of a probe's stages while it runs: one line that is written anew and leaves nothing; None where nobody watches."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    started, last = time.monotonic(), ""

    def tell(stage: str) -> None:
        nonlocal last
        seconds = int(time.monotonic() - started)
        line = f"{subject}: {stage}, {seconds} s" if stage else f"{subject} (takes {cost})"
        line = line[: shutil.get_terminal_size().columns - 1]
        if line != last:
            sys.stderr.write(_CLEAR + line)
            sys.stderr.flush()
            last = line

    tell("")
    try:
        yield tell
    finally:
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()
