"""The line of every key and array item, held against texts whose lines are known because the test wrote them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.files.toml import parse_toml
from envdoctor.files.toml_spans import block_lines, toml_lines

Lines = dict[tuple[str | int, ...], int]

TEXT = """\
title = "a # b"  # a comment with [brackets] and "quotes"
"quoted key" = 'literal \\'

[project]
dependencies = [  # first
    "torch", "peft",
    # a comment, then [
    "trl",
]
readme = \"""
[not-a-table]
key = 1 \\""\" \\
\"""
urls = { home = "x", "a.b" = { c = [1, 2] } }
tool.uv.sources.torch.index = "cu124"
when = 1979-05-27 07:32:00
[[package]]
name = 'a'
wheels = [
  { url = "u", hash = "h" },
  { url = "v" }]
[package.source]
git = '''
[[package]]
'''''
[[package]]
name = "b"
[package."x.y".z]
"""


def test_every_key_and_item_has_the_line_it_stands_on() -> None:
    assert toml_lines(TEXT) == {
        ("title",): 1,
        ("quoted key",): 2,
        ("project",): 4,
        ("project", "dependencies"): 5,
        ("project", "dependencies", 0): 6,
        ("project", "dependencies", 1): 6,
        ("project", "dependencies", 2): 8,
        ("project", "readme"): 10,
        ("project", "urls"): 14,
        ("project", "urls", "home"): 14,
        ("project", "urls", "a.b"): 14,
        ("project", "urls", "a.b", "c"): 14,
        ("project", "urls", "a.b", "c", 0): 14,
        ("project", "urls", "a.b", "c", 1): 14,
        ("project", "tool"): 15,
        ("project", "tool", "uv"): 15,
        ("project", "tool", "uv", "sources"): 15,
        ("project", "tool", "uv", "sources", "torch"): 15,
        ("project", "tool", "uv", "sources", "torch", "index"): 15,
        ("project", "when"): 16,
        ("package",): 17,
        ("package", 0): 17,
        ("package", 0, "name"): 18,
        ("package", 0, "wheels"): 19,
        ("package", 0, "wheels", 0): 20,
        ("package", 0, "wheels", 0, "url"): 20,
        ("package", 0, "wheels", 0, "hash"): 20,
        ("package", 0, "wheels", 1): 21,
        ("package", 0, "wheels", 1, "url"): 21,
        ("package", 0, "source"): 22,
        ("package", 0, "source", "git"): 23,
        ("package", 1): 26,
        ("package", 1, "name"): 27,
        ("package", 1, "x.y"): 28,
        ("package", 1, "x.y", "z"): 28,
    }
    assert set(toml_lines(TEXT)) == set(paths(parse_toml(TEXT.encode(), "t")))


def test_a_table_written_after_what_it_holds_has_the_line_of_its_own_header() -> None:
    assert toml_lines("[a.b]\nx = 1\n[a]\ny = 2\n") == {("a",): 3, ("a", "b"): 1, ("a", "b", "x"): 2, ("a", "y"): 4}


def test_line_ends_of_windows_count_once() -> None:
    assert toml_lines("a = 1\r\n[t]\r\nb = [\r\n 1,\r\n]\r\n") == {("a",): 1, ("t",): 2, ("t", "b"): 3, ("t", "b", 0): 4}


def test_blocks_of_a_lock_are_found_without_a_scan_where_they_are_written_plainly() -> None:
    lock = "version = 1\n[[package]]\nname = 'a'\n\n  [[ package ]] # b\nname = 'b'\n"
    assert block_lines(lock, "package", 2) == [2, 5]
    assert block_lines(lock + "description = '''\n[[package]]\n'''\n", "package", 2) is None
    assert block_lines("package = [{name = 'a'}]\n", "package", 1) is None


@pytest.mark.parametrize("text", ["a = [", "a = {b", 'a = "', "[", "[[a", "a = '''x", "= 1", "\x00", "a.", "a = {b = [1, {"])
def test_what_is_no_toml_comes_to_an_end(text: str) -> None:
    assert all(line == 1 for line in toml_lines(text).values())


@given(st.text(alphabet="ab.=[]{}\"'\\#\n, 1", max_size=60))
def test_no_text_is_scanned_forever(text: str) -> None:
    assert all(1 <= line <= text.count("\n") + 1 for line in toml_lines(text).values())


def test_nesting_is_followed_without_recursion() -> None:
    deep = "a = " + "[" * 50_000 + "]" * 50_000
    assert len(toml_lines("a = " + "[" * 300 + "]" * 300)) == 300
    assert toml_lines(deep[:100])[("a",)] == 1


# A document is written from a model, and what is written where is kept.

