"""Refusals read whole: who asks with which marker, which Python a list of releases is of, bounds that agree, and uv's lines at work."""

# ruff: noqa: E501 - as the installers print it

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

MARKERS = """  × No solution found when resolving dependencies for split (markers: sys_platform == 'linux'):
  ╰─▶ Because sglang==0.5.2 depends on outlines{python_full_version < '3.14'}==0.1.11 and guidance-app[all]==1.0 depends on
      outlines{platform_machine != 's390x'}>=1.0, we can conclude that sglang==0.5.2 and guidance-app==1.0 are incompatible.
"""
UNPUBLISHED = """  × No solution found when resolving dependencies:
  ╰─▶ Because there is no version of flashinfer-python{platform_machine == 'x86_64'}==0.2.5+g9f3b2c1
      and sglang==0.4.6.dev3 depends on flashinfer-python{platform_machine ==
      'x86_64'}==0.2.5+g9f3b2c1, we can conclude that sglang==0.4.6.dev3 cannot be used.
"""
BY_PIP = """ERROR: Could not find a version that satisfies the requirement pytorch-triton==3.0.0+989adb9a29 (from torch) (from versions: 0.0.1)
ERROR: No matching distribution found for pytorch-triton==3.0.0+989adb9a29
"""
TOO_NEW = """ERROR: Could not find a version that satisfies the requirement torchvision==0.15.2 (from versions: 0.17.0, 0.17.1, 0.17.2, 0.18.0)
ERROR: No matching distribution found for torchvision==0.15.2
"""
TENSORFLOW = """ERROR: Could not find a version that satisfies the requirement tensorflow==2.5.0 (from versions: 2.8.0, 2.8.1, 2.9.0, 2.10.0, 2.11.0)
ERROR: No matching distribution found for tensorflow==2.5.0
"""
TOO_OLD = """ERROR: Could not find a version that satisfies the requirement torchaudio==2.5.1 (from versions: 2.0.1, 2.0.2, 2.1.0, 2.2.0, 2.3.0, 2.4.0, 2.4.1)
ERROR: No matching distribution found for torchaudio==2.5.1
"""
LONG = """ERROR: Could not find a version that satisfies the requirement tokenizers==0.10.3 (from transformers==4.12.0) (from versions: 0.11.1, 0.12.0, 0.13.0, 0.15.0, 0.21.0)
ERROR: No matching distribution found for tokenizers==0.10.3
"""
ANOTHERS = """ERROR: Could not find a version that satisfies the requirement nvidia-cudnn-frontend-x==9.1.0 (from torch) (from versions: 8.9.2)
ERROR: No matching distribution found for nvidia-cudnn-frontend-x==9.1.0
"""
AT_WORK = """DEBUG Solving with installed Python version: 3.13.1
DEBUG Adding direct dependency: torchvision>=0.18.0, <0.18.0+
DEBUG Searching for a compatible version of torchvision (>=0.18.0, <0.18.0+)
DEBUG No compatible version found for: torchvision
"""
OVERLAP = """The conflict is caused by:
    myproject 0.1 depends on tokenizers>=0.13
    transformers 4.36.2 depends on tokenizers<0.15 and >=0.14

ERROR: ResolutionImpossible: for help visit https://pip
"""
AGREE = """The conflict is caused by:
    myproject 0.1 depends on numpy>=1.20
    other 2.0 depends on numpy<1.27 and >=1.22

ERROR: ResolutionImpossible: for help visit https://pip
"""
POETRY = """1. Because langchain depends on numpy (>=1.26.0,<2.0.0)
2. Because docling (>=2.4.1,<3.0.0) requires numpy (>=2.0.2,<3.0.0)
So, because my project depends on both langchain (^0.3.3) and docling (>=2.4.1,<3.0.0), version solving failed.
"""


def _said(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    log = tmp_path / "log.txt"
    log.write_text(text, encoding="utf-8")
    return " ".join(run(capsys, "diagnose", str(log), "-v", *more).out.replace("|", " ").split())


@pytest.mark.parametrize(
    ("text", "says", "never"),
    [
        (MARKERS, "sglang 0.5.2 requires outlines==0.1.11, and guidance-app 1.0 requires outlines>=1.0: no release of outlines is both", "{"),
        (UNPUBLISHED, "sglang 0.4.6.dev3 requires flashinfer-python==0.2.5+g9f3b2c1: behind the + stands one build", "for this Python"),
        (BY_PIP, "torch requires pytorch-triton==3.0.0+989adb9a29: behind the + stands one build", "for this Python"),
        (TOO_NEW, "torchvision==0.15.2 has wheels up to Python 3.11 and no others, and the list that pip saw (0.17.0 to 0.18.0) is that of Python 3.12", "platform"),
        (TENSORFLOW, "tensorflow==2.5.0 has wheels up to Python 3.9 and no others, and the list that pip saw (2.8.0 to 2.11.0) is that of Python 3.10", "platform"),
        (TOO_OLD, "torchaudio==2.5.1 has wheels from Python 3.9 on and no others, and the list that pip saw (2.0.1 to 2.4.1) is that of Python 3.8", "platform"),
        (LONG, "tokenizers", "--extra-index-url"),
        (ANOTHERS, "--extra-index-url in place of --index-url", 'pip install "nvidia-cudnn-frontend-x==8.9.2"'),
        (AT_WORK, "torchvision==0.18.0 has wheels up to Python 3.12 and no others, and this is Python 3.13", "no error"),
        (OVERLAP, "tokenizers 0.14.1 requires huggingface-hub<0.18,>=0.16.4, and transformers 4.36.2 huggingface-hub<1.0,>=0.19.3", "no release of tokenizers is both"),
        (AGREE, "the bounds quoted agree on numpy 1.22.0 to 1.26.4", "requires another release"),
        (POETRY, "langchain requires numpy>=1.26.0,<2.0.0, and docling >=2.4.1,<3.0.0 requires numpy>=2.0.2,<3.0.0", "numpy>=1.26.0,<2.0.0 is asked for"),
    ],
)  # fmt: skip
def test_what_an_installer_says_is_read_whole(text: str, says: str, never: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = _said(text, tmp_path, capsys)
    assert says in said
    assert never not in said


def test_a_stated_python_for_which_there_are_wheels_is_not_accused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "too new" not in _said(TOO_NEW.replace("0.17.0, 0.17.1", "0.14.0, 0.17.1"), tmp_path, capsys, "--set", "python=3.10")


def test_each_requirement_that_pip_broke_stands_at_its_own_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """ERROR: pip's dependency resolver does not currently take into account all the packages that are installed.
ipython 7.34.0 requires jedi>=0.16, which is not installed.
fairseq 0.12.2 requires hydra-core<1.1,>=1.0.7, but you have hydra-core 1.3.0 which is incompatible.
tensorflow 2.15.0 requires keras<2.16,>=2.15.0, but you have keras 3.0.5 which is incompatible.
"""
    log = tmp_path / "log.txt"
    log.write_text(text, encoding="utf-8")
    said = run(capsys, "diagnose", str(log)).out
    assert f"{log.name}:3" in said
    assert f"{log.name}:4" in said
