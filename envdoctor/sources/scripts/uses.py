"""``plan.code_uses``: what a script imports, calls, defines and sets of other packages, in the form of ``envdoctor/facts/uses.py``.

Nothing here knows what rules wait for. A name that is imported under a ``try`` that catches its absence, or under a test of a release,
is no use that could fail.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from envdoctor.facts.fact import Fact
from envdoctor.facts.same_uses import COMPILE_SETTINGS, COMPILES_NOTHING, list_same
from envdoctor.facts.uses import CODE_USES, DOWNLOAD, OF, PROVIDED_FOR, SOME, WRAPPERS
from envdoctor.sources.model.class_tree import Function
from envdoctor.sources.scripts.compiling import compiles_module
from envdoctor.sources.scripts.kinds import Made, Symbol, Table
from envdoctor.sources.scripts.names import LOCAL
from envdoctor.sources.scripts.origins import declared_class, origin_of
from envdoctor.sources.scripts.outline import Scope
from envdoctor.sources.scripts.partials import read_partial
from envdoctor.sources.scripts.reading import Call, Reading
from envdoctor.sources.scripts.steps import environment
from envdoctor.sources.scripts.texts import text_of
from envdoctor.syntax.walking import walk

_UNKNOWN = "?"
_PLAIN = re.compile(r"[\w./:@+-]{1,80}")
# Values of such variables are nobody's business.
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
_COMMAND = re.compile(r"[!%]?\s*(?:[A-Z_]+=\S*\s+)*([\w./-]+(?:\s+[A-Za-z][\w.-]*)?)")
_MOST_USES = 20_000
_MOST_LISTED = 16
# Methods of which rules ask what the object comes from.
_FOLLOWED = frozenset(("generate",))
# Attributes of a tokenizer or a configuration that a script sets itself, whatever it makes of them.
_OF_TOKENS = frozenset(
    ("pad_token", "pad_token_id", "eos_token_id", "add_bos_token", "output_router_logits", "do_sample", "generation_config", "temperature",
     "top_p", "chat_template", "patch_size")
)  # fmt: skip


def read_uses(reading: Reading) -> None:
    """State the script's uses of other packages, each with the first line that shows it."""
    found: dict[str, int] = {}
    for use, line in _all(reading):
        for name in list_same(use):
            if len(found) < _MOST_USES:
                found[name] = min(line, found.get(name, line))
    if found:
        uses = tuple(sorted(found))
        origins = {line: reading.source.origin(line) for line in found.values()}
        places = tuple(origins[found[use]] for use in uses)
        reading.claims.adopt(Fact(CODE_USES, uses, origins[min(found.values())], places))


def _all(reading: Reading) -> Iterator[tuple[str, int]]:
    yield from _named(reading)
    for call in reading.calls:
        if not reading.is_provided(call):
            yield from _called(reading, call)
        if _casts_adapters(reading, call):
            yield f"{_UNKNOWN}.data = torch.float32", call.line
    yield from _defined(reading)
    yield from _stored(reading)
    for name, value, line, _ in environment(reading):
        yield (f"env:{name}" if _SECRET.search(name) else f"env:{name}={value}"), line
    for shell in reading.source.shell:
        said = _COMMAND.match(shell.text)
        if said:
            yield f"$ {' '.join(said[1].split())}", shell.line


# --- names ----------------------------------------------------------------------------------------


def _named(reading: Reading) -> Iterator[tuple[str, int]]:
    excused: set[str] = set()
    for name, site in reading.outline.imports:
        if not _is_elsewhere(name) or reading.evaluator.runs(site.guard) is False:
            continue
        if reading.evaluator.provision.stands_over(site.guard):
            excused.add(name)
            package = name.partition(".")[0]
            if package in WRAPPERS:  # where it is there it wraps, whatever is done where it is not
                yield package, site.line
                yield f"{package}.{PROVIDED_FOR}", site.line
            continue
        yield name, site.line
    for node, scope, guard in reading.outline.names:
        if type(node) is ast.Name and not reading.outline.stars:
            continue
        known = reading.dotted(node, scope)
        if known is None or not _is_elsewhere(known) or _is_excused(known, excused):
            continue
        if reading.evaluator.runs(guard) is not False and not reading.evaluator.provision.stands_over(guard):
            yield known, node.lineno


