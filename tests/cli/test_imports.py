"""The parent never imports the libraries that it examines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = """
import sys
from envdoctor.cli import main
status = main(sys.argv[1:])
print("LOADED", *sys.modules, file=sys.stderr)
sys.exit(status)
"""


LIBRARIES = ("huggingface_hub", "numpy", "peft", "torch", "transformers", "yaml")


def loaded(*words: str, among: tuple[str, ...] = LIBRARIES) -> list[str]:
    done = subprocess.run([sys.executable, "-c", CHECK, *words], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    told = next(line for line in done.stderr.splitlines() if line.startswith("LOADED")).split()[1:]
    return [name for name in among if name in told]


def test_a_check_imports_no_library_of_the_stack(fixtures: Path) -> None:
    assert loaded("check", str(fixtures / "chatglm3-6b"), "--python", sys.executable) == []


@pytest.mark.large
def test_joint_pins_for_final_releases_are_found_without_packaging(fixtures: Path) -> None:
    """It takes longer to import than most checks take."""
    stack = str(fixtures / "stacks" / "chatglm3-bad.toml")
    words = ("check", str(fixtures / "chatglm3-6b"), str(fixtures / "plans" / "chatglm3-lora.json"), "--facts", stack)
    assert loaded(*words, among=("packaging",)) == []


def test_yaml_is_imported_only_for_a_yaml_plan(fixtures: Path) -> None:
    stack = str(fixtures / "stacks" / "chatglm3-bad.toml")
    assert loaded("check", str(fixtures / "plans" / "chatglm3-lora.yaml"), "--facts", stack) == ["yaml"]
