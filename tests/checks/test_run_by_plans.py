"""What a function takes that the plan runs, of a stated release that does not have it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.atlas import run_by_plans
from envdoctor.atlas.run_by_plans import RunBy
from envdoctor.checks.run_by_plans import RULE
from envdoctor.checks.run_by_plans import run_by_plans as check
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.facts.vocabulary import NOT_LOADED
from tests.atlas.wheels import alone, forget, make_atlas

LIB = {
    "1.0": {"bolt/__init__.py": "class Old: pass\n"},
    "2.0": {"bolt/__init__.py": "class Old: pass\nclass New: pass\n"},
}
BODY = """def shard():
    from bolt import New

def guess():
    try:
        from bolt import New
    except ImportError:
        pass
"""
USER = {"0.1": {"rider/__init__.py": "import bolt\n", "rider/parts.py": BODY}}


@pytest.fixture(autouse=True)
def _atlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    assert make_atlas(tmp_path, {"bolt": LIB, "rider": USER}) == []
    alone(monkeypatch, tmp_path / "atlas")
    named = (RunBy("rider", "shard", "plan.distributed", ("fsdp",)), RunBy("rider", "guess"))
    monkeypatch.setattr(run_by_plans, "RUN_BY_PLANS", named)
    yield
    forget()


def told(*facts: Fact, bolt: str = "1.0") -> list[tuple[str, str, tuple[tuple[str, str], ...]]]:
    stated = [Fact(f"packages.{name}", exact(text), Origin("stated")) for name, text in (("rider", "0.1"), ("bolt", bolt))]
    return [(hit.rule, hit.headline, hit.pins) for hit in check(Facts({}).with_facts([*stated, *facts]))]


FSDP = Fact("plan.distributed", "fsdp", Origin("a plan"))


def test_a_function_that_the_plan_runs_is_told_of_with_the_releases_that_fit() -> None:
    assert told(FSDP) == [(RULE, "shard of rider 0.1 fails beside bolt 1.0", (("bolt", ">=2.0"),))]


def test_a_release_before_all_that_were_read_lacks_what_the_first_of_them_does() -> None:
    assert [rule for rule, *_ in told(FSDP, bolt="0.5")] == [RULE]


def test_nothing_is_told_without_the_plan_or_of_what_has_the_name_or_catches_its_absence() -> None:
    assert told() == []
    assert told(Fact("plan.distributed", "ddp", Origin("a plan"))) == []
    assert told(FSDP, bolt="2.0") == []


def test_a_script_that_shows_all_that_it_loads_is_let_be() -> None:
    assert told(FSDP, Fact(NOT_LOADED, ("rider",), Origin("a script"))) == []
