"""Packages that a notebook installs with ``!pip install``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envdoctor.facts.fact import Collected, Skip
from envdoctor.facts.names import canonical
from envdoctor.files.text import plain
from envdoctor.sources.scripts.source import ShellLine, Source

if TYPE_CHECKING:
    from envdoctor.world.installation import Installation

_INSTALL = re.compile(r"(?:[!%]\s*)?(?:\S*python[\d.]*\s+-m\s+)?(?:uv\s+)?pip[\d.]*\s+install\s+(.*)", re.DOTALL)
# Options of pip that take a value.
_VALUED = frozenset(
    ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-t", "--target", "--prefix", "--root", "--cache-dir", "--timeout",
     "--retries", "--trusted-host", "--proxy", "--python", "-p", "--platform", "--progress-bar", "--torch-backend", "--index")
)  # fmt: skip
_FILES = frozenset(("-r", "--requirement", "-c", "--constraint", "-e", "--editable"))
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(.*)", re.DOTALL)


def collect_installs(source: Source, installation: Installation | None = None) -> Collected:
    """The packages of ``pip install`` lines.

    Lines run one after the other: a package that two of them ask for in different ways, or that is installed under a condition,
    is a skip.
    """
    asked: dict[str, list[tuple[str, ShellLine]]] = {}
    skips: list[Skip] = []
    for line in source.shell:
        for text, why in requirements_of(line.text):
            if why:
                skips.append(Skip(source.place(line.line), plain(f"pip install {text}: {why}")))
                continue
            named = _NAMED.fullmatch(text)
            asked.setdefault(canonical(named[1]) if named else text, []).append((text, line))
    if not asked:
        return Collected(skips=tuple(skips))
    from envdoctor.sources.declared.declarations import Declarations
    from envdoctor.sources.declared.requirement_line import declare

    declared = Declarations() if installation is None else Declarations(installation)
    for name, rows in asked.items():
        ranges = {_range(text) for text, _ in rows} - {""}
        if len(ranges) > 1 or not all(line.sure for _, line in rows):
            told = ", ".join(f"{text} on {source.short(line.line)}" for text, line in rows[:4])
            why = "asked for in different ways" if len(ranges) > 1 else "installed under a condition"
            skips.append(Skip(source.place(rows[0][1].line), plain(f"{name} is {why}: {told}")))
            continue
        text, line = next(((text, line) for text, line in rows if _range(text)), rows[0])
        origin = source.origin(line.line)
        declare(text, origin.file or source.path, origin.line, declared)
    found = declared.collected()
    return Collected(found.facts, found.defects, (*skips, *found.skips))


def _range(text: str) -> str:
    named = _NAMED.fullmatch(text)
    return re.sub(r"\s", "", named[2]) if named else text


def requirements_of(text: str) -> Iterator[tuple[str, str]]:
    """What ``pip install`` commands of a line name, each with the reason why it cannot be read, or ""."""
    for command in re.split(r"&&|\|\||;", text):
        found = _INSTALL.fullmatch(command.strip())
        words = _words(found[1]) if found is not None else []
        option = ""
        for word in words:
            if option in _FILES:
                yield f"{option} {word}", "give that file as a target of its own"
            if option:
                option = ""
            elif word in _VALUED or word in _FILES:
                option = word
            elif word in ("|", "&") or word.startswith((">", "1>", "2>")):
                break
            elif "://" in word or word.startswith((".", "/")):
                yield word, "a URL or path, its version is not known"
            elif "$" in word or "{" in word:
                yield word, "it names a variable"
            elif not word.startswith("-"):
                yield word, ""


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return []
