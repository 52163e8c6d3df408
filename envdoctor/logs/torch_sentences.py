"""What torch says, of whatever it was given: told where nobody else says it and no frame tells whose call it was.

Its compiled code is known by the texts in its libraries, each a part of a message. Such a part is anybody's unless it is long, or most of
what was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.atlas.masks import write
from envdoctor.atlas.messages import is_whole, plain
from envdoctor.atlas.shelf import open_messages, open_package
from envdoctor.atlas.stack import holds, places
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.python_sentences import is_pythons
from envdoctor.logs.tracebacks import Failure
from envdoctor.records import dataclass

LIBRARIES = ".libraries"
_LONGEST = 1200
_LONG, _MOST_OF_IT, _WHOLE = 30, 0.45, 10
_TELLING = 40
# Values that a message states, which are no words of its author.
_QUOTED = re.compile(r"'[^'\n]{1,300}'")
_VALUES = re.compile(r"\[[^\]]*\]|<[^>]*>|\([^)]*\)|\d+|(?<=got ).*")


@dataclass(frozen=True, slots=True)
class TorchSays:
    """Where torch says a message (empty: in its compiled code), and in which of its releases, as words."""

    where: str
    releases: str

    def words(self) -> str:
        return f"torch says this in {self.where or 'its compiled code'}; releases {self.releases}"


def says_torch(failure: Failure, facts: Facts) -> TorchSays | None:
    """Where torch says an error; None where it does not, or its stated release does not."""
    book, bound = open_messages("torch"), open_package("torch")
    if book is None or bound is None or failure.packages not in ((), ("torch",)):
        return None
    words = plain(failure.message)[:_LONGEST]
    own = len(_VALUES.sub("", plain(_QUOTED.sub("", failure.message))[:_LONGEST]))
    found: list[tuple[int, str, int]] = []
    for alike, message in book.shown(words):
        if is_pythons(message.text):
            continue
        compiled = message.module.endswith(LIBRARIES)
        enough = alike >= _LONG or alike >= _MOST_OF_IT * own if compiled else _is_said(message.kind, failure.kind)
        whole = compiled or (alike >= _WHOLE and is_whole(message.text, words)) or alike >= _TELLING
        if enough and whole:
            found.append((alike, "" if compiled else f"{message.module}:{message.where}", message.releases(bound.volume.places)))
    return _best(found, facts)


def _is_said(kind: str, failed: str) -> bool:
    return not failed or kind in ("raise", "") or kind == failed


def _best(found: Sequence[tuple[int, str, int]], facts: Facts) -> TorchSays | None:
    bound = open_package("torch")
    if not found or bound is None:
        return None
    most = max(alike for alike, _, _ in found)
    # What Python code says comes first: it has a place.
    kept = sorted((one for one in found if one[0] >= 0.8 * most), key=lambda one: not one[1])
    mask = 0
    for _, _, releases in kept:
        mask |= releases
    stated = facts.value("packages.torch")
    where = places(bound.volume, stated.text) if isinstance(stated, Exact) else ()
    if where and not (holds(mask, where) or any(mask >> one & 1 for one in where)):
        return None
    return TorchSays(kept[0][1], write(mask, bound.volume.releases))
