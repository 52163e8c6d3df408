"""The releases beside a stated one: where nothing is known of a fault, the one before it and the one after it are what to try first."""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.records import replace
from envdoctor.world.dependencies import may_require
from envdoctor.world.releases import release_texts

RAISED, GIVEN = "error-raised-by-package", "error-of-what-was-given"
# Whose release nobody moves for a fault of others.
_EVERYBODYS = frozenset(("torch", "numpy", "setuptools", "pip", "packaging"))
# More of them are the whole environment, and nobody tries all.
_MOST = 2


def neighbours_in_words(package: str, facts: Facts) -> str:
    """``torchao 0.11.0 or 0.13.0, beside the stated 0.12.0``; empty where no release is stated, or it is alone."""
    stated = facts.value(f"packages.{package}")
    if not isinstance(stated, Exact):
        return ""
    text = stated.text.partition("+")[0]
    finals = [one for one in release_texts(package) if not any(letter in one for letter in ("a", "rc", "dev")) and "b" not in one]
    before = [one for one in finals if admits(f"<{text}", one)]
    after = [one for one in finals if admits(f">{text}", one)]
    beside = [*before[-1:], *after[:1]]
    return f"{package} {' or '.join(beside)}, beside the stated {stated.text}" if beside else ""


def with_releases_beside(hit: Hit, facts: Facts) -> Hit:
    """A finding that knows no cause, with the releases beside those that are stated of its packages; of the one stated package that these
    require, where none of them is stated. As it was where it has advice of its own."""
    if hit.rule == GIVEN and not hit.packages and (alone := _alone(facts)) and (words := neighbours_in_words(alone, facts)):
        # Of the user's values or of the one release that is stated.
        return replace(hit, outcome=None, packages=(alone,), advice=f"{hit.advice}; else {words}")
    if hit.rule != RAISED or hit.outcome is True or hit.advice or hit.pins or hit.by_hand:
        return hit
    named = [name for name in hit.packages if name not in _EVERYBODYS]
    told = [words for name in named if (words := neighbours_in_words(name, facts))][:_MOST]
    detail, packages = hit.detail, hit.packages
    if not told:
        stated = [name.removeprefix("packages.") for name in facts if name.startswith("packages.")]
        used = [name for name in stated if name not in _EVERYBODYS and any(may_require(one, name) for one in named)]
        if len(used) != 1 or not (words := neighbours_in_words(used[0], facts)):
            return hit
        told, packages = [words], (*hit.packages, used[0])
        detail += f"; {named[0]} uses {used[0]}, which is stated"
    advice = (
        f"{'; '.join(told)}: whether it fails there too says if that release is at fault; else ask there, with envdoctor report --log LOG"
    )
    return replace(hit, detail=detail, packages=packages, advice=advice)


def _alone(facts: Facts) -> str:
    """The one package of which a release is stated; empty where they are several."""
    stated = [name.removeprefix("packages.") for name in facts if name.startswith("packages.") and isinstance(facts.value(name), Exact)]
    return stated[0] if len(stated) == 1 and stated[0] not in _EVERYBODYS else ""
