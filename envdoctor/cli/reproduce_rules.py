"""``envdoctor rules reproduce``: see the harm of rules in real environments."""

from __future__ import annotations

import argparse
import json
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from envdoctor.cli.rules import Progress, rule_paths
from envdoctor.errors import EnvdoctorError
from envdoctor.files.toml import read_toml
from envdoctor.records import replace
from envdoctor.remedies.cure_runs import run_cures
from envdoctor.rules.ledger import earned, read_ledger, record_confidence, write_ledger
from envdoctor.rules.reproduction import SIDES, misplaced, problems, reproduce, reproduction_of
from envdoctor.rules.rule import parse_rule
from envdoctor.uv.environments import Builder, NotBuiltError, UvBuilder
from envdoctor.world.releases import release_texts


def run(options: argparse.Namespace) -> int:
    """Reproduce the rules named; exit status 1 when one was not reproduced, for whatever reason."""
    if options.offline:
        raise EnvdoctorError(
            "rules reproduce", found="--offline", expected="a network: packages are installed", next_step="leave --offline out"
        )
    if not options.paths and not options.all:
        raise EnvdoctorError(
            "rules reproduce", found="no rule", expected="rules, or --all", next_step="name a rule that has a [reproduction]"
        )
    tables = _tables(options)
    if options.keep:
        return _run(options, tables, UvBuilder(Path(options.keep).absolute()))
    with tempfile.TemporaryDirectory(prefix="envdoctor-reproduce-", ignore_cleanup_errors=True) as directory:
        return _run(options, tables, UvBuilder(Path(directory)))


def _tables(options: argparse.Namespace) -> list[tuple[Path, dict[str, Any]]]:
    """The rules that have a ``[reproduction]``.

    Raises:
        EnvdoctorError: one named by itself has none.
    """
    found = [(path, read_toml(path)) for path in rule_paths(options)]
    missing = [path for path, table in found if "reproduction" not in table]
    for name in options.paths:
        for path in missing:
            if name == path.stem or Path(name) == path:
                raise EnvdoctorError(
                    str(path), found="no [reproduction]", expected="one", next_step="see CONTRIBUTING.md, what a rule has shown"
                )
    return [(path, table) for path, table in found if "reproduction" in table]


def _run(options: argparse.Namespace, tables: list[tuple[Path, dict[str, Any]]], build: Builder) -> int:
    progress = Progress(options)
    rows: list[dict[str, object]] = []
    for path, table in tables:
        row = _one(path, table, build)
        rows.append(row)
        progress.say(f"{row['result']:<15} {path.stem}", *([f"                {row['why']}"] if row.get("why") else []))
        for side in SIDES:
            if isinstance(shown := row.get(side), dict):
                progress.say(f"  {side:<5} {' '.join(shown['pins'])}", f"        {shown['seen']}")
        if options.record and row["result"] != "not run":
            _record(path, table, {name: value for name, value in row.items() if name != "rule"}, progress)
        if options.cures and row["result"] == "reproduced":
            row["cured"] = _cures(options, path, table, build, progress, row)
    counts = {result: sum(row["result"] == result for row in rows) for result in ("reproduced", "not reproduced", "not run")}
    progress.say(f"{len(rows)} rules: {', '.join(f'{count} {result}' for result, count in counts.items())}")
    if options.cures:
        tried = [one for row in rows for one in _rows(row.get("cured"))]
        told = {result: sum(one["result"] == result for one in tried) for result in ("cures", "fails", "not run")}
        progress.say(f"{len(tried)} fixes: {', '.join(f'{count} {result}' for result, count in told.items())}")
        counts["reproduced"] -= sum(any(one["result"] == "fails" for one in _rows(row.get("cured"))) for row in rows)
    progress.finish(lambda: json.dumps({"schema_version": 1, "reproductions": rows}, indent=1) + "\n")
    return int(counts["reproduced"] < len(rows))


def _cures(
    options: argparse.Namespace, path: Path, table: dict[str, Any], build: Builder, progress: Progress, shown: dict[str, object]
) -> dict[str, object]:
    """Run the fixes of a rule that was reproduced, say what became of each, and keep it where that was asked for."""
    today = datetime.now(timezone.utc).date().isoformat()
    entry = run_cures(table, parse_rule(table, str(path)), build, known=release_texts, date=today, large=options.large, shown=shown)
    for one in _rows(entry):
        progress.say(f"  {one['result']:<8} {one['fix']}", f"        {one.get('seen', one.get('why', ''))}")
    if options.record:
        write_ledger(path, replace(read_ledger(path), cured=entry))
    return entry


def _rows(entry: object) -> list[dict[str, object]]:
    rows = entry.get("cures") if isinstance(entry, dict) else None
    return rows if isinstance(rows, list) else []


def _one(path: Path, table: dict[str, Any], build: Builder) -> dict[str, object]:
    """A ledger entry with the rule's id, or why there is none."""
    rule = parse_rule(table, str(path))
    listed = table["reproduction"]
    wrong = problems(listed) or list(misplaced(rule.affected, reproduction_of(listed), release_texts))
    if wrong:
        return {
            "rule": path.stem,
            "result": "not run",
            "why": "; ".join(f"{key}: found {found}; expected {expected}" for key, found, expected in wrong),
        }
    today = datetime.now(timezone.utc).date().isoformat()
    try:
        entry = reproduce(
            listed,
            build,
            condition=rule.affected,
            packages=rule.packages,
            known=release_texts,
            date=today,
            gpu=_gpu() if listed.get("gpu") else None,
        )
    except NotBuiltError as error:
        return {"rule": path.stem, "result": "not run", "why": str(error)}
    return {"rule": path.stem, **entry}


def _gpu() -> str | None:
    from envdoctor.sources.machine.hardware import collect_hardware

    return next((str(fact.value) for fact in collect_hardware().facts if fact.name == "gpu.name"), None)


def _record(path: Path, table: dict[str, Any], entry: dict[str, object], progress: Progress) -> None:
    ledger = replace(read_ledger(path), reproduced=entry)
    write_ledger(path, ledger)
    level = earned(table, ledger)
    if record_confidence(path, table, level):
        progress.say(f"  confidence is now {level}")
