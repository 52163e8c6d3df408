"""Modules of releases that the atlas has, read once more: what a later reader of source sees in them is put into the text of contents.

Only what was open is settled: a signature that a decorator hid, names that a module gives on request, a module that was taken to give any.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from envdoctor.refresh.index import Get, NoAnswerError
from envdoctor.survey.adding import Text, as_signed, read_back, reads_bodies, write_back
from envdoctor.survey.archives import NotAnArchiveError
from envdoctor.survey.choice import Release
from envdoctor.survey.fetching import keep_files, module_of, modules_of, open_archive
from envdoctor.survey.kept import Kept
from envdoctor.survey.volumes import Items, gather, write_volume
from envdoctor.survey.writing import write_text

_HIDDEN = "~"
_OPEN = ("o",)
_GIVEN = ("n", "x", "i", "l")


def unsettled(text: Text) -> set[str]:
    """The modules of a text that may have any name, or of which a signature is hidden."""
    return {
        name
        for name, (_, items) in text.modules.items()
        if _OPEN in items or any(item[0] in ("f", "c") and item[-1] == _HIDDEN for item in items)
    }


def reread(
    path: Path,
    package: str,
    releases: Sequence[Release],
    get: Get,
    kept: Kept,
    modules: Collection[str],
    tell: Callable[[str], None],
    *,
    whole: bool = False,
) -> list[tuple[str, str]]:
    """Read modules of releases once more and settle what was open in a text of contents; what failed comes back with the reason.

    ``whole``: all that they hold is written anew.
    """
    before = read_back(path.read_text(encoding="utf-8"))
    failed = []
    for release in releases:
        tell(f"{package} {release.version}")
        why = _read(package, release, get, kept, modules)
        if why:
            failed.append((release.version, why))
    known = [release for release, _ in before.releases]
    read = [one for one in known if one in kept.releases(package)]
    after = read_back("".join(write_volume(gather(package, kept, read), kept)))
    if not reads_bodies(before):
        after.modules = {name: (mask, {as_signed(item): on for item, on in items.items()}) for name, (mask, items) in after.modules.items()}
    places = [known.index(one) for one in read]
    for name in modules:
        if name in before.modules and name in after.modules:
            mask, items = before.modules[name]
            there, found = after.modules[name]
            seen = _moved(there, places) & mask
            found = {item: _moved(on, places) & mask for item, on in found.items()}
            before.modules[name] = mask, anew(items, found, seen) if whole else settle(items, found, seen)
    write_text(path, write_back(package, before))
    return failed


def settle(items: Items, found: Items, seen: int) -> Items:
    """What a module holds, where what was found in the releases ``seen`` settles what was open in them."""
    told = dict(items)
    closed = told.get(_OPEN, 0) & seen & ~found.get(_OPEN, 0)
    if closed:
        told[_OPEN] &= ~closed
        for item, on in found.items():
            # What another module puts into this one stands in the text already.
            if item[0] in _GIVEN and on & closed:
                told[item] = told.get(item, 0) | (on & closed)
    for item, on in found.items():
        hidden = (*item[:-1], _HIDDEN)
        shown = told.get(hidden, 0) & on if item[0] in ("f", "c") and len(item) > 2 and item[-1] != _HIDDEN else 0
        if shown:
            told[hidden] &= ~shown
            told[item] = told.get(item, 0) | shown
    return {item: on for item, on in told.items() if on}


def anew(items: Items, found: Items, seen: int) -> Items:
    """What a module holds, with what was found in the releases ``seen`` in place of what was told of them."""
    told = {item: on & ~seen for item, on in items.items()}
    for item, on in found.items():
        told[item] = told.get(item, 0) | on
    return {item: on for item, on in told.items() if on}


def _read(package: str, release: Release, get: Get, kept: Kept, modules: Collection[str]) -> str:
    """Read those modules of a release, and keep which files it has; why it failed."""
    why = "no file that can be read"
    for file in release.files[:3]:
        try:
            archive = open_archive(file, get)
            members = modules_of(archive, package)
            keep_files(archive, [one for one in members if module_of(one.path)[0] in modules], kept)
        except (NoAnswerError, NotAnArchiveError) as error:
            why = f"{file.name}: {error}"
            continue
        kept.keep_release(package, release.version, release.day, file.name, members)
        return ""
    return why


def _moved(mask: int, places: Sequence[int]) -> int:
    """A set of the releases that were read as one of all releases."""
    return sum(1 << place for number, place in enumerate(places) if mask >> number & 1)
