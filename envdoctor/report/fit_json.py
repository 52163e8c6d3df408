"""The fit report as JSON: what the interface fixes first, then what else is known."""

from __future__ import annotations

import json
from collections.abc import Mapping

from envdoctor.lengths.values import LengthAdvice, Lengths
from envdoctor.memory.advice import Advice
from envdoctor.memory.estimate import GIB, TERMS, Estimate, Moment, Range, Term
from envdoctor.memory.undecided import Undecided
from envdoctor.report.fit import FitReport

SCHEMA_VERSION = 1


def render(report: FitReport) -> str:
    """One object; sizes are in GiB (2**30 bytes), rounded to MiB's order."""
    return json.dumps(as_object(report), indent=2) + "\n"


def as_object(report: FitReport) -> dict[str, object]:
    """The report as JSON's own values."""
    estimate, verdict = report.estimate, report.verdict
    body: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "method": estimate.method,
        "per_gpu": _per_gpu(estimate),
        "answer": "range" if estimate.is_a_range else "figure",
        "gpu_memory_gib": None if verdict.memory is None else _gib(verdict.memory),
        "fits": verdict.fits,
        "advice": [_advice(advice) for advice in report.advice],
        "unknown": [{"fact": one.fact, "assumed": _value(one.assumed), "why": one.why} for one in report.assumptions],
        "undecided": [_undecided(one) for one in report.undecided],
        "model": report.model,
        "gpu": {"name": report.gpu or None, "count": report.plan.ranks},
        "needed_gib": _range(verdict.needed),
        "beside_gib": _range(estimate.beside),
        "fragments_gib": _range(verdict.fragments),
        "moments": [{"name": moment.name, "terms_gib": _terms(moment), "total_gib": _gib(moment.total)} for moment in estimate.moments],
        "does_not_help": list(report.useless),
        "notes": [*estimate.notes, *report.notes],
        "skipped": [{"what": skip.what, "why": skip.why} for skip in report.skipped],
    }
    if report.closed_form is not None:
        body["closed_form"] = _per_gpu(report.closed_form)
    if report.refused:
        body["exact"] = {"refused": report.refused}
    if report.lengths is not None:
        body["lengths"] = _lengths(report.lengths, report.length_advice)
    return body


def _per_gpu(estimate: Estimate) -> dict[str, object]:
    return {
        "allocated_gib": _range(estimate.allocated),
        "reserved_gib": _range(estimate.reserved),
        "terms_gib": _terms(estimate.peak),
        "peak_at": estimate.peak.name,
    }


def _advice(advice: Advice) -> dict[str, object]:
    change = {name: _value(value) for name, value in advice.change.items()}
    return {
        "change": change,
        "allocated_gib": _gib(advice.allocated.expected),
        "cost": advice.cost,
        "fits": advice.fits,
        "allocated_range_gib": _range(advice.allocated),
    }


def _undecided(one: Undecided) -> dict[str, object]:
    others = [_value(other) for other in one.others]
    told = {"fact": one.fact, "taken": _value(one.taken), "others": others, "allocated_gib": _range(one.allocated)}
    return told if one.modelled else {**told, "modelled": False}


def _lengths(lengths: Lengths, advice: LengthAdvice | None) -> dict[str, object]:
    told: dict[str, object] = {
        "data": lengths.data,
        "rows": lengths.rows,
        "tokens": lengths.tokens,
        "form": lengths.form,
        "mean": round(lengths.mean, 2),
        "p50": lengths.p50,
        "p90": lengths.p90,
        "p95": lengths.p95,
        "p99": lengths.p99,
        "longest": lengths.longest,
        "longest_rows": [{"tokens": row.tokens, "line": row.line} for row in lengths.longest_rows],
        "tokenizer": {"library": lengths.tokenizer.library, "file": lengths.tokenizer.file, "of_the_patient": lengths.tokenizer.patients},
        "template": lengths.template or None,
        "not_counted": lengths.refused,
        "reasons": [{"why": why, "rows": count} for why, count in lengths.reasons],
        "whole": lengths.whole,
        "notes": list(lengths.notes),
    }
    if advice is not None:
        told |= {
            "worst_batch": {"tokens": advice.now.worst_batch, "rows": advice.rows, "longest": advice.now.longest},
            "padding_share": round(advice.now.waste, 4),
            "savings": [
                {"name": one.name, "words": one.words, "set": one.setting or None, "saved": round(one.saved, 4),
                 "memory_saved": round(one.memory_saved, 4)}
                for one in advice.savings
            ],
        }  # fmt: skip
    return told


def _terms(moment: Moment) -> dict[str, float]:
    terms: Mapping[Term, float] = moment.terms
    return {term: _gib(terms.get(term, 0.0)) for term in TERMS}


def _range(range_: Range) -> dict[str, float]:
    return {"low": _gib(range_.low), "expected": _gib(range_.expected), "high": _gib(range_.high)}


def _gib(count: float) -> float:
    return round(count / GIB, 3)


def _value(value: object) -> object:
    """A value of a fact as JSON has it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return list(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
