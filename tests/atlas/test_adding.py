"""New releases are added to a text whose files are not at hand any more: what they hold stands there as if all had been read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from envdoctor.atlas.breaks import import_breaks
from envdoctor.atlas.stack import Stack
from envdoctor.refresh.index import Answer
from envdoctor.survey import building
from envdoctor.survey.adding import read_back
from envdoctor.survey.building import build
from tests.atlas.wheels import alone, forget, wheel

CORE = """
import os
from typing import Optional
from .late import *
class Plain(Base):
    field: int = 1
    other: str
    def __init__(self, a, *, b=1, **rest): self.kept = a
    @property
    def shown(self): return 1
@dataclass
class Row: x: int
def call(a, b=2, /, *more, c): pass
def __getattr__(name): raise AttributeError
if flag:
    from . import only
"""
OLD = {"acme/__init__.py": "from .core import Plain, call\nfrom libra import Old\n", "acme/core.py": CORE, "acme/gone.py": "left = 1\n"}
LATER = {
    **OLD,
    "acme/core.py": CORE.replace("field: int = 1", "").replace("b=2", "b=2, d=3"),
    "acme/late.py": "x = y = 1\n__all__ = ['x']\n",
}
NEW = {
    "acme/__init__.py": "from .core import Plain\n",
    "acme/core.py": LATER["acme/core.py"] + "class Added: pass\n",
    "acme/late.py": "x = 1\n",
}
RELEASES: Mapping[str, Mapping[str, str]] = {"1.0": OLD, "1.1": LATER, "2.0": NEW, "2.1": NEW}
LIB = {"1.0": {"libra/__init__.py": "class Old: pass\n"}, "2.0": {"libra/__init__.py": ""}}


class Index:
    """An index of these two packages, with so many releases of the first one; what it was asked for."""

    def __init__(self, releases: int) -> None:
        wheels: dict[str, list[tuple[str, Mapping[str, str]]]] = {"acme": list(RELEASES.items())[:releases], "libra": list(LIB.items())}
        self.files = {f"{name}-{version}-py3-none-any.whl": wheel(files) for name, rows in wheels.items() for version, files in rows}
        self.asked: list[str] = []

    def get(self, address: str, headers: Mapping[str, str], most: int) -> Answer:
        last = address.rstrip("/").rpartition("/")[2]
        if last in self.files:
            self.asked.append(last.split("-")[1])
            return Answer(self.files[last], len(self.files[last]))
        rows = [
            {
                "filename": name,
                "url": f"https://index.example/files/{name}",
                "size": len(data),
                "upload-time": "2024-01-01T00:00:00Z",
                "hashes": {},
            }
            for name, data in self.files.items()
            if name.startswith(f"{last}-")
        ]
        return Answer(json.dumps({"meta": {"api-version": "1.0"}, "name": last, "files": rows}).encode())


@pytest.fixture(autouse=True)
def _every(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "EVERY", ("acme", "libra"))


def told(folder: Path, part: str) -> str:
    return (folder / "acme" / part).read_text("utf-8")


def made(folder: Path, releases: int, *, cache: str = "cache", names: tuple[str, ...] = ("acme", "libra"), adds: bool = True) -> list[str]:
    index = Index(releases)
    assert build(folder, names, folder / cache, index.get, adds=adds) == []
    return index.asked


def test_what_is_added_stands_there_as_if_all_had_been_read(tmp_path: Path) -> None:
    made(tmp_path / "whole", 4)
    made(tmp_path / "added", 2)
    assert made(tmp_path / "added", 4, cache="another", names=("acme",)) == ["2.0", "2.1"]
    assert told(tmp_path / "added", "contents.txt") == told(tmp_path / "whole", "contents.txt")
    # Nothing is new: nothing is read, and nothing changes.
    assert made(tmp_path / "added", 4, cache="another", names=("acme",)) == []
    assert told(tmp_path / "added", "contents.txt") == told(tmp_path / "whole", "contents.txt")


def test_what_a_release_takes_of_others_is_not_said_of_those_that_were_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, 2)
    before = told(tmp_path, "takes.txt")
    assert "take 0 acme/__init__.py 2@1.0- -" in before
    made(tmp_path, 3, cache="another", names=("acme",))
    made(tmp_path, 4, cache="another", names=("acme",))
    assert told(tmp_path, "takes.txt") == before.replace("takes acme\n", "takes acme 1.1\n")
    alone(monkeypatch, tmp_path)
    breaks = {release: list(import_breaks(Stack({"acme": release, "libra": "2.0"}))) for release in RELEASES}
    assert {release: [one.line for one in found] for release, found in breaks.items()} == {"1.0": [2], "1.1": [2], "2.0": [], "2.1": []}
    forget()


def test_with_its_files_at_hand_a_package_is_written_as_a_whole_and_build_reads_all_of_it(tmp_path: Path) -> None:
    made(tmp_path, 2)
    assert made(tmp_path, 4, names=("acme",)) == ["2.0", "2.1"]
    assert "2@1.0-1.1 -" in told(tmp_path, "takes.txt")  # the releases that were read since do not take it
    assert made(tmp_path, 4, cache="another", names=("acme",), adds=False) == ["1.0", "1.1", "2.0", "2.1"]


def test_a_text_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    made(tmp_path, 4)
    text = read_back(told(tmp_path, "contents.txt"))
    assert text.tops == ("acme",)
    assert [release for release, _ in text.releases] == list(RELEASES)
    assert text.modules["acme.gone"][0] == 0b0011
    assert text.modules["acme.core"][1]["c", "Added"] == 0b1100
    assert text.modules["acme.core"][1]["c", "Plain", "m", "field", "="] == 0b0001
