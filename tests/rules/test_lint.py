"""The lint of rule files: every check has a file that it refuses, and the proof finds what no case decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from envdoctor.rules.lint import lint_file
from envdoctor.world.releases import release_texts

ROOT = Path(__file__).parent.parent.parent

HEAD = """
id         = "some-rule"
title      = "Something goes wrong"
severity   = "error"
effect     = "silent"
confidence = "cited"
symptoms   = ["loss is nan at step 2"]
details    = '''Why.'''
"""

AFFECTED = """
[affected]
packages        = ["peft >=0.7, <0.12"]
plan.method     = ["lora", "dora"]
"""

CURE = """
[[fix]]
pin = "peft >=0.12"
[[fix]]
plan = { load_dtype = "bfloat16" }

[[evidence]]
url  = "https://github.com/huggingface/peft/issues/1568"
kind = "issue"
says = "what it says"
"""

CASES = """
[[case]]
expect = "match"
facts  = { packages.peft = "==0.11.1", plan.method = "lora" }
[[case]]
expect = "no-match"
facts  = { packages.peft = "==0.12.0", plan.method = "lora" }
[[case]]
expect = "no-match"
facts  = { packages.peft = "==0.11.1", plan.method = "full" }
[[case]]
expect = "unknown"
facts  = { plan.method = "lora" }
"""

PAGE = HEAD + AFFECTED + CURE + CASES


def lint(tmp_path: Path, text: str, *, name: str = "some-rule.toml") -> list[tuple[str, str]]:
    """What is wrong, each as the key and what was found there; every error names the file."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    errors = lint_file(path, release_texts, probes=frozenset({"lora-step"}), checks=frozenset({"a-check"}))
    for error in errors:
        assert error.place.startswith(f"{path}")
        assert error.expected
        assert error.next_step
    return [(error.place.removeprefix(f"{path}").removeprefix(": "), error.found) for error in errors]


def keys(found: Sequence[tuple[str, str]]) -> list[str]:
    return [key for key, _ in found]


def test_a_proven_rule_is_clean(tmp_path: Path) -> None:
    assert lint(tmp_path, PAGE) == []


