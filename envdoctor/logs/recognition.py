"""What an error says of itself, where no rule knows it: the package that failed and the API that moved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_PATTERNS = (
    (
        re.compile(r"cannot import name '([\w.]{1,100})' from (?:partially initialized module )?'([\w.]{1,200})'"),
        "{1} has no {0}: the name was moved or removed in the release installed",
    ),
    (re.compile(r"no module named '([\w.]{1,200})'"), "the module {0} is not there: a package is missing, or its layout changed"),
    (
        re.compile(r"([\w.]{1,200})\(\) got an unexpected keyword argument '(\w{1,100})'"),
        "{0}() does not take {1}: caller and callee are of different releases",
    ),
    (
        re.compile(r"(?:module )?'([\w.]{1,200})'(?: object)? has no attribute '(\w{1,100})'"),
        "{0} has no attribute {1}: it was moved, renamed or not set yet",
    ),
    (
        re.compile(r"([\w./\-]{1,200}\.so[\w.]{0,20}): undefined symbol: (\w{1,200})"),
        "{0} was built against another release of the library that has {1}",
    ),
    (re.compile(r"version '{0,2}(glibc\w{0,3}_[\d.]{1,12})' not found"), "the system's C or C++ library is older than {0}"),
    (
        re.compile(r"\b([\w\-]{1,60}(?:>=|<=|==|>|<)[\w.,<>=! ]{1,60}) is required for a normal functioning"),
        "transformers refuses a release outside {0}",
    ),
    (re.compile(r"(cuda out of memory|outofmemoryerror)"), "the GPU's memory does not suffice: {0}"),
)
_PACKAGE = re.compile(r"site-packages/([A-Za-z0-9_]{1,60})[/\\]")
_MOST = 4


def recognised(lines: Iterable[str]) -> tuple[str, ...]:
    """Sentences about what failed, the last errors of the text first; empty when nothing was recognised."""
    found: dict[str, None] = {}
    package = None
    for line in lines:
        inside = _PACKAGE.findall(line)
        package = inside[-1] if inside else package
        for sentence in _sentences(line.lower()):
            found.pop(sentence, None)
            found[sentence] = None
    told = list(reversed(found))[:_MOST]
    if package is not None:
        told.append(f"the innermost package of the last traceback is {package}")
    return tuple(told)


def _sentences(line: str) -> Iterator[str]:
    for pattern, sentence in _PATTERNS:
        match = pattern.search(line)
        if match:
            yield sentence.format(*match.groups())
