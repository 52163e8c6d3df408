"""What the releases of a package say when they refuse or warn, as text.

A module has a head with the stretches of releases that have the same file, and a line for every message, its fields divided by tabs::

    messages peft
    in peft.tuners.lora.model 0.4.0-0.5.0|0.6.0-
    ValueError	LoraModel.merge	120,3	self.quantized	Cannot merge {} into a quantized model

The third field has the line of the file in each stretch: a number, then how far it moved, nothing where it did not, ``x`` where the
message is not there. What does not move at the end is left away, so that a release that changes nothing changes no line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from envdoctor.atlas.masks import write
from envdoctor.atlas.outline import Said
from envdoctor.survey.kept import Kept
from envdoctor.survey.volumes import Gathered

_LEAST = 12
_WORD = re.compile(r"[A-Za-z_]{2,}")
# Where no file of a stretch has a message.
ABSENT = "x"


def write_messages(found: Gathered, kept: Kept) -> Iterator[str]:
    """The lines of a package's messages; only the head where it has none."""
    yield f"messages {found.name}"
    for module in sorted(found.files):
        contents = [
            (mask, [one for one in outline.said if is_told_apart(one.text)])
            for member, mask in sorted(found.files[module].items(), key=lambda item: item[1] & -item[1])
            if not member.path.endswith(".pyi") and (outline := kept.outline(member)) is not None
        ]
        if any(said for _, said in contents):
            yield from _module(module, contents, found.releases)


def is_told_apart(text: str) -> bool:
    """Whether a template has enough written out to be recognised by."""
    fixed = text.replace("{}", " ")
    return len("".join(fixed.split())) >= _LEAST and len(_WORD.findall(fixed)) >= 2


def _module(module: str, contents: Sequence[tuple[int, Sequence[Said]]], releases: Sequence[str]) -> Iterator[str]:
    yield f"in {module} {'|'.join(write(mask, releases) for mask, _ in contents)}"
    at: dict[tuple[str, str, str, str], dict[int, int]] = {}
    for place, (_, said) in enumerate(contents):
        for one in said:
            condition = " ".join(one.condition.split())
            at.setdefault((one.kind or "raise", one.where, condition, one.text), {}).setdefault(place, one.line)
    for (kind, where, condition, text), lines in sorted(at.items(), key=lambda item: (max(item[1]), item[1][max(item[1])], item[0])):
        yield f"{kind}\t{where}\t{moves(lines, len(contents))}\t{condition}\t{text}"


def moves(lines: Mapping[int, int], count: int) -> str:
    """The line in each of so many stretches, as the text has them."""
    parts: list[str] = []
    before = 0
    for place in range(count):
        line = lines.get(place)
        if line is None:
            parts.append(ABSENT)
            continue
        parts.append("" if line == before else str(line - before))
        before = line
    while parts and not parts[-1]:
        parts.pop()
    return ",".join(parts)
