"""Whether somebody states one release by hand, and asks what is wrong with it."""

from __future__ import annotations

from envdoctor.checks.stated_together import stated_releases
from envdoctor.facts.fact import Facts
from envdoctor.facts.uses import CODE_USES

# Stated with almost everything, and at fault with little of it.
_STATED_ANYWAY = frozenset(("torch", "torchvision", "torchaudio"))


def asked_about(facts: Facts) -> str | None:
    """The one package of which a release is stated, torch and its two aside; None where more are, or a script says what is used."""
    if facts.closed or CODE_USES in facts or "plan.script" in facts:
        return None
    stated = [name for name, _ in stated_releases(facts)]
    asked = [name for name in stated if name not in _STATED_ANYWAY] or stated
    return asked[0] if len(asked) == 1 else None


__all__ = ["asked_about"]
