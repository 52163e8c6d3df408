"""Whether the conditions over an import or a name hold of a stack."""

from __future__ import annotations

import re

from envdoctor.atlas.guards import BRANCH, NEVER, UNKNOWN
from envdoctor.atlas.stack import Stack
from envdoctor.facts.versions import exact, version_condition

_ATOM = re.compile(r"(!?)([a-z0-9-]+)(?:([<>=!]=?)(.+))?")
_MODULE_ONLY = "~module"


def decide(guard: str, stack: Stack, *, moduleless: bool = False) -> bool | None:
    """Whether a condition holds of a stack; None where that is not known."""
    outcome: bool | None = True
    for atom in guard.split(" & ") if guard else ():
        told = _atom(atom, stack, moduleless=moduleless)
        if told is False:
            return False
        outcome = None if told is None else outcome
    return outcome


def _atom(atom: str, stack: Stack, *, moduleless: bool) -> bool | None:
    if atom == NEVER:
        return False
    if atom in (UNKNOWN, BRANCH):
        return None
    if atom == _MODULE_ONLY:
        return not moduleless
    if atom.lstrip("!").startswith("system:"):
        return None if not stack.system else (stack.system == atom.rpartition(":")[2]) != atom.startswith("!")
    match = _ATOM.fullmatch(atom)
    if match is None:
        return None
    denied, name, sign, version = match.groups()
    release = stack.python if name == "python" else stack.releases.get(name)
    if release is None and name == "torch" and stack.closed:
        return bool(denied)
    if not release:
        return bool(denied) if stack.closed and name != "python" and not sign else None
    if not sign:
        return not denied
    try:
        met = version_condition(f"{sign}{version}").admits(exact(release.partition("+")[0]))
    except ValueError:
        return None
    return met != bool(denied)
