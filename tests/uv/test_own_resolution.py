"""Installing envdoctor beside a training stack moves nothing of the stack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.network

PROJECT = Path(__file__).parent.parent.parent / "pyproject.toml"

# Stacks as people ran them, and the Python they ran them on.
STACKS = {
    "transformers-4.33": (
        "3.10",
        "torch==2.0.1 transformers==4.33.3 peft==0.5.0 accelerate==0.21.0 tokenizers==0.13.3 safetensors==0.3.3 "
        "huggingface-hub==0.16.4 numpy==1.24.4 packaging==23.1 rich==13.5.3 pyyaml==6.0.1",
    ),
    "transformers-5.0": (
        "3.11",
        "torch==2.9.1 transformers==5.0.0 peft==0.18.1 accelerate==1.12.0 tokenizers==0.22.2 safetensors==0.7.0 "
        "huggingface-hub==1.33.0 numpy==2.3.5 packaging==26.0 rich==14.2.0 pyyaml==6.0.3",
    ),
    "transformers-5.23": (
        "3.11",
        "torch==2.15.0 transformers==5.23.0 peft==0.21.2 accelerate==1.15.0 tokenizers==0.23.3 safetensors==0.8.0 "
        "huggingface-hub==2.4.0 numpy==2.4.6 packaging==26.3 rich==15.0.0 pyyaml==6.0.3",
    ),
    "lightning-2.2": (
        "3.11",
        "lightning==2.2.5 torch==2.2.2 transformers==4.39.3 peft==0.10.0 accelerate==0.28.0 tokenizers==0.15.2 safetensors==0.4.2 "
        "huggingface-hub==0.22.2 numpy==1.26.4 packaging==23.2 rich==13.7.1 pyyaml==6.0.1",
    ),
}


def resolve(python: str, *inputs: str) -> dict[str, str]:
    """Name and version of all packages that uv would install on Linux."""
    pytest.importorskip("uv")
    options = ["--no-build", "--no-header", "--no-annotate", "--python-platform", "x86_64-manylinux_2_28", "--python-version", python]
    result = subprocess.run(
        [sys.executable, "-m", "uv", "pip", "compile", *options, *inputs],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "UV_PYTHON_DOWNLOADS": "never"},
    )
    assert result.returncode == 0, result.stderr
    pairs = (line.partition("==") for line in result.stdout.splitlines())
    return {name: version for name, _, version in pairs}


@pytest.mark.parametrize("name", STACKS)
def test_nothing_of_the_stack_moves(name: str, tmp_path: Path) -> None:
    python, pins = STACKS[name]
    stated = tmp_path / "stated.txt"
    stated.write_text("\n".join(pins.split()) + "\n")
    before = resolve(python, str(stated))
    assert [f"{package}=={before[package]}" for package in (pin.split("==")[0] for pin in pins.split())] == pins.split()

    frozen = tmp_path / "frozen.txt"
    frozen.write_text("".join(f"{package}=={version}\n" for package, version in before.items()))
    after = resolve(python, str(frozen), str(PROJECT))
    assert {package: after[package] for package in before} == before
    assert {"packaging", "rich", "pyyaml", "huggingface-hub"} <= set(after)
    assert set(after) - set(before) <= {"tomli"}


@pytest.mark.parametrize("name", [name for name, (_, pins) in STACKS.items() if "lightning" not in pins])
def test_a_stack_without_rich_gains_rich_and_no_more(name: str, tmp_path: Path) -> None:
    python, pins = STACKS[name]
    stated = tmp_path / "stated.txt"
    stated.write_text("".join(f"{pin}\n" for pin in pins.split() if not pin.startswith("rich")))
    before = resolve(python, str(stated))
    frozen = tmp_path / "frozen.txt"
    frozen.write_text("".join(f"{package}=={version}\n" for package, version in before.items()))
    after = resolve(python, str(frozen), str(PROJECT))
    assert {package: after[package] for package in before} == before
    assert set(after) - set(before) <= {"rich", "markdown-it-py", "mdurl", "pygments", "tomli"}
