"""What does not go with the one release that somebody states, where the other side is not stated.

Who writes down one release and asks what is wrong has more installed than that. Which releases of other packages declare nothing
against it, and cannot be imported beside it, is computed; nobody says that one of these is there, so it is a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from operator import itemgetter

from envdoctor.atlas.breaks import import_breaks
from envdoctor.atlas.partners import Partner, partners_of
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import Stack, places
from envdoctor.atlas.words import good_specifiers, since, what
from envdoctor.checks.atlas import stack_of
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.world.packages import CORE
from envdoctor.world.releases import day_of

RULE = "breaks-beside-unstated-releases"

_PACKAGE = "packages."
_MOST_TOLD = 4
# What many have whatever they do: of others nobody can guess that they are there.
_COMMON = CORE | {
    "bitsandbytes", "deepspeed", "diffusers", "evaluate", "gradio", "langchain", "lightning", "mlflow", "open-clip-torch", "optimum",
    "pyannote-audio", "pytorch-lightning", "ray", "sentence-transformers", "torchaudio", "torchvision", "trl", "tts", "unsloth", "vllm",
    "wandb", "whisperx", "xformers",
}  # fmt: skip
# What is older was met by whoever has these releases long before; the last release of a minor version came with its first.
_MOST_DAYS = 31
# Whose last release is older than this when the stated one comes out, nobody has beside it who did not pin it.
_OLDEST_DAYS = 365


def unstated_partners(facts: Facts, name: str) -> Iterator[Hit]:
    """The releases of unstated packages that are installed with a stated release and break beside it, since it came out."""
    stack = stack_of(facts)
    release = stack.releases[name].partition("+")[0]
    named = {one.removeprefix(_PACKAGE) for one in facts.by_name if one.startswith(_PACKAGE)}
    latest: dict[str, tuple[int, Partner]] = {}
    for one in partners_of(name, release, stack, sorted(_COMMON - named)):
        days = None if _is_long_gone(name, release, one) else _days_since(name, release, one, stack)
        if days is not None and (one.package not in latest or days <= latest[one.package][0]):
            latest[one.package] = days, one
    if latest:
        yield _hit(facts, name, release, [one for _, one in sorted(latest.values(), key=itemgetter(0))[:_MOST_TOLD]])


def _days_since(name: str, release: str, found: Partner, stack: Stack) -> int | None:
    """How many days before a stated release, or after it, came the release with which a break began; None where that is no news.

    It began with the release that took a name away, with the minor version that first asks for a new one, or with the other package's.
    """
    bound = open_package(name)
    assert bound is not None
    at = places(bound.volume, release)[-1]
    before = bound.volume.all & ~found.one.bad & ((1 << at) - 1)
    if not found.takes:
        first, last = _minor_of(bound.volume.releases, release)
        breaks = import_breaks(Stack({name: last, found.package: found.last}, False, stack.python, stack.system)) if last else ()
        if not last or any((one.package, one.provider) == (name, found.package) for one in breaks):
            return None
        begun = (name, first)
    elif before:
        begun = (name, bound.volume.releases[before.bit_length()])
    else:
        begun = (found.package, found.first)
    own, theirs = day_of(name, release), day_of(*begun)
    days = None if own is None or theirs is None else abs((date.fromisoformat(own) - date.fromisoformat(theirs)).days)
    return days if days is not None and days <= _MOST_DAYS else None


def _is_long_gone(name: str, release: str, found: Partner) -> bool:
    """Whether the last release of the other package that breaks was old when the stated one came out."""
    own, theirs = day_of(name, release), day_of(found.package, found.last)
    return own is not None and theirs is not None and (date.fromisoformat(own) - date.fromisoformat(theirs)).days > _OLDEST_DAYS


def _minor_of(releases: Sequence[str], release: str) -> tuple[str, str]:
    """The first release of a release's minor version, and the last one of the minor version before it; empty where there is none."""
    minor = release.split(".")[:2]
    first = next((one for one in releases if one.split(".")[:2] == minor), release)
    at = releases.index(first) if first in releases else 0
    return first, releases[at - 1] if at else ""


def _hit(facts: Facts, name: str, release: str, found: list[Partner]) -> Hit:
    place = facts[f"{_PACKAGE}{name}"].origin
    bound = open_package(name)
    assert bound is not None
    at = places(bound.volume, release)[-1]
    pins: list[tuple[str, str]] = []
    for one in found:
        theirs = open_package(one.one.provider)
        assert theirs is not None
        place_there = at if one.takes else places(theirs.volume, one.last)[-1]
        if all(pin[0] != one.one.provider for pin in pins):
            pins += [(one.one.provider, specifier) for specifier in good_specifiers(theirs.volume, one.one.bad, place_there)[:1]]
    return Hit(
        RULE,
        True,
        ((f"{_PACKAGE}{name}", _short(found[0])),),
        detail="; ".join(_in_words(one, name, release, at) for one in found),
        packages=(name, *(one.package for one in found)),
        pins=tuple(pins),
        file=place.file,
        line=place.line,
        edge=name,
        headline=f"{name} {release} cannot be used together with {' or '.join(map(_short, found))}",
    )


def _short(found: Partner) -> str:
    return f"{found.package} {found.first if found.first == found.last else f'{found.first} to {found.last}'}"


def _in_words(found: Partner, name: str, release: str, at: int) -> str:
    one = found.one
    bound = open_package(one.provider)
    assert bound is not None
    there = at if found.takes else places(bound.volume, found.last)[-1]
    user = _short(found) if found.takes else f"{name} {release}"
    beside = "" if found.takes else f" {found.last}"
    return f"{user} {what(one)}{beside}, {since(bound.volume, one.bad, there)}"


__all__ = ["RULE", "unstated_partners"]
