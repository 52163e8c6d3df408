"""A class of the same name in another package: who reads an attribute that its own class of that name has, was handed somebody else's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.atlas.binding import Bound
from envdoctor.atlas.masks import write
from envdoctor.atlas.shelf import open_package, package_names
from envdoctor.atlas.stack import holds, places
from envdoctor.atlas.volume import Volume
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.asked import ATTRIBUTE, Asked
from envdoctor.logs.callables_named import classes_of
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named, place_of
from envdoctor.world.dependencies import requires_ever
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

# A shorter name is many packages' class.
_TELLING = 8
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
        # https://github.com/huggingface/accelerate/issues/1588: an upgrade in a notebook that had imported the package before. To go back
        # before it came, maybe years, is no way out of either.
        before = ()
        detail = detail.replace(", made for a release before", ", was imported before an upgrade, or is its own and nothing has set it yet")
        advice = (
            f"start Python (the kernel) anew where {volume.name} was upgraded in it; look in {volume.name} for the method that sets "
            f"{member} (a setup, prepare or queue step), and call it first; else a newer release of the package with that class"
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


def judge_sibling(asked: Asked, failure: Failure, facts: Facts) -> Hit | None:
    """The finding where one package that requires the class's own has a class of that name, made anew and without the member.

    https://github.com/huggingface/evaluate/issues/440: evaluate handed its own ``DownloadConfig`` to datasets, until it took theirs.
    """
    volume = asked.bound.volume
    owner, _, member = asked.symbol.rpartition(".")
    cls = owner.rpartition(".")[2].rpartition(":")[2]
    if asked.family != ATTRIBUTE or len(cls) < _TELLING or not cls[:1].isupper() or not asked.there:
        return None
    near = {package_of(name) for name in failure.packages} - {volume.name, *_PASSING}
    found: dict[str, tuple[Volume, int]] = {}
    for bound in _requiring(volume.name, near):
        made = _made_anew(bound, cls, member)
        stated = facts.value(f"packages.{bound.volume.name}")
        if made and not (isinstance(stated, Exact) and not holds(made, places(bound.volume, stated.text))):
            found[bound.volume.name] = (bound.volume, made)
    if len(found) != 1:
        return None
    ((name, (other, made)),) = found.items()
    if name not in near and facts.value(f"packages.{name}") is None and not asked.there >> (len(volume.releases) - 1) & 1:
        return None  # nothing speaks of that package, and the class lost the member in a release
    first = (asked.there & -asked.there).bit_length() - 1
    since = volume.releases[first]
    after = made >> (len(other.releases) - 1) & 1 == 0
    back = ((volume.name, f"<{since}"),) if first else ()
    return Hit(
        ATTRIBUTE,
        True,
        detail=f"{name} has a class {cls} of its own ({write(made, other.releases)}), which has no {member}, and hands it to "
        f"{volume.name}, whose {cls} has it from {since} on{f'; later releases of {name} hand on that one' if after else ''}",
        packages=named(name, volume.name),
        pins=((name, f">={other.releases[made.bit_length()]}"), *back) if after else back,
        edge=f"{name}:{cls}.{member}",
        headline=f"{name} hands {volume.name} a {cls} of its own, which lacks {member}",
    )


def _requiring(package: str, near: set[str]) -> Iterator[Bound]:
    """The packages of which some release requires another one; where frames tell of any, those."""
    for name in near or package_names():
        bound = open_package(name) if name != package and name in listed() and requires_ever(name, package) else None
        if bound is not None:
            yield bound


def _made_anew(bound: Bound, cls: str, member: str) -> int:
    """The releases that have a class of this name without a base and without the member."""
    made = 0
    for symbol in classes_of(bound, cls):
        module = symbol.partition(":")[0]
        chunk, known = bound.chunk(module), bound.volume.chunk(module)
        sheet = known.classes.get(cls) if known is not None else None
        shown = re.search(rf"(?m)^c {re.escape(cls)}(?:\t.*)?\n(?P<body>(?: .*\n?)*)", chunk or "")
        if shown is None or sheet is None or re.search(r"(?m)^ b \S", shown["body"]):
            continue
        if not re.search(rf"(?m)^ (?:m {re.escape(member)} |a (?:.* )?{re.escape(member)}(?: |\t|$))", shown["body"]):
            made |= sheet.mask
    return made


__all__ = ["judge_own_reader", "judge_sibling"]
