"""A project given as its folder: one situation of what it declares and of all its code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envdoctor.app.situations import is_locked
from envdoctor.facts.fact import Collected, Fact, Origin
from envdoctor.facts.versions import exact
from envdoctor.sources.targets import Target
from tests.atlas.test_installed_code import folder
from tests.cli.run import run

__all__ = ["folder"]

OLD = "from acme import Kept\nKept(1, b=2)\n"


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    done = run(capsys, "check", "--offline", "--isolated", "--format", "json", *words)
    return done.status, json.loads(done.out)


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    found = folder / "project"
    write(found, "requirements.txt", "acme==2.0\n")
    write(found, "train.py", "import helper\n")
    write(found, "src/deep/more.py", OLD)
    cell: dict[str, Any] = {"cell_type": "code", "source": OLD, "metadata": {}, "outputs": [], "execution_count": None}
    write(found, "look.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return found


def broken(report: dict[str, Any]) -> set[str]:
    found = (one["location"]["file"] for one in report["findings"] if one["rule"] == "code-breaks")
    return {Path(file).name for file in found}


def test_its_list_and_all_its_code_are_one_situation(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    status, report = check(capsys, "project")
    assert status == 1
    assert broken(report) == {"more.py", "look.ipynb"}
    assert report["patient"] == "packages of project/requirements.txt, project (2 scripts and 1 notebook)"


@pytest.mark.parametrize("place", [".hidden", "third_party", "env", "wandb_runs"])
def test_code_that_is_not_its_own_is_left_out(capsys: pytest.CaptureFixture[str], project: Path, place: str) -> None:
    (project / "src" / "deep" / "more.py").unlink()
    (project / "look.ipynb").unlink()
    (project / place).mkdir()
    (project / place / "theirs.py").write_text(OLD)
    (project / "env").mkdir(exist_ok=True)
    (project / "env" / "pyvenv.cfg").write_text("")
    (project / ".gitignore").write_text("/wandb_runs/\n*.pt\n")
    status, report = check(capsys, "project")
    assert status == 0
    assert broken(report) == set()
    assert report["patient"].endswith("project (1 script; 1 left out)" if place != ".hidden" else "project (1 script)")


def test_what_one_script_says_of_its_run_is_not_said_of_the_others(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    write(project, "a.py", "from transformers import TrainingArguments\nTrainingArguments('o', fp16=True)\n")
    write(project, "b.py", "from transformers import TrainingArguments\nTrainingArguments('o', bf16=True, fp16=False)\n")
    write(project, "empty.py", "")
    _, report = check(capsys, "project")
    assert "sources-disagree" not in {one["rule"] for one in report["findings"]}
    assert "an empty file" not in json.dumps(report)


def test_the_one_script_that_trains_is_the_run_of_the_project(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    write(project, "train.py", "from transformers import TrainingArguments\nTrainingArguments('o', per_device_train_batch_size=3)\n")
    write(project, "look.py", "from transformers import AutoTokenizer\n")
    _, report = check(capsys, "project")
    assert "the run of train.py" in report["patient"]
    assert report["facts"]["plan.batch_size"]["value"] == 3
    write(project, "more.py", "from transformers import TrainingArguments\nTrainingArguments('o', per_device_train_batch_size=5)\n")
    _, report = check(capsys, "project")
    assert "the run of" not in report["patient"]
    assert "plan.batch_size" not in report["facts"]


def test_the_line_of_the_script_is_shown(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "look.ipynb").unlink()
    out = run(capsys, "check", "--offline", "--isolated", "project").out
    assert "project/src/deep/more.py:2" in out
    assert "Kept(1, b=2)" in out


def test_lists_that_nobody_chose_among_are_told(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "src" / "deep" / "more.py").unlink()
    (project / "look.ipynb").unlink()
    write(project, "requirements/train.txt", "acme==1.0\n")
    write(project, "requirements-dev.txt", "acme==1.0\n")
    status, report = check(capsys, "project")
    assert status == 0
    assert {one["what"] for one in report["skipped"]} == {"project/requirements-dev.txt", "project/requirements/train.txt"}


def test_a_folder_that_is_a_model_stays_one(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    write(project, "config.json", json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}))
    _, report = check(capsys, "project", "project/requirements.txt")
    assert broken(report) == set()
    assert "script" not in report["patient"]


def test_a_folder_of_neither_is_refused_as_before(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(tmp_path, "nothing/notes.md", "hello")
    done = run(capsys, "check", str(tmp_path / "nothing"))
    assert done.status == 2
    assert "check also takes a project's folder" in done.err


def test_the_script_that_sets_the_argument_is_shown_not_the_first_that_sets_any(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    write(project, "a.py", "from transformers import TrainingArguments\nTrainingArguments('o', fp16=True)\n")
    write(project, "b.py", "from transformers import TrainingArguments\n\nTrainingArguments('o', evaluation_strategy='no')\n")
    write(project, "stack.toml", 'packages.transformers = "==4.53.3"\n')
    _, report = check(capsys, "project", "--facts", "project/stack.toml")
    (found,) = (one for one in report["findings"] if one["rule"] == "transformers-evaluation-strategy-removed")
    (place,) = (one for one in found["because"] if one["fact"] == "plan.arguments")
    assert Path(place["source"]).name == "b.py"


def test_a_lock_lists_what_it_locks_and_not_a_stack_that_is_stated_beside_it() -> None:
    def of(name: str) -> Collected:
        return Collected((Fact(f"packages.{name}", exact("1.0"), Origin(name)),), closed=True)

    lock = [Target("uv.lock", "lock", of("fastapi"))]
    assert is_locked(lock, [("facts file", of("fastapi")), ("--set", Collected())])
    assert not is_locked(lock, [("facts file", of("transformers"))])
    assert not is_locked([], [("facts file", of("fastapi"))])


def test_the_python_of_one_target_decides_the_markers_of_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "requirements.txt", "numpy==2.0.0; python_version >= '3.9'\nnumpy==1.24.4; python_version < '3.9'\n")
    write(tmp_path, "Dockerfile", "FROM python:3.8-slim\nRUN pip install requests\n")
    write(tmp_path, "environment.yml", "name: x\ndependencies:\n  - python=3.8\n")
    for beside in ("Dockerfile", "environment.yml"):
        _, told = check(capsys, str(tmp_path / "requirements.txt"), str(tmp_path / beside))
        assert told["facts"]["packages.numpy"]["value"] == "1.24.4"
        assert "requirement-refuses-python" not in {row["rule"] for row in told["findings"]}
