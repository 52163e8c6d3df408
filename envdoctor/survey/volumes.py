"""The text of a volume, out of the outlines of a package's releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from packaging.version import Version

from envdoctor.atlas.masks import write
from envdoctor.atlas.outline import Outline
from envdoctor.records import dataclass, field
from envdoctor.survey.archives import Member
from envdoctor.survey.fetching import module_of
from envdoctor.survey.kept import Kept
from envdoctor.survey.packages import BRIEF

Items = dict[tuple[str, ...], int]


@dataclass(slots=True)
class Gathered:
    """A package over its releases: ``modules`` with the releases that have them, ``files`` with the releases that have this content."""

    name: str
    releases: Sequence[str]
    days: Sequence[str]
    tops: tuple[str, ...] = ()
    modules: dict[str, int] = field(default_factory=dict)
    files: dict[str, dict[Member, int]] = field(default_factory=dict)
    compiled: dict[str, int] = field(default_factory=dict)
    packages: set[str] = field(default_factory=set)


def gather(name: str, kept: Kept, only: Sequence[str] = ()) -> Gathered:
    """Which release has which module, in which content; ``only`` are the releases to look at, all where none are named."""
    days = kept.releases(name)
    releases = sorted(only or days, key=Version)
    found = Gathered(name, releases, [days[one] for one in releases])
    tops: dict[str, int] = {}
    for place, release in enumerate(releases):
        bit = 1 << place
        sources: dict[str, Member] = {}
        for member in kept.members(name, release):
            module, package = module_of(member.path)
            if package:
                found.packages.add(module)
            tops[module.partition(".")[0]] = tops.get(module.partition(".")[0], 0) + 1
            if member.path.endswith((".so", ".pyd")):
                found.compiled[module] = found.compiled.get(module, 0) | bit
            elif module not in sources or sources[module].path.endswith(".pyi"):
                sources[module] = Member(member.path, member.crc, member.size)
            parent = module.rpartition(".")[0]
            while parent:  # a folder without __init__ can be imported as well
                found.modules[parent] = found.modules.get(parent, 0) | bit
                parent = parent.rpartition(".")[0]
            found.modules[module] = found.modules.get(module, 0) | bit
        for module, member in sources.items():
            contents = found.files.setdefault(module, {})
            contents[member] = contents.get(member, 0) | bit
    found.tops = tuple(sorted(tops))
    return found


def write_volume(found: Gathered, kept: Kept) -> Iterator[str]:
    """The volume's text: its head, then a chunk a module, in the order of their names."""
    head = [f"package {found.name}", f"top {' '.join(found.tops)}"]
    head += [f"release {release} {day}".rstrip() for release, day in zip(found.releases, found.days, strict=True)]
    yield "\n".join(head) + "\n"
    exports, structures = _exports(found, kept)
    lazy = _given(found, kept)
    for module, (base, mask) in structures.items():
        table = lazy.setdefault(module, {})
        prefix = f"{base}."
        for source, names in exports.items():
            if source.startswith(prefix):
                for name, there in names.items():
                    if there & mask:
                        key = ("l", name, f"{source}:{name}")
                        table[key] = table.get(key, 0) | (there & mask)
    for module in sorted(found.modules):
        items: Items = dict(lazy.get(module, {}))
        sourced = 0
        for member, mask in found.files.get(module, {}).items():
            outline = kept.outline(member)
            if outline is None:
                continue
            sourced |= mask
            for item in _items(outline, module, found):
                items[item] = items.get(item, 0) | mask
        unread = found.modules[module] & ~sourced
        compiled = found.compiled.get(module, 0)
        stub = [mask for member, mask in found.files.get(module, {}).items() if member.path.endswith(".pyi")]
        folder = unread & ~compiled if module not in found.files else 0
        # A stub of a compiled module lists what its makers thought of; those of torch are made from the code itself.
        opened = (unread | (compiled & ~(sum(stub) if module.startswith("torch._C") else 0))) & ~folder
        if opened:
            items["o",] = items.get(("o",), 0) | opened
        yield "\n".join(write_lines(module, found.modules[module], items, found.releases)) + "\n"


def _given(found: Gathered, kept: Kept) -> dict[str, Items]:
    """What modules put into others of the package: ``_utils.DownloadConfig = DownloadConfig``."""
    tables: dict[str, Items] = {}
    for contents in found.files.values():
        for member, mask in contents.items():
            outline = kept.outline(member)
            for name in [] if outline is None else outline.given:
                module, _, last = name.rpartition(".")
                if module in found.modules:
                    table = tables.setdefault(module, {})
                    table["n", last] = table.get(("n", last), 0) | (mask & found.modules[module])
    return tables


