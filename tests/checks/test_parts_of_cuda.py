"""Parts of CUDA beside a torch that requires other releases of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

PARTS = ("torch==2.4.0", "nvidia-cublas-cu12==12.4.2.65", "nvidia-curand-cu12==10.3.5.119")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("environment.yml", "dependencies:\n  - python=3.10\n  - pip:\n      - {}\n      - {}\n      - {}\n", "error: 2 parts of CUDA"),
        ("requirements.txt", "{}\n{}\n{}\n", "2 parts of CUDA"),
        ("requirements.txt", "--extra-index-url https://download.pytorch.org/whl/cu124\n{}\n{}\n{}\n", None),
        ("requirements.txt", "--index-url https://download.pytorch.org/whl/cu121\n{}\n{}\n{}\n", "error: 2 parts of CUDA"),
    ],
)
def test_a_build_for_another_cuda_requires_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, text: str, told: str | None
) -> None:
    (tmp_path / name).write_text(text.format(*PARTS))
    out = run(capsys, "check", str(tmp_path / name)).out
    assert ((told or "CUDA") in out) == (told is not None)


@pytest.mark.parametrize(("cuda", "told"), [("12.4", False), ("12.1", True)])
def test_so_does_one_whose_cuda_is_stated(capsys: pytest.CaptureFixture[str], tmp_path: Path, cuda: str, told: bool) -> None:
    lines = [f'"{name}" = "{version}"\n' for name, version in (part.split("==") for part in PARTS)]
    (tmp_path / "facts.toml").write_text(f'cuda = "{cuda}"\n[packages]\n{"".join(lines)}')
    assert ("parts of CUDA" in run(capsys, "check", "--facts", str(tmp_path / "facts.toml")).out) == told
