"""Findings of a user's own files against the releases that are stated, computed from the releases themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from envdoctor.atlas.outline import Outline
from envdoctor.atlas.own_code import Fault, faults_of, replacement
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.signatures import read_call
from envdoctor.atlas.stack import Stack
from envdoctor.atlas.words import good_specifiers, since
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Origin

CODE_BREAKS = "code-breaks"


def code_hits(outline: Outline, stack: Stack, origin: Callable[[int], Origin]) -> Iterator[Hit]:
    """What a file takes and does not find, one finding for each name; ``origin`` tells where a line of it stands."""
    for fault in faults_of(outline, stack):
        yield _hit(fault, origin(fault.line))


def _hit(fault: Fault, origin: Origin) -> Hit:
    bound = open_package(fault.provider)
    assert bound is not None
    when = since(bound.volume, fault.bad, fault.place)
    module, colon, name = fault.name.partition(":")
    full = fault.name.replace(":", ".")
    if fault.call:
        given = ", ".join(read_call(fault.call).keywords)
        did, told = (
            f"calls {full}({given})",
            f"the call is refused: {when}" if when.startswith("gone") else f"taken {when.removeprefix('there ')}",
        )
    elif colon and "." not in name:
        did, told = f"imports {name} from {module}", when
    else:
        did, told = f"uses {full}", when
    instead = replacement(fault)
    detail = f"{did}: {told} ({fault.provider} {fault.release})" + (f"; {instead}" if instead else "")
    fact = f"packages.{fault.provider}"
    pins = tuple((fault.provider, specifier) for specifier in good_specifiers(bound.volume, fault.bad, fault.place))
    edge = f"{full}({', '.join(read_call(fault.call).keywords)})" if fault.call else full
    return Hit(CODE_BREAKS, True, ((fact, when),), detail=detail, packages=(fault.provider,), pins=pins, file=origin.file, line=origin.line,
               yields=True, edge=edge)  # fmt: skip
