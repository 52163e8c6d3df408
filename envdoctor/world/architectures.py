"""Which releases of transformers know which model_type and which tokenizer class.

The table was read from the released wheels (scripts/refresh_model_types.py) and is loaded on first use.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias, TypedDict

from envdoctor.facts.versions import Exact, PackageValue, exact, version_condition
from envdoctor.records import dataclass

_TABLE = Path(__file__).parent.parent / "data" / "model_types.json"
# From this release on AutoTokenizer takes TokenizersBackend for a class that it does not find.
_FALLS_BACK = "5.0.0"


class _Table(TypedDict):
    oldest: str
    newest: str
    remote_only: list[str]
    model_types: dict[str, list[str]]
    tokenizers: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Span:
    """Releases that know a name: from ``first`` on, and before ``gone``; None where the newest release knows it.

    ``first`` is ``oldest()`` where that release knows the name already: earlier ones were not read.
    """

    first: str
    gone: str | None = None

    def specifier(self) -> str:
        return f">={self.first}" if self.gone is None else f">={self.first},<{self.gone}"


Spans: TypeAlias = "tuple[Span, ...]"
"""Spans of one name, oldest first."""

ANY_CLASS: Spans = (Span(_FALLS_BACK),)
"""The releases in which AutoTokenizer loads a tokenizer whatever its class is called."""


def oldest() -> str:
    """The first release that was read."""
    return _table()["oldest"]


def newest() -> str:
    """The last release that was read."""
    return _table()["newest"]


def span_of(model_type: str) -> Spans | None:
    """The releases that know a model_type; None for one that no release read knows.

    Types of parts of a model (a vision tower) that no release ever gave to AutoConfig are not in the table.
    """
    return _spans(_table()["model_types"], model_type)


def tokenizer_spans(class_name: str) -> Spans | None:
    """The releases in which AutoTokenizer finds the class, itself or with Fast behind its name; None for a class of no release.

    A class of transformers 4 counts as found by all of 5, which takes TokenizersBackend for a class that it does not find.
    """
    return _spans(_table()["tokenizers"], class_name)


def is_never_native(model_type: str) -> bool:
    """Whether models of this type are published with code of their own, and no release read has taken the type over."""
    return model_type in _table()["remote_only"]


def all_types() -> Iterable[str]:
    """Every model type that some release knows."""
    return tuple(_table()["model_types"])


def known_types(version: Exact) -> frozenset[str]:
    """The model types that a release knows for certain: of a pre-release, those that it had from an earlier release."""
    names = _table()["model_types"]
    return frozenset(name for name in names for span in _spans(names, name) or () if version_condition(span.specifier()).admits(version))


def lacks(spans: Spans, value: PackageValue, releases: Sequence[str] = ()) -> bool | None:
    """Whether the releases that the value stands for lack a name: all (True), some (None), or none for certain (False).

    Nothing is certain of a release before ``oldest()`` that may have had the name, and of a pre-release of the very
    release with which it came or went. ``releases`` are those of transformers, oldest first; a range is judged over them.
    """
    lacking = _lacking(spans)
    return version_condition(lacking).relation(value, releases) if lacking else False


def lacks_tokenizer(class_name: str, value: PackageValue, releases: Sequence[str] = ()) -> bool | None:
    """Whether AutoTokenizer refuses a tokenizer of this class, in all, some or no releases as `lacks` has it."""
    return lacks(_found(class_name), value, releases)


def bounds(model_type: str | None, class_name: str | None) -> tuple[str, ...]:
    """The version conditions on which the answers for one model turn."""
    found = (() if model_type is None else span_of(model_type) or ()) + (() if class_name is None else _found(class_name))
    edges = dict.fromkeys(edge for span in found for edge in (span.first, span.gone) if edge not in (None, oldest()))
    return tuple(f"<{edge}" for edge in edges)


def _found(class_name: str) -> Spans:
    """The releases that load a tokenizer of this class, their own or not."""
    spans = tokenizer_spans(class_name)
    if spans is None or version_condition(f">={_FALLS_BACK}").admits(exact(spans[0].first)):
        return ANY_CLASS
    return spans


@lru_cache(maxsize=256)
def _lacking(spans: Spans) -> str:
    """The condition of the releases between the spans; empty where none is known to lack the name."""
    parts = [] if spans[0].first == oldest() else [f"<{spans[0].first}"]
    for span, following in zip(spans, (*spans[1:], None), strict=True):
        if span.gone is not None:
            parts.append(f">={span.gone}" if following is None else f">={span.gone},<{following.first}")
    return " || ".join(parts)


def _spans(rows: Mapping[str, Sequence[str]], name: str) -> Spans | None:
    row = rows.get(name)
    if row is None:
        return None
    return tuple(Span(row[place], row[place + 1] if place + 1 < len(row) else None) for place in range(0, len(row), 2))


@lru_cache(maxsize=1)
def _table() -> _Table:
    table: _Table = json.loads(_TABLE.read_bytes())
    return table


__all__ = [
    "ANY_CLASS",
    "Span",
    "Spans",
    "all_types",
    "bounds",
    "is_never_native",
    "known_types",
    "lacks",
    "lacks_tokenizer",
    "newest",
    "oldest",
    "span_of",
    "tokenizer_spans",
]
