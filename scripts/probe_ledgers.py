"""What the pairs of stacks show of the rules that they name, in the ledgers of these rules.

A pair counts for a rule where the rule says the same as the probe: it holds of the bad stack, as far as that is kept in
``docs/probes/pairs.json`` (installed versions, Python, system, what was stated, the snapshot), and cannot hold of the good one. What more
would be known of an environment overturns neither.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from envdoctor.app.situations import gather
from envdoctor.checks import FACT_CHECKS
from envdoctor.cli.parser import parse
from envdoctor.cli.requests import read_request
from envdoctor.facts.fact import Fact, Facts, NotUnderstood, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.vocabulary import UNREAD
from envdoctor.files.toml import read_toml
from envdoctor.probes.registry import about
from envdoctor.probes.verdict import Verdict
from envdoctor.rules.conditions import evaluate, missing
from envdoctor.rules.ledger import Ledger, accusation, earned, read_ledger, record_confidence, write_ledger
from envdoctor.rules.reproduction import SIDES, Side
from envdoctor.rules.rule import Confidence, Rule, parse_rule
from envdoctor.world.releases import release_texts

# What a probe does where nothing else is stated, and what some of the rules ask for: stating it changes nothing of what it runs.
DOES: Mapping[str, Mapping[str, object]] = {
    "grad-accum": {"plan.distributed": "none", "plan.deepspeed": False, "plan.compile": False},
    "lora-step": {
        "plan.quant": "none",
        "plan.fp16": False,
        "plan.modules_to_save": [],
        "plan.distributed": "none",
        "plan.deepspeed": False,
        "plan.compile": False,
    },
    "numpy-abi": {"plan.code_uses": [], "plan.script": False},
    "same-architecture": {"plan.generate": True, "plan.code_uses": [], "plan.script": False},
    "tokenizer": {"plan.tokenize": True, "plan.code_uses": []},
}
_EXPECTED: Mapping[Side, str] = {"bad": "confirmed", "good": "refuted"}
_SYSTEMS = {"Linux": "linux", "Windows": "windows", "Darwin": "macos"}


@dataclass(frozen=True, slots=True)
class Change:
    """What the rows make of one rule's ledger, and why a row counted for nothing."""

    path: Path
    table: Mapping[str, Any]
    before: Ledger
    ledger: Ledger
    objections: tuple[str, ...]

    @property
    def level(self) -> Confidence:
        return earned(self.table, self.ledger)


def facts_of(told: Mapping[str, object], root: Path, *words: str) -> Facts:
    """What ``envdoctor probe`` with these words would know where this is stated; ``model.path`` is relative to ``root``."""
    if not told:
        return gather(read_request(parse(["probe", *words]))).derived
    placed = {name: str(root / str(raw)) if name == "model.path" else raw for name, raw in told.items()}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "facts.toml"
        path.write_text("".join(f"{name} = {json.dumps(raw, ensure_ascii=False)}\n" for name, raw in placed.items()), encoding="utf-8")
        return gather(read_request(parse(["probe", *words, "--facts", str(path)]))).derived


def stack(row: Mapping[str, Any], side: Side, root: Path) -> Facts:
    """What is kept of one side of a pair that was run, and what its probe does of itself."""
    system, _, machine = row["platform"].partition(" ")
    told: dict[str, object] = {"python": row[side]["python"]}
    if system in _SYSTEMS:
        told["os"] = _SYSTEMS[system]
    if not isinstance(parse_value("machine", machine), NotUnderstood):
        told["machine"] = machine
    if "device" in row:
        told |= {"accelerator": "cuda", "gpu.name": row["device"]}
    told |= {f"packages.{name}": version for name, version in row[side]["installed"].items()}
    facts = facts_of({**told, **DOES.get(row["probe"], {}), **row[side]["facts"]}, root)
    # A pair has no script: of what only one could say there is nothing.
    return facts.with_facts(Fact(name, value, Origin("no script")) for name, value in UNREAD.items() if name not in facts)


