"""Mend every requirements file of a folder by itself, and show that nothing changed but the lines that were named.

    python scripts/fix_folder.py FOLDER [--bump] [--show]

FOLDER is copied, and `envdoctor fix --write --offline` is run on each requirements file of the copy in any depth, with nothing known
but what the file says. After each run every file of the copy is looked at: one that is not among the report's `diffs` has to be the
same, one that is may differ in the lines only that its diff takes away or adds, byte for byte, and still has to parse. Then the file
is put back as it was. `--bump` wishes for the newest known release of every package that a file states, whether anything is wrong
with it or not, and writes that: a harder test of the editors alone. `--show` prints the diffs.

Exit status 1 where anything else changed, a file no longer parses, or an internal error comes up.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envdoctor.cli import main as envdoctor
from envdoctor.edits.edit import Pin
from envdoctor.edits.requirements import edit_requirements
from envdoctor.edits.write import replace, unified
from envdoctor.errors import EnvdoctorError
from envdoctor.sources.declared.requirements import collect_requirements, is_requirements
from envdoctor.world.installation import Installation
from envdoctor.world.releases import release_texts, tracked

# A stack is stated, of a package that no rule is about: then nothing of this machine is read.
NOTHING = '[packages]\nenvdoctor-nothing = "1"\n'
_IGNORED = (".git", "__pycache__")
_HUNK = re.compile(r"@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")
_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Run:
    """What one run says that it did: diffs by file, and what it refused. ``broken`` is an internal error."""

    diffs: Mapping[str, str]
    refused: tuple[str, ...] = ()
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file."""

    name: str
    state: str
    refused: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    diffs: tuple[str, ...] = ()
    lines: int = 0


Fix = Callable[[Path], Run]


def fix(path: Path) -> Run:
    """Run the command on one file."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory(prefix="envdoctor-fix-") as directory:
        nothing = Path(directory) / "nothing.toml"
        nothing.write_text(NOTHING, encoding="utf-8")
        words = ["fix", "--write", "--offline", "--isolated", "--facts", str(nothing), str(path), "--format", "json"]
        with redirect_stdout(out), redirect_stderr(err):
            status = envdoctor(words)
    if status == 2:
        return Run({}, (err.getvalue().strip(),))
    if status not in (0, 1):
        return Run({}, broken=(err.getvalue().strip().splitlines() or ["no word"])[-1])
    report: dict[str, Any] = json.loads(out.getvalue())
    return Run({one["file"]: one["diff"] for one in report["diffs"]}, tuple(one["why"] for one in report["refused"]))


def bump(path: Path) -> Run:
    """Write the newest known release of every package that the file states."""
    installation = Installation()
    try:
        (variant,) = collect_requirements(path, installation)
        stated = {fact.name.removeprefix("packages.") for fact in variant.collected.facts if fact.name.startswith("packages.")}
        pins = [Pin(name, f"=={release_texts(name)[-1]}") for name in sorted(stated & tracked())]
        edits = edit_requirements(path, pins, installation)
        replace(edits, lambda: True)
    except EnvdoctorError as error:
        return Run({}, (str(error),))
    diffs = {str(one.path): unified(one) for one in edits if one.after != one.before}
    return Run(diffs, tuple(refusal.why for one in edits for refusal in one.refused))


def numbered(diff: str) -> tuple[set[int], set[int]]:
    """The numbers of the lines that a unified diff takes away, and of those that it adds, each in its own file."""
    removed: set[int] = set()
    added: set[int] = set()
    old = new = left_old = left_new = 0
    for line in diff.split("\n"):
        if left_old > 0 or left_new > 0:
            if line.startswith(("-", " ")):
                removed.update({old} if line[0] == "-" else ())
                old, left_old = old + 1, left_old - 1
            if line.startswith(("+", " ")):
                added.update({new} if line[0] == "+" else ())
                new, left_new = new + 1, left_new - 1
        elif (hunk := _HUNK.match(line)) is not None:
            left_old, left_new = int(hunk[2] or 1), int(hunk[4] or 1)
            old, new = int(hunk[1]) + (left_old == 0), int(hunk[3]) + (left_new == 0)
    return removed, added


def lines_of(data: bytes) -> list[str]:
    r"""The lines of a file with their ends, where ``\n`` ends one; no byte is lost."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "latin-1")
    return re.findall(r"[^\n]*\n|[^\n]+", data.decode(encoding, "surrogatepass" if encoding != "latin-1" else "strict"))


