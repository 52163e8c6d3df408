"""Measured runs as they are kept in the repository: what a user would state of each, and what was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """One measured run.

    ``metric`` is ``allocated``, ``reserved`` or ``used``; ``measured`` in GiB, ``after`` the bytes that stay allocated when training is
    over. ``ended`` is ``ok``, ``oom`` or "". ``not_stated`` are words of the source that no fact has; ``reason`` says why there is no
    config. ``quality`` is A where every size that matters is stated by the source, B and C where some are not. ``context`` are the GiB
    of ``used`` that the source says to be the CUDA context.
    """

    number: int
    model: str
    method: str
    config: Mapping[str, Any]
    facts: Mapping[str, Mapping[str, Any]]
    metric: str
    measured: float | None
    after: float | None
    ended: str
    quality: str
    source: str
    not_stated: tuple[str, ...] = ()
    reason: str = ""
    kernels: str = ""
    context: float | None = None

    @property
    def plan(self) -> Mapping[str, Any]:
        return self.facts.get("plan", {})

    @property
    def gpus(self) -> int:
        return int(self.facts.get("gpu", {}).get("count", 1))

    @property
    def origin(self) -> str:
        """The repository that published it."""
        parts = self.source.split("/")
        return "/".join(parts[3:5]) if len(parts) > 4 else "?"


def toml(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """A facts table as TOML."""
    lines: list[str] = []
    for table, values in facts.items():
        lines.append(f"[{table}]")
        lines += [f"{name} = {_value(value)}" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return json.dumps(value)


def dump(cases: Sequence[Case]) -> str:
    """Cases as JSON, one a line; configurations and stacks that several of them share stand once."""
    configs: dict[str, int] = {}
    stacks: dict[str, int] = {}
    sources: dict[str, int] = {}
    lines = []
    for case in cases:
        facts = dict(case.facts)
        packages = facts.pop("packages", None)
        body: dict[str, Any] = {
            "number": case.number, "model": case.model, "method": case.method, "config": _shared(configs, case.config),
            "stack": _shared(stacks, packages), "facts": facts, "metric": case.metric, "measured": case.measured, "after": case.after,
            "ended": case.ended, "quality": case.quality, "source": _shared(sources, case.source), "not_stated": list(case.not_stated),
            "reason": case.reason, "kernels": case.kernels, "context": case.context,
        }  # fmt: skip
        lines.append(json.dumps({name: value for name, value in body.items() if value not in (None, "", [], {})}))
    listed = (",\n".join(f"  {text}" for text in shared) for shared in (configs, stacks, sources, lines))
    return '{{\n "configs": [\n{}\n ],\n "stacks": [\n{}\n ],\n "sources": [\n{}\n ],\n "cases": [\n{}\n ]\n}}\n'.format(*listed)


def _shared(known: dict[str, int], value: object) -> int | None:
    return known.setdefault(json.dumps(value), len(known)) if value else None


def load(path: Path) -> list[Case]:
    """The cases of a file that ``dump`` wrote."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    return [_loaded(kept, line) for line in kept["cases"]]


def _loaded(kept: Mapping[str, Sequence[Any]], line: Mapping[str, Any]) -> Case:
    facts = dict(line["facts"])
    if "stack" in line:
        facts = {"packages": kept["stacks"][line["stack"]], **facts}
    return Case(
        line["number"], line["model"], line["method"], kept["configs"][line["config"]] if "config" in line else {}, facts, line["metric"],
        line.get("measured"), line.get("after"), line.get("ended", ""), line.get("quality", ""), kept["sources"][line["source"]],
        tuple(line.get("not_stated", ())), line.get("reason", ""), line.get("kernels", ""), line.get("context"),
    )  # fmt: skip
