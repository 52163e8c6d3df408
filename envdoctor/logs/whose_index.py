"""What the list of releases that an installer saw tells: of which Python it is, or that the index which was asked is not the whole one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.installer_rules import NO_FILE, REFUSES_PYTHON
from envdoctor.logs.refusal import Refusal, Unavailable
from envdoctor.logs.specifiers import admits
from envdoctor.world.releases import exists, release_texts
from envdoctor.world.wheel_pythons import SYSTEMS, wheels_of

_MINORS = range(6, 16)
_USUAL = (11, 10, 12, 9, 13, 8, 14)
_FEW = 3
_WORDS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}
# A build of PyTorch's own index: https://download.pytorch.org/whl/
_OF_PYTORCH = re.compile(r"cu\d{2,3}|cpu|rocm[\d.]{1,8}|xpu")
_BESIDE = (
    "--extra-index-url in place of --index-url (uv: --index-strategy unsafe-best-match), so that PyPI is asked beside that index; where "
    "PyPI itself was asked, another Python"
)


def judge_list(name: str, one: Unavailable, refusal: Refusal, facts: Facts) -> Hit | None:
    """What the releases that were there, the stated Python and the wheels of the release that was asked for say together."""
    public, _, label = one.specifier.removeprefix("==").partition("+")
    if one.why != "no release" or not re.fullmatch(r"==\d[\w.!]*(?:\+[\w.]+)?", one.specifier):
        return None
    if label and not _OF_PYTORCH.fullmatch(label):
        return _unpublished(name, one, refusal)
    if label:
        return None
    if (of_python := _of_python(name, public, one, facts)) is not None:
        return of_python
    # A long list, or one that begins behind what is wanted, is PyPI's own for another Python.
    part = 0 < len(one.offered) <= _FEW and all(admits(f"<{public}", text) for text in one.offered)
    return _of_another(name, one) if part and one.by else None


def _unpublished(name: str, one: Unavailable, refusal: Refusal) -> Hit:
    """A build with a label of its maker's: no index has it but the one that its maker keeps, if any."""
    asker = next((side for side in refusal.asked if side.by and side.name == one.name and side.specifier == one.specifier), None)
    by = one.by if asker is None else asker.by
    who = (
        f"{by}{' ' + asker.release.removeprefix('==') if asker is not None and asker.release else ''} requires"
        if by
        else "what is asked for is"
    )
    detail = (
        f"{who} {name}{one.specifier}: behind the + stands one build of somebody's own, which PyPI takes from nobody; no other Python "
        "or platform has it either"
    )
    public = one.specifier.partition("+")[0]
    if by:
        released = f" ({name}{public} is on PyPI)" if exists(name, public.removeprefix("==")) else ""
        advice = f"another release of {by}, a later nightly or a final one, whose {name} was published{released}; or its index"
    else:
        advice = f"{name}{public} without the label, or the file's own address (its page of releases): pip install https://..."
    headline = f"The build {name}{one.specifier} is on no index that was asked"
    return Hit(NO_FILE, True, (), detail=detail, packages=tuple(filter(None, (by, name))), edge=name, headline=headline, advice=advice)


def _of_python(name: str, release: str, one: Unavailable, facts: Facts) -> Hit | None:
    """The Python for which a release has no wheel: the stated one, or the only ones that would see such a list."""
    wheels = wheels_of(name, release)
    if wheels is None:
        return None
    stated, system = facts.value("python"), facts.text("os") or ""
    systems = (system,) if system in SYSTEMS else tuple(SYSTEMS)
    python = one.python or (stated.text if isinstance(stated, Exact) else "")
    found = re.match(r"3\.(\d{1,2})", python)
    minors = [int(found[1])] if found else _pythons_of(name, release, one.offered, systems)
    if not minors or any(wheels.suit(minor, where) for minor in minors for where in systems):
        return None
    served = sorted({minor for where in systems for minor in wheels.minors.get(where, ())})
    if not served or any(where in wheels.since for where in systems) or served[0] < min(minors) <= max(minors) < served[-1]:
        return None
    too_new = min(minors) > served[-1]
    where = f" on {_WORDS[system]}" if system in _WORDS else ""
    which = (
        f"this is Python 3.{minors[0]}"
        if found
        else (f"the list that pip saw ({one.offered[0]} to {one.offered[-1]}) is that of Python {' or '.join(f'3.{of}' for of in minors)}")
    )
    span = f"up to Python 3.{served[-1]}" if too_new else f"from Python 3.{served[0]} on"
    take = served[-1] if too_new else next((minor for minor in _USUAL if minor in served), served[0])
    detail = f"{name}=={release} has wheels {span}{where} and no others, and {which}"
    near = _next(one.offered, release, later=too_new)
    older = f'; else pip install "{name}=={near}", where nothing asks for {release}' if near else ""
    advice = f"Python 3.{take} (uv venv --python 3.{take}, conda create -n NAME python=3.{take}), and the same install in it{older}"
    headline = f"This Python is too {'new' if too_new else 'old'} for {name} {release}"
    return Hit(REFUSES_PYTHON, True, (), detail=detail, packages=(name, "python"), edge=name, headline=headline, advice=advice)


def _pythons_of(name: str, release: str, offered: Sequence[str], systems: Sequence[str]) -> list[int]:
    """The Pythons under which an index lists these releases, and neither the one that is wanted nor those between it and them."""
    seen = [wheels for text in offered if (wheels := wheels_of(name, text)) is not None]
    if not seen:
        return []
    newer = admits(f">{offered[-1]}", release)
    side = f">{offered[-1]},<={release}" if newer else f"<{offered[0]},>={release}"
    unseen = [wheels for text in release_texts(name) if admits(side, text) and (wheels := wheels_of(name, text)) is not None]
    return [
        minor
        for minor in _MINORS
        if any(all(one.suit(minor, where) for one in seen) and not any(one.suit(minor, where) for one in unseen) for where in systems)
    ]


def _next(offered: Sequence[str], release: str, *, later: bool) -> str:
    """The release that was there next to the one that was asked for."""
    finals = [text for text in offered if re.fullmatch(r"\d+(?:\.\d+)*(?:\.post\d+)?", text)]
    above = next((text for text in finals if admits(f">{release}", text)), "")
    return above if later else finals[-1] if finals else ""


def _of_another(name: str, one: Unavailable) -> Hit:
    """What another package requires exactly: a release that the index does have is none that helps."""
    sides = f"{one.offered[0]} to {one.offered[-1]}" if len(one.offered) > 1 else one.offered[0]
    detail = (
        f"{one.by} requires {name}{one.specifier}, and the index that was asked has of it only {sides}: an index of PyTorch's or one's own "
        "carries a part of what PyPI has; a Python for which a release has no file leaves it out of that list too"
    )
    headline = f"The index that was asked does not have the {name} that {one.by} requires"
    return Hit(NO_FILE, True, (), detail=detail, packages=(name, one.by), edge=name, headline=headline, advice=_BESIDE)


__all__ = ["judge_list"]
