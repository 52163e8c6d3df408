"""What expressions of a script are worth where a tree shows it: constants, names set once, and defaults of the command line."""

from __future__ import annotations

import ast
from collections.abc import Callable

from envdoctor.records import replace
from envdoctor.sources.scripts.given import Given, given_to, read_given
from envdoctor.sources.scripts.kinds import Known, Made, Symbol, Table, joined, same_value
from envdoctor.sources.scripts.lookups import DOWNLOADS, read_download, read_entry, read_variable
from envdoctor.sources.scripts.names import LOCAL, dotted
from envdoctor.sources.scripts.namespaces import Default, Namespaces
from envdoctor.sources.scripts.outline import Binding, Guard, Outline, Scope
from envdoctor.sources.scripts.passed import Passed, Place
from envdoctor.sources.scripts.provision import Provision
from envdoctor.syntax.operators import LONGEST, combined, compared, is_main

_DEEPEST = 40
# Steps for all expressions of a script; ordinary ones need a few thousand.
_MOST_STEPS = 400_000
_DTYPES = frozenset(
    ("float32", "float", "float16", "half", "bfloat16", "float64", "double", "int8", "uint8", "float8_e4m3fn", "float8_e5m2")
)


class Evaluator:
    """Values of one script's expressions. What is not known is None: never a guess."""

    def __init__(self, found: Outline, given: Given | None = None) -> None:
        self.found = found
        self.given = given or {}
        self.namespaces = Namespaces(found)
        self.provision = Provision(found)
        self.passed = Passed(found)
        self._guards: dict[int, bool | None] = {}
        self._runs: dict[Guard, bool | None] = {}
        self._busy: set[int] = set()
        self._steps = _MOST_STEPS

    @property
    def tired(self) -> bool:
        """Whether the script makes so much of its expressions that the rest was left unknown."""
        return self._steps < 0

    # --- conditions --------------------------------------------------------------------------

    def runs(self, guard: Guard | None) -> bool | None:
        """Whether what stands under the guards runs: True, False, or None where nobody can tell."""
        chain: list[Guard] = []
        while guard is not None and guard not in self._runs:
            chain.append(guard)
            guard = guard.above
        sure = True if guard is None else self._runs[guard]
        for inner in reversed(chain):
            one = self._passes(inner)
            sure = False if one is False or sure is False else None if one is None or sure is None else True
            self._runs[inner] = sure
        return sure

    def _passes(self, guard: Guard) -> bool | None:
        if guard.attempt:
            return True
        if guard.test is None:
            return None
        key = id(guard.test)
        if key not in self._guards:
            self._guards[key] = None
            self._guards[key] = self._holds(guard.test, guard.scope)
        holds = self._guards[key]
        return None if holds is None else holds is guard.wanted

    def _holds(self, test: ast.expr, scope: Scope) -> bool | None:
        if is_main(test):
            return True
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "hasattr":
            return True
        known = self.of(test, scope)
        # A default of the command line decides no branch: both are there to be chosen.
        return None if known is None or known.default or not _is_plain(known) else bool(known.value)

    # --- expressions -------------------------------------------------------------------------

    def of(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> Known | None:
        """The value of an expression in a scope, None where a tree does not show it."""
        self._steps -= 1
        if node is None or depth > _DEEPEST or self._steps < 0 or id(node) in self._busy:
            return None
        if isinstance(node, ast.Constant):
            value = node.value
            usable = value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= LONGEST)
            return Known(value) if usable else None
        reader = _READERS.get(type(node))
        if reader is None:
            return None
        self._busy.add(id(node))
        try:
            return reader(self, node, scope, depth + 1)
        finally:
            self._busy.discard(id(node))

    def _name(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, ast.Name)
        place: Scope | None = scope
        while place is not None:
            if place is scope or not isinstance(place.node, ast.ClassDef):
                if node.id in place.bindings and node.id not in place.imports:
                    return None if node.id in place.params else self._bound(node, place, place is scope, depth)
                if node.id in place.params:
                    return self._parameter(node.id, place, depth)
                if node.id in place.imports:
                    break
            place = place.parent
        return self._symbol(node, scope)

    def _bound(self, node: ast.Name, place: Scope, same: bool, depth: int) -> Known | None:
        """A name's value: the last unconditional one before the use in the same scope, or else one that all its bindings agree on."""
        bindings = place.bindings[node.id]
        self._steps -= len(bindings)
        alive = [binding for binding in bindings if self.runs(binding.guard) is not False]
        if same:
            before = [binding for binding in alive if binding.line < node.lineno]
            sure = [index for index, binding in enumerate(before) if self.runs(binding.guard) is True]
            alive = before[sure[-1] :] if sure else alive
        first: Known | None = None
        for number, binding in enumerate(alive):
            known = self._of_binding(binding, place, depth)
            if known is None or (number and not same_value(known, first)):
                return None
            first = first or known
        return first

    def _of_binding(self, binding: Binding, place: Scope, depth: int) -> Known | None:
        known = self.of(binding.value, place, depth)
        if binding.index is None or known is None:
            return known
        items = known.value
        return replace(known, value=items[binding.index]) if isinstance(items, tuple) and binding.index < len(items) else None

    def _parameter(self, name: str, place: Scope, depth: int) -> Known | None:
        """A parameter: of the function that the command line calls its default, of others what all calls of the file give it."""
        if place.node not in self.namespaces.entries or place.parent is None:
            return self._agreed(self.passed.to_parameter(name, place, self.runs), depth)
        default = self.of(self.namespaces.plain_default(place.defaults.get(name)), place.parent, depth)
        line = place.params[name].lineno
        return None if default is None else Known(default.value, f"--{name}", line)

    def _agreed(self, given: list[Place], depth: int) -> Known | None:
        """The value that all places give."""
        self._steps -= len(given)
        values = [self.of(expression, scope, depth) for expression, scope in given]
        first = values[0] if values else None
        return first if all(same_value(one, first) for one in values) else None

    def _attribute(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, ast.Attribute)
        default = self.namespaces.default(node, scope)
        if default is not None:
            return self._default(default, depth)
        symbol = self._symbol(node, scope)
        if symbol is not None:
            return symbol
        kept = self.passed.to_attribute(node, scope, self.runs)
        if kept is not None:
            return self._agreed(kept, depth)
        if self.namespaces.is_stored(node):
            return None
        base = self.of(node.value, scope, depth)
        if base is not None and isinstance(base.value, Made):
            return self._of_made(base.value, node.attr, depth)
        if isinstance(node.value, ast.Name) and dotted(self.found, node.value, scope) == f"{LOCAL}.{node.value.id}":
            return self._of_class(node.value.id, node.attr, depth)
        return None

    def _default(self, default: Default, depth: int) -> Known | None:
        text = given_to(default, self.given) if self.given else None
        told = read_given(default, text) if text is not None else None
        if told is not None:
            return told
        if default.value is None:
            return Known(default.implied, default.setting, default.line) if default.has_implied else None
        known = self.of(default.value, default.scope, depth)
        return None if known is None else Known(known.value, default.setting, default.line)

    def _of_made(self, made: Made, attribute: str, depth: int) -> Known | None:
        if not made.kind.startswith(LOCAL):
            return None
        for keyword in made.call.keywords:
            if keyword.arg in (attribute, None):
                return self.of(keyword.value, made.scope, depth) if keyword.arg else None
        if kept := self.passed.to_own(made.kind, attribute, self.runs):
            return self._agreed(kept, depth)
        return None if made.call.args else self._of_class(made.kind.rpartition(".")[2], attribute, depth)

    def _of_class(self, name: str, attribute: str, depth: int) -> Known | None:
        """An attribute that the body of a class of the file sets once."""
        entry = self.found.classes.get(name)
        if entry is None:
            return None
        bindings = entry[1].bindings.get(attribute, [])
        return self.of(self.namespaces.plain_default(bindings[0].value), entry[1], depth) if len(bindings) == 1 else None

    def _symbol(self, node: ast.expr, scope: Scope) -> Known | None:
        name = dotted(self.found, node, scope)
        if name is None or name.startswith((LOCAL, ".")):
            return None
        if name in ("typing.TYPE_CHECKING", "TYPE_CHECKING"):
            return Known(False)
        first, _, last = name.rpartition(".")
        return Known(f"torch.{last}") if first == "torch" and last in _DTYPES else Known(Symbol(name))

    def _call(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, ast.Call)
        name = dotted(self.found, node.func, scope)
        if isinstance(node.func, ast.Name) and name is None and node.func.id == "dict" and not node.args:
            return self._table_of(node, scope, depth)
        if isinstance(node.func, ast.Name) and name is None and node.func.id == "getattr" and len(node.args) >= 2:
            base, attribute = dotted(self.found, node.args[0], scope), self.of(node.args[1], scope, depth)
            if base == "torch" and attribute is not None and attribute.value in _DTYPES:
                return Known(f"torch.{attribute.value}", attribute.default, attribute.line)
            return None
        if name is None:
            return None
        if name[:3] == "os.":
            return read_variable(self, node, scope, depth)
        if DOWNLOADS.fullmatch(name):
            return read_download(self, node, scope, depth)
        if name[:2] == f"{LOCAL}." and (results := self.passed.to_result(name)):
            return self._agreed(results, depth)
        last = name.rpartition(".")[2]
        is_class = name[:2] == f"{LOCAL}." and last in self.found.classes
        return Known(Made(name, node, scope)) if is_class or last[:1].isupper() else None

    def _table_of(self, node: ast.Call, scope: Scope, depth: int) -> Known:
        return Known(self.keywords(node, scope, depth))

    def keywords(self, node: ast.Call, scope: Scope, depth: int = 0) -> Table:
        """The keywords of a call with those of ``**tables``, and whether these are all."""
        entries: dict[str, tuple[ast.expr | None, Scope]] = {}
        whole = True
        chosen: frozenset[str] = frozenset()
        for keyword in node.keywords:
            if keyword.arg is not None:
                entries[keyword.arg] = (keyword.value, scope)
                continue
            table = self.table(keyword.value, scope, depth)
            if table is None:
                whole = False
            else:
                entries.update({name: entry for name, entry in table.entries.items() if name not in entries})
                whole = whole and table.whole
                chosen |= table.chosen
        return Table(entries, whole, chosen)

    def table(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> Table | None:
        """The dict that an expression is. What a script puts into it later, or takes out, is not told by name: such keys are unknown."""
        known = self.of(node, scope, depth)
        if known is None or known.default or not isinstance(known.value, Table):
            return None
        table = known.value
        if not isinstance(node, ast.Name):
            return table
        if self.namespaces.is_changed(node.id):
            return None
        later = self.namespaces.keys_set(node.id)
        if "" in later:
            return None
        chosen = {
            key for key in later - set(table.entries) if all(map(self.provision.stands_over, self.namespaces.guards_of(node.id, key)))
        }
        return Table({**table.entries, **dict.fromkeys(sorted(later), (None, scope))}, table.whole, table.chosen | chosen)

    def _dict(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, ast.Dict)
        entries: dict[str, tuple[ast.expr | None, Scope]] = {}
        whole = True
        chosen: frozenset[str] = frozenset()
        for key, value in zip(node.keys, node.values, strict=True):
            name = self.of(key, scope, depth)
            if name is not None and isinstance(name.value, str):
                entries[name.value] = (value, scope)
            elif key is None and (table := self.table(value, scope, depth)) is not None:
                entries.update(table.entries)
                whole = whole and table.whole
                chosen |= table.chosen
            else:
                whole = False
        return Known(Table(entries, whole, chosen))

    def _items(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, (ast.List, ast.Tuple, ast.Set))
        items: list[object] = []
        default, line = "", None
        if len(node.elts) > LONGEST:
            return None
        for item in node.elts:
            known = self.of(item, scope, depth)
            if known is None:
                return None
            items.append(known.value)
            default, line = (default, line) if default else (known.default, known.line)
        return Known(tuple(items), default, line)

    def _binary(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, ast.BinOp)
        left = self.of(node.left, scope, depth)
        right = self.of(node.right, scope, depth) if left is not None else None
        if left is None or right is None:
            return None
        value = combined(node.op, left.value, right.value)
        return None if value is None else joined(value, left, right)

    def _unary(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, ast.UnaryOp)
        known = self.of(node.operand, scope, depth)
        if known is None or not _is_plain(known):
            return None
        if isinstance(node.op, ast.Not):
            return replace(known, value=not known.value)
        value = known.value
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)) and not isinstance(value, bool):
            return replace(known, value=-value)
        return None

    def _either(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, ast.IfExp)
        known = self.of(node.test, scope, depth)
        if known is not None and _is_plain(known):
            chosen = self.of(node.body if known.value else node.orelse, scope, depth)
            return None if chosen is None else joined(chosen.value, chosen, known)
        one, other = self.of(node.body, scope, depth), self.of(node.orelse, scope, depth)
        return one if one is not None and other is not None and same_value(one, other) else None

    def _logic(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, ast.BoolOp)
        ends = isinstance(node.op, ast.Or)
        last: Known | None = None
        for item in node.values:
            known = self.of(item, scope, depth)
            if known is None or not _is_plain(known):
                return None
            last = known if last is None else joined(known.value, known, last)
            if bool(known.value) is ends:
                break
        return last

    def _compare(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, ast.Compare)
        left, right = self.of(node.left, scope, depth), self.of(node.comparators[0], scope, depth)
        if len(node.ops) != 1 or left is None or right is None or not (_is_plain(left) and _is_plain(right)):
            return None
        value = compared(node.ops[0], left.value, right.value)
        return None if value is None else joined(value, left, right)

    def _text(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        assert isinstance(node, ast.JoinedStr)
        parts: list[str] = []
        last = Known("")
        for item in node.values:
            plain = isinstance(item, ast.FormattedValue) and item.format_spec is None and item.conversion == -1
            known = self.of(item.value if isinstance(item, ast.FormattedValue) and plain else item, scope, depth)
            if known is None or not isinstance(known.value, (str, int, float)):
                return None
            parts.append(str(known.value))
            last = joined("", last, known)
        text = "".join(parts)
        return replace(last, value=text) if len(text) <= LONGEST else None


_Reader = Callable[[Evaluator, ast.expr, Scope, int], "Known | None"]
_READERS: dict[type[ast.AST], _Reader] = {
    ast.Name: Evaluator._name,
    ast.Attribute: Evaluator._attribute,
    ast.Call: Evaluator._call,
    ast.Dict: Evaluator._dict,
    ast.List: Evaluator._items,
    ast.Tuple: Evaluator._items,
    ast.Set: Evaluator._items,
    ast.BinOp: Evaluator._binary,
    ast.UnaryOp: Evaluator._unary,
    ast.IfExp: Evaluator._either,
    ast.BoolOp: Evaluator._logic,
    ast.Compare: Evaluator._compare,
    ast.JoinedStr: Evaluator._text,
    ast.Subscript: read_entry,
}


def _is_plain(known: Known) -> bool:
    return not isinstance(known.value, (Symbol, Made, Table))
