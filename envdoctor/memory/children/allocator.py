"""A model of the caching allocator of ``torch.cuda``: how it rounds, splits, keeps and joins blocks. No torch; CPython 3.8+.

Sizes and thresholds are those of ``c10/cuda/CUDACachingAllocator.cpp`` (kMinBlockSize, kSmallSize, kSmallBuffer, kLargeBuffer,
kMinLargeAlloc, kRoundLarge), with its default settings: one stream, no expandable segments, no limit on splitting.
"""

from __future__ import annotations

from bisect import bisect_left, insort

ROUND = 512
SMALL = 1 << 20
SMALL_SEGMENT = 2 << 20
LARGE_SEGMENT = 20 << 20
OWN_SEGMENT = 10 << 20
SEGMENT_ROUND = 2 << 20


class Block:
    """A part of a segment; neighbours of the same segment are linked in the order of their addresses."""

    __slots__ = ("address", "free", "left", "right", "size", "small")

    def __init__(self, address: int, size: int, small: bool) -> None:
        self.address = address
        self.size = size
        self.small = small
        self.free = False
        self.left: Block | None = None
        self.right: Block | None = None


def rounded(size: int) -> int:
    """The bytes of a block for a request of ``size``."""
    return max(ROUND, -(-size // ROUND) * ROUND)


def segment_size(size: int) -> int:
    """The bytes asked of the driver for a block of the rounded ``size``."""
    if size <= SMALL:
        return SMALL_SEGMENT
    if size < OWN_SEGMENT:
        return LARGE_SEGMENT
    return -(-size // SEGMENT_ROUND) * SEGMENT_ROUND


class Allocator:
    """``allocated`` and ``reserved`` bytes now, and the most of each so far."""

    def __init__(self) -> None:
        self.allocated = self.reserved = 0
        self.most_allocated = self.most_reserved = 0
        self._free: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        self._blocks: dict[int, Block] = {}
        self._end = 0

    def allocate(self, size: int) -> Block:
        """A block of at least ``size`` bytes, ``size`` > 0: the smallest free one that holds it, else of a new segment."""
        wanted = rounded(size)
        small = wanted <= SMALL
        free = self._free[small]
        place = bisect_left(free, (wanted, -1))
        if place < len(free):
            block = self._blocks[free.pop(place)[1]]
            block.free = False
        else:
            block = Block(self._end, segment_size(wanted), small)
            self._end += block.size
            self._blocks[block.address] = block
            self.reserved += block.size
            self.most_reserved = max(self.most_reserved, self.reserved)
        rest = block.size - wanted
        if rest >= ROUND if small else rest > SMALL:
            self._split(block, wanted)
        self.allocated += block.size
        self.most_allocated = max(self.most_allocated, self.allocated)
        return block

    def release(self, block: Block) -> None:
        """Take a block back and join it with free neighbours; the segment is kept."""
        self.allocated -= block.size
        block.free = True
        right = block.right
        if right is not None and right.free:
            self._forget(right)
            block.size += right.size
            block.right = right.right
            if block.right is not None:
                block.right.left = block
            del self._blocks[right.address]
        left = block.left
        if left is not None and left.free:
            self._forget(left)
            left.size += block.size
            left.right = block.right
            if left.right is not None:
                left.right.left = left
            del self._blocks[block.address]
            block = left
        insort(self._free[block.small], (block.size, block.address))

    def _split(self, block: Block, size: int) -> None:
        rest = Block(block.address + size, block.size - size, block.small)
        rest.free = True
        rest.left, rest.right = block, block.right
        if rest.right is not None:
            rest.right.left = rest
        block.right = rest
        block.size = size
        self._blocks[rest.address] = rest
        insort(self._free[rest.small], (rest.size, rest.address))

    def _forget(self, block: Block) -> None:
        free = self._free[block.small]
        del free[bisect_left(free, (block.size, block.address))]
