"""Replacing spans of a text file, byte for byte."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.edits.splice import Splice, document_of, lines_at_newline, lines_of, newline_of, spliced
from envdoctor.errors import EnvdoctorError
from envdoctor.sources.declared.requirement_text import decode


@given(st.binary(max_size=200))
def test_any_bytes_are_written_back_as_they_are_or_refused(data: bytes) -> None:
    try:
        document = document_of(data, "file")
    except EnvdoctorError:
        return
    assert document.encoded(document.text) == data


@pytest.mark.parametrize(
    "data",
    [
        "peft==0.6\n".encode("utf-8-sig"),
        codecs.BOM_UTF16_LE + "peft==0.6\r\n# \u4e2d\n".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "peft==0.6".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + "peft==0.6".encode("utf-32-le"),
        b"# -*- coding: latin-1 -*-\npeft==0.6  # caf\xe9\n",
        b"peft==0.6\n# coding: cp1252\n",
        b"# one\n# coding: cp1251\npeft  # \xcf\n",
        "peft==0.6\ntorch==2.1\n".encode("utf-16-le"),
        "peft  # \u4e2d\u6587\n".encode(),
    ],
)
def test_the_text_is_the_one_that_the_reader_sees(data: bytes) -> None:
    assert document_of(data, "file").text == decode(data, "file").text


def test_bytes_that_are_none_of_the_encoding_are_kept() -> None:
    data = b"peft==0.6  # caf\xe9\n"
    document = document_of(data, "file")
    assert document.encoded(document.text.replace("0.6", "0.7")) == b"peft==0.7  # caf\xe9\n"


@pytest.mark.parametrize("coding", [b"none-such", b"hex", b"rot13", b"utf-7\n+AGE-"])
def test_an_encoding_that_cannot_give_the_same_bytes_is_refused(coding: bytes) -> None:
    with pytest.raises(EnvdoctorError, match="a text that can be written back"):
        document_of(b"# coding: " + coding + b"\npeft\n", "requirements.txt")


texts = st.text(alphabet="ab\n\r\\", max_size=30)


@given(texts, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.text("xy\n", max_size=4)), max_size=4))
def test_lines_that_are_not_named_are_the_same(text: str, changes: list[tuple[int, int, str]]) -> None:
    splices: list[Splice] = []
    at = 0
    for start, length, new in sorted(changes):
        if at <= start and start + length <= len(text):
            splices.append(Splice(start, start + length, new))
            at = start + length
    after = spliced(text, splices)
    lines = lines_at_newline(text)
    named = lines_of(text, splices, lines)
    # A line behind which something is added shares its bytes with it: the rest is found again in order.
    place = 0
    for number, line in enumerate(lines, start=1):
        if number not in named:
            place = after.index(line, place) + len(line)


def test_spans_that_overlap_are_an_error() -> None:
    with pytest.raises(ValueError, match="overlap"):
        spliced("abcd", [Splice(0, 2, "x"), Splice(1, 3, "y")])


def test_insertions_at_one_place_keep_their_order() -> None:
    assert spliced("ad", [Splice(1, 1, "b"), Splice(1, 1, "c")]) == "abcd"


@pytest.mark.parametrize(
    ("text", "newline"),
    [("", "\n"), ("a", "\n"), ("a\r\n", "\r\n"), ("a\rb\r", "\r"), ("a\r\nb\n", "\n"), ("a\nb\r\nc", "\r\n"), ("\n\r", "\r")],
)
def test_a_line_ends_as_the_last_one_does(text: str, newline: str) -> None:
    assert newline_of(text) == newline


def test_what_is_added_at_the_end_counts_as_the_last_line() -> None:
    lines = ["a\n", "b\n"]
    assert lines_of("a\nb\n", [Splice(4, 4, "c\n")], lines) == (2,)
    assert lines_of("a\nb\n", [Splice(0, 0, "c\n")], lines) == (1,)
    assert lines_of("a\nb\n", [Splice(0, 2, "")], lines) == (1,)
    assert lines_of("", [Splice(0, 0, "c\n")], []) == (0,)
