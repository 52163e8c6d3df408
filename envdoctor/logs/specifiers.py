"""Specifiers and versions as logs have them, which may be anything: what cannot be read admits nothing and refuses nothing."""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.facts.versions import Exact, exact, version_condition


def is_specifier(text: str) -> bool:
    """Whether a text is a range of versions."""
    try:
        version_condition(text)
    except ValueError:
        return False
    return bool(text)


def admits(specifier: str, version: str | Exact) -> bool | None:
    """Whether a range admits a version; None where one of them cannot be read."""
    try:
        return version_condition(specifier).admits(exact(version) if isinstance(version, str) else version)
    except ValueError:
        return None


def usable_pins(pins: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The pins whose ranges can be read."""
    return tuple((name, text) for name, text in pins if is_specifier(text))