def _is_elsewhere(name: str) -> bool:
    """Whether a dotted name is that of another package's: not of the file's own, the project's beside it, or Python's."""
    first = name.partition(".")[0]
    return bool(first) and first != LOCAL and first not in sys.stdlib_module_names


def _is_excused(name: str, excused: set[str]) -> bool:
    """Whether a name, or the object that it is an attribute of, was imported where its absence is provided for."""
    parts = name.split(".")
    return any(".".join(parts[:end]) in excused for end in range(2, len(parts) + 1))


# --- calls ----------------------------------------------------------------------------------------


def _called(reading: Reading, call: Call) -> Iterator[tuple[str, int]]:
    """The call under each name that its callee has; for a method that only an object shows, the method itself as well."""
    part = read_partial(reading.outline, call.node, call.scope) if call.name == "functools.partial" else None
    if part is not None and _is_elsewhere(part.name):
        # Whoever calls it gives it more.
        yield f"{part.name}({', '.join((*_keywords(reading, call), '**'))})", call.line
    names, shown = _callees(reading, call)
    if not names:
        return
    if compiles_module(reading, call):
        names, shown = ["torch.compile"], True
    declared = _declared(reading, call) if names[0].startswith(f"{_UNKNOWN}.") else None
    if declared is not None:
        names = [*names, declared]
        yield declared, call.line
    given = ", ".join((*_arguments(reading, call), *_surroundings(reading, call)))
    for name in names:
        yield f"{name}({given})", call.line
        if not shown:
            yield name, call.line


def _casts_adapters(reading: Reading, call: Call) -> bool:
    """Whether weights of an adapter are cast to float32: under a test for "lora", or by diffusers' function for all that is trained."""
    if call.last == "cast_training_params":
        return ("dtype" not in call.keywords and len(call.node.args) < 2) or _value(reading, *_cast_to(call)) == "torch.float32"
    if call.last == "to" and call.node.args:
        known = reading.of(call.node.args[0], call.scope)
        if known is None or known.value != "torch.float32":
            return False
    elif call.last != "float" or call.node.args:
        return False
    guard = reading.guards.get(id(call.node))
    while guard is not None and not (guard.test is not None and guard.wanted and "lora" in ast.unparse(guard.test).lower()):
        guard = guard.above
    return guard is not None


def _cast_to(call: Call) -> tuple[ast.expr | None, Scope]:
    return call.keywords.get("dtype") or (call.node.args[1], call.scope)


def _surroundings(reading: Reading, call: Call) -> Iterator[str]:
    """The context of another package that a model is loaded in, and the download that its folder is of, as if they were arguments."""
    node: ast.AST | None = call.node if call.name.endswith(".from_pretrained") else None
    if node is not None and call.at is None:
        named = reading.value(call, "pretrained_model_name_or_path", 0)
        if named is not None and named.fetched:
            yield f"{OF}={DOWNLOAD}"
    while node is not None:
        below, node = node, reading.outline.parents.get(id(node))
        for item in node.items if isinstance(node, ast.With) and isinstance(below, ast.stmt) else ():
            made = item.context_expr
            name = reading.dotted(made.func, call.scope) if isinstance(made, ast.Call) else None
            if name is not None and _is_elsewhere(name):
                yield f"within={name}"


