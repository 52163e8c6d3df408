"""Lines of tools that are no errors of Python's: a word of a command line, a lock, a build that the hub lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import NOTHING, findings

CLAP = "error: {}\n\n  tip: a similar argument exists: '{}'\n\nUsage: {} <PACKAGE>\n\nFor more information, try '--help'."
LOCK = "error: Failed to parse `uv.lock`\n  Caused by: {}"
KERNEL = "FileNotFoundError: Kernel at path `/c/models--acme--attention/snapshots/add` does not have {}"


@pytest.mark.parametrize(
    ("log", "says", "cure"),
    [
        (CLAP.format("unexpected argument '--torch-backend' found", "--no-cache", "uv.exe pip install"), "uv", "uv self update"),
        (CLAP.format("unexpected argument '--artifact-dir' found", "--dir", "cargo build"), "cargo", "rustup update"),
        (CLAP.format("unexpected argument '--max-token' found", "--max-tokens", "serve"), "it is called --max-tokens", "in place of"),
        ("$ uv format\nerror: unrecognized subcommand 'format'", "The uv that ran does not know format", "uv self update"),
        ("error: invalid value 'cu130' for '--torch-backend <T>'\n  [possible values: cpu]", "the value cu130", "uv self update"),
        (LOCK.format("Dependency `torch` has missing `source` field but has more than one matching package"), "edited", "uv lock"),
        (LOCK.format("TOML parse error at line 57, column 1\n   |\n57 | <<<<<<< HEAD"), "A merge left its marks", "git checkout"),
        ("error: Failed to parse: `pyproject.toml`\n  Caused by: unknown field `build-backend-x`", "build-backend-x", "uv self update"),
        (
            "error: The lockfile at `uv.lock` uses an unsupported schema version (v2, but only v1 is supported). Downgrade",
            "a later uv",
            "uv self update",
        ),
        (KERNEL.format("build: torch210-cxx11-cu126-aarch64-linux"), "the machine is aarch64", "build it for this machine"),
        (KERNEL.format("one of build variants: torch29-cxx11-cpu-x86_64-linux, torch-cpu"), "a build for the CPU", "a torch for CUDA"),
        (KERNEL.format("build: torch27-cxx11-cu118-x86_64-linux"), "torch that ran is 2.7 for cu118", "a torch of one of these"),
    ],
)
def test_who_refused_and_what_helps_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, says: str, cure: str) -> None:
    told = findings(capsys, tmp_path, log)[0]
    assert told["status"] == "matched"
    assert says in str(told)
    assert cure in str(told["fixes"])


def test_the_stated_release_of_the_tool_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = CLAP.format("unexpected argument '--torch-backend' found", "--no-cache", "uv pip install")
    assert "The uv 0.6.7 that ran" in str(findings(capsys, tmp_path, log, NOTHING + '[packages]\nuv = "0.6.7"\n')[0])


def test_a_setting_that_uv_passes_over_is_no_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "warning: Failed to parse `pyproject.toml` during settings discovery:\n  TOML parse error at line 4, column 1\ninvalid key"
    assert findings(capsys, tmp_path, log) == []
