"""A conda environment file whose lines name builds: exported on one machine, and made on another.

conda says of every line that it has no such build; what is behind it is one thing, and no package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.conda_absent import LISTS_ABSENT, judge_absent
from envdoctor.logs.installer_rules import NO_FILE

# "nothing provides requested zlib ==1.2.13 h5eee18b_0", "- libgcc-ng=11.2.0=h1234567_1" below ResolvePackageNotFound.
_BUILD = r"(?:py\d[\w.]{0,40}_\w{1,40}|h[0-9a-f]{7}_\w{1,20}|[\w.]{1,40}_\d{1,4})"
_NOT_PROVIDED = re.compile(rf"nothing provides requested (?P<name>[\w.-]{{1,80}}) ==\S{{1,40}} {_BUILD}\s*$")
_NOT_FOUND = re.compile(rf"^\s*- (?P<name>[\w.-]{{1,80}})==?[\w.]{{1,40}}={_BUILD}\s*$")
# https://github.com/computational-imaging/diffusion-in-the-dark/issues/2
_NOT_INSTALLABLE = re.compile(rf"─ (?P<name>[\w.-]{{1,80}}) ==[\d.]{{1,20}} {_BUILD} is not installable")
_SYSTEM = re.compile(r"nothing provides __(?P<system>unix|linux|osx|win|glibc|cuda)\b")
_PRIORITY = re.compile(r"package \S{1,120} is excluded by strict repo priority")
# "nlp=0.4.0=pypi_0": what conda list --export writes of a package that pip had installed. conda has no such build anywhere:
# https://github.com/goodbai-nlp/Sem-Dialogue/issues/7
_OF_PIP = re.compile(r"^\s*(?:- )?(?P<name>[A-Za-z][\w.-]{0,80})==?(?P<version>[\w.!+]{1,40})=pypi_0\s*$")
_SEVERAL, _MOST_NAMED = 3, 8
_NO_BUILDS = (
    "conda env export --no-builds (or --from-history) where it was made; or take the builds off the lines (name=version), and leave "
    "out what only that system has"
)


def judge_conda_export(lines: Iterable[tuple[int, str]], facts: Facts) -> tuple[Hit, int, str] | None:
    """Whether conda refuses builds that another system, or a channel that is left out, has; with the first line that says so."""
    lines = tuple(lines)
    if (by_pip := _judge_by_pip(lines)) is not None:
        return by_pip
    absent: dict[str, tuple[int, str]] = {}
    excluded: dict[str, tuple[int, str]] = {}
    listing, system = False, ""
    for number, line in lines:
        listing = listing or LISTS_ABSENT.search(line) is not None
        refused = _NOT_INSTALLABLE.search(line)
        listing = listing or refused is not None
        found = _NOT_PROVIDED.search(line) or refused or (_NOT_FOUND.match(line) if listing else None)
        if found is not None:
            absent.setdefault(found["name"], (number, line))
        elif _PRIORITY.search(line):
            excluded.setdefault(line, (number, line))
        elif (needed := _SYSTEM.search(line)) is not None:
            system = needed["system"]
    if len(excluded) >= _SEVERAL:
        number, line = next(iter(excluded.values()))
        advice = "conda config --set channel_priority flexible; or take the builds off the lines of the file, so that any channel will do"
        headline = "Strict channel priority leaves out the channel that the pinned builds are of"
        return _hit(headline, "the file names builds of one channel, and a channel before it has the same packages", advice), number, line
    # Below conda's own list of what it did not find one line is enough.
    if len(absent) < (1 if system or listing else _SEVERAL):
        return None if absent else judge_absent(lines, facts)
    number, line = next(iter(absent.values()))
    there = f"; what asks for __{system} is of {'Linux or a Mac' if system == 'unix' else system}" if system else ""
    name = "names" if len(absent) == 1 else "name"
    detail = f"{len(absent)} of its lines {name} a build ({', '.join(list(absent)[:4])}) that no channel has for this system{there}"
    headline = "The environment file was exported with its builds, on another system or from a channel that no longer has them"
    return _hit(headline, detail, _NO_BUILDS), number, line


def _judge_by_pip(lines: tuple[tuple[int, str], ...]) -> tuple[Hit, int, str] | None:
    """Lines of a list that conda cannot install, since pip had installed them where it was written."""
    if not any(LISTS_ABSENT.search(line) for _, line in lines):
        return None
    found = [(number, line, told) for number, line in lines if (told := _OF_PIP.match(line)) is not None]
    if not found:
        return None
    few = [f"{told['name']}=={told['version']}" for _, _, told in found[:_MOST_NAMED]]
    more = " and the others" if len(found) > len(few) else ""
    headline = "The list names packages that pip had installed (their build is pypi_0), and conda's channels have none of these"
    detail = f"conda list --export writes them among its own: {', '.join(few[:4])}"
    advice = (
        f"take the lines with pypi_0 out of the list, and after conda pip install {' '.join(few)}{more}; where the environment is still "
        "there conda env export > environment.yml writes such packages under pip:, and conda env create -f environment.yml installs them"
    )
    return _hit(headline, detail, advice), found[0][0], found[0][1]


def _hit(headline: str, detail: str, advice: str) -> Hit:
    return Hit(NO_FILE, True, (), detail=detail, packages=(), edge="conda:builds", headline=headline, advice=advice)
