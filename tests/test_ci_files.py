"""What other people's pipelines take from the repository: the hooks, the action and its script, the container recipe."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}


@pytest.mark.parametrize(
    "path",
    [
        "requirements.txt", "requirements-dev.txt", "dev-requirements.in", "deep/er/requirements_gpu.txt", "constraints.txt",
        "requirement.txt", "requirements/base.txt",
        "pyproject.toml", "sub/setup.cfg", "setup.py", "Pipfile", "Pipfile.lock", "uv.lock", "poetry.lock", "pdm.lock",
        "pylock.toml", "pylock.gpu.toml", "environment.yml", "environment-gpu.yaml", "Dockerfile", "docker/Dockerfile.gpu",
        "Containerfile", "train.dockerfile",
    ],
)  # fmt: skip
def test_the_requirements_hook_takes_the_files_that_state_packages(path: str) -> None:
    assert re.search(HOOKS["envdoctor"]["files"], path)


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "requirements.md",
        "my_setup.py",
        "package.lock",
        "train.py",
        "config.yaml",
        "environment.py",
        "notpyproject.toml",
        "a.json",
    ],
)
def test_the_requirements_hook_leaves_other_files_alone(path: str) -> None:
    assert not re.search(HOOKS["envdoctor"]["files"], path)


def test_the_plan_hook_runs_on_nothing_until_it_is_told() -> None:
    hook = HOOKS["envdoctor-plan"]
    assert not re.search(hook["files"], "configs/lora.yaml")
    assert hook["types_or"] == ["yaml", "json"]


def test_the_hooks_are_offline_and_one_process() -> None:
    for hook in HOOKS.values():
        assert "--offline" in hook["entry"].split()
        assert hook["require_serial"] is True


def test_the_action_names_its_parts_by_commit_and_puts_no_input_into_a_script() -> None:
    action: Any = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    steps = action["runs"]["steps"]
    assert all(re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step)
    assert all("${{" not in step["run"] for step in steps if "run" in step)
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(steps)))
    assert used == set(action["inputs"])


class Job:
    """A step of a GitHub job that runs the action's script, with envdoctor already installed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        scripts = directory / "temp" / "envdoctor" / "venv" / "bin"
        scripts.mkdir(parents=True)
        program = scripts / "envdoctor"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m envdoctor "$@"\n')
        program.chmod(0o755)
        (directory / "repo").mkdir()

    def run(self, **inputs: str) -> tuple[str, dict[str, str], str]:
        """What the step prints, its outputs and the job's summary."""
        output, summary = self.directory / "output", self.directory / "summary"
        for file in (output, summary):
            file.write_text("")
        environ = {
            **os.environ, "RUNNER_TEMP": str(self.directory / "temp"), "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_WORKSPACE": str(self.directory / "repo"), "PYTHONPATH": str(ROOT),
            **{f"ENVDOCTOR_{name.upper()}": value for name, value in inputs.items()},
        }  # fmt: skip
        script = ["bash", str(ROOT / "scripts" / "action.sh")]
        done = subprocess.run(script, env=environ, cwd=self.directory / "repo", capture_output=True, text=True, check=True)
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done.stdout, outputs, summary.read_text()


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.mark.large
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_the_action_annotates_summarises_and_reports(job: Job) -> None:
    (job.directory / "repo" / "my requirements.txt").write_text("torch==2.2.2\nnumpy==2.1.3\n")
    printed, outputs, summary = job.run(targets="my requirements.txt\n", args="--offline", sarif="true")
    assert printed.startswith("::error file=my requirements.txt,line=2,title=envdoctor%3A numpy-2-with-torch-before-2-3::")
    assert outputs["exit-code"] == "1"
    assert summary.startswith("## envdoctor: 1 error, ")
    (run,) = json.loads(Path(outputs["sarif-file"]).read_text(encoding="utf-8"))["runs"]
    assert [result["ruleId"] for result in run["results"] if result["level"] == "error"] == ["numpy-2-with-torch-before-2-3"]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_the_action_passes_on_what_it_is_told(job: Job) -> None:
    (job.directory / "repo" / "requirements.txt").write_text("torch==2.2.2\nnumpy==2.1.3\n")
    _, outputs, summary = job.run(targets="requirements.txt", args="--offline\n  --strict  \n", fail_on="never", summary="false")
    assert outputs == {"exit-code": "0"}
    assert summary == ""


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_the_action_uploads_nothing_where_nothing_was_checked(job: Job) -> None:
    _, outputs, summary = job.run(targets="$(touch here) *.txt", args="--offline", sarif="true")
    assert outputs == {"exit-code": "2"}
    assert summary.startswith("## envdoctor: could not run")
    assert not (job.directory / "repo" / "here").exists()


@pytest.mark.large
def test_the_image_of_the_example_fails_on_its_own_requirements_and_passes_with_the_cure(tmp_path: Path) -> None:
    bad = (ROOT / "examples" / "container" / "requirements.txt").read_text(encoding="utf-8")
    dockerfile = (ROOT / "examples" / "container" / "Dockerfile").read_text(encoding="utf-8")
    assert "RUN /opt/envdoctor/bin/envdoctor check /check/requirements.txt --offline" in dockerfile

    def status(text: str) -> int:
        (tmp_path / "requirements.txt").write_text(text)
        command = [sys.executable, "-m", "envdoctor", "check", "requirements.txt", "--offline"]
        return subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False
        ).returncode

    assert status(bad) == 1
    assert status(bad.replace("numpy==2.1.3", "numpy==1.26.4")) == 0


def test_the_hook_of_before_does_what_the_hook_does() -> None:
    names = ("id", "name")
    new, old = ({key: value for key, value in HOOKS[name].items() if key not in names} for name in ("envdoctor", "envdoctor-requirements"))
    assert new == old
