"""Little wheels, and an atlas that is made of them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from envdoctor.atlas import shelf
from envdoctor.refresh.index import Answer
from envdoctor.survey.building import build

Sources = Mapping[str, str]


def wheel(files: Sources) -> bytes:
    """The bytes of a wheel with these files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


def make_atlas(folder: Path, packages: Mapping[str, Mapping[str, Sources]]) -> list[tuple[str, str]]:
    """An atlas of packages, their releases and the files of those, under ``folder / "atlas"``; what could not be read."""
    wheels = folder / "wheels"
    wheels.mkdir(exist_ok=True)
    for package, releases in packages.items():
        for version, files in releases.items():
            (wheels / f"{package.replace('-', '_')}-{version}-py3-none-any.whl").write_bytes(wheel(files))
    forget()
    return build(folder / "atlas", (), folder / "cache", _no_index, wheels=wheels)


@contextmanager
def atlas_of(folder: Path, packages: Mapping[str, Mapping[str, Sources]]) -> Iterator[Path]:
    """Such an atlas, which is the one that is asked meanwhile."""
    assert make_atlas(folder, packages) == []
    with pytest.MonkeyPatch.context() as patch:
        alone(patch, folder / "atlas")
        yield folder / "atlas"
    forget()


def _no_index(address: str, headers: Mapping[str, str], most: int) -> Answer:
    raise AssertionError(address)


def alone(monkeypatch: pytest.MonkeyPatch, atlas: Path) -> None:
    """This atlas and no other: neither what is shipped nor what lies beside a checkout."""
    monkeypatch.setenv("ENVDOCTOR_ATLAS", str(atlas))
    for place in ("BOUND", "SOURCE"):
        monkeypatch.setattr(shelf, place, atlas / "nothing")
    forget()


def forget() -> None:
    """Open no package that was opened for another test."""
    from envdoctor.atlas import breaks, loaded
    from envdoctor.checks import atlas, breaking_pairs

    shelf.open_package.cache_clear()
    shelf.package_names.cache_clear()
    shelf.open_messages.cache_clear()
    shelf.speaking_packages.cache_clear()
    for kept in (
        loaded.not_loaded,
        loaded._crossings,
        loaded._by_any_import,
        breaks.followed,
        breaks.takes_of,
        breaks._lines,
        breaks._kept_rows,
        breaks._any_bad,
        breaks._mask,
        breaks._owners_among,
    ):
        kept.cache_clear()
    atlas.known_packages.cache_clear()
    breaking_pairs.remembered_hits.cache_clear()
