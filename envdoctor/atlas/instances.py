"""What a script says in two steps, said in one: an object by the class that it was made of, keywords by the dictionary that holds them.

``trainer = Trainer(...)`` and then ``trainer.prediction_loop`` take ``Trainer.prediction_loop``; ``settings = {"a": 1}`` and then
``f(**settings)`` passes ``a``, and so does ``partial(f, a=1)``; a class that adds neither constructor nor field is called as its base is.
Only names that are bound to objects of one class, and dictionaries that nothing adds to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from envdoctor.atlas.objects import OWN_METHODS, annotated, made_of
from envdoctor.atlas.results import results_of, rewrite_fields
from envdoctor.syntax.walking import FIELDS, statements, walk

_KEPT = frozenset(
    (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Import, ast.ImportFrom, ast.ExceptHandler, ast.Global,
     ast.Nonlocal, ast.MatchAs, ast.MatchStar, ast.Call, ast.Assign, ast.AnnAssign, ast.withitem)
)  # fmt: skip
_ANY_TOKENIZER = re.compile(r"'(?:Auto|PreTrained)Tokenizer")
# Of classes that derive from one another.
_DEEPEST = 8
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def in_one_step(body: Sequence[ast.stmt], text: str = "") -> bool:
    """Write uses of such names in their place, in the tree itself; whether anything in it assigns to a name that an import binds."""
    assigned: set[str] = set()
    lowered = text.lower()
    calls = _Calls(results_of(body), any_tokenizer=not any(word in lowered for word in OWN_METHODS))
    _rewrite(list(body), {}, {}, assigned, calls)
    rewrite_fields(body, calls.is_bound_once, calls.made_of)
    # An object of a class of the file has more than its base: only the call itself is that of the base.
    calls.rewrite(body)
    imports = (one for one in statements(body) if isinstance(one, ast.Import | ast.ImportFrom))
    return not assigned.isdisjoint((alias.asname or alias.name).partition(".")[0] for one in imports for alias in one.names)


def _rewrite(
    body: Sequence[ast.AST], classes: dict[str, ast.expr], tables: dict[str, list[ast.keyword]], assigned: set[str], calls: _Calls
) -> None:
    """One scope, with what the scopes around it have settled."""
    scope = _Contents()
    scope.read(body)
    bound = scope.bound
    assigned |= scope.stored
    if not bound.keys().isdisjoint(classes):
        classes = {name: made for name, made in classes.items() if name not in bound}
    if not bound.keys().isdisjoint(tables):
        tables = {name: rows for name, rows in tables.items() if name not in bound}
    own = [one for one in scope.assigned if bound[one.targets[0].id] == scope.times[one.targets[0].id]]  # type: ignore[attr-defined]
    if own or scope.several:
        classes, tables = dict(classes), dict(tables)
        _settle(own, body, classes, tables, scope, calls)
    for call in scope.unpacking:
        call.keywords = [one for keyword in call.keywords for one in _unpacked(keyword, tables)]
    for attribute in scope.attributes if classes else ():
        owner = attribute.value
        if type(owner) is ast.Name and owner.id in classes and type(owner.ctx) is ast.Load:
            attribute.value = classes[owner.id]
    calls.take(scope)
    for node in scope.inner:
        inner = {**_less(classes, node), **calls.parameters(node)}
        _rewrite([node.body] if isinstance(node, ast.Lambda) else node.body, inner, _less(tables, node), assigned, calls)


def _settle(
    assigned: Sequence[ast.Assign],
    body: Sequence[ast.AST],
    classes: dict[str, ast.expr],
    tables: dict[str, list[ast.keyword]],
    scope: _Contents,
    calls: _Calls,
) -> None:
    """Take down what names of a scope stand for, all of whose assignments say the same."""
    whole: frozenset[str] | None = None
    made: dict[str, list[ast.expr | None]] = {}
    for one in assigned:
        assert isinstance(one.targets[0], ast.Name)
        name = one.targets[0].id
        rows = _keywords(one.value) if scope.bound[name] == 1 else None
        if rows is not None:
            # Asked for where there is such a dictionary alone: it looks through all that stands in the scope.
            whole = _only_unpacked(body) if whole is None else whole
            if name in whole:
                tables[name] = rows
        made.setdefault(name, []).append(calls.made_of(one.value))
    for name, told in (*made.items(), *((name, [told]) for name, told in calls.unpacked(scope))):
        first = told[0]
        if first is None or any(one is None or ast.dump(one) != ast.dump(first) for one in told[1:]):
            continue
        if not _leads_back(first, name, classes):
            classes[name] = first


def _leads_back(function: ast.expr, name: str, classes: dict[str, ast.expr]) -> bool:
    """Whether a name would stand for itself in the end: ``optim = optim.Adam(...)`` in a function, ``a = b.A()`` beside ``b = a.B()``."""
    root = _root_of(function)
    for _ in range(len(classes) + 1):
        if root == name:
            return True
        if root not in classes:
            return False
        root = _root_of(classes[root])
    return True


class _Calls:
    """The callees of a file that stand for others: ``functools.partial``, and classes that take what their base takes.

    Only names that the file binds once, wherever in it. ``results`` are what its functions give.
    """

    def __init__(self, results: Mapping[str, ast.expr | list[ast.expr | None]], *, any_tokenizer: bool) -> None:
        self._bound: dict[str, int] = {}
        self._calls: list[ast.Call] = []
        self._results = results
        self._any_tokenizer = any_tokenizer

    def is_bound_once(self, name: str) -> bool:
        """Whether a file binds a name once, wherever in it."""
        return self._bound.get(name) == 1

    def made_of(self, value: ast.expr) -> ast.expr | None:
        """The class of an object that a call makes, or that a function of the file gives."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in self._results:
            found = self._results[value.func.id]
            return self._known(found) if isinstance(found, ast.expr) else None
        return self._known(made_of(value))

    def _known(self, made: ast.expr | None) -> ast.expr | None:
        """A class, unless it is that of any tokenizer, in a file that names one which kept what others lost."""
        return made if made is None or self._any_tokenizer or not _ANY_TOKENIZER.search(ast.dump(made)) else None

    def unpacked(self, scope: _Contents) -> Iterator[tuple[str, ast.expr | None]]:
        """The names that take apart what a function of the file gives, each bound once."""
        for names, call in scope.several:
            found = self._results.get(call.func.id) if isinstance(call.func, ast.Name) else None
            if isinstance(found, list) and len(found) == len(names):
                yield from ((name, self._known(one)) for name, one in zip(names, found, strict=True) if scope.bound.get(name) == 1)

    def parameters(self, node: _Scope) -> dict[str, ast.expr]:
        """The parameters of a function of which it says the class."""
        arguments = getattr(node, "args", None)
        found = annotated(arguments) if isinstance(arguments, ast.arguments) else {}
        return {name: one for name, one in found.items() if self._known(one) is not None}

    def take(self, scope: _Contents) -> None:
        """Take down what a scope binds, with the parameters of what is defined in it, and what it calls by a name."""
        from envdoctor.atlas.expressions import parameters

        for name, count in scope.bound.items():
            self._bound[name] = self._bound.get(name, 0) + count
        for node in scope.inner:
            arguments = getattr(node, "args", None)
            for name in parameters(arguments) if isinstance(arguments, ast.arguments) else ():
                self._bound[name] = self._bound.get(name, 0) + 1
        self._calls += scope.calls

    def rewrite(self, body: Sequence[ast.stmt]) -> None:
        """Write the calls as those of what they stand for."""
        imports = [one for one in statements(body) if isinstance(one, ast.Import | ast.ImportFrom)]
        named = {
            alias.asname or alias.name
            for one in imports
            for alias in one.names
            if (isinstance(one, ast.Import) and alias.name == "functools")
            or (isinstance(one, ast.ImportFrom) and one.module == "functools" and alias.name == "partial")
        }
        partial = {name for name in named if self._bound.get(name) == 1}
        classes = [one for one in body if isinstance(one, ast.ClassDef) and self._bound.get(one.name) == 1 and adds_nothing(one)]
        heirs = {one.name: one.bases[0] for one in classes if self._bound.get(_root_of(one.bases[0])) == 1}
        for call in self._calls if partial or heirs else ():
            _follow(call, partial, heirs)


