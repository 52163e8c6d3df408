"""The walk over sets of changes: cheapest first, no set missed, cut where it was told to be, and how little it has to look at."""

from __future__ import annotations

from itertools import pairwise

import pytest

from envdoctor.remedies.search import MOST_REMEDIES, _Search
from envdoctor.remedies.walk import Set, Walk
from tests.remedies.test_search_exact import World, world

# Invented situations, always the same ones: with findings that pins clear, in more ways than one.
WORLDS = [world(number) for number in (1, 3, 5, 9, 12, 36, 37, 54, 308, 344)]
MANY = 10**6


def walk_of(one: World) -> Walk:
    wanted = [found for found in one.findings() if found.status == "matched" and found.severity != "note"]
    return _Search(one.problem(), wanted, strict=True, most=MOST_REMEDIES)._walk


def looked_at(one: World, *, most: int, further: int) -> tuple[list[Set | None], int]:
    """What is found, and how many sets had to be looked at for it."""
    walk = walk_of(one)
    return list(walk.sets(most=most, further=further)), walk.looked_at


@pytest.mark.parametrize("number", range(len(WORLDS)))
def test_sets_come_in_the_order_of_their_cost_until_there_are_no_more(number: int) -> None:
    found, _ = looked_at(WORLDS[number], most=MANY, further=MANY)
    costs = [one.cost for one in found if one is not None]
    assert len(costs) == len(found) > 1
    assert all(before <= after for before, after in pairwise(costs))
    assert all(one is None or len(one.left) == one.cost[0] + one.cost[1] for one in found)


@pytest.mark.parametrize("number", range(len(WORLDS)))
def test_a_walk_that_is_cut_tells_the_same_sets_and_that_it_was_cut(number: int) -> None:
    whole, every = looked_at(WORLDS[number], most=MANY, further=MANY)
    assert looked_at(WORLDS[number], most=every, further=MANY) == (whole, every)
    for most in range(1, every):
        found, looked = looked_at(WORLDS[number], most=most, further=MANY)
        assert looked == most + 1
        assert found[-1] is None
        assert found[:-1] == whole[: len(found) - 1]


@pytest.mark.parametrize("number", range(len(WORLDS)))
def test_sets_that_cost_more_than_the_first_are_looked_for_no_further_than_was_said(number: int) -> None:
    whole, every = looked_at(WORLDS[number], most=MANY, further=MANY)
    assert whole[0] is not None
    ties = [one for one in whole if one is not None and one.cost == whole[0].cost]
    found, looked = looked_at(WORLDS[number], most=MANY, further=0)
    assert (found[:-1], found[-1]) == (ties, None)
    more, further = looked_at(WORLDS[number], most=MANY, further=2)
    assert further == min(looked + 2, every)
    assert more == (whole if further == every and more[-1] is not None else [*whole[: len(more) - 1], None])


def test_what_can_not_help_is_not_looked_at() -> None:
    """A bound on what is left to do, and releases that change nothing, keep the walk short: without either it is longer."""
    assert sum(looked_at(world(number), most=MANY, further=0)[1] for number in range(60)) <= 172