KEYS = st.one_of(st.sampled_from(["a", "b", "torch", "x-y", "1"]), st.text(max_size=4).filter(lambda key: key.isprintable()))
SCALARS = st.one_of(
    st.integers(-9, 99),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.text(alphabet="ab#[]{}=\"'\\\n, é", max_size=8),
    st.just("1979-05-27 07:32:00"),
)
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)), max_leaves=6)
TABLES = st.dictionaries(KEYS, VALUES, max_size=3)
BLOCKS = st.lists(st.tuples(st.sampled_from(["table", "array"]), st.lists(KEYS, min_size=1, max_size=3, unique=True), TABLES), max_size=4)


class Writer:
    """Writes TOML in the ways that it can be written, as ``choose`` has it."""

    def __init__(self, choose: Any) -> None:
        self.text = ""
        self.lines: Lines = {}
        self._choose = choose

    def line(self) -> int:
        return self.text.count("\n") + 1

    def mark(self, path: tuple[str | int, ...]) -> None:
        self.lines[path] = self.line()

    def pick(self, *options: str) -> str:
        return str(self._choose.draw(st.sampled_from(options)))

    def key(self, key: str) -> str:
        bare = key.isascii() and key.replace("-", "").isalnum()
        quoted = json.dumps(key, ensure_ascii=False).replace("\x7f", "\\u007f")
        ways = [quoted] + ([key] if bare else []) + ([f"'{key}'"] if "'" not in key else [])
        return self.pick(*ways)

    def pairs(self, prefix: tuple[str | int, ...], table: dict[str, Any]) -> None:
        for key, value in table.items():
            self.text += self.pick("", "\n", "# [x]\n", "  ")
            self.mark((*prefix, key))
            self.text += self.key(key) + self.pick("=", " = ")
            self.value((*prefix, key), value, within=False)
            self.text += self.pick("\n", "  # ] } '''\n")

    def value(self, path: tuple[str | int, ...], value: Any, *, within: bool) -> None:
        if isinstance(value, dict):
            self.text += "{"
            for place, (key, item) in enumerate(value.items()):
                self.text += ", " if place else " "
                self.mark((*path, key))
                self.text += self.key(key) + " = "
                self.value((*path, key), item, within=True)
            self.text += "}"
        elif isinstance(value, list):
            blanks = ("", " ", "\n", "# , ]\n  ")
            self.text += "["
            for place, item in enumerate(value):
                self.text += ("," if place else "") + self.pick(*blanks)
                self.mark((*path, place))
                self.value((*path, place), item, within=within)
                self.text += self.pick(*blanks)
            self.text += (self.pick("", ",") if value else "") + self.pick(*blanks) + "]"
        elif isinstance(value, str):
            self.text += self.string(value, within=within)
        else:
            self.text += str(value).lower()

    def string(self, value: str, *, within: bool) -> str:
        if value == "1979-05-27 07:32:00":
            return value
        ways = [json.dumps(value, ensure_ascii=False)]
        if "'" not in value and "\n" not in value:
            ways.append(f"'{value}'")
        if "'''" not in value and not value.endswith("'"):
            ways.append(f"'''\n{value}'''")
        escaped = value.replace("\\", "\\\\").replace('"""', '""\\"')
        ways.append(f'"""{escaped[:-1]}\\""""' if escaped.endswith('"') and not escaped.endswith('\\"') else f'"""{escaped}"""')
        return self.pick(*ways)


def paths(value: Any, prefix: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, item in items:
        yield (*prefix, key)
        yield from paths(item, (*prefix, key))


@given(st.data(), TABLES, BLOCKS)
def test_written_lines_are_read_back(data: Any, root: dict[str, Any], blocks: list[tuple[str, list[str], dict[str, Any]]]) -> None:
    writer = Writer(data)
    writer.pairs((), root)
    used = set(root)
    arrays: dict[str, int] = {}
    for kind, keys, table in blocks:
        first = keys[0]
        if kind == "array" and (first in arrays or first not in used):
            used.add(first)
            writer.lines.setdefault((first,), writer.line())
            path: tuple[str | int, ...] = (first, arrays.get(first, 0))
            arrays[first] = arrays.get(first, 0) + 1
            writer.lines[path] = writer.line()
            writer.text += f"[[{writer.pick('', ' ')}{writer.key(first)}]]{writer.pick('', ' # x')}\n"
        elif kind == "table" and first not in used:
            used.add(first)
            path = tuple(keys)
            for end in range(1, len(keys) + 1):
                writer.lines[path[:end]] = writer.line()
            writer.text += "[" + writer.pick(".", " . ").join(writer.key(key) for key in keys) + "]\n"
        else:
            continue
        writer.pairs(path, table)
    table = parse_toml(writer.text.encode(), "generated")
    assert toml_lines(writer.text) == writer.lines
    assert set(paths(table)) == set(writer.lines)
