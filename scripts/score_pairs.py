"""Check files that their own maintainers repaired: is the package that they moved found, is the cure theirs, is the repaired file let be?

    python scripts/score_pairs.py CORPUS [--resolve] [--write docs/pairs.md] [--show]

CORPUS has `broken_pairs.jsonl` (a row a repair: bad_file, good_file, commit_date, package, scope, class) and `files/`. Both files of a
pair are checked by themselves, with nothing known but what they say, by what was released on the day of the repair; `--resolve` asks uv
as well. A row of the table counts:

- *found*: a finding, matched or possible, that names the package or stands on its line; *sure* are those that are matched;
- *cure*: a pin of the package is proposed, a bound, or that the line goes; *theirs*: the pin lies in the range that the maintainers
  chose, or is a later release where they had moved to a later one; the bound admits what they chose; both remove the line;
- *still*: the repaired file has an error of a rule that was an error of the bad file, about the same package.

`--show` prints every pair with what was found.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envdoctor.cli import main as envdoctor
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact, parse_package, version_condition

# A stack is stated, of a package that no rule is about: then nothing of this machine is read.
NOTHING = '[packages]\nenvdoctor-nothing = "1"\n'
REMOVED = "(removed)"
SCOPES = ("metadata", "ecosystem", "platform", "remote-code", "project-code")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one pair. ``rules`` are those that found the package, ``pins`` the releases of it that are proposed."""

    id: str
    scope: str
    kind: str
    package: str
    change: str
    status: str = "not found"
    rules: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    theirs: bool = False
    still: tuple[str, ...] = ()


def about(report: Mapping[str, Any], package: str, lines: Iterable[int]) -> list[dict[str, Any]]:
    """The findings, matched or possible, that name a package or stand on one of its lines."""
    wanted, places = canonical(package), set(lines)
    return [
        one
        for one in report["findings"]
        if one["status"] in ("matched", "possible", "confirmed")
        and (wanted in map(canonical, one["packages"]) or (one["location"] or {}).get("line") in places)
    ]


def lines_of(text: str, package: str) -> list[int]:
    """The numbers of the lines that name a package, as pip would compare names."""
    name = re.compile(r"(?<![\w.-])" + r"[-_.]+".join(map(re.escape, re.split(r"[-_.]+", package))) + r"(?![\w-])", re.IGNORECASE)
    return [number for number, line in enumerate(text.splitlines(), 1) if name.search(line.partition("#")[0])]


def proposed(report: Mapping[str, Any], findings: Iterable[Mapping[str, Any]], package: str) -> tuple[str, ...]:
    """What the findings' fixes and the remedy propose of a package: ``==1.2.3``, or a bound where its releases are not bundled."""
    fixes = [fix for one in findings for fix in one["fixes"]]
    tables = [fix.get("pins") or {} for fix in fixes] + [report["remedy"]["pins"]]
    pins = [pin for table in tables for name, pin in table.items() if canonical(name) == canonical(package)]
    bound = re.compile(rf"\binstall (?:.*, )?{re.escape(canonical(package))} ((?:[<>=!~]=?=?[\w.*+]+,?)+)")
    said = [fix["note"] for fix in fixes if fix["kind"] == "code"]
    pins += [found[1].strip(",") for note in said for found in bound.finditer(note)]
    if package == "requires-python":
        pins += [found[1] for note in said for found in re.finditer(r"`([<>=!~][^`]+)`", note)]
    pins += [REMOVED for note in said if note.startswith("remove the line")]
    return tuple(dict.fromkeys(pins))


def values_of(report: Mapping[str, Any], package: str) -> list[str]:
    """What a report says of a package's version, in all situations of the file."""
    name = f"packages.{canonical(package)}"
    facts = [table["facts"].get(name) for table in (report, *report.get("situations", ())) if "facts" in table]
    return list(dict.fromkeys(str(fact["value"]) for fact in facts if fact is not None))


