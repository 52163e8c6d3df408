"""Did you mean: what a mistyped word may have been."""

from __future__ import annotations

from collections.abc import Iterable

_MOST = 3
_NEARLY = 0.08


def suggest(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """``did you mean `check`?`` and then what to do ``otherwise``, which is all there is where no known word is near."""
    from difflib import SequenceMatcher, get_close_matches

    several = list(dict.fromkeys(known))
    near = get_close_matches(word, several, n=_MOST)
    if near:
        likeness = {one: SequenceMatcher(None, one, word).ratio() for one in near}
        near = [one for one in near if likeness[one] >= likeness[near[0]] - _NEARLY]
    elif len(word) > 2:
        near = [one for one in several if one.startswith(word)][:_MOST]
    return "; ".join(filter(None, (f"did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else "", otherwise)))


__all__ = ["suggest"]
