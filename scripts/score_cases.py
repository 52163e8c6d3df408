"""Score the rules on reported cases.

    python scripts/score_cases.py CASES.jsonl [--show] [--keep]     # --keep writes docs/score.md

docs/score.md is the record of one day, and says of how many rules: who adds a rule has nothing to measure again. The cases quote
other people's reports, and are no part of this repository.

A case is one public report: the versions, model, plan and hardware that its reporter stated (``packages``, ``python``, ``os``, ``gpu``,
``cuda``, ``driver``, ``model``, ``model_type``, ``model_dtype``, ``plan``), the decisive ``error_lines``, and what the thread arrived at:
``bad_range`` and ``good_pins`` by package, ``kind`` (``negative``: the environment was innocent).

A finding points at the resolution when it names one of its packages (where the resolution names none: when it carries a fix).
listed: one of the first five findings, matched or possible, does; detected: a matched one does; top1: the first does; fixed: the remedy or
the first pin fix of the first such finding lies in good_pins; separated: listed, and on the healthy twin (the package moved to the
nearest release in good_pins) that rule is silent; accused: a negative case with a matched error or warning.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from envdoctor.cli import main as envdoctor
from envdoctor.facts.vocabulary import term
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.world.releases import release_texts

PAGE = Path(__file__).resolve().parent.parent / "docs" / "score.md"
DECIDED = ("matched", "confirmed")
# What cases call otherwise than the vocabulary does; a facts file understands these too.
PLAN = frozenset((
    *("torch_compile", "attn_implementation", "attention", "fsdp", "load_in_4bit", "load_in_8bit", "precision", "mixed_precision"),
    *("engine", "zero_stage", "quantization", "bits", "quantization_bit", "torch_dtype", "dtype", "optim", "lr", "lora_rank", "cutoff_len"),
    *("max_seq_length", "max_seq_len", "sequence_len", "per_device_train_batch_size", "micro_batch_size", "gradient_accumulation_steps"),
))  # fmt: skip


def is_stated(key: str) -> bool:
    """Whether a setting of a case is one that can be stated."""
    return key in PLAN or term(f"plan.{key}") is not None


def facts_file(case: Mapping[str, Any]) -> str:
    """What the reporter stated, as a facts file."""
    lines = [f"{key} = {json.dumps(str(case[key]))}" for key in ("python", "driver", "cuda", "os") if case.get(key)]
    tables: dict[str, dict[str, object]] = {
        "packages": {name: str(version) for name, version in (case.get("packages") or {}).items() if version},
        "gpu": {"name": case.get("gpu")},
        "model": {"id": case.get("model"), "type": case.get("model_type"), "dtype": case.get("model_dtype")},
        "plan": {key: value for key, value in (case.get("plan") or {}).items() if is_stated(key) and value not in ("", [])},
    }
    for table, values in tables.items():
        rows = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in values.items() if value is not None]
        lines += [f"[{table}]", *rows] if rows else []
    return "\n".join(lines) + "\n"


def ask(words: list[str]) -> dict[str, Any] | None:
    """The JSON report of a run, or None where there was none."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        envdoctor([*words, "--format", "json"])
    # A word of a case that no fact knows makes the status 2; the rest of it was judged.
    report: dict[str, Any] = json.loads(printed.getvalue())
    return report if "findings" in report else None


def wanted(case: Mapping[str, Any]) -> set[str]:
    return {canonicalize_name(name) for name in {**(case.get("good_pins") or {}), **(case.get("bad_range") or {})}}


def points(finding: Mapping[str, Any], case: Mapping[str, Any]) -> bool:
    packages = wanted(case)
    return bool(packages & {canonicalize_name(name) for name in finding["packages"]}) if packages else bool(finding["fixes"])


