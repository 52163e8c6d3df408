"""Files recognised by their content, and whether the stack suits the revision they are of."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.coherence.revisions import recognised
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import Ranged, exact
from envdoctor.snapshot.record import Record

# Git blob ids and sizes of THUDM/chatglm3-6b: the tokenizer of November 2023, the model code of December 2023, and that of February 2024.
TOKENIZER_NOVEMBER = ("50e44b05e4b3e54d2f1c3f0cab8247ea53a7d4e5", 12223)
MODEL_DECEMBER = ("dc5c662b87ecce81078daf3a8a8b7c64d74b2d21", 55678)
TOKENIZER_OCTOBER = ("e50d3295de8175baba69f232d69993abb5f5138a", 11279)
HERE = Path("chatglm3-6b")


def record(content: tuple[str, int]) -> Record:
    blob, size = content
    return Record(size, None, blob)


def with_transformers(version: str | None) -> Facts:
    if version is None:
        return Facts()
    value = Ranged(version) if version[0] in "<>=" else exact(version)
    return Facts().with_facts([Fact("packages.transformers", value, Origin("facts.toml"))])


def test_files_of_one_revision_are_named_and_nothing_is_wrong() -> None:
    files = {
        "modeling.py": record(MODEL_DECEMBER),
        "tokenization_chatglm.py": record(TOKENIZER_NOVEMBER),
        "notes.txt": record(("0" * 40, 7)),
    }
    found, sentences = recognised(HERE, files, with_transformers("4.33.3"))
    assert (found.hits, found.defects) == ((), ())
    assert sentences[-1].startswith("all 2 recognised files are of THUDM/chatglm3-6b 340a2eb3")
    assert any(
        sentence.startswith("modeling.py is THUDM/chatglm3-6b") and "(there modeling_chatglm.py)" in sentence for sentence in sentences
    )


def test_files_of_two_revisions_are_a_mixed_snapshot() -> None:
    files = {"modeling_chatglm.py": record(MODEL_DECEMBER), "tokenization_chatglm.py": record(TOKENIZER_OCTOBER)}
    found, _ = recognised(HERE, files, Facts())
    [defect] = found.defects
    assert (defect.rule, defect.file) == ("snapshot-mixed-revisions", "chatglm3-6b")
    assert "tokenization_chatglm.py of THUDM/chatglm3-6b 1676f077 .. d3fe58f8 (from 2023-10-26)" in defect.detail
    assert "modeling_chatglm.py of THUDM/chatglm3-6b 340a2eb3" in defect.detail


@pytest.mark.parametrize(
    ("version", "accused"), [("4.33.3", False), ("4.41.2", False), ("4.45.0", True), (">=4.45", True), (">=4.40", False), (None, False)]
)
def test_code_that_was_written_for_other_releases_is_said_where_that_is_certain(version: str | None, *, accused: bool) -> None:
    """The tokenizer of 2023 has no padding_side, which transformers passes from 4.45.0 on."""
    found, _ = recognised(HERE, {"tokenization_chatglm.py": record(TOKENIZER_NOVEMBER)}, with_transformers(version))
    assert [hit.rule for hit in found.hits] == (["snapshot-code-needs-other-transformers"] if accused else [])
    if accused:
        [hit] = found.hits
        assert hit.file == "chatglm3-6b/tokenization_chatglm.py"
        assert hit.pins == (("transformers", "<4.45.0"),)
        # The rule for this very fault says more, and is told in its place where its facts are there.
        assert "chatglm-tokenizer-pad-padding-side" in hit.unless


def test_nothing_is_said_of_files_that_are_in_no_table() -> None:
    found, sentences = recognised(HERE, {"config.json": record(("1" * 40, 7))}, with_transformers("5.0.0"))
    assert (found.hits, found.defects, sentences) == ((), (), ())


@pytest.mark.parametrize(
    "name",
    ["tokenization_chatglm.py.bak", "backup/tokenization_chatglm.py", "checkpoint-100/tokenization_chatglm.py", "tokenization_chatglm.py~",
     "tokenization_chatglm_old.py", "tokenization_chatglm.py.orig", "tokenization_chatglm (1).py", "tokenization_chatglm.py.1"],
)  # fmt: skip
def test_what_is_kept_beside_a_whole_revision_mixes_nothing(name: str) -> None:
    whole = {"modeling_chatglm.py": record(MODEL_DECEMBER), "tokenization_chatglm.py": record(TOKENIZER_NOVEMBER)}
    found, sentences = recognised(HERE, {**whole, name: record(TOKENIZER_OCTOBER)}, with_transformers("4.33.3"))
    assert (found.hits, found.defects) == ((), ())
    assert sentences[-1].startswith("all 2 recognised files are of THUDM/chatglm3-6b 340a2eb3")
