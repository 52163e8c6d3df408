"""For which Pythons and systems the releases of packages without a source archive have wheels: read from the package index.

    python scripts/refresh_wheel_pythons.py            # asks for the packages of the table again
    python scripts/refresh_wheel_pythons.py NAME ...   # asks for these, and keeps what the table has of others
    python scripts/refresh_wheel_pythons.py --compiled NAME ...   # the same for packages that have source archives and are hard to build

Writes envdoctor/data/wheel_pythons.json. Only the names of the files are looked at: x86_64 for Linux and Windows, any machine for macOS.
A release that has a source archive is left out, since an installer would build that, and so is one whose wheels suit every Python 3. Of the
packages under ``compiled`` those that have a source archive are told: an installer builds them where there is no wheel.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

TABLE = Path(__file__).parent.parent / "envdoctor" / "data" / "wheel_pythons.json"
ABOUT = (
    "For which Pythons the releases of a package have wheels on the package index, by system, where they have no source archive. rows: "
    "what there is (l for Linux on x86_64, w for Windows on x86_64, m for macOS; 8-11 is Python 3.8 to 3.11, 8+ is 3.8 and later), and the "
    "releases. Of a release that no row has nothing is known. compiled: the same of releases that have a source archive as well."
)
_LETTERS = (("l", re.compile(r"linux.*x86_64$")), ("w", re.compile(r"win_amd64$")), ("m", re.compile(r"macosx_")))
_PYTHON = re.compile(r"cp3([0-9]+)$")


def asked(name: str) -> dict[str, list[dict[str, Any]]]:
    with urllib.request.urlopen(f"https://pypi.org/pypi/{name}/json", timeout=60) as answer:
        found: dict[str, list[dict[str, Any]]] = json.load(answer)["releases"]
    return found


def coverage(files: list[dict[str, Any]], compiled: bool) -> str:
    """What the wheels of a release are for; empty where it has no wheel, or one for every Python and system, and where it has a source
    archive or, of those that are ``compiled``, none."""
    names = [file["filename"] for file in files]
    if not names or any(name.endswith((".tar.gz", ".zip", ".tar.bz2")) for name in names) is not compiled:
        return ""
    minors: dict[str, set[int]] = {letter: set() for letter, _ in _LETTERS}
    since: dict[str, int] = {}
    for name in names:
        try:
            tags = parse_wheel_filename(name)[3]
        except InvalidWheelFilename:
            continue
        for tag in tags:
            for letter, platform in _LETTERS:
                if tag.platform != "any" and not platform.search(tag.platform):
                    continue
                found = _PYTHON.match(tag.interpreter)
                if tag.interpreter == "py3" or (found and tag.abi == "abi3"):
                    since[letter] = min(since.get(letter, 99), int(found[1]) if found else 0)
                elif found:
                    minors[letter].add(int(found[1]))
    if all(since.get(letter) == 0 for letter, _ in _LETTERS):
        return ""
    told = (_told(letter, minors[letter], since.get(letter)) for letter, _ in _LETTERS)
    return " ".join(one for one in told if one)


def _told(letter: str, minors: set[int], since: int | None) -> str:
    parts: list[str] = []
    ordered = sorted(minor for minor in minors if since is None or minor < since)
    while ordered:
        first = last = ordered.pop(0)
        while ordered and ordered[0] == last + 1:
            last = ordered.pop(0)
        parts.append(f"{first}" if first == last else f"{first}-{last}")
    parts += [] if since is None else [f"{since}+"]
    return f"{letter}{','.join(parts)}" if parts else ""


def rows(name: str, compiled: bool) -> list[list[str]]:
    """The rows of a package, its oldest releases first."""
    known = []
    for text, files in asked(name).items():
        try:
            version = Version(text)
        except InvalidVersion:
            continue
        if not version.is_prerelease and (told := coverage(files, compiled)):
            known.append((version, text, told))
    found: dict[str, list[str]] = {}
    for _, text, told in sorted(known):
        found.setdefault(told, []).append(text)
    return [[told, " ".join(texts)] for told, texts in found.items()]


def main(words: list[str]) -> int:
    table = json.loads(TABLE.read_bytes()) if TABLE.is_file() else {}
    compiled = words[:1] == ["--compiled"]
    names = words[compiled:]
    parts = {part: dict(table.get(part, {})) for part in ("packages", "compiled")}
    for part, packages in parts.items():
        for name in (names if (part == "compiled") is compiled else []) if names else list(packages):
            packages[name] = rows(name, part == "compiled")
    kept = {part: {name: packages[name] for name in sorted(packages) if packages[name]} for part, packages in parts.items()}
    day = str(datetime.now(tz=timezone.utc).date())
    TABLE.write_text(json.dumps({"about": ABOUT, "as_of": day, **kept}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
