"""A refused reshape: the numbers say which side is another than the code takes it for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.run import run


def told(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> str:
    (tmp_path / "log").write_text(text)
    return " ".join(re.sub(r"\n +\| ", " ", run(capsys, "diagnose", str(tmp_path / "log")).out).split())


@pytest.mark.parametrize(
    ("shape", "size", "expected"),
    [
        ("[-1, 32000]", 2048 * 151936, "Logits are laid out for a vocabulary of 32000, and this model's has 151936"),
        ("[-1, 32000]", 2048 * 128256, "Logits are laid out for a vocabulary of 32000, and this model has another"),
        ("[2, -1, 151936]", 2 * 511 * 152064, "Logits are laid out for a vocabulary of 151936, and this model's has 152064"),
        ("[1, 2048, 64, 128]", 2048 * 8 * 128, "Keys or values are laid out in 64 heads, and the model has 8 of them"),
        ("[2, 32, 700, 128]", 2 * 8 * 700 * 128, "Keys or values are laid out in 32 heads, and the model has 8 of them"),
        ("[4, 77, 768]", 4 * 768, "A tensor is given a shape that has not as many places as it has numbers"),
        ("[-1, 50257]", 1025 * 50255, "A tensor is given a shape that has not as many places as it has numbers"),
        ("[1, 16, 24, 7]", 1 * 16 * 12 * 7, "A tensor is given a shape that has not as many places as it has numbers"),
    ],
)
def test_what_the_numbers_come_to(capsys: pytest.CaptureFixture[str], tmp_path: Path, shape: str, size: int, expected: str) -> None:
    assert f": {expected} " in told(capsys, tmp_path, f"RuntimeError: shape '{shape}' is invalid for input of size {size}\n")


def test_ones_own_line_is_named_and_not_the_library_that_called_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = """Traceback (most recent call last):
  File "/opt/env/lib/python3.11/site-packages/unsloth_zoo/compiler.py", line 77, in training_step
    loss = self.compute_loss(model, inputs)
  File "/work/train.py", line 40, in compute_loss
    logits = outputs.logits.view(4, 77, 768)
RuntimeError: shape '[4, 77, 768]' is invalid for input of size 3072
"""
    because = told(capsys, tmp_path, text).partition("fix:")[0]
    assert "train.py:40, in compute_loss: `logits = outputs.logits.view(4, 77, 768)`" in because
    assert "unsloth" not in because
