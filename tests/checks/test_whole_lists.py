"""Of whose requirements a list of packages tells that they are missing."""

from __future__ import annotations

import pytest

from envdoctor.checks.stated_together import stated_together
from envdoctor.checks.whole_lists import lacks_few
from envdoctor.checks.withdrawn import withdrawn
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value

WHOLE = {"transformers": "4.38.2", "torch": "2.2.0", "numpy": "1.26.4", "tqdm": "4.66.2", "regex": "2023.12.25", "requests": "2.31.0",
         "packaging": "23.2", "filelock": "3.13.1", "tokenizers": "0.15.2", "huggingface-hub": "0.21.4", "pyyaml": "6.0.1",
         "certifi": "2024.2.2", "idna": "3.6", "charset-normalizer": "3.3.2", "urllib3": "2.2.1", "typing-extensions": "4.10.0",
         "fsspec": "2024.2.0"}  # fmt: skip


def missing(origins: dict[str, str]) -> set[str]:
    """What is missing beside the releases of ``WHOLE``, each from the source that is named for it, safetensors from none."""
    facts = {}
    for name, release in WHOLE.items():
        known = f"packages.{name}"
        facts[known] = Fact(known, parse_value(known, release), Origin(origins.get(name, origins[""])))
    return {hit.packages[1] for hit in stated_together(Facts(facts, closed=True))}


def test_a_freeze_tells_what_it_lacks() -> None:
    assert missing({"": "freeze.txt"}) == {"safetensors"}


def test_a_release_that_is_stated_beside_an_environment_brings_what_it_requires() -> None:
    assert missing({"": "installed in .venv", "transformers": "--set"}) == set()


def test_a_list_that_lacks_much_is_a_part_of_one() -> None:
    names = ("transformers", "torch")
    facts = {f"packages.{name}": Fact(f"packages.{name}", parse_value(f"packages.{name}", WHOLE[name]), Origin("pasted")) for name in names}
    assert stated_together(Facts(facts, closed=True)) == ()


@pytest.mark.parametrize(
    ("absent", "stated", "asking", "whole"),
    [(3, 20, 1, True), (3, 20, 2, False), (3, 20, 0, False), (5, 20, 1, False), (3, 11, 1, False), (2, 20, 2, True)],
)
def test_a_long_list_of_which_one_package_lacks_a_few_was_whole_before_that_one_moved(
    absent: int, stated: int, asking: int, whole: bool
) -> None:
    assert lacks_few(absent, stated, asking=asking) is whole


@pytest.mark.parametrize(("present", "told"), [((), True), (("torch",), True), (("torch", "torchvision"), False)])
def test_what_conda_brings_is_not_held_against_the_index(present: tuple[str, ...], told: bool) -> None:
    pins = {"packages.torch": "1.10.0", "packages.torchvision": "0.11.0"}
    facts = [Fact(name, parse_value(name, release), Origin("facts.toml", "facts.toml", 1)) for name, release in pins.items()]
    facts += [Fact("present", present, Origin("environment.yml"))] if present else []
    known = Facts().with_facts(facts)
    assert bool(stated_together(known)) is told
    assert bool(withdrawn(known)) is ("torchvision" not in present)
