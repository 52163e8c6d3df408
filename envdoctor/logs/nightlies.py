"""A nightly torch beside what was built for a release: what pip says of the pair is the same break, and to go back is not what was wanted.

https://github.com/pytorch/torchtitan/pull/3002
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.records import replace

UNMET = "declared-requirement-unmet"
_NIGHTLY = re.compile(r"\.dev\d{8}|a0\+git")
_BUILT_FOR_ANOTHER = "built for another torch"


def join_with_nightly(hits: Sequence[Hit], facts: Facts) -> dict[Hit, Hit | None]:
    """What becomes of two hits that are one break: the requirement is told in the words of the error, and not by itself (None)."""
    torch = facts.value("packages.torch")
    if not isinstance(torch, Exact) or not _NIGHTLY.search(torch.text):
        return {}
    changed: dict[Hit, Hit | None] = {}
    for broken in hits:
        for unmet in hits:
            pair = {*unmet.packages} == {*broken.packages, "torch"}
            if _BUILT_FOR_ANOTHER in broken.headline and unmet.rule == UNMET and pair and broken.packages[0] != "torch":
                changed[unmet] = None
                changed[broken] = replace(broken, detail="; ".join(filter(None, (unmet.detail, broken.detail))))
    return changed
