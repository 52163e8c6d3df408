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
        "  fix: set plan.gradient_checkpointing = true: activations are computed again\n       instead of kept\n"
        "   or: set plan.batch_size = 1: with more gradient accumulation, so that a step\n       sees as many rows"
    )
