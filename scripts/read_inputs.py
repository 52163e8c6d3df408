"""Check every file of a folder by itself, and say of each what became of it.

    python scripts/read_inputs.py FOLDER [--healthy LIST] [--write docs/inputs-read.md] [--errors]

FOLDER has real input files in any depth (requirements, manifests, locks, Dockerfiles, plans, launchers, scripts). A file is *read*
(facts came of it), *skipped* (recognised, with the reason why nothing is told of it), *refused* (exit status 2: of no known kind, or
no file of its kind at all) or an *internal error*. ``--healthy`` names a file with one path a line, relative to FOLDER, of those that
nobody knows to be broken: each error found in one of them is printed, and their share. ``--write`` keeps counts, skips and refusals
as a page. Exit status 1 where a file is refused or an internal error comes up.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envdoctor.cli import main as envdoctor
from envdoctor.sources.targets import Kind, read_target

_MOST_PATHS = 8
_IGNORED = (".git", "__pycache__")


@dataclass(frozen=True)
class Outcome:
    """What became of one file. ``errors`` are the decided findings of severity error: rule, line, detail."""

    path: str
    place: Path
    kind: str
    state: str
    why: tuple[str, ...] = ()
    errors: tuple[tuple[str, int | None, str], ...] = field(default=())


# A stack is stated, of a package that no rule is about: then nothing of this machine is read.
_NOTHING = '[packages]\nenvdoctor-nothing = "1"\n'


def examine(path: Path, name: str, nothing: Path) -> Outcome:
    """Check one file with nothing known but what it says."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = envdoctor(["check", "--each", "--isolated", "--facts", str(nothing), str(path), "--format", "json"])
    if status == 3:
        return Outcome(name, path, "?", "internal error", (err.getvalue().strip().splitlines()[-1],))
    if status == 2:
        return Outcome(name, path, "?", "refused", (err.getvalue().strip(),))
    report: dict[str, Any] = json.loads(out.getvalue())
    told = [one for one in report["findings"] if one["severity"] == "error" and one["status"] == "matched" and "excused" not in one]
    errors = tuple((one["rule"], (one["location"] or {}).get("line"), one["detail"][:160]) for one in told)
    skips = tuple(one["why"] for one in report["skipped"])
    kind = read_kind(path)
    situations = [report, *report.get("situations", ())]
    said = bool(errors) or any(fact["source"] != str(nothing) for one in situations for fact in one["facts"].values())
    return Outcome(name, path, kind, "read" if said else "skipped", skips, errors)


def read_kind(path: Path) -> Kind:
    return read_target(str(path)).kind


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not any(part in _IGNORED for part in path.parts))


def page(outcomes: list[Outcome], seconds: float) -> str:
    """The page that is kept: how many files of which kind, every skip of a whole file, every refusal."""
    lines = [
        "# What is read of real files",
        "",
        "Made by `python scripts/read_inputs.py FOLDER --write docs/inputs-read.md` from a collection of input files that projects of the",
        "field keep. A *skip* is a file of a known kind of which nothing is told, with the reason.",
        "",
        f"{len(outcomes)} files in {seconds:.1f} s, one run of `check` each.",
        "",
        "| kind | read | skipped | refused |",
        "|---|---|---|---|",
    ]
    for kind in sorted({one.kind for one in outcomes}):
        counts = Counter(one.state for one in outcomes if one.kind == kind)
        lines.append(f"| {kind} | {counts['read']} | {counts['skipped']} | {counts['refused'] + counts['internal error']} |")
    for state, title in (("skipped", "Skipped"), ("refused", "Refused"), ("internal error", "Internal errors")):
        by_reason: dict[str, list[str]] = {}
        for one in outcomes:
            if one.state == state:
                reason = "; ".join(dict.fromkeys(one.why)) or "no reason given"
                by_reason.setdefault(reason.replace(one.path, "FILE").replace(str(one.place), "FILE"), []).append(one.path)
        if by_reason:
            lines += ["", f"## {title}", ""]
        for reason, paths in sorted(by_reason.items(), key=lambda row: (-len(row[1]), row[0])):
            shown = ", ".join(f"`{path}`" for path in paths[:_MOST_PATHS])
            more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
            lines.append(f"- {reason[:300]}: {shown}{more}")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--healthy", type=Path, metavar="LIST", help="files in which an error is to be argued, one path a line")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the result as a page")
    parser.add_argument("--errors", action="store_true", help="print the errors of every file")
    options = parser.parse_args()
    healthy = set(options.healthy.read_text(encoding="utf-8").split("\n")) if options.healthy else set()
    start = time.perf_counter()
    outcomes = []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        nothing = Path(cache, "facts.toml")
        nothing.write_text(_NOTHING, encoding="utf-8")
        for path in files_of(options.folder):
            name = path.relative_to(options.folder).as_posix()
            outcome = examine(path, name, nothing)
            outcomes.append(outcome)
            if outcome.state in ("refused", "internal error"):
                print(f"{outcome.state}: {name}: {outcome.why[0]}")
            if outcome.errors and (options.errors or name in healthy):
                for rule, line, detail in outcome.errors:
                    print(f"{'healthy: ' if name in healthy else ''}{name}:{line}: {rule}: {detail}")
    counts = Counter(outcome.state for outcome in outcomes)
    accused = sum(bool(one.errors) for one in outcomes if one.path in healthy)
    print(", ".join(f"{count} {state}" for state, count in counts.most_common()), f"of {len(outcomes)} files")
    if healthy:
        there = sum(one.path in healthy for one in outcomes)
        print(f"errors in {accused} of {there} files that nobody knows to be broken ({100 * accused / max(there, 1):.1f} %)")
    if options.write:
        options.write.write_text(page(outcomes, time.perf_counter() - start), encoding="utf-8", newline="\n")
    return int(counts["refused"] + counts["internal error"] > 0)


if __name__ == "__main__":
    sys.exit(main())
