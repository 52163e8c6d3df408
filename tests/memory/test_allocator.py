"""The model of CUDA's caching allocator: known requests, and laws that hold for every sequence of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.memory.children.allocator import ROUND, SMALL, SMALL_SEGMENT, Allocator, Block, rounded, segment_size

MIB = 1 << 20
SIZES = st.one_of(st.integers(1, 4096), st.integers(1, 2 * MIB), st.integers(1, 200 * MIB))


@pytest.mark.parametrize(
    ("size", "allocated", "reserved"),
    [
        (1, 512, 2 * MIB),
        (512, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
        # Asked for with a segment of its own, whose rest is too small to be split off.
        (10 * MIB, 10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB, 12 * MIB),
        (11 * MIB - 512, 11 * MIB - 512, 12 * MIB),
        (100 * MIB, 100 * MIB, 100 * MIB),
    ],
)
def test_one_request(size: int, allocated: int, reserved: int) -> None:
    allocator = Allocator()
    allocator.allocate(size)
    assert (allocator.allocated, allocator.reserved) == (allocated, reserved)


def test_a_freed_block_is_used_again_and_split() -> None:
    allocator = Allocator()
    first = allocator.allocate(100 * MIB)
    allocator.release(first)
    parts = [allocator.allocate(50 * MIB), allocator.allocate(50 * MIB)]
    assert (allocator.allocated, allocator.reserved) == (100 * MIB, 100 * MIB)
    for part in parts:
        allocator.release(part)
    allocator.allocate(100 * MIB)
    assert allocator.reserved == 100 * MIB


def test_the_smallest_block_that_holds_a_request_is_taken() -> None:
    allocator = Allocator()
    large, small = allocator.allocate(100 * MIB), allocator.allocate(40 * MIB)
    allocator.release(large)
    allocator.release(small)
    allocator.allocate(38 * MIB)
    allocator.allocate(100 * MIB)
    assert allocator.reserved == 140 * MIB


def test_a_block_between_two_others_leaves_a_hole() -> None:
    allocator = Allocator()
    allocator.release(allocator.allocate(90 * MIB))
    _, middle, _ = [allocator.allocate(30 * MIB) for _ in range(3)]
    allocator.release(middle)
    allocator.allocate(31 * MIB)
    assert (allocator.allocated, allocator.reserved) == (92 * MIB, 122 * MIB)


@given(SIZES)
def test_rounding(size: int) -> None:
    assert rounded(size) % ROUND == 0
    assert size <= rounded(size) < size + ROUND
    assert segment_size(rounded(size)) >= rounded(size)
    assert segment_size(rounded(size)) % SMALL_SEGMENT == 0
    assert (segment_size(rounded(size)) == SMALL_SEGMENT) == (rounded(size) <= SMALL)


@given(st.lists(st.tuples(SIZES, st.booleans(), st.integers(0, 1 << 30)), max_size=60))
def test_no_sequence_takes_more_than_is_reserved_or_gives_memory_twice(steps: list[tuple[int, bool, int]]) -> None:
    allocator = Allocator()
    held: list[tuple[int, Block]] = []
    asked: list[tuple[int, Block]] = []
    most = 0
    for size, freed, which in steps:
        if freed and held:
            allocator.release(held.pop(which % len(held))[1])
        else:
            held.append((size, allocator.allocate(size)))
            asked.append(held[-1])
        most = max(most, allocator.allocated)
        assert allocator.allocated == sum(block.size for _, block in held) <= allocator.reserved
        assert all(rounded(size) <= block.size <= rounded(size) + SMALL for size, block in held)
        places = sorted((block.address, block.address + block.size) for _, block in held)
        assert all(end <= start for (_, end), (start, _) in pairwise(places))
    assert allocator.most_allocated == most
    reserved = allocator.reserved
    for _, block in held:
        allocator.release(block)
    assert allocator.allocated == 0
    # All is joined again: whatever was asked for once is there.
    for size, _ in asked:
        allocator.release(allocator.allocate(size))
    assert (allocator.allocated, allocator.reserved) == (0, allocator.most_reserved)
    assert allocator.most_reserved == reserved