def _callees(reading: Reading, call: Call) -> tuple[list[str], bool]:
    """The dotted names of what is called; whether these names stand in the script."""
    function = call.node.func
    if call.name.startswith(LOCAL):
        return _inherited(reading, call.name), True
    if _is_elsewhere(call.name):
        return [call.name], True
    if call.name.startswith("."):
        # Of the project's own modules nothing is known but what is called.
        return ([f"{_UNKNOWN}.{function.attr}"] if isinstance(function, ast.Attribute) else []), True
    if call.name:
        return [], True
    if not isinstance(function, ast.Attribute):
        # A tokenizer and a processor are called as they are.
        return ([f"{_UNKNOWN}.__call__"] if {"add_special_tokens", "images"} & call.keywords.keys() else []), True
    made = reading.made(reading.of(function.value, call.scope))
    if made is None:
        origin = origin_of(reading, function.value, call.scope) if function.attr in _FOLLOWED else None
        known = [f"{origin}.{function.attr}"] if origin is not None and _is_elsewhere(origin) else []
        return [f"{_UNKNOWN}.{function.attr}", *known], True
    owners = _bases(reading, made.kind)
    return [f"{owner}.{function.attr}" for owner in owners], False


def _declared(reading: Reading, call: Call) -> str | None:
    """The method of the class that a parameter is annotated with."""
    function = call.node.func
    owner = declared_class(reading, function.value, call.scope) if isinstance(function, ast.Attribute) else None
    return f"{owner}.{call.last}" if owner is not None and _is_elsewhere(owner) else None


def _inherited(reading: Reading, name: str) -> list[str]:
    """What a class of the file, or a method called on one, is of other packages; a class with a constructor of its own is its own."""
    inner = name.removeprefix(f"{LOCAL}.")
    owner, _, method = inner.partition(".")
    if owner not in reading.outline.classes:
        return []
    if method:
        return [f"{base}.{method}" for base in _bases(reading, f"{LOCAL}.{owner}")]
    found = []
    for one in reading.ancestry(name):
        entry = reading.outline.classes.get(one.removeprefix(f"{LOCAL}.")) if one.startswith(LOCAL) else None
        if entry is not None and any(isinstance(item, Function) and item.name == "__init__" for item in entry[0].body):
            return []
        found += [one] if _is_elsewhere(one) else []
    return found


def _bases(reading: Reading, kind: str) -> list[str]:
    """A class, or the classes of other packages that a class of the file derives from."""
    return [one for one in reading.ancestry(kind) if _is_elsewhere(one)]


def _arguments(reading: Reading, call: Call) -> Iterator[str]:
    for place, argument in enumerate(call.node.args if call.at is None else ()):
        if isinstance(argument, ast.Starred):
            yield "**"
            break
        yield _argument(reading, str(place), argument, call.scope)
    yield from _keywords(reading, call)
    if not call.whole or call.chosen:
        yield "**"


def _keywords(reading: Reading, call: Call) -> Iterator[str]:
    for keyword, (expression, scope) in call.keywords.items():
        if keyword == "alpha_pattern" and _of_the_same_layers(reading, call):
            yield f"{keyword}=same-keys"
        elif keyword not in call.chosen:
            yield _argument(reading, keyword, expression, scope)


def _of_the_same_layers(reading: Reading, call: Call) -> bool:
    """Whether the two patterns of an adapter are written out and name the same layers, in the same words."""
    patterns = [reading.evaluator.table(*call.keywords[name]) for name in ("rank_pattern", "alpha_pattern") if name in call.keywords]
    keys = [frozenset(one.entries) for one in patterns if one is not None and one.whole]
    return len(keys) == 2 and keys[0] == keys[1]


def _argument(reading: Reading, name: str, expression: ast.expr | None, scope: Scope) -> str:
    value = "nested" if name == "images" and _is_nested(expression) else _value(reading, expression, scope)
    return name if value is None else f"{name}={value}"


