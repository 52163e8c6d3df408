"""The blocks of a Jinja template: which tags it uses, and where one is not closed.

No template engine is needed and nothing is rendered. What this reader does not know it leaves alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.records import dataclass

# Tags that transformers added to its environment, with the first release that has them: 4.42.4 against 4.43.0 (generation),
# 4.44.2 against 4.45.0 (loop controls); tokenization_utils_base.py and utils/chat_template_utils.py of the wheels.
NEWER_TAGS = {"generation": "4.43.0", "break": "4.45.0", "continue": "4.45.0"}

_CLOSED = frozenset(("for", "if", "macro", "call", "filter", "block", "with", "autoescape", "generation", "raw"))
_INSIDE = {"else": ("for", "if"), "elif": ("if",)}
_ALONE = frozenset(("include", "import", "from", "extends", "break", "continue", "do", "debug"))
_OPEN = re.compile(r"\{\{|\{%|\{#")
_TAG = re.compile(r"\{%[-+]?\s*(\w+)")
_ENDRAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_ASSIGNS = re.compile(r"\{%[-+]?\s*set\s[\w.,()\s]*=")
_CLOSES = {"{{": "}}", "{%": "%}", "{#": "#}"}
_CALLED = {"{{": "an expression", "{%": "a tag", "{#": "a comment"}
_DEEPEST = 1000


@dataclass(frozen=True, slots=True)
class Blocks:
    """``tags`` in use; ``problem`` is what cannot be parsed, in ``line`` (from 1), None where nothing was found."""

    tags: frozenset[str]
    problem: str | None = None
    line: int = 1


def read_blocks(text: str) -> Blocks:
    """Follow the blocks of a template up to the first that is wrong."""
    tags: set[str] = set()
    opened: list[tuple[str, int]] = []
    for kind, start, end in _pieces(text):
        if end is None:
            if not text[start + 2 :].strip():
                return Blocks(frozenset(tags))
            return Blocks(frozenset(tags), f"{_CALLED[kind]} is opened with {kind} and never closed", _line(text, start))
        name = _TAG.match(text, start) if kind == "{%" else None
        if name is None:
            continue
        tag = name[1]
        tags.add(tag)
        if tag in _CLOSED or (tag == "set" and not _ASSIGNS.match(text, start, end)):
            opened.append((tag, start))
        elif tag in _INSIDE:
            if not opened or opened[-1][0] not in _INSIDE[tag]:
                return Blocks(frozenset(tags), _misplaced(tag, opened), _line(text, start))
        elif tag.startswith("end"):
            if not opened or opened[-1][0] != tag[3:]:
                return Blocks(frozenset(tags), _misplaced(tag, opened), _line(text, start))
            opened.pop()
        elif tag != "set" and tag not in _ALONE:
            return Blocks(frozenset(tags))
        if len(opened) > _DEEPEST:
            return Blocks(frozenset(tags))
    if opened:
        tag, start = opened[-1]
        if tag == "raw" and text.rstrip().endswith("%}"):
            return Blocks(frozenset(tags))
        return Blocks(frozenset(tags), f"{{% {tag} %}} has no {{% end{tag} %}}", _line(text, start))
    return Blocks(frozenset(tags))


def first_output(text: str) -> str:
    """What a template writes first: the code of an expression with its braces, or literal text; empty for nothing."""
    position = 0
    for kind, start, end in _pieces(text):
        if literal := text[position:start].strip():
            return literal
        if kind == "{{" or end is None:
            return text[start:end]
        position = end
    return text[position:].strip()


def without_comments(text: str) -> str:
    """The template without what it only says to its readers."""
    kept: list[str] = []
    position = 0
    for kind, start, end in _pieces(text):
        if kind == "{#":
            kept.append(text[position:start])
            position = len(text) if end is None else end
    return "".join((*kept, text[position:]))


def _misplaced(tag: str, opened: list[tuple[str, int]]) -> str:
    inside = f"inside {{% {opened[-1][0]} %}}" if opened else "where no block is open"
    return f"{{% {tag} %}} stands {inside}"


def _pieces(text: str) -> Iterator[tuple[str, int, int | None]]:
    """Each expression, tag and comment: what opens it, where it begins and where it ends (None where it never does)."""
    position = 0
    while (found := _OPEN.search(text, position)) is not None:
        kind, start = found[0], found.start()
        if kind == "{#":
            closing = text.find("#}", start + 2)
            end = None if closing < 0 else closing + 2
        else:
            end = _end_of_code(text, start + 2, _CLOSES[kind])
        yield kind, start, end
        if end is None:
            return
        position = end
        name = _TAG.match(text, start) if kind == "{%" else None
        if name is not None and name[1] == "raw":
            raw_end = _ENDRAW.search(text, end)
            if raw_end is None:
                return
            position = raw_end.start()


_CODE = re.compile(r"'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|[{}\[\]()]|%|'|\"", re.DOTALL)


def _end_of_code(text: str, position: int, closing: str) -> int | None:
    """Where code ends: at the closing mark outside of strings and brackets."""
    depth = 0
    while (found := _CODE.search(text, position)) is not None:
        if depth == 0 and text.startswith(closing, found.start()):
            return found.start() + 2
        mark = found[0]
        if mark in ("'", '"'):
            return None
        if mark in "{[(":
            depth += 1
        elif mark in "}])":
            depth = max(0, depth - 1)
        position = found.end()
    return None


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
