"""Stated releases that a later release of the same package excludes."""

from __future__ import annotations

import pytest

from envdoctor.checks.capped_later import capped_later
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value


def told(source: str = "stated", **packages: str) -> list[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]]:
    stated = {f"packages.{name.replace('_', '-')}": text for name, text in packages.items()}
    facts = Facts({name: Fact(name, parse_value(name, text), Origin(source)) for name, text in stated.items()})
    return [(hit.packages, hit.pins) for hit in capped_later(facts)]


def test_what_the_next_release_with_an_end_asks_for_comes_first() -> None:
    ((packages, pins),) = told(trl="0.9.4", transformers="4.51.3")
    assert packages == ("trl", "transformers")
    assert pins[0] == ("transformers", "<4.47.0")
    assert pins[1][0] == "trl"


@pytest.mark.parametrize(
    ("packages", "cap"),
    [
        ({"wandb": "0.12.7", "protobuf": "4.21.1"}, ("protobuf", "<4.0dev")),
        ({"tensorboard": "2.5.0", "protobuf": "4.22.0"}, ("protobuf", "<3.20")),
        ({"scikit_learn": "1.2.2", "numpy": "2.1.1"}, ("numpy", "<2.0")),
    ],
)
def test_the_end_is_the_one_that_was_declared(packages: dict[str, str], cap: tuple[str, str]) -> None:
    assert [pins[0] for _, pins in told(**packages)] == [cap]


@pytest.mark.parametrize(
    "packages",
    [
        {"trl": "0.9.4", "transformers": "4.46.3"},
        {"trl": "0.13.0", "transformers": "4.51.3"},  # the end was taken back by then
        {"trl": "0.12.2", "transformers": "4.51.3"},  # what is declared is another finding's
        {"trl": "0.9.6", "transformers": "4.51.3", "vllm": "0.10.0"},  # vllm requires transformers>=4.53.2
        {"trl": "0.9.4"},
        {"trl": "0.9.4", "transformers": ">=4.47"},
        {"unheard_of": "1.0", "numpy": "2.1.1"},
    ],
)
def test_what_no_later_release_excludes_is_let_be(packages: dict[str, str]) -> None:
    assert told(**packages) == []


def test_an_installed_stack_is_judged_by_its_own_metadata() -> None:
    assert told("installed", trl="0.9.4", transformers="4.51.3") == []


@pytest.mark.parametrize(
    ("package", "release", "broken"),
    [("tensorboardx", "2.4.1", "4.24.2"), ("tensorflow", "2.6.3", "4.21.7")],
)
def test_a_protobuf_of_the_line_that_the_cap_ends_in_is_let_be(package: str, release: str, broken: str) -> None:
    assert told(**{package: release}, protobuf="3.20.3") == []
    assert [packages for packages, _ in told(**{package: release}, protobuf=broken)] == [(package, "protobuf")]
