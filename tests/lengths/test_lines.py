"""Rows of files that anyone may have written: what each line is, and that no file takes the memory or the day."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.lengths.children.lines import Rows, UnreadableFileError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@contextmanager
def little_memory(most: int) -> Iterator[None]:
    """What runs inside holds at most so many bytes of Python's memory at once."""
    tracemalloc.start()
    try:
        yield
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < most


def rows_of(path: Path, data: bytes, **bounds: int) -> list[tuple[int, Any, str | None]]:
    path.write_bytes(data)
    return list(Rows(str(path), **bounds))


@given(st.lists(JSON, max_size=8), st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n \n"]), st.booleans())
def test_what_was_written_as_lines_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[object], mark: bool, end: str, packed: bool
) -> None:
    text = ("\ufeff" if mark else "") + "".join(json.dumps(value) + end for value in values)
    data = text.encode("utf-8")
    found = rows_of(tmp_path_factory.getbasetemp() / "rows.jsonl", gzip.compress(data) if packed else data)
    assert [value for _line, value, _why in found] == values
    assert [why for _line, _value, why in found] == [None] * len(values)
    assert [line for line, _value, _why in found] == [1 + number * end.count("\n") for number in range(len(values))]


@given(st.lists(JSON, max_size=8), st.none() | st.integers(0, 4), st.booleans())
def test_what_was_written_as_an_array_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[object], indent: int | None, mark: bool
) -> None:
    data = (("\ufeff" if mark else "") + json.dumps(values, indent=indent, ensure_ascii=False)).encode("utf-8", "surrogatepass")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        data = json.dumps(values, indent=indent).encode("ascii")
    found = rows_of(tmp_path_factory.getbasetemp() / "rows.json", data)
    assert found == [(number, value, None) for number, value in enumerate(values, start=1)]


def test_an_array_of_several_chunks_is_read_element_by_element(tmp_path: Path) -> None:
    values = [{"text": "x" * length} for length in (10, 3_000_000, 5, 0, 1_048_570, 1_048_576, 7)] * 2
    assert rows_of(tmp_path / "rows.json", json.dumps(values).encode()) == [(n, value, None) for n, value in enumerate(values, start=1)]


def test_a_list_of_objects_over_lines_is_an_array_whatever_its_name(tmp_path: Path) -> None:
    found = rows_of(tmp_path / "rows.jsonl", b'[\n{"text": "a"},\n{"text": "b"}\n]\n')
    assert found == [(1, {"text": "a"}, None), (2, {"text": "b"}, None)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"text": "\xff"}', "no UTF-8"),
        (b'{"text": "a\0b"}', "no JSON"),
        (b"\0\0\0\0", "no JSON"),
        (b"{'text': 1}", "no JSON"),
        (b'{"text": "a', "JSON that ends too early"),
        (b'{"text": "a",', "JSON that ends too early"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"n": ' + b"9" * 5000 + b"}", "no JSON"),
        (b'{"text": "' + b"x" * 70_000 + b'"}', "a line of more than 0 MiB"),
    ],
)
def test_a_hostile_line_is_refused_and_the_next_is_read(tmp_path: Path, line: bytes, why: str) -> None:
    bound = 1 << 16 if b"xxx" in line else 1 << 20
    found = rows_of(tmp_path / "rows.jsonl", b'{"text": "before"}\n' + line + b'\r\n{"text": "after"}', most_line=bound)
    assert found == [(1, {"text": "before"}, None), (2, None, why), (3, {"text": "after"}, None)]


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("rows.jsonl", "{}\n".encode("utf-16"), "text in UTF-16"),
        ("rows.json", b'{\n  "data": []\n}', "a JSON object over several lines"),
        ("rows.json", b'[{"text": "a"}, {"text": ', "element 2 is no JSON: "),
        ("rows.json", b'[{"text": "a"}', "element 2 is no JSON: the array is not closed"),
        ("rows.json", b'[{"text": "a"}]\n[{"text": "b"}]', "more after an array of 1 elements"),
        ("rows.json", b'[{"text": "a"}, \xff]', "bytes that are no UTF-8 after element"),
        ("rows.json", b"[1, " + b"[" * 200_000, "element 2 is nested too deeply"),
        ("rows.jsonl", gzip.compress(b'{"text": "a"}\n' * 100, mtime=0)[:-12], "a gzip file that is cut short or damaged"),
        ("rows.jsonl", b"\x1f\x8bno gzip at all", "a file that cannot be read on"),
    ],
)
def test_a_file_that_cannot_be_read_on_is_refused_with_the_next_step(tmp_path: Path, name: str, data: bytes, found: str) -> None:
    with pytest.raises(UnreadableFileError) as raised:
        rows_of(tmp_path / name, data)
    assert raised.value.found.startswith(found)
    assert raised.value.next_step


@pytest.mark.large
def test_a_gzip_bomb_is_left_early_and_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(64):
            stream.write(b"x" * (1 << 20))
    with pytest.raises(UnreadableFileError, match="no line end within 16 MiB"), little_memory(40 << 20):
        list(Rows(str(path), most_skipped=16 << 20))


@pytest.mark.large
def test_many_lines_are_not_held(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"text": "a line of some words"}\n' * 20_000)
    rows = Rows(str(path))
    with little_memory(3 << 20):
        shares = [rows.share() for _found in rows]
    assert shares == sorted(shares)
    assert 0 < shares[0] <= 1
    assert shares[-1] == 1


def test_an_empty_file_has_no_row(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "rows.jsonl", b"") == []
    assert rows_of(tmp_path / "rows.jsonl", b"\n \n\n") == []
    assert rows_of(tmp_path / "rows.json", b"[]") == []
