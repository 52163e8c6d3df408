"""Version constraints in Poetry's words, turned into PEP 440: ``^1.2``, ``~1.2``, ``1.*``, ``>=1,<2 || ^3``.

The meaning is that of poetry-core: a caret lets everything move but the leftmost number that is not zero, a tilde lets the last
of two or more numbers move, a bare version is exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.specifiers import Specifier, SpecifierSet
from packaging.version import Version

from envdoctor.records import dataclass

_CLAUSE = re.compile(r"(\^|~=|~|===|==|!=|<=|>=|<|>|=)?\s*v?([0-9A-Za-z*][0-9A-Za-z.*+!_-]*)[\s,]*")
_WILDCARD = re.compile(r"(?:[0-9]+!)?([0-9]+(?:\.[0-9]+)*)(?:\.\*)+")
_LONGEST = 1000
_MOST_HOLES = 50


def alternatives(constraint: str) -> list[str]:
    """The PEP 440 specifier sets of which one must hold; an empty one admits all.

    Raises:
        ValueError: the text is no constraint of Poetry's.
    """
    if len(constraint) > _LONGEST:
        raise ValueError(f"a constraint of {len(constraint)} characters")
    return [_specifiers(part.strip()) for part in re.split(r"\|\|?", constraint)]


def one_specifier(choices: Iterable[str]) -> str | None:
    """The union of specifier sets as one, where holes of ``!=`` can tell what lies between them; else None."""
    choices = list(dict.fromkeys(choices))
    if "" in choices:
        return ""
    if len(choices) == 1:
        return choices[0]
    intervals = [_interval(choice) for choice in choices]
    if None in intervals:
        return None
    merged: _Interval | None = None
    holes: list[str] = []
    for interval in sorted((each for each in intervals if each is not None), key=_Interval.start):
        between = [] if merged is None else _between(merged, interval)
        if between is None:
            return None
        holes += between
        merged = interval if merged is None else merged.joined(interval)
    return "" if merged is None else ",".join([*merged.clauses(), *holes])


def hull(choices: Iterable[str]) -> str:
    """One specifier set that admits at least all that the union admits."""
    intervals = [_interval(choice) for choice in choices]
    if not intervals or None in intervals:
        return ""
    ordered = sorted((each for each in intervals if each is not None), key=_Interval.start)
    whole = ordered[0]
    for interval in ordered[1:]:
        whole = whole.joined(interval)
    return ",".join(whole.clauses())


def admits(constraint: str, version: str) -> bool:
    """Whether a constraint of Poetry's admits a version.

    Raises:
        ValueError: the text is no constraint of Poetry's.
    """
    return any(SpecifierSet(choice).contains(version, prereleases=True) for choice in alternatives(constraint))


def _specifiers(part: str) -> str:
    clauses, at = [], 0
    while at < len(part):
        match = _CLAUSE.match(part, at)
        if match is None:
            raise ValueError(f"{part!r} is no version constraint")
        clauses.append(_clause(match[1] or "", match[2]))
        at = match.end()
    return ",".join(filter(None, clauses))


def _clause(operator: str, version: str) -> str:
    if version == "*":
        if operator in ("", "=", "=="):
            return ""
        raise ValueError(f"{operator}{version} is no version constraint")
    wildcard = _WILDCARD.fullmatch(version)
    if wildcard and operator in ("", "=", "==", "!="):
        return f"{'!=' if operator == '!=' else '=='}{wildcard[1]}.*"
    if operator == "~=" and re.fullmatch("[0-9]+", version):  # Poetry takes it, PEP 440 does not
        operator = "~"
    if operator in ("^", "~"):
        lower = Version(wildcard[1] if wildcard else version)
        upper = _breaking(lower.release) if operator == "^" else _bumped(lower.release, min(len(lower.release), 2))
        epoch = f"{lower.epoch}!" if lower.epoch else ""
        return f">={lower},<{epoch}{upper}"
    return str(Specifier({"": "==", "=": "=="}.get(operator, operator) + version))


def _breaking(release: tuple[int, ...]) -> str:
    fixed = next((place for place, number in enumerate(release[:3]) if number), min(len(release), 3) - 1)
    return _bumped(release, fixed + 1)


def _bumped(release: tuple[int, ...], length: int) -> str:
    return ".".join(map(str, (*release[: length - 1], release[length - 1] + 1)))


@dataclass(frozen=True, slots=True)
class _Interval:
    low: Version | None = None
    with_low: bool = True
    high: Version | None = None
    with_high: bool = True

    def start(self) -> tuple[bool, Version, bool]:
        return (self.low is not None, self.low or Version("0"), not self.with_low)

    def joined(self, later: _Interval) -> _Interval:
        """From this one's start to the end that is further; the other one does not start before."""
        if self.high is None or (later.high is not None and (self.high, self.with_high) >= (later.high, later.with_high)):
            return self
        return _Interval(self.low, self.with_low, later.high, later.with_high)

    def clauses(self) -> list[str]:
        if self.low is not None and self.low == self.high:
            return [f"=={self.low}"]
        lower = [] if self.low is None else [f"{'>=' if self.with_low else '>'}{self.low}"]
        return lower if self.high is None else [*lower, f"{'<=' if self.with_high else '<'}{self.high}"]


