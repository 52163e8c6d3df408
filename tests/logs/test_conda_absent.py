"""What conda lists as absent from its channels, chosen by the system that it ran on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

WINDOWS = """Solving environment: failed

ResolvePackageNotFound:
  - wincertstore=0.2
  - vs2015_runtime=14.16.27012
  - vc=14.1
"""
FAISS = """PackagesNotFoundError: The following packages are not available from current channels:

  - faiss-gpu=1.8.0

Current channels:

  - https://conda.anaconda.org/pytorch/osx-arm64
  - https://conda.anaconda.org/pytorch/noarch
  - defaults
"""
XFORMERS = "Solving environment: failed\n\nResolvePackageNotFound:\n  - xformers::xformers=0.0.18\n"
CUDA = "Solving environment: failed\n\nResolvePackageNotFound:\n  - cudatoolkit=10.2\n"
CUDNN = (
    "PackagesNotFoundError: The following packages are not available from current channels:\n\n  - cudnn=7.6.5\n  - cudatoolkit=10.1.243\n"
)
TOOLKIT = (
    "PackagesNotFoundError: not available from current channels:\n\n  - cudatoolkit={}*\n\nCurrent channels:\n\n  - pytorch\n  - defaults\n"
)
ARM = "Solving environment: failed\n\nResolvePackageNotFound:\n  - pip=20.3\n  - torchvision=0.12.0\n  - python=3.8.5\n"
GCC = "Solving environment: failed\n\nResolvePackageNotFound:\n  - libgcc-ng=9.3.0\n  - libstdcxx-ng=9.3.0\n"


def _said(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    log = tmp_path / "log.txt"
    log.write_text(text, encoding="utf-8")
    return " ".join(run(capsys, "diagnose", str(log), *more).out.replace("|", " ").split())


@pytest.mark.parametrize(
    ("text", "system", "says", "never"),
    [
        (WINDOWS, "linux", "leave wincertstore, vs2015_runtime, vc out of the file", "conda search"),
        (FAISS, "linux", "faiss-gpu=1.8.0: CUDA's, and no channel has it for macOS", "defaults"),
        (XFORMERS, "windows", "pip install xformers in the environment", "conda search"),
        (CUDA, "macos", "leave cudatoolkit out of the file on a Mac", "conda search"),
        (CUDA, "linux", "cudatoolkit=10.2: of another channel (pytorch, nvidia, conda-forge), not made for Linux", "aarch64"),
        (CUDNN, "macos", "leave cudnn, cudatoolkit out of the file on a Mac", "conda search"),
        (TOOLKIT.format("12.1"), "windows", "in its place pytorch-cuda=12.1 with -c pytorch -c nvidia", "conda search"),
        (TOOLKIT.format("11.7.0"), "windows", "-c conda-forge (or conda-forge under channels", "conda search"),
        (ARM, "linux", "without a build for this processor", "conda search"),
        (GCC, "windows", "leave libgcc-ng, libstdcxx-ng out of the file", "conda search"),
    ],
)
def test_the_system_chooses_among_what_it_may_be(
    text: str, system: str, says: str, never: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _said(text, tmp_path, capsys, "--set", f"os={system}")
    assert says in said
    assert never not in said
    assert "1 error" in said


def test_where_nobody_tells_the_system_all_of_it_stays_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "not made for this system (Windows, macOS, aarch64)" in _said(CUDA, tmp_path, capsys)
