"""What the releases of a package take from others and do not always find there: uses minus contents.

The text of a package's takes::

    takes peft                                         with the newest release that was read for it, where later ones were added
    bad transformers:HybridCache 5.0.0-                what is taken, and the releases of its provider that lack it
    refuses transformers:Trainer tokenizer= 5.0.0-     a call, and the releases that refuse it
    take 0 peft/utils/x.py 29@0.15.0-0.16.0,31@0.17.0- f guard   what (by the order of the lines above), where, lines by releases, the
                                                       function in whose body it stands (or -), and the condition over it
    entry peft
    7 0.15.0-0.17.1 guard                              a take, by the order of the lines above, that this import reaches
    + transformers:PreTrainedModel 0.3.0- guard        an import of another package that it leads to
    ? tensorboard 0.3.0-0.4.0 guard file:line          a module that no package of the atlas has
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envdoctor.atlas.distributions import top_of, tops_of
from envdoctor.atlas.guards import NEVER, joined
from envdoctor.atlas.masks import stretches, write
from envdoctor.atlas.missing import missing, refused
from envdoctor.atlas.reach import entry_modules, reach
from envdoctor.atlas.signatures import plain_call
from envdoctor.atlas.volume import Volume
from envdoctor.records import dataclass, field
from envdoctor.survey.kept import Kept
from envdoctor.survey.volumes import Gathered


@dataclass(slots=True)
class Shelf:
    """All volumes, and who has a module of a top-level name."""

    volumes: Mapping[str, Volume]
    owners: dict[str, Volume] = field(default_factory=dict)
    memory: dict[tuple[str, str], int] = field(default_factory=dict)

    def owner(self, name: str) -> Volume | None:
        """The package that a full name belongs to."""
        if not self.owners:
            for volume in self.volumes.values():
                for top in tops_of(volume.name, volume.tops):
                    if top not in SHARED:
                        self.owners.setdefault(top, volume)
        return self.owners.get(top_of(name))

    def bad(self, name: str, call: str, *, imported: bool) -> int:
        """The releases of a name's provider that lack it, or refuse a call of it."""
        key = (name, call or ("import" if imported else ""))
        if key not in self.memory:
            volume = self.owner(name)
            self.memory[key] = 0 if volume is None else refused(volume, name, call) if call else missing(volume, name, imported=imported)
        return self.memory[key]


# Folders that several packages put into site-packages.
SHARED = frozenset(
    ("tests", "test", "examples", "docs", "scripts", "benchmarks", "google", "nvidia", "src", "utils", "tools", "bin", "lib", "build")
)


@dataclass(slots=True)
class Taking:
    """One thing that one module takes, over the releases: by line, those in which it stands there."""

    name: str
    call: str
    module: str
    path: str
    guard: str
    where: str
    lines: dict[int, int] = field(default_factory=dict)


def write_takes(found: Gathered, kept: Kept, shelf: Shelf, entries: Iterable[str]) -> Iterator[str]:
    """The text of a package's takes; ``entries`` are the imports whose reach is told: the package, and names that others take from it."""
    volume = shelf.volumes[found.name]
    takings, crossings, unknown = _takings(found, kept, shelf)
    yield f"takes {found.name}"
    bads: dict[tuple[str, str], int] = {}
    for one in takings:
        bads.setdefault((one.name, one.call), len(bads))
    for name, call in bads:
        provider = shelf.owner(name)
        assert provider is not None
        mask = shelf.bad(name, call, imported=":" in name)
        yield f"refuses {name} {call} {write(mask, provider.releases)}" if call else f"bad {name} {write(mask, provider.releases)}"
    for one in takings:
        lines = ",".join(
            f"{line}@{write(mask, found.releases)}".replace(",", ";") for line, mask in sorted(one.lines.items(), key=lambda item: item[1])
        )
        yield f"take {bads[one.name, one.call]} {one.path} {lines} {one.where or '-'} {one.guard}".rstrip()
    by_module: dict[str, list[int]] = {}
    for number, one in enumerate(takings):
        if not one.where:
            by_module.setdefault(one.module, []).append(number)
    bodies: dict[str, list[str]] = {}
    walks: dict[tuple[int, tuple[str, ...]], Walk] = {}
    for entry in entries:
        body = "\n".join(_entry(entry, volume, takings, by_module, crossings, unknown, found, walks))
        if body:
            bodies.setdefault(body, []).append(entry)
    for body, names in bodies.items():
        yield f"entry {' '.join(sorted(names))}"
        yield body