def _exports(found: Gathered, kept: Kept) -> tuple[dict[str, dict[str, int]], dict[str, tuple[str, int]]]:
    """What modules list in ``__all__``, and which packages give what theirs list; nothing where no package does."""
    structures: dict[str, tuple[str, int]] = {}
    for module in sorted(found.packages):
        for member, mask in found.files.get(module, {}).items():
            outline = kept.outline(member)
            if outline is not None and outline.structure is not None:
                base = f"{module}.{outline.structure[0]}".rstrip(".")
                structures[module] = (base, structures.get(module, (base, 0))[1] | mask)
    exports: dict[str, dict[str, int]] = {}
    if structures:
        bases = tuple({base for base, _ in structures.values()})
        for module, contents in found.files.items():
            if module.startswith(bases):
                names = exports.setdefault(module, {})
                for member, mask in contents.items():
                    outline = kept.outline(member)
                    if outline is not None:
                        marked = [
                            name for name, kind in outline.classes.items() if "requires" in kind.decorators or "export" in kind.decorators
                        ]
                        for name in {*outline.exported, *marked}:
                            names[name] = names.get(name, 0) | mask
    return exports, structures


def _items(outline: Outline, module: str, found: Gathered) -> Iterator[tuple[str, ...]]:
    for name in set(outline.names):
        yield "n", name
    for name, target in outline.links.items():
        if target.partition(".")[0].partition(":")[0] in found.tops:
            yield "i", name, target
        else:
            yield "n", name
    for name, target in outline.lazy.items():
        yield "l", name, target
    for old, new in outline.aliases.items():
        yield "l", old, f"={module}.{new}"
    for name, signature in outline.functions.items():
        yield "f", name, signature
    for star in outline.stars:
        yield "*", star
    for name in outline.expired:
        yield "x", name
    own = "__getattr__" in outline.functions
    if own or (outline.open and not outline.lazy and outline.structure is None):
        yield ("o",)
    for one in outline.taken:
        top = one.name.partition(".")[0].partition(":")[0]
        if not one.where and top in found.tops and ("." in one.name or ":" in one.name or one.name != module) and not one.call:
            source, _, name = one.name.partition(":")
            target = f"{source}.{name}" if f"{source}.{name}" in found.modules else one.name if source in found.packages else source
            if target != module:
                yield ">", target, one.guard
    for name, kind in outline.classes.items():
        yield "c", name
        yield "c", name, "b", " ".join(kind.bases)
        if kind.decorators:
            yield "c", name, "k", " ".join(kind.decorators)
        if kind.dynamic:
            yield "c", name, "d"
        brief = found.name in BRIEF
        if brief and not kind.dynamic:
            yield "c", name, "d"
        for member, value in kind.members.items():
            if brief and member not in ("__init__", "__new__") and value not in ("=", ":"):
                continue
            if value in ("", "p"):
                yield "c", name, "a", member
            else:
                yield "c", name, "m", member, value


def write_lines(module: str, mask: int, items: Items, releases: Sequence[str]) -> Iterator[str]:
    """The chunk of a module."""
    yield f"module {module} {write(mask, releases)}"
    yield from _grouped("n", items, mask, releases)
    yield from _grouped("x", items, mask, releases)
    for item in sorted(item for item in items if item[0] in "fil*o>"):
        yield _line("", item, items[item], mask, releases)
    by_class: dict[str, Items] = {}
    for item, there in items.items():
        if item[0] == "c" and len(item) > 2:
            by_class.setdefault(item[1], {})[item[2:]] = there
    for name in sorted(item[1] for item in items if item[0] == "c" and len(item) == 2):
        there = items["c", name]
        yield _line("", ("c", name), there, mask, releases)
        inner = by_class.get(name, {})
        yield from _grouped(" a", inner, there, releases)
        for item in sorted(item for item in inner if item[0] != "a"):
            yield _line(" ", item, inner[item], there, releases)


def _grouped(kind: str, items: Items, mask: int, releases: Sequence[str]) -> Iterator[str]:
    """Names without more about them: those of all releases in one line, the others in one line for each stretch of releases."""
    letter = kind.strip()
    by_mask: dict[int, list[str]] = {}
    for item, there in items.items():
        if item[0] == letter:
            by_mask.setdefault(there, []).append(item[1])
    for there in sorted(by_mask, key=lambda one: (one != mask, one)):
        yield f"{kind} {' '.join(sorted(by_mask[there]))}" + ("" if there == mask else f"\t{write(there, releases)}")


def _line(indent: str, item: Iterable[str], there: int, mask: int, releases: Sequence[str]) -> str:
    return indent + " ".join(item).rstrip() + ("" if there == mask else f"\t{write(there, releases)}")
