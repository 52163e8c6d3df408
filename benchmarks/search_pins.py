"""What the search for pins costs, and that it looks at all sets that it has to.

    python benchmarks/search_pins.py [--runs 5]

Three stacks: twelve packages of a training stack with several findings, against the shipped rules; the same twelve as a file declares
them, with releases that refuse each other; and twelve invented packages of 40 releases with 300 rules about one, two and three of them.
The median of the CPU seconds is printed, of the search alone (it has one thread and waits for nothing), and the first one, for which
nothing is kept yet; with the packages that change and whether the search was cut short. Last stands the median of the search for the
first remedy alone, as the next one of a run in which others were before it. The exit code is 1 where one takes a second.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

from envdoctor.checks import FACT_CHECKS
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Finding, Outcomes, diagnose
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.remedies.search import CUT_SHORT, Problem, find_remedies
from envdoctor.rules.conditions import parse_condition
from envdoctor.rules.rule import Rule
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.world.releases import Release, release_texts

STACK = {
    "packages.torch": "2.5.0", "packages.torchvision": "0.20.0", "packages.torchaudio": "2.5.0", "packages.transformers": "4.47.0",
    "packages.peft": "0.11.1", "packages.accelerate": "0.27.2", "packages.trl": "0.12.0", "packages.datasets": "2.16.0",
    "packages.bitsandbytes": "0.42.0", "packages.deepspeed": "0.13.0", "packages.numpy": "2.0.0", "packages.tokenizers": "0.21.0",
    "plan.method": "lora", "plan.fp16": "true", "plan.load_dtype": "float16", "plan.gradient_accumulation": "4", "plan.attn": "sdpa",
    "plan.batch_size": "4", "model.type": "llama", "python": "3.10.12", "os": "linux",
}  # fmt: skip
DECLARED = {
    "packages.torch": "==2.4.1", "packages.torchvision": "==0.19.0", "packages.torchaudio": "==2.4.0", "packages.transformers": "==4.40.0",
    "packages.tokenizers": "==0.20.0", "packages.huggingface-hub": "==0.17.0", "packages.peft": "==0.11.1", "packages.numpy": "==1.26.4",
    "packages.accelerate": "==0.30.0", "packages.datasets": "==2.19.0", "packages.fsspec": "==2024.6.0", "packages.trl": "==0.8.6",
}  # fmt: skip
LIMIT = 1.0


def situation(stated: Mapping[str, str], file: str | None = None, *, closed: bool = False) -> Facts:
    facts = (Fact(name, parse_value(name, raw), Origin(file or "stated", file, line)) for line, (name, raw) in enumerate(stated.items(), 1))
    return Facts({fact.name: fact for fact in facts}, closed)


def shipped(facts: Facts) -> tuple[Problem, tuple[Finding, ...]]:
    book = load_rulebook()
    derived = derive(facts)
    hits = [hit for check in FACT_CHECKS for hit in check(derived)]
    findings = diagnose(derived, book.rules, release_texts, hits=hits).findings
    found = tuple(replace(one, rule=book.whole(one.rule.id)) for one in findings)
    return Problem(facts, tuple(book.rules), FACT_CHECKS, release_texts), found


def invented(packages: int = 12, rules: int = 300, releases: int = 40) -> tuple[Problem, tuple[Finding, ...]]:
    dice = random.Random(1)
    names = [f"package-{number}" for number in range(packages)]
    texts = [f"{number // 10}.{number % 10}" for number in range(releases)]
    start = date(2023, 1, 1)

    def release(place: int) -> Release:
        return Release(texts[place], str(start + timedelta(days=20 * place + dice.randrange(9))), False, None, True)

    listed = {name: tuple(map(release, range(releases))) for name in names}

    def ranged(name: str) -> str:
        first = dice.randrange(releases)
        last = min(first + dice.choice((1, 2, 5)), releases - 1)
        return f"{name} >={texts[first]}, <={texts[last]}"

    tables = [{"packages": [ranged(name) for name in dice.sample(names, dice.choice((1, 2, 2, 3)))]} for _ in range(rules)]
    facts = situation({f"packages.{name}": dice.choice(texts) for name in names})
    made = tuple(_rule(f"rule-{number}", table) for number, table in enumerate(tables))

    def known(package: str) -> Sequence[str]:
        return texts if package in listed else ()

    findings = diagnose(derive(facts), made, known).findings
    return Problem(facts, made, (), known, releases=lambda package: listed.get(package, ()), requires=lambda name, version: ()), findings


def _rule(name: str, table: Mapping[str, object]) -> Rule:
    return Rule(name, name, "error", "crash", "cited", "", parse_condition(table))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    slow = False
    for title, (problem, findings) in {
        "12 packages, shipped rules": shipped(situation(STACK, closed=True)),
        "12 declared, shipped rules": shipped(situation(DECLARED, "requirements.txt")),
        "12 packages, 300 invented rules": invented(),
    }.items():
        spent = []
        for _ in range(options.runs):
            before = time.process_time()
            found = find_remedies(problem, findings)
            spent.append(time.process_time() - before)
        shared, alone = replace(problem, outcomes=Outcomes(problem.known)), []
        for _ in range(options.runs + 1):
            before = time.process_time()
            find_remedies(shared, findings, alternatives=False)
            alone.append(time.process_time() - before)
        decided = sum(one.status == "matched" and one.severity != "note" for one in findings)
        said = "nothing found" if not found else f"{len(found[0].pins)} change, {len(found[0].unfixable)} not cleared"
        cut = ", cut short" if found and found[0].proof == CUT_SHORT else ""
        first = f"{statistics.median(spent):.2f} s (the first {spent[0]:.2f} s), {statistics.median(alone[1:]):.3f} s"
        print(f"{title:<32} {decided} findings  {said}{cut}  {first}")
        slow = slow or statistics.median(spent) >= LIMIT
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