def inside(specifier: str, version: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return False


def repairs(finding: Mapping[str, Any], report: Mapping[str, Any], case: Mapping[str, Any]) -> bool:
    good: dict[str, str] = {canonicalize_name(name): spec for name, spec in (case.get("good_pins") or {}).items()}
    first: dict[str, str] = next((fix["pins"] for fix in finding["fixes"] if fix.get("pins")), {})
    offered = [(report["remedy"]["pins"] or {}), first]
    return any(name in good and inside(good[name], pin.removeprefix("==")) for pins in offered for name, pin in pins.items())


def twin(case: Mapping[str, Any]) -> dict[str, Any] | None:
    """The same report with one package of the resolution moved to the nearest release in its good range."""
    stated = {canonicalize_name(name): name for name in case.get("packages") or {}}
    for name, good in (case.get("good_pins") or {}).items():
        key = stated.get(canonicalize_name(name))
        if key is None or not case["packages"][key] or inside(good, str(case["packages"][key])):
            continue
        known = [Version(text) for text in release_texts(canonicalize_name(name))]
        allowed = [version for version in known if inside(good, str(version))]
        try:
            now = Version(str(case["packages"][key]))
        except InvalidVersion:
            continue
        if allowed:
            place = sum(version < now for version in known)
            nearest = min(allowed, key=lambda version: abs(sum(other < version for other in known) - place))
            return {**case, "packages": {**case["packages"], key: str(nearest)}}
    return None


def judge(case: Mapping[str, Any], mode: str, folder: Path) -> dict[str, Any]:
    """The verdicts of one case in one mode."""
    facts, log = folder / "facts.toml", folder / "train.log"
    facts.write_text(facts_file(case), encoding="utf-8")
    log.write_text("\n".join(case.get("error_lines") or []) + "\n", encoding="utf-8")
    report = ask([mode, *([str(log)] if mode == "diagnose" else []), "--facts", str(facts)])
    row: dict[str, Any] = {"id": case["id"], "mode": mode, "negative": case["kind"] == "negative", "failed": report is None}
    if report is None:
        return row
    told = [finding for finding in report["findings"] if finding["status"] != "refuted"]
    marks = [points(finding, case) for finding in told]
    first = next((finding for finding, mark in zip(told, marks, strict=True) if mark), None)
    row |= {
        "rules": [finding["rule"] for finding in told][:5],
        "listed": any(marks[:5]),
        "detected": any(mark and finding["status"] in DECIDED for finding, mark in zip(told, marks, strict=True)),
        "top1": bool(marks and marks[0]),
        "fixed": first is not None and repairs(first, report, case),
        "fixable": bool(case.get("good_pins")),
        "accused": any(f["severity"] in ("error", "warning") and f["status"] in DECIDED for f in told),
        "noise": [
            sum(not m and f["status"] in DECIDED for f, m in zip(told, marks, strict=True)),
            sum(not m and f["status"] == "possible" for f, m in zip(told, marks, strict=True)),
        ],
    }
    other = twin(case) if mode == "check" and not row["negative"] else None
    if other is not None:
        facts.write_text(facts_file(other), encoding="utf-8")
        again = ask(["check", "--facts", str(facts)])
        silent = again is not None and first is not None and first["rule"] not in {f["rule"] for f in again["findings"]}
        row |= {"twinned": True, "separated": row["listed"] and silent}
    return row


def share(rows: Iterable[Mapping[str, Any]], key: str) -> str:
    rows = list(rows)
    count = sum(bool(row.get(key)) for row in rows)
    return f"{count}/{len(rows)} ({100 * count / len(rows):.0f} %)" if rows else "-"


def table(verdicts: list[dict[str, Any]]) -> list[str]:
    lines = ["| | check | diagnose |", "|---|---|---|"]
    by_mode = {mode: [row for row in verdicts if row["mode"] == mode] for mode in ("check", "diagnose")}
    for key in ("separated", "listed", "detected", "top1", "fixed", "accused"):
        cells = []
        for rows in by_mode.values():
            among = [row for row in rows if row["negative"] is (key == "accused")]
            if key == "fixed":
                among = [row for row in among if row.get("fixable")]
            if key == "separated":
                among = [row for row in among if row.get("twinned")]
            cells.append(share(among, key))
        lines.append(f"| {key} | {cells[0]} | {cells[1]} |")
    for index, word in enumerate(("matched", "possible")):
        cells = []
        for rows in by_mode.values():
            counts = sorted(row["noise"][index] for row in rows if not row["negative"] and "noise" in row)
            cells.append(str(counts[len(counts) // 2]) if counts else "-")
        lines.append(f"| noise, {word}, median | {cells[0]} | {cells[1]} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--show", action="store_true", help="print the cases that were missed, not separated or accused")
    parser.add_argument("--keep", action="store_true", help="write docs/score.md")
    options = parser.parse_args()
    cases = [json.loads(line) for line in options.cases.read_text(encoding="utf-8").splitlines() if line.strip()]
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            if case.get("packages"):
                verdicts.append(judge(case, "check", Path(folder)))
            if case.get("error_lines"):
                verdicts.append(judge(case, "diagnose", Path(folder)))
    lines = table(verdicts)
    print("\n".join(lines))
    if options.show:
        for row in verdicts:
            bad = row["failed"] or (row.get("accused") if row["negative"] else not row.get("listed") or row.get("separated") is False)
            if bad:
                word = "failed" if row["failed"] else "accused" if row["negative"] else "missed" if not row["listed"] else "not separated"
                print(f"{word:<14} {row['mode']:<9} {row['id']} {row.get('rules')}")
    if options.keep:
        today = datetime.now(tz=timezone.utc).date()
        head = ["# Score on reported cases", "", f"Measured on {today} with {len(load_rulebook().rules)} rules, on {len(cases)} cases.", ""]
        tail = ["", "Made by `python scripts/score_cases.py CASES.jsonl --keep`; its docstring says what each row counts.", ""]
        PAGE.write_text("\n".join([*head, *lines, *tail]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
