"""A stranger's first rule is one file, from the clone to the last green test."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.clone
@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="no clone of the repository")
def test_a_rule_lands_as_one_file() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "land_a_rule.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "one file, and everything passes: rules/flash-attn/flash-attn-2-6-1-gemma2-gradients.toml"
