"""What it costs to load the shipped rules, and to evaluate 10,000 rules against one stack.

    python benchmarks/evaluate_rules.py [--runs 15]

The 10,000 are made: ranges drawn at random over the bundled releases of thirty packages, half of them joined with a second package,
a plan or a hardware condition. The stack is a closed one of 45 packages. CPU milliseconds, median of the runs.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import diagnose
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.rules.conditions import evaluate
from envdoctor.rules.rule import Rule, parse_rule
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.world.releases import release_texts, tracked

PLAN = {"plan.method": "lora", "plan.fp16": True, "plan.bf16": False, "plan.batch_size": 4, "plan.quant": "none", "plan.attn": "sdpa"}
PLAN_CONDITIONS: list[dict[str, object]] = [
    {"plan.method": ["lora", "dora"]},
    {"plan.fp16": True},
    {"plan.batch_size": ">1"},
    {"plan.quant": "4bit"},
    {"gpu.compute_capability": "<8.0"},
    {"any": [{"plan.bf16": True}, {"plan.fp16": True}]},
]


def made_rules(count: int, seed: int = 0) -> list[Rule]:
    chance = random.Random(seed)
    packages = sorted(tracked()) + [f"package-{n}" for n in range(30 - len(tracked()))]

    def requirement() -> str:
        name = chance.choice(packages)
        releases = list(release_texts(name)) or [f"{a}.{b}" for a in range(6) for b in range(10)]
        low, high = sorted(chance.sample(range(len(releases)), 2))
        return f"{name} >={releases[low]}, <{releases[high]}"

    rules = []
    for number in range(count):
        affected: dict[str, object] = {"packages": [requirement()]}
        if chance.random() < 0.25:
            affected["packages"] = [requirement(), requirement()]
        elif chance.random() < 0.35:
            affected |= chance.choice(PLAN_CONDITIONS)
        page = {
            "id": f"made-{number}", "title": "made", "severity": "error", "effect": "crash", "confidence": "cited", "details": "made",
            "affected": affected, "fix": [{"code": "none"}], "evidence": [{"url": "https://example.org", "kind": "docs", "says": "made"}],
        }  # fmt: skip
        rules.append(parse_rule(page, page["id"]))  # type: ignore[arg-type]
    return rules


def made_stack() -> Facts:
    chance = random.Random(1)
    stated: dict[str, object] = {f"packages.{name}": chance.choice(release_texts(name)) for name in sorted(tracked())}
    stated |= {f"packages.other-{n}": "1.0" for n in range(45 - len(stated))} | PLAN | {"gpu.compute_capability": "8.6"}
    facts = [Fact(name, parse_value(name, value), Origin("made")) for name, value in stated.items()]
    return Facts({fact.name: fact for fact in facts}, closed=True)


def median_ms(runs: int, work: Callable[[], object]) -> float:
    costs = []
    for _ in range(runs):
        start = time.process_time()
        work()
        costs.append((time.process_time() - start) * 1000)
    return round(statistics.median(costs), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    load_rulebook()
    rules, stack = made_rules(10_000), derive(made_stack())
    found = len(diagnose(stack, rules, release_texts).findings)
    conditions = [rule.condition for rule in rules if rule.condition is not None]
    first = (
        "import time; from envdoctor.rules.rulebook import load_rulebook; s = time.process_time(); "
        "b = load_rulebook(); print((time.process_time() - s) * 1000, len(b.rules))"
    )
    loads = [
        subprocess.run([sys.executable, "-c", first], capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent).stdout
        for _ in range(options.runs)
    ]
    report = {
        "load_shipped_rules_ms": round(statistics.median(float(text.split()[0]) for text in loads), 1),
        "shipped_rules": int(loads[0].split()[1]),
        "evaluate_10000_rules_ms": median_ms(options.runs, lambda: [evaluate(condition, stack, release_texts) for condition in conditions]),
        "and_make_their_findings_ms": median_ms(options.runs, lambda: diagnose(stack, rules, release_texts)),
        "findings_among_them": found,
    }
    print(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
