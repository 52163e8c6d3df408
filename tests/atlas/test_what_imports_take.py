"""What an import takes in ways that no import statement shows, and from folders that packages share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.atlas.breaks import import_breaks
from envdoctor.atlas.reading import read_module
from envdoctor.atlas.stack import Stack
from envdoctor.checks.atlas import hits_of
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
    "asker": {"1.0": {"asker/__init__.py": "from pydantic import BaseModel\ndef is_one(x): return isinstance(x, BaseModel)\n"}},
    # Its first module puts names into another one, for those who still look for them there.
    "giver": {
        "1.0": {"giver/__init__.py": "from giver import tools as _tools\n", "giver/tools.py": "class Kept: pass\n"},
        "2.0": {
            "giver/__init__.py": "from giver import tools as _tools\nfrom giver.kept import Kept\n_tools.Kept = Kept\n",
            "giver/tools.py": "",
            "giver/kept.py": "class Kept: pass\n",
        },
        "3.0": {"giver/__init__.py": "from giver import tools as _tools\n", "giver/tools.py": ""},
    },
    "taker": {"1.0": {"taker/__init__.py": "from giver.tools import Kept\n"}},
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


LOADING = """
from functools import lru_cache
import acme as a
def made(): return a.old
@lru_cache
def kept(flag=0):
    if flag: return a.older
    return made()
def generated(): yield a.oldest
def searched():
    for one in (1, 2):
        if one: return one
    return a.never
def shown(made): return made()
def marked(function): a.marking; return function
class Made:
    def __init__(self): self.x = a.fielded
    def late(self): return a.late
X, Y = kept(), made()
GEN, HIT, SHOWN, OBJECT = generated(), searched(), shown(int), Made()
@marked
def another(): return a.another
try:
    def tried(): return a.tried
    tried()
except AttributeError:
    pass
if __name__ == "__main__":
    another()
"""


def test_what_functions_take_that_a_module_calls_while_it_is_loaded_its_import_takes() -> None:
    taken = read_module(LOADING, "user", package=True).taken
    loaded = {(one.name, one.guard) for one in taken if not one.where and one.name.startswith("acme.")}
    assert loaded == {("acme.old", ""), ("acme.older", "*"), ("acme.marking", ""), ("acme.fielded", ""), ("acme.tried", "?")}
    assert {one.name for one in taken if one.where} >= {"acme.old", "acme.never", "acme.late", "acme.another"}
    # In somebody's own code each line is told where it stands.
    assert not [one for one in read_module(LOADING, "__main__", package=False).taken if one.name == "acme.old" and not one.where]


OLD_PB2 = """
from google.protobuf import descriptor as _descriptor
_MESSAGE_NAME = _descriptor.FieldDescriptor(name='name', full_name='a.name', index=0, create_key=_descriptor._internal_create_key)
"""
NEW_PB2 = """
from google.protobuf import runtime_version as _runtime_version
_runtime_version.ValidateProtobufRuntimeVersion(_runtime_version.Domain.PUBLIC, 5, 27, 2, '', 'a.proto')
"""
PROTOBUF = {
    "google/protobuf/__init__.py": "",
    "google/protobuf/descriptor.py": "_internal_create_key = 1\nclass FieldDescriptor:\n    def __init__(self, *a, **k): pass\n",
    "google/protobuf/runtime_version.py": ("class Domain:\n    PUBLIC = 1\ndef ValidateProtobufRuntimeVersion(a, b, c, d, e, f): pass\n"),
}


def test_code_that_protoc_generated_is_refused_by_later_runtimes_or_by_earlier_ones(tmp_path: Path) -> None:
    releases = ("3.19.6", "3.20.3", "4.21.12", "5.26.1", "5.27.5", "6.33.0")
    user = {version: {"user/__init__.py": "import user.a_pb2", "user/a_pb2.py": text} for version, text in (("1", OLD_PB2), ("2", NEW_PB2))}
    with atlas_of(tmp_path, {"user": user, "protobuf": dict.fromkeys(releases, PROTOBUF)}):
        refused = {user: [release for release in releases if _edges(user=user, protobuf=release)] for user in ("1", "2")}
        assert refused == {"1": ["4.21.12", "5.26.1", "5.27.5", "6.33.0"], "2": ["3.19.6", "3.20.3", "4.21.12", "5.26.1"]}
        [old, new] = [hits_of(Stack({"user": user, "protobuf": "5.26.1"}), ()) for user in ("1", "2")]
        assert [hit.detail for hit in (*old, *new)] == [
            "user/a_pb2.py:3 was generated for protobuf before 4, gone since 4.21",
            "user/a_pb2.py:3 was generated for protobuf 5.27.2, there from 5.27.5 on",
        ]
        assert [(hit.witness, hit.pins) for hit in (*old, *new)] == [
            ("import user.a_pb2", (("protobuf", "<4.21"),)),
            ("import user.a_pb2", (("protobuf", ">=5.27.5"),)),
        ]


def test_who_only_asks_whether_something_is_a_model_builds_none() -> None:
    stack = {"pydantic": "3.0", "pydantic_core": "4.0"}
    assert _edges(modeller="1.0", **stack) == ["pydantic:pydantic_core.core_schema.fields(1,extra=)"]
    assert _edges(asker="1.0", **stack) == []


def test_a_name_that_a_package_puts_into_another_of_its_modules_is_there() -> None:
    assert [_edges(taker="1.0", giver=release) for release in ("1.0", "2.0", "3.0")] == [[], [], ["taker:giver.tools.Kept"]]
