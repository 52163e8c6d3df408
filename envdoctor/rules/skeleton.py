"""The file that a new rule starts from: where it belongs, and which package it accuses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.names import canonical
from envdoctor.files.toml import read_toml
from envdoctor.records import dataclass
from envdoctor.rules.rulebook import rule_files, shipped_rules
from envdoctor.rules.unpacked import shipped_files
from envdoctor.world.releases import listed

# Lint accepts none of the words in capitals, and no empty text: what was forgotten cannot pass for a rule.
_TEXT = """\
id         = "{id}"
title      = ""                      # what breaks, in one line, without a full stop
severity   = "error"                 # error | warning | note
effect     = "crash"                 # silent | crash | oom | slow | blocked
confidence = "cited"                 # raised by `rules verify --record` and `rules reproduce --record`
symptoms   = []                      # literal fragments of the error text
details    = ""                      # what happens, why, since which release, in your own words

[affected]
packages = ["{package} >=FIRST_BAD, <FIRST_GOOD"]

[[fix]]
pin  = "{package} >=FIRST_GOOD"
note = ""                            # why this cures it

[[evidence]]
url  = ""                            # public, and read by you
kind = "issue"                       # issue | pr | commit | release-notes | docs | source | wheel | execution | forum
says = ""                            # what it says, in your own words

[[case]]
expect = "match"
facts  = {{ packages.{package} = "==FIRST_BAD" }}

[[case]]
expect = "no-match"
facts  = {{ packages.{package} = "==FIRST_GOOD" }}

[[case]]
expect = "unknown"
facts  = {{ packages.{package} = ">=FIRST_BAD" }}
"""
_ID = re.compile(r"(?:(?P<folder>[a-z0-9]+(?:-[a-z0-9]+)*)/)?(?P<name>[a-z0-9]+(?:-[a-z0-9]+)+)")
_UNNAMED = "PACKAGE"


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A rule file that is still to be written, and filled in."""

    path: Path
    text: str


def skeleton(asked: str, directory: Path | None = None) -> Skeleton:
    """The skeleton of the rule ``ID`` or ``FOLDER/ID`` in a directory of rules; without one in those of a source checkout.

    The folder of a bare id is the longest name that it begins with, of the folders that there are and the packages whose releases
    are known: rules about ``flash-attn`` are not rules about ``flash``.

    Raises:
        EnvdoctorError: an id that no rule can have or that a rule has already, one that tells no folder, or no place to write to.
    """
    understood = _ID.fullmatch(asked)
    if understood is None:
        expected = "one id: lower-case words joined by dashes, the package first"
        raise EnvdoctorError(
            "rules new", found=repr(asked) if asked else "nothing", expected=expected, next_step="rules new peft-what-breaks"
        )
    folder, name = understood["folder"], understood["name"]
    directory = _own_rules(name) if directory is None else directory
    directories = list(dict.fromkeys((directory, shipped_files())))
    _refuse_twice(name, directories)
    folder = folder or _longest(name, listed() | _folders(directories))
    if not folder:
        raise EnvdoctorError(
            "rules new",
            found=f"{name!r}, which begins with no package that is known here",
            expected="an id that begins with the package, or the folder before it",
            next_step=f"rules new {name.partition('-')[0]}/{name}",
        )
    return Skeleton(directory / folder / f"{name}.toml", _TEXT.format(id=name, package=_package(name, folder, directories)))


def _own_rules(name: str) -> Path:
    """The rules of the checkout that this envdoctor runs from.

    Raises:
        EnvdoctorError: it was installed, and the next installation would take away what is written there.
    """
    shipped = shipped_rules()
    if (shipped.parent / "pyproject.toml").is_file():
        return shipped
    raise EnvdoctorError(
        "rules new",
        found=f"an installed envdoctor, whose rules in {shipped} are not yours to change",
        expected="a directory for rules of your own, or envdoctor run from a clone of its sources",
        next_step=f"rules new {name} --rules DIR",
    )


def _refuse_twice(name: str, directories: Iterable[Path]) -> None:
    """Two rules of one id would end every later run.

    Raises:
        EnvdoctorError: a file has the id.
    """
    for directory in directories:
        for path in rule_files(directory, may_be_empty=True) if directory.is_dir() else ():
            if path.stem == name:
                raise EnvdoctorError(str(path), found=f"a rule {name!r} already", expected="an id that no rule has", next_step="another id")


def _folders(directories: Iterable[Path]) -> set[str]:
    return {path.name for directory in directories if directory.is_dir() for path in directory.iterdir() if path.is_dir()}


def _longest(name: str, known: Iterable[str]) -> str:
    return max((one for one in known if name.startswith(f"{one}-")), key=len, default="")


def _package(name: str, folder: str, directories: Iterable[Path]) -> str:
    """The package that the id begins with; else the folder's own, or the one that most rules of the folder accuse.

    A folder may be a subject (``chatglm``, ``plan``) and no package.
    """
    named = _longest(name, listed())
    if named:
        return named
    files = [path for directory in directories for path in sorted((directory / folder).glob("*.toml"))]
    if not files or folder in listed():
        return folder
    accused = [_accused(path) for path in files]
    if any(folder in packages for packages in accused):
        return folder
    first = Counter(packages[0] for packages in accused if packages)
    return first.most_common(1)[0][0] if first else _UNNAMED


def _accused(path: Path) -> list[str]:
    """The packages that a rule file accuses; none where it accuses none, or cannot be read."""
    try:
        affected = read_toml(path).get("affected")
    except EnvdoctorError:
        return []
    stated = affected.get("packages") if isinstance(affected, dict) else None
    return [canonical(text.partition(" ")[0]) for text in stated if isinstance(text, str)] if isinstance(stated, list) else []
