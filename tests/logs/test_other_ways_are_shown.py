"""Beside the first cure of a run that failed its page shows the other way: pins, settings, or the line that is written otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.cli.run import run

SITE = "/opt/venv/lib/python3.10/site-packages"
PILLOW = {
    "pillow": {
        "9.0.1": {"PIL/Image.py": "ANTIALIAS = 1\n"},
        "9.4.0": {"PIL/Image.py": "ANTIALIAS = 1\nLANCZOS = 1\n"},
        "9.5.0": {"PIL/Image.py": "ANTIALIAS = 1\nLANCZOS = 1\n"},
        "10.0.0": {"PIL/Image.py": "LANCZOS = 1\n"},
    }
}

ONE_RELEASE = """
id         = "peft-one-release-tensors"
title      = "peft 0.13.0 leaves an adapter where it was"
severity   = "warning"
effect     = "crash"
confidence = "cited"
symptoms   = ["Expected all tensors to be on the same device"]
details    = "An adapter stays on the CPU."

[affected]
packages = ["peft ==0.13.0"]

[[fix]]
pin  = "peft >=0.13.1"
note = "moves it"

[[evidence]]
url  = "https://github.com/huggingface/peft/issues/1"
kind = "issue"
says = "An example."

[[case]]
expect = "match"
facts  = { packages.peft = "==0.13.0" }
[[case]]
expect = "no-match"
facts  = { packages.peft = "==0.13.1" }
[[case]]
expect = "unknown"
facts  = {}
"""


def cures(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, facts: str) -> str:
    """The page from its first cure to the next blank line."""
    pasted, stated = tmp_path / "log.txt", tmp_path / "facts.toml"
    pasted.write_text(log + "\n", encoding="utf-8")
    stated.write_text(facts, encoding="utf-8")
    page = run(capsys, "diagnose", str(pasted), "--facts", str(stated)).out
    return page[page.index("  fix: ") :].split("\n\n")[0]


def test_a_file_of_a_package_is_changed_where_no_pin_is_wanted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        f'Traceback (most recent call last):\n  File "{SITE}/easyocr/utils.py", line 613, in resize\n    image.resize(n, Image.ANTIALIAS)\n'
        "AttributeError: module 'PIL.Image' has no attribute 'ANTIALIAS'"
    )
    with atlas_of(tmp_path, PILLOW):
        told = cures(capsys, tmp_path, log, 'os = "linux"\n')
    assert told == '  fix: pip install "pillow==9.5.0"\n   or: Image.LANCZOS in place of Image.ANTIALIAS, in easyocr/utils.py:613'


def test_a_setting_is_told_in_words_with_the_next_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = cures(capsys, tmp_path, "RuntimeError: CUDA out of memory", 'os = "linux"\n')
    assert told == (
        "  fix: gradient_checkpointing=True: activations are computed again instead of\n       kept\n"
        "   or: per_device_train_batch_size=1: with more gradient accumulation, so that a\n       step sees as many rows"
    )


def test_tensors_on_two_devices_are_no_release_s_that_nobody_stated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = tmp_path / "rules" / "peft"
    rules.mkdir(parents=True)
    (rules / "peft-one-release-tensors.toml").write_text(ONE_RELEASE, encoding="utf-8")
    pasted, stated = tmp_path / "log.txt", tmp_path / "facts.toml"
    pasted.write_text(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!\n", encoding="utf-8"
    )
    stated.write_text('os = "linux"\n', encoding="utf-8")
    page = run(capsys, "diagnose", str(pasted), "--facts", str(stated), "--rules", str(tmp_path / "rules")).out
    assert "error: One tensor is on cuda:0, another on cpu" in page
    assert "adapter" not in page
    stated.write_text('os = "linux"\npackages = { peft = "0.13.0" }\n', encoding="utf-8")
    page = run(capsys, "diagnose", str(pasted), "--facts", str(stated), "--rules", str(tmp_path / "rules")).out
    assert "warning: peft 0.13.0 leaves an adapter" in page