def is_theirs(pin: str, before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether a pin lies in a range that the maintainers chose, or above their release where they had moved up to it.

    A bound is theirs where it admits the release that they chose.
    """
    try:
        ours = parse_package(pin)
        chosen, left = ([parse_package(text) for text in some] for some in (after, before))
    except ValueError:
        return False
    for value in chosen:
        if isinstance(value, Exact) and version_condition(pin).admits(value):
            return True
        if isinstance(ours, Exact) and not isinstance(value, Exact) and version_condition(str(value)).admits(ours):
            return True
        if isinstance(ours, Exact) and isinstance(value, Exact) and version_condition(f">{value}").admits(ours):
            return any(isinstance(old, Exact) and version_condition(f">{old}").admits(value) for old in left)
        if not isinstance(ours, Exact) and not isinstance(value, Exact) and str(value).endswith(pin):
            return True
    return False


def still_raised(bad: Iterable[Mapping[str, Any]], good: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The rules that are errors, and certain, of both files."""
    errors = [{one["rule"] for one in some if one["severity"] == "error" and one["status"] == "matched"} for some in (bad, good)]
    return tuple(sorted(errors[0] & errors[1]))


def check(path: Path, day: str, nothing: Path, *, resolve: bool) -> dict[str, Any]:
    """The report of one file by itself, by what was known on a day (YYYY-MM-DD).

    Raises:
        ValueError: the file cannot be used at all; the text says why.
    """
    words = ["check", "--each", "--isolated", "--facts", str(nothing), "--as-of", day, "--format", "json"]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = envdoctor([*words, "--resolve" if resolve else "--offline", str(path)])
    if status > 1:
        raise ValueError((err.getvalue() or out.getvalue()).strip()[-300:])
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def judge(row: Mapping[str, Any], files: Path, nothing: Path, *, resolve: bool) -> Outcome:
    """Both files of a pair, checked.

    Raises:
        ValueError: one of them cannot be used at all.
    """
    package, day = row["package"], row["commit_date"]
    bad_file, good_file = files / row["bad_file"], files / row["good_file"]
    bad = check(bad_file, day, nothing, resolve=resolve)
    good = check(good_file, day, nothing, resolve=resolve)
    found, repaired = (
        about(report, package, lines_of(file.read_text(encoding="utf-8", errors="replace"), package))
        for report, file in ((bad, bad_file), (good, good_file))
    )
    pins = proposed(bad, found, package) if found else ()
    old, new = values_of(bad, package), values_of(good, package)
    if package == "requires-python":  # a fact of the Python, not of a package
        old, new = ([row[side].rpartition('= "')[2].strip('"')] for side in ("before", "after"))
    return Outcome(
        row["id"],
        row["scope"],
        row["class"],
        package,
        f"{row['before'][:60]} -> {row['after'][:60]}",
        "not found" if not found else "matched" if any(one["status"] == "matched" for one in found) else "possible",
        tuple(dict.fromkeys(one["rule"] for one in found)),
        pins,
        any((pin == REMOVED and row["after"] == REMOVED) or is_theirs(pin, old, new) for pin in pins),
        still_raised(found, repaired),
    )


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """One row a scope and class, and one a scope."""
    lines = ["| scope | class | pairs | found | sure | cure | theirs | still |", "|---|---|---|---|---|---|---|---|"]
    for scope in SCOPES:
        some = [one for one in outcomes if one.scope == scope]
        for kind in sorted({one.kind for one in some}):
            lines.append(_row(scope, kind, [one for one in some if one.kind == kind]))
        if some:
            lines.append(_row(f"**{scope}**", "all", some))
    return lines


def _row(scope: str, kind: str, some: Sequence[Outcome]) -> str:
    counts = (
        len(some),
        sum(one.status != "not found" for one in some),
        sum(one.status == "matched" for one in some),
        sum(bool(one.pins) for one in some),
        sum(one.theirs for one in some),
        sum(bool(one.still) for one in some),
    )
    return f"| {scope} | {kind} | {' | '.join(map(str, counts))} |"


def page(outcomes: Sequence[Outcome], *, resolve: bool) -> str:
    """The page that is kept."""
    with_ = " with `--resolve`" if resolve else ""
    lines = [
        "# Repairs that maintainers made",
        "",
        f"Made by `python scripts/score_pairs.py CORPUS{' --resolve' if resolve else ''} --write FILE`; its docstring says what each",
        f"column counts. {len(outcomes)} pairs of a requirements file or manifest before and after its repair, each checked{with_} by",
        "what was released on that day.",
        "",
        *table(outcomes),
        "",
        "| pair | change | found by | proposed |",
        "|---|---|---|---|",
    ]
    for one in sorted(outcomes, key=lambda one: (SCOPES.index(one.scope), one.kind, one.id)):
        by = ", ".join(f"`{rule}`" for rule in one.rules) + (" (possible)" if one.status == "possible" else "") or "-"
        pins = ", ".join(one.pins) + (" (theirs)" if one.theirs else "") or "-"
        lines.append(f"| {one.scope}: {one.id} | {one.change.replace('|', '/')} | {by} | {pins} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--resolve", action="store_true", help="ask uv which releases would be taken")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the result as a page")
    parser.add_argument("--show", action="store_true", help="print every pair with what was found")
    options = parser.parse_args(arguments)
    rows = [json.loads(line) for line in (options.corpus / "broken_pairs.jsonl").read_text(encoding="utf-8").splitlines() if line.strip()]
    here = [row for row in rows if all((options.corpus / "files" / row[name]).is_file() for name in ("bad_file", "good_file"))]
    print(f"{len(here)} pairs; of {len(rows) - len(here)} more a file is not here\n")
    outcomes, failed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        nothing = Path(folder, "facts.toml")
        nothing.write_text(NOTHING, encoding="utf-8")
        for row in here:
            try:
                outcomes.append(judge(row, options.corpus / "files", nothing, resolve=options.resolve))
            except (OSError, ValueError) as error:
                failed += 1
                print(f"{row['id']}: {error}", file=sys.stderr)
    print("\n".join(table(outcomes)))
    if options.show:
        for one in outcomes:
            said = f"{', '.join(one.rules)}; pins {', '.join(one.pins) or 'none'}{' (theirs)' if one.theirs else ''}"
            print(
                f"{one.status:<9} {one.scope}/{one.kind} {one.id}: {one.change} | {said}{' | still ' + str(one.still) if one.still else ''}"
            )
    if options.write:
        options.write.write_text(page(outcomes, resolve=options.resolve), encoding="utf-8", newline="\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
