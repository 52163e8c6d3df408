"""A package of the atlas with one release more: the one that is installed, as its own source tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from envdoctor.atlas.binding import Bound
from envdoctor.atlas.installed import Source
from envdoctor.atlas.outline import Kind, Outline
from envdoctor.atlas.volume import Chunk, Sheet, Volume, parse_chunk

AS_INSTALLED = "+installed"
_Key = TypeVar("_Key")


class Layered(Bound):
    """A package whose ``release`` is what its source says; with ``whole`` all of it, otherwise the files that were edited."""

    def __init__(self, below: Bound, release: str, source: Source, *, whole: bool) -> None:
        self._below = below
        self.source = source
        self.volume = LayeredVolume(below, release, source, whole=whole)

    def names(self) -> list[str]:
        return self._below.names()

    def chunk(self, name: str) -> str | None:
        return self._below.chunk(name)

    def modules(self, having: str, *, keep: bool = True) -> Iterator[tuple[str, str]]:
        return self._below.modules(having, keep=keep)


class LayeredVolume(Volume):
    """The releases of the atlas, and among them in its order the one that is installed."""

    def __init__(self, below: Bound, release: str, source: Source, *, whole: bool) -> None:
        old = below.volume
        self.name, self.tops = old.name, old.tops
        # What was changed stands beside the release that it was.
        label = f"{release}{AS_INSTALLED}" if release in old.places else release
        self.releases = tuple(_with(old.releases, label))
        days = dict(zip(old.releases, old.days, strict=True))
        self.days = [days.get(one, "") for one in self.releases]
        self.places = {one: place for place, one in enumerate(self.releases)}
        self.all = (1 << len(self.releases)) - 1
        self.standing = self.places[label]
        self._text = below.chunk
        self._chunks = {}
        self._source, self._whole, self._bit = source, whole, 1 << self.standing
        self._like = 1 << self.places[release] if label != release else 0

    def _parsed(self, module: str) -> Chunk | None:
        file = self._source.file(module)
        ours = self._whole or (file is not None and self._source.is_edited(file))
        text = self._text(module)
        below = None if text is None else parse_chunk(text, self.places, self._without if ours else self._as_released)
        own = self._own(module, file) if ours else None
        return _merged(below, own) if below is not None and own is not None else own or below

    def _without(self, mask: int) -> int:
        return mask & ~self._bit

    def _as_released(self, mask: int) -> int:
        return (mask & ~self._bit) | (self._bit if mask & self._like else 0)

    def _own(self, module: str, file: str | None) -> Chunk | None:
        compiled = self._source.is_compiled(module)
        if file is None:
            there = compiled or self._source.is_folder(module)
            return Chunk(self._bit, open=self._bit if compiled else 0) if there else None
        outline = self._source.outline(module)
        if outline is None:
            return Chunk(self._bit, open=self._bit)
        chunk = chunk_of(outline, module, self.tops, self._bit)
        if outline.structure is not None:
            for name, target in self._source.exports(module, outline.structure[0]).items():
                chunk.links.setdefault(name, {})[target] = self._bit
                chunk.lazy.setdefault(name, {})[target] = self._bit
        # A stub of a compiled module lists what its makers thought of; those of torch are made from the code itself.
        if compiled and not (file.endswith(".pyi") and module.startswith("torch._C")):
            chunk.open = self._bit
        return chunk


def _with(releases: Sequence[str], release: str) -> list[str]:
    from packaging.version import Version

    return sorted([*releases, release], key=Version)


def chunk_of(outline: Outline, module: str, tops: tuple[str, ...], bit: int) -> Chunk:
    """A module of one release, out of its outline."""
    chunk = Chunk(bit)
    chunk.names = dict.fromkeys(outline.names, bit)
    for name, target in outline.links.items():
        if target.partition(".")[0].partition(":")[0] in tops:
            chunk.links.setdefault(name, {})[target] = bit
        else:
            chunk.names[name] = bit
    for name, target in (*outline.lazy.items(), *((old, f"={module}.{new}") for old, new in outline.aliases.items())):
        chunk.links.setdefault(name, {})[target] = bit
        chunk.lazy.setdefault(name, {})[target] = bit
    chunk.functions = {name: {signature: bit} for name, signature in outline.functions.items()}
    chunk.stars = dict.fromkeys(outline.stars, bit)
    chunk.expired = dict.fromkeys(outline.expired, bit)
    if "__getattr__" in outline.functions or (outline.open and not outline.lazy and outline.structure is None):
        chunk.open = bit
    chunk.classes = {name: _sheet(kind, bit) for name, kind in outline.classes.items()}
    return chunk


def _sheet(kind: Kind, bit: int) -> Sheet:
    sheet = Sheet(
        bit, {tuple(kind.bases): bit}, {tuple(kind.decorators): bit} if kind.decorators else {}, dynamic=bit if kind.dynamic else 0
    )
    for member, value in kind.members.items():
        if value in ("", "p"):
            sheet.attributes[member] = bit
        else:
            sheet.methods[member] = {value: bit}
    return sheet


def _merged(below: Chunk, own: Chunk) -> Chunk:
    found = Chunk(below.mask | own.mask, imports=below.imports, open=below.open | own.open)
    found.names, found.stars, found.expired = (
        _joined(one, other) for one, other in ((below.names, own.names), (below.stars, own.stars), (below.expired, own.expired))
    )
    found.functions, found.links, found.lazy = (
        _nested(one, other) for one, other in ((below.functions, own.functions), (below.links, own.links), (below.lazy, own.lazy))
    )
    found.classes = {**below.classes, **own.classes}
    for name in below.classes.keys() & own.classes.keys():
        found.classes[name] = _one_sheet(below.classes[name], own.classes[name])
    return found


def _one_sheet(below: Sheet, own: Sheet) -> Sheet:
    return Sheet(
        below.mask | own.mask, _joined(below.bases, own.bases), _joined(below.decorators, own.decorators),
        _joined(below.attributes, own.attributes), _nested(below.methods, own.methods), below.dynamic | own.dynamic,
    )  # fmt: skip


def _joined(one: Mapping[_Key, int], other: Mapping[_Key, int]) -> dict[_Key, int]:
    found = dict(one)
    for key, mask in other.items():
        found[key] = found.get(key, 0) | mask
    return found


def _nested(one: Mapping[str, dict[str, int]], other: Mapping[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    found = dict(one)
    for key, table in other.items():
        found[key] = _joined(found.get(key, {}), table)
    return found
