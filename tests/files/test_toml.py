"""Reading TOML: every way in which a file can be unusable is told in one line with its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.files.toml import MOST_BYTES, parse_toml, read_toml


def test_a_file_is_read_as_a_table_with_versions_as_written(tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    path.write_bytes(b'\xef\xbb\xbf[packages]\r\npeft = "1.10"\r\n')
    assert read_toml(path) == {"packages": {"peft": "1.10"}}


@pytest.mark.parametrize(
    ("data", "place", "found"),
    [
        (b"a = 1\nb = \n", "facts.toml, line 2", "no TOML"),
        (b"a = 1\na = 2\n", "facts.toml", "no TOML"),
        (b"a = 1\n\nb = '\xff'\n", "facts.toml, line 3", "bytes that are not UTF-8"),
        (b"a = '\x00'", "facts.toml, line 1", "no TOML"),
        (b"a = " + b"9" * 5000, "facts.toml", "no TOML"),
        (b"a = " + b"[" * 100_000, "facts.toml", "no TOML"),
        (b"a = 2024-13-45", "facts.toml, line 1", "no TOML"),
        (b"\xff\xfea\x00", "facts.toml, line 1", "bytes that are not UTF-8"),
    ],
    ids=["value", "twice", "utf8", "nul", "digits", "deep", "date", "utf16"],
)
def test_what_is_no_toml_is_told_with_its_line(data: bytes, place: str, found: str) -> None:
    with pytest.raises(EnvdoctorError) as error:
        parse_toml(data, "facts.toml")
    assert error.value.place.startswith(place)
    assert found in error.value.found
    assert error.value.next_step


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    place, table = "x", {}
    try:
        table = parse_toml(data, "x")
    except EnvdoctorError as error:
        place = error.place
    assert isinstance(table, dict)
    assert place.startswith("x")


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    for path, found in ((tmp_path / "none.toml", "No such file"), (tmp_path, "directory")):
        with pytest.raises(EnvdoctorError) as error:
            read_toml(path)
        assert error.value.place == str(path)
        assert found in error.value.found


def test_a_huge_sparse_file_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    path = tmp_path / "sparse.toml"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 2**34)
    with pytest.raises(EnvdoctorError) as error:
        read_toml(path)
    assert error.value.found == "more than 16 MiB"


@pytest.mark.large
def test_the_largest_file_allowed_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_bytes(b"a = 1\n#" + b"x" * (MOST_BYTES - 7))
    assert read_toml(path) == {"a": 1}
