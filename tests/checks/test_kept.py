"""What was found of a snapshot's code is kept, and forgotten when anything that it came from changes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.checks.hit import Hit
from envdoctor.checks.kept import keep, key, recall
from envdoctor.facts.fact import Skip

HIT = Hit(
    "remote-code-override-refuses",
    None,
    because=(("packages.transformers", "4.45.0"),),
    missing=("plan.tokenize",),
    detail="_pad: \x1b[31m takes no padding_side",
    packages=("transformers",),
    pins=(("transformers", "<4.45"),),
    file="model/tokenization.py",
    line=3,
    yields=True,
    unless=("chatglm-tokenizer-pad-padding-side",),
    edge="transformers:_pad",
    headline="_pad takes no padding_side",
    witness="import transformers",
    names=("padding_side", "padding"),
    parts=tuple(Hit("remote-code-override-refuses", True, names=(name,)) for name in ("padding_side", "padding")),
)


def library(tmp_path: Path) -> dict[str, tuple[int, int]]:
    file = tmp_path / "tokenization_utils.py"
    file.write_text("x = 1\n")
    status = file.stat()
    return {str(file): (status.st_size, status.st_mtime_ns)}


def test_what_was_kept_comes_back_the_same(tmp_path: Path) -> None:
    keep(tmp_path / "cache", "a", [HIT], [Skip("x.py", "not parsed")], library(tmp_path))
    assert recall(tmp_path / "cache", "a") == ((HIT,), (Skip("x.py", "not parsed"),))
    assert recall(tmp_path / "cache", "b") is None


def test_a_library_file_that_changed_or_is_gone_makes_it_forgotten(tmp_path: Path) -> None:
    files = library(tmp_path)
    keep(tmp_path, "a", [HIT], [], files)
    (file,) = files
    os.utime(file, ns=(1, 1))
    assert recall(tmp_path, "a") is None
    keep(tmp_path, "a", [HIT], [], {file: (6, 1)})
    assert recall(tmp_path, "a") is not None
    Path(file).unlink()
    assert recall(tmp_path, "a") is None


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_what_the_outcome_depends_on_is_told_apart(one: list[str], other: list[str]) -> None:
    assert (key(one, ()) == key(other, ())) is ("\0".join(["", *one]) == "\0".join(["", *other]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "nonsense",
        '{"of": "a", "files": [], "hits": [], "skips": []}',
        '{"of": "a", "files": {}, "hits": [[1]], "skips": []}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_is_none(tmp_path: Path, text: str) -> None:
    keep(tmp_path, "a", [], [], {})
    (place,) = tmp_path.glob("verdict-*")
    place.write_text(text)
    assert recall(tmp_path, "a") is None


def test_a_row_of_another_kind_is_none(tmp_path: Path) -> None:
    keep(tmp_path, "a", [HIT], [], {})
    (place,) = tmp_path.glob("verdict-*")
    kept = json.loads(place.read_text())
    for field in kept["hits"][0]:
        place.write_text(json.dumps({**kept, "hits": [{**kept["hits"][0], field: {"x": 1}}]}))
        assert recall(tmp_path, "a") is None, field


def test_what_another_envdoctor_found_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text("1")
    before = key(["stack"], [str(tmp_path)])
    assert key(["stack"], [str(tmp_path)]) == before
    (tmp_path / "judge.py").write_text("12")
    assert key(["stack"], [str(tmp_path)]) != before


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    keep(tmp_path / "file", "a", [HIT], [], {})
    assert recall(tmp_path / "file", "a") is None


def test_the_oldest_are_dropped(tmp_path: Path) -> None:
    for number in range(70):
        keep(tmp_path, str(number), [], [], {})
    assert len(list(tmp_path.glob("verdict-*"))) == 64
