"""An exact pin of a project's own that stands against what a released package requires: it is the first to go."""

from __future__ import annotations

from envdoctor.logs.refusal import Asked
from envdoctor.world.releases import releases


def too_tight(name: str, one: Asked, other: Asked) -> tuple[Asked, Asked] | None:
    """The side that pins a package exactly and is a project of which no releases are known, with the other one.

    https://github.com/unclecode/crawl4ai/issues/8: its own ``tokenizers==0.13.2`` beside a transformers that it pins as well.
    """
    for tight, rival in ((one, other), (other, one)):
        exact_pin = tight.specifier.startswith("==") and "*" not in tight.specifier and "," not in tight.specifier
        if tight.by and tight.release and exact_pin and not releases(tight.by) and releases(name) and rival.by and releases(rival.by):
            return tight, rival
    return None


def loosen(name: str, loosened: tuple[Asked, Asked] | None) -> str:
    """What the project does about it, in words; empty where no side is one."""
    if loosened is None:
        return ""
    tight, rival = loosened
    return (
        f"take {name}{tight.specifier} out of the requirements of {tight.by} (or write {name}{rival.specifier} there) and install it "
        "anew; a later release of it may have done so"
    )
