"""Values out of files of unknown origin, made fit for a fact."""

from __future__ import annotations

import math

from envdoctor.facts.fact import FactValue, NotUnderstood
from envdoctor.facts.values import parse_value
from envdoctor.facts.vocabulary import Term
from envdoctor.files.text import plain

_MOST = 2**63


def stated_value(fact: str, raw: object) -> FactValue:
    """The value of a fact as a file states it: printable, and no number that a report could not carry."""
    if isinstance(raw, str):
        raw = plain(raw)
    if isinstance(raw, (int, float)) and not (math.isfinite(raw) if isinstance(raw, float) else -_MOST < raw < _MOST):
        return NotUnderstood("a number too large")
    try:
        value = parse_value(fact, raw)
    except (ValueError, OverflowError):
        return NotUnderstood("a number too large")
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, float) and not math.isfinite(value):
        return NotUnderstood(plain(str(raw)))
    return NotUnderstood(plain(value.text)) if isinstance(value, NotUnderstood) else value


_AT_LEAST_ONE = ("gpu.count", "plan.batch_size", "plan.seq_len", "plan.gradient_accumulation")
_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false"}


def what_it_should_be(known: Term, value: FactValue) -> str:
    """What somebody who states a number or a truth by hand should have written; empty where it is one."""
    if isinstance(value, NotUnderstood):
        return _KINDS.get(known.kind, "")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        least = 1 if known.name in _AT_LEAST_ONE else 0
        return f"a number from {least} on" if value < least else ""
    return ""