def _follow(call: ast.Call, partial: set[str], heirs: dict[str, ast.expr]) -> None:
    function = call.func
    owner = function.value if isinstance(function, ast.Attribute) and function.attr == "partial" else function
    if isinstance(owner, ast.Name) and owner.id in partial and call.args and isinstance(call.args[0], ast.Name | ast.Attribute):
        call.func, call.args = call.args[0], call.args[1:]
        call.keywords = [*call.keywords, ast.keyword(None, ast.copy_location(ast.Name("_", ast.Load()), call))]
        function = call.func
    for _ in range(_DEEPEST):
        if not isinstance(function, ast.Name) or function.id not in heirs:
            return
        function = call.func = _copied(heirs[function.id], call)


def adds_nothing(node: ast.ClassDef) -> bool:
    """Whether a class is made by the call that makes its one base: no constructor, no field, and nothing that could bring one."""
    if len(node.bases) != 1 or node.keywords or node.decorator_list or not _root_of(node.bases[0]):
        return False
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            if item.name in ("__init__", "__new__", "__init_subclass__") and not _hands_all_on(item):
                return False
        elif isinstance(item, ast.Assign):
            if any(not isinstance(one, ast.Name) or one.id.startswith("__") for one in item.targets):
                return False
        elif not isinstance(item, ast.Pass) and not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)):
            return False
    return True


