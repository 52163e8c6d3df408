"""A pin put into the words that stand there: a requirement (PEP 508), a range of Poetry's, a version of a Pipfile."""

from __future__ import annotations

import re

from envdoctor.edits.edit import Pin, RefusedError
from envdoctor.edits.specifier import Written, bounded, pinned, wished, written
from envdoctor.facts.names import canonical

_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)", re.ASCII)


def name_of(text: str) -> str:
    """The normalised name of the package that a requirement begins with; empty where none does."""
    found = _NAME.match(text)
    return canonical(found[1]) if found else ""


def rewritten_requirement(text: str, pin: Pin) -> str:
    """A requirement that says what the pin wishes: its own name, extras, blanks and marker, and another specifier.

    Raises:
        RefusedError: no requirement, one of a URL, or one that nothing satisfies then.
    """
    body = text.lstrip()
    requirement = written(body)
    if requirement is None:
        raise RefusedError(f"{text.strip()[:80]!r} is no requirement that can be rewritten")
    new = wished(requirement, pin)
    return text if new is None else text[: len(text) - len(body)] + requirement.saying(new)


def rewritten_specifier(specifier: str, pin: Pin, *, whole: bool = False) -> str:
    """A specifier set (PEP 440) that says what the pin wishes; ``whole`` puts the pin's in its place.

    Raises:
        RefusedError: no specifier, or one that nothing satisfies then.
    """
    if whole:
        return specifier if _same(specifier, pin.specifier) else pin.specifier
    if pin.exact:
        new = pinned(specifier, pin.specifier)
    else:
        new = bounded(Written(specifier, canonical(pin.package), 0, len(specifier)), pin.specifier)
    return specifier if new is None else new


def rewritten_range(text: str, pin: Pin, *, whole: bool = False) -> str:
    """A version constraint of Poetry's that says what the pin wishes, in Poetry's words: ``0.12.0``, ``>=4.28,<4.29``.

    Raises:
        RefusedError: no constraint, one of several ranges, or one that nothing satisfies then.
    """
    from envdoctor.facts.poetry_ranges import alternatives

    try:
        choices = alternatives(text)
    except ValueError:
        if not pin.exact:
            raise RefusedError(f"{text[:80]!r} is no version constraint of Poetry's") from None
        choices = []
    if whole or pin.exact:
        if len(choices) == 1 and _same(choices[0], pin.specifier):
            return text
        bare = pin.specifier.removeprefix("==").strip()
        return bare if pin.exact and not text.lstrip().startswith("==") else pin.specifier
    if len(choices) > 1:
        raise RefusedError(f"{text!r} admits several ranges: which of them is bound is to be decided by hand")
    new = rewritten_specifier(choices[0], pin)
    if new == choices[0]:
        return text
    return new.replace(",", ", ") if ", " in text and ", " not in new else new


def rewritten_version(text: str, pin: Pin) -> str:
    """A version of a Pipfile or of PDM's overrides, where a bare number is exact and ``*`` any.

    Raises:
        RefusedError: no specifier, or one that nothing satisfies then.
    """
    bare = text.strip()
    if bare in ("", "*"):
        return pin.specifier
    if bare[0] in "=<>!~":
        return rewritten_specifier(bare, pin)
    new = rewritten_specifier(f"=={bare}", pin)
    return text if new == f"=={bare}" else new.removeprefix("==")


def _same(one: str, other: str) -> bool:
    from packaging.specifiers import SpecifierSet

    try:
        return SpecifierSet(one) == SpecifierSet(other)
    except ValueError:
        return False


__all__ = ["name_of", "rewritten_range", "rewritten_requirement", "rewritten_specifier", "rewritten_version"]
