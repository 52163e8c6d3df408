"""docs/memory-terms.md: the closed form of now beside what real modules counted (fixtures/memory/counted_layers.json).

python scripts/terms_page.py    # scripts/compare_terms.py counts anew
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from envdoctor.memory import kept
from envdoctor.memory.closed_form import estimate
from envdoctor.memory.config import read_architecture
from envdoctor.memory.plan import Adapter, Plan, Stack
from envdoctor.memory.targets import tuned

ROOT = Path(__file__).resolve().parent.parent
FIXTURE = ROOT / "fixtures" / "memory" / "counted_layers.json"
PAGE = ROOT / "docs" / "memory-terms.md"
_OF_PLAN = ("dtype", "autocast", "rows", "tokens", "checkpointing", "attention", "optimizer")


def plan_of(asked: Mapping[str, Any], versions: Mapping[str, str]) -> Plan:
    adapter = asked["adapter"]
    return Plan(
        "full" if adapter is None else "adapter",
        asked["dtype"],
        asked["autocast"],
        asked["rows"],
        asked["tokens"],
        None if adapter is None else Adapter(adapter["rank"], tuple(adapter["targets"])),
        checkpointing=asked["checkpointing"],
        optimizer=asked["optimizer"],
        attention=asked["attention"],
        stack=Stack(versions["torch"].partition("+")[0], versions["transformers"], versions.get("peft", "")),
    )


def closed(config: Mapping[str, Any], plan: Plan) -> tuple[float, float]:
    """What one layer keeps in bytes for each token, and the bytes of the peak."""
    architecture = read_architecture(config)
    targets = () if plan.adapter is None else tuned(architecture, plan.adapter.targets)
    return sum(kept.layer(architecture, plan, targets).values()), estimate(architecture, plan).allocated.expected


def fixture(told: Sequence[Mapping[str, Any]]) -> str:
    """What was counted, as JSON: ``models`` are configurations by name, ``rows`` the counts, ``refused`` what could not be run."""
    configs: dict[str, Any] = {}
    lines, refused = [], set()
    for one in told:
        if "allocated" not in one:
            refused.add(f"{one['name']}, {one['plan']}: {one['refused'].splitlines()[0]}")
            continue
        asked = one["params"]
        key = f"{one['name']}, {asked['config']['vocab_size']}"
        configs[key] = asked["config"]
        adapter = None if asked["adapter"] is None else {"rank": asked["adapter"]["rank"], "targets": asked["adapter"]["targets"]}
        plan = {name: asked[name] for name in _OF_PLAN} | {"adapter": adapter}
        row = {"name": one["name"], "title": one["plan"], "model": key, "plan": plan, "versions": one["versions"]}
        lines.append(json.dumps(row | {"layer": one["layer"], "allocated": one["allocated"]}))
    models = ",\n  ".join(f"{json.dumps(name)}: {json.dumps(config)}" for name, config in configs.items())
    reasons = ",\n  ".join(map(json.dumps, sorted(refused)))
    rows = ",\n  ".join(lines)
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    return f'{{\n "counted": "{today}",\n "models": {{\n  {models}\n }},\n "rows": [\n  {rows}\n ],\n "refused": [\n  {reasons}\n ]\n}}\n'


def main() -> None:
    told = json.loads(FIXTURE.read_text())
    rows, layers, peaks = [], [], []
    for one in told["rows"]:
        layer, peak = closed(told["models"][one["model"]], plan_of(one["plan"], one["versions"]))
        peaks.append(abs(peak / one["allocated"] - 1))
        of_layer = "| - | - | - "
        if one["layer"]:
            layers.append(abs(layer / one["layer"] - 1))
            of_layer = f"| {one['layer']:,.0f} | {layer:,.0f} | {layer / one['layer'] - 1:+.1%} "
        of_peak = f"| {one['allocated'] / 2**30:.2f} | {peak / 2**30:.2f} | {peak / one['allocated'] - 1:+.1%} |"
        rows.append(f"| {one['name']} | {one['versions']['transformers']} | {one['title']} " + of_layer + of_peak)
    stacks = sorted(
        {", ".join(f"{name} {release}" for name, release in one["versions"].items()) for one in told["rows"] if one["plan"]["adapter"]}
    )
    text = (
        "# The terms of the memory estimate, against the real modules",
        "",
        f"Counted on {told['counted']} by scripts/compare_terms.py with {'; '.join(stacks)}.",
        "The models are those of tests/memory/counted.json with three layers, the vocabulary cut to 8,192 unless said, 16 rows of 504",
        "tokens, experts cut to 16 with an even share of the tokens each. The real modules ran under fake tensors; no weights, no GPU.",
        "A layer: bytes that it keeps for each token until its backward. The peak: GiB, with SGD, so that no state hides the rest.",
        "",
        _summed("Layers", layers, 0.01),
        _summed("Peaks", peaks, 0.05),
        "",
        "Three layers make small what a real model repeats and large what it has once. Plans drawn at random, over more releases, are in",
        "[Will it fit](fit.md#held-to-the-real-code). Peaks of eager attention were counted before the stand-in for CUDA's softmax had the",
        "matrix that its backward makes for itself: there the closed form is one matrix higher.",
        "",
        "| model | transformers | plan | layer, counted | closed form | error | peak, counted | closed form | error |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
        *rows,
        "",
        "Not run:",
        "",
        *(f"- {reason}" for reason in told["refused"]),
        "",
    )
    PAGE.write_text("\n".join(text))


def _summed(name: str, errors: Sequence[float], near: float) -> str:
    within = sum(error <= near for error in errors)
    return f"{name}: {len(errors)}, median error {median(errors):.2%}, {within} within {near:.0%}, largest {max(errors):.1%}."


if __name__ == "__main__":
    main()
