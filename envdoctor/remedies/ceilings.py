"""Steps back that nothing speaks for: an old release that fits because it could not know what is there, or because nobody knows it.

vllm 0.4.0 requires torch 2.1.2, and torch 2.7.0 is there. vllm 0.1.4 asks for any torch from 2.0 on, and was made before there was a 2.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.remedies.agreement import Agreement
from envdoctor.remedies.universe import State, Universe


def rests_on_silence(packages: Sequence[str], state: State, universe: Universe, agreement: Agreement) -> bool:
    """Whether one of these goes back to before one of the others came out, which stays newer than the stated release admits; or to one of
    which it is not known what it requires, where it is known of the stated one."""
    back = [name for name in packages if name in state and not state[name].upward]
    stay = [name for name in packages if name not in state]
    return any(
        _is_unknown(name, state, universe, agreement) or any(_is_beyond(name, other, state, universe, agreement) for other in stay)
        for name in back
    )


def _is_unknown(name: str, state: State, universe: Universe, agreement: Agreement) -> bool:
    value, release = universe.value(name), state[name].release
    asks = isinstance(value, Exact) and agreement.is_known(name, value)
    return asks and release is not None and not agreement.is_known(name, release)


def _is_beyond(name: str, other: str, state: State, universe: Universe, agreement: Agreement) -> bool:
    value, there = universe.value(name), universe.value(other)
    if not isinstance(value, Exact) or not isinstance(there, Exact) or agreement.admits(name, value, other, there):
        return False
    public = there.text.partition("+")[0]
    if not 0 < state[name].day < universe.listing.days(other).get(public, 0):
        return False
    wanted = [version_condition(one) for one in agreement.demands(name, value).get(other, ())]
    admitted = [text for text in universe.listing.versions(other) if all(one.admits(exact(text)) for one in wanted)]
    return bool(admitted) and version_condition(f"<{public}").admits(exact(admitted[-1]))


__all__ = ["rests_on_silence"]
