"""What is kept of Python source: names, classes, signatures, and what methods call and read."""

from __future__ import annotations

from envdoctor.records import dataclass, field

DISPLAYS = frozenset(("list", "tuple", "set", "dict", "str"))


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a function, a bound method's own first one left out.

    ``positional`` may be given by position, the first ``only`` of them in no other way; the first ``required`` have
    no default. ``keywords`` are keyword-only, ``needed`` those of them without a default. ``stars`` counts 1 for
    ``*args`` and 2 for ``**kwargs``.
    """

    positional: tuple[str, ...] = ()
    required: int = 0
    only: int = 0
    keywords: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    stars: int = 0

    def refusal(self, arguments: Arguments) -> str | None:
        """Why a call raises TypeError, in words; None where it does not, or where that cannot be told."""
        if not self.stars & 2:
            known = {*self.positional[self.only :], *self.keywords}
            strange = [name for name in arguments.keywords if name not in known]
            if strange:
                return f"does not accept {', '.join(strange)}"
        if not self.stars & 1 and arguments.count > len(self.positional):
            return f"takes {len(self.positional)} arguments by position and is given {arguments.count}"
        if arguments.stars == 0 and not arguments.partial:
            given = set(arguments.keywords)
            wanted = [
                name
                for place, name in enumerate(self.positional[: self.required])
                if place >= arguments.count and (place < self.only or name not in given)
            ]
            wanted += [name for name in self.needed if name not in given]
            if wanted:
                return f"needs {', '.join(wanted)}, which is not given"
        return None


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call passes: how many by position, which by name, and 1 for ``*`` and 2 for ``**``."""

    count: int = 0
    keywords: tuple[str, ...] = ()
    stars: int = 0
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """One ``owner.name`` in the body of a method.

    ``owner`` is ``self``, ``super``, ``self.config``, a name of the module or of the function. ``arguments`` are those of
    a call. ``via`` is the attribute that is asked of the value at once: ``keys`` in ``self.tied.keys()``.
    ``guarded``: under a test or a ``try`` that reckons with its absence. ``conditional``: on some branch only.
    ``result`` says of a call what becomes of its value: ``whole``, ``unpacked``, ``indexed`` or nothing known.
    """

    method: str
    owner: str
    name: str
    line: int
    guarded: bool = False
    conditional: bool = False
    arguments: Arguments | None = None
    via: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True)
class Store:
    """``self.name = ...`` in a method."""

    method: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Method:
    """A function of a class, or of a module.

    ``kind``: method, property, classmethod, staticmethod; empty where a decorator hides the signature.
    ``returns``: the length of the tuple that every ``return`` gives, 0 where they differ or give none.
    """

    name: str
    line: int
    kind: str
    signature: Signature
    returns: int = 0


@dataclass(slots=True)
class ClassShape:
    """One class: ``attributes`` are assigned in its body (to what kind of display), ``stores`` in its methods.

    ``dynamic`` says that attributes are set whose names are not in the source; ``strings`` are then the texts that they
    may come from.
    """

    name: str
    line: int
    bases: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    methods: dict[str, Method] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    stores: list[Store] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    dynamic: bool = False
    strings: frozenset[str] = frozenset()

    def members(self) -> set[str]:
        return {*self.methods, *self.attributes, *(store.name for store in self.stores)}


@dataclass(slots=True)
class ModuleShape:
    """One module of a library.

    ``names`` are bound at its top level: to ``""``, or to ``module:name`` for what is imported, or ``=name`` for another
    name. ``stars`` are the modules of which all is imported. ``lazy`` are the names that a ``_LazyModule`` gives, by
    submodule; ``structure`` are the folders whose files say theirs in ``__all__``. ``aliases`` are old names of
    submodules. ``open`` says that other names may exist as well.
    """

    names: dict[str, str] = field(default_factory=dict)
    stars: tuple[str, ...] = ()
    exported: tuple[str, ...] | None = None
    lazy: dict[str, list[str]] = field(default_factory=dict)
    structure: tuple[str, ...] | None = None
    aliases: dict[str, str] = field(default_factory=dict)
    open: bool = False
    classes: dict[str, ClassShape] = field(default_factory=dict)
    functions: dict[str, Method] = field(default_factory=dict)


# --- as plain JSON -------------------------------------------------------------------------------


