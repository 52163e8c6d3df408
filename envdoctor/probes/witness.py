"""``witness``: does the one line of Python fail by which a computed finding is shown?

A finding of the atlas says what one release takes of another and does not find there. The line takes it, in the target environment: what
was read in the files of the releases is then seen to happen, or not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.probes.probe import CHILDREN, Probe
from envdoctor.probes.verdict import Ruling, Verdict
from envdoctor.records import replace

Judgement: TypeAlias = "tuple[Ruling, str]"

NAME = "witness"
SECONDS, SECONDS_EACH = 240.0, 60.0
_MOST = 20
_MOST_TOLD = 3
# What a name, a module or an argument that is not there ends in, and what protobuf says of code that was generated for another release.
_FAULT = re.compile(
    r"(?:ImportError|ModuleNotFoundError|AttributeError): |(?:\w+\.)*VersionError: "
    r"|TypeError: .*(?:argument|signature|Descriptors cannot be created)"
)


def parameters(facts: Facts, *, lines: Mapping[str, Sequence[str]]) -> Mapping[str, object] | str:
    """The lines of the findings that are computed of these facts, with the packages that each is about."""
    if not lines:
        return "nothing is computed of these releases that a line of Python would show"
    chosen = {line: sorted(names) for line, names in list(lines.items())[:_MOST]}
    packages = sorted({name for names in chosen.values() for name in names})
    return {"lines": list(chosen), "about": chosen, "packages": packages, "seconds": SECONDS, "seconds_each": SECONDS_EACH}


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the lines came to, all of them together. Pure; anything unexpected in it is inconclusive."""
    return concerning(measured, _lines(measured))


def concerning(measured: Mapping[str, object], lines: Collection[str]) -> Judgement:
    """The same for some of the lines."""
    told = _lines(measured)
    rows = {line: _one(told[line]) for line in lines if line in told}
    if not rows:
        return "inconclusive", "no line was run"
    for ruling in ("confirmed", "inconclusive"):
        some = [f"{line}: {reason}" for line, (found, reason) in rows.items() if found == ruling]
        if some:
            more = f"; and {len(some) - _MOST_TOLD} more" if len(some) > _MOST_TOLD else ""
            return ("confirmed" if ruling == "confirmed" else "inconclusive"), "; ".join(some[:_MOST_TOLD]) + more
    return "refuted", f"{'; '.join(list(rows)[:_MOST_TOLD])}: runs without an error"


def about(verdict: Verdict, packages: Collection[str], symptoms: Collection[str]) -> Verdict:
    """Of the finding's own packages: that one pair does not go together says nothing of another."""
    whose = verdict.measured.get("about")
    names = sorted(packages)
    lines = [str(line) for line, pair in whose.items() if pair == names] if isinstance(whose, Mapping) else []
    ruling, reason = concerning(verdict.measured, lines)
    return replace(verdict, verdict=ruling, reason=reason)


def _lines(measured: Mapping[str, object]) -> Mapping[str, object]:
    lines = measured.get("lines")
    return {str(line): told for line, told in lines.items()} if isinstance(lines, Mapping) else {}


def _one(told: object) -> Judgement:
    row = told if isinstance(told, Mapping) else {}
    status, said = row.get("status"), row.get("said")
    if row.get("timed_out") is True:
        return "inconclusive", "did not end in time"
    if isinstance(status, bool) or not isinstance(status, int) or not isinstance(said, str):
        return "inconclusive", "was not measured"
    if status == 0:
        return "refuted", ""
    words = " ".join(said.split())[:300]
    if _FAULT.match(words):
        return "confirmed", words
    return "inconclusive", f"ends with status {status}, but not for want of what it takes: {words or 'without a word'}"


PROBE = Probe(
    name=NAME,
    shows="whether the line of Python fails by which a computed finding is shown",
    needs=("the packages of the finding",),
    cost="the imports of the packages, one process for each finding: mostly 1 to 10 s on one CPU core",
    script=CHILDREN / "witness.py",
    parameters=parameters,
    judge=judge,
    about=about,
    timeout=300.0,
    memory_bytes=16 << 30,
    by_lines=True,
)
