"""How far long work is: a bar with rate and time left, or a sign of life, on a terminal; nothing elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from envdoctor.app.watch import Watch

# Less than this is done before anybody has looked.
_WORTH_A_BAR = 64 * 2**20
_CLEAR = "\r\x1b[K"


@contextmanager
def hashing(total: int) -> Iterator[Callable[[int], None] | None]:
    """What to tell of bytes as they are hashed, ``total`` in all; None where nobody watches."""
    if total < _WORTH_A_BAR or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("hashing"), BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("hashing", total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A sign of life on a terminal while another program works; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def told_on_stderr() -> Iterator[Callable[[str], None]]:
    """What long work is at: on a terminal one line that is written anew, elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(text)


@contextmanager
def stages(subject: str, cost: str) -> Iterator[Callable[[str], None] | None]:
    """What to tell of a probe's stages while it runs: one line that is written anew and leaves nothing; None where nobody watches."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    import shutil
    import time

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


ON_TERMINAL = Watch(hashing, stages, waiting)
