"""What an undecided rule says of a situation, by how few runs have what it is about."""

from __future__ import annotations

import pytest

from envdoctor.engine.likelihood import speaks, weigh
from envdoctor.rules.conditions import judged, parse_condition
from envdoctor.world.releases import release_texts
from tests.remedies.universe import stated


@pytest.mark.parametrize(
    ("package", "version", "says"),
    [
        ("deepspeed", "0.15.4", True),
        ("trl", "0.12.0", True),
        ("torch", "2.5.0", False),  # every run of transformers has it
        ("transformers", "4.46.0", False),
        ("pandas", "2.2.3", False),  # many other packages bring it
        ("scipy", "1.14.1", False),
    ],
)
def test_that_a_package_is_there_says_something_where_few_runs_have_it(package: str, version: str, says: bool) -> None:
    condition = parse_condition({"packages": [package], "plan": {"fp16": True}})
    facts = stated({f"packages.{package}": version})
    outcome, lacking = judged(condition, facts, release_texts)
    assert (outcome, lacking) == (None, ("plan.fp16",))
    assert speaks(condition, facts, release_texts, lacking) is says


@pytest.mark.parametrize(
    ("condition", "beside", "told"),
    [
        ({"gpu": {"count": ">1"}}, {}, True),
        ({"accelerator": "mps"}, {}, False),
        ({"accelerator": "mps"}, {"plan.code_uses": ["torch.backends.mps.is_available"]}, True),
        ({"plan": {"distributed": "dp"}}, {}, False),
        ({"plan": {"distributed": "dp"}}, {"gpu.count": 2}, True),
    ],
)
def test_what_no_file_says_of_the_machine_leaves_a_rule_open(condition: dict[str, object], beside: dict[str, object], told: bool) -> None:
    parsed = parse_condition({"packages": ["torch ==2.8.0"], **condition})
    facts = stated({"packages.torch": "==2.8.0", **beside})
    outcome, lacking = judged(parsed, facts, release_texts)
    weight = weigh(parsed, facts, release_texts, lacking)
    assert outcome is None
    assert (weight.likely and not weight.blind) is told
