"""Who asks after one finding of the checks gets what all of them say under its rule."""

from __future__ import annotations

import random

from envdoctor.checks import FACT_CHECKS, hits_of_rule
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact

PACKAGES = {
    "torch": ("2.0.1", "2.3.1", "2.6.0"),
    "transformers": ("4.31.0", "4.40.2", "4.51.3"),
    "peft": ("0.5.0", "0.10.0", "0.15.2"),
    "accelerate": ("0.21.0", "0.34.2", "1.1.1"),
    "trl": ("0.7.4", "0.12.2"),
    "numpy": ("1.24.4", "2.1.3"),
    "tokenizers": ("0.13.3", "0.19.1"),
    "huggingface-hub": ("0.16.4", "0.25.2"),
}


def _stack(draw: random.Random) -> Facts:
    facts = {f"packages.{name}": draw.choice(releases) for name, releases in sorted(PACKAGES.items()) if draw.random() < 0.7}
    origins = (Origin("stated"), Origin("requirements", "requirements.txt", 3))
    origin = draw.choice(origins)
    return Facts({name: Fact(name, exact(release), origin) for name, release in facts.items()}, closed=draw.random() < 0.3)


def test_one_rule_asked_for_is_what_all_checks_say_under_it() -> None:
    draw, seen = random.Random(7), set()
    for _ in range(40):
        facts = _stack(draw)
        said = [hit for check in FACT_CHECKS for hit in check(facts)]
        for rule in {hit.rule for hit in said}:
            seen.add(rule)
            assert list(hits_of_rule(rule, facts)) == [hit for hit in said if hit.rule == rule]
    assert {"requirements-contradict", "declared-requirement-unmet", "transformers-refuses-at-import"} <= seen
