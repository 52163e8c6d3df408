"""A tree that was parsed for one question, handed on to who reads the same scripts for another: parsing is the dearest part of both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from envdoctor.sources.scripts.source import Source


class Taker(Protocol):
    """Who reads scripts that were parsed; what it read of one it can hand to another of its kind, as JSON."""

    def take(self, source: Source) -> None: ...

    def source(self, path: Path) -> Source | None: ...

    def give(self, path: str) -> list[Any] | None: ...

    def put(self, path: str, given: list[Any]) -> None: ...


_TAKERS: ContextVar[Taker | None] = ContextVar("takers", default=None)


@contextmanager
def handing_on(take: Taker) -> Iterator[None]:
    """Give ``take`` every script that is read in here, once its own readers are done with it."""
    before = _TAKERS.set(take)
    try:
        yield
    finally:
        _TAKERS.reset(before)


def taker() -> Taker | None:
    """Who takes the scripts that are read here."""
    return _TAKERS.get()


def hand_on(source: Source) -> None:
    """Give a script to whoever asked for it."""
    take = _TAKERS.get()
    if take is not None:
        take.take(source)
