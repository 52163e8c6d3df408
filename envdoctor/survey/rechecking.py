"""The atlas' texts held against themselves again, without the files that they were made from (``scripts/recheck_atlas.py``).

What a package takes was told with the releases that lack it when it was read. Where the contents of these, or the way in which they are
looked up, have become better since, the old answer stands there still: this asks again, drops what nothing lacks, and drops the parts of
packages that are read no more (``UNREAD_PARTS``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from envdoctor.atlas.masks import write
from envdoctor.atlas.missing import UNREAD_PARTS, is_left_out
from envdoctor.survey.adding import read_back, write_back
from envdoctor.survey.takes import Shelf
from envdoctor.survey.writing import read_volumes, write_text


def drop_unread(package: str, path: Path) -> int:
    """Take the parts that are not read any more out of a text of contents; how many modules they had."""
    told = read_back(path.read_text(encoding="utf-8"))
    before = len(told.modules), len(told.tops)
    told.modules = {name: entry for name, entry in told.modules.items() if not is_left_out(package, name)}
    told.tops = tuple(top for top in told.tops if not is_left_out(package, top))
    if (len(told.modules), len(told.tops)) != before:
        write_text(path, write_back(package, told))
    return before[0] - len(told.modules)


def recheck_takes(package: str, lines: Sequence[str], shelf: Shelf) -> Iterator[str]:
    """A text of takes with the releases that lack each thing today, without what none lacks and what stands in a part that is not read."""
    yield lines[0]
    bads: list[int | None] = []
    takes: list[int | None] = []
    entry: list[str] = []
    written = 0
    for line in lines[1:]:
        kind, _, rest = line.partition(" ")
        if kind in ("bad", "refuses"):
            name, call = rest.split(" ")[0], rest.split(" ")[1] if kind == "refuses" else ""
            provider = shelf.owner(name)
            mask = 0 if provider is None else shelf.bad(name, call, imported=not call and ":" in name)
            bads.append(written if mask else None)
            written += bool(mask)
            if provider is not None and mask:
                yield " ".join(filter(None, (kind, name, call, write(mask, provider.releases))))
        elif kind == "take":
            number, path, after = rest.split(" ", 2)
            now = bads[int(number)]
            left = now is None or is_left_out(package, path.removesuffix(".py").replace("/", "."))
            takes.append(None if left else sum(one is not None for one in takes))
            if not left:
                yield f"take {now} {path} {after}"
        elif kind == "entry":
            yield from _whole(entry)
            entry = [line]
        elif kind in ("+", "?"):
            entry.append(line)
        else:
            now = takes[int(kind)]
            entry += [f"{now} {rest}"] if now is not None else []
    yield from _whole(entry)


def _whole(entry: Sequence[str]) -> Sequence[str]:
    return entry if len(entry) > 1 else ()


def recheck(atlas: Path) -> Iterator[str]:
    """Put an atlas right in place; what changed, in words."""
    for package in UNREAD_PARTS:
        path = atlas / package / "contents.txt"
        dropped = drop_unread(package, path) if path.exists() else 0
        if dropped:
            yield f"{package}: {dropped} modules dropped"
    shelf = Shelf(read_volumes(atlas))
    for path in sorted(atlas.glob("*/takes.txt")):
        before = path.read_text(encoding="utf-8").splitlines()
        after = [*recheck_takes(path.parent.name, before, shelf)]
        if after != before:
            write_text(path, "\n".join(after) + "\n")
            yield f"{path.parent.name}: {len(before)} -> {len(after)} lines"


__all__ = ["drop_unread", "recheck", "recheck_takes"]
