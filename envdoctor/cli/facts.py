"""``envdoctor facts``: what was found, in a form that can be given back."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from envdoctor.app.gathered import Gathered
from envdoctor.app.situations import gather
from envdoctor.cli.output import emit
from envdoctor.cli.requests import read_project_request
from envdoctor.facts.fact import Fact, Facts
from envdoctor.facts.values import shown
from envdoctor.facts.versions import Absent
from envdoctor.facts.vocabulary import TERMS
from envdoctor.files.paths import real_path
from envdoctor.report.json import fact_object
from envdoctor.report.plain import printable


def run(options: argparse.Namespace) -> int:
    if options.vocabulary:
        emit(options, _vocabulary_json() if options.format == "json" else _vocabulary())
        return 0
    gathered = gather(read_project_request(options))
    render = {"json": _json, "toml": _toml, "text": _text}[options.format]
    emit(options, render(gathered))
    return 0


def _vocabulary() -> str:
    lines = []
    for term in TERMS:
        values = f" ({' | '.join(term.choices)})" if term.choices else ""
        lines.append(f"{term.name:<36} {term.kind}{f', {term.unit}' if term.unit else ''}: {term.meaning}{values}")
    return "\n".join([*lines, f"{'packages.<name>':<36} version or specifier; false: not installed"]) + "\n"


def _vocabulary_json() -> str:
    rows = [{"name": t.name, "kind": t.kind, "unit": t.unit, "meaning": t.meaning, "choices": list(t.choices)} for t in TERMS]
    return json.dumps({"schema_version": 1, "vocabulary": rows}, indent=1) + "\n"


def _json(gathered: Gathered) -> str:
    facts = gathered.derived
    body = {
        "schema_version": 1,
        "patient": gathered.patient,
        "facts": {name: fact_object(facts[name]) for name in sorted(facts)},
        "skipped": [{"what": skip.what, "why": skip.why} for skip in gathered.situation.skips],
    }
    return json.dumps(body, indent=2) + "\n"


def _text(gathered: Gathered) -> str:
    facts = gathered.derived
    told = [(name, printable(shown(facts[name].value)) or "*", printable(_origin(facts[name]))) for name in sorted(facts)]
    lines = [f"{printable(name)} = {value}   ({origin})" for name, value, origin in told]
    skips = [f"not read: {printable(skip.what)}: {printable(skip.why)}" for skip in gathered.situation.skips]
    return "\n".join([f"envdoctor facts: {printable(gathered.patient)}", *lines, *skips]) + "\n"


def _origin(fact: Fact) -> str:
    return fact.origin.source if fact.origin.line is None else f"{fact.origin.file}:{fact.origin.line}"


def _toml(gathered: Gathered) -> str:
    """The facts that were stated or read (what follows from them is derived again by whoever reads the file)."""
    return "\n".join(_tables(gathered.facts)) + "\n"


def _tables(facts: Facts) -> Iterator[str]:
    tables: dict[str, list[tuple[str, Fact]]] = {}
    for name in sorted(facts):
        table, _, key = name.partition(".") if "." in name else ("", "", name)
        tables.setdefault(table, []).append((key, facts[name]))
    for table in sorted(tables):
        if table:
            yield f"\n[{table}]"
        for key, fact in tables[table]:
            yield f"{json.dumps(key) if not key.replace('-', '').replace('_', '').isalnum() else key} = {_toml_value(fact)}"


def _toml_value(fact: Fact) -> str:
    value = fact.value
    if isinstance(value, Absent):
        return "false"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if fact.name == "model.path":
        # A path in a facts file is relative to that file, which may be written anywhere.
        return _quoted(str(real_path(Path(shown(value)))))
    if isinstance(value, tuple):
        return "[" + ", ".join(_quoted(item) for item in value) + "]"
    return _quoted(shown(value) or "*")


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, but for the DEL character that JSON leaves as it is."""
    return json.dumps(text).replace("\x7f", "\\u007f")
