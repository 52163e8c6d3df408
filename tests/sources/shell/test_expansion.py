"""Quotes and variables, against a real shell."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.sources.shell.brackets import closing
from envdoctor.sources.shell.expansion import assigned_of, fields_of, text_of
from envdoctor.sources.shell.marks import is_known, shown, unknown
from tests.steps import IN_PROPORTION, growth

VALUES = {"A": "2.1.0", "CUDA": "12.4.1", "EMPTY": "", "LIST": "x  y z", "N": "A"}

ALIKE = [
    "torch==$A", "torch==${A}", '"torch==${A}"', "'torch==${A}'", "${A:-x}", "${NONE:-1.0}", "${EMPTY:-d}", "${EMPTY-d}", "${A:+yes}",
    "${NONE:+yes}", "${EMPTY:+yes}", "${EMPTY+yes}", "${NONE:-${A}}", '${NONE:-"a b"}', "cu${CUDA//./}", "${CUDA%.*}", "${CUDA%%.*}",
    "${CUDA#*.}", "${CUDA##*.}", "${CUDA/./-}", "${CUDA:0:4}", "${CUDA:3}", "${N^^}", "${N,,}", "a\\ b", "a\\$A", "'a b'c\"d e\"", "$LIST",
    '"$LIST"', "x$LIST", "${LIST}x", '"a\\"b\\\\c\\d"', "$EMPTY", '""', "a''b", "${NONE:-a\\}b}", "{a}", "1.${A}.2",
]  # fmt: skip


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is the oracle")
def test_fields_are_those_of_bash() -> None:
    show = 'show() { for field in "$@"; do printf "%s\\037" "$field"; done; echo; }'
    script = "\n".join([show, *(f"show {word}" for word in ALIKE)])
    shell = shutil.which("bash")
    assert shell is not None
    done = subprocess.run([shell, "--norc", "-c", script], env=VALUES, capture_output=True, text=True, check=True)
    expected = [line.split("\037")[:-1] for line in done.stdout.splitlines()]
    assert dict(zip(ALIKE, [fields_of(word, VALUES.get) for word in ALIKE], strict=True)) == dict(zip(ALIKE, expected, strict=True))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("${NONE:-2.0}", "2.0"),
        ("a b", "a b"),
        ("'$A'", "$A"),
        ('"$A"', "2.1.0"),
        ("\\$A", "$A"),
        ("$LIST", "x  y z"),
        ("$(date)", "$(date)"),
        ("100%$", "100%$"),
    ],
)
def test_an_instruction_expands_words_without_splitting(raw: str, expected: str) -> None:
    assert text_of(raw, VALUES.get) == expected


def test_the_escape_of_a_directive_takes_the_place_of_the_backslash() -> None:
    assert text_of("c:\\x`$A$A", VALUES.get, "`") == "c:\\x$A2.1.0"


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ("$NONE", "$NONE"),
        ("torch==${NONE}", "torch==$NONE"),
        ("$(cat v)", "$(cat v)"),
        ("`cat v`", "$(cat v)"),
        ("${NONE:?no}", "$NONE"),
        ("$1", "$1"),
        ("${A:-x", "${A:-x"),
        ("$((1+x))", "$((1+x))"),
    ],
)
def test_what_nobody_can_tell_is_carried_along(raw: str, told: str) -> None:
    (field,) = fields_of(raw, VALUES.get)
    assert not is_known(field)
    assert shown(field) == told


def test_marks_survive_being_assigned_and_cut() -> None:
    values = VALUES | {"V": assigned_of("2.$(minor version)", VALUES.get)}
    assert [shown(field) for field in fields_of("torch==$V", values.get)] == ["torch==2.$(minor version)"]
    assert not is_known(assigned_of("${V%.*}", values.get))
    assert assigned_of("${V:+there}", values.get) == "there"


LONG: dict[str, Callable[[int], str]] = {
    "expansions": lambda n: "${a:-" * n + "}" * n,
    "expansions without end": lambda n: "${a:-" * n,
    "commands": lambda n: "$(" * n,
    "backticks": lambda n: "`" * n,
    "quotes": lambda n: '"' * n,
    "a name": lambda n: "${" + "a" * n + "}",
}


@pytest.mark.large
@pytest.mark.parametrize("name", LONG)
def test_a_long_expansion_takes_steps_in_proportion_and_ends(name: str) -> None:
    assert growth(lambda size: lambda: fields_of(LONG[name](size), VALUES.get), 100) < IN_PROPORTION
    assert len(fields_of(LONG[name](50_000), VALUES.get)) <= 1


def test_of_a_pattern_with_many_stars_nobody_waits_for_the_value() -> None:
    few, many = ("${L%" + "*a" * stars + "}" for stars in (3, 4))
    assert assigned_of(few, {"L": "a" * 256}.get) == "a" * 253
    assert not is_known(assigned_of(many, {"L": "a" * 256}.get))
    assert not is_known(assigned_of("${L%*a}", {"L": "a" * 257}.get))


@given(st.text(st.sampled_from("aA$\\{}()'\":-+=#%/ `^,0")))
def test_no_word_is_too_odd(raw: str) -> None:
    for field in fields_of(raw, VALUES.get):
        assert shown(field) is not None
    assert isinstance(text_of(raw, VALUES.get), str)


@given(st.text(st.sampled_from("ab${}()'\"\\"), max_size=30))
def test_a_brace_is_closed_by_a_brace(text: str) -> None:
    end = closing("{" + text, 0)
    assert end is None or ("{" + text)[end] == "}"


def test_a_name_of_what_is_not_known_is_one_word() -> None:
    assert fields_of("$X", {"X": unknown("a b\n c")}.get) == [unknown("a b c")]