def _hands_all_on(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """``def __init__(self, *args, **kwargs): super().__init__(*args, **kwargs)``, and nothing else is done with these."""
    given = node.args
    if node.name != "__init__" or len(given.args) != 1 or given.posonlyargs or given.kwonlyargs or node.decorator_list:
        return False
    if given.vararg is None or given.kwarg is None:
        return False
    names = {given.vararg.arg, given.kwarg.arg}
    used = [one for one in walk(node) if isinstance(one, ast.Name) and one.id in names]
    first = next((one.value for one in node.body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)), None)
    handed = [*first.args, *(one.value for one in first.keywords if one.arg is None)] if first is not None else []
    whole = [one.value if isinstance(one, ast.Starred) else one for one in handed]
    to_base = first is not None and ast.unparse(first.func).startswith("super(") and ast.unparse(first.func).endswith(").__init__")
    return to_base and first is not None and len(first.keywords) == 1 and len(whole) == len(used) == 2 and all(one in used for one in whole)


def _root_of(node: ast.expr) -> str:
    """The name that a dotted name begins with; "" where it is none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _copied(node: ast.expr, place: ast.AST) -> ast.expr:
    """A dotted name at another place."""
    if isinstance(node, ast.Attribute):
        return ast.copy_location(ast.Attribute(_copied(node.value, place), node.attr, ast.Load()), place)
    return ast.copy_location(ast.Name(_root_of(node), ast.Load()), place)


class _Contents:
    """The nodes of a scope that anything is asked of, without those of the functions and classes in it; each looked at once.

    ``bound`` counts how often the scope binds each name, in whatever way; what it shares with another scope counts twice. ``stored`` are
    the names that are assigned to, and not imported or defined.
    """

    def __init__(self) -> None:
        self.bound: dict[str, int] = {}
        self.stored: set[str] = set()
        self.assigned: list[ast.Assign] = []
        self.times: dict[str, int] = {}
        self.several: list[tuple[list[str], ast.Call]] = []
        self.calls: list[ast.Call] = []
        self.unpacking: list[ast.Call] = []
        self.attributes: list[ast.Attribute] = []
        self.inner: list[_Scope] = []

    def read(self, body: Sequence[ast.AST]) -> None:
        waiting = list(body)
        bound, fields = self.bound, FIELDS
        for node in waiting:
            kind = type(node)
            if kind is ast.Name:
                if type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]
                    name = node.id  # type: ignore[attr-defined]
                    bound[name] = bound.get(name, 0) + 1
                    self.stored.add(name)
                continue
            if kind is ast.Constant:
                continue
            if kind is ast.Attribute:
                self.attributes.append(node)  # type: ignore[arg-type]
                waiting.append(node.value)  # type: ignore[attr-defined]
                continue
            if kind in _KEPT:
                self._keep(node)
                if isinstance(node, _Scope):
                    waiting += _outside(node)
                    continue
            for field in fields[kind]:
                value = getattr(node, field)
                if value.__class__ is list:
                    waiting += value if field != "keys" else [one for one in value if one is not None]
                elif value is not None:
                    waiting.append(value)

    def _keep(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) or (isinstance(node.func, ast.Attribute) and node.func.attr == "partial"):
                self.calls.append(node)
            if any(keyword.arg is None for keyword in node.keywords):
                self.unpacking.append(node)
            return
        if isinstance(node, ast.AnnAssign):
            if isinstance(node.target, ast.Name) and isinstance(node.value, ast.Call):
                self._assign(node.target.id, ast.Assign([node.target], node.value))
            return
        if isinstance(node, ast.withitem):
            # ``with gr.Blocks() as demo``: what a class opens is nearly always the object itself, and no member of another is asked for.
            if isinstance(node.optional_vars, ast.Name) and isinstance(node.context_expr, ast.Call):
                self._assign(node.optional_vars.id, ast.Assign([node.optional_vars], node.context_expr))
            return
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if len(node.targets) == 1 and isinstance(target, ast.Name) and isinstance(node.value, ast.Call | ast.Dict):
                self._assign(target.id, node)
            elif len(node.targets) == 1 and isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
                self.several.append(([one.id if isinstance(one, ast.Name) else "" for one in target.elts], node.value))
            return
        if isinstance(node, _Scope):
            self.inner.append(node)
        for name in _names_bound(node):
            self.bound[name] = self.bound.get(name, 0) + 1

    def _assign(self, name: str, node: ast.Assign) -> None:
        self.assigned.append(node)
        self.times[name] = self.times.get(name, 0) + 1


def _outside(node: _Scope) -> list[ast.expr | ast.keyword]:
    """What of a function or a class stands in the scope around it."""
    if isinstance(node, ast.Lambda):
        return []
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    return [*node.decorator_list, *node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]


def _names_bound(node: ast.AST) -> list[str]:
    """The names that a statement binds which assigns to none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Global | ast.Nonlocal):
        return [*node.names, *node.names]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        return [node.name]
    return []


