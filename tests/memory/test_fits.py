"""Whether a plan fits: on what is allocated, with what lies beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.memory.budget import budget, usable_memory, usable_of
from envdoctor.memory.estimate import GIB, Estimate, Moment, Range
from envdoctor.memory.fits import verdict
from envdoctor.records import replace
from envdoctor.world.gpus import find_gpu

ORDER = ("yes", "tight", "no")


def estimate(low: float, expected: float, high: float, *, context: tuple[float, float, float] = (0.5, 0.9, 1.3)) -> Estimate:
    allocated = Range(low * GIB, expected * GIB, high * GIB)
    beside = Range(*(count * GIB for count in context))
    return Estimate("closed-form", (Moment("loss", {"weights": expected * GIB}),), allocated, allocated, beside)


@pytest.mark.parametrize(
    ("figures", "card", "fits"),
    [
        # 74.8 GiB allocated finished on an A100 of 80 GB.
        ((74.8, 74.8, 74.8), 80, "yes"),
        ((71.0, 74.8, 78.5), 80, "tight"),
        ((60.1, 67.4, 70.2), 80, "yes"),
        ((70.0, 79.5, 82.0), 80, "no"),
        # A replica of Llama-2-13B in 16 bits on a card of 24 GB: 24.24 of 23.64 GiB.
        ((24.24, 24.24, 24.24), 24, "no"),
        ((13.0, 13.1, 13.5), 16, "yes"),
        ((25.0, 26.3, 27.5), 16, "no"),
        ((25.0, 26.3, 27.5), 24, "no"),
    ],
)
def test_borders_that_were_seen(figures: tuple[float, float, float], card: float, fits: str) -> None:
    assert verdict(estimate(*figures), usable_of(card) * GIB).fits == fits


def test_a_cache_that_is_expected_to_be_larger_than_the_card_is_tight() -> None:
    roomy = estimate(10, 10.5, 11)
    cached = replace(roomy, reserved=Range(10 * GIB, 23.5 * GIB, 30 * GIB))
    assert verdict(cached, usable_of(24) * GIB).fits == "tight"
    assert verdict(cached, usable_of(32) * GIB).fits == "yes"


def test_without_a_card_nothing_is_judged_and_the_need_is_told() -> None:
    found = verdict(estimate(10, 11, 12), None)
    assert (found.fits, found.memory, found.spare) == ("unknown", None, None)
    assert found.needed.low < 11.9 * GIB < found.needed.high


SIZES = st.floats(0.1, 500)


@given(SIZES, SIZES, SIZES, SIZES, SIZES)
def test_more_memory_or_a_smaller_plan_never_fits_worse(one: float, two: float, three: float, card: float, more: float) -> None:
    low, expected, high = sorted((one, two, three))
    before = verdict(estimate(low, expected, high), card * GIB)
    larger = verdict(estimate(low, expected, high), (card + more) * GIB)
    smaller = verdict(estimate(low / 2, expected / 2, high / 2), card * GIB)
    assert ORDER.index(larger.fits) <= ORDER.index(before.fits)
    assert ORDER.index(smaller.fits) <= ORDER.index(before.fits)
    assert before.needed.low <= before.needed.expected <= before.needed.high
    assert before.spare == pytest.approx(card * GIB - before.needed.expected)


@given(SIZES, SIZES, SIZES, SIZES)
def test_yes_is_only_said_with_room_and_no_only_without(one: float, two: float, three: float, card: float) -> None:
    low, expected, high = sorted((one, two, three))
    fits = verdict(estimate(low, expected, high), card * GIB).fits
    if fits == "yes":
        assert high < card
    if fits == "no":
        assert expected + 0.5 > card


def known(value: object, source: str = "facts.toml") -> Facts:
    assert isinstance(value, (int, float))
    return Facts({"gpu.memory_gib": Fact("gpu.memory_gib", value, Origin(source))})


@pytest.mark.parametrize(
    ("value", "source", "gib"),
    [
        (24, "facts.toml", 23.64),
        (24.0, "known GPU RTX 3090", 23.64),
        (80, "--set", 79.15),
        (23.64, "--set", 23.64),  # as the message of a failed allocation has it
        (79.15, "facts.toml", 79.15),
        (22.49, "nvidia-smi", 22.14),
        (79.65, "known GPU H100", 78.8),
        (0.1, "nvidia-smi", 0.0),
    ],
)
def test_what_torch_may_use_of_a_card(value: float, source: str, gib: float) -> None:
    usable = usable_memory(known(value, source))
    assert usable is not None
    assert usable / GIB == pytest.approx(gib, abs=0.01)


@pytest.mark.parametrize("facts", [Facts(), known(0), known(-8), Facts({"gpu.memory_gib": Fact("gpu.memory_gib", "much", Origin("x"))})])
def test_a_memory_that_is_none_is_not_known(facts: Facts) -> None:
    assert usable_memory(facts) is None


@given(st.floats(0, 300), st.floats(0, 300))
def test_a_larger_card_has_more_to_use_and_never_more_than_it_is_sold_with(one: float, other: float) -> None:
    small, large = sorted((one, other))
    assert 0 <= usable_of(small) <= usable_of(large) <= large


@pytest.mark.parametrize("name", ["RTX 3090", "A100 80GB", "T4", "H100", "L4", "RTX 4090", "V100 32GB"])
def test_known_cards_keep_most_of_what_nvidia_smi_shows(name: str) -> None:
    gpu = find_gpu(name)
    assert gpu is not None
    assert gpu.memory_gib is not None
    assert 0.97 < usable_of(gpu.memory_gib) / gpu.memory_gib < 1


@pytest.mark.parametrize(
    ("maker", "size", "usable", "most"),
    [
        ("apple", 32, 21.3, 26.9),  # 21,845 MB of an M2 Max
        ("apple", 96, 72.0, 80.6),  # 73,728 MB of an M2
        ("apple", 128, 96.0, 107.5),
        ("amd", 288, 287.9, 287.9),
        ("intel", 96, 93.8, 93.8),
        ("huawei", 64, 60.7, 60.7),
    ],
)
def test_what_the_system_recommends_or_keeps_of_other_makes(maker: str, size: float, usable: float, most: float) -> None:
    found = budget(known(size).with_facts([Fact("gpu.vendor", maker, Origin("x"))]))
    assert found is not None
    assert (found.usable / GIB, found.most / GIB) == pytest.approx((usable, most), abs=0.06)


@pytest.mark.parametrize(
    ("name", "size", "usable", "most"),
    [
        ("NVIDIA GB10", 128, 102.0, 113.0),
        ("DGX Spark", 121.69, 102.0, 113.0),  # as torch tells it
        ("NVIDIA GB10", 16, 15.7, 15.7),  # no such board: what is stated counts
        ("NVIDIA GB200", 184, 182.2, 182.2),
    ],
)
def test_of_a_gb10_the_system_and_the_run_itself_take_a_part(name: str, size: float, usable: float, most: float) -> None:
    found = budget(known(size).with_facts([Fact("gpu.name", name, Origin("x"))]))
    assert found is not None
    assert (found.usable / GIB, found.most / GIB) == pytest.approx((usable, most), abs=0.3)


def test_between_what_is_recommended_and_what_can_be_had_is_tight() -> None:
    found = [verdict(estimate(size, size, size), 96 * GIB, 107.5 * GIB).fits for size in (80, 100, 110)]
    assert found == ["yes", "tight", "no"]
