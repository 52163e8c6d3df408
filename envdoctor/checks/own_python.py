"""What a user's own files take of the standard library, and the stated Python does not have any more, or not yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from envdoctor.atlas.decisions import decide
from envdoctor.atlas.outline import Outline, Taken
from envdoctor.atlas.stack import Stack
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Origin
from envdoctor.facts.versions import exact, version_condition
from envdoctor.world.standard_library import INSTEAD, MODULES, NAMES

_RULE = "code-breaks"
# setuptools brings the first, and most that train have that; the others are names of people's own modules more often than not.
_SPARED = frozenset(("distutils", "parser", "formatter", "symbol", "chunk"))


def python_hits(outline: Outline, stack: Stack, origin: Callable[[int], Origin]) -> Iterator[Hit]:
    """One finding for each name of the standard library that the stated Python lacks, with all of its lines."""
    if not stack.python:
        return
    found: dict[str, tuple[str, list[int]]] = {}
    for taken in outline.taken:
        name, wanted = _asked(taken)
        if wanted and not version_condition(wanted).admits(exact(stack.python)) and not _is_provided_for(taken.guard, stack):
            found.setdefault(name, (wanted, []))[1].append(taken.line)
    for name, (wanted, lines) in found.items():
        # A module is told where it is first taken: without it the file goes no further.
        places = sorted(set(lines))[: 1 if name in MODULES else None]
        yield _hit(name, wanted, stack, [origin(line) for line in places])


def _asked(taken: Taken) -> tuple[str, str]:
    """The name that is taken, and the Pythons that have it; empty where it is none of the tables'."""
    module, colon, rest = taken.name.partition(":")
    name = f"{module}.{rest}" if colon else module
    if name in NAMES:
        return name, NAMES[name]
    known = module if module in MODULES else module.partition(".")[0]
    return (known, MODULES[known]) if known in MODULES and known not in _SPARED else ("", "")


def _is_provided_for(guard: str, stack: Stack) -> bool:
    return "?" in guard.split(" & ") or decide(guard.replace("*", "python"), stack) is False


def _hit(name: str, wanted: str, stack: Stack, places: list[Origin]) -> Hit:
    gone = wanted.startswith("<")
    told = f"gone since Python {wanted[1:]}" if gone else f"there from Python {wanted[2:]} on"
    instead = INSTEAD.get(name, INSTEAD.get(name.rpartition(".")[0], "")) if gone else ""
    detail = f"takes {name}: {told} (Python {stack.python})" + (f"; {instead}" if instead else "")
    more = [str(one.line) for one in places[1:]]
    if more:
        detail += f"; also on line{'s' if len(more) > 1 else ''} {', '.join(more)}"
    module, _, member = name.rpartition(".")
    return Hit(
        _RULE,
        True,
        (("python", told),),
        detail=detail,
        packages=("python",),
        file=places[0].file,
        line=places[0].line,
        names=(member,),
        edge=name,
        witness=f"import {name}" if name in MODULES else f"from {module} import {member}",
        advice=instead or f"run it with Python {_other(wanted)}",
    )


def _other(wanted: str) -> str:
    if wanted.startswith(">="):
        return f"{wanted[2:]} or later"
    major, minor = wanted[1:].split(".")
    return f"{major}.{int(minor) - 1}"
