"""How far long work is: a bar with rate and time left, or a sign of life, on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Less than this is done before anybody has looked.
_WORTH_A_BAR = 64 * 2**20


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
