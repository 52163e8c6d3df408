"""What `envdoctor check` knows of executed stacks."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from envdoctor.cli import main as envdoctor
from envdoctor.records import dataclass

# What can be read in the wheels and their metadata, and is therefore to be known; the rest is what compiled files want, or said by no text.
FORESEEN = ("name", "module", "package", "signature", "bound")
_BINARY = re.compile(
    r"dtype size changed|_ARRAY_API|undefined symbol|cannot open shared object|numpy\.core\.(?:multiarray|umath) failed|multiarray failed"
    r"|compiled (?:with|against|using)|ABI|C extension|invalid ELF|GLIBC|numpy C-extensions"
)
_BOUND = re.compile(
    r"is required for a normal functioning|but found |incompatible|requires? (?:at least |version )?[\w-]+ ?(?:[<>=~!]=?|version|\d)"
    r"|ContextualVersionConflict|[<>=]=\s*\d|\bneeds [\w-]+ \d|gencode|runtime version"
)
_NAME = re.compile(
    r"cannot import name|(?<!'NoneType' object )has no attribute|was removed in|is not (?:a known|defined)|unknown (?:attribute|name)"
)
_SIGNATURE = re.compile(r"argument|positional|signature")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `check` said of one stack: the matched errors, by rule, that name the moved package, and all of them."""

    row: Mapping[str, Any]
    about: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def failed(self) -> bool:
        return bool(self.row["outcome"] == "failed")

    @property
    def word(self) -> str:
        if self.failed:
            return "known" if self.about else "missed"
        return "accused" if self.errors else "left alone"


def cause_of(row: Mapping[str, Any]) -> str:
    """What kind of thing broke, by the exception that came first: one of FORESEEN, ``binary`` or ``other``."""
    first = row.get("cause") or row
    kind, message = first["exception"], first["message"]
    if row.get("signal") is not None or _BINARY.search(message):
        return "binary"
    if kind in ("PackageNotFoundError", "DistributionNotFound"):
        return "package"
    if kind == "ModuleNotFoundError":
        return "module" if "." in message.removeprefix("No module named ") else "package"
    if kind in ("ImportError", "AttributeError", "NameError") and _NAME.search(message):
        return "name"
    if _BOUND.search(message) or "VersionConflict" in kind:
        return "bound"
    return "signature" if kind == "TypeError" and _SIGNATURE.search(message) else "other"


def judge(row: Mapping[str, Any]) -> Verdict:
    """The whole freeze and the script, as a user would give them.

    Raises:
        RuntimeError: `check` gave no report.
    """
    facts = ("--set", f"python={row['python']}", "--set", "os=linux", "--set", "machine=x86_64")
    with tempfile.TemporaryDirectory() as home:
        script = Path(home) / "script.py"
        script.write_text(row["script"], "utf-8")
        report = _told("check", "--facts", "-", str(script), "--isolated", "--offline", "--format", "json", *facts, listing=row["freeze"])
    errors = [one for one in report["findings"] if one["severity"] == "error" and one["status"] in ("matched", "confirmed")]
    return Verdict(row, tuple(one["rule"] for one in errors if row["provider"] in one["packages"]), tuple(one["rule"] for one in errors))


def print_score(stacks: Iterable[Mapping[str, Any]], *, each: bool) -> None:
    """The counts; before them a line for each stack, where asked."""
    verdicts = []
    for verdict in _progress(stacks):
        verdicts.append(verdict)
        if each:
            print(line_of(verdict), flush=True)
    failed = [one for one in verdicts if one.failed]
    works = [one for one in verdicts if not one.failed]
    accused = [one for one in works if one.errors]
    foreseen = [one for one in failed if cause_of(one.row) in FORESEEN]
    print(f"failing: {share([bool(one.about) for one in failed])} known; any error: {share([bool(one.errors) for one in failed])}")
    print(f"failing for a {', '.join(FORESEEN[:-1])} or {FORESEEN[-1]}: {share([bool(one.about) for one in foreseen])} known")
    for cause in (*FORESEEN, "binary", "other"):
        print(f"  {cause}: {share([bool(one.about) for one in failed if cause_of(one.row) == cause])}")
    print(f"working: {share([bool(one.errors) for one in works])} accused")
    for rule, times in Counter(rule for one in accused for rule in one.errors).most_common():
        print(f"  {rule}: {times}")


def line_of(verdict: Verdict) -> str:
    row = verdict.row
    what = f"{row['consumer']} {row['version']} with {row['provider']} {row['from']} -> {row['to']}"
    why = ""
    if verdict.failed:
        first = row.get("cause") or row
        why = f" [{cause_of(row)}] {first['exception']}: {first['message'].splitlines()[0][:160] if first['message'] else ''}"
    return f"{verdict.word}: {row['stack']} {what}{why} {', '.join(verdict.errors)}".rstrip()


def share(told: Sequence[bool]) -> str:
    return f"{sum(told)} of {len(told)}" + (f" ({sum(told) / len(told):.1%})" if told else "")


def _progress(stacks: Iterable[Mapping[str, Any]]) -> Iterator[Verdict]:
    for row in stacks:
        yield judge(row)


def _told(*words: str, listing: Sequence[str]) -> dict[str, Any]:
    printed = io.StringIO()
    text = io.TextIOWrapper(io.BytesIO("\n".join(listing).encode()), "utf-8")
    with patch.object(sys, "stdin", text), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        envdoctor(list(words))
    report: dict[str, Any] = json.loads(printed.getvalue())
    if "findings" not in report:
        raise RuntimeError(f"check gave no report: {report}")
    return report