def test_the_example_that_authors_start_from_is_a_proven_rule(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    example = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert example is not None
    found = lint(tmp_path, example[1], name="peft-fp16-adapter-nan.toml")
    assert found == []


def test_five_errors_of_form_are_told_at_once(tmp_path: Path) -> None:
    text = PAGE.replace('"error"', '"fatal"').replace('"silent"', '"quiet"').replace("symptoms ", "symptom ")
    text = text.replace("plan.method     =", "plan.metod =").replace('"issue"', '"rumour"')
    assert sorted(keys(lint(tmp_path, text))) == ["affected.plan.metod", "effect", "evidence.kind", "severity", "symptom"]


def test_five_errors_of_content_are_told_at_once(tmp_path: Path) -> None:
    text = PAGE.replace("some-rule", "Some_Rule").replace("goes wrong", "goes wrong.").replace("loss is nan at step 2", "nan")
    text = text.replace('"bfloat16"', '"bfloat17"').replace("peft >=0.12", "peft >=99")
    found = lint(tmp_path, text)
    assert keys(found) == ["id", "id", "title", "fix.plan", "symptoms", "fix.pin", "fix.pin"]
    assert ("fix.plan", "plan.load_dtype = 'bfloat17'") in found


@pytest.mark.parametrize(
    ("old", "new", "place", "found"),
    [
        ("some-rule", "another-rule", "id", "'another-rule'"),
        ("goes wrong", "goes wrong" + "!" * 100, "title", "Something"),
        ('effect     = "silent"', 'effect     = "silent"\nprobe = "no-such-probe"', "probe", "'no-such-probe'"),
        ('effect     = "silent"', 'effect     = "silent"\ncheck = "no-such-check"', "check", "'no-such-check'"),
        ("loss is nan at step 2", "nan", "symptoms", "'nan'"),
        ("load_dtype =", "load_dtyp =", "fix.plan", "'plan.load_dtyp'"),
        ("peft >=0.12", "peft >=99", "fix.pin", "peft >=99"),
        ("peft >=0.12", "peft ==0.11.0", "fix.pin", "peft ==0.11.0"),
        ("peft >=0.12", "torch >=2.5", "fix.pin", "torch >=2.5"),
        ("[[case]]", "[[boundary]]\npackage = 'peft'\nhas = 'x'\n[[case]]", "boundary", "'has': 'x'"),
        ("[[case]]", "[[boundary]]\npackage = 'peft'\nfirst = '0.7.0'\nlast = '0.8.0'\nhas = 'x'\n[[case]]", "boundary", "'last'"),
        ("[[case]]", "[[boundary]]\npackage = 'peft'\nfirst = '0.7.0'\nhas = 'x'\nrequires = 'y'\n[[case]]", "boundary", "'requires'"),
        ("[[case]]", "[[boundary]]\nfirst = '0.7.0'\nhas = 'x'\n[[case]]", "boundary", "'first'"),
        ("[[case]]", "[boundary]\npackage = 'peft'\n[[case]]", "boundary", "'peft'"),
        ('expect = "unknown"', 'expect = "maybe"', "case 4", "'maybe'"),
        ('expect = "unknown"', 'expect = ["unknown"]', "case 4", "['unknown']"),
        ('facts  = { plan.method = "lora" }', 'facts  = ["lora"]', "case 4", "['lora']"),
        ('facts  = { plan.method = "lora" }', 'facts  = { plan.metod = "lora" }', "case 4", "'plan.metod'"),
        ('facts  = { plan.method = "lora" }', 'facts  = { plan.method = "loraa" }', "case 4", "plan.method = 'loraa'"),
        ('facts  = { plan.method = "lora" }', 'facts  = { plan.method = "full" }', "case 4", "no-match"),
    ],
)  # fmt: skip
def test_each_check_refuses_a_file(tmp_path: Path, old: str, new: str, place: str, found: str) -> None:
    assert old in PAGE
    told = lint(tmp_path, PAGE.replace(old, new, 1))
    assert place in keys(told)
    assert any(found in text for key, text in told if key == place), told


def test_a_rule_without_a_cure_is_refused(tmp_path: Path) -> None:
    text = HEAD + AFFECTED + CURE[CURE.index("[[evidence]]") :] + CASES
    assert lint(tmp_path, text) == [("fix", "nothing")]


def test_cases_that_are_no_tables_are_refused(tmp_path: Path) -> None:
    assert keys(lint(tmp_path, "case = 3\n" + HEAD + AFFECTED + CURE)) == ["case"]


@pytest.mark.parametrize("expect", ["match", "no-match", "unknown"])
def test_each_kind_of_case_is_needed(tmp_path: Path, expect: str) -> None:
    kept = "".join(f"[[case]]\n{case}" for case in CASES.split("[[case]]\n")[1:] if f'"{expect}"' not in case)
    assert ("case", f"no case that expects {expect}") in lint(tmp_path, HEAD + AFFECTED + CURE + kept)


def test_a_rule_that_code_decides_needs_no_cases(tmp_path: Path) -> None:
    assert lint(tmp_path, HEAD + 'check = "a-check"\n' + CURE) == []


def test_a_pin_of_a_package_without_known_releases_is_believed(tmp_path: Path) -> None:
    assert lint(tmp_path, PAGE.replace("peft >=0.12", "some-plugin >=2", 1)) == []


BOTH = (
    HEAD
    + """
[affected]
packages = ["numpy >=2"]
any = [{ packages = ["pandas <2.2.2"] }, { packages = ["scikit-learn <1.4.2"] }]
"""
)


@pytest.mark.parametrize(
    ("pins", "wrong"),
    [
        ('["pandas >=2.2.2", "scikit-learn >=1.4.2"]', False),
        ('["scikit-learn >=1.4.2", "pandas >=2.2"]', False),
        ('["numpy <2", "pandas <2"]', False),
        ('["numpy <2"]', False),
        ('["pandas >=2.2.2"]', True),
        ('["pandas >=2.2.2", "scikit-learn <1.4.2"]', True),
        ('["pandas <2.2.2", "scikit-learn >=1.4.2"]', True),
        ('["pandas >=2.2.2", "scikit-learn <1.4.2", "torch >=2"]', True),
    ],
)
def test_pins_of_one_fix_are_taken_together(tmp_path: Path, pins: str, wrong: bool) -> None:
    found = lint(tmp_path, BOTH + f"[[fix]]\npin = {pins}\n" + CURE[CURE.index("[[evidence]]") :])
    assert [key for key, _ in found if key == "fix.pin"] == ["fix.pin"] * wrong


def test_a_pin_may_be_for_one_of_the_packages_that_a_rule_accuses(tmp_path: Path) -> None:
    facts = '{ packages.numpy = "==2.0.0", packages.pandas = "==2.1.0", packages.scikit-learn = false }'
    case = f'[[case]]\nexpect = "match"\nfacts = {facts}\n'
    text = BOTH + '[[fix]]\npin = "pandas >=2.2.2"\n[[fix]]\npin = "scikit-learn >=1.4.2"\n' + CURE[CURE.index("[[evidence]]") :] + case
    assert [found for key, found in lint(tmp_path, text) if key == "fix.pin"] == ["scikit-learn >=1.4.2"]


def test_what_is_no_toml_is_one_error(tmp_path: Path) -> None:
    ((place, found),) = lint(tmp_path, "id = 'x'\nid = = 3\n")
    assert place == ", line 2"
    assert found.startswith("no TOML: ")
    path = tmp_path / "none.toml"
    (error,) = lint_file(path, release_texts, probes=frozenset(), checks=frozenset())
    assert error.place == str(path)


def proven(tmp_path: Path, affected: str, *cases: tuple[str, str]) -> list[str]:
    """The comparisons that the cases leave unproven, of a rule with this condition."""
    written = "".join(f'[[case]]\nexpect = "{expect}"\nfacts = {{ {facts} }}\n' for expect, facts in cases)
    found = lint(tmp_path, HEAD + affected + '\n[[fix]]\ncode = "x"\n' + CURE[CURE.index("[[evidence]]") :] + written)
    assert all(key.startswith("affected: ") for key, _ in found), found
    return [key.removeprefix("affected: ") for key, _ in found]


def test_a_rule_of_one_comparison_is_proven_by_its_cases(tmp_path: Path) -> None:
    cases = [("match", 'plan.method = "lora"'), ("no-match", 'plan.method = "full"'), ("unknown", "plan.fp16 = true")]
    assert proven(tmp_path, '[affected]\nplan.method = "lora"', *cases) == []


def test_a_comparison_that_no_case_decides_is_unproven(tmp_path: Path) -> None:
    affected = '[affected]\nplan.method = "lora"\nplan.fp16 = true'
    cases = [
        ("match", 'plan.method = "lora", plan.fp16 = true'),
        ("unknown", "plan.fp16 = true"),
        ("no-match", 'plan.method = "full", plan.fp16 = true'),
    ]
    assert proven(tmp_path, affected, *cases) == ["plan.fp16 true"]
    assert proven(tmp_path, affected, *cases, ("no-match", 'plan.method = "lora", plan.fp16 = false')) == []


def test_a_case_that_two_comparisons_decide_proves_neither(tmp_path: Path) -> None:
    affected = '[affected]\nplan.method = "lora"\nplan.fp16 = true'
    cases = [("match", 'plan.method = "lora", plan.fp16 = true'), ("unknown", ""), ("no-match", 'plan.method = "full", plan.fp16 = false')]
    assert proven(tmp_path, affected, *cases) == ["plan.method lora", "plan.fp16 true"]


def test_every_alternative_needs_a_case_of_its_own(tmp_path: Path) -> None:
    affected = '[affected]\npackages = ["peft"]\nany = [{ plan.fp16 = true, plan.bf16 = false }, { plan.method = "dora" }]'
    cases = [
        ("match", 'packages.peft = "0.11.0", plan.method = "dora", plan.fp16 = false'),
        ("no-match", 'packages.peft = false, plan.method = "dora"'),
        ("no-match", 'packages.peft = "0.11.0", plan.method = "lora", plan.fp16 = false'),
        ("unknown", 'packages.peft = "0.11.0"'),
    ]
    assert proven(tmp_path, affected, *cases) == ["plan.bf16 false"]
    more = (
        ("match", 'packages.peft = "0.11.0", plan.method = "lora", plan.fp16 = true, plan.bf16 = false'),
        ("no-match", 'packages.peft = "0.11.0", plan.method = "lora", plan.fp16 = true, plan.bf16 = true'),
    )
    assert proven(tmp_path, affected, *cases, *more) == []
    without_dora = [case for case in (*cases, *more) if "dora" not in case[1]]
    no_peft = ("no-match", "packages.peft = false, plan.fp16 = true, plan.bf16 = false")
    assert proven(tmp_path, affected, *without_dora, no_peft) == ["plan.method dora"]


def test_a_negation_needs_a_case_of_its_own(tmp_path: Path) -> None:
    affected = '[affected]\nplan.method = "lora"\nnot = { packages = ["xformers"], plan.fp16 = true }'
    cases = [
        ("match", 'plan.method = "lora", packages.xformers = false, plan.fp16 = false'),
        ("no-match", 'plan.method = "full"'),
        ("unknown", "plan.fp16 = false"),
    ]
    assert proven(tmp_path, affected, *cases) == ["not packages.xformers installed", "not plan.fp16 true"]
    cases += [("no-match", 'plan.method = "lora", packages.xformers = "0.0.29", plan.fp16 = true')]
    assert proven(tmp_path, affected, *cases) == ["not packages.xformers installed", "not plan.fp16 true"]
    cases += [("match", 'plan.method = "lora", packages.xformers = false, plan.fp16 = true')]
    assert proven(tmp_path, affected, *cases) == ["not plan.fp16 true"]
    cases += [("match", 'plan.method = "lora", packages.xformers = "0.0.29", plan.fp16 = false')]
    assert proven(tmp_path, affected, *cases) == []
