"""What stands for the code that decides changes with it: file by file in a checkout, with pip's own list of files where it installed it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor import __version__
from envdoctor.files import kept


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package folder in a ``site-packages`` of its own, with one file that decides."""
    folder = tmp_path / "envdoctor"
    folder.mkdir()
    (folder / "decides.py").write_text("x = 1\n")
    monkeypatch.setattr(kept, "_OWN", f"{folder}{os.sep}")
    kept._record.cache_clear()
    yield folder
    kept._record.cache_clear()


def test_in_a_checkout_an_edited_file_is_other_code(package: Path) -> None:
    before = kept.made([str(package / "decides.py")])
    os.utime(package / "decides.py", ns=(1, 1))
    assert kept.made([str(package / "decides.py")]) != before


def test_where_pip_installed_it_another_installation_is_other_code(package: Path, tmp_path: Path) -> None:
    record = tmp_path / f"llm_envdoctor-{__version__}.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("envdoctor/decides.py,sha256=a,6\n")
    outside = tmp_path / "stamp.json"
    outside.write_text("{}")
    places = [str(package / "decides.py"), str(outside)]
    before = kept.made(places)
    assert str(record) not in kept.made([])  # a size and a time, and no path of this machine
    record.write_text("envdoctor/decides.py,sha256=b,16\n")
    installed = kept.made(places)
    assert installed != before
    os.utime(outside, ns=(1, 1))
    assert kept.made(places) != installed
