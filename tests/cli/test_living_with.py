"""Many files in one run, and what a project excuses: settings, ignored findings, a baseline, a target machine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from envdoctor.uv.asking import Call
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
    assert sorted((one["rule"], one["location"]["file"]) for one in ran.json["findings"] if _is_error(one)) == [
        ("input-unreadable", "pyproject.toml"),
        (RULE, "a/requirements.txt"),
    ]
    assert [one["location"]["line"] for one in ran.json["findings"] if one["rule"] == "input-unreadable"] == [1]
    alone = run(capsys, "check", "--isolated", "pyproject.toml")
    assert (alone.status, alone.out) == (2, "")
    assert alone.err.startswith("envdoctor: pyproject.toml, line 1, column 9: found no TOML")


def _is_error(finding: dict[str, object]) -> bool:
    return finding["severity"] == "error" and finding["status"] == "matched"


def test_where_no_file_can_be_used_nothing_was_checked(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "plan.json").write_text("{")
    ran = run(capsys, "check", "--isolated", "nowhere.txt", "plan.json", "--fail-on", "never")
    assert (ran.status, ran.out) == (2, "")
    assert [line.partition(": found")[0] for line in ran.err.splitlines()] == [
        "envdoctor: nowhere.txt",
        "envdoctor: plan.json, line 1, column 2",
    ]


def test_among_many_files_one_that_is_not_there_is_told_apart_from_one_that_is_not_for_us(
    capsys: pytest.CaptureFixture[str], project: Path
) -> None:
    (project / "plan.json").write_text("{")
    for words, status in (([FILES[1]], 2), ([FILES[0], "--target", DRIVER], 1)):
        ran = run(capsys, "check", "--each", "--isolated", "nowhere.txt", "plan.json", *words, "--format", "json")
        assert ran.status == status
        entries = {entry["what"]: entry.get("unexamined", False) for entry in ran.json["skipped"]}
        assert (entries["nowhere.txt"], entries["plan.json"]) == (True, False)
    assert run(capsys, "check", "--each", "--isolated", "plan.json", FILES[1]).status == 0


def test_beside_a_file_that_declares_packages_nothing_of_this_machine_is_read(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    """Also where another file, or what is always there, declares none: the first of them asks the environment for nobody else."""
    (project / "requirements-empty.txt").write_text("# nothing yet\n")
    (project / "setup.json").write_text('{"output_dir": "out", "fp16": true, "learning_rate": 1e-4, "per_device_train_batch_size": 2}')
    (project / "pyproject.toml").write_text(
        "[project]\nname = 'x'\nversion = '1'\n[project.optional-dependencies]\n"
        "train = ['torch==2.5.0']\nserve = ['torch==2.2.2', 'numpy==2.1.0']\n"
    )
    ran = run(capsys, "check", "--each", "--isolated", "requirements-empty.txt", "setup.json", *FILES, "pyproject.toml", "--format", "json")
    found = [
        (
            one["patient"],
            one["label"],
            sorted(n for n, fact in one["facts"].items() if "packages." in n and not fact["source"].startswith("required by torch")),
        )
        for one in ran.json["situations"]
    ]
    assert found[:1] + found[2:] == [
        ("packages of requirements-empty.txt", "", []),
        ("packages of a/requirements.txt", "", ["packages.numpy", "packages.torch", "packages.transformers"]),
        ("packages of b/requirements.txt", "", ["packages.numpy", "packages.torch", "packages.transformers"]),
        ("packages of pyproject.toml", "extra train", ["packages.torch"]),
        ("packages of pyproject.toml", "extra serve", ["packages.numpy", "packages.torch"]),
    ]
    assert found[1][0].endswith(", setup.json")
    assert {"what": "requirements-empty.txt", "why": "declares no package"} in ran.json["skipped"]
    alone = run(capsys, "check", "--isolated", "requirements-empty.txt", "--format", "json")
    assert (alone.status, alone.json["facts"], alone.json["skipped"]) == (
        0, {}, [{"what": "requirements-empty.txt", "why": "declares no package"}],
    )  # fmt: skip


def test_choices_of_a_file_beside_another_that_says_what_is_always_there(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "pyproject.toml").write_text(
        "[project]\nname = 'x'\nversion = '1'\n[project.optional-dependencies]\ntrain = ['peft==0.11.1']\n"
    )
    ran = run(capsys, "check", "--isolated", "pyproject.toml", FILES[0], "--format", "json")
    assert [(one["label"], "packages.peft" in one["facts"], "packages.torch" in one["facts"]) for one in ran.json["situations"]] == [
        ("", False, True),
        ("pyproject.toml, extra train", True, True),
    ]


def test_a_file_given_twice_is_one(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    once = run(capsys, "check", "--each", "--isolated", FILES[0], "--format", "json")
    assert run(capsys, "check", "--each", "--isolated", FILES[0], FILES[0], "--format", "json") == once
    assert "situations" not in once.json


def test_no_network_means_none(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    ran = run(capsys, "check", "--isolated", "--offline", "--resolve", FILES[0])
    assert (ran.status, ran.err.partition("; expected")[0]) == (2, "envdoctor: --resolve: found --offline")
    (project / "envdoctor.toml").write_text("offline = true\n")
    ran = run(capsys, "check", "--resolve", FILES[0])
    assert (ran.status, ran.err.partition("; expected")[0]) == (2, "envdoctor: --resolve: found offline = true in envdoctor.toml")


def test_a_resolution_is_for_the_python_that_the_project_asks_for(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def uv(call: Call) -> subprocess.CompletedProcess[str]:
        asked.append([*call.words[call.words.index("--python-version") :][:2]])
        return subprocess.CompletedProcess(call.words, 0, "peft==0.11.1\n", "")

    monkeypatch.setattr("envdoctor.uv.asking._uv", uv)
    project_of = "[project]\nname = 'x'\nversion = '1'\nrequires-python = '{}'\ndependencies = ['peft']\n"
    (project / "pyproject.toml").write_text(project_of.format("==3.9.*"))
    (project / "Dockerfile").write_text("FROM python:3.12-slim\nRUN pip install peft\n")
    run(capsys, "check", "--isolated", "--resolve", "pyproject.toml")
    run(capsys, "check", "--isolated", "--resolve", "Dockerfile")
    run(capsys, "check", "--isolated", "--resolve", "Dockerfile", "--target", "python=3.10")
    assert asked == [["--python-version", version] for version in ("3.9", "3.12", "3.10")]


def test_settings_are_named_or_left_out(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    ran = run(capsys, "check", FILES[0], "--isolated", "--config", "x.toml")
    assert (ran.status, ran.err) == (2, "envdoctor: --isolated: found --config x.toml as well; expected one of both; next: leave one out\n")


def test_a_day_before_all_releases(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    ran = run(capsys, "check", "--isolated", "--each", *FILES, "--as-of", "1999-01-01", "--target", DRIVER, "--format", "json")
    assert ran.status == 1
    assert all(not fix.get("pins") or "+" in str(fix["pins"]) for one in ran.json["findings"] for fix in one["fixes"])


def test_a_resolution_needs_something_to_resolve(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    ran = run(capsys, "check", "--isolated", "--resolve")
    assert (ran.status, ran.err.partition("; expected")[0]) == (2, "envdoctor: --resolve: found no target that declares packages")


def test_a_day_is_that_of_one_run(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    today = run(capsys, "check", "--isolated", FILES[0], "--format", "json")
    then = run(capsys, "check", "--isolated", FILES[0], "--as-of", "2024-01-01", "--format", "json")
    assert then.json["tool"]["releases_as_of"] == "2024-01-01"
    assert "torch" in then.json["coverage"]["packages_newer_than_rules"]
    assert run(capsys, "check", "--isolated", "nowhere.txt", "--as-of", "2020-01-01").status == 2
    assert run(capsys, "check", "--isolated", FILES[0], "--format", "json") == today


def test_the_machine_of_the_command_line_goes_before_that_of_the_project(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "envdoctor.toml").write_text('target = "train"\n[targets.train]\npython = "3.11"\ngpu = "H100"\ndriver = "550.54.15"\n')
    (project / "facts.toml").write_text('driver = "450.80.02"\n')

    def driver(*words: str) -> tuple[str, str, int | None]:
        ran = run(capsys, "facts", FILES[0], *words, "--format", "json").json["facts"]["driver"]
        return ran["value"], ran["source"], ran.get("line")

    assert driver() == ("550.54.15", "envdoctor.toml: targets.train", 5)
    assert driver("--facts", "facts.toml") == ("450.80.02", "facts.toml", 1)
    assert driver("--facts", "facts.toml", "--target", "driver=535") == ("535", "--target", None)
    assert driver("--target", "driver=535", "--set", "driver=525") == ("525", "--set", None)
    told = run(capsys, "check", FILES[0], "--facts", "facts.toml", "--target", "driver=535", "--format", "json").json
    assert "sources-disagree" not in {one["rule"] for one in told["findings"]}


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
    assert run(capsys, "check", FILES[0], "--fail-on", "error").status == 1


def test_of_several_overrides_the_last_one_decides(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    levels = '[[overrides]]\npaths = ["a"]\nfail-on = "{}"\n[[overrides]]\npaths = ["**/requirements.txt"]\nfail-on = "{}"\n'
    for first, last, status in (("never", "error", 1), ("error", "never", 0)):
        (project / "envdoctor.toml").write_text(f'target = "{DRIVER}"\n' + levels.format(first, last))
        assert run(capsys, "check", FILES[0]).status == status


def test_an_entry_that_is_of_no_use_is_said_where_it_could_have_been(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "envdoctor.toml").write_text(
        '[[ignore]]\nrule = "peft-fp16-adapter-nan"\nreason = "x"\npaths = ["b"]\n'
        '[[overrides]]\npaths = ["b"]\nignore = [{ rule = "peft-fp16-adapter-unscale", reason = "x", paths = ["b/*.txt"] }]\n'
    )
    assert "ignored but not found" not in run(capsys, "check", FILES[0]).out
    told = run(capsys, "check", FILES[1]).out
    assert "ignored but not found: peft-fp16-adapter-nan (envdoctor.toml:1)" in told
    assert "ignored but not found: peft-fp16-adapter-unscale (envdoctor.toml:7)" in told


def test_an_entry_for_a_rule_that_does_not_exist_is_said(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "envdoctor.toml").write_text('[[ignore]]\nrule = "peft-fp16-adaptor-nan"\nreason = "x"\n')
    ran = run(capsys, "check", FILES[0])
    assert ran.status == 0
    words = " ".join(ran.out.split())
    assert "ignored, but there is no such rule: peft-fp16-adaptor-nan (envdoctor.toml:1); perhaps peft-fp16-adapter-nan" in words


def test_an_entry_for_some_files_leaves_what_is_of_no_file(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    entry = f'[[ignore]]\nrule = "{RULE}"\nreason = "x"\n'
    words = ("check", "--target", DRIVER, "--set", "packages.torch=2.5.0", "--set", "packages.transformers=4.46.3")
    (project / "envdoctor.toml").write_text(entry + 'paths = ["*"]\n')
    assert run(capsys, *words, "--facts", str(_facts(project))).status == 1
    (project / "envdoctor.toml").write_text(entry)
    assert run(capsys, *words, "--facts", str(_facts(project))).status == 0


def _facts(project: Path) -> Path:
    path = project / "facts.toml"
    path.write_text("[packages]\nnumpy = '1.26.4'\n")
    return path


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


def test_a_baseline_of_choices_and_of_several_files_has_all_that_was_found(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "pyproject.toml").write_text(
        "[project]\nname = 'x'\nversion = '1'\ndependencies = ['transformers==4.46.3']\n[project.optional-dependencies]\n"
        "train = ['torch==2.5.0', 'numpy==2.1.0']\nserve = ['torch==2.2.2', 'numpy==2.1.0']\nbad = ['torch ==', 'torch=2']\n"
    )
    words = ("check", "--each", "--isolated", *FILES, "pyproject.toml", "--target", DRIVER, "--format", "json")
    ran = run(capsys, *words)
    assert ran.status == 1
    assert any(one.get("within") == ["extra serve"] for one in ran.json["findings"])
    assert run(capsys, *words, "--write-baseline", "known.json").status == 0
    again = run(capsys, *words, "--baseline", "known.json")
    assert again.status == 0
    assert {one.get("excused") for one in again.json["findings"]} == {"in the baseline"}
    assert again.json["summary"]["excused"] == len(again.json["findings"])


def test_a_baseline_written_anew_keeps_what_the_old_one_had(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    words = ("check", "--each", *FILES, "--target", DRIVER)
    run(capsys, *words, "--write-baseline", "old.json")
    assert run(capsys, *words, "--baseline", "old.json", "--write-baseline", "new.json").status == 0
    assert (project / "new.json").read_text() == (project / "old.json").read_text()


def test_a_baseline_means_the_same_everywhere_in_a_repository(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "--quiet", "."], cwd=project, check=True)
    run(capsys, "check", "--each", *FILES, "--target", DRIVER, "--write-baseline", "known.json")
    monkeypatch.chdir(project / "a")
    assert run(capsys, "check", "requirements.txt", "--target", DRIVER).status == 1
    assert run(capsys, "check", "requirements.txt", "--target", DRIVER, "--baseline", "../known.json").status == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("{", "no JSON"),
        ("[]", "JSON of another form"),
        ('{"schema_version": 1, "findings": [{}]}', "of another form"),
        ('{"schema_version": 1, "findings": ["torch"]}', "of another form"),
        ('{"schema_version": 1, "findings": {}}', "of another form"),
        ('{"schema_version": 2, "findings": []}', "of another form"),
        ("[" * 100_000, "no JSON"),
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


def test_a_notebook_that_installs_its_packages_is_not_about_this_environment(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": ["!pip install peft==0.11.1\n"],
    }
    (tmp_path / "train.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    found = run(capsys, "check", "--isolated", "train.ipynb", "--format", "json").json
    assert found["patient"] == "packages of train.ipynb"
    assert [name for name in found["facts"] if name.startswith("packages.")] == ["packages.peft"]
