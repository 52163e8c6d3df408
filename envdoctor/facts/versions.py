"""What is known of a package's version, and how a version condition relates to it.

A package fact is a set of versions: one point (installed, pinned), the releases that a
requirement admits, or nothing at all (not installed). A condition over it holds when every
version of the set satisfies it, fails when none does, and cannot be told otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from envdoctor.records import dataclass

# packaging is imported where it is needed: most runs meet final releases alone, and it costs as much as all rules do.
if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

Key: TypeAlias = "tuple[int, ...]"

_FINAL = re.compile(r"v?([0-9]+(?:\.[0-9]+)*)(?:\+[a-z0-9]+(?:[.\-_][a-z0-9]+)*)?", re.IGNORECASE | re.ASCII)
OPERATORS = ("===", "~=", "==", "!=", "<=", ">=", "<", ">")
# Versions and clauses that PEP 440 surely allows, without packaging being asked. What few runs need is compiled where one does.
_POST = r"([0-9]+(?:\.[0-9]+)*)\.post[0-9]+"
_SHORT_PYTHON = re.compile(r"[0-9]+\.[0-9]+")
_NUMBERS, _LATER = r"[0-9]+(?:\.[0-9]+)*", r"(?:[-.]?(?:a|b|rc)[0-9]+)?(?:\.post[0-9]+)?(?:\.dev[0-9]+)?"
_LOCAL = r"\+[a-z0-9]+(?:\.[a-z0-9]+)*"
_SURE_VERSION = rf"{_NUMBERS}{_LATER}(?:{_LOCAL})?"
_SURE = (
    rf"===\s*[a-z0-9.+]+|[=!]=\s*(?:{_NUMBERS}\.\*|{_NUMBERS}{_LATER}(?:{_LOCAL})?)|[<>]=?\s*{_NUMBERS}{_LATER}"
    rf"|~=\s*[0-9]+\.{_NUMBERS}{_LATER}"
)
_BUILD = r"==\s*([0-9]+(?:\.[0-9]+)*)\+([a-z][a-z0-9]*)"
_LABELLED = r"([0-9]+(?:\.[0-9]+)*)\+([a-z][a-z0-9]*)"
_IDENTICAL = r"===\s*([a-z0-9.+]+)\s*"
# As packaging writes it: no leading zeros, and only dots within a label.
_NUMBER, _WORD = r"(?:0|[1-9][0-9]*)", r"(?:0|[1-9][0-9]*|[0-9]*[a-z][a-z0-9]*)"
_NORMAL = rf"{_NUMBER}(?:\.{_NUMBER})*(?:\+{_WORD}(?:\.{_WORD})*)?"
NOT_OF_SERIES = "!=.*"
"""The operator of a clause whose bound is the beginning of all that it leaves out, with its last zeros."""
# Python refuses to read an integer of more than 4300 digits, with an error of its own.
MAX_LENGTH = 4096
# What is longer was written to be long: it is read each time, so that no file fills the memory with what is never asked for again.
_KEPT, _KEPT_CONDITION = 100, 400


@dataclass(frozen=True, slots=True)
class Absent:
    """The package is known not to be installed."""

    def __str__(self) -> str:
        return "not installed"


@dataclass(frozen=True, slots=True)
class Exact:
    """One version, as written; ``key`` is its final release number, None for any other kind."""

    text: str
    key: Key | None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Ranged:
    """The versions that a requirement admits, as written."""

    text: str

    def __str__(self) -> str:
        return self.text


PackageValue: TypeAlias = "Absent | Exact | Ranged"
ABSENT = Absent()


def exact(text: str) -> Exact:
    """One version.

    Raises:
        ValueError: the text is no PEP 440 version (InvalidVersion of packaging).
    """
    return _exact(text) if len(text) <= _KEPT else _read_exact(text)


def _read_exact(text: str) -> Exact:
    key = final_key(text) if len(text) <= MAX_LENGTH else None
    if key is None and (len(text) > MAX_LENGTH or re.fullmatch(_SURE_VERSION, text, re.ASCII) is None):
        from packaging.version import InvalidVersion, Version

        if len(text) > MAX_LENGTH:
            raise InvalidVersion(f"a version of {len(text)} characters: {text[:40]}...")
        Version(text)
    return Exact(text, key)


_exact = lru_cache(maxsize=32768)(_read_exact)


def parse_package(text: str) -> Exact | Ranged:
    """A version or a specifier, as a person writes it.

    ``==2.5.0`` is the one version 2.5.0; an empty text and ``*`` admit every version.

    Raises:
        ValueError: the text is neither (InvalidVersion or InvalidSpecifier of packaging).
    """
    text = text.strip()
    if text in ("", "*"):
        return Ranged("")
    if text[0] not in "=<>!~":
        return exact(text)
    pieces = _sure_pieces(text)
    if pieces is not None and len(pieces) == 1 and pieces[0].startswith("==") and not pieces[0].endswith(".*"):
        return exact(pieces[0].lstrip("=").strip())
    if pieces is not None:
        return Ranged(text)
    specifiers = list(parse_specifiers(text))
    if len(specifiers) == 1 and specifiers[0].operator in ("==", "===") and not specifiers[0].version.endswith(".*"):
        return exact(specifiers[0].version)
    return Ranged(text)


def _sure_pieces(text: str) -> list[str] | None:
    """The clauses of a specifier set that PEP 440 surely allows; None where packaging is to be asked, as of several pins."""
    pieces = [piece for piece in map(str.strip, text.split(",")) if piece]
    sure = len(text) <= MAX_LENGTH and all(re.fullmatch(_SURE, piece, re.ASCII) for piece in pieces)
    return pieces if sure and (len(pieces) == 1 or not any(piece.startswith("==") for piece in pieces)) else None


def final_key(text: str) -> Key | None:
    """The release number of a final release without trailing zeros, ``2.5.0+cu118`` -> (2, 5).

    None for pre-, post- and development releases and for versions with an epoch: their order is
    PEP 440's affair and left to packaging.
    """
    match = _FINAL.fullmatch(text.strip())
    if match is None:
        return None
    return strip_zeros(tuple(int(part) for part in match[1].split(".")))


def strip_zeros(numbers: Key) -> Key:
    """A release number without its last zeros."""
    end = len(numbers)
    while end > 1 and numbers[end - 1] == 0:
        end -= 1
    return numbers[:end]


@dataclass(frozen=True, slots=True)
class VersionCondition:
    """A union of specifier sets, ``>=0.7,<0.12 || ==0.5.0``; empty text admits any version.

    ``fast`` holds the same as number comparisons for final releases, so that ten thousand rules
    can be evaluated in milliseconds; what has no such form is left to packaging.
    """

    text: str
    fast: tuple[tuple[tuple[str, Key], ...] | None, ...]

    def admits(self, version: Exact) -> bool:
        """Whether the version satisfies the condition; pre-releases count as what they are."""
        key = version.key if version.key is not None else self._post_key(version.text)
        if key is not None:
            for clauses in self.fast:
                if clauses is None:
                    break
                if _fast_admits(clauses, key):
                    return True
            else:
                return False
        return any(_slow_admits(part, version.text) for part in self.text.split("||"))

    def _post_key(self, text: str) -> Key | None:
        """The final release before a post-release, where no clause names it: then both lie on the same side of all of them."""
        match = re.fullmatch(_POST, text, re.ASCII)
        key = None if match is None else final_key(match[1])
        return None if key is None or any(bound == key for clauses in self.fast for _, bound in clauses or ()) else key

    def relation(self, value: PackageValue, known: Sequence[str] = ()) -> bool | None:
        """True when all versions of the value satisfy this, False when none does, else None.

        ``known`` are the releases of the package, oldest first; a range is judged over them, over the
        versions that the condition and the range themselves name, and over releases above the newest
        known one, which may still come. Without known releases any final version may exist.
        """
        if isinstance(value, Exact):
            return self.admits(value)
        if isinstance(value, Absent):
            return False
        # It looks at versions by the conditions made here, and is needed only where a range is known.
        from envdoctor.facts.histories import history

        return history(known).relation(self, value.text)

    def of_python(self, value: Exact) -> bool | None:
        """The same of a Python: told without its last number, as a path or a command line does, any of its releases may be meant."""
        short = _SHORT_PYTHON.fullmatch(value.text) is not None  # `python3.11-dev` is a package of apt's, and names a development release
        return self.relation(Ranged(f"=={value.text}.*")) if short else self.admits(value)


def parse_version(text: str) -> Version:
    """A version as packaging reads it.

    Raises:
        InvalidVersion: the text is none.
    """
    return _parsed(text) if len(text) <= _KEPT else _parse_version(text)


def _parse_version(text: str) -> Version:
    from packaging.version import Version

    return Version(text)


_parsed = lru_cache(maxsize=16384)(_parse_version)


def parse_specifiers(text: str) -> SpecifierSet:
    """A specifier set as packaging reads it.

    Raises:
        InvalidSpecifier: the text is none, or longer than any that a person writes.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if len(text) > MAX_LENGTH:
        raise InvalidSpecifier(f"a specifier of {len(text)} characters: {text[:40]}...")
    return SpecifierSet(text.strip())


