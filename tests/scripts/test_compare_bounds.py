"""The scripts that hold all rules against the atlas, their cures against what is declared, and their text against their conditions."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.rules.rule import Rule, parse_rule
from tests.atlas.wheels import atlas_of


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent.parent.parent / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


BOUNDS, CURES, WORDS = _script("compare_bounds"), _script("compare_cures"), _script("unasked_words")


@pytest.fixture(scope="module", autouse=True)
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """``old`` is there up to 1.1, ``make`` takes ``size`` from 1.1 on."""
    releases = {
        "1.0": {"kit/__init__.py": "old = 1\ndef make(name): ...\n"},
        "1.1": {"kit/__init__.py": "old = 1\ndef make(name, size=1): ...\n"},
        "1.2": {"kit/__init__.py": "def make(name, size=1): ...\n"},
        "1.3": {"kit/__init__.py": "def make(name, size=1): ...\n"},
    }
    with atlas_of(tmp_path_factory.mktemp("atlas"), {"kit": releases}):
        yield


def _rule(affected: dict[str, Any], **more: object) -> Rule:
    table = {
        "id": "kit-name-missing", "title": "t", "severity": "error", "effect": "blocked", "confidence": "cited", "details": "d",
        "symptoms": ["cannot import name 'old' from 'kit'"], "affected": affected,
        "fix": [{"pin": "kit <1.2", "note": ""}], "evidence": [{"url": "https://example.org", "kind": "wheel", "says": "s"}], **more,
    }  # fmt: skip
    return parse_rule(table, "a rule")


def test_releases_on_the_wrong_side_of_a_bound_are_told() -> None:
    told = list(BOUNDS.differences(_rule({"packages": ["kit >=1.1, <1.3"]})))
    assert told == [
        "kit-name-missing: kit:old is there in 1.1, which the rule accuses",
        "kit-name-missing: kit:old is not there in 1.3, which the rule passes by",
    ]


def test_a_right_bound_is_silent_and_a_cure_without_the_name_is_not() -> None:
    assert list(BOUNDS.differences(_rule({"packages": ["kit >=1.2"]}))) == []
    cured = _rule({"packages": ["kit >=1.2"]}, fix=[{"pin": "kit !=1.2", "note": ""}])
    assert list(BOUNDS.differences(cured)) == ["kit-name-missing: kit:old is not there in 1.3, which a cure offers"]


def test_an_argument_that_some_accused_releases_take_is_told() -> None:
    both = _rule({"packages": ["kit <1.3"], "calls": ["kit.make(size)"]}, symptoms=["no size at all"])
    assert list(BOUNDS.differences(both)) == [
        "kit-name-missing: kit.make(size) is taken in 1.1 to 1.2 (2) and not in 1.0, all of which the rule accuses"
    ]
    assert list(BOUNDS.differences(_rule({"packages": ["kit <1.1"], "calls": ["kit.make(size)"]}, symptoms=["no size at all"]))) == []


def test_a_claim_at_which_no_range_ends_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kit-name-missing.toml"
    path.write_text('[[boundary]]\npackage = "kit"\nlast = "1.1"\nhas = "kit:old"\n', encoding="utf-8")
    assert list(BOUNDS.loose_claims(_rule({"packages": ["kit >=1.2"]}), path)) == []
    assert list(BOUNDS.loose_claims(_rule({"packages": ["kit >=1.3"]}), path)) == [
        "kit-name-missing: no range begins or ends at kit last 1.1: has kit:old"
    ]


def test_a_word_of_the_text_is_told_where_the_condition_asks_nothing_of_it() -> None:
    text = {"details": "Under DeepSpeed the first step fails, on Windows too."}
    assert list(WORDS.unasked(_rule({"packages": ["kit >=1.2"]}, **text))) == ["DeepSpeed", "Windows"]
    asked = {"packages": ["kit >=1.2"], "plan.deepspeed": True, "os": "windows"}
    assert list(WORDS.unasked(_rule(asked, **text))) == []


def test_a_cure_outside_of_what_is_declared_is_told() -> None:
    """gradio 3.41.0 requires gradio-client ==0.5.0."""
    fix = [{"pin": ["gradio ==3.41.0", "gradio-client <2"], "note": ""}, {"pin": ["gradio ==3.41.0", "gradio-client ==0.5.0"], "note": ""}]
    rule = _rule({"packages": ["gradio <3.41"]}, fix=fix)
    case = Facts().with_facts(
        Fact(f"packages.{name}", exact(text), Origin("case")) for name, text in (("gradio", "3.39.0"), ("gradio-client", "2.0.0"))
    )
    after = "requires gradio-client ==0.5.0 and finds"
    told = list(CURES.unmet(rule, [(1, case)]))
    assert [line.partition(" in case 1, ")[2] for line in told] == [f"gradio 3.41.0 {after} 1.14.0"]