def _interval(specifiers: str) -> _Interval | None:
    """What a specifier set admits, as one interval; None where it has holes, or admits nothing."""
    low, high = (Version("0"), False), (Version("0"), False)
    has_low = has_high = False
    for specifier in SpecifierSet(specifiers):
        bounds = _bounds(specifier)
        if bounds is None:
            return None
        lower, upper = bounds
        if lower and (not has_low or (lower[0], not lower[1]) > (low[0], not low[1])):
            low, has_low = lower, True
        if upper and (not has_high or upper < high):
            high, has_high = upper, True
    if has_low and has_high and (low[0] > high[0] or (low[0] == high[0] and not (low[1] and high[1]))):
        return None
    return _Interval(low[0] if has_low else None, low[1], high[0] if has_high else None, high[1])


def _bounds(specifier: Specifier) -> tuple[tuple[Version, bool] | None, tuple[Version, bool] | None] | None:
    """The lower and the upper end of what a specifier admits, each with whether the end itself belongs to it."""
    operator, text = specifier.operator, specifier.version
    if operator in ("!=", "==="):
        return None
    version = Version(text.removesuffix(".*"))
    if operator == "~=" or text.endswith(".*"):
        length = len(version.release) - (1 if operator == "~=" else 0)
        epoch = f"{version.epoch}!" if version.epoch else ""
        return (version, True), (Version(epoch + _bumped(version.release, length)), False)
    if operator == "==":
        return (version, True), (version, True)
    end = (version, operator in (">=", "<="))
    return (end, None) if operator[0] == ">" else (None, end)


def _between(first: _Interval, second: _Interval) -> list[str] | None:
    """The ``!=`` clauses for what lies between two intervals; none where they touch, None where no clauses can tell it."""
    if first.high is None or second.low is None or first.high > second.low:
        return []
    start, end = first.high, second.low
    if start == end:
        return [] if first.with_high or second.with_low else [f"!={start}"]
    if first.with_high or not second.with_low or start.epoch != end.epoch or Version(start.base_version) != start:
        return None
    if Version(end.base_version) != end:
        return None
    length = max(len(start.release), len(end.release))
    lower, upper = ([*version.release, *(0,) * (length - len(version.release))] for version in (start, end))
    while length > 1 and lower[length - 1] == upper[length - 1] == 0:
        length -= 1
    if lower[: length - 1] != upper[: length - 1] or upper[length - 1] - lower[length - 1] > _MOST_HOLES:
        return None
    epoch = f"{start.epoch}!" if start.epoch else ""
    prefix = epoch + "".join(f"{number}." for number in lower[: length - 1])
    return [f"!={prefix}{number}.*" for number in range(lower[length - 1], upper[length - 1])]
