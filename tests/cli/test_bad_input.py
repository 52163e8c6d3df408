"""Bad input of every kind: one clear line, exit status 2, no traceback; or a finding, and the rest is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

LISTED = "envdoctor facts --vocabulary lists them"


def test_no_such_path(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "check", "./no/such/model/here")
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err == (
        "envdoctor: ./no/such/model/here: found no such file or directory; expected a model directory, a hub id, a requirements file or "
        "a training plan; next: check the path\n"
    )


def test_a_directory_that_is_no_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = run(capsys, "check", str(tmp_path))
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1
    assert "config.json" in ran.err
    assert "Traceback" not in ran.err


def test_a_config_that_is_no_json_names_line_and_column(capsys: pytest.CaptureFixture[str], fixtures: Path) -> None:
    ran = run(capsys, "check", str(fixtures / "damaged" / "not-json"))
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1
    assert "config.json" in ran.err
    assert "line 3, column 3" in ran.err


def test_a_misspelt_fact_is_told_with_its_line_and_a_suggestion(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text('python = "3.10"\n[packages]\ntorch = "2.5.0"\n[plan]\nbatch_sise = 2\nmethood = "lora"\n', encoding="utf-8")
    ran = run(capsys, "check", "--facts", str(file), "--format", "json")
    assert (ran.status, ran.err) == (2, "")
    assert [(one["what"], one["why"]) for one in ran.json["skipped"] if one.get("unexamined")] == [
        (f"{file}, line {line}: the fact 'plan.{wrong}'", f"expected a fact of the vocabulary; did you mean `plan.{right}`? {LISTED}")
        for line, wrong, right in ((5, "batch_sise", "batch_size"), (6, "methood", "method"))
    ]


def test_one_word_of_a_facts_file_that_nobody_knows_leaves_the_rest_judged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text('plan.method = "tts"\n[packages]\ntransformers = "4.55.3"\nhuggingface-hub = "0.33.5"\n', encoding="utf-8")
    ran = run(capsys, "check", "--facts", str(file), "--format", "json")
    assert ran.status == 1
    assert [one["rule"] for one in ran.json["findings"] if one["status"] == "matched"] == ["transformers-refuses-at-import"]
    assert [one["what"] for one in ran.json["skipped"] if one.get("unexamined")] == [f"{file}, line 1: plan.method = tts"]
    file.write_text('plan.method = "tts"\npackages.numpy = "2.0.1"\n', encoding="utf-8")
    assert run(capsys, "check", "--facts", str(file)).status == 2
    file.write_text('plan.method = "tts"\n', encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("transformers==4.55.3\nhuggingface-hub==0.33.5\n", encoding="utf-8")
    assert run(capsys, "check", str(tmp_path / "requirements.txt"), "--facts", str(file)).status == 1


def test_a_file_of_no_known_kind_beside_stated_facts_leaves_these_judged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "setup.bat").write_text("pip install torch\n", encoding="utf-8")
    assert run(capsys, "check", str(tmp_path / "setup.bat")).out == ""
    (tmp_path / "facts.toml").write_text('[packages]\ntransformers = "4.55.3"\nhuggingface-hub = "0.33.5"\n', encoding="utf-8")
    ran = run(capsys, "check", str(tmp_path / "setup.bat"), "--facts", str(tmp_path / "facts.toml"), "--format", "json")
    assert ran.status == 1
    assert [one["rule"] for one in ran.json["findings"] if one["status"] == "matched"] == ["transformers-refuses-at-import"]
    assert [one["what"] for one in ran.json["skipped"] if one.get("unexamined")] == [str(tmp_path / "setup.bat")]


def test_a_facts_file_of_nothing_that_is_known_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text('plan.methood = "lora"\n', encoding="utf-8")
    ran = run(capsys, "check", "--facts", str(file))
    assert (ran.status, ran.out) == (2, "")
    assert "line 1: found the fact 'plan.methood';" in ran.err


def test_a_value_without_meaning_is_said_and_never_means_no(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text('[packages]\npeft = "the newest"\ntorch = "2.5.0"\n[plan]\nfp16 = "perhaps"\n', encoding="utf-8")
    ran = run(capsys, "check", "--facts", str(file), "--format", "json")
    assert ran.status == 0
    assert [skip["what"] for skip in ran.json["skipped"]] == ["packages.peft = the newest", "plan.fp16 = perhaps"]
    assert ran.json["facts"]["packages.peft"]["value"] == "the newest"


def test_facts_that_are_no_toml(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text("[packages\ntorch = 2", encoding="utf-8")
    ran = run(capsys, "check", "--facts", str(file))
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1
    assert str(file) in ran.err


def test_a_rule_file_with_five_errors_tells_all_five(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text(
        'id = "broken"\nseverity = "fatal"\neffect = "silent"\nconfidence = "sure"\ndetails = "Something."\n'
        '[affected]\nplan.metod = "lora"\n[[evidence]]\nurl = "http://example.org"\nkind = "issue"\nsays = "It fails."\n'
        '[[fix]]\ncode = "do it"\n',
        encoding="utf-8",
    )
    ran = run(capsys, "rules", "lint", str(file))
    assert ran.status == 2
    lines = ran.err.splitlines()
    assert len(lines) == 5
    for line, key in zip(lines, ("title", "severity", "confidence", "affected.plan", "evidence.url"), strict=True):
        assert f"{file}: {key}" in line
    checked = run(capsys, "check", "--rules", str(tmp_path), "--set", "packages.torch=2.5.0", "--python", str(tmp_path))
    assert checked.status == 2
    assert "Traceback" not in checked.err


def test_json_error_object(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "check", "./no/such/model/here", "--format", "json")
    assert ran.status == 2
    assert ran.json == {
        "schema_version": 1,
        "error": {
            "place": "./no/such/model/here",
            "found": "no such file or directory",
            "expected": "a model directory, a hub id, a requirements file or a training plan",
            "next": "check the path",
        },
    }


@pytest.mark.parametrize(
    "words", [["chek"], ["check", "--fail-on", "sometimes"], ["check", "--set", "plan.method"], ["explain"], ["check", "--format", "xml"]]
)
def test_a_command_line_that_cannot_be_understood(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    ran = run(capsys, *words)
    assert ran.status == 2
    assert ran.err.startswith("envdoctor: ")
    assert "Traceback" not in ran.err


def test_a_fact_that_does_not_exist_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "check", "--set", "gpu.nmae=H100")
    assert ran.status == 2
    assert "did you mean `gpu.name`?" in ran.err


def test_unknown_rule_suggests(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "explain", "requirement-malformd")
    assert ran.status == 2
    assert "requirement-malformed" in ran.err


def test_nothing_to_examine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text('[plan]\nmethod = "lora"\n', encoding="utf-8")
    ran = run(capsys, "check", "--facts", str(file), "--python", str(tmp_path / "none"))
    assert ran.status == 2
    assert "Traceback" not in ran.err


def test_a_run_without_a_package_or_a_model_fact_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)  # a clone in which README's .venv was made has an environment of its own
    plan = tmp_path / "plan.yaml"
    plan.write_text("output_dir: out\nper_device_train_batch_size: 2\nlearning_rate: 1.0e-4\n", encoding="utf-8")
    ran = run(capsys, "check", str(plan))
    assert ran.status == 2
    assert "no fact about a package or a model" in ran.err


DAMAGED = {
    "lfs-pointer": "snapshot-lfs-pointer",
    "truncated": "snapshot-safetensors-truncated",
    "huge-header": "snapshot-safetensors-header-invalid",
    "missing-shard": "snapshot-shard-missing",
}


@pytest.mark.parametrize(("name", "rule"), DAMAGED.items())
def test_damage_inside_a_model_is_a_finding_with_its_place_and_the_rest_is_checked(
    capsys: pytest.CaptureFixture[str], fixtures: Path, name: str, rule: str
) -> None:
    ran = run(capsys, "check", str(fixtures / "damaged" / name), "--facts", str(fixtures / "stacks" / "healthy.toml"), "--format", "json")
    assert ran.status == 1
    found = next(finding for finding in ran.json["findings"] if finding["rule"] == rule)
    assert found["status"] == "matched"
    assert found["location"]["file"].startswith(str(fixtures / "damaged" / name))
    assert "model.type" in ran.json["facts"]


def test_requirement_lines_that_are_wrong_are_findings_with_file_and_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("torch==2.6.0\ntransformers>=4.50,<4.40  # never\npeft==0.15.2\naccelerate=1.0\nnumpy<2\n", encoding="utf-8")
    ran = run(capsys, "check", str(file), "--format", "json")
    assert ran.status == 1
    places = {finding["rule"]: finding["location"] for finding in ran.json["findings"] if finding["rule"].startswith("requirement-")}
    assert places == {
        "requirement-unsatisfiable": {"file": str(file), "line": 2},
        "requirement-malformed": {"file": str(file), "line": 4},
    }
    assert ran.json["facts"]["packages.peft"] == {"value": "0.15.2", "source": str(file), "line": 3}
    assert ran.json["facts"]["packages.numpy"]["value"] == "<2"


@pytest.mark.parametrize("name", ["escapes", "escapes-index"])
def test_terminal_escapes_of_a_file_never_reach_the_terminal(capsys: pytest.CaptureFixture[str], fixtures: Path, name: str) -> None:
    for words in (["check"], ["facts"]):
        ran = run(capsys, *words, str(fixtures / "damaged" / name), "--facts", str(fixtures / "stacks" / "healthy.toml"))
        for stream in (ran.out, ran.err):
            assert not [character for character in stream if character != "\n" and not character.isprintable()]


def test_text_of_files_is_as_harmless_in_json(capsys: pytest.CaptureFixture[str], fixtures: Path) -> None:
    stack = str(fixtures / "stacks" / "healthy.toml")
    ran = run(capsys, "check", str(fixtures / "damaged" / "escapes"), "--facts", stack, "--format", "json")
    assert not [character for character in ran.out if character != "\n" and not character.isprintable()]
    assert ran.json["facts"]["model.type"]["value"] == "llama\\x1b]0;pwned\\x07"


def test_an_output_that_cannot_be_written(capsys: pytest.CaptureFixture[str], fixtures: Path, tmp_path: Path) -> None:
    stack = str(fixtures / "stacks" / "healthy.toml")
    ran = run(capsys, "check", "--facts", stack, "--output", str(tmp_path / "no" / "such" / "folder.txt"))
    assert ran.status == 2
    assert "--output" in ran.err


def test_an_error_of_our_own_is_ready_to_paste(capsys: pytest.CaptureFixture[str], fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("\x1b[31mred")

    monkeypatch.setattr("envdoctor.app.judgement.diagnose", broken)
    ran = run(capsys, "check", "--facts", str(fixtures / "stacks" / "healthy.toml"), "--format", "json")
    assert ran.status == 3
    assert ran.json["error"]["found"] == "ZeroDivisionError: \x1b[31mred"
    assert ran.err.startswith("envdoctor: internal error; please report this text\nenvdoctor ")
    assert "Traceback (most recent call last):" in ran.err
    assert "\x1b" not in ran.err


def test_interrupted(capsys: pytest.CaptureFixture[str], fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("envdoctor.app.check.gather_all", interrupted)
    ran = run(capsys, "check", "--facts", str(fixtures / "stacks" / "healthy.toml"))
    assert (ran.status, ran.out, ran.err) == (130, "", "interrupted\n")
