"""Facts stated by hand: a facts file and ``--set``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.facts import Collected, Fact, NotUnderstood, Origin, Skip
from envdoctor.toml import parse_toml, read_toml
from envdoctor.values import flatten, parse_value, shown
from envdoctor.vocabulary import suggestion, term


def collect_facts_file(path: Path) -> Collected:
    """The facts of a TOML facts file, each with its line.

    Raises:
        EnvdoctorError: unreadable, no TOML, or a fact that does not exist (every one of them is told).
    """
    return _collect(read_toml(path), str(path), _lines(path.read_text(encoding="utf-8-sig", errors="replace")))


def collect_facts_text(data: bytes, place: str) -> Collected:
    """The same for facts that come from a pipe."""
    return _collect(parse_toml(data, place), place, _lines(data.decode("utf-8-sig", errors="replace")))


def collect_settings(settings: Iterable[str]) -> Collected:
    """The facts of ``--set NAME=VALUE``.

    Raises:
        EnvdoctorError: no ``=``, or a fact that does not exist.
    """
    statements, errors = [], []
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            errors.append(EnvdoctorError("--set", found=repr(text), expected="NAME=VALUE", next_step="for example --set plan.method=lora"))
        else:
            statements.append((_normal(name.strip()), value.strip().strip("\"'")))
    return _stated([(name, value, Origin("--set")) for name, value in statements], "--set", errors)


def _normal(name: str) -> str:
    return next(name for name, _ in flatten({"packages": {name[9:]: 0}})) if name.startswith("packages.") else name


def _collect(table: Mapping[str, object], place: str, lines: Mapping[str, int]) -> Collected:
    flat = list(flatten(table))
    return _stated([(name, value, Origin(place, place, lines.get(name))) for name, value in flat], place, [])


def _stated(statements: list[tuple[str, object, Origin]], place: str, errors: list[EnvdoctorError]) -> Collected:
    facts, skips = [], []
    for name, raw, origin in statements:
        if term(name) is None:
            close = suggestion(name)
            where = place if origin.line is None else f"{place}, line {origin.line}"
            expected = f"a fact of the vocabulary{f', perhaps {close}' if close else ''}"
            errors.append(EnvdoctorError(where, found=f"the fact {name!r}", expected=expected, next_step="envdoctor facts --vocabulary lists them"))
            continue
        value = parse_value(name, raw)
        if isinstance(value, NotUnderstood):
            skips.append(Skip(f"{name} = {shown(value)}", f"not understood; kept as free text ({origin.source})"))
        facts.append(Fact(name, value, origin))
        facts += _implied(name, raw, origin)
    if errors:
        raise SeveralErrors(errors)
    return Collected(facts=tuple(facts), skips=tuple(skips))


def _implied(name: str, raw: object, origin: Origin) -> list[Fact]:
    """What one statement says besides: the glibc in ``Ubuntu 20.04 (glibc 2.31)``."""
    if name == "os":
        glibc = re.search(r"glibc\s*v?(\d+\.\d+)", str(raw), re.IGNORECASE)
        if glibc:
            return [Fact("glibc", parse_value("glibc", glibc[1]), origin)]
    return []


def _lines(text: str) -> dict[str, int]:
    """The line of every ``key = value`` under its table, for facts files as people write them."""
    lines: dict[str, int] = {}
    prefix = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$", line)
        if header:
            prefix = f"{header[1].strip()}."
            continue
        key = re.match(r"""\s*(["']?)([A-Za-z0-9_.\-]+)\1\s*=""", line)
        if key:
            lines.setdefault(_normal(f"{prefix}{key[2]}"), number)
    return lines
