"""The files of ``scripts/probe_pairs``: for a probe, stacks that have its fault and stacks that have not.

``<probe>.toml`` has one table ``[[pair]]`` for each pair: ``rule`` (one or a list: which it confirms), ``bad`` and ``good`` (pins of either
side), ``extra`` (pins of both), ``facts`` (what the plan and the like state; ``bad_facts`` and ``good_facts`` on one side),
``expected = { bad = "confirmed", good = "refuted" }`` (the same where it is left out), ``python`` ("3.11"), ``gpu = true`` where only a GPU
shows it. ``model.path`` among the facts is relative to the repository. Everything else is read as ``envdoctor probe`` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from packaging.requirements import InvalidRequirement, Requirement

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import NotUnderstood
from envdoctor.facts.values import flatten, parse_value
from envdoctor.facts.vocabulary import term
from envdoctor.files.toml import read_toml
from envdoctor.probes.verdict import Ruling
from envdoctor.rules.reproduction import SIDES, Side

RULINGS: tuple[Ruling, ...] = get_args(Ruling)
EXPECTED: dict[Side, Ruling] = {"bad": "confirmed", "good": "refuted"}
PYTHON = "3.11"
_KEYS = ("rule", "bad", "good", "extra", "facts", "bad_facts", "good_facts", "expected", "python", "gpu")


@dataclass(frozen=True, slots=True)
class Pair:
    """A bad and a good stack, and what the probe shall say of each. ``facts`` has the stated ones of either side, by name."""

    probe: str
    rules: tuple[str, ...]
    pins: Mapping[Side, tuple[str, ...]]
    extra: tuple[str, ...] = ()
    facts: Mapping[Side, Mapping[str, object]] = field(default_factory=lambda: {"bad": {}, "good": {}})
    expected: Mapping[Side, Ruling] = field(default_factory=lambda: EXPECTED)
    python: str = PYTHON
    gpu: bool = False

    def stated(self) -> dict[str, Any]:
        """The pair as it is kept beside its results."""
        return {
            "probe": self.probe,
            "rules": list(self.rules),
            "python": self.python,
            "extra": list(self.extra),
            "gpu": self.gpu,
            **{side: {"pins": list(self.pins[side]), "facts": dict(self.facts[side]), "expected": self.expected[side]} for side in SIDES},
        }


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file; its name is that of the probe.

    Raises:
        EnvdoctorError: unreadable, no TOML, or a table that does not say what a pair is; the place has its number and key.
    """
    table = read_toml(path)
    listed = table.get("pair")
    if set(table) != {"pair"} or not isinstance(listed, list) or not listed:
        raise _wrong(str(path), ", ".join(sorted(table)) or "nothing", "tables [[pair]] and nothing else")
    return [_pair(path.stem, entry, f"{path}, pair {number}") for number, entry in enumerate(listed, start=1)]


def _pair(probe: str, entry: object, place: str) -> Pair:
    if not isinstance(entry, Mapping):
        raise _wrong(place, repr(entry), "a table")
    for key in entry:
        if key not in _KEYS:
            raise _wrong(f"{place}: {key}", "an unknown key", ", ".join(_KEYS))
    extra = _texts(entry.get("extra", []), f"{place}: extra", _is_pin, "a list of pins", empty=True)
    python = entry.get("python", PYTHON)
    if not isinstance(python, str) or not re.fullmatch(r"3\.[0-9]{1,3}(\.[0-9]{1,3})?", python):
        raise _wrong(f"{place}: python", repr(python), 'a Python version, such as "3.11"')
    if not isinstance(entry.get("gpu", False), bool):
        raise _wrong(f"{place}: gpu", repr(entry["gpu"]), "true or false")
    rule = entry.get("rule")
    both = dict(_facts(entry.get("facts", {}), f"{place}: facts"))
    own = {side: dict(_facts(entry.get(f"{side}_facts", {}), f"{place}: {side}_facts")) for side in SIDES}
    return Pair(
        probe,
        _texts([rule] if isinstance(rule, str) else rule, f"{place}: rule", _is_id, "the id of a rule, or a list of them"),
        {side: _texts(entry.get(side), f"{place}: {side}", _is_pin, 'a list of pins, such as ["peft==0.11.1"]') for side in SIDES},
        extra,
        {side: both | own[side] for side in SIDES},
        _expected(entry.get("expected", {}), f"{place}: expected"),
        python,
        entry.get("gpu", False),
    )


def _texts(listed: object, place: str, fits: Callable[[str], bool], expected: str, *, empty: bool = False) -> tuple[str, ...]:
    if not isinstance(listed, list) or not (listed or empty):
        raise _wrong(place, "nothing" if listed is None else repr(listed)[:200], expected)
    for item in listed:
        if not isinstance(item, str) or not fits(item):
            raise _wrong(place, repr(item)[:200], expected)
    return tuple(listed)


def _is_pin(text: str) -> bool:
    try:
        return bool(Requirement(text).specifier)
    except InvalidRequirement:
        return False


def _is_id(text: str) -> bool:
    return re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text) is not None


def _facts(table: object, place: str) -> Iterator[tuple[str, object]]:
    if not isinstance(table, Mapping):
        raise _wrong(place, repr(table)[:200], "a table of facts")
    for name, raw in flatten(table):
        if name.startswith("packages."):
            raise _wrong(f"{place}: {name}", "a package", "packages as pins: what is installed is read")
        if term(name) is None or isinstance(parse_value(name, raw), NotUnderstood):
            raise _wrong(f"{place}: {name}", repr(raw)[:200], "a fact of the vocabulary with a value that is understood")
        yield name, raw


def _expected(table: object, place: str) -> Mapping[Side, Ruling]:
    form = f"a table: bad and good, each one of {', '.join(RULINGS)}"
    if not isinstance(table, Mapping) or not set(table) <= set(SIDES) or not all(value in RULINGS for value in table.values()):
        raise _wrong(place, repr(table)[:200], form)
    return EXPECTED | {cast("Side", side): cast("Ruling", value) for side, value in table.items()}


def _wrong(place: str, found: str, expected: str) -> EnvdoctorError:
    return EnvdoctorError(place, found=found, expected=expected, next_step="see the head of scripts/probe_pair_files.py")
