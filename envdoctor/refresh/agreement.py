"""What several wheels of one release require in common: never more than any one of them does.

A project may build a wheel for each Python and write into it what it was built against there: onnxruntime-gpu 1.18.0 asks for numpy
1.21.6 or newer under Python 3.10, and for 1.26.0 under 3.12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packaging.specifiers import Specifier, SpecifierSet
from packaging.version import Version

_LINE = re.compile(r"((?:\[[^\]]*\] )?[^\[=<>!~ ]+(?:\[[^\]]*\])?)([^;]*?)( ; .*)?")


def agreed(wheels: Sequence[Sequence[str]]) -> list[str]:
    """The requirements of all wheels, as the table has them: of one that they bound differently the widest range."""
    read = [_ranges(lines) for lines in wheels]
    found = []
    for key, first in read[0].items():
        if all(key in one for one in read):
            found.append(f"{key[0]}{_widest([first, *(one[key] for one in read[1:])])}{key[1]}")
    return found


def _ranges(lines: Iterable[str]) -> dict[tuple[str, str], SpecifierSet]:
    """The range of each package, by what stands before it and after it: extra, name and extras, and the marker."""
    found: dict[tuple[str, str], SpecifierSet] = {}
    for line in lines:
        parts = _LINE.fullmatch(line)
        if parts is not None:
            key = parts[1], parts[3] or ""
            found[key] = found.get(key, SpecifierSet()) & SpecifierSet(parts[2])
    return found


def _widest(ranges: Sequence[SpecifierSet]) -> SpecifierSet:
    """The clauses that all ranges have, and the lowest of their lower and the highest of their upper bounds, where all have one."""
    if all(one == ranges[0] for one in ranges):
        return ranges[0]
    common = frozenset(ranges[0]).intersection(*ranges)
    lower, upper = ([_bound(one, (operator, f"{operator}=", "==")) for one in ranges] for operator in "><")
    found = list(map(str, common))
    if all(lower):
        version, excluded = min(max(bounds) for bounds in lower)
        found.append(f"{'>' if excluded else '>='}{version}")
    if all(upper):
        version, included = max(min((version, not excluded) for version, excluded in bounds) for bounds in upper)
        found.append(f"{'<=' if included else '<'}{version}")
    return SpecifierSet(",".join(found))


def _bound(admitted: SpecifierSet, operators: tuple[str, ...]) -> list[tuple[Version, bool]]:
    """The versions at which a range ends on one side, each with whether it does not belong to it."""
    ending = [clause for clause in admitted if clause.operator in operators and not clause.version.endswith(".*")]
    return [(Version(clause.version), _excludes(clause)) for clause in ending]


def _excludes(clause: Specifier) -> bool:
    return clause.operator in ("<", ">")
