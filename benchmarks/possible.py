"""How much `possible` is worth: of the findings that wait for a package, how many come true when uv resolves the file.

    python benchmarks/possible.py FILE_OR_DIRECTORY ... [--python 3.11] [--as-of DATE] [--show]

Each requirements file, lock or manifest is checked twice, for Linux on x86_64: as it stands, and with ``--resolve``. A finding that waits
for a package came true where its rule holds of what uv takes, or waits for the plan and the model alone there. Told are the share of those
that are shown by default and came true, and the share of those that came true that are shown. The index is asked; nothing is built.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from envdoctor.app.check import check
from envdoctor.cli.parser import parse
from envdoctor.cli.requests import read_project_request
from envdoctor.engine.diagnosis import Finding
from envdoctor.errors import EnvdoctorError
from envdoctor.records import dataclass

_NAMES = ("requirements*.txt", "pyproject.toml", "setup.py", "setup.cfg", "environment*.y*ml", "Pipfile")


@dataclass(frozen=True, slots=True)
class Waited:
    """A finding that waited for a package: whether it is shown, whether an installer's choice is known, and whether it came true."""

    file: str
    rule: str
    shown: bool
    newest: bool
    came_true: bool


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("places", nargs="+", type=Path)
    parser.add_argument("--python", default="3.11")
    parser.add_argument("--as-of", default=None)
    parser.add_argument("--show", action="store_true", help="one line a finding")
    options = parser.parse_args(words)
    rows: list[Waited] = []
    lost: Counter[str] = Counter()
    for path in _files(options.places):
        found = _look(path, options.python, options.as_of)
        if isinstance(found, str):
            lost[found] += 1
            continue
        rows += found
        if options.show:
            for row in found:
                truth = "true " if row.came_true else "false"
                print(truth, "shown " if row.shown else "hidden", "newest" if row.newest else "waits ", row.rule, path)
    true = [row for row in rows if row.came_true]
    for label, among, of in (
        ("shown and came true", [row for row in rows if row.shown and row.came_true], [row for row in rows if row.shown]),
        ("came true and shown", [row for row in true if row.shown], true),
        ("hidden and came true", [row for row in true if not row.shown], [row for row in rows if not row.shown]),
    ):
        print(f"{label}: {len(among)} of {len(of)}{f' ({len(among) / len(of):.0%})' if of else ''}")
    print(f"{len({row.file for row in rows})} files with such findings; not resolved: {dict(lost)}")
    return 0


def _files(places: Sequence[Path]) -> Iterator[Path]:
    for place in places:
        yield from [place] if place.is_file() else sorted({path for name in _NAMES for path in place.rglob(name)})


def _look(path: Path, python: str, day: str | None) -> list[Waited] | str:
    """The findings of a file that wait for a package; where it cannot be resolved, why."""
    before, after = _findings(path, python, day), _findings(path, python, day, "--resolve")
    if before is None or after is None:
        return "not read"
    if any(one.rule.id == "requirements-unresolvable" for one in after):
        return "no resolution"
    held = {(one.rule.id, one.edge) for one in after if one.status == "matched" or not _waits(one)}
    waiting = {(one.rule.id, one.edge): one for one in before if one.status == "possible" and _waits(one)}
    return [Waited(str(path), key[0], not one.hidden, one.newest, key in held) for key, one in waiting.items()]


def _waits(finding: Finding) -> bool:
    return any(name.startswith("packages.") for name in finding.missing)


def _findings(path: Path, python: str, day: str | None, *more: str) -> list[Finding] | None:
    words = ["check", str(path), "--isolated", "--target", f"linux-x86_64,python={python}", *(("--as-of", day) if day else ()), *more]
    try:
        return [diagnosed.finding for diagnosed in check(read_project_request(parse(words))).findings]
    except EnvdoctorError:
        return None


if __name__ == "__main__":
    sys.exit(main())
