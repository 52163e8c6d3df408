"""What to state where a fact is missing: always something that `--set` takes."""

from __future__ import annotations

import pytest

from envdoctor.engine.suggestions import suggest
from envdoctor.facts.fact import NotUnderstood
from envdoctor.facts.values import parse_value
from envdoctor.facts.vocabulary import TERMS
from envdoctor.rules.conditions import parse_condition


def releases(package: str) -> tuple[str, ...]:
    return ("2.5.0", "2.6.0") if package == "torch" else ()


@pytest.mark.parametrize("name", [term.name for term in TERMS if "*" not in term.name and not term.quiet])
def test_what_a_check_waits_for_has_a_value_to_put_right(name: str) -> None:
    (told,) = suggest(None, (name,), releases)
    given, _, value = told.partition("=")
    assert given == name
    assert not isinstance(parse_value(name, value), NotUnderstood)


def test_of_a_package_it_is_the_newest_release() -> None:
    assert suggest(None, ("packages.torch",), releases) == ("packages.torch=2.6.0",)


def test_of_several_frameworks_it_is_one_whose_package_is_stated() -> None:
    condition = parse_condition({"any": [{"plan.trainer": "ms-swift", "plan.packing": True}, {"plan.trainer": ["axolotl", "trl"]}]})
    assert suggest(condition, ("plan.trainer",), releases) == ("plan.trainer=ms-swift",)
    assert suggest(condition, ("plan.trainer",), releases, {"packages.trl"}) == ("plan.trainer=trl",)


def test_a_number_below_a_small_bound_stays_above_zero() -> None:
    assert suggest(parse_condition({"plan.optimizer_eps": "<6e-8"}), ("plan.optimizer_eps",), releases) == ("plan.optimizer_eps=3e-08",)
    assert suggest(parse_condition({"plan.batch_size": "<4"}), ("plan.batch_size",), releases) == ("plan.batch_size=3",)
