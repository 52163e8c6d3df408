"""Lines are what rich would print: it is the oracle here, and not imported where everything is one column wide."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from envdoctor.report.plain import printable
from envdoctor.report.sheet import STYLES, Sheet

Drawn: TypeAlias = "Callable[[Sheet], None]"
Printed: TypeAlias = "Callable[[Console], None]"

WIDE = "a b\n\t\x1b中é\u200b\u00a0e\u0301🙂"
WORDS = st.text("ab-/. ", max_size=120) | st.text(WIDE, max_size=60) | st.text(max_size=30)
LABELS = st.sampled_from(("", "because", "or"))
STYLE = st.sampled_from(("", "bold", *STYLES.values()))
WIDTH = st.integers(24, 100)


def by_rich(width: int, colour: bool, print_: Printed) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colour, no_color=not colour, color_system="standard" if colour else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    with console.capture() as capture:
        print_(console)
    return "\n".join(line.rstrip() for line in capture.get().split("\n"))


def by_sheet(width: int, colour: bool, draw: Drawn) -> str:
    sheet = Sheet(width, colour)
    draw(sheet)
    return sheet.text()


@given(WORDS, st.integers(0, 4), STYLE, WIDTH, st.booleans())
def test_a_line(text: str, indent: int, style: str, width: int, colour: bool) -> None:
    def print_(console: Console) -> None:
        console.print(Padding(Text(printable(text), style=style), (0, 0, 0, indent)))

    assert by_sheet(width, colour, lambda sheet: sheet.line(text, indent, style)) == by_rich(width, colour, print_)


@given(LABELS, WORDS, WIDTH, st.booleans())
def test_an_item(label: str, text: str, width: int, colour: bool) -> None:
    def print_(console: Console) -> None:
        for number, line in enumerate(Text(printable(text, keep_newlines=True)).wrap(console, width - 11)):
            head = f"  {label:<9}" if number == 0 else " " * 11
            console.print(Text.assemble((head, "bold"), line), soft_wrap=True)

    assert by_sheet(width, colour, lambda sheet: sheet.item(label, text)) == by_rich(width, colour, print_)


@given(st.lists(st.tuples(WORDS, STYLE), max_size=4), WIDTH, st.booleans())
def test_a_headline(parts: list[tuple[str, str]], width: int, colour: bool) -> None:
    printed = by_rich(width, colour, lambda console: console.print(Text.assemble(*parts)))
    assert by_sheet(width, colour, lambda sheet: sheet.headline(*parts)) == printed


@given(LABELS, WORDS, WIDTH, st.booleans())
def test_a_line_to_paste(label: str, command: str, width: int, colour: bool) -> None:
    def print_(console: Console) -> None:
        console.print(Text.assemble((f"  {label:<9}", "bold"), printable(command)), soft_wrap=True)
        console.print(printable(command), soft_wrap=True)
        console.print()

    def draw(sheet: Sheet) -> None:
        sheet.paste(label, command)
        sheet.unbroken(command)
        sheet.blank()

    assert by_sheet(width, colour, draw) == by_rich(width, colour, print_)


@pytest.mark.parametrize(("text", "asked"), [("a path that is as long as it likes " * 9, False), ("ein Verzeichnis für mich", True)])
def test_rich_is_asked_only_about_what_may_be_wider(text: str, asked: bool) -> None:
    code = "import sys; from envdoctor.report.sheet import Sheet; Sheet(80, True).line(sys.argv[1]); print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True, check=True)
    assert done.stdout == f"{asked}\n"
