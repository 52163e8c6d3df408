"""What a shell asks at every press of Tab, and the script that makes it ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import run


def completions(line: str, tmp_path: Path) -> list[str]:
    """The words that a shell is offered for a line."""
    answers = tmp_path / "answers"
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answers),
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
    }
    environment = {**os.environ, **asked, "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_SHELL": "bash"}
    subprocess.run([sys.executable, "-m", "envdoctor"], env=environment, check=True, capture_output=True)
    return answers.read_text(encoding="utf-8").split("\n") if answers.exists() else []


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("envdoctor che", ["check"]),
        ("envdoctor check --form", ["--format"]),
        ("envdoctor check --format js", ["json"]),
        ("envdoctor explain peft-fp16-adapter-n", ["peft-fp16-adapter-nan"]),
        ("envdoctor probe lora-s", ["lora-step"]),
        ("envdoctor check --set plan.method", ["plan.method="]),
    ],
)
def test_what_is_offered(tmp_path: Path, line: str, offered: list[str]) -> None:
    assert completions(line, tmp_path) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_every_shell_has_its_script(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    ran = run(capsys, "completion", shell)
    assert (ran.status, ran.err) == (0, "")
    assert "_ARGCOMPLETE" in ran.out
    if shutil.which(shell) and shell != "powershell":
        subprocess.run([shell, "-n"], input=ran.out, text=True, check=True)


def test_without_the_extra_it_says_which(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "argcomplete.shell_integration", None)
    ran = run(capsys, "completion", "bash")
    assert (ran.status, ran.out) == (2, "")
    assert 'pip install "llm-envdoctor[completion]"' in ran.err
