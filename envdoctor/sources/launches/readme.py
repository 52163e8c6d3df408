"""What the fenced commands of a README install: its blocks of shell, each read as a script, and nothing of the runs that they show.

What two blocks ask for otherwise is a choice that the page offers (one torch for each CUDA), and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from envdoctor.facts.fact import Collected
from envdoctor.facts.names import canonical
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.requirement_line import declare
from envdoctor.sources.installers.wanted import list_wanted
from envdoctor.sources.launches.script import read_script
from envdoctor.world.installation import Installation

_LIMIT = 2 * 2**20
_FENCE = re.compile(r"^\s{0,12}(?P<marks>`{3,}|~{3,})\s*(?P<kind>[\w+-]*)")
_OF_A_SHELL = frozenset(("", "bash", "sh", "shell", "zsh", "console", "shell-session", "terminal", "text", "txt"))
_PROMPT = re.compile(r"^(?P<before>\s*)(?:\$|%|>|!|(?:\([\w.-]+\)\s*)\$)\s*(?=(?:python3? -m )?(?:uv |pip3? |conda |mamba ))")
_INSTALLS = re.compile(r"(?m)\b(?:pip3?|uv(?: pip)?)\s+(?:install|add)\b")
_NAME = re.compile(r"^([A-Za-z0-9][\w.-]*)")


def is_readme(path: Path) -> bool:
    """Whether a page has a block of commands that install something."""
    return any(_INSTALLS.search(block) for block in _blocks(_text(path)))


def collect_readme(path: Path, installation: Installation | None = None) -> Collected:
    """The packages that its commands install, each at its line."""
    place = plain(str(path), 4096)
    declared = Declarations(installation or Installation())
    asked: dict[str, list[tuple[str, int]]] = {}
    for block in _blocks(_text(path)):
        for install in read_script(block).installs:
            for text, line, why in list_wanted(install.request):
                name = _NAME.match(text)
                if why or name is None or not install.certain:
                    declared.skip(f"{place}:{line}", f"pip install {text}: {why or 'under a condition'}")
                else:
                    asked.setdefault(canonical(name[1]), []).append((text, line))
    for found in asked.values():
        if len({text.replace(" ", "") for text, _ in found}) > 1:
            listed = ", ".join(f"{text} (line {line})" for text, line in found[:4])
            declared.skip(f"{place}:{found[0][1]}", plain(f"the page offers several of one package: {listed}", 400))
            continue
        declare(found[0][0], place, found[0][1], declared)
    return declared.collected()


def _blocks(text: str) -> Iterator[str]:
    """The blocks of shell, each with as many empty lines before it as keep its place in the page."""
    lines, marks, begun = text.split("\n"), "", 0
    kept: list[str] = []
    for at, line in enumerate(lines):
        fence = _FENCE.match(line)
        if not marks and fence is not None:
            marks, begun, kept = fence["marks"], at + 1, []
            wanted = fence["kind"].lower() in _OF_A_SHELL
        elif marks and fence is not None and fence["marks"].startswith(marks) and not fence["kind"]:
            if wanted and kept:
                yield "\n" * begun + "\n".join(kept) + "\n"
            marks = ""
        elif marks:
            kept.append(_PROMPT.sub(lambda told: told["before"], line))


def _text(path: Path) -> str:
    try:
        return read_bounded(path, _LIMIT).decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\0", "")
    except UnreadableError:
        return ""
