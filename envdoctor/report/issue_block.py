"""A block to paste into an issue: versions, hardware, plan, model and findings, and nothing that says whose machine it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.fact import FactValue
from envdoctor.facts.values import shown
from envdoctor.facts.versions import ABSENT, Exact
from envdoctor.report.model import Diagnosed, Report
from envdoctor.report.plain import printable
from envdoctor.report.scrubbing import Known, scrub
from envdoctor.world.releases import listed

# Facts whose values are of a vocabulary or numbers; what a person may have named freely is not among them.
_MACHINE = ("python", "os", "machine", "glibc", "accelerator", "cuda", "cudnn", "driver")
_FREE = re.compile(r"path|dir|file|name|code_uses|id$|data|output|token|url|hub|run|project|command|env")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_REVISION = re.compile(r"[0-9a-f]{40}")
_MOST_FINDINGS = 12


def render(report: Report, known: Known | None = None) -> str:
    """The block as Markdown. Packages that no public index has are counted and not named; a local model is not named either."""
    return scrub("\n".join(printable(line) for line in _lines(report)) + "\n", known)


def _lines(report: Report) -> Iterator[str]:
    facts = report.facts
    yield f"### envdoctor {report.version}, releases up to {report.releases_as_of}"
    yield ""
    for name in _MACHINE:
        if name in facts:
            yield f"- {name}: {shown(facts[name].value)}"
    hardware = [f"{name.removeprefix('gpu.')} {shown(facts[name].value)}" for name in sorted(facts) if name.startswith("gpu.")]
    if hardware:
        yield f"- GPU: {', '.join(hardware)}"
    yield from _model(report)
    plan = [name for name in sorted(facts) if name.startswith("plan.") and not _FREE.search(name)]
    stated = [name for name in plan if not facts[name].origin.source.startswith("default of")]
    if stated:
        settings = (f"{name.removeprefix('plan.')} = {shown(facts[name].value)}" for name in stated)
        yield f"- plan: {', '.join(settings)}"
    yield ""
    packages = {name.removeprefix("packages."): facts[name].value for name in sorted(facts) if name.startswith("packages.")}
    public = {name: value for name, value in packages.items() if name in listed()}
    if public:
        yield "```text"
        yield from (_package(name, value) for name, value in public.items())
        yield "```"
    if len(public) < len(packages):
        yield f"{len(packages) - len(public)} other packages"
    yield from _findings(report)


def _package(name: str, value: FactValue) -> str:
    if value is ABSENT:
        return f"{name}: not installed"
    return f"{name}=={value}" if isinstance(value, Exact) else f"{name} {shown(value)}".rstrip()


def _model(report: Report) -> Iterator[str]:
    facts = report.facts
    name, kind = facts.text("model.id") or "", facts.text("model.type")
    revision = facts.text("model.revision") or ""
    if not (name or kind):
        return
    who = name if _HUB_ID.fullmatch(name) else "a local model"
    at = f", revision {revision[:12]}" if _REVISION.fullmatch(revision) else ""
    yield f"- model: {who}{at}{f' ({kind})' if kind else ''}"


def _findings(report: Report) -> Iterator[str]:
    yield ""
    told = [one for one in report.findings if one.finding.status != "refuted" and not one.excused]
    if not told:
        yield "No finding."
    for one in told[:_MOST_FINDINGS]:
        yield _finding(one)
    if len(told) > _MOST_FINDINGS:
        yield f"- and {len(told) - _MOST_FINDINGS} more"
    yield from (f"- {hint}" for hint in report.hints if not hint.startswith("envdoctor "))
    pins = dict(report.remedy.pins)
    if pins:
        yield f"- proposed: {' '.join(f'{name}{pin}' for name, pin in sorted(pins.items()))}"


def _finding(one: Diagnosed) -> str:
    finding = one.finding
    detail = " ".join(finding.said.split()) or finding.rule.title
    edge = f" ({finding.edge})" if finding.edge else ""
    return f"- {finding.status} {finding.severity} {finding.rule.id}{edge}: {detail}"
