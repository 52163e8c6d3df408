"""What lint says of the cures of made-up rules, by their own match cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.files.toml import parse_toml
from envdoctor.remedies.cure_lint import lint_cures
from envdoctor.rules.rule import Rule, parse_rule
from envdoctor.world.releases import release_texts
from tests.rule_files import HEAD

RULE = """
[affected]
packages  = ["peft >=0.7, <0.12 || >=0.14, <0.15"]
plan.fp16 = true

{fix}

[[evidence]]
url  = "https://example.org/issues/1"
kind = "issue"
says = "It fails."

[[case]]
expect = "match"
facts  = {{ packages.peft = "==0.11.1", plan.fp16 = true, plan.code_uses = ["peft.LoraConfig(bias)"] }}
"""
OTHER = HEAD.replace("library-broken", "another-fault") + RULE


def rule(text: str, fix: str = '[[fix]]\npin = "peft >=0.15"', severity: str = "error") -> Rule:
    whole = text.format(confidence="cited", fix=fix).replace('severity   = "error"', f'severity   = "{severity}"')
    return parse_rule(parse_toml(whole.encode(), "rule"), "rule")


def told(tmp_path: Path, fix: str, others: tuple[Rule, ...] = (), affected: str = "") -> list[str]:
    path = tmp_path / "library-broken.toml"
    text = (HEAD + RULE).format(confidence="cited", fix=fix)
    path.write_text(text.replace("plan.fp16 = true\n", f"plan.fp16 = true\n{affected}\n", 1), encoding="utf-8")
    return [error.found for error in lint_cures(path, others, release_texts)]


@pytest.mark.parametrize(
    ("fix", "wrong"),
    [
        ('pin = "peft >=0.12, <0.14"', []),
        # A later release breaks again: the range has to end before it.
        ('pin = "peft >=0.12"', ["peft >=0.12: in case 1 peft 0.14.0 leaves the rule as it is"]),
        ("plan = { fp16 = false }", []),
        ("plan = { bf16 = true }", ["{'plan.bf16': True}: in case 1 plan.bf16 = True leaves the rule as it is"]),
        ('code = "do without"', []),
        ('code = "do without"\nsets = { plan.fp16 = false }', []),
        ('code = "wait"\nsets = { packages.torch = "2.6.0" }', ["wait: in case 1 packages.torch = 2.6.0 leaves the rule as it is"]),
        ('code = "pip uninstall peft"\nsets = { packages.peft = false }', []),
    ],
)
def test_the_rule_falls_silent(tmp_path: Path, fix: str, wrong: list[str]) -> None:
    assert told(tmp_path, f"[[fix]]\n{fix}") == wrong


def test_no_other_error_appears(tmp_path: Path) -> None:
    later = rule(OTHER.replace(">=0.7, <0.12 || >=0.14, <0.15", ">=0.15"))
    assert told(tmp_path, '[[fix]]\npin = "peft >=0.15"', (later,)) == [
        f"peft >=0.15: in case 1 peft {release} brings another-fault" for release in ("0.15.0",)
    ]
    assert told(tmp_path, '[[fix]]\npin = "peft >=0.12, <0.14"', (later,)) == []
    noted = rule(OTHER.replace(">=0.7, <0.12 || >=0.14, <0.15", ">=0.15"), severity="note")
    assert told(tmp_path, '[[fix]]\npin = "peft >=0.15"', (noted,)) == []
    before = rule(OTHER.replace(">=0.7, <0.12 || >=0.14, <0.15", ">=0.7"))
    assert told(tmp_path, '[[fix]]\npin = "peft >=0.15"', (before,)) == []


def test_the_newest_release_is_looked_at_as_well(tmp_path: Path) -> None:
    newest = release_texts("peft")[-1]
    later = rule(OTHER.replace(">=0.7, <0.12 || >=0.14, <0.15", f"=={newest}"))
    assert told(tmp_path, '[[fix]]\npin = "peft >=0.15"', (later,)) == [f"peft >=0.15: in case 1 peft {newest} brings another-fault"]


def test_a_cure_for_some_situations_stands_beside_one_for_the_others(tmp_path: Path) -> None:
    later = rule(OTHER.replace(">=0.7, <0.12 || >=0.14, <0.15", ">=0.15"))
    path = tmp_path / "library-broken.toml"
    case = '[[case]]\nexpect = "match"\nfacts  = { packages.peft = "==0.14.0", packages.torch = "==2.6.0", plan.fp16 = true }\n'
    fix = '[[fix]]\npin = "peft >=0.15"\n[[fix]]\nplan = { fp16 = false }'
    text = (HEAD + RULE).format(confidence="cited", fix=fix) + case
    path.write_text(text, encoding="utf-8")
    assert len(lint_cures(path, (later,), release_texts)) == 1
    narrower = rule(OTHER.replace(">=0.7, <0.12 || >=0.14, <0.15", '>=0.15", "torch ==2.6.0'))
    assert lint_cures(path, (narrower,), release_texts) == []