def _takings(
    found: Gathered, kept: Kept, shelf: Shelf
) -> tuple[list[Taking], dict[str, dict[tuple[str, str], int]], dict[str, dict[tuple[str, str, str], int]]]:
    takings: dict[tuple[str, str, str, str, str, str], Taking] = {}
    crossings: dict[str, dict[tuple[str, str], int]] = {}
    unknown: dict[str, dict[tuple[str, str, str], int]] = {}
    for module in sorted(found.files):
        for member, mask in found.files[module].items():
            outline = kept.outline(member)
            if outline is None:
                continue
            for one in outline.taken:
                top = top_of(one.name)
                if top in found.tops or top in tops_of(found.name, found.tops):
                    continue
                provider = shelf.owner(one.name)
                if provider is None:
                    if not one.where and not one.call and "?" not in one.guard.split(" & "):
                        table = unknown.setdefault(module, {})
                        key = (top, one.guard, f"{member.path}:{one.line}")
                        table[key] = table.get(key, 0) | mask
                    continue
                imported = not one.call and (":" in one.name)
                if not one.where and not one.call:
                    crossing = crossings.setdefault(module, {})
                    crossing[one.name, one.guard] = crossing.get((one.name, one.guard), 0) | mask
                plain = plain_call(one.call)
                # Values count only where they make the difference: a call is the same one whatever it passes.
                valued = one.call if one.call != plain and not shelf.bad(one.name, plain, imported=imported) else plain
                for call in {"", valued}:
                    if shelf.bad(one.name, call, imported=imported):
                        key6 = (one.name, call, module, member.path, one.guard, one.where)
                        taking = takings.setdefault(key6, Taking(*key6))
                        taking.lines[one.line] = taking.lines.get(one.line, 0) | mask
    return list(takings.values()), crossings, unknown


@dataclass(frozen=True, slots=True)
class Walk:
    """What the import of some modules leads to in one release."""

    reached: list[tuple[int, str]]
    crossed: list[tuple[str, str]]
    strange: list[tuple[str, str, str]]


def _walk(
    modules: Iterable[str],
    place: int,
    volume: Volume,
    takings: list[Taking],
    by_module: Mapping[str, list[int]],
    crossings: Mapping[str, Mapping[tuple[str, str], int]],
    unknown: Mapping[str, Mapping[tuple[str, str, str], int]],
) -> Walk:
    bit = 1 << place
    reached: list[tuple[int, str]] = []
    crossed: dict[tuple[str, str], None] = {}
    strange: dict[tuple[str, str], str] = {}
    for inner, guard in reach(volume, modules, place).items():
        for number in by_module.get(inner, ()):
            one = takings[number]
            if any(mask & bit for mask in one.lines.values()):
                told = joined(guard, one.guard)
                if told != NEVER:
                    reached.append((number, told))
        for (target, condition), mask in crossings.get(inner, {}).items():
            told = joined(guard, condition)
            if mask & bit and told != NEVER and "?" not in told.split(" & "):
                crossed[target, told] = None
        for (top, condition, stands), mask in unknown.get(inner, {}).items():
            told = joined(guard, condition)
            if mask & bit and told != NEVER:
                strange.setdefault((top, told), stands)
    return Walk(reached, list(crossed), [(top, told, stands) for (top, told), stands in strange.items()])


def _entry(
    entry: str,
    volume: Volume,
    takings: list[Taking],
    by_module: Mapping[str, list[int]],
    crossings: Mapping[str, Mapping[tuple[str, str], int]],
    unknown: Mapping[str, Mapping[tuple[str, str, str], int]],
    found: Gathered,
    walks: dict[tuple[int, tuple[str, ...]], Walk],
) -> Iterator[str]:
    reached: dict[tuple[int, str], int] = {}
    crossed: dict[tuple[str, str], int] = {}
    strange: dict[tuple[str, str, str], int] = {}
    module, _, name = entry.partition(":")
    there = volume.provides(module, name).there if name else volume.has_module(module)
    for first, last in stretches(there):
        for place in range(first, last + 1):
            bit = 1 << place
            key = (place, tuple(entry_modules(volume, entry, place)))
            if key not in walks:
                walks[key] = _walk(key[1], place, volume, takings, by_module, crossings, unknown)
            walk = walks[key]
            for number, guard in walk.reached:
                reached[number, guard] = reached.get((number, guard), 0) | bit
            for crossing in walk.crossed:
                crossed[crossing] = crossed.get(crossing, 0) | bit
            for one in walk.strange:
                strange[one] = strange.get(one, 0) | bit
    for (number, guard), mask in sorted(reached.items()):
        yield f"{number} {write(mask, found.releases)} {guard}".rstrip()
    for (target, guard), mask in sorted(crossed.items()):
        yield f"+ {target} {write(mask, found.releases)} {guard}".rstrip()
    for (top, guard, place_), mask in sorted(strange.items()):
        yield f"? {top} {write(mask, found.releases)} {place_} {guard}".rstrip()
