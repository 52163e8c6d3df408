"""``dataclass`` as the standard library has it, for the slotted classes that are made at every start.

The library compiles up to eight functions for each class, and imports ``inspect`` to do so: for the classes of one check that took a third
of it. Here all classes share theirs, which go by the names of the fields. What asks for the library's own fields still finds them, and
the library is the oracle of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

_T = TypeVar("_T")
_MISSING: Any = object()


class _Field:
    __slots__ = ("compare", "default", "factory", "init", "repr")

    def __init__(self, default: Any, factory: Callable[[], Any] | None, *, init: bool, repr: bool, compare: bool) -> None:
        self.default, self.factory, self.init, self.repr, self.compare = default, factory, init, repr, compare

    def value(self) -> Any:
        """What the field is where nobody says."""
        return self.default if self.factory is None else self.factory()

    @property
    def has_value(self) -> bool:
        return self.default is not _MISSING or self.factory is not None


def _field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] | None = None,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> Any:
    return _Field(default, default_factory, init=init, repr=repr, compare=compare)


def _dataclass(*, frozen: bool = False, slots: bool, eq: bool = True) -> Callable[[type[_T]], type[_T]]:
    assert slots, "without slots: the library's"
    return lambda cls: _made(cls, frozen=frozen, eq=eq)


def _replace(one: _T, /, **changes: Any) -> _T:
    fields = getattr(one, "_fields_of_record", None)
    if fields is None:
        from dataclasses import replace as of_the_library

        return of_the_library(one, **changes)  # type: ignore[type-var]
    values = [changes.pop(name) if name in changes else getattr(one, name) for name, field_ in fields.items() if field_.init]
    return type(one)(*values, **changes)


def _made(cls: type[Any], *, frozen: bool, eq: bool) -> type[Any]:
    """The class with slots for its fields, and with the methods that it does not have itself."""
    inherited = getattr(cls, "_fields_of_record", {})
    defaults = {name: cls.__dict__.get(name, _MISSING) for name in cls.__annotations__}
    own = {
        name: default if isinstance(default, _Field) else _Field(default, None, init=True, repr=True, compare=True)
        for name, default in defaults.items()
    }
    fields: dict[str, _Field] = {**inherited, **own}
    namespace = {name: value for name, value in cls.__dict__.items() if name not in own and name not in ("__dict__", "__weakref__")}
    namespace["__slots__"] = tuple(name for name in own if name not in inherited)
    namespace["_fields_of_record"] = fields
    namespace["__dataclass_fields__"] = _LibraryFields()
    namespace.setdefault("__match_args__", tuple(name for name, one in fields.items() if one.init))
    namespace.setdefault("__repr__", _repr)
    if eq:
        values = _values([name for name, one in fields.items() if one.compare])
        namespace.setdefault("__eq__", _equality(values))
        namespace["__hash__"] = (lambda self: hash(values(self))) if frozen else None
    if frozen:
        namespace |= {"__setattr__": _refuse, "__delattr__": _refuse, "__getstate__": _state, "__setstate__": _restore}
    metaclass: Any = type(cls)
    made: type[Any] = metaclass(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    if "__init__" not in namespace:
        init = _initialiser(made, fields)
        init.__name__, init.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
        type.__setattr__(made, "__init__", init)
    return made


def _initialiser(cls: type[Any], fields: Mapping[str, _Field]) -> Callable[..., None]:
    taken = {name: one for name, one in fields.items() if one.init}
    puts = [getattr(cls, name).__set__ for name in taken]
    others = [(getattr(cls, name).__set__, one) for name, one in fields.items() if not one.init and one.has_value]
    after = getattr(cls, "__post_init__", None)
    if len(puts) < len(_OF_SO_MANY) and not others and after is None and not any(one.factory for one in taken.values()):
        return _named(_OF_SO_MANY[len(puts)](*puts), taken)

    def init(self: Any, *args: Any, **named: Any) -> None:
        for put, value in zip(puts, _arguments(cls, taken, args, named), strict=True):
            put(self, value)
        for put, one in others:
            put(self, one.value())
        if after is not None:
            after(self)

    return init


# A function for each number of fields: to set them one by one is what costs least. What sets a field returns None.
_OF_SO_MANY: tuple[Callable[..., Callable[..., None]], ...] = (
    lambda: lambda _: None,
    lambda a: lambda _, u: a(_, u),
    lambda a, b: lambda _, u, v: a(_, u) or b(_, v),
    lambda a, b, c: lambda _, u, v, w: a(_, u) or b(_, v) or c(_, w),
    lambda a, b, c, d: lambda _, u, v, w, x: a(_, u) or b(_, v) or c(_, w) or d(_, x),
    lambda a, b, c, d, e: lambda _, u, v, w, x, y: a(_, u) or b(_, v) or c(_, w) or d(_, x) or e(_, y),
    lambda a, b, c, d, e, f: lambda _, u, v, w, x, y, z: a(_, u) or b(_, v) or c(_, w) or d(_, x) or e(_, y) or f(_, z),
    lambda a, b, c, d, e, f, g: lambda _, t, u, v, w, x, y, z: a(_, t) or b(_, u) or c(_, v) or d(_, w) or e(_, x) or f(_, y) or g(_, z),
    lambda a, b, c, d, e, f, g, h: (
        lambda _, s, t, u, v, w, x, y, z: a(_, s) or b(_, t) or c(_, u) or d(_, v) or e(_, w) or f(_, x) or g(_, y) or h(_, z)
    ),
)


def _named(function: Callable[..., None], fields: Mapping[str, _Field]) -> Callable[..., None]:
    """The function with parameters that have the names and the defaults of the fields."""
    function.__code__ = function.__code__.replace(co_varnames=("self", *fields))
    function.__defaults__ = tuple(one.default for one in fields.values() if one.has_value)
    return function


def _arguments(cls: type[Any], fields: Mapping[str, _Field], args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The value of every field, in order.

    Raises:
        TypeError: as a function of these parameters would.
    """
    if len(args) > len(fields):
        raise TypeError(f"{cls.__qualname__}.__init__() takes {len(fields) + 1} positional arguments but {len(args) + 1} were given")
    values = list(args)
    for name in tuple(fields)[len(args) :]:
        if name in named:
            values.append(named.pop(name))
        elif fields[name].has_value:
            values.append(fields[name].value())
        else:
            raise TypeError(f"{cls.__qualname__}.__init__() missing a required argument: {name!r}")
    for name in named:
        how = "multiple values for" if name in fields else "an unexpected keyword"
        raise TypeError(f"{cls.__qualname__}.__init__() got {how} argument {name!r}")
    return tuple(values)


