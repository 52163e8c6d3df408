"""Run probes in real environments, and keep what they said under docs/probes.

    python scripts/prove_probes.py [PROBE ...] [--keep DIR] [--write]               # a bad and a good stack: pairs.md
    python scripts/prove_probes.py [PROBE ...] --healthy [--keep DIR] [--write]     # stacks without a fault: healthy.md
    python scripts/prove_probes.py [PROBE ...] --record     # the ledgers of rules, from the results kept; nothing is run
    python scripts/prove_probes.py --check      # exit 1 when pages or ledgers are of other pairs, or one of them was not shown

The pairs are in ``scripts/probe_pairs``; ``probe_pair_files.py`` says how one is written, ``probe_ledgers.py`` for which rules one
counts. ``--write`` records what the pairs show of them too.
On a healthy stack only refuted, or inconclusive with a reason, will do. ``--keep`` names a directory in which the environments stay.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import pkgutil
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from probe_ledgers import Change, changes, facts_of, record
from probe_pages import healthy, healthy_page, pairs_page
from probe_pair_files import PYTHON, Pair, read_pairs

import envdoctor.probes
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Facts
from envdoctor.probes.probe import Probe
from envdoctor.probes.registry import PROBES, run_probe
from envdoctor.probes.verdict import Verdict
from envdoctor.rules.ledger import subject
from envdoctor.rules.reproduction import SIDES, without_places
from envdoctor.rules.rulebook import rule_files
from envdoctor.uv.environments import Builder, Environment, NotBuiltError, UvBuilder

ROOT = Path(__file__).resolve().parent.parent
PAIRS = ROOT / "scripts" / "probe_pairs"
DOCS = ROOT / "docs" / "probes"
RULES = ROOT / "rules"
# Outside every band of known faults (transformers 4.41 cannot resume under torch 2.6 and later); the newest one is what the index gives.
STACKS: dict[str, tuple[str, ...]] = {
    "old": (
        "torch==2.3.1",
        "transformers==4.41.2",
        "tokenizers==0.19.1",
        "peft==0.12.0",
        "accelerate==0.33.0",
        "numpy==1.26.4",
        "bitsandbytes==0.46.1",
    ),
    "middle": (
        "torch==2.13.0",
        "transformers==4.51.3",
        "tokenizers==0.21.1",
        "peft==0.15.2",
        "accelerate==1.6.0",
        "numpy==2.2.6",
        "bitsandbytes==0.46.1",
    ),
    "newest": (
        "torch==2.13.0",
        "transformers>=5.23",
        "tokenizers>=0.23.1",
        "peft>=0.21",
        "accelerate>=1.15",
        "numpy>=2.4",
        "bitsandbytes>=0.50",
    ),
}
PLANS: dict[str, dict[str, object]] = {
    "nothing stated": {},
    "LoRA, float16": {
        "plan.method": "lora",
        "plan.load_dtype": "float16",
        "plan.optimizer": "adamw_torch",
        "plan.attn": "sdpa",
        "plan.batch_size": 2,
        "plan.padding": True,
        "plan.padding_side": "right",
        "plan.gradient_accumulation": 4,
        "plan.gradient_checkpointing": True,
        "plan.save": True,
        "model.path": "fixtures/qwen2.5-0.5b-instruct",
    },
    "full, bfloat16": {
        "plan.method": "full",
        "plan.load_dtype": "bfloat16",
        "plan.bf16": True,
        "plan.attn": "eager",
        "plan.batch_size": 4,
        "plan.padding": True,
        "plan.padding_side": "left",
        "plan.gradient_accumulation": 2,
        "plan.gradient_checkpointing": True,
        "plan.use_reentrant": False,
        "plan.evaluate": True,
        "plan.tokenize": True,
        "model.path": "fixtures/llama-2-7b-hf",
    },
    "QLoRA, 4-bit": {
        "plan.method": "qlora",
        "plan.quant": "4bit",
        "plan.load_dtype": "bfloat16",
        "plan.gradient_checkpointing": True,
        "plan.input_require_grads": True,
    },
    "LoRA, 8-bit": {"plan.method": "lora", "plan.quant": "8bit", "plan.load_dtype": "float16"},
}


def probes() -> dict[str, Probe]:
    """Every probe: those of the registry, and those of modules that it does not name yet, which are entered into it."""
    for module in pkgutil.iter_modules(envdoctor.probes.__path__):
        probe = getattr(importlib.import_module(f"envdoctor.probes.{module.name}"), "PROBE", None)
        if isinstance(probe, Probe):
            PROBES.setdefault(probe.name, probe)
    return dict(sorted(PROBES.items()))


def consented(probe: Probe) -> Probe:
    """The probe with the user's consent to run a snapshot's own code: the snapshots here are of this repository."""
    parameters: Callable[..., Mapping[str, object] | str] = probe.parameters
    if "trust" not in inspect.signature(parameters).parameters:
        return probe
    return replace(probe, parameters=lambda facts, *_, **__: parameters(facts, trust=True))


def situation(built: Environment, stated: Mapping[str, object]) -> Facts:
    """The facts that ``envdoctor probe`` would have of this environment, this machine and what is stated."""
    return facts_of(stated, ROOT, "--python", str(built.interpreter))


def ask(probe: str, built: Environment, facts: Facts) -> Verdict:
    """The probe's verdict in this environment, without what this process's own Python was told."""
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    PROBES[probe] = consented(PROBES[probe])
    return run_probe(probe, built.interpreter, facts, environ=environ)


def placeless(value: object) -> Any:
    """What was measured, with no directory of this machine in any text."""
    if isinstance(value, str):
        return without_places(value)
    if isinstance(value, Mapping):
        return {without_places(str(name)): placeless(item) for name, item in value.items()}
    return [placeless(item) for item in value] if isinstance(value, (list, tuple)) else value


def today() -> str:
    return datetime.now(timezone.utc).date().isoformat()


def prove(pair: Pair, build: Builder, *, gpu: str | None) -> dict[str, Any]:
    """Run both sides and return what is kept: ``result`` is shown, not shown, not built or not run. ``gpu`` is the name of the one here."""
    stated = pair.stated()
    row: dict[str, Any] = {**stated, "subject": subject(stated), "date": today(), "platform": f"{platform.system()} {platform.machine()}"}
    if pair.gpu:
        if gpu is None:
            return row | {"result": "not run", "why": "it needs a GPU, and none is here"}
        row["device"] = gpu
    wrong = []
    for side in SIDES:
        try:
            built = build(pair.python, (*pair.pins[side], *pair.extra))
        except NotBuiltError as error:
            return row | {"result": "not built", "why": without_places(f"{side}: {error}")}
        verdict = ask(pair.probe, built, situation(built, pair.facts[side]))
        named = {canonicalize_name(Requirement(pin).name) for pin in (*pair.pins[side], *pair.extra)}
        row[side] = stated[side] | {
            "python": built.python,
            "installed": {name: version for name, version in sorted(built.installed.items()) if name in named},
            "verdict": verdict.verdict,
            "reason": without_places(verdict.reason),
            "seconds": round(verdict.seconds, 1),
            "measured": placeless(verdict.measured),
        }
        if verdict.verdict != pair.expected[side]:
            wrong.append(f"{side}: {verdict.verdict}, expected {pair.expected[side]}: {without_places(verdict.reason)}")
    return row | ({"result": "not shown", "why": "; ".join(wrong)} if wrong else {"result": "shown"})


def examine(stack: str, pins: Sequence[str], names: Iterable[str], build: Builder) -> Iterator[dict[str, Any]]:
    """The verdicts of probes on one healthy stack, one for each plan that makes the probe run something else."""
    built = build(PYTHON, tuple(pins))
    named = {canonicalize_name(Requirement(pin).name) for pin in pins}
    installed = {name: version for name, version in sorted(built.installed.items()) if name in named}
    situations = {plan: situation(built, stated) for plan, stated in PLANS.items()}
    for name in names:
        seen: set[str] = set()
        for plan, facts in situations.items():
            params = json.dumps(PROBES[name].parameters(facts), sort_keys=True, default=str)
            if params in seen:
                continue
            seen.add(params)
            verdict = ask(name, built, facts)
            yield {
                "stack": stack,
                "pins": list(pins),
                "installed": installed,
                "python": built.python,
                "probe": name,
                "plan": plan,
                "verdict": verdict.verdict,
                "reason": without_places(verdict.reason),
                "seconds": round(verdict.seconds, 1),
                "date": today(),
                "measured": placeless(verdict.measured),
            }


def kept(path: Path) -> list[dict[str, Any]]:
    """The rows written before; none where there is no file."""
    if not path.exists():
        return []
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def merged(before: Iterable[Mapping[str, Any]], now: Sequence[Mapping[str, Any]], known: Iterable[str]) -> list[Mapping[str, Any]]:
    """The rows of this run, and those kept of probes and stacks that it left out and that still exist."""
    ran = {(row.get("stack"), row["probe"]) for row in now}
    order, exist = list(STACKS), set(known)
    left = [
        row
        for row in before
        if (row.get("stack"), row["probe"]) not in ran and row["probe"] in exist and row.get("pins") in (None, *map(list, STACKS.values()))
    ]
    return sorted([*left, *now], key=lambda row: (order.index(row["stack"]) if row.get("stack") in order else -1, row["probe"]))


def write(name: str, rows: Sequence[Mapping[str, Any]], page: str) -> None:
    DOCS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    (DOCS / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")
    (DOCS / f"{name}.md").write_text(page, encoding="utf-8", newline="\n")


def stale(pairs: Iterable[Pair], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Pairs that were not run as they are written now, or did not show what they say."""
    results = {row["subject"]: row["result"] for row in rows}
    told = ((pair, results.get(subject(pair.stated()), "never run")) for pair in pairs)
    return [f"{pair.probe}: {', '.join(pair.pins['bad'])}: {result}" for pair, result in told if result not in ("shown", "not run")]