def version_condition(text: str) -> VersionCondition:
    """Compile a condition on a version.

    Raises:
        ValueError: a part of it is no PEP 440 specifier set (InvalidSpecifier of packaging).
    """
    return _condition(text) if len(text) <= _KEPT_CONDITION else _compile_condition(text)


def _compile_condition(text: str) -> VersionCondition:
    if len(text) > MAX_LENGTH:
        from packaging.specifiers import InvalidSpecifier

        raise InvalidSpecifier(f"a version condition of {len(text)} characters: {text[:40]}...")
    return VersionCondition(text, tuple(_compile(part) for part in text.split("||")))


_condition = lru_cache(maxsize=16384)(_compile_condition)


def _compile(part: str) -> tuple[tuple[str, Key], ...] | None:
    clauses: list[tuple[str, Key]] = []
    fast = True
    for piece in filter(None, (piece.strip() for piece in part.split(","))):
        operator = next(filter(piece.startswith, OPERATORS), "")
        bound = piece[len(operator) :].strip()
        number = None if operator in ("", "===", "~=") else plain_key(bound)
        if number is not None:
            clauses.append((operator, number))
            continue
        if re.fullmatch(_SURE, piece, re.ASCII) is None:
            from packaging.specifiers import Specifier

            Specifier(piece)
        series = _series(operator, bound)
        if series is None:
            fast = False
        else:
            clauses += series
    return tuple(clauses) if fast else None


