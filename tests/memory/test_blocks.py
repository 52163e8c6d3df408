"""What the allocator hands out beyond what was asked for."""

from __future__ import annotations

from envdoctor.facts.fact import FactValue
from envdoctor.memory.blocks import rest
from envdoctor.memory.children.allocator import Allocator
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import Estimate
from envdoctor.memory.fits import verdict
from envdoctor.memory.situation import planned
from tests.memory.models import stated
from tests.memory.test_ia3 import QWEN_3B, RUN

MIB = 2**20


def estimate(**changed: FactValue) -> Estimate:
    facts = {**RUN, "plan.method": "full", "plan.load_dtype": "float32", **{f"plan.{name}": value for name, value in changed.items()}}
    return planned(stated(facts), read_architecture(QWEN_3B)).estimate()


def test_the_rest_of_a_block_is_what_the_allocator_counts_for_a_tensor_of_its_own() -> None:
    for size in (9.5, 10, 10.25, 10.75, 11, 11.5, 21.5, 26.25, 43, 44):
        wanted, allocator = int(size * MIB), Allocator()
        allocator.allocate(wanted)
        counted = allocator.allocated - wanted
        assert rest(wanted) == (counted if size >= 10 else 0), size


def test_a_run_has_them_where_segments_do_not_grow() -> None:
    """11,008 features of 1,024 tokens are 43 MiB of float32, and 44 of a block; 16,384 are 64 of both."""
    odd, even = estimate(fp16=False), estimate(fp16=False, seq_len=512 * 8)
    assert odd.ends > 0
    assert odd.allocated.low < odd.allocated.expected - odd.ends
    assert even.ends / even.allocated.expected < odd.ends / odd.allocated.expected


def test_they_alone_refuse_no_run() -> None:
    found = estimate(fp16=False)
    assert verdict(found, found.allocated.expected + found.beside.low - found.ends / 2).fits == "tight"
    assert verdict(found, found.allocated.expected + found.beside.low - 2 * found.ends).fits == "no"
