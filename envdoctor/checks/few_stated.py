"""Whether somebody states one release by hand, and asks what is wrong with it."""

from __future__ import annotations

from envdoctor.checks.stated_together import stated_releases
from envdoctor.facts.fact import Facts
from envdoctor.facts.uses import CODE_USES

# Stated with almost everything, and at fault with little of it.
_STATED_ANYWAY = frozenset(("torch", "torchvision", "torchaudio"))


def asked_about(facts: Facts) -> str | None:
    """The one package of which a release is stated, torch and its two aside; None where more are, or a script says what is used.

    Beside a plan torch is no question of its own: whoever describes a run has told what matters to it.
    """
    if facts.closed or CODE_USES in facts or "plan.script" in facts:
        return None
    stated = [name for name, _ in stated_releases(facts)]
    asked = [name for name in stated if name not in _STATED_ANYWAY] or stated
    if any(name in _STATED_ANYWAY for name in asked) and _describes_a_run(facts):
        return None
    return asked[0] if len(asked) == 1 else None


def _describes_a_run(facts: Facts) -> bool:
    """Whether somebody stated a setting of a plan, and no reader took it for granted."""
    return any(name.startswith("plan.") and fact.origin.file is not None for name, fact in facts.by_name.items())


__all__ = ["asked_about"]
