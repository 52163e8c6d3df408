"""A tree that was parsed for one question, handed on to who reads the same scripts for another: parsing is the dearest part of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envdoctor.sources.scripts.source import Source

_TAKERS: ContextVar[Callable[[Source], None] | None] = ContextVar("takers", default=None)


@contextmanager
def handing_on(take: Callable[[Source], None]) -> Iterator[None]:
    """Give ``take`` every script that is read in here, once its own readers are done with it."""
    before = _TAKERS.set(take)
    try:
        yield
    finally:
        _TAKERS.reset(before)


def hand_on(source: Source) -> None:
    """Give a script to whoever asked for it."""
    take = _TAKERS.get()
    if take is not None:
        take(source)
