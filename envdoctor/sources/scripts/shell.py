"""Packages that a notebook installs with ``!pip install``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from envdoctor.facts.fact import Collected, Skip
from envdoctor.facts.names import canonical
from envdoctor.files.text import plain
from envdoctor.records import replace
from envdoctor.sources.scripts.source import ShellLine, Source

if TYPE_CHECKING:
    from envdoctor.sources.launches.script import Install
    from envdoctor.world.installation import Installation

# What IPython puts before a command that it hands to a shell, and its magics that are installers' own commands.
_HANDED = re.compile(r"^(?:\s*[\w, ]{1,80}=)?\s*(?:!+|%(?=\s*(?:uv\s+)?pip\b))?\s*")
_INTERPRETER = re.compile(r"[\"']?\{\s*sys\.executable\s*\}[\"']?")
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(.*)", re.DOTALL)


def collect_installs(source: Source, installation: Installation | None = None) -> Collected:
    """The packages of ``pip install`` lines.

    Lines run one after the other: a package that two of them ask for in different ways, or that is installed under a condition,
    is a skip.
    """
    installs = list(_installs(source))
    if not installs:
        return Collected()
    from envdoctor.sources.declared.declarations import Declarations
    from envdoctor.sources.declared.requirement_line import declare
    from envdoctor.sources.installers.wanted import list_wanted

    asked: dict[str, list[tuple[str, ShellLine]]] = {}
    skips: list[Skip] = []
    for line, install in installs:
        for text in install.unquoted:
            why = f"pip install ...{text}: without quotes the shell takes {text[0]} for a redirection"
            skips.append(Skip(source.place(line.line), plain(why)))
        for text, number, why in list_wanted(install.request):
            at = replace(line, line=line.line + number - 1, sure=line.sure and install.certain)
            if why:
                skips.append(Skip(source.place(at.line), plain(f"pip install {text}: {why}")))
            else:
                asked.setdefault(_named(text)[0], []).append((text, at))
    declared = Declarations() if installation is None else Declarations(installation)
    for name, rows in asked.items():
        ranges = {_named(text)[1] for text, _ in rows} - {""}
        if len(ranges) > 1 or not all(line.sure for _, line in rows):
            told = ", ".join(f"{text} on {source.short(line.line)}" for text, line in rows[:4])
            why = "asked for in different ways" if len(ranges) > 1 else "installed under a condition"
            skips.append(Skip(source.place(rows[0][1].line), plain(f"{name} is {why}: {told}")))
            continue
        text, line = next(((text, line) for text, line in rows if _named(text)[1]), rows[0])
        origin = source.origin(line.line)
        declare(text, origin.file or source.path, origin.line, declared)
    found = declared.collected()
    return Collected(found.facts, found.defects, (*skips, *found.skips), wanted=found.wanted)


def _named(text: str) -> tuple[str, str]:
    """The package of a requirement, and the releases of it that it admits."""
    from envdoctor.sources.declared.requirement_line import wheel_release

    release, named = wheel_release(text), _NAMED.fullmatch(text)
    if release is not None:
        return canonical(release[0]), f"=={release[1]}"
    return (canonical(named[1]), re.sub(r"\s", "", named[2])) if named else (text, text)


def _installs(source: Source) -> Iterator[tuple[ShellLine, Install]]:
    """What the commands that a notebook hands to a shell install; each cell of a shell's own is one script."""
    for line in each_script(source):
        if "install" in line.text or "uv" in line.text:
            from envdoctor.sources.launches.script import read_script

            for install in read_script(handed_over(line)).installs:
                yield line, install


def handed_over(line: ShellLine) -> str:
    """What a shell gets to read of a line or a cell."""
    return _INTERPRETER.sub("python", line.text if line.cell else _HANDED.sub("", line.text, count=1))


def each_script(source: Source) -> Iterator[ShellLine]:
    """The commands that a notebook hands to a shell, one by one; a cell of a shell's own is one."""
    for cell, lines in groupby(source.shell, key=lambda line: line.cell):
        if not cell:
            yield from lines
            continue
        rows: list[str] = []
        for line in lines:
            rows += [""] * (line.line - cell - len(rows)) + [line.text]
        yield ShellLine("\n".join(rows), cell, sure=True, cell=cell)
