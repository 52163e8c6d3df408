"""A class of the same name in another package: who reads an attribute that its own class of that name has, was handed somebody else's."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.asked import ATTRIBUTE, Asked
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named, place_of
from envdoctor.world.import_names import package_of

# Who passes through here has no class of its own in it.
_PASSING = frozenset(("torch", "accelerate", "IPython", "huggingface_hub"))


def judge_own_reader(asked: Asked, failure: Failure) -> Hit | None:
    """The finding where the package whose class seems to lack a member reads it itself, though its class has it in the same releases.

    A release reads what its own class has: the object is of another package's class, made for a release before. Nothing where the object
    is the reader itself, whose file may be of another release than its class.
    """
    volume = asked.bound.volume
    owner, _, member = asked.symbol.rpartition(".")
    cls = owner.rpartition(".")[2].rpartition(":")[2]
    frame = failure.frames[-1] if failure.frames else None
    if asked.family != ATTRIBUTE or not cls[:1].isupper() or frame is None or package_of(frame.package) != volume.name:
        return None
    if not asked.there or not asked.gone or not re.search(rf"(?<!self)\.{re.escape(member)}\b", frame.text):
        return None
    first = (asked.there & -asked.there).bit_length() - 1
    since = volume.releases[first]
    earlier = bool(asked.gone & ((1 << first) - 1))
    detail = (
        f"{volume.name} itself reads {member} ({place_of(frame)}), which its own {cls} has from {since} on: the object is of a class {cls} "
        "of another package, made for a release before"
    )
    advice = f"take a newer release of the package that has a class {cls} of its own"
    before = ((volume.name, f"<{since}"),) if earlier else ()
    advice = "" if before else advice
    if earlier and all(package_of(name) == volume.name or name in _PASSING for name in failure.packages):
        # https://github.com/huggingface/accelerate/issues/1588: an upgrade in a notebook that had imported the package before.
        detail = detail.replace(", made for a release before", ", or was imported before an upgrade")
        advice = (
            f"start Python (the kernel) anew where {volume.name} was upgraded in it; else a newer release of the package with that class"
        )
    return Hit(
        "error-attribute-missing",
        True,
        (),
        detail=detail,
        packages=named(volume.name),
        pins=before,
        edge=f"{volume.name}:{cls}.{member}",
        advice=advice,
    )


__all__ = ["judge_own_reader"]