def _values(names: Sequence[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()


def _equality(values: Callable[[Any], Any]) -> Callable[[Any, object], Any]:
    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, one in self._fields_of_record.items() if one.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, *value: Any) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self._fields_of_record]


def _restore(self: Any, state: Sequence[Any]) -> None:
    for name, value in zip(self._fields_of_record, state, strict=True):
        object.__setattr__(self, name, value)


def _given(default: Any) -> Callable[[], Any]:
    return lambda: default


class _LibraryFields:
    """What `dataclasses.fields`, `replace` and `asdict` go by, made where somebody asks."""

    def __get__(self, _: Any, cls: type[Any]) -> Any:
        import dataclasses

        rows = []
        for name, one in cls._fields_of_record.items():
            # Up to Python 3.11 the library takes a default without a hash for one that changes, a mapping that is only read among them.
            default = {"default_factory": one.factory} if one.factory else {}
            if one.default is not _MISSING:
                default = {"default": one.default} if one.default.__class__.__hash__ else {"default_factory": _given(one.default)}
            rows.append((name, Any, dataclasses.field(**default, init=one.init, repr=one.repr, compare=one.compare)))
        found = dataclasses.make_dataclass(cls.__name__, rows).__dataclass_fields__  # type: ignore[attr-defined]
        type.__setattr__(cls, "__dataclass_fields__", found)
        return found


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass, field, replace = _dataclass, _field, _replace

__all__ = ["dataclass", "field", "replace"]
