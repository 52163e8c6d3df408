"""What a package takes from others and does not always find there, as it is looked up: ``survey/takes.py`` has the form of the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from envdoctor.atlas.binding import Bound
from envdoctor.atlas.masks import read
from envdoctor.atlas.numbered import PAGE, numbers_in
from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class Take:
    """Something taken. ``bad`` are the releases of its provider that lack it, as text; ``call`` what is passed, if that is refused."""

    name: str
    call: str
    bad: str
    path: str
    lines: str
    where: str
    guard: str


@dataclass(frozen=True, slots=True)
class Reached:
    """One line of an entry: ``kind`` is a take, ``+`` another package's import or ``?`` a module of no package of the atlas."""

    kind: str
    name: str
    take: int
    mask: int
    guard: str
    place: str = ""


def _until(newest: Sequence[str], places: Mapping[str, int]) -> Mapping[str, int]:
    """The releases that a text of takes tells of: of those that were added since only the contents are known."""
    return {release: place for release, place in places.items() if place <= places[newest[0]]} if newest else places


def module_at(path: str) -> str:
    """The module that a file of a release is."""
    return path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Takes:
    """The takes of one package."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        head, _, rest = (bound.chunk("@@takes") or "").partition("\n")
        self._places = _until(head.split(" ")[2:], bound.volume.places)
        bads, _, takes = rest.partition("\ntake ")  # what is taken stands before where it is taken
        self._bads = bads.split("\n")
        self._takes = takes.rstrip("\n").split("\ntake ") if takes else []
        self._modules: dict[str, list[int]] | None = None
        self._reached: dict[int, Reached] = {}
        self._pages: dict[int, list[str]] = {}
        self._masks: dict[str, int] = {}
        self.numbers = lru_cache(maxsize=None)(self._numbers)

    def take(self, number: int) -> Take:
        """A take by its number."""
        bad, path, lines, where, *guard = self._takes[number].split(" ", 4)
        kind, name, *rest = self._bads[int(bad)].split(" ")
        return Take(
            name, rest[0] if kind == "refuses" else "", rest[-1], path, lines, "" if where == "-" else where, guard[0] if guard else ""
        )

    def lacking(self) -> Iterator[tuple[str, str]]:
        """All that is taken somewhere and is not in every release of its provider, with those that lack it, as text."""
        for line in self._bads:
            _, *parts = line.split(" ")
            if parts:
                yield parts[0], parts[-1]

    def by_module(self) -> dict[str, list[int]]:
        """The takes of every module, by its full name."""
        if self._modules is None:
            self._modules = {}
            for number, line in enumerate(self._takes):
                self._modules.setdefault(module_at(line.split(" ", 2)[1]), []).append(number)
        return self._modules

    def in_function(self, name: str) -> Iterator[int]:
        """The takes of the body of a function."""
        for number, line in enumerate(self._takes):
            if line.split(" ", 4)[3] == name:
                yield number

    def entry(self, name: str) -> tuple[Reached, ...] | None:
        """What an import leads to; None for one that the atlas did not follow."""
        numbers = self.numbers(name)
        return None if numbers is None else tuple(map(self.line, numbers))

    def _numbers(self, name: str) -> tuple[int, ...] | None:
        """The numbers of the lines of an entry, rising; None for an import that the atlas did not follow."""
        text = self._bound.chunk(f"@{name}")
        return None if text is None else tuple(numbers_in(text.partition("\n")[2]))

    def line(self, number: int) -> Reached:
        """A line of the entries by its number: most stand in many of them."""
        found = self._reached.get(number)
        if found is None:
            kind, name, mask, guard, place = self.parsed(number)
            take = int(kind) if kind.isdigit() else -1
            found = self._reached[number] = Reached("take" if take >= 0 else kind, name, take, mask, guard, place)
        return found

    def pages(self) -> Iterator[str]:
        """The lines of all entries, page by page."""
        number = 0
        while (page := self._bound.chunk(f"@@lines{number}")) is not None:
            yield page
            number += 1

    def parsed(self, number: int) -> tuple[str, str, int, str, str]:
        """The parts of a line of the entries: its kind or the number of its take, a name, its releases, its condition, its place."""
        page, at = divmod(number, PAGE)
        if page not in self._pages:
            self._pages[page] = (self._bound.chunk(f"@@lines{page}") or "").split("\n")[1:]
        place = name = guard = ""
        kind, _, rest = self._pages[page][at].partition(" ")
        if kind == "+":
            name, _, rest = rest.partition(" ")
            spans, _, guard = rest.partition(" ")
        elif kind == "?":
            name, spans, place, *guards = rest.split(" ", 3)
            guard = guards[0] if guards else ""
        else:
            spans, _, guard = rest.partition(" ")
        mask = self._masks.get(spans)
        if mask is None:
            mask = self._masks[spans] = read(spans, self._places)
        return kind, name, mask, guard, place

    def mask_of(self, spans: str) -> int:
        """The releases of a text of spans, as a mask over those of the package."""
        return read(spans, self._places)

    def line_of(self, take: Take, place: int) -> int:
        """The line on which a take stands in a release; 0 where it does not."""
        for part in take.lines.split(","):
            line, _, spans = part.partition("@")
            if read(spans.replace(";", ","), self._places) >> place & 1:
                return int(line)
        return 0
