"""New releases beside those of a text whose files are not at hand any more: the text is read back, and written with what they hold.

What a new release takes from others is not told: that would need the files of the releases before. What it holds is what everyone asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packaging.version import Version

from envdoctor.atlas.masks import read
from envdoctor.records import dataclass, field
from envdoctor.survey.choice import Release
from envdoctor.survey.kept import Kept
from envdoctor.survey.volumes import Items, gather, write_lines, write_volume

_NAMES = ("n", "x")


@dataclass(slots=True)
class Text:
    """A text of contents that was read back: its modules, each with the releases that have it and with what it holds in which."""

    tops: tuple[str, ...]
    releases: list[tuple[str, str]] = field(default_factory=list)
    modules: dict[str, tuple[int, Items]] = field(default_factory=dict)


def held(path: Path) -> list[str]:
    """The releases of a text of contents, oldest first; none where there is no text."""
    lines = path.read_text(encoding="utf-8").partition("\nmodule ")[0].split("\n") if path.exists() else []
    return [line.split(" ")[1] for line in lines if line.startswith("release ")]


def only_newer(releases: Sequence[Release], known: Sequence[str]) -> list[Release]:
    """Those releases that came after the newest known one."""
    return [one for one in releases if Version(one.version) > Version(known[-1])]


def add_contents(package: str, kept: Kept, path: Path) -> bool:
    """Write a text of contents with the releases that were read since; whether there are any."""
    before = read_back(path.read_text(encoding="utf-8"))
    known = {release for release, _ in before.releases}
    newer = sorted((one for one in kept.releases(package) if one not in known), key=Version)
    if not newer:
        return False
    after = read_back("".join(write_volume(gather(package, kept, newer), kept)))
    if not reads_bodies(before):
        # Refusals of the releases before are not known: one that is told of the new ones alone would seem to have come with them.
        after.modules = {name: (mask, {as_signed(item): on for item, on in items.items()}) for name, (mask, items) in after.modules.items()}
    path.write_text(write_back(package, _joined(before, after)), encoding="utf-8")
    return True


def reads_bodies(told: Text) -> bool:
    return any("!" in item[-1] or "**>" in item[-1] for _, items in told.modules.values() for item in items)


def as_signed(item: tuple[str, ...]) -> tuple[str, ...]:
    """A line of contents with the bare signature in it."""
    *front, last = item
    if "!" not in last and "**>" not in last:
        return item
    return (*front, ",".join("**" if part.startswith("**") else part for part in last.split(",") if not part.startswith("!")))


def close_takes(path: Path, newest: str) -> None:
    """Say at the head of a text of takes which release of the package was the newest one whose files were read for it."""
    if not path.exists():
        return
    head, _, rest = path.read_text(encoding="utf-8").partition("\n")
    if head.count(" ") == 1:
        path.write_text(f"{head} {newest}\n{rest}", encoding="utf-8")


def read_back(text: str) -> Text:
    """A text of contents as ``write_volume`` made it."""
    head, *parts = re.split(r"(?m)^(?=module )", text)
    told = Text(())
    for line in head.split("\n"):
        words = line.split(" ")
        if words[0] == "top":
            told.tops = tuple(words[1:])
        elif words[0] == "release":
            told.releases.append((words[1], " ".join(words[2:])))
    places = {release: place for place, (release, _) in enumerate(told.releases)}
    for part in parts:
        lines = part.rstrip("\n").split("\n")
        _, name, spans = lines[0].split(" ", 2)
        mask = read(spans, places)
        told.modules[name] = mask, dict(_items(lines[1:], mask, places))
    return told


def _items(lines: Sequence[str], mask: int, places: Mapping[str, int]) -> Iterator[tuple[tuple[str, ...], int]]:
    """What a module's lines tell, each with its releases."""
    own, there = "", mask
    for line in lines:
        text, tab, spans = line.partition("\t")
        inner = text.startswith(" ")
        holds = read(spans, places) if tab else there if inner else mask
        kind, *words = text.strip().split(" ")
        if inner:
            front: tuple[str, ...] = ("c", own)
        else:
            front = ()
        if kind == "a" or (not inner and kind in _NAMES):
            for word in words:
                yield (*front, kind, word), holds
        elif not inner and kind == "c":
            own, there = words[0], holds
            yield ("c", own), holds
        elif kind == ">":
            yield (kind, words[0], " ".join(words[1:])), holds
        elif kind in ("b", "k"):
            yield (*front, kind, " ".join(words)), holds
        else:
            yield (*front, kind, *words), holds


def write_back(package: str, text: Text) -> str:
    """A text of contents again, of what was read back."""
    names = [release for release, _ in text.releases]
    head = [f"package {package}", f"top {' '.join(text.tops)}", *(f"release {release} {day}".rstrip() for release, day in text.releases)]
    modules = ("\n".join(write_lines(name, mask, items, names)) for name, (mask, items) in sorted(text.modules.items()))
    return "\n".join([*head, *modules]) + "\n"


def _joined(before: Text, after: Text) -> Text:
    shift = len(before.releases)
    joined = Text(tuple(sorted({*before.tops, *after.tops})), [*before.releases, *after.releases])
    for module in {*before.modules, *after.modules}:
        old, ours = before.modules.get(module, (0, {}))
        new, theirs = after.modules.get(module, (0, {}))
        items = dict(ours)
        for item, mask in theirs.items():
            items[item] = items.get(item, 0) | mask << shift
        joined.modules[module] = old | new << shift, items
    return joined
