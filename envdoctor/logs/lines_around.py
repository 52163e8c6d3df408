"""What the lines around an error say of its cause, where the error itself tells nothing, or where no line is an error of Python's.

A launcher's error names a process and no cause, a build ends with the number of its command, a traceback may be cut before its last line:
what another program said, NCCL, a compiler, CMake, a server, stands in the lines before. Only messages that say of what they are count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.logs.reading import Reading
from envdoctor.logs.stated_values import judge_stated
from envdoctor.logs.tracebacks import Failure
from envdoctor.records import replace

_TELLS = re.compile(
    r"(?i)error|warn|\bassert |fail|fatal|cannot|can't|could not|couldn't|unable|is too "
    r"|not (?:found|supported|available|declared|defined|enough|installed)|must (?:have|be)|attempted"
    r"|invalid|refused|denied|unsupported|deprecated alias|required|died|killed|expected|mismatch|out of"
)
# A line of a program that a traceback shows beside the one that ran, or that holds a text which is yet to be filled in, was not said.
_SOURCE = re.compile(
    r"^(?:-{2,}> ?)?\d{1,6}\s{2,}\S|^[\u2771>]? ?\d{1,6} \u2502|^raise \w|\{\w[\w.]{0,40}(?:\[[^\]]{1,40}\])?(?:![rsa])?\}.{0,200}['\"]\)?$"
)
# The lines of an error and of what led to it stand together.
_NEAR, _MOST_LINES, _MOST_FOUND = 80, 150, 2


def judge_around(reading: Reading) -> Iterator[tuple[Hit, int, str]]:
    """What is said there, the line nearest to the end first; only ``possible`` beside an error that says something else."""
    last = reading.decisive
    if reading.ended_well or reading.refusal is not None:
        return
    near = [(number, line) for number, line in reading.lines if last is None or abs(number - last.line) <= _NEAR]
    cut = last is not None and not (last.kind or last.message)
    alone = last is None or cut
    told: set[str] = set()
    shown = {frame.text for failure in reading.failures for frame in failure.frames if frame.text}
    for number, line in reversed(near[-_MOST_LINES:]):
        text = line.strip()
        if len(told) >= _MOST_FOUND or not _TELLS.search(text):
            continue
        if not cut and (text in shown or _SOURCE.search(text)):
            continue
        hit = judge_stated(Failure("", text, number))
        # Of a traceback that was cut before its last line, the line before it is often the message.
        if hit is not None and (hit.outcome or cut) and hit.edge not in told:
            told.add(hit.edge)
            yield (hit if alone else replace(hit, outcome=None)), number, text[:300]