def unnamed(before: bytes, after: bytes, diff: str) -> str:
    """The first line that changed and is not among those of the diff; empty where there is none."""
    removed, added = numbered(diff)
    kept = [(number, line) for number, line in enumerate(lines_of(before), start=1) if number not in removed]
    now = [line for number, line in enumerate(lines_of(after), start=1) if number not in added]
    for (number, line), other in zip(kept, now, strict=False):
        if line != other:
            return f"line {number} changed, and the diff does not say so"
    return "" if len(kept) == len(now) else f"{abs(len(kept) - len(now))} lines came or went, and the diff does not say so"


def malformed(path: Path) -> int:
    """How many lines of a file are no requirements; more than any where it cannot be read."""
    try:
        (variant,) = collect_requirements(path)
    except EnvdoctorError:
        return sys.maxsize
    return sum(defect.rule == "requirement-malformed" for defect in variant.collected.defects)


def files_of(folder: Path) -> Iterator[Path]:
    for place, directories, names in os.walk(folder):
        directories[:] = sorted(name for name in directories if name not in _IGNORED)
        yield from (Path(place) / name for name in sorted(names))


def examine(path: Path, folder: Path, content: dict[Path, bytes], run: Fix) -> Outcome:
    """Mend one file of a copied folder, judge what changed in all of it, and put that back."""
    name = path.relative_to(folder).as_posix()
    wrong_before = malformed(path)
    told = run(path)
    now = {other: other.read_bytes() for other in files_of(folder) if other.is_file()}
    changed = {other for other in {*content, *now} if content.get(other) != now.get(other)}
    diffs = {Path(os.path.realpath(file)): diff for file, diff in told.diffs.items()}
    violations = [told.broken] if told.broken else []
    lines = 0
    for other in sorted(changed):
        place = other.relative_to(folder).as_posix()
        diff = diffs.get(Path(os.path.realpath(other)))
        if diff is None:
            violations.append(f"{place} changed, and no diff says so")
        elif other in content and other in now:
            lines += len(set().union(*numbered(diff)))
            violations += [f"{place}: {wrong}"] if (wrong := unnamed(content[other], now[other], diff)) else []
        else:
            violations.append(f"{place} came or went")
    written = {Path(os.path.realpath(other)) for other in changed}
    violations += [f"{file.name}: a diff of what was not written" for file in sorted(set(diffs) - written)]
    if changed and malformed(path) > wrong_before:
        violations.append("more lines are no requirements than before")
    for other in changed:
        if other in content:
            other.write_bytes(content[other])
        else:
            other.unlink()
    state = "violation" if violations else "changed" if changed else "refused" if told.refused else "unchanged"
    return Outcome(name, state, told.refused, tuple(violations), tuple(told.diffs.values()), lines)


def outcomes(folder: Path, run: Fix) -> list[Outcome]:
    """What becomes of every requirements file of a folder, which is not touched: a copy is."""
    with tempfile.TemporaryDirectory(prefix="envdoctor-folder-") as directory:
        copy = Path(os.path.realpath(directory)) / "files"
        shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(*_IGNORED))
        for path in files_of(copy):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o600)
        for place, _, _ in os.walk(copy):
            os.chmod(place, 0o755)
        content = {path: path.read_bytes() for path in files_of(copy) if path.is_file()}
        return [examine(path, copy, content, run) for path in content if is_requirements(path)]


def table(found: Sequence[Outcome]) -> str:
    """The figures, and what was refused and why."""
    states = Counter(one.state for one in found)
    rows = [("files", len(found)), *((state, states[state]) for state in ("unchanged", "changed", "refused", "violation"))]
    rows.append(("lines changed", sum(one.lines for one in found)))
    shown = [f"{name:<14}{count:>6}" for name, count in rows]
    # Of a file by name the reason is what counts.
    reasons = Counter(re.sub(r"^line [0-9]+:? ", "", why)[:100] for one in found for why in one.refused)
    shown += ["", "refused"] if reasons else []
    shown += [f"{count:>6}  {why}" for why, count in reasons.most_common()]
    broken = [(one.name, violation) for one in found for violation in one.violations]
    shown += ["", "violations"] if broken else []
    shown += [f"  {name}: {violation}" for name, violation in broken]
    return "\n".join(shown) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bump", action="store_true", help="wish for the newest release of everything")
    parser.add_argument("--show", action="store_true", help="print the diffs")
    options = parser.parse_args(arguments)
    found = outcomes(options.folder, bump if options.bump else fix)
    for one in found if options.show else ():
        sys.stdout.write("".join(one.diffs))
    sys.stdout.write(table(found))
    return int(not found or any(one.violations for one in found))


if __name__ == "__main__":
    raise SystemExit(main())
