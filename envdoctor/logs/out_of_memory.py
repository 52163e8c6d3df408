"""What an out-of-memory error of torch tells: whether it is fragmentation, who holds the memory, and where the program was.

torch proposes another allocator setting after every such error, whatever its numbers say. They say more: what was asked for, what
the card has, what tensors hold, what the allocator keeps without use, and what is not this process's. Each verdict is told as a line
of its own, which rules have as symptoms; so are the functions and the source lines of the traceback that the error ends.

Formats: c10/cuda/CUDACachingAllocator.cpp of torch 1.0 to 2.0 ("GPU 0; 23.64 GiB total capacity; ...") and of 2.1 and later
("GPU 0 has a total capacity of 79.35 GiB of which ..."). Up to 1.3 the last number is "cached": what is reserved without use, where
later releases tell all that is reserved. torch_npu keeps the older form with a number more, and Intel's GPUs tell nothing of what is free.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from envdoctor.records import dataclass
from envdoctor.world.gpus import find_gpu, parse_gpu

PREFIX = "gpu out of memory"
LARGER = f"{PREFIX}: one request is larger than the whole gpu"
FOREIGN = f"{PREFIX}: much of the gpu is held outside this process"
FRAGMENTED = f"{PREFIX}: enough is reserved, in pieces that are too small"
IN_USE = f"{PREFIX}: full"
ROOM = f"{PREFIX}: more is free than was asked for"

_GIB = 2**30
_UNITS = {"bytes": 1, "kib": 2**10, "mib": 2**20, "gib": _GIB, "tib": 2**40, "pib": 2**50, "eib": 2**60}
_SIZE = r"(\d{1,20}(?:\.\d{1,20})?) ?(bytes|[kmgtpe]ib)"
_ASKED = re.compile(rf"out of memory\. tried to allocate {_SIZE}")
# No tensor has so many bytes: a size that went wrong.
_ABSURD = "tried to allocate more than 1eb memory"
_OLD = re.compile(
    rf"{_SIZE} total capacity; {_SIZE} already allocated; (?:{_SIZE} current active; )?(?:{_SIZE} free; )?(?:{_SIZE} allowed; )?"
    rf"{_SIZE} (reserved in total by pytorch|cached)"
)
_CAPACITY = re.compile(rf"total capaci?ty of {_SIZE}(?: of which {_SIZE} is free)?")
_OWN = re.compile(rf"this process has {_SIZE} memory in use")
_HELD = re.compile(rf"of the allocated memory {_SIZE} is allocated by pytorch")
_IDLE = re.compile(rf"{_SIZE} is reserved by pytorch but unallocated")
_FRAME = re.compile(r"(?:file '[^']{1,1000}', line \d{1,9}, in |[\w./\\ -]{1,1000}\.py:\d{1,9} in )([\w.<>]{1,100})")
_MODELING = re.compile(r"[/\\]modeling_(\w{1,60})\.py\b")
_FRAMED = re.compile("[│|]")
_TRACEBACK = "traceback (most recent call last)"
_RANK = re.compile(r"^\[rank\d{1,6}\]: ?")

# A CUDA context and what NCCL and kernels allocate beside torch; more than this, where torch does not tell its own process's share.
_CONTEXT = 2 * _GIB
# The numbers of the message are taken at different moments, and rounded.
_SLACK = 256 * 2**20
# Below this share of the card, what is reserved without use is what any run that fills a card has.
_SHARE = 0.1
# A card that is sold with 24 GB tells torch 23.6 GiB, one with 80 GB 79.2 GiB, and one with 16 GB and error correction 14.8 GiB.
_AS_SOLD = 0.1
_MOST_FRAMES = 100
_LONGEST_SOURCE = 200
# A narrow terminal breaks the message; it goes on for no more lines than this.
_MOST_LINES = 8


@dataclass(frozen=True, slots=True)
class Account:
    """The numbers of one message, in bytes. ``free`` and ``own``, what the process holds in all, where torch told them."""

    asked: float
    total: float
    free: float | None
    allocated: float
    idle: float
    own: float | None = None

    def verdict(self) -> str | None:
        """Which of the five the numbers show; None where they do not tell who has the memory."""
        if self.asked > self.total:
            return LARGER
        if self.free is None:
            return None if self.total - self.allocated > self.asked + _SLACK else IN_USE
        if self.free > self.asked + _SLACK:
            return ROOM
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
        total, allocated, last = (_bytes(old[at], old[at + 1]) for at in (1, 3, 11))
        idle = last if old[13] == "cached" else max(last - allocated, 0.0)
        return Account(_bytes(asked[1], asked[2]), total, None if old[7] is None else _bytes(old[7], old[8]), allocated, idle)
    capacity, held, unused = _CAPACITY.search(message), _HELD.search(message), _IDLE.search(message)
    if capacity is not None and _bytes(asked[1], asked[2]) > (whole := _bytes(capacity[1], capacity[2])):
        # No more of the message is needed for that; who pastes it often leaves the rest out.
        return Account(_bytes(asked[1], asked[2]), whole, None, 0.0, 0.0)
    if capacity is None or held is None or unused is None:
        return None
    own = _OWN.search(message)
    total, allocated, idle = (_bytes(found[1], found[2]) for found in (capacity, held, unused))
    return Account(
        _bytes(asked[1], asked[2]),
        total,
        None if capacity[3] is None else _bytes(capacity[3], capacity[4]),
        allocated,
        idle,
        None if own is None else _bytes(own[1], own[2]),
    )


def _bytes(number: str, unit: str) -> float:
    return float(number) * _UNITS[unit]


def fit_command(short: Account | None, model: str | None, gpu: str | None, count: int | None) -> str:
    """The command line of ``envdoctor fit`` for the card of a message: what nobody stated is named in capitals.

    A GPU is named unless the message tells another memory than it has.
    """
    total = None if short is None else round(short.total / _GIB, 2)
    name, known = ("", None) if gpu is None else (parse_gpu(gpu)[0], find_gpu(gpu))
    words = ["envdoctor", "fit", "MODEL" if model is None else model, "--plan", "PLAN"]
    if known is not None and known.memory_gib is not None and (total is None or abs(known.memory_gib - total) <= _AS_SOLD * total):
        words += ["--gpu", name if count is None or count < 2 else f"{name} x{count}"]
    elif total is None:
        words += ["--gpu", "GPU"]
    return shlex.join(words if total is None else [*words, "--set", f"gpu.memory_gib={total:g}"])


class OutOfMemory:
    """Reads a log line by line, each as ``plain_line`` makes it, in bounded memory.

    ``too_small`` is the first message that says that this process needs more than the card has, or nearly has by itself.
    """

    def __init__(self) -> None:
        self.too_small: Account | None = None
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
        absurd = verdict is None and _ABSURD in self._message
        if absurd:
            yield LARGER
        if self.too_small is None and verdict in (IN_USE, LARGER):
            self.too_small = found
        if found is not None or absurd or self._lines >= _MOST_LINES or len(self._message) > 4000:
            self._message, self._lines = "", 0

    def _walk(self, line: str) -> None:
        if _TRACEBACK in line:
            self._frames, self._source_next = {}, False
            return
        if ".py" in line and (frame := _FRAME.search(line)) is not None:
            self._source_next = "', line " in line
            self._keep(f"in {frame[1]}")
            if (model := _MODELING.search(line)) is not None:
                self._keep(f"in the code of {model[1]}")
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