def pack(module: ModuleShape) -> list[object]:
    """A module as JSON holds it."""
    return [
        module.names, list(module.stars), None if module.exported is None else list(module.exported), module.lazy,
        None if module.structure is None else list(module.structure), module.aliases, module.open,
        [_pack_class(cls) for cls in module.classes.values()], [_pack_method(item) for item in module.functions.values()],
    ]  # fmt: skip


def _pack_class(cls: ClassShape) -> list[object]:
    return [
        cls.name, cls.line, list(cls.bases), list(cls.decorators), [_pack_method(item) for item in cls.methods.values()], cls.attributes,
        [[store.method, store.name, store.line] for store in cls.stores], [_pack_use(use) for use in cls.uses],
        cls.dynamic, sorted(cls.strings),
    ]  # fmt: skip


def _pack_method(item: Method) -> list[object]:
    told = item.signature
    return [
        item.name, item.line, item.kind, item.returns, list(told.positional), told.required, told.only, list(told.keywords),
        list(told.needed), told.stars,
    ]  # fmt: skip


def _pack_use(use: Use) -> list[object]:
    given = use.arguments
    call = None if given is None else [given.count, list(given.keywords), given.stars, given.partial]
    return [use.method, use.owner, use.name, use.line, use.guarded, use.conditional, call, use.via, use.result]


class DamagedError(ValueError):
    """Stored text that is not what ``pack`` wrote."""


def unpack(data: object) -> ModuleShape:
    """The module that ``pack`` made.

    Raises:
        DamagedError: the data is anything else.
    """
    names, stars, exported, lazy, structure, aliases, is_open, classes, functions = _row(data, 9)
    return ModuleShape(
        _texts_by_name(names), _texts(stars), None if exported is None else _texts(exported),
        {key: list(_texts(value)) for key, value in _table(lazy).items()}, None if structure is None else _texts(structure),
        _texts_by_name(aliases), _flag(is_open), {cls.name: cls for cls in map(_unpack_class, _rows(classes))},
        {item.name: item for item in map(_unpack_method, _rows(functions))},
    )  # fmt: skip


def _unpack_class(data: object) -> ClassShape:
    name, line, bases, decorators, methods, attributes, stores, uses, dynamic, strings = _row(data, 10)
    return ClassShape(
        _text(name), _number(line), _texts(bases), _texts(decorators), {item.name: item for item in map(_unpack_method, _rows(methods))},
        _texts_by_name(attributes), [_unpack_store(item) for item in _rows(stores)], [_unpack_use(item) for item in _rows(uses)],
        _flag(dynamic), frozenset(_texts(strings)),
    )  # fmt: skip


def _unpack_store(data: object) -> Store:
    method, name, line = _row(data, 3)
    return Store(_text(method), _text(name), _number(line))


def _unpack_method(data: object) -> Method:
    name, line, kind, returns, positional, required, only, keywords, needed, stars = _row(data, 10)
    told = Signature(_texts(positional), _number(required), _number(only), _texts(keywords), _texts(needed), _number(stars))
    return Method(_text(name), _number(line), _text(kind), told, _number(returns))


def _unpack_use(data: object) -> Use:
    method, owner, name, line, guarded, conditional, call, via, result = _row(data, 9)
    given = None
    if call is not None:
        count, keywords, stars, partial = _row(call, 4)
        given = Arguments(_number(count), _texts(keywords), _number(stars), _flag(partial))
    return Use(
        _text(method), _text(owner), _text(name), _number(line), _flag(guarded), _flag(conditional), given, _text(via), _text(result)
    )


def _rows(data: object) -> list[object]:
    if not isinstance(data, list):
        raise DamagedError("no list")
    return data


def _row(data: object, length: int) -> list[object]:
    rows = _rows(data)
    if len(rows) != length:
        raise DamagedError(f"{len(rows)} fields where {length} belong")
    return rows


def _table(data: object) -> dict[str, object]:
    if not isinstance(data, dict):
        raise DamagedError("no table")
    return data


def _text(data: object) -> str:
    if not isinstance(data, str):
        raise DamagedError("no text")
    return data


def _number(data: object) -> int:
    if not isinstance(data, int):
        raise DamagedError("no number")
    return data


def _flag(data: object) -> bool:
    if not isinstance(data, bool):
        raise DamagedError("neither true nor false")
    return data


def _texts(data: object) -> tuple[str, ...]:
    return tuple(map(_text, _rows(data)))


def _texts_by_name(data: object) -> dict[str, str]:
    return {key: _text(value) for key, value in _table(data).items()}
