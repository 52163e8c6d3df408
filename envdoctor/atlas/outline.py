"""What one Python file of a release holds: what it binds, what it takes from other modules, and what it says when it refuses.

An outline is plain JSON, because builders keep it by the file's checksum: a file that two releases share is read once.
"""

from __future__ import annotations

from envdoctor.records import dataclass, field

FORMAT = 3
# Changes when the same source is read otherwise: what was read of an installed package is then read anew, what a build has kept stands.
READING = 6


@dataclass(frozen=True, slots=True)
class Taken:
    """Something of another module.

    ``name`` is the full dotted name, with ``:`` before what an ``import from`` takes (``transformers.utils:is_x``), and with nothing
    after the module for ``import a.b``. ``guard`` is the condition over it, ``where`` the function in whose body it stands (empty: it
    happens when the module is imported), ``call`` what is passed, where it is called.
    """

    name: str
    line: int
    guard: str = ""
    where: str = ""
    call: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """One message: ``kind`` is the exception that carries it, ``warn``, or the level of a log; ``{}`` stands for what is filled in."""

    kind: str
    text: str
    where: str
    line: int
    condition: str = ""


@dataclass(slots=True)
class Kind:
    """A class: ``bases`` as full names, ``members`` by name with the signatures of methods (empty for attributes)."""

    bases: list[str] = field(default_factory=list)
    members: dict[str, str] = field(default_factory=dict)
    dynamic: bool = False
    decorators: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Outline:
    """One module. ``names`` are bound to nothing known, ``links`` to the full name of something else, ``functions`` to signatures.

    ``lazy`` are the names that are given on request, with the module they are taken from; ``open``: it may have any other name too.
    ``given`` are names that it puts into other modules of its package.
    """

    names: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    classes: dict[str, Kind] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    lazy: dict[str, str] = field(default_factory=dict)
    structure: list[str] | None = None
    listed: list[str] | None = None
    exported: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    expired: list[str] = field(default_factory=list)
    open: bool = False
    taken: list[Taken] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    given: list[str] = field(default_factory=list)


def pack(outline: Outline) -> list[object]:
    """An outline as JSON holds it."""
    return [
        outline.names, outline.links, outline.functions,
        {name: [kind.bases, kind.members, int(kind.dynamic), kind.decorators] for name, kind in outline.classes.items()},
        outline.stars, outline.lazy, outline.structure, outline.listed, outline.exported, outline.aliases, outline.expired,
        int(outline.open),
        [[one.name, one.line, one.guard, one.where, one.call] for one in outline.taken],
        [[one.kind, one.text, one.where, one.line, one.condition] for one in outline.said],
        outline.given,
    ]  # fmt: skip


def unpack(data: list) -> Outline:  # type: ignore[type-arg]
    """The outline that ``pack`` made, of a file that only this user could write."""
    names, links, functions, classes, stars, lazy, structure, listed, exported, aliases, expired, opened, taken, said, given = data
    return Outline(
        names, links, functions, {name: Kind(row[0], row[1], bool(row[2]), row[3]) for name, row in classes.items()},
        stars, lazy, structure, listed, exported, aliases, expired, bool(opened),
        [Taken(*row) for row in taken], [Said(*row) for row in said], given,
    )  # fmt: skip
