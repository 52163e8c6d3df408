"""Specifiers and versions as logs have them, which may be anything: what cannot be read admits nothing and refuses nothing."""

from __future__ import annotations

import re
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


def as_pep_440(spec: str) -> str:
    """A specifier as PEP 440 has it: from poetry's carets and conda's stars and blanks, as far as they have a counterpart."""
    text = re.sub(r"\s{1,4}or\s.*", "", spec.strip()).replace(" and ", ",")
    text = text.split(" ")[0] if re.match(r"^[<>=!~]=?[^\s]+ [A-Za-z]", text) else text
    text = "".join(text.split()).strip(",;.")
    parts = []
    for clause in text.split(","):
        if caret := re.fullmatch(r"\^(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?.*", clause):
            numbers = [int(part) for part in caret.groups() if part is not None]
            at = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
            upper = [*numbers[:at], numbers[at] + 1]
            parts += [f">={clause[1:]}", f"<{'.'.join(map(str, upper))}"]
        elif re.fullmatch(r"\d[\w.+!-]*", clause):
            parts.append(f"=={clause}")
        elif re.fullmatch(r"\d[\d.]*\.?\*{1,2}", clause):
            parts.append(f"=={clause.rstrip('*').rstrip('.')}.*")
        elif re.fullmatch(r"=\d[\w.]*", clause):
            parts.append(f"={clause}.*")
        elif clause not in ("", "*"):
            parts.append(re.sub(r"(?<=\d)\.?\*{2}$", ".*", clause))
    return ",".join(parts)