def current(pairs: Iterable[Pair], rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The results of pairs as they are written now."""
    subjects = {subject(pair.stated()) for pair in pairs}
    return [row for row in rows if row["subject"] in subjects]


def _changes(names: Sequence[str], known: Mapping[str, Probe]) -> Iterator[Change]:
    """What the results kept make of the ledgers of rules: of those that pairs of these probes name, or of all."""
    rows = current(_chosen([], known), kept(DOCS / "pairs.json"))
    return changes({path.stem: path for path in rule_files(RULES)}, rows, ROOT, names)


def _record(names: Sequence[str], known: Mapping[str, Probe]) -> None:
    for change in list(_changes(names, known)):
        print(record(change))
        for line in change.objections:
            print(f"  counts for nothing: {line}")


def unrecorded(told: Iterable[Change]) -> list[str]:
    """Ledgers that are not what the results make of them."""
    return [f"{change.path.stem}: its ledger is of other results" for change in told if change.ledger != change.before]


def _pairs(options: argparse.Namespace, known: Mapping[str, Probe], build: Builder) -> int:
    from envdoctor.sources.machine.hardware import collect_hardware

    gpu = next((str(fact.value) for fact in collect_hardware().facts if fact.name == "gpu.name"), None)
    rows = []
    for pair in _chosen(options.probes, known):
        row = prove(pair, build, gpu=gpu)
        rows.append(row)
        print(f"{row['result']:<9} {pair.probe} ({', '.join(pair.rules)})")
        for side in SIDES:
            if "verdict" in row[side]:
                print(
                    f"  {side:<4} {' '.join(row[side]['pins'])}: {row[side]['verdict']}, {row[side]['seconds']:g} s: {row[side]['reason']}"
                )
        if "why" in row:
            print(f"  {row['why']}")
    if options.write:
        told = merged(kept(DOCS / "pairs.json"), rows, known)
        write("pairs", told, pairs_page(told))
        _record(options.probes, known)
    counts = {result: sum(row["result"] == result for row in rows) for result in ("shown", "not shown", "not built", "not run")}
    print(f"{len(rows)} pairs: {', '.join(f'{count} {result}' for result, count in counts.items())}")
    return int(counts["not shown"] + counts["not built"] > 0)


def _chosen(names: Sequence[str], known: Mapping[str, Probe]) -> list[Pair]:
    """The pairs of the probes named, or all.

    Raises:
        EnvdoctorError: a probe or its file does not exist.
    """
    paths = [PAIRS / f"{name}.toml" for name in names] or sorted(PAIRS.glob("*.toml"))
    for path in paths:
        if path.stem not in known:
            raise EnvdoctorError(str(path), found="no such probe", expected=", ".join(known), next_step="name the file after its probe")
    return [pair for path in paths for pair in read_pairs(path)]


def _healthy(options: argparse.Namespace, known: Mapping[str, Probe], build: Builder) -> int:
    rows: list[dict[str, Any]] = []
    for stack in options.stack or STACKS:
        for row in examine(stack, STACKS[stack], options.probes or known, build):
            rows.append(row)
            mark = "" if healthy(row) else "FALSE ALARM "
            print(f"{mark}{stack}: {row['probe']}, {row['plan']}: {row['verdict']}, {row['seconds']:g} s: {row['reason']}", flush=True)
            if mark:
                print(f"  measured {json.dumps(row['measured'], sort_keys=True)}")
    if options.write:
        told = merged(kept(DOCS / "healthy.json"), rows, known)
        write("healthy", told, healthy_page(told))
    wrong = sum(not healthy(row) for row in rows)
    print(f"{len(rows)} verdicts on {len(options.stack or STACKS)} healthy stacks: {wrong} false alarms")
    return int(wrong > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probes", nargs="*", metavar="PROBE")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the environments here and use those that are there")
    parser.add_argument("--healthy", action="store_true", help="run the probes on the healthy stacks")
    parser.add_argument("--stack", action="append", choices=STACKS, help="of the healthy stacks, only this one; may be given again")
    parser.add_argument("--write", action="store_true", help="keep the results under docs/probes and in the ledgers of rules")
    parser.add_argument("--record", action="store_true", help="only write the ledgers of rules, from the results kept")
    parser.add_argument("--check", action="store_true", help="only compare the pages and the ledgers with the pairs")
    options = parser.parse_args()
    known = probes()
    for name in options.probes:
        if name not in known:
            parser.error(f"no probe {name!r}: {', '.join(known)}")
    if options.check:
        lines = stale(_chosen(options.probes, known), kept(DOCS / "pairs.json"))
        next_step = "run python scripts/prove_probes.py " + ("--write" if lines else "--record")
        lines += unrecorded(_changes(options.probes, known))
        print("\n".join([*lines, next_step]) if lines else "docs/probes/pairs.md and the ledgers are of these pairs")
        return int(bool(lines))
    if options.record:
        _record(options.probes, known)
        return 0
    run = _healthy if options.healthy else _pairs
    if options.keep:
        return run(options, known, UvBuilder(options.keep.absolute()))
    with tempfile.TemporaryDirectory(prefix="envdoctor-prove-", ignore_cleanup_errors=True) as directory:
        return run(options, known, UvBuilder(Path(directory)))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EnvdoctorError as error:
        sys.exit(str(error))
