"""Text from files on its way to a terminal: nothing in it may act on the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.report.plain import printable

# What a terminal or a reader's eye is led astray by: C0 and C1 controls, DEL, and Unicode's bidirectional controls.
CONTROLS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))}
BIDIRECTIONAL = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
INVISIBLE = set("\u00ad\u200b\u200c\u200d\u2028\u2029\u2060\ufeff\U000e0041")

hostile = st.text(st.one_of(st.sampled_from(sorted(CONTROLS | BIDIRECTIONAL | INVISIBLE)), st.characters()), max_size=60)


@given(hostile)
def test_no_control_or_direction_character_survives(text: str) -> None:
    shown = printable(text)
    assert not set(shown) & (CONTROLS | BIDIRECTIONAL | INVISIBLE)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    shown.encode("utf-8")


@given(hostile)
def test_newlines_alone_are_kept_where_asked(text: str) -> None:
    shown = printable(text, keep_newlines=True)
    assert shown.split("\n") == [printable(line) for line in text.split("\n")]


@given(hostile)
def test_what_is_shown_is_shown_the_same_again(text: str) -> None:
    assert printable(printable(text)) == printable(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs", "M"])))
def test_words_of_every_language_stay_as_they_are(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("loss is nan", "loss is nan"),
        ("显存不足 – naïve", "显存不足 – naïve"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\rb\tc\nd", "a\\x0db\\x09c\\x0ad"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\udc80", "\\udc80"),
        ("\U000e0041", "\\U000e0041"),
        ("\x9b31m", "\\x9b31m"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_act_on_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown
