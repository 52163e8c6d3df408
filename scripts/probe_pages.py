"""docs/probes/pairs.md and docs/probes/healthy.md, from the rows that are kept beside them as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from envdoctor.rules.reproduction import SIDES, without_places


def healthy(row: Mapping[str, Any]) -> bool:
    """Whether this may be said of a stack without a fault."""
    return row["verdict"] == "refuted" or (row["verdict"] == "inconclusive" and bool(row["reason"].strip()))


def cell(text: str) -> str:
    """A text inside a cell of a Markdown table."""
    return without_places(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def code(texts: Iterable[str]) -> str:
    """Texts as code in a cell: a backtick or a bar would end it."""
    return ", ".join(f"`{without_places(text).replace('`', chr(39)).replace('|', '/')}`" for text in texts)


def pairs_page(rows: Sequence[Mapping[str, Any]]) -> str:
    """docs/probes/pairs.md."""
    shown = sum(row["result"] == "shown" for row in rows)
    lines = [
        "# Probes on bad and good stacks",
        "",
        f"{shown} of {len(rows)} pairs show what they say. Made by `python scripts/prove_probes.py --write` from the files of",
        "`scripts/probe_pairs`, in environments that uv built; reasons, measurements and what was installed are in `pairs.json`. Seconds",
        "are wall time of one child; the first one in an environment also compiles its bytecode.",
    ]
    for probe in sorted({row["probe"] for row in rows}):
        lines += ["", f"## `{probe}`", "", "| rule | bad -> verdict, s | good -> verdict, s | on both | date, Python |"]
        lines.append("|---|---|---|---|---|")
        own = [row for row in rows if row["probe"] == probe]
        lines += [_pair_line(row) for row in own]
        told = [f"- {row['result']}: {code(row['rules'])}: {cell(row['why'])}" for row in own if "why" in row]
        lines += ["", *told] if told else []
    return "\n".join(lines) + "\n"


def _pair_line(row: Mapping[str, Any]) -> str:
    same = {name: raw for name, raw in row["bad"]["facts"].items() if row["good"]["facts"].get(name) == raw}
    cells = [code(row["rules"])]
    for side in SIDES:
        own = [f"{name} = {json.dumps(raw, ensure_ascii=False)}" for name, raw in row[side]["facts"].items() if name not in same]
        said = f"**{row[side]['verdict']}**, {row[side]['seconds']:g}" if "verdict" in row[side] else row["result"]
        cells.append(f"{code([*row[side]['pins'], *own])} -> {said}")
    both = [*row["extra"], *(f"{name} = {json.dumps(raw, ensure_ascii=False)}" for name, raw in same.items())]
    date, python = row["date"], row["bad"].get("python", row["python"])
    return f"| {' | '.join([*cells, code(both), f'{cell(date)}, {cell(python)}'])} |"


def healthy_page(rows: Sequence[Mapping[str, Any]]) -> str:
    """docs/probes/healthy.md."""
    lines = [
        "# Probes on healthy stacks",
        "",
        f"{sum(map(healthy, rows))} of {len(rows)} verdicts are what a healthy stack may get: refuted, or inconclusive with a reason. Made",
        "by `python scripts/prove_probes.py --healthy --write`; the plans are in that script, what was measured in `healthy.json`. A plan",
        "under which a probe runs the same as under one above it is left out.",
    ]
    for stack in dict.fromkeys(row["stack"] for row in rows):
        first = next(row for row in rows if row["stack"] == stack)
        versions = ", ".join(f"{name} {version}" for name, version in first["installed"].items())
        lines += ["", f"## {stack}", "", f"{cell(versions)}; Python {first['python']}", ""]
        lines += ["| probe | plan | verdict | s | reason | date |", "|---|---|---|---|---|---|"]
        for row in rows:
            if row["stack"] == stack:
                verdict = row["verdict"] if healthy(row) else f"**{row['verdict']}: a false alarm**"
                lines.append(
                    f"| `{row['probe']}` | {row['plan']} | {verdict} | {row['seconds']:g} | {cell(row['reason'])} | {row['date']} |"
                )
    return "\n".join(lines) + "\n"
