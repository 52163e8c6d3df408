"""What does not go with the one release that somebody states, and what that release has just brought."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.atlas import partners
from envdoctor.checks import unstated_partners as checked
from envdoctor.checks.few_stated import asked_about
from envdoctor.checks.unstated_partners import RULE, unstated_partners
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.world.dependencies import Dependency
from tests.atlas.wheels import alone, forget, make_atlas
from tests.cli.run import run

# bolt 2.0 takes Old away, and rider asks for New from its 0.3 on; only rider 0.1 declares that it does not go with bolt 2.
BOLT = {
    "1.0": {"bolt/__init__.py": "class Old: pass\n"},
    "2.0": {"bolt/__init__.py": "class New: pass\n"},
    "2.1": {"bolt/__init__.py": "class New: pass\n"},
}
RIDER = {
    "0.1": {"rider/__init__.py": "from bolt import Old\n"},
    "0.2": {"rider/__init__.py": "from bolt import Old\n"},
    "0.3": {"rider/__init__.py": "from bolt import New\n"},
}
DAYS = {"bolt": {"1.0": "2024-01-01", "2.0": "2024-06-01", "2.1": "2024-09-01"}, "rider": {"0.2": "2024-02-01", "0.3": "2024-07-01"}}


def required(name: str, version: str, *, unbound: bool = False) -> tuple[Dependency, ...] | None:
    return () if name != "rider" else (Dependency("bolt", "<2" if version == "0.1" else ">=1"),)


@pytest.fixture
def _atlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    assert make_atlas(tmp_path, {"bolt": BOLT, "rider": RIDER}) == []
    alone(monkeypatch, tmp_path / "atlas")
    monkeypatch.setattr(partners, "dependencies", required)
    monkeypatch.setattr(checked, "_COMMON", frozenset(("bolt", "rider")))
    monkeypatch.setattr(checked, "day_of", lambda name, release: DAYS[name].get(release))
    yield
    forget()


def stated(**packages: str) -> Facts:
    return Facts({}).with_facts(Fact(f"packages.{name}", exact(text), Origin("stated")) for name, text in packages.items())


def told(**packages: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    facts = stated(**packages)
    return [(hit.headline, hit.pins) for hit in unstated_partners(facts, asked_about(facts) or "")]


@pytest.mark.usefixtures("_atlas")
def test_releases_that_take_what_the_stated_one_took_away() -> None:
    assert told(bolt="2.0") == [("bolt 2.0 cannot be used together with rider 0.2", (("bolt", "<2.0"),))]


@pytest.mark.usefixtures("_atlas")
def test_releases_that_lack_what_the_stated_one_is_the_first_to_take() -> None:
    assert told(rider="0.3") == [("rider 0.3 cannot be used together with bolt 1.0", (("bolt", ">=2.0"),))]


@pytest.mark.usefixtures("_atlas")
@pytest.mark.parametrize("packages", [{"bolt": "2.1"}, {"rider": "0.2"}, {"bolt": "1.0"}])
def test_what_came_long_before_or_after_is_not_told(packages: dict[str, str]) -> None:
    assert told(**packages) == []


@pytest.mark.usefixtures("_atlas")
def test_a_report_has_it_as_a_note(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert rules_told(capsys, tmp_path, 'packages.bolt = "2.0"\n') == [(RULE, "matched")]
    assert rules_told(capsys, tmp_path, 'packages.bolt = "2.0"\npackages.rider = "0.3"\n') == []


def test_a_release_is_asked_about_beside_torch_and_not_beside_others_or_a_script() -> None:
    assert asked_about(stated(torch="2.2.0", peft="0.15.0")) == "peft"
    assert asked_about(stated(torch="2.2.0", torchvision="0.17.0")) is None
    plan = Fact("plan.method", "pretrain", Origin("facts.toml", "facts.toml", 4))
    assert asked_about(stated(torch="2.2.0")) == "torch"
    assert asked_about(stated(torch="2.2.0").with_facts([plan])) is None
    assert asked_about(stated(torch="2.2.0", peft="0.15.0").with_facts([plan])) == "peft"
    assert asked_about(stated(peft="0.15.0", trl="0.15.0")) is None
    assert asked_about(stated(peft="0.15.0").with_facts([Fact("plan.script", True, Origin("a script"))])) is None


def rules_told(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> list[tuple[str, str]]:
    (tmp_path / "stack.toml").write_text(text)
    words = ("check", "--isolated", "--facts", str(tmp_path / "stack.toml"), "--format", "json")
    report = run(capsys, *words, every_rule=True).json
    return [(one["rule"], one["status"]) for one in report["findings"] if not one.get("hidden")]


def test_a_rule_that_begins_with_the_stated_release_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert ("openai-before-1-55-3-httpx-0-28", "possible") in rules_told(capsys, tmp_path, 'packages.httpx = "0.28.0"\n')
    assert rules_told(capsys, tmp_path, 'packages.httpx = "0.27.2"\n') == []
    # vllm itself requires the torch without which the rule would hold
    assert not any("torch" in rule for rule, _ in rules_told(capsys, tmp_path, 'packages.vllm = "0.8.3"\n'))


def test_a_rule_that_waits_for_the_absence_of_a_package_is_shown_or_not_and_never_compared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = 'packages.trl = "0.15.2"\nplan.method = "lora"\nplan.gradient_checkpointing = true\n'
    assert all(status in ("matched", "possible") for _, status in rules_told(capsys, tmp_path, text))
