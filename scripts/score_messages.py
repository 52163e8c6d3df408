"""Score how messages are recognised that are given alone, without a stack.

    python scripts/score_messages.py benchmarks/unseen/messages.jsonl [--show] [--only ID,ID]

Right: the first finding names the row's package, or another one, or none; silent: there is no finding. Interval: what it says of releases
holds the row's (``releases A-B``; ``gone since`` and ``there from ... on`` of a name that the release lacks, or ``there in`` and ``it fits
in`` of those that have it, and ``asks for`` of what is not there; ``in any release until``; the bounds of a rule), or does not, or nothing
is said of them.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from score_cases import ask

_RELEASE = r"\d[\w.]*\d|\d"
_SPANS = re.compile(rf"releases ((?:(?:{_RELEASE})(?:-(?:{_RELEASE})?)?,?)+)")
_GONE = re.compile(rf"(?:gone since|no longer in|not in|removed in) ({_RELEASE})")
_COMES = re.compile(rf"there from ({_RELEASE}) on")
# What is told of the releases that have a name or that a call fits: the one that ran is none of them.
_ELSEWHERE = re.compile(rf"(?:there|it fits) in ((?:(?:{_RELEASE})(?:-(?:{_RELEASE})?)?,?)+)")
_NEVER = re.compile(rf"in any release until ({_RELEASE})")
_ASKED = re.compile(r"the message asks for (?P<package>[\w-]+?)(?P<spec>[<>=!~][<>=!~\d.,]*\d)")
_BOUND = re.compile(rf"(?:(?:[<>=!~]=?|==) ?{_RELEASE})(?:, ?(?:[<>=!~]=?|==) ?{_RELEASE})*")


def spans(detail: str) -> Iterator[tuple[str, str]]:
    """The stretches of releases that a sentence tells; an open end is empty."""
    yield from _parts(found[1] for found in _SPANS.finditer(detail))


def _parts(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        for part in text.strip(",").split(","):
            first, dash, last = part.partition("-")
            yield first, last if dash else first


def holds(finding: Mapping[str, Any], package: str, release: str) -> bool | None:
    """Whether what a finding says of releases holds one; None where it says nothing."""
    wanted = Version(release)
    sentences = [one for one in finding.get("detail", "").split("; ") if one]
    whole = finding.get("detail", "")
    own = [f"{a}; {b}" for a, b in zip(sentences, [*sentences[1:], ""], strict=True) if a.startswith(f"{package} says") or package in a]
    told = [one for text in own or [whole] for one in spans(text)]
    verdicts: list[bool] = []
    try:
        if told:
            verdicts.append(any(Version(first) <= wanted and (not last or wanted <= Version(last)) for first, last in told))
        if other := list(_parts(found[1] for found in _ELSEWHERE.finditer(whole))):
            verdicts.append(not any(Version(first) <= wanted and (not last or wanted <= Version(last)) for first, last in other))
        verdicts += [wanted <= Version(found) for found in _NEVER.findall(whole)]
        asked = [found for found in _ASKED.finditer(whole) if canonicalize_name(found["package"]) == package]
        verdicts += [not SpecifierSet(found["spec"]).contains(wanted, prereleases=True) for found in asked]
        verdicts += [wanted >= Version(found) for found in _GONE.findall(whole)]
        verdicts += [wanted < Version(found) for found in _COMES.findall(whole)]
    except (InvalidVersion, InvalidSpecifier):
        return None
    if not verdicts:
        bounds = [
            one
            for because in finding.get("because", ())
            if because["fact"] == f"packages.{package}"
            for one in _BOUND.findall(because["condition"])
        ]
        for one in bounds:
            try:
                verdicts.append(SpecifierSet(one.replace(" ", "")).contains(wanted, prereleases=True))
            except InvalidSpecifier:
                continue
    return any(verdicts) if verdicts else None


def judge(row: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    log = folder / "train.log"
    log.write_text("\n".join(row["lines"]) + "\n", encoding="utf-8")
    report = ask(["diagnose", str(log)])
    findings = [one for one in (report or {"findings": []})["findings"] if one["status"] != "refuted"]
    first = findings[0] if findings else None
    package = canonicalize_name(row["package"])
    if first is None:
        verdict, held = "silent", None
    else:
        named = [canonicalize_name(one) for one in first["packages"]]
        verdict = "right" if package in named else "other" if named else "none"
        held = holds(first, package, row["release"]) if row["release"] and verdict == "right" else None
    return {"id": row["id"], "verdict": verdict, "interval": held, "first": first, "row": row}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("messages", type=Path)
    parser.add_argument("--show", action="store_true", help="print the rows that are not right in both")
    parser.add_argument("--only", default="", help="the rows to look at")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    rows = [json.loads(line) for line in options.messages.read_text(encoding="utf-8").splitlines()]
    verdicts: Counter[str] = Counter()
    intervals: Counter[str] = Counter()
    by_package: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            if only and row["id"] not in only:
                continue
            one = judge(row, Path(folder))
            verdicts[one["verdict"]] += 1
            by_package.setdefault(row["package"], Counter())[one["verdict"]] += 1
            if row["release"]:
                intervals["holds" if one["interval"] else "does not" if one["interval"] is False else "not told"] += 1
            if options.show and (one["verdict"] != "right" or not one["interval"]):
                first = one["first"] or {}
                said = f"{first.get('rule')} {first.get('packages')} {first.get('detail', '')[:300]}" if first else "-"
                print(
                    f"{row['id']} {one['verdict']} {one['interval']} {row['package']} {row['release']} | {row['lines'][0][:200]} | {said}",
                    flush=True,
                )
    print(f"{sum(verdicts.values())} rows: {dict(verdicts)}; of {sum(intervals.values())} with a release the interval {dict(intervals)}")
    for package, counts in sorted(by_package.items(), key=lambda item: -sum(item[1].values())):
        print(f"  {package}: {dict(counts)}")


if __name__ == "__main__":
    main()
