"""Findings of a user's own files against the releases that are stated, computed from the releases themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from envdoctor.atlas.answers import symbol_of
from envdoctor.atlas.missing import signature_at, split
from envdoctor.atlas.outline import Outline
from envdoctor.atlas.own_code import Fault, Known, Open, faults_of, replacement
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.signatures import read
from envdoctor.atlas.stack import Stack
from envdoctor.atlas.words import good_specifiers, since, witness
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Origin
from envdoctor.records import replace

CODE_BREAKS = "code-breaks"
_MOST_LINES = 12
_MOST_TAKEN = 8


def code_hits(
    outline: Outline,
    stack: Stack,
    origin: Callable[[int], Origin],
    opened: Open = open_package,
    known: Known | None = None,
    *,
    wrapped: bool = False,
) -> Iterator[Hit]:
    """What a file takes and does not find, one finding for each name; ``origin`` tells where a line of it stands.

    ``wrapped``: a module beside it loads what wraps the trainers of trl.
    """
    for fault in faults_of(outline, stack, opened, known, wrapped=wrapped):
        lines = [origin(line).line for line in fault.more]
        yield _hit(fault, origin(fault.line), [line for line in lines if line is not None])


def _hit(fault: Fault, origin: Origin, more: list[int]) -> Hit:
    bound = fault.bound
    when = since(bound.volume, fault.bad, fault.place, known_there(fault))
    module, colon, name = fault.name.partition(":")
    full = fault.name.replace(":", ".")
    if fault.by_body:
        did, told = (
            f"calls {full}({', '.join(fault.keywords)})",
            f"its signature takes them, and its body refuses them{' together' * (len(fault.keywords) > 1)} {when.removeprefix('gone ')}",
        )
    elif fault.call and when.startswith("which no release"):
        did, told = f"calls {full}({', '.join(fault.keywords)})", "the call is refused by every release that was read"
    elif fault.call:
        given = ", ".join(fault.keywords)
        did, told = (
            f"calls {full}({given})",
            f"the call is refused: {when}" if when.startswith(("gone", "which")) else f"taken {when.removeprefix('there ')}",
        )
    elif colon and "." not in name:
        did, told = f"imports {name} from {module}", when
    else:
        did, told = f"uses {full}", when
    instead = replacement(fault)
    detail = f"{did}: {told} ({fault.provider} {fault.release})" + (f"; {instead}" if instead else "")
    if more:
        detail += f"; also on line{'s' if len(more) > 1 else ''} {', '.join(map(str, more[:_MOST_LINES]))}"
        detail += f" and {len(more) - _MOST_LINES} more" if len(more) > _MOST_LINES else ""
    fact = f"packages.{fault.provider}"
    pins = tuple((fault.provider, specifier) for specifier in good_specifiers(bound.volume, fault.bad | fault.others, fault.place))
    advice = instead or ("" if pins else _what_it_takes(fault))
    if not advice and fault.named and fault.call and fault.bad == bound.volume.all:
        advice = f"take out {', '.join(fault.keywords)}: no release that was read takes {'it' if len(fault.keywords) == 1 else 'them'}"
    names = fault.keywords or (full.rpartition(".")[2],)
    several = fault.named and not fault.by_body and len(fault.keywords) > 1
    parts = tuple(_hit(replace(fault, keywords=(one,)), origin, more) for one in fault.keywords) if several else ()
    return Hit(CODE_BREAKS, True, ((fact, when),), detail=detail, packages=(fault.provider,), pins=pins, file=origin.file, line=origin.line,
               yields=True, names=names, edge=edge_of(fault), witness=witness_of(fault), advice=advice, parts=parts)  # fmt: skip


def _what_it_takes(fault: Fault) -> str:
    """The keywords that a call takes in the stated release, where it refuses some and no other release is a way out."""
    if not fault.call or not fault.named or fault.by_body:
        return ""
    signature = read(signature_at(fault.bound.volume, *split(fault.bound.volume, fault.name), fault.place))
    if signature is None or signature.any_keyword:
        return ""
    taken = [one for one in (*signature.positional[signature.only :], *signature.keywords) if one not in ("self", "cls")]
    return f"call it with what {fault.provider} {fault.release} takes: {', '.join(taken)}" if 0 < len(taken) <= _MOST_TAKEN else ""


def known_there(fault: Fault) -> int | None:
    """The releases that are known to have what is at fault; None where its call is refused as a whole."""
    name = fault.name
    if fault.call and not (fault.named and fault.keywords):
        return None
    symbols = [f"{name}({one})" for one in fault.keywords] if fault.call else [name]
    known = [found for one in symbols if (found := symbol_of(fault.bound.volume, one).there & ~fault.bad)]
    there = fault.bound.volume.all if known else 0
    for one in known:  # a keyword that no release had says nothing of the others
        there &= one
    return there


def witness_of(fault: Fault) -> str:
    """The one line of Python that shows it; what is taken as an attribute is told from a module. What a body refuses no line shows."""
    if fault.by_body:
        return ""
    module, first, rest = split(fault.bound.volume, fault.name)
    told = ".".join((first, *rest))
    if first and not fault.call and ":" not in fault.name:
        return f"import {module}; {module}.{told}"
    return witness(f"{module}:{told}" if first and first != "*" else module, fault.call)


def edge_of(fault: Fault) -> str:
    """By what a finding is known again: the name, or the call with what it refuses."""
    full = fault.name.replace(":", ".")
    return f"{full}({', '.join(fault.keywords)})" if fault.call else full
