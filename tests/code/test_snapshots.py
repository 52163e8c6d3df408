"""Whole snapshots: the fixtures against releases out of the table, and directories that mean harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.code.examine import entries_of, examine, library_for
from envdoctor.code.history import load_history
from envdoctor.code.library import InstalledLibrary
from envdoctor.code.pinned import PinnedLibrary
from envdoctor.sources.model.model_directory import ModelDirectory
from tests.code.worlds import LIBRARY, brief, found, library, write


def against(folder: Path, release: str) -> list[tuple[str, str, int | None]]:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    pinned = library_for(release)
    assert isinstance(pinned, PinnedLibrary)
    directory = ModelDirectory(folder)
    hits = examine(directory, entries_of(config.get("auto_map"), tokenizer.get("auto_map")), pinned, config)
    assert directory.skips == []
    return brief(list(hits))


@pytest.mark.parametrize("release", ["4.30.2", "4.37.2", "4.40.2", "4.44.2", "4.48.3"])
def test_a_pinned_release_that_has_all_members_is_let_be(fixtures: Path, release: str) -> None:
    assert against(fixtures / "chatglm3-6b", release) == []


@pytest.mark.parametrize(
    ("release", "symbols"),
    [
        ("4.49.0", ["_extract_past_from_model_output"]),
        ("4.57.6", ["_extract_past_from_model_output"]),
        ("5.0.0", ["_extract_past_from_model_output", "batch_encode_plus"]),
    ],
)
def test_a_pinned_release_that_lacks_members_is_told(fixtures: Path, release: str, symbols: list[str]) -> None:
    assert sorted(symbol for _, symbol, _ in against(fixtures / "chatglm3-6b", release)) == symbols


@pytest.mark.parametrize("release", ["4.30.2", "4.57.6", "5.23.0"])
def test_the_file_of_february_switches_nothing_on(fixtures: Path, release: str) -> None:
    assert "checkpointing-no-op" in {rule for rule, _, _ in against(fixtures / "chatglm3-6b-2024-02", release)}
    assert "checkpointing-no-op" not in {rule for rule, _, _ in against(fixtures / "chatglm3-6b", release)}


def test_an_installed_release_is_read_and_an_unknown_one_is_not_guessed(tmp_path: Path) -> None:
    site = write(tmp_path / "site", LIBRARY)
    assert isinstance(library_for("5.0.0", [site]), InstalledLibrary)
    assert isinstance(library_for("5.0.0", [tmp_path]), PinnedLibrary)
    assert library_for("99.0", [tmp_path]) is None
    assert library_for(None, [site]) is None


def test_which_classes_an_auto_map_asks_for() -> None:
    causal = {"AutoConfig": "c.C", "AutoModelForCausalLM": "m.A", "AutoModelForSequenceClassification": "m.B"}
    assert entries_of(causal, ["t.Slow", None]) == ("c.C", "m.A", "t.Slow")
    assert entries_of({"AutoModelForSequenceClassification": "m.B"}) == ("m.B",)
    assert entries_of(None, 3, {"AutoConfig": 1, "AutoModel": ["x"]}) == ()


HOSTILE = {
    "nested": "x = " + "(" * 5000 + ")" * 5000,
    "operators": "x = " + "+".join("1" * 20000),
    "attributes": "x = a" + ".b" * 3000,
    "blocks": "\n".join(" " * depth + "if a:" for depth in range(90)) + "\n" + " " * 90 + "b",
    "null": "a = 1\0",
    "circle": "from .circle import Model\nclass Model(Model): ...",
    "itself": "class A(B): ...\nclass B(A): ...\nclass Model(A): ...",
    "aliases": "A = B\nB = A\nclass Model(A): ...",
    "names": "from transformers import \u1d2c\nclass Model: ...",
    "big": "class Model:\n" + "".join(f"    def m{i}(self): self.m{i}()\n" for i in range(4000)),
    "calls": "class Model:\n    def f(self):\n        " + "g(" * 150 + ")" * 150,
}


@pytest.mark.large
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_files_are_read_or_skipped(tmp_path: Path, name: str) -> None:
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot" / f"{name}.py").write_text(HOSTILE[name], encoding="utf-8")
    directory = ModelDirectory(tmp_path / "snapshot")
    hits = examine(directory, (f"{name}.Model",), library(tmp_path))
    assert {hit.rule for hit in hits} <= {"remote-code-import-missing"}
    assert all(f"{name}.py" in skip.what for skip in directory.skips)


def test_more_files_than_are_read_are_said(tmp_path: Path) -> None:
    files = {f"m{i}.py": f"from .m{i + 1} import *\nclass Model: ...\n" for i in range(40)}
    directory = ModelDirectory(write(tmp_path / "snapshot", files))
    assert examine(directory, ("m0.Model",), library(tmp_path)) == ()
    (skip,) = directory.skips
    assert skip.why == "more than 32 modules are not compared with the library"


def test_a_library_file_that_cannot_be_parsed_decides_nothing(tmp_path: Path) -> None:
    code = {"m.py": "from transformers import PreTrainedModel\nclass Model(PreTrainedModel):\n    def f(self): self._gone()\n"}
    for broken in ("def (:", "x = " + "(" * 5000, "\0"):
        assert found(tmp_path, code, ("m.Model",), changes={"transformers/modeling_utils.py": broken}) == []


@given(
    st.lists(
        st.sampled_from((*"()[]{}:,.=@*+\n ", "class ", "def ", "self", ".x", "if ", "try:\n", "import ", "from . ", "lambda ", "1")),
        max_size=60,
    )
)
def test_no_text_is_too_odd(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    root = tmp_path_factory.mktemp("odd")
    (root / "m.py").write_text("".join(pieces), encoding="utf-8")
    examine(ModelDirectory(root), ("m.Model",), PinnedLibrary("5.0.0", load_history()))


ORDINARY = """
from typing import Optional
import torch
from transformers import GPTNeoXTokenizerFast
from transformers.modeling_utils import PreTrainedModel, torch
from transformers.utils import TYPE_CHECKING, logging
from transformers.generation import logits_process
class Model(PreTrainedModel): ...
"""


@pytest.mark.parametrize("release", ["4.30.2", "4.41.2", "4.57.1", "5.23.0"])
def test_modules_inside_a_package_and_imports_of_a_file_are_not_missed_in_the_table(tmp_path: Path, release: str) -> None:
    pinned = library_for(release)
    gone = "from transformers.utils import is_torch_fx_available\n"
    directory = ModelDirectory(write(tmp_path / "snapshot", {"m.py": ORDINARY, "n.py": gone + ORDINARY}))
    assert pinned is not None
    assert examine(directory, ("m.Model",), pinned) == ()
    told = [hit.because for hit in examine(directory, ("n.Model",), pinned)]
    assert len(told) == (release == "5.23.0")
