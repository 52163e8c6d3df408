"""For one fault one answer, over the match cases of all rules: what a finding's cures say first is what the joint pins say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.checks import FACT_CHECKS
from envdoctor.checks.caps import cautious
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Finding, Outcomes, diagnose
from envdoctor.facts.fact import Facts
from envdoctor.files.toml import read_toml
from envdoctor.remedies.cures import agreeing, cures, is_change_of_code
from envdoctor.remedies.search import Problem, find_remedy
from envdoctor.rules.lint import match_cases
from envdoctor.rules.rulebook import load_rulebook, rule_files, shipped_rules
from envdoctor.world.releases import release_texts
from tests.cli.run import run

PLACEHOLDER = re.compile(r"==\s*(?:VERSION|X|N)\b|<version>", re.I)
BOOK = load_rulebook()
OUTCOMES = Outcomes(release_texts)
RULES = rule_files(shipped_rules())


def first_cases(share: int) -> Iterator[tuple[str, Facts]]:
    """The first situation of which each rule of a share says that it holds."""
    for path in RULES[share::100]:
        for _, facts in match_cases(read_toml(path), path)[:1]:
            yield path.stem, facts


def found(name: str, facts: Facts) -> Finding | None:
    diagnosis = diagnose(derive(facts), BOOK.rules, release_texts, hits=(), outcomes=OUTCOMES)
    finding = next((one for one in diagnosis.findings if one.rule.id == name and one.status == "matched"), None)
    return None if finding is None else Finding(**{**{key: getattr(finding, key) for key in finding.__slots__}, "rule": BOOK.whole(name)})


@pytest.mark.large
# Every hundredth rule is one example: a twentieth of them in the quick suite, all where each law is drawn in full.
@given(st.sampled_from(range(100)))
def test_the_first_pins_of_a_finding_are_the_joint_ones(share: int) -> None:
    problems = []
    for name, facts in first_cases(share):
        finding = found(name, facts)
        if finding is None or finding.severity == "note":
            continue
        told = cures(finding, facts, release_texts)
        problems += [f"{name}: {cure.text}" for cure in told if PLACEHOLDER.search(cure.text)]
        if is_change_of_code(finding, facts, release_texts):
            problems += [f"{name}: its first cure is no code" for cure in told[:1] if cure.kind != "code"]
            continue
        remedy = find_remedy(Problem(facts, BOOK.rules, FACT_CHECKS, release_texts, OUTCOMES, requires=cautious), [finding])
        first = next((dict(cure.pins) for cure in agreeing(told, finding, remedy) if cure.pins), None)
        if remedy.pins and name in remedy.clears:
            own = {change.package: change.pin for change in remedy.changes if name in change.clears and change.pin}
            if own and first != own:
                problems.append(f"{name}: {first} and {own}")
    assert problems == []


def test_an_argument_with_a_new_name_is_renamed_before_any_package_moves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("trl==0.16.0\ntransformers==4.50.3\ntorch==2.6.0\n", encoding="utf-8")
    script = "from trl import SFTTrainer\nSFTTrainer(model='m', tokenizer='t').train()\n"
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    targets = [str(tmp_path / "requirements.txt"), str(tmp_path / "train.py")]
    ran = run(capsys, "check", "--isolated", *targets, "--format", "json")
    (finding,) = [one for one in ran.json["findings"] if one["rule"] == "trl-tokenizer-argument-removed"]
    assert [one["kind"] for one in finding["fixes"]][:2] == ["code", "pin"]
    assert (ran.json["remedy"]["pins"], ran.json["remedy"]["in_code"]) == ({}, ["trl-tokenizer-argument-removed"])
    told = " ".join(run(capsys, "check", "--isolated", *targets).out.split())
    assert "fix: pass processing_class=tokenizer: known from trl 0.12 on" in told
    told = run(capsys, "fix", "--isolated", "--offline", *targets).out
    assert "left: trl-tokenizer-argument-removed: change the code; pass processing_class=tokenizer" in " ".join(told.split())


def test_one_mismatch_has_one_cure_everywhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The fewest packages move, and the nearest: torchvision follows torch, whoever is asked."""
    path = tmp_path / "requirements.txt"
    path.write_text("torch==2.13.0\ntorchvision==0.20.1\n", encoding="utf-8")
    facts = tmp_path / "facts.toml"
    facts.write_text('packages.torch = "2.13.0"\npackages.torchvision = "0.20.1"\n', encoding="utf-8")
    cure = {"torchvision": "==0.28.0"}
    for words in (["check", str(path)], ["check", "--facts", str(facts)], ["fix", "--offline", str(path)]):
        ran = run(capsys, words[0], "--isolated", *words[1:], "--format", "json")
        assert ran.json["remedy"]["pins"] == cure, words
        for finding in (one for one in ran.json["findings"] if one["status"] == "matched"):
            assert finding["fixes"][0].get("pins") == cure, (words, finding["rule"])


def test_a_cure_stays_within_the_range_that_was_quoted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """numpy 1.24 runs on Python 3.8, for which opencv-python 4.12 asks for an older numpy; nobody said that this Python is there."""
    facts = tmp_path / "facts.toml"
    facts.write_text('[packages]\nopencv-python = "4.12.0.88"\nnumpy = "1.26.4"\ntorch = "2.1.2"\n', encoding="utf-8")
    ran = run(capsys, "check", "--isolated", "--facts", str(facts), "--format", "json")
    (finding,) = (one for one in ran.json["findings"] if one["status"] == "matched")
    assert finding["fixes"][0]["pins"] == {"opencv-python": "==4.11.0.86"}
