"""Who is told how far long work is: the one that asked, through these; nobody, where it asked for none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

from envdoctor.records import dataclass

Bytes: TypeAlias = "Callable[[int], AbstractContextManager[Callable[[int], None] | None]]"
Stages: TypeAlias = "Callable[[str, str], AbstractContextManager[Callable[[str], None] | None]]"
Waiting: TypeAlias = "Callable[[str], AbstractContextManager[None]]"


def _ignore_bytes(total: int) -> AbstractContextManager[Callable[[int], None] | None]:
    return nullcontext()


def _ignore_stages(subject: str, cost: str) -> AbstractContextManager[Callable[[str], None] | None]:
    return nullcontext()


def _ignore_wait(what: str) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Watch:
    """``hashing`` takes a total in bytes and gives what to tell of each piece; ``stages`` takes a subject and what it costs, and gives
    what to tell of each stage; ``waiting`` takes what is waited for. Each is a context for the time that the work takes.
    """

    hashing: Bytes = _ignore_bytes
    stages: Stages = _ignore_stages
    waiting: Waiting = _ignore_wait
