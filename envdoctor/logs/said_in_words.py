"""What people write of a missing module beside its traceback: that a build does not have it. https://github.com/pytorch/ao/pull/2591"""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.checks.hit import Hit
from envdoctor.records import replace

_OF_WHAT_IS_MISSING = frozenset(("error-module-missing", "error-attribute-missing", "error-name-missing"))
_MISSES = re.compile(
    r"(?i)\b(?:do(?:es)? ?n[o']?t|not|never|without|no longer|only|lacks?|drops?|dropped|removed)\b.{0,40}"
    r"\b(?:includ\w*|contain\w*|have|has|ship\w*|support\w*|provid\w*|build|wheel|version|linux|windows|cpu|gpu|cuda|rocm)\b"
)
_NO_PROSE = re.compile(r"Traceback|Error\b|^\s*(?:File |from |import |>>>|#|\$|at )|^\s{4}|[=(]{1}['\"]|\bline \d")
_LONGEST = 160


def with_words_of_log(hit: Hit, lines: Sequence[tuple[int, str]]) -> Hit:
    """The finding, with the sentence of the log that names the same thing and says that a build has none."""
    if hit.rule not in _OF_WHAT_IS_MISSING:
        return hit
    name = hit.edge.partition(":")[2]
    if "." not in name:
        return hit
    named = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    for _, line in lines:
        text = line.strip()
        if len(text) <= _LONGEST and named.search(text) and _MISSES.search(text) and not _NO_PROSE.search(line):
            return replace(hit, detail=f"the log says: {text.rstrip('.')}; {hit.detail}")
    return hit
