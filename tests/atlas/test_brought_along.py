"""A package that came along with another one, and that nobody imports, breaks nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envdoctor.atlas import brought
from envdoctor.atlas.stack import Stack
from envdoctor.checks.atlas import hits_of
from envdoctor.world.dependencies import Dependency
from tests.atlas.wheels import atlas_of

PACKAGES = {
    "late": {
        "1.0": {"late/__init__.py": "import streamer\n"},
        "2.0": {"late/__init__.py": "def stream():\n    import streamer\n"},
    },
    "acme": {"1.0": {"acme/__init__.py": "class Old: pass\n"}, "2.0": {"acme/__init__.py": ""}},
    "streamer": {"1.0": {"streamer/__init__.py": "from acme import Old\n"}},
    "bringer": {
        "1.0": {"bringer/__init__.py": "import acme\n"},
        "2.0": {"bringer/__init__.py": "import acme\n", "bringer/late.py": "import streamer\n"},
    },
    "importer": {"1.0": {"importer/__init__.py": "import streamer\n"}},
}


@pytest.fixture(scope="module", autouse=True)
def _atlas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with atlas_of(tmp_path_factory.mktemp("brought"), PACKAGES):
        yield


def _edges(monkeypatch: pytest.MonkeyPatch, entries: tuple[tuple[str, str], ...] = (), **releases: str) -> list[str]:
    return [edge for _, edge in _told(monkeypatch, entries, **releases)]


def _told(monkeypatch: pytest.MonkeyPatch, entries: tuple[tuple[str, str], ...] = (), **releases: str) -> list[tuple[str, str]]:
    def required(name: str, release: str, *, unbound: bool) -> tuple[Dependency, ...]:
        return (Dependency("streamer", ""),) if name in ("bringer", "late") and unbound else ()

    monkeypatch.setattr(brought, "dependencies", required)
    for kept in (brought._requires, brought._crosses, brought._crosses_in):
        kept.cache_clear()
    return [(hit.rule, hit.edge) for hit in hits_of(Stack({"acme": "2.0", "streamer": "1.0", **releases}), entries)]


def test_what_came_along_and_is_imported_by_nobody_is_not_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _edges(monkeypatch, bringer="1.0") == []


def test_what_somebody_asked_for_imports_or_takes_in_a_script_is(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ["streamer:acme.Old"]
    assert _edges(monkeypatch) == broken
    assert _edges(monkeypatch, bringer="1.0", importer="1.0") == broken
    assert _edges(monkeypatch, (("streamer", "streamer"),), bringer="1.0") == broken


def test_what_others_load_only_when_something_is_called_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _told(monkeypatch, late="2.0") == [("part-breaks", "streamer:acme.Old")]
    assert _told(monkeypatch, late="1.0") == [("import-breaks", "streamer:acme.Old")]
    assert _told(monkeypatch, late="2.0", importer="1.0") == [("import-breaks", "streamer:acme.Old")]
    assert _told(monkeypatch, (("streamer", "streamer"),), late="2.0") == [("import-breaks", "streamer:acme.Old")]
    assert _told(monkeypatch, late="9.0") == [("import-breaks", "streamer:acme.Old")]  # nobody knows what that release loads