def _is_nested(expression: ast.expr | None) -> bool:
    """``[[image] for image in images]``: a list of lists, as far as it is written out."""
    if isinstance(expression, ast.ListComp):
        return isinstance(expression.elt, ast.List)
    return isinstance(expression, ast.List) and bool(expression.elts) and all(isinstance(one, ast.List) for one in expression.elts)


def _value(reading: Reading, expression: ast.expr | None, scope: Scope) -> str | None:
    """A value as text: a constant, the class of an object, ``...`` for a name or a call; None where it may as well be None."""
    known = reading.of(expression, scope)
    if known is None:
        text = text_of(reading, expression, scope)
        if text is not None:
            return text
        kinds = reading.evaluator.namespaces.classes(expression.id) if isinstance(expression, ast.Name) else set()
        if len(kinds) == 1:
            return "|".join(_bases(reading, next(iter(kinds)))) or SOME
        return SOME if isinstance(expression, (ast.Name, ast.Attribute, ast.Lambda, ast.Call)) else None
    value = known.value
    if known.default:
        return None  # what the command line may change
    if isinstance(value, Made):
        return "|".join(_bases(reading, value.kind)) or SOME
    if isinstance(value, tuple) and 0 < len(value) <= _MOST_LISTED and all(isinstance(one, str) and _PLAIN.fullmatch(one) for one in value):
        return ";".join(value)
    if isinstance(value, Table | tuple):
        return "{}"
    text = value.name if isinstance(value, Symbol) else str(value)
    return text if _PLAIN.fullmatch(text) else "{}"


# --- definitions and assignments ------------------------------------------------------------------


def _defined(reading: Reading) -> Iterator[tuple[str, int]]:
    """Methods that the file's classes define in the place of those of other packages."""
    for name, (node, _) in reading.outline.classes.items():
        bases = _bases(reading, f"{LOCAL}.{name}")
        for item in node.body if bases else ():
            if isinstance(item, Function):
                taken = item.args
                names = [one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)] + ["**"] * (taken.kwarg is not None)
                yield from ((f"def {base}.{item.name}({', '.join(names)})", item.lineno) for base in bases)


def _stored(reading: Reading) -> Iterator[tuple[str, int]]:
    """``model.state_dict = (lambda ...: get_peft_model_state_dict(...)).__get__(model)``: of what an attribute is made."""
    for store in reading.outline.stores:
        if not store.key.isidentifier() or store.value is None or reading.evaluator.runs(store.guard) is False:
            continue
        made = store.value
        if store.key in _OF_TOKENS:
            yield f"{_UNKNOWN}.{store.key} = {made.attr if isinstance(made, ast.Attribute) else _UNKNOWN}", store.line
        if store.key == "data" and isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr == "float":
            yield f"{_UNKNOWN}.data = torch.float32", store.line
        replaced = reading.dotted(store.target, store.scope)
        if f"{replaced}.{store.key}" in COMPILE_SETTINGS and _value(reading, made, store.scope) == "True":
            yield COMPILES_NOTHING, store.line
        if replaced is not None and _is_elsewhere(replaced):
            yield f"{_UNKNOWN}.{store.key} = {SOME}", store.line
            if store.key == "forward":
                yield f"{replaced}.{store.key} = {SOME}", store.line
        for node, scope in _written(reading, store.value, store.scope):
            name = reading.dotted(node, scope) if isinstance(node, (ast.Name, ast.Attribute)) else None
            if name is not None and _is_elsewhere(name):
                yield f"{_UNKNOWN}.{store.key} = {name}", store.line


def _written(reading: Reading, value: ast.expr, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    """The nodes of an expression, and of what the functions of the file that it names give back: ``state_dict.__get__(model)``."""
    for node in walk(value):
        yield node, scope
        name = reading.dotted(node, scope) if isinstance(node, ast.Name) else None
        for result, place in reading.evaluator.passed.to_result(name) if name is not None and name.startswith(f"{LOCAL}.") else ():
            yield from ((inner, place) for inner in walk(result))
