"""The texts of the atlas, out of what was read: contents first, then what each package takes from the contents of others."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from envdoctor.atlas.reach import entry_modules, reach
from envdoctor.atlas.volume import Volume
from envdoctor.survey.entries import entries_of
from envdoctor.survey.kept import Kept
from envdoctor.survey.libraries import LIBRARIES, libraries_in
from envdoctor.survey.messages import write_messages
from envdoctor.survey.takes import Shelf, write_takes
from envdoctor.survey.volumes import gather, write_volume

_MODULE = re.compile(r"(?m)^(?=module )")
Tell = Callable[[str], None]


def write_contents(package: str, kept: Kept, folder: Path) -> int:
    """Write what a package's releases contain; how many releases there are."""
    found = gather(package, kept)
    if found.releases:
        write_text(folder / package / "contents.txt", "".join(write_volume(found, kept)))
    return len(found.releases)


def write_said(package: str, kept: Kept, folder: Path, only: Sequence[str] = (), compiled: Kept | None = None) -> None:
    """Write what a package's releases (``only`` these, where any are named) say when they refuse or warn, its compiled code as well."""
    lines = [*write_messages(gather(package, kept, only), kept)]
    if compiled is not None:
        lines += [*write_messages(gather(package, compiled, only), compiled)][1:]
    path = folder / package / "messages.txt"
    # What libraries say is read apart, from other files.
    libraries = libraries_in(path.read_text(encoding="utf-8"), package) if package in LIBRARIES and path.exists() else ""
    write_text(path, "\n".join(lines) + "\n" + libraries)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def read_volumes(folder: Path) -> dict[str, Volume]:
    """The volumes of a folder, by package."""
    found = {}
    for path in sorted(folder.glob("*/contents.txt")):
        head, *parts = _MODULE.split(path.read_text(encoding="utf-8"))
        chunks = {part.split(" ", 2)[1]: part for part in parts}
        volume = Volume(head, chunks.get)
        found[volume.name] = volume
    return found


def write_all_takes(folder: Path, open_kept: Callable[[str], Kept], packages: Sequence[str] = (), tell: Tell = lambda _: None) -> None:
    """Write what packages (all, where none are named) take from others and do not always find."""
    volumes = read_volumes(folder)
    shelf = Shelf(volumes)
    crossed = _crossings(volumes, shelf, open_kept, tell)
    for package in packages or volumes:
        tell(f"{package}: what it takes from others")
        kept = open_kept(package)
        # Who crosses to it may not be at hand where it was read: what was told before is told again.
        entries = entries_of(package, volumes[package].tops, {*crossed.get(package, ()), *_told(folder / package / "takes.txt")})
        write_text(
            folder / package / "takes.txt",
            "\n".join(write_takes(gather(package, kept, volumes[package].releases), kept, shelf, entries)) + "\n",
        )
        kept.close()


def _told(path: Path) -> Iterator[str]:
    """The imports whose reach a text of takes tells."""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith("entry "):
            yield from line.split(" ")[1:]


def _crossings(volumes: Mapping[str, Volume], shelf: Shelf, open_kept: Callable[[str], Kept], tell: Tell) -> dict[str, set[str]]:
    """The imports by which packages reach parts of others that the import of these alone does not load."""
    found: dict[str, set[str]] = {}
    loaded: dict[str, set[str]] = {}
    for package, volume in volumes.items():
        tell(f"{package}: whom it imports")
        kept = open_kept(package)
        if not set(volume.releases) <= set(kept.releases(package)):
            kept.close()
            continue
        names: set[str] = set()
        for contents in gather(package, kept, volume.releases).files.values():
            for member in contents:
                outline = kept.outline(member)
                if outline is not None:
                    names |= {one.name for one in outline.taken if not one.where and not one.call and "?" not in one.guard.split(" & ")}
        kept.close()
        for name in names:
            provider = shelf.owner(name)
            if provider is None or provider is volume:
                continue
            newest = len(provider.releases) - 1
            if provider.name not in loaded:
                loaded[provider.name] = set(reach(provider, provider.tops, newest))
            if not set(entry_modules(provider, name, newest)) <= loaded[provider.name]:
                found.setdefault(provider.name, set()).add(name)
    return found
