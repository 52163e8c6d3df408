"""``envdoctor api SYMBOL``: since when a package has a name, until when, where it went, who takes it."""

from __future__ import annotations

import argparse
import fnmatch
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envdoctor.cli.output import emit
from envdoctor.errors import EnvdoctorError

if TYPE_CHECKING:
    from envdoctor.atlas.answers import Answer

_MOST_MATCHES = 60


def run(options: argparse.Namespace) -> int:
    """Print what is known of a symbol; 1 where the stated release, or the newest, does not have it.

    Raises:
        EnvdoctorError: the package was not read, or nothing in it is called so.
    """
    from envdoctor.atlas.answers import answer

    stated = _stated(options.requirements)
    symbols = list(_matching(options.symbol)) if "*" in options.symbol else [options.symbol]
    answers = [one for one in map(answer, symbols) if one is not None]
    if not any(map(_may_be, answers)):
        raise _unknown(options.symbol)
    rows = [_row(one, stated) for one in answers]
    text = "".join(_text(row, options.requirements) for row in rows)
    emit(options, json.dumps(rows, indent=2) + "\n" if options.format == "json" else text)
    return 0 if all(row["has"] for row in rows) else 1


def _may_be(one: Answer) -> bool:
    """Whether some release has it, or may have it: of what none was seen to have, and the newest has not, somebody takes what was there."""
    from envdoctor.atlas.answers import owner_of, taken_by

    bound = owner_of(one.symbol)
    if bound is None or one.gone == bound.volume.all:
        return False
    newest = 1 << (len(bound.volume.releases) - 1)
    return bool(one.there or not one.gone & newest or taken_by(one.symbol.partition("(")[0]))


def _matching(pattern: str) -> Iterator[str]:
    """The symbols of a module that a pattern with ``*`` means."""
    from envdoctor.atlas.answers import owner_of

    bound = owner_of(pattern.partition("*")[0])
    module, _, last = pattern.rpartition(".")
    chunk = None if bound is None else bound.volume.chunk(module)
    if chunk is None:
        raise _unknown(pattern)
    names = {*chunk.names, *chunk.functions, *chunk.classes, *chunk.links}
    yield from (f"{module}.{name}" for name in sorted(fnmatch.filter(names, last))[:_MOST_MATCHES])


def _unknown(symbol: str) -> EnvdoctorError:
    from envdoctor.atlas.answers import nearest, owner_of

    near = nearest(symbol)
    found = "a package that the atlas does not have" if owner_of(symbol) is None else "a name that no release was seen to have"
    return EnvdoctorError(
        symbol, found=found, expected="a symbol such as transformers.Trainer or transformers.Trainer(processing_class)",
        next_step=f"perhaps {', '.join(near)}" if near else "envdoctor atlas status lists the packages",
    )  # fmt: skip


def _stated(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    from envdoctor.facts.versions import Exact
    from envdoctor.sources.targets import read_target

    facts = read_target(path).collected.facts
    return {fact.name.removeprefix("packages."): fact.value.text for fact in facts if isinstance(fact.value, Exact)}


def _row(one: Answer, stated: dict[str, str]) -> dict[str, object]:
    from envdoctor.atlas.answers import definitions, new_keyword, new_places, owner_of, taken_by
    from envdoctor.atlas.masks import write
    from envdoctor.atlas.stack import holds, places
    from envdoctor.atlas.words import since

    bound = owner_of(one.symbol)
    assert bound is not None
    volume = bound.volume
    release = stated.get(one.package, volume.releases[-1])
    where = places(volume, release)
    has = True if holds(one.there, where) else False if holds(one.gone, where) else None
    name, _, keyword = one.symbol.rstrip(")=").partition("(")
    instead: list[str] = []
    if has is False and one.kind == "argument":
        new = new_keyword(volume, name, keyword, where[-1])
        instead = [] if new is None else [f"{name}({new})"]
    elif has is False and one.kind in ("class", "function", "name"):
        last = name.rpartition(".")[2]
        before = one.there & ((1 << where[-1]) - 1)
        # Where several things went by the name, what is called so now may be another one.
        alone = not before or len(definitions(bound, last, before.bit_length() - 1)) == 1
        instead = [f"{module}.{last}" for module in new_places(bound, last, where[-1])] if alone else []
    return {
        "symbol": one.symbol, "package": one.package, "kind": one.kind, "release": release, "stated": one.package in stated, "has": has,
        "there": write(one.there, volume.releases), "gone": write(one.gone, volume.releases),
        "when": since(volume, one.gone, where[-1], one.there) if has is False else "", "signature": one.signature, "instead": instead,
        "taken_by": taken_by(name) if one.kind != "argument" else [],
    }  # fmt: skip


def _text(row: dict[str, object], requirements: str | None) -> str:
    words = {True: "has it", False: f"does not have it ({row['when']})", None: "may have it: its source does not tell"}
    lines = [f"{row['symbol']}  {row['kind']}", f"  {row['package']} {row['release']} {words[row['has']]}"]  # type: ignore[index]
    lines += [f"  the newest, since {requirements} pins no {row['package']}"] if requirements and not row["stated"] else []
    lines += [f"  there    {row['there']}"] if row["there"] else ["  there    in no release for certain"]
    lines += [f"  not in   {row['gone']}"] if row["gone"] else []
    lines += [f"  called   ({row['signature']})"] if row["signature"] else []
    instead, taken = row["instead"], row["taken_by"]
    assert isinstance(instead, list)
    assert isinstance(taken, list)
    lines += [f"  instead  {', '.join(instead)}"] if instead else []
    lines += [f"  taken by {', '.join(taken)}"] if taken else []
    return "\n".join(lines) + "\n"
