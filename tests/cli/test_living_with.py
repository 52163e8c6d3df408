"""Many files in one run, and what a project excuses: settings, ignored findings, a baseline, a target machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import run

BAD = "torch==2.5.0\ntransformers==4.46.3\nnumpy==1.26.4\n"
GOOD = "torch==2.5.1\ntransformers==4.46.3\nnumpy==1.26.4\n"
DRIVER = "linux-x86_64,python=3.11,gpu=H100,driver=450.80.02"
RULE = "nvidia-driver-older-than-torch-cuda"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "requirements.txt").write_text("# stack\n" + BAD)
    (tmp_path / "b" / "requirements.txt").write_text(GOOD)
    return tmp_path


FILES = ("a/requirements.txt", "b/requirements.txt")


def told(report: dict[str, object]) -> list[tuple[str, str, int]]:
    findings = report["findings"]
    assert isinstance(findings, list)
    return [(one["rule"], one["location"]["file"], one["location"]["line"]) for one in findings if one["status"] == "matched"]


def test_every_file_by_itself(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    together = run(capsys, "check", *FILES, "--format", "json").json
    assert "situations" not in together
    assert [one["rule"] for one in together["findings"] if one["status"] == "matched"] == ["sources-disagree"]
    ran = run(capsys, "check", "--each", "--target", DRIVER, *FILES, "--format", "json")
    assert ran.status == 1
    assert told(ran.json) == [(RULE, "a/requirements.txt", 2), (RULE, "b/requirements.txt", 1)]
    assert ran.json["patient"] == "2 situations"
    assert ran.json["facts"]["packages.transformers"]["value"] == "4.46.3"
    assert "packages.torch" not in ran.json["facts"]
    assert [(one["patient"], one["facts"]["packages.torch"]["value"]) for one in ran.json["situations"]] == [
        ("packages of a/requirements.txt", "2.5.0"),
        ("packages of b/requirements.txt", "2.5.1"),
    ]


def test_of_many_files_one_that_cannot_be_read_hides_no_other(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "pyproject.toml").write_text("[project\n")
    ran = run(capsys, "check", "--each", "--isolated", "pyproject.toml", "a/requirements.txt", "--target", DRIVER, "--format", "json")
    assert ran.status == 1
    assert sorted((one["rule"], one["location"]["file"]) for one in ran.json["findings"] if one["severity"] == "error") == [
        ("input-unreadable", "pyproject.toml"),
        (RULE, "a/requirements.txt"),
    ]
    alone = run(capsys, "check", "--isolated", "pyproject.toml")
    assert (alone.status, alone.out) == (2, "")
    assert alone.err.startswith("envdoctor: pyproject.toml, line 1: found no TOML")


def test_what_is_ignored_does_not_count_and_is_said(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "envdoctor.toml").write_text(
        f'target = "{DRIVER}"\n\n[[ignore]]\nrule = "{RULE}"\nreason = "new driver ordered"\npaths = ["a/*"]\n\n'
        '[[ignore]]\nrule = "peft-fp16-adapter-nan"\nreason = "no peft here"\n'
    )
    ran = run(capsys, "check", "--each", *FILES)
    assert ran.status == 1
    assert f"excused  {RULE} (a/requirements.txt:2): ignored:\n           new driver ordered" in ran.out
    assert "1 error, 0 warnings" in ran.out
    assert "ignored but not found: peft-fp16-adapter-nan (envdoctor.toml:8)" in ran.out
    assert run(capsys, "check", "--each", FILES[0]).status == 0
    found = run(capsys, "check", "--each", FILES[0], "--format", "json").json
    assert [one["excused"] for one in found["findings"] if one["rule"] == RULE] == ["ignored: new driver ordered"]
    assert found["summary"]["excused"] == 1
    assert run(capsys, "check", "--isolated", "--each", FILES[0], "--target", DRIVER).status == 1


def test_an_exception_ends_on_its_day(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    entry = f'target = "{DRIVER}"\n[[ignore]]\nrule = "{RULE}"\nreason = "for a while"\nuntil = '
    (project / "envdoctor.toml").write_text(entry + "2999-12-31\n")
    assert run(capsys, "check", FILES[0]).status == 0
    (project / "envdoctor.toml").write_text(entry + "2020-12-31\n")
    ran = run(capsys, "check", FILES[0], "--format", "json")
    assert ran.status == 1
    expired = [one for one in ran.json["findings"] if one["rule"] == "ignore-expired"]
    assert [(one["severity"], one["location"], one["detail"]) for one in expired] == [
        ("warning", {"file": "envdoctor.toml", "line": 2}, f"{RULE} was ignored until 2020-12-31: for a while")
    ]


def test_settings_for_some_paths(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "pyproject.toml").write_text(
        f'[tool.envdoctor]\ntarget = "{DRIVER}"\n[[tool.envdoctor.overrides]]\npaths = ["a"]\nfail-on = "never"\n'
    )
    assert run(capsys, "check", FILES[0]).status == 0
    assert "1 error" in run(capsys, "check", FILES[0]).out
    assert run(capsys, "check", FILES[1]).status == 1
    assert run(capsys, "check", FILES[1], "--fail-on", "never").status == 0


def test_only_what_is_new_fails(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    words = ("check", "--each", *FILES, "--target", DRIVER)
    assert run(capsys, *words, "--write-baseline", "known.json").status == 0
    rows = json.loads((project / "known.json").read_text())["findings"]
    assert {(row["file"], row["rule"]) for row in rows} >= {("a/requirements.txt", RULE), ("b/requirements.txt", RULE)}
    (project / "a" / "requirements.txt").write_text("accelerate==1.1.0\n\n# moved\n" + BAD)
    ran = run(capsys, *words, "--baseline", "known.json")
    assert ran.status == 0
    assert "of the baseline" in ran.out
    (project / "b" / "requirements.txt").write_text(GOOD + "transformers==4.40.0\n")
    ran = run(capsys, *words, "--baseline", "known.json", "--format", "json")
    assert ran.status == 1
    new = [one for one in ran.json["findings"] if one["status"] == "matched" and "excused" not in one]
    assert [(one["rule"], one["location"]) for one in new] == [("requirement-unsatisfiable", {"file": "b/requirements.txt", "line": 4})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("{", "no JSON"),
        ("[]", "JSON of another form"),
        ('{"schema_version": 1, "findings": [{}]}', "of another form"),
    ],
)
def test_a_baseline_that_is_none(capsys: pytest.CaptureFixture[str], project: Path, text: str | None, said: str) -> None:
    if text is not None:
        (project / "known.json").write_text(text)
    ran = run(capsys, "check", FILES[0], "--baseline", "known.json")
    assert ran.status == 2
    assert said in ran.err
    assert "--write-baseline known.json" in ran.err


def test_a_profile_that_does_not_exist(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "envdoctor.toml").write_text('[targets.train]\nplatform = "linux-x86_64"\n')
    ran = run(capsys, "check", FILES[0], "--target", "tain")
    assert (ran.status, ran.err) == (
        2,
        "envdoctor: --target: found the profile 'tain'; expected one of train; next: perhaps train\n",
    )


def test_a_wrong_setting_is_refused_with_all_that_is_wrong(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "envdoctor.toml").write_text("strct = true\nbaseline = 3\n")
    ran = run(capsys, "check", FILES[0])
    assert ran.status == 2
    assert [line.partition("; expected")[0] for line in ran.err.splitlines()] == [
        "envdoctor: envdoctor.toml, line 1: strct: found the key 'strct'",
        "envdoctor: envdoctor.toml, line 2: baseline: found 3",
    ]