def _less(known: dict, node: ast.AST) -> dict:  # type: ignore[type-arg]
    """What a function sees of what is known around it: not what its parameters hide."""
    arguments = getattr(node, "args", None)
    if not isinstance(arguments, ast.arguments):
        return dict(known)
    from envdoctor.atlas.expressions import parameters

    hidden = parameters(arguments)
    return {name: one for name, one in known.items() if name not in hidden}


def _keywords(value: ast.expr) -> list[ast.keyword] | None:
    """The keywords that a dictionary holds, where all of them are written down."""
    if isinstance(value, ast.Dict):
        if not value.keys or not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in value.keys):
            return None
        pairs = zip(value.keys, value.values, strict=True)
        return [ast.keyword(str(key.value), one) for key, one in pairs if isinstance(key, ast.Constant)]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict" and not value.args and value.keywords:
        return list(value.keywords) if all(one.arg for one in value.keywords) else None
    return None


def _only_unpacked(body: Sequence[ast.AST]) -> frozenset[str]:
    """The names of which nothing is done but to unpack them into calls: what else could change a dictionary."""
    unpacked: dict[str, int] = {}
    named: dict[str, int] = {}
    for item in body:
        for node in walk(item):
            if isinstance(node, ast.keyword) and node.arg is None and isinstance(node.value, ast.Name):
                unpacked[node.value.id] = unpacked.get(node.value.id, 0) + 1
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                named[node.id] = named.get(node.id, 0) + 1
    return frozenset(name for name, count in unpacked.items() if named.get(name, 0) == count)


def _unpacked(keyword: ast.keyword, tables: dict[str, list[ast.keyword]]) -> list[ast.keyword]:
    if keyword.arg is not None:
        return [keyword]
    if isinstance(keyword.value, ast.Name) and keyword.value.id in tables:
        return [ast.keyword(one.arg, keyword.value) for one in tables[keyword.value.id]]
    rows = _keywords(keyword.value)
    return [keyword] if rows is None else rows
