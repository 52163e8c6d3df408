"""What an import takes in ways that no import statement shows, and from folders that packages share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.atlas.breaks import import_breaks
from envdoctor.atlas.stack import Stack
from tests.atlas.wheels import atlas_of

PACKAGES = {
    "acme": {
        "1.0": {"acme/__init__.py": "old = 1\nkept = 2\n", "acme/made_pb2.py": "class Message: pass\n"},
        "2.0": {"acme/__init__.py": "kept = 2\n", "acme/made_pb2.py": "from other import build\nbuild(vars())\n"},
    },
    "user": {
        "1.0": {"user/__init__.py": "import acme as a\nLIMIT = a.old\ndef late(): return a.older\n"},
        "2.0": {"user/__init__.py": "from acme.made_pb2 import Message\n"},
        "3.0": {"user/__init__.py": "from google.protobuf import service\n"},
    },
    "protobuf": {
        "3.0": {"google/protobuf/__init__.py": "", "google/protobuf/service.py": "class Service: pass\n"},
        "4.0": {"google/protobuf/__init__.py": ""},
    },
    "pydantic": {
        "2.0": {
            "pydantic/__init__.py": (
                "_dynamic_imports = {'BaseModel': (__spec__.parent, '.main')}\ndef __getattr__(name): return load(name)\n"
            ),
            "pydantic/main.py": "from pydantic_core import schema\nclass BaseModel: pass\n",
        },
        "3.0": {
            "pydantic/__init__.py": "from .main import BaseModel\n",
            "pydantic/main.py": "class BaseModel: pass\n",
            "pydantic/_internal/_generate_schema.py": (
                "from pydantic_core import core_schema\nclass GenerateSchema:\n"
                "    def _model_schema(self, kind):\n        if kind.fields:\n            return core_schema.fields(kind, extra=1)\n"
                "    def _other_schema(self, kind):\n        return core_schema.fields(kind, other=1)\n"
            ),
        },
    },
    "pydantic-core": {
        "1.0": {"pydantic_core/__init__.py": "def schema(): pass\n"},
        "2.0": {"pydantic_core/__init__.py": "def another(): pass\n"},
        "3.0": {"pydantic_core/__init__.py": "", "pydantic_core/core_schema.py": "def fields(kind, extra=0): pass\n"},
        "4.0": {"pydantic_core/__init__.py": "", "pydantic_core/core_schema.py": "def fields(kind, other=0): pass\n"},
    },
    "modeller": {
        "1.0": {"modeller/__init__.py": "import pydantic\nclass Model(pydantic.BaseModel): pass\n"},
        "2.0": {"modeller/__init__.py": "try:\n    from pydantic import BaseModel\nexcept ImportError:\n    BaseModel = None\n"},
    },
}


@pytest.fixture(scope="module", autouse=True)
def _atlas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with atlas_of(tmp_path_factory.mktemp("takes"), PACKAGES):
        yield


def _edges(**releases: str) -> list[str]:
    stack = Stack({name.replace("_", "-"): release for name, release in releases.items()})
    return [one.edge for one in import_breaks(stack) if one.certain]


def test_what_is_taken_by_attribute_when_a_module_is_loaded_is_missed_as_what_is_imported() -> None:
    assert _edges(user="1.0", acme="2.0") == ["user:acme.old"]
    assert _edges(user="1.0", acme="1.0") == []


def test_names_that_generated_code_makes_are_never_missing() -> None:
    assert _edges(user="2.0", acme="2.0") == []


def test_a_name_below_google_is_protobufs_where_its_folder_is_named() -> None:
    assert _edges(user="3.0", protobuf="4.0") == ["user:google.protobuf.service"]
    assert _edges(user="3.0", protobuf="3.0") == []


def test_what_everyone_takes_of_a_package_that_gives_it_on_request_is_reached_by_its_import() -> None:
    assert _edges(pydantic="2.0", pydantic_core="2.0") == ["pydantic:pydantic_core.schema"]
    assert _edges(pydantic="2.0", pydantic_core="1.0") == []


def test_what_a_package_runs_for_every_class_that_is_made_of_its_own_is_reached_by_who_makes_one() -> None:
    core = "pydantic:pydantic_core.core_schema.fields(1,extra=)"
    assert _edges(modeller="1.0", pydantic="3.0", pydantic_core="4.0") == [core]
    assert _edges(modeller="1.0", pydantic="3.0", pydantic_core="3.0") == []
    # Nobody surely makes one: the import of the package by itself goes well.
    assert _edges(modeller="2.0", pydantic="3.0", pydantic_core="4.0") == _edges(pydantic="3.0", pydantic_core="4.0") == []
    # A release that was not read, between two of which only one takes it.
    assert _edges(modeller="1.0", pydantic="2.5", pydantic_core="4.0") == []


def test_what_was_told_of_an_import_is_told_again_where_its_importer_was_not_read(tmp_path: Path) -> None:
    acme = {"1.0": {"acme/__init__.py": "", "acme/inner.py": "from lib import thing\n"}}
    user = {"1.0": {"user/__init__.py": "from acme.inner import thing\n"}}
    lib = {"1.0": {"lib/__init__.py": "thing = 1\n"}, "2.0": {"lib/__init__.py": ""}}
    with atlas_of(tmp_path, {"acme": acme, "user": user, "lib": lib}) as atlas:
        assert "entry acme.inner:thing" in (atlas / "acme/takes.txt").read_text("utf-8")
        for name in ("user.db", "user.db-wal", "user.db-shm"):
            (tmp_path / "cache" / name).unlink(missing_ok=True)
        for wheel in (tmp_path / "wheels").glob("[ul]*.whl"):
            wheel.unlink()
    with atlas_of(tmp_path, {"acme": acme}) as atlas:
        assert "entry acme.inner:thing" in (atlas / "acme/takes.txt").read_text("utf-8")
