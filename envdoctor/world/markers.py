"""Markers of requirements (PEP 508) that are what most are, comparisons joined by ``and`` and ``or``: told without packaging."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envdoctor.facts.versions import exact, version_condition

_COMPARISON = re.compile(r"""\s*([a-z_]+)\s*(==|!=|<=|>=|<|>)\s*(?:"([^"]*)"|'([^']*)')\s*""")
_PYTHON_VARIABLES = ("python_version", "python_full_version", "implementation_version")


class NotSimpleError(Exception):
    """A marker that is more than comparisons of known variables."""


def judge_simple(marker: str, environment: Mapping[str, str]) -> bool | None:
    """Whether a marker holds; None where that waits for the version of Python, which the environment lacks.

    Raises:
        NotSimpleError: it is another one, which packaging has to read.
    """
    outcome: bool | None = False
    for alternative in unwrap(marker).split(" or "):
        part: bool | None = True
        for text in alternative.split(" and "):
            one = _compare(text, environment)
            part = False if part is False or one is False else None if part is None or one is None else True
        outcome = True if outcome is True or part is True else None if outcome is None or part is None else False
    return outcome


def unwrap(marker: str) -> str:
    """The marker without the one pair of parentheses around all of it."""
    marker = marker.strip()
    return marker[1:-1] if marker.startswith("(") and marker.endswith(")") and marker.count("(") == 1 else marker


def _compare(text: str, environment: Mapping[str, str]) -> bool | None:
    match = _COMPARISON.fullmatch(text)
    if match is None:
        raise NotSimpleError
    variable, operator, value = match[1], match[2], match[3] if match[3] is not None else match[4]
    known = environment.get(variable)
    if variable in _PYTHON_VARIABLES:
        if known is None:
            return None
        try:
            return version_condition(operator + value).admits(exact(known))
        except ValueError:
            raise NotSimpleError from None
    if known is None or operator not in ("==", "!="):
        raise NotSimpleError
    return (known == value) is (operator == "==")


__all__ = ["NotSimpleError", "judge_simple", "unwrap"]
