"""Settings that come from the command line: argparse, HfArgumentParser over dataclasses, fire and typer; each with its default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from envdoctor.records import dataclass
from envdoctor.sources.model.class_tree import Function
from envdoctor.sources.scripts.names import LOCAL, ancestry, dotted, is_from, method
from envdoctor.sources.scripts.outline import Guard, Outline, Scope

_ONE = frozenset(("parse_args", "parse_known_args", "parse_intermixed_args"))
_SEVERAL = frozenset(("parse_args_into_dataclasses", "parse_json_file", "parse_yaml_file", "parse_dict", "parse_args_and_config"))
_PARSERS = frozenset(("HfArgumentParser", "TrlParser", "H4ArgumentParser"))
_KINDS = ("bool", "int", "float", "str")
_PLAIN = re.compile(r"(?:typing\.)?Optional\[(\w+)\]|(\w+)\s*\|\s*None|(\w+)")
_CHANGES = frozenset(("update", "pop", "setdefault", "clear", "popitem"))


@dataclass(frozen=True, slots=True)
class Default:
    """What a setting is where nobody gives it: an expression, or what argparse implies by the action.

    ``kind`` is what a word of the command becomes: ``int``, ``float``, ``str``, ``bool``, ``flag`` for one that stands alone, or "".
    """

    setting: str
    line: int
    value: ast.expr | None
    scope: Scope
    implied: object = None
    has_implied: bool = False
    kind: str = ""


def _kind_of_field(node: ast.ClassDef, attribute: str) -> str:
    """``int`` of ``steps: int``, ``Optional[int]`` and ``int | None``."""
    annotated = (item for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name))
    annotation = next((item.annotation for item in annotated if getattr(item.target, "id", "") == attribute), None)
    found = _PLAIN.fullmatch(ast.unparse(annotation)) if annotation is not None else None
    named = next(filter(None, found.groups()), "") if found is not None else ""
    return named if named in _KINDS else ""


def _kind_of_option(given: Mapping[str, ast.expr], action: object) -> str:
    """What argparse makes of the word: a text unless it is told a type."""
    if action in ("store_true", "store_false"):
        return "flag"
    if "nargs" in given or action not in (None, "store"):
        return ""
    named = ast.unparse(given["type"]) if "type" in given else "str"
    return named if named in ("int", "float", "str") else "bool" if "bool" in named.lower() and named != "bool" else ""


class Namespaces:
    """Which names of a script hold settings of the command line, and their defaults."""

    def __init__(self, found: Outline) -> None:
        self.found = found
        self._options: dict[str, Default | None] = {}
        self._unsure = False
        self._classes: dict[str, set[str]] = {}
        self._argparse: set[str] = set()
        self.entries: set[ast.AST] = set()
        self._stored: set[tuple[str, str]] = set()
        self._keys: dict[str, dict[str, list[Guard | None]]] = {}
        self._changed: set[str] = set()
        self._inner = {id(scope.node): scope for scope in found.scopes}
        self._read_calls()
        self._read_names()
        for store in found.stores:
            if isinstance(store.target, ast.Name):
                self._stored.add((store.target.id, store.key))
                self._keys.setdefault(store.target.id, {}).setdefault(store.key, []).append(store.guard)

    # --- what later statements change ---------------------------------------------------------

    def is_stored(self, node: ast.Attribute) -> bool:
        """Whether some statement assigns this attribute of this name."""
        return isinstance(node.value, ast.Name) and (node.value.id, node.attr) in self._stored

    def is_set(self, name: str, attribute: str) -> bool:
        """The same of an attribute by its name."""
        return (name, attribute) in self._stored

    def keys_set(self, name: str) -> set[str]:
        """Keys and attributes that statements assign on a name; "" among them for one that is no constant."""
        return set(self._keys.get(name, ()))

    def guards_of(self, name: str, key: str) -> list[Guard | None]:
        """What stands over each statement that assigns a key on a name."""
        return self._keys.get(name, {}).get(key, [])

    def is_changed(self, name: str) -> bool:
        """Whether a method that changes a dict is called on a name."""
        return name in self._changed

    # --- settings -----------------------------------------------------------------------------

    def classes(self, name: str) -> set[str]:
        """Dotted names of the dataclasses that a name may be an instance of, filled from the command line."""
        return self._classes.get(name, set())

    def default(self, node: ast.Attribute, scope: Scope) -> Default | None:
        """The default of ``args.name``; None where ``args`` holds no settings, or a statement assigns the attribute."""
        if not isinstance(node.value, ast.Name) or self.is_stored(node):
            return None
        name = node.value.id
        if name in self._argparse and not self._unsure and node.attr in self._options:
            return self._options[node.attr]
        found = [entry for kind in sorted(self._classes.get(name, ())) if (entry := self.field(kind, node.attr)) is not None]
        return found[0] if len(found) == 1 else None

    def field(self, kind: str, attribute: str) -> Default | None:
        """A field of a dataclass of the file, or of a class of the file that it derives from."""
        for name in ancestry(self.found, kind):
            entry = self.found.classes.get(name.removeprefix(f"{LOCAL}.")) if name.startswith(f"{LOCAL}.") else None
            bindings = entry[1].bindings.get(attribute, []) if entry is not None else []
            if bindings and entry is not None:
                value = self.plain_default(bindings[0].value)
                known = len(bindings) == 1 and value is not None
                kind = _kind_of_field(entry[0], attribute)
                return Default(f"--{attribute}", bindings[0].line, value, entry[1], kind=kind) if known else None
        return None

    def fields(self, kind: str) -> dict[str, Default]:
        """All fields with a default that classes of the file give a dataclass."""
        found: dict[str, Default] = {}
        for name in ancestry(self.found, kind):
            entry = self.found.classes.get(name.removeprefix(f"{LOCAL}.")) if name.startswith(f"{LOCAL}.") else None
            for attribute in entry[1].bindings if entry is not None else ():
                default = None if attribute in found else self.field(kind, attribute)
                if default is not None:
                    found[attribute] = default
        return found

    def own_fields(self, kind: str) -> set[str]:
        """The names that the bodies of the file's own classes give a class."""
        bodies = (self.found.classes.get(name.removeprefix(f"{LOCAL}.")) for name in ancestry(self.found, kind) if name.startswith(LOCAL))
        return {attribute for entry in bodies if entry is not None for attribute in entry[1].bindings}

    def plain_default(self, value: ast.expr | None) -> ast.expr | None:
        """The default inside ``field(default=...)``, ``typer.Option(...)`` or a ``default_factory`` that is a lambda."""
        if not isinstance(value, ast.Call) or method(value) not in ("field", "Option", "Argument", "HfArg", "Field"):
            return value
        for keyword in value.keywords:
            if keyword.arg == "default":
                return keyword.value
            if keyword.arg == "default_factory":
                return keyword.value.body if isinstance(keyword.value, ast.Lambda) else None
        first = value.args[0] if value.args else None
        return None if isinstance(first, ast.Constant) and first.value is ... else first

    # --- reading --------------------------------------------------------------------------------

    def _read_calls(self) -> None:
        parsers = 0
        for site in self.found.calls:
            call = site.node
            assert isinstance(call, ast.Call)
            name = method(call)
            if name == "add_argument":
                self._option(call, site.scope)
            elif name == "set_defaults":
                self._unsure = True
            elif name == "ArgumentParser":
                parsers += 1
            elif name in ("Fire", "run") and dotted(self.found, call.func, site.scope) in ("fire.Fire", "typer.run"):
                self._entry(call.args)
            elif name in _CHANGES and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
                self._changed.add(call.func.value.id)
        self._unsure = self._unsure or parsers > 1
        for node, scope in self.found.functions.values():
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and method(decorator) == "command" and self._is_typer(decorator, scope):
                    self.entries.add(node)

    def _is_typer(self, decorator: ast.Call, scope: Scope) -> bool:
        base = decorator.func.value if isinstance(decorator.func, ast.Attribute) else None
        if not isinstance(base, ast.Name):
            return False
        bindings = self.found.module.bindings.get(base.id, [])
        made = bindings[0].value if len(bindings) == 1 else None
        return isinstance(made, ast.Call) and is_from(dotted(self.found, made.func, scope), "typer", "Typer")

    def _entry(self, arguments: Iterable[ast.expr]) -> None:
        for argument in arguments:
            if isinstance(argument, ast.Name) and argument.id in self.found.functions:
                self.entries.add(self.found.functions[argument.id][0])

    def _option(self, call: ast.Call, scope: Scope) -> None:
        flags = [item.value for item in call.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        given: Mapping[str, ast.expr] = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        spelled = given.get("dest")
        long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
        name = long.lstrip("-").replace("-", "_")
        if isinstance(spelled, ast.Constant) and isinstance(spelled.value, str):
            name = spelled.value
        if not name:
            return
        action = given["action"].value if isinstance(given.get("action"), ast.Constant) else None  # type: ignore[attr-defined]
        required = "required" in given or not long.startswith("-")
        whole = all(keyword.arg for keyword in call.keywords)
        kind = _kind_of_option(given, action)
        # One that has to be given has no default.
        default = Default(long, call.lineno, None, scope, kind=kind)
        if "default" in given:
            default = Default(long, call.lineno, given["default"], scope, kind=kind, implied=action == "store_false")
        elif action in ("store_true", "store_false"):
            default = Default(long, call.lineno, None, scope, action == "store_false", has_implied=True, kind=kind)
        elif whole and not required and action in (None, "store") and given.get("action") is None:
            default = Default(long, call.lineno, None, scope, None, has_implied=True, kind=kind)
        # An option that is defined twice has whichever default its parser gives it.
        self._options[name] = None if name in self._options else default

    def _read_names(self) -> None:
        for _ in range(2):
            for scope in self.found.scopes:
                for name, bindings in scope.bindings.items():
                    for binding in bindings:
                        self._read_name(name, binding.value, binding.index, scope)

        for site in self.found.calls:
            self._read_arguments(site.node, site.scope)

    def _read_arguments(self, call: ast.AST, scope: Scope) -> None:
        """``main(parse_args())``: what is read is given to a function of the file at once."""
        assert isinstance(call, ast.Call)
        entry = self.found.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        for place, given in enumerate(call.args if entry is not None else ()):
            names = entry[0].args.args if entry is not None else []
            if isinstance(given, ast.Call) and place < len(names):
                self._read_name(names[place].arg, given, None, scope)

    def _read_name(self, name: str, value: ast.expr | None, index: int | None, scope: Scope) -> None:
        if not isinstance(value, ast.Call):
            return
        last = method(value)
        if last in _ONE and index in (None, 0):
            parser = self._parser(value, scope)
            if parser is None or not isinstance(parser, ast.Call) or method(parser) not in _PARSERS:
                self._argparse.add(name)
        elif last in _SEVERAL:
            parser = self._parser(value, scope)
            kinds = self._parsed(parser, scope) if isinstance(parser, ast.Call) else []
            if (index or 0) < len(kinds):
                kind = kinds[index or 0]
                if kind is not None:
                    self._classes.setdefault(name, set()).add(kind)
        elif is_from(dotted(self.found, value.func, scope), "argparse", "Namespace"):
            for keyword in value.keywords:
                inner = keyword.value
                if keyword.arg is None and isinstance(inner, ast.Call) and method(inner) == "vars" and isinstance(inner.args[0], ast.Name):
                    self._classes.setdefault(name, set()).update(self._classes.get(inner.args[0].id, ()))
        elif last in self.found.functions and not value.args:
            self._returned(name, index, self.found.functions[last][0])

    def _returned(self, name: str, index: int | None, function: Function) -> None:
        """``args = parse_args()`` of a function of the file that returns what its parser read."""
        inner = self._inner.get(id(function))
        if inner is None:
            return
        for value in self.found.returns.get(id(inner), []):
            chosen = value.elts[index] if isinstance(value, ast.Tuple) and index is not None and index < len(value.elts) else value
            if isinstance(chosen, ast.Call) and method(chosen) in _ONE:
                self._argparse.add(name)
            elif isinstance(chosen, ast.Name):
                if chosen.id in self._argparse:
                    self._argparse.add(name)
                if chosen.id in self._classes:
                    self._classes.setdefault(name, set()).update(self._classes[chosen.id])

    def _parser(self, call: ast.Call, scope: Scope) -> ast.expr | None:
        """The expression that made the parser whose method is called."""
        base = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(base, ast.Name):
            return base
        place: Scope | None = scope
        while place is not None:
            if base.id in place.bindings:
                made = place.bindings[base.id]
                return made[0].value if len(made) == 1 else None
            place = place.parent
        return None

    def _parsed(self, parser: ast.Call, scope: Scope) -> list[str | None]:
        """The dataclasses of ``HfArgumentParser((A, B))``, by position."""
        if method(parser) not in _PARSERS:
            return []
        given = parser.args[0] if parser.args else next((word.value for word in parser.keywords if word.arg == "dataclass_types"), None)
        items = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given] if given is not None else []
        return [dotted(self.found, item, scope) for item in items]
