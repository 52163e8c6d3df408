"""The atlas as the wheel carries it."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.atlas.binding import Bound, bind
from envdoctor.survey.packed import bind_all, bind_package
from tests.atlas.wheels import atlas_of


def test_two_processes_bind_every_package_as_one_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = {name: {"1.0": {f"{name}/__init__.py": "def f(): raise ValueError('it is not so')\n"}} for name in ("one", "two", "three")}
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    with atlas_of(tmp_path, packages) as atlas:
        bound = bind_all(atlas, place)
        alone = tmp_path / "alone"
        alone.mkdir()
        for name in packages:
            bind_package(atlas / name, alone)
    assert {path.name: path.read_bytes() for path in bound} == {path.name: path.read_bytes() for path in alone.iterdir()}
    assert {path.name for path in bound if path.suffix == ".atlas"} == {"one.atlas", "two.atlas", "three.atlas"}


def test_the_takes_are_found_behind_names_that_end_alike() -> None:
    contents = "volume one\n1.0\n\nmodule one.mistakes 1.0\nc Retakes 1.0 takes something\n"
    takes = "takes one\nbad two:gone 1.0-\ntake 0 one/__init__.py 1@1.0 - *\n"
    assert Bound(bind([contents, takes]), "here").chunk("@@takes") == takes
