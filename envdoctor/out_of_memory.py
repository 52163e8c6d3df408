"""What an out-of-memory error of torch tells: whether it is fragmentation, who holds the memory, and where the program was.

torch proposes another allocator setting after every such error, whatever its numbers say. They say more: what was asked for, what
the card has, what tensors hold, what the allocator keeps without use, and what is not this process's. Each verdict is told as a line
of its own, which rules have as symptoms; so are the functions and the source lines of the traceback that the error ends.

Formats: c10/cuda/CUDACachingAllocator.cpp of torch 1.4 to 2.0 ("GPU 0; 23.64 GiB total capacity; ...") and of 2.1 and later
("GPU 0 has a total capacity of 79.35 GiB of which ...").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

PREFIX = "gpu out of memory"
LARGER = f"{PREFIX}: one request is larger than the whole gpu"
FOREIGN = f"{PREFIX}: much of the gpu is held outside this process"
FRAGMENTED = f"{PREFIX}: enough is reserved, in pieces that are too small"
IN_USE = f"{PREFIX}: full"

_GIB = 2**30
_UNITS = {"bytes": 1, "kib": 2**10, "mib": 2**20, "gib": _GIB, "tib": 2**40, "pib": 2**50, "eib": 2**60}
_SIZE = r"(\d{1,20}(?:\.\d{1,20})?) ?(bytes|[kmgtpe]ib)"
_ASKED = re.compile(rf"out of memory\. tried to allocate {_SIZE}")
_OLD = re.compile(
    rf"{_SIZE} total capacity; (?:{_SIZE} allowed; )?{_SIZE} already allocated; {_SIZE} free; "
    rf"{_SIZE} (?:reserved in total by pytorch|cached)"
)
_CAPACITY = re.compile(rf"total capaci?ty of {_SIZE} of which {_SIZE} is free")
_OWN = re.compile(rf"this process has {_SIZE} memory in use")
_HELD = re.compile(rf"of the allocated memory {_SIZE} is allocated by pytorch")
_IDLE = re.compile(rf"{_SIZE} is reserved by pytorch but unallocated")
_FRAME = re.compile(r"(?:file '[^']{1,1000}', line \d{1,9}, in |[\w./\\ -]{1,1000}\.py:\d{1,9} in )([\w.<>]{1,100})")
_FRAMED = re.compile("[│|]")
_TRACEBACK = "traceback (most recent call last)"
_RANK = re.compile(r"^\[rank\d{1,6}\]: ?")

# A CUDA context and what NCCL and kernels allocate beside torch; more than this, where torch does not tell its own process's share.
_CONTEXT = 2 * _GIB
# The numbers of the message are taken at different moments, and rounded.
_SLACK = 256 * 2**20
# Below this share of the card, what is reserved without use is what any run that fills a card has.
_SHARE = 0.1
_MOST_FRAMES = 100
_LONGEST_SOURCE = 200
# A narrow terminal breaks the message; it goes on for no more lines than this.
_MOST_LINES = 8


@dataclass(frozen=True, slots=True)
class Account:
    """The numbers of one message, in bytes. ``own`` is what the process holds in all, where torch told it."""

    asked: float
    total: float
    free: float
    allocated: float
    idle: float
    own: float | None = None

    def verdict(self) -> str | None:
        """Which of the four the numbers show; None where more is free than was asked for: something else sets a limit."""
        if self.asked > self.total:
            return LARGER
        if self.free > self.asked + _SLACK:
            return None
        foreign = self.total - self.free - (self.allocated + self.idle if self.own is None else self.own)
        if foreign >= max(self.asked, self.total * _SHARE, _CONTEXT):
            return FOREIGN
        if self.idle >= max(self.asked, self.total * _SHARE):
            return FRAGMENTED
        return IN_USE


def account(message: str) -> Account | None:
    """The numbers of a message, in lower case on one line; None where one of those needed is not there."""
    asked = _ASKED.search(message)
    if asked is None:
        return None
    old = _OLD.search(message)
    if old is not None:
        total, allocated, free, reserved = (_bytes(old[at], old[at + 1]) for at in (1, 5, 7, 9))
        return Account(_bytes(asked[1], asked[2]), total, free, allocated, max(reserved - allocated, 0.0))
    capacity, held, idle = _CAPACITY.search(message), _HELD.search(message), _IDLE.search(message)
    if capacity is None or held is None or idle is None:
        return None
    own = _OWN.search(message)
    return Account(
        _bytes(asked[1], asked[2]),
        _bytes(capacity[1], capacity[2]),
        _bytes(capacity[3], capacity[4]),
        _bytes(held[1], held[2]),
        _bytes(idle[1], idle[2]),
        None if own is None else _bytes(own[1], own[2]),
    )


def _bytes(number: str, unit: str) -> float:
    return float(number) * _UNITS[unit]


class OutOfMemory:
    """Reads a log line by line, each as ``plain_line`` makes it, in bounded memory."""

    def __init__(self) -> None:
        self._frames: dict[str, None] = {}
        self._source_next = False
        self._message = ""
        self._lines = 0

    def read(self, line: str) -> Iterator[str]:
        """The verdict of a message that ends with this line, and where the program was."""
        if self._lines and _TRACEBACK not in line:
            self._message += " " + _unframed(line)
            self._lines += 1
        elif _begins(line):
            self._message, self._lines = _unframed(line), 1
            at_once = account(self._message)
            # Who lacks what others hold is not to blame for what it asked.
            if at_once is None or at_once.verdict() != FOREIGN:
                yield from (f"{PREFIX} {frame}" for frame in self._frames)
            self._frames, self._source_next = {}, False
        else:
            self._message, self._lines = "", 0
            self._walk(line)
            return
        found = account(self._message)
        verdict = None if found is None else found.verdict()
        if verdict is not None:
            yield verdict
        if found is not None or self._lines >= _MOST_LINES or len(self._message) > 4000:
            self._message, self._lines = "", 0

    def _walk(self, line: str) -> None:
        if _TRACEBACK in line:
            self._frames, self._source_next = {}, False
            return
        if ".py" in line and (frame := _FRAME.search(line)) is not None:
            self._source_next = "', line " in line
            self._keep(f"in {frame[1]}")
        elif self._source_next or "\u2771" in line:
            self._source_next = False
            self._keep("at " + _source(line))

    def _keep(self, told: str) -> None:
        """Of a deep traceback the inner part counts."""
        if len(told) > 5:
            if len(self._frames) >= _MOST_FRAMES:
                del self._frames[next(iter(self._frames))]
            self._frames[told[:_LONGEST_SOURCE]] = None


def _begins(line: str) -> bool:
    return "out of memory" in line and (
        "out of memory. tried" in line or "cuda error: out of memory" in line or _unframed(line).endswith("out of memory.")
    )


def _unframed(line: str) -> str:
    return " ".join(_RANK.sub("", _FRAMED.sub(" ", line)).split())


def _source(line: str) -> str:
    """The code of a traceback's line, without the arrow, the number and the frame of a rich traceback."""
    return re.sub(r"^\u2771 \d{1,9} ", "", _unframed(line))