def outcome(rule: Rule, facts: Facts) -> tuple[bool | None, tuple[str, ...]]:
    """Whether the rule holds of the facts, by its condition or by the check that decides it, and what is missing to tell."""
    if rule.affected is not None:
        held = evaluate(rule.affected, facts, release_texts)
        return held, missing(rule.affected, facts, release_texts) if held is None else ()
    hit = next((hit for check in FACT_CHECKS for hit in check(facts) if hit.rule == rule.id), None)
    return (False, ()) if hit is None else (hit.outcome, hit.missing)


def objection(rule: Rule, row: Mapping[str, Any], root: Path) -> str | None:
    """Why a pair that was run counts for nothing of this rule, or None."""
    for side, expected in _EXPECTED.items():
        held, lacking = outcome(rule, stack(row, side, root))
        if held is None:
            return f"{side}: whether the rule holds cannot be told: state {', '.join(lacking)}"
        if held is not (side == "bad"):
            return f"{side}: the rule {'holds' if held else 'does not hold'} there"
        seen = row[side]
        verdict = Verdict(row["probe"], seen["verdict"], seen["reason"], seen["measured"], seen["seconds"])
        said = about(verdict, rule.packages, rule.symptoms)
        if row["result"] == "shown" and said.verdict != expected:
            return f"{side}: of this rule the probe says {said.verdict}, not {expected}: {said.reason}"
    return None


def entry(table: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, object]:
    """What a ledger keeps of a pair."""
    told: dict[str, object] = {
        "subject": accusation(table),
        "probe": row["probe"],
        "date": row["date"],
        "python": row["bad"]["python"],
        "platform": row["platform"],
        "seconds": round(sum(row[side]["seconds"] for side in SIDES), 1),
        "result": row["result"],
    }
    for side in SIDES:
        told[side] = {
            "pins": [*row[side]["pins"], *row["extra"]],
            "facts": row[side]["facts"],
            "installed": row[side]["installed"],
            "seen": f"{row['probe']}: {row[side]['verdict']}: {row[side]['reason']}",
        }
    if "device" in row:
        told["gpu"] = row["device"]
    return told | ({"why": row["why"]} if "why" in row else {})


def change(path: Path, rows: Sequence[Mapping[str, Any]], root: Path) -> Change:
    """What the rows that name a rule make of its ledger.

    One that failed to show what it says outweighs those that did. Where none was run the entry stays; where none counts for the rule there
    is none.
    """
    table = read_toml(path)
    rule, before = parse_rule(table, str(path)), read_ledger(path)
    ran = [row for row in rows if row["result"] in ("shown", "not shown")]
    if rows and not ran:
        return Change(path, table, before, before, ())
    judged = [(row, objection(rule, row, root)) for row in ran]
    counted = sorted((row for row, against in judged if against is None), key=lambda row: bool(row["result"] == "shown"))
    probed = entry(table, counted[0]) if counted else None
    against = tuple(f"{row['probe']}: {against}" for row, against in judged if against is not None)
    return Change(path, table, before, replace(before, probed=probed), against)


def changes(rules: Mapping[str, Path], rows: Iterable[Mapping[str, Any]], root: Path, probes: Sequence[str] = ()) -> Iterator[Change]:
    """Of every rule that a row names, or that has an entry of one: what the rows make of it. ``probes`` narrows it to rules of theirs."""
    naming: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        for name in row["rules"]:
            naming.setdefault(name, []).append(row)
    for name, path in sorted(rules.items()):
        own = naming.get(name, [])
        chosen = any(row["probe"] in probes for row in own) if probes else own or read_ledger(path).probed is not None
        if chosen:
            yield change(path, own, root)


def record(told: Change) -> str:
    """Write a ledger, and the confidence that the rule has earned; says what came of it."""
    if told.ledger != told.before:
        write_ledger(told.path, told.ledger)
    claimed = told.table.get("confidence")
    moved = record_confidence(told.path, told.table, told.level)
    return f"{told.path.stem}: {f'{claimed} -> {told.level}' if moved else told.level}"
