"""Text from files and rules made safe for Markdown as GitHub and GitLab show it: it is shown as it is, and does nothing.

Which characters mean something: https://github.github.com/gfm/. What else is acted on: mentions, references to issues and bare
addresses, https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls.
"""

from __future__ import annotations

import re

from envdoctor.report.plain import printable

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_PUNCTUATION = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]|~$"} | _HTML)
# What begins a heading, a list, a rule or a code block where it begins a line.
_BEGINS = re.compile(r"([0-9]*(?=[.)](?:\s|$))|)([#+=.)-])")
_QUOTED = re.compile(r"`([^`]+)`")
# What a backslash does not stop: names after @, references (#12, GH-12), addresses, and :names: of pictures.
_ACTIVE = re.compile(r"@|#(?=\d)|\bGH-(?=\d)|//|(?<=www)|:(?=[\w+-])", re.IGNORECASE)
_BACKTICKS = re.compile(r"`+")
_GAP = "&#8203;"  # a space without width


def inline(text: str, *, begins: bool = True) -> str:
    """Text within a line or a cell of a table; ``begins`` says that nothing but spaces comes before it."""
    flat = _flat(text)
    first = _BEGINS.match(flat) if begins else None
    if first is None:
        return _inert(flat, _PUNCTUATION)
    return f"{first[1]}\\{first[2]}{_GAP if first[2] == '#' else ''}{_inert(flat[first.end() :], _PUNCTUATION)}"


def prose(text: str) -> str:
    """Text outside of tables in which `this` is code, as the authors of rules write it."""
    parts = _QUOTED.split(_flat(text))
    return "".join(code(part) if number % 2 else inline(part, begins=number == 0) for number, part in enumerate(parts))


def _flat(text: str) -> str:
    """Text as one line, each run of spaces and newlines as one space."""
    return re.sub(r"\s+", " ", printable(text, keep_newlines=True))


def in_html(text: str) -> str:
    """Text within an HTML element, such as a summary, where a backslash is no escape."""
    return _inert(_flat(text), str.maketrans(_HTML))


def _inert(flat: str, escapes: dict[int, str]) -> str:
    parts, marks = _ACTIVE.split(flat), _ACTIVE.findall(flat)
    found = parts[0].translate(escapes)
    for mark, part in zip(marks, parts[1:], strict=True):
        shown = f"/{_GAP}/" if mark == "//" else mark.translate(escapes)
        found += f"{shown}{_GAP}{part.translate(escapes)}"
    return found


def code(text: str, *, cell: bool = False) -> str:
    """Text as code within a line, or within a cell of a table, where a bar ends the cell even in code."""
    flat = _flat(text).strip() or " "
    if cell and ("|" in flat or "\\" in flat):
        return f"<code>{_inert(flat, _PUNCTUATION)}</code>"
    fence = "`" * (1 + max(map(len, _BACKTICKS.findall(flat)), default=0))
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def block(text: str, language: str = "") -> str:
    """Lines as a block of code, to copy as they are."""
    shown = printable(text, keep_newlines=True)
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(shown)), default=0))
    return f"{fence}{language}\n{shown}\n{fence}"


def link(text: str, url: str) -> str:
    """A link, if the address is a plain one over https; else its text alone."""
    if not re.fullmatch(r"https://[A-Za-z0-9._~:/?#@!$&'*+,;=%-]+", url):
        return inline(text)
    return f"[{inline(text)}]({url})"
