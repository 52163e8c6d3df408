"""A rule's confidence is what its ledger shows."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.files.toml import parse_toml, read_toml
from envdoctor.rules.ledger import (
    LEVELS,
    Ledger,
    accusation,
    claims,
    earned,
    ledger_path,
    proven,
    read_ledger,
    record_confidence,
    subject,
    verified_entry,
    write_ledger,
)
from envdoctor.rules.rulebook import compile_rules, load_rulebook, rule_files
from tests.cli.run import run
from tests.examples import examples
from tests.rule_files import CLAIM, REPRODUCTION, write_rule

TABLE: dict[str, Any] = parse_toml(('[affected]\npackages = ["peft >=0.7, <0.12"]\n' + CLAIM + REPRODUCTION).encode(), "rule")
VERIFIED = verified_entry(TABLE, [], "2026-01-31")
REPRODUCED = {"subject": subject(TABLE["reproduction"]), "result": "reproduced", "date": "2026-01-31"}
PROBED = {"subject": accusation(TABLE), "probe": "lora-step", "result": "shown", "date": "2026-01-31"}


def test_nothing_recorded_is_cited() -> None:
    assert earned(TABLE, Ledger()) == "cited"
    assert earned({}, Ledger(VERIFIED, REPRODUCED, PROBED)) == "cited"


def test_each_step_needs_its_entry() -> None:
    assert earned(TABLE, Ledger(VERIFIED)) == "boundary"
    assert earned(TABLE, Ledger(VERIFIED, REPRODUCED)) == "reproduced"
    assert earned(TABLE, Ledger(None, REPRODUCED)) == "reproduced"
    assert earned(TABLE, Ledger(None, {**REPRODUCED, "gpu": "NVIDIA H100"})) == "reproduced-gpu"
    assert earned(TABLE, Ledger(probed=PROBED)) == "reproduced"
    assert earned(TABLE, Ledger(VERIFIED, REPRODUCED, {**PROBED, "gpu": "NVIDIA H100"})) == "reproduced-gpu"


def test_a_failed_run_earns_nothing() -> None:
    wrong = verified_entry(TABLE, ["peft first 0.12.0: has peft.mapping:mended: not true of 0.12.0"], "2026-01-31")
    assert wrong["result"] == "wrong"
    assert earned(TABLE, Ledger(wrong)) == "cited"
    assert earned(TABLE, Ledger(VERIFIED, {**REPRODUCED, "result": "not reproduced"})) == "boundary"
    assert earned(TABLE, Ledger(VERIFIED, probed={**PROBED, "result": "not shown"})) == "boundary"
    assert earned(TABLE, Ledger(None, REPRODUCED, {**PROBED, "result": "not shown"})) == "reproduced"


CHANGES = [("python", "3.12"), ("bad", ["peft==0.10.0"]), ("good", ["peft==0.13.0"]), ("run", "import peft.tuners"), ("shows", "is broken")]


@pytest.mark.parametrize(("key", "value"), CHANGES)
def test_another_reproduction_is_not_the_one_that_was_run(key: str, value: object) -> None:
    table = copy.deepcopy(TABLE)
    table["reproduction"][key] = value
    assert earned(table, Ledger(VERIFIED, REPRODUCED)) == "boundary"


def test_a_rule_that_accuses_something_else_is_not_the_one_that_was_probed() -> None:
    changes = {"affected": {"packages": ["peft >=0.7, <0.13"]}, "probe": "save-load", "check": "soft-minimum-unmet"}
    for key, value in changes.items():
        assert earned({**TABLE, key: value}, Ledger(VERIFIED, probed=PROBED)) == "boundary", key
    assert earned({**TABLE, "title": "Another title", "reproduction": {}}, Ledger(probed=PROBED)) == "reproduced"


def test_another_claim_is_not_the_one_that_was_checked() -> None:
    assert claims(TABLE) == ["peft first 0.12.0: has peft.mapping:mended"]
    for key, value in (("first", "0.13.0"), ("has", "peft.mapping:other")):
        table = copy.deepcopy(TABLE)
        table["boundary"][0][key] = value
        assert earned(table, Ledger(VERIFIED)) == "cited"
    more = copy.deepcopy(TABLE)
    more["boundary"].append({"package": "peft", "last": "0.13.0", "has": "a:b"})
    assert earned(more, Ledger(VERIFIED)) == "cited"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
ENTRIES = st.none() | st.dictionaries(st.text(), JSON, max_size=3)


@settings(max_examples=examples(30))
@given(st.builds(Ledger, ENTRIES, ENTRIES, ENTRIES))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, ledger: Ledger) -> None:
    rule = tmp_path_factory.getbasetemp() / "rule.toml"
    write_ledger(rule, ledger)
    assert read_ledger(rule) == ledger


@settings(max_examples=examples(30))
@given(st.builds(Ledger, ENTRIES, ENTRIES, ENTRIES), st.sampled_from(LEVELS))
def test_no_rule_is_more_than_its_ledger_shows_or_than_it_claims(
    tmp_path_factory: pytest.TempPathFactory, drawn: Ledger, claim: str
) -> None:
    rule = tmp_path_factory.getbasetemp() / "rule.toml"
    for ledger in (drawn, replace(drawn, verified=VERIFIED), replace(drawn, reproduced=REPRODUCED), replace(drawn, probed=PROBED)):
        write_ledger(rule, ledger)
        table = {**TABLE, "confidence": claim}
        shown = LEVELS.index(proven(table, rule))
        assert shown == min(LEVELS.index(claim), LEVELS.index(earned(table, ledger)))


def test_a_ledger_is_read_as_a_change(tmp_path: Path) -> None:
    rule = tmp_path / "library-broken.toml"
    write_ledger(rule, Ledger(VERIFIED))
    assert ledger_path(rule) == tmp_path / "library-broken.ledger.json"
    assert ledger_path(rule).read_bytes() == (
        b'{\n "verified": {\n  "claims": [\n   "peft first 0.12.0: has peft.mapping:mended"\n  ],\n'
        b'  "date": "2026-01-31",\n  "result": "ok"\n }\n}\n'
    )


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"verified": 1}', b'{"reproduced": []}', b'{"probed": ""}', b"\xff", b"[" * 100_000, b" " * (2 << 20)]
)
def test_a_ledger_that_cannot_be_read_is_told(tmp_path: Path, data: bytes) -> None:
    rule = write_rule(tmp_path, CLAIM, confidence="boundary")
    ledger_path(rule).write_bytes(data)
    with pytest.raises(EnvdoctorError, match=r"library-broken\.ledger\.json: found .*; expected a ledger"):
        read_ledger(rule)
    with pytest.raises(EnvdoctorError, match="expected a ledger"):
        load_rulebook([tmp_path])


def test_a_ledger_without_permission_or_place(tmp_path: Path) -> None:
    rule = write_rule(tmp_path)
    ledger_path(rule).mkdir()
    with pytest.raises(EnvdoctorError, match="expected a ledger"):
        read_ledger(rule)
    with pytest.raises(EnvdoctorError, match="expected a file to write to"):
        write_ledger(rule, Ledger())


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_confidence_of_a_rule_is_rewritten(tmp_path: Path, newline: str) -> None:
    rule = write_rule(tmp_path, CLAIM)
    rule.write_bytes(rule.read_bytes().replace(b"\n", newline.encode()))
    before = rule.read_bytes()
    assert record_confidence(rule, read_toml(rule), "boundary")
    assert rule.read_bytes() == before.replace(b'= "cited"', b'= "boundary"')
    assert not record_confidence(rule, read_toml(rule), "boundary")


@pytest.mark.parametrize(
    "line", ["confidence = 'cited'\n", '[table]\nconfidence = "cited"\n', 'x = """\nconfidence = "boundary"\n"""\nconfidence = "cited"\n']
)
def test_a_confidence_that_cannot_be_found_is_left_to_the_author(tmp_path: Path, line: str) -> None:
    rule = tmp_path / "rule.toml"
    rule.write_text(line, encoding="utf-8")
    with pytest.raises(EnvdoctorError, match="write reproduced there by hand"):
        record_confidence(rule, read_toml(rule), "reproduced")
    assert rule.read_text(encoding="utf-8") == line


def test_a_rule_is_reported_with_what_its_ledger_shows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def confidence() -> object:
        ran = run(capsys, "explain", "library-broken", "--rules", str(tmp_path), "--format", "json")
        return ran.json["rule"]["confidence"]

    rule = write_rule(tmp_path, CLAIM, REPRODUCTION, confidence="reproduced")
    assert confidence() == "cited"
    write_ledger(rule, Ledger(VERIFIED))
    assert confidence() == "boundary"
    write_ledger(rule, Ledger(VERIFIED, REPRODUCED))
    assert confidence() == "reproduced"
    write_rule(tmp_path, CLAIM, REPRODUCTION, confidence="boundary")
    assert confidence() == "boundary"


def test_ledgers_are_no_rules_but_part_of_what_was_read(tmp_path: Path) -> None:
    rule = write_rule(tmp_path, CLAIM, confidence="boundary")
    before = compile_rules(tmp_path)
    write_ledger(rule, Ledger(VERIFIED))
    after = compile_rules(tmp_path)
    assert rule_files(tmp_path) == [rule]
    assert before["digest"] != after["digest"]
    assert [table["confidence"] for _, table in (*before["rules"], *after["rules"])] == ["cited", "boundary"]


@pytest.mark.parametrize(("claimed", "command"), [("boundary", "verify"), ("reproduced", "reproduce"), ("reproduced-gpu", "reproduce")])
def test_lint_refuses_a_confidence_that_was_not_earned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, claimed: str, command: str
) -> None:
    rule = write_rule(tmp_path, CLAIM, REPRODUCTION, confidence=claimed)
    ran = run(capsys, "rules", "lint", str(rule))
    assert ran.status == 2
    assert ran.err == (
        f"envdoctor: {rule}: confidence: found '{claimed}'; expected cited: its ledger shows no more of the claims and the "
        f"reproduction that it has now; next: envdoctor rules {command} --record library-broken\n"
    )
    write_ledger(rule, Ledger(VERIFIED, {**REPRODUCED, "gpu": "NVIDIA H100"}))
    assert run(capsys, "rules", "lint", str(rule)).status == 0
    write_rule(tmp_path, CLAIM.replace("0.12.0", "0.11.0"), REPRODUCTION.replace("import peft", "import peft.utils"), confidence=claimed)
    assert run(capsys, "rules", "lint", str(rule)).status == 2


def test_what_a_pair_showed_is_recorded_anew_where_the_rule_changed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule = write_rule(tmp_path, CLAIM, confidence="reproduced")
    write_ledger(rule, Ledger(VERIFIED, probed=PROBED))
    assert run(capsys, "rules", "lint", str(rule)).status == 0
    rule.write_text(rule.read_text(encoding="utf-8").replace(">=0.7, <0.12", ">=0.7, <=0.11.1"), encoding="utf-8")
    ran = run(capsys, "rules", "lint", str(rule))
    assert ran.status == 2
    assert ran.err.endswith("; next: python scripts/prove_probes.py --record lora-step\n")
    assert "found 'reproduced'; expected boundary: " in ran.err


def test_less_than_was_earned_may_be_claimed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule = write_rule(tmp_path, CLAIM)
    write_ledger(rule, Ledger(VERIFIED))
    assert run(capsys, "rules", "lint", str(rule)).status == 0


def test_shipped_ledgers_name_no_directory_of_a_machine(fixtures: Path) -> None:
    rules = fixtures.parent / "rules"
    found = sorted(rules.rglob("*.ledger.json"))
    for path in found:
        text = path.read_text(encoding="utf-8")
        assert json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n" == text, path
        assert not any(place in text for place in ("/home/", "/root/", "/tmp/", "/work/", "site-packages", "C:")), path
        assert path.with_name(path.name.removesuffix(".ledger.json") + ".toml").is_file(), path


def test_only_a_rule_that_code_decides_may_say_computed() -> None:
    assert proven({"id": "one", "confidence": "computed", "check": "one"}, Path("one.toml")) == "computed"
    assert proven({"id": "one", "confidence": "computed"}, Path("one.toml")) == "cited"
