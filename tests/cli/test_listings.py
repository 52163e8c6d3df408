"""explain, rules, facts and probe as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.cli import explain
from envdoctor.cli.parser import parse
from envdoctor.rules.rulebook import load_rulebook
from tests.cli.run import SETTLED, run


def test_every_rule_is_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    listed = run(capsys, "rules", "--format", "json", every_rule=True).json["rules"]
    text = run(capsys, "rules", every_rule=True).out
    assert [row["id"] for row in listed] == [rule.id for rule in load_rulebook().rules]
    for row in listed:
        assert row["id"] in text
        assert set(row) >= {"id", "title", "severity", "packages", "confidence"}
        assert len(row["packages"]) <= 4


def test_the_rules_by_which_reports_are_compared_are_all_there() -> None:
    assert {rule.id for rule in load_rulebook().rules} >= SETTLED


def test_explain_shows_evidence_and_cures(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "explain", "peft-fp16-adapter-nan")
    assert ran.status == 0
    for head in ("What happens", "When", "Cures", "Looks like", "Confirm it", "Evidence"):
        assert f"\n{head}\n" in ran.out
    assert "https://github.com/huggingface/peft/issues/1568" in ran.out
    assert "envdoctor probe lora-step" in ran.out


def test_every_rule_has_a_page(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    book = load_rulebook()
    # Read once: what is at stake is each page, not the reading of all rules, or of the command line, for each.
    monkeypatch.setattr(explain, "load_rulebook", lambda _: book)
    as_json, as_text = parse(["explain", "RULE", "--format", "json"]), parse(["explain", "RULE"])
    for rule in book.rules:
        as_json.rule = as_text.rule = rule.id
        assert explain.run(as_json) == 0
        assert json.loads(capsys.readouterr().out)["rule"]["title"] == rule.title
        assert explain.run(as_text) == 0
        assert capsys.readouterr().out.startswith(rule.id)


@pytest.mark.large
def test_rules_lint_passes_on_what_is_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "rules", "lint")
    assert (ran.status, ran.err) == (0, "")
    assert "nothing wrong" in ran.out


def test_rules_takes_no_path_without_lint(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "rules", "list", "some/path").status == 2


def test_extra_rules_are_loaded_and_an_id_of_another_rule_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = (
        'id = "{id}"\ntitle = "Example"\nseverity = "error"\neffect = "crash"\nconfidence = "cited"\ndetails = "It fails."\n'
        '[affected]\npackages = ["einops <0.7"]\n[[fix]]\npin = "einops >=0.7"\nnote = "mended"\n'
        '[[evidence]]\nurl = "https://example.org/1"\nkind = "issue"\nsays = "It fails."\n'
    )
    (tmp_path / "einops-old.toml").write_text(page.format(id="einops-old"), encoding="utf-8")
    facts = tmp_path / "stack.toml.facts"
    facts.write_text('[packages]\neinops = "0.6.1"\n', encoding="utf-8")
    ran = run(capsys, "check", "--facts", str(facts), "--rules", str(tmp_path), "--format", "json")
    assert [finding["rule"] for finding in ran.json["findings"]] == ["einops-old"]
    (tmp_path / "double.toml").write_text(page.format(id="peft-fp16-adapter-nan"), encoding="utf-8")
    assert run(capsys, "check", "--facts", str(facts), "--rules", str(tmp_path)).status == 2


def test_vocabulary(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "facts", "--vocabulary").out
    rows = run(capsys, "facts", "--vocabulary", "--format", "json").json["vocabulary"]
    assert "plan.load_dtype" in text
    assert {row["name"] for row in rows} >= {"python", "gpu.name", "plan.method"}


def test_facts_as_text_tell_their_origin(capsys: pytest.CaptureFixture[str], fixtures: Path) -> None:
    ran = run(capsys, "facts", str(fixtures / "chatglm3-6b"), "--facts", str(fixtures / "stacks" / "chatglm3-bad.toml"))
    assert f"model.type = chatglm   ({fixtures}/chatglm3-6b/config.json:" in ran.out
    assert "not read: weights: " in ran.out
    found = run(
        capsys, "facts", str(fixtures / "chatglm3-6b"), "--facts", str(fixtures / "stacks" / "chatglm3-bad.toml"), "--format", "json"
    )
    assert found.json["facts"]["model.remote_code"]["value"] is True


def test_probe_listing_and_unknown_probe(capsys: pytest.CaptureFixture[str]) -> None:
    assert "lora-step" in run(capsys, "probe", "--list").out
    assert run(capsys, "probe", "--list", "--format", "json").json["probes"][0]["name"] == "lora-step"
    assert run(capsys, "probe", "lora-stepp").status == 2


def test_a_probe_without_an_interpreter_is_inconclusive(capsys: pytest.CaptureFixture[str], fixtures: Path) -> None:
    stack = str(fixtures / "stacks" / "chatglm3-bad.toml")
    ran = run(capsys, "probe", "lora-step", "--facts", stack, "--format", "json")
    assert ran.status == 0
    assert ran.json["probes"][0]["verdict"] == "inconclusive"
    assert "stated, not installed" in run(capsys, "probe", "--facts", stack).out
    checked = run(capsys, "check", "--facts", stack, "--probe", "auto", "--format", "json")
    assert checked.status == 1
    assert checked.json["findings"][0]["probe"]["verdict"] == "inconclusive"
    assert checked.json["findings"][0]["status"] == "matched"