def _series(operator: str, text: str) -> tuple[tuple[str, Key], ...] | None:
    """The bounds of ``==1.5.*`` and ``~=1.5.1``, and ``!=1.5.*`` as what it leaves out; None for anything else."""
    start = text.removesuffix(".*")
    lowest = plain_key(start)
    if lowest is None or (operator, start == text) not in (("==", False), ("!=", False), ("~=", True)):
        return None
    numbers = tuple(map(int, start.split(".")))
    if operator == "!=":
        return ((NOT_OF_SERIES, numbers),)
    if operator == "~=":
        numbers = numbers[:-1]
    return (">=", lowest), ("<", (*numbers[:-1], numbers[-1] + 1))


def plain_key(text: str) -> Key | None:
    """The release number of a text of digits and dots without trailing zeros; None for any other."""
    parts = text.split(".")
    return strip_zeros(tuple(map(int, parts))) if text.isascii() and all(map(str.isdigit, parts)) else None


def _fast_admits(clauses: tuple[tuple[str, Key], ...], key: Key) -> bool:
    for operator, bound in clauses:
        if operator == ">=":
            if key < bound:
                return False
        elif operator == "<":
            if key >= bound:
                return False
        elif operator == "==":
            if key != bound:
                return False
        elif operator == "<=":
            if key > bound:
                return False
        elif operator == ">":
            if key <= bound:
                return False
        elif operator == NOT_OF_SERIES:
            if (*key, *(0,) * len(bound))[: len(bound)] == bound:
                return False
        elif key == bound:
            return False
    return True


def _slow_admits(part: str, version: str) -> bool:
    return _slowly_admits(part, version) if len(part) + len(version) <= _KEPT_CONDITION else _ask_slowly(part, version)


def _ask_slowly(part: str, version: str) -> bool:
    identical = re.fullmatch(_IDENTICAL, part.strip(), re.ASCII)
    if identical is not None and re.fullmatch(_NORMAL, version, re.ASCII):
        return identical[1] == version
    build = re.fullmatch(_BUILD, part.strip(), re.ASCII)
    if build is not None and re.fullmatch(_NUMBERS, version, re.ASCII):
        return False  # a build of a release is not the release without a label
    if build is not None and (own := re.fullmatch(_LABELLED, version, re.ASCII)) is not None:
        # `==` of a build: the same release and the same label; packaging would be imported for it at every start.
        same = [number.lstrip("0") or "0" for number in build[1].split(".")] == [number.lstrip("0") or "0" for number in own[1].split(".")]
        if build[1].count(".") == own[1].count("."):
            return same and build[2] == own[2]
    from envdoctor.facts.unfinished import admits

    found = admits(part, version)
    if found is not None:
        return found
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(part.strip()).contains(parse_version(version), prereleases=True)


_slowly_admits = lru_cache(maxsize=16384)(_ask_slowly)


__all__ = [
    "ABSENT",
    "Absent",
    "Exact",
    "PackageValue",
    "Ranged",
    "VersionCondition",
    "exact",
    "final_key",
    "parse_package",
    "version_condition",
]
