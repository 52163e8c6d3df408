"""Stated companions outside what a library's extras declare."""

from __future__ import annotations

import pytest

from envdoctor.checks.extras_together import extras_together
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value


def told(source: str = "stated", **packages: str) -> list[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]]:
    stated = {f"packages.{name.replace('_', '-')}": text for name, text in packages.items()}
    facts = Facts({name: Fact(name, parse_value(name, text), Origin(source)) for name, text in stated.items()})
    return [(hit.packages, hit.pins) for hit in extras_together(facts)]


@pytest.mark.parametrize(
    ("packages", "wanted"),
    [
        ({"diffusers": "0.34.0", "peft": "0.12.0"}, ("peft", ">=0.15.0")),
        ({"transformers": "4.30.2", "protobuf": "4.23.3"}, ("protobuf", "<=3.20.3")),
        ({"trl": "0.29.1", "vllm": "0.14.0"}, ("vllm", "<0.13.0,>=0.10.2")),
        # A state of the main branch, which the releases on both sides of it agree about.
        ({"transformers": "4.31.0.dev0", "accelerate": "0.17.1"}, ("accelerate", ">=0.20.3")),
        ({"diffusers": "0.34.0.dev0", "peft": "0.5.0"}, ("peft", ">=0.15.0")),
    ],
)
def test_a_companion_outside_every_extra_is_told(packages: dict[str, str], wanted: tuple[str, str]) -> None:
    assert told(**packages) == [(tuple(name.replace("_", "-") for name in packages), (wanted,))]


def test_what_the_companion_brought_along_goes_back_before_the_companion_moves() -> None:
    ((packages, pins),) = told(torchmetrics="0.8.0", pytorch_lightning="1.3.8")
    assert packages == ("torchmetrics", "pytorch-lightning")
    assert pins == (("torchmetrics", "==0.7.3"), ("pytorch-lightning", ">=1.5"))


@pytest.mark.parametrize(
    "packages",
    [
        {"diffusers": "0.34.0", "peft": "0.15.2"},
        {"diffusers": "0.34.0"},
        # Before or after the floor was raised: nobody knows. And a release that nothing leads to yet.
        {"transformers": "4.31.0.dev0", "accelerate": "0.20.2"},
        {"transformers": "99.0.0.dev0", "accelerate": "0.17.1"},
        {"diffusers": "0.34.0", "peft": ">=0.12"},
        # transformers is required in any case, and what an extra for one backend says besides is another stack's.
        {"optimum": "1.11.0", "transformers": "4.30.0"},
        {"unheard_of": "1.0", "peft": "0.12.0"},
        # Held back by the library's own tests, and used with it by everybody.
        {"trl": "0.9.6", "bitsandbytes": "0.44.1"},
        {"accelerate": "0.31.0", "deepspeed": "0.14.4"},
    ],
)
def test_what_some_extra_admits_or_none_names_is_let_be(packages: dict[str, str]) -> None:
    assert told(**packages) == []


def test_an_installed_stack_is_judged_by_its_own_metadata() -> None:
    assert told("installed", diffusers="0.34.0", peft="0.12.0") == []
