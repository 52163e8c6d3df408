"""What is shipped: the wheel carries the rules and finds them; the sdist has what the wheel is made from."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.network


def call(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_installed_wheel_finds_its_rules(tmp_path: Path) -> None:
    call(sys.executable, "-m", "build", "--outdir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    assert wheel.name.startswith("llm_envdoctor-")
    shipped = len(list((ROOT / "rules").rglob("*.toml")))
    with tarfile.open(sdist) as archive:
        assert sum("/rules/" in name and name.endswith(".toml") for name in archive.getnames()) == shipped
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    listed = json.loads(call(tmp_path / "venv" / "bin" / "envdoctor", "rules", "--format", "json", cwd=tmp_path))
    here = json.loads(call(sys.executable, "-m", "envdoctor", "rules", "--format", "json", cwd=ROOT))
    assert listed == here
    assert len(listed["rules"]) == shipped
    command = [str(tmp_path / "venv" / "bin" / "envdoctor"), "rules", "new", "flash-attn-3-x"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (refused.returncode, "--rules DIR" in refused.stderr) == (2, True)
    linted = call(tmp_path / "venv" / "bin" / "envdoctor", "rules", "lint", "peft-fp16-adapter-nan", cwd=tmp_path)
    assert linted == "1 rule files, nothing wrong\n"
