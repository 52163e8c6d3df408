"""What the calls in a ``setup.py`` give that such files make of texts, lists and files; of any other call it is unknown."""

from __future__ import annotations

import ast
import re

from envdoctor.sources.declared.setup_values import Opened, Script, Told, Unknown, Value

_LISTS = ("list", "tuple", "sorted", "set", "frozenset", "reversed", "iter")
_SAME = ("deepcopy", "copy", "Path", "PurePath", "str", "dict", "abspath", "realpath", "normpath", "resolve", "absolute")
_READING = ("read", "readlines", "read_text", "splitlines", "split", "strip", "rstrip", "lstrip", "decode", "open", "lower", "replace")
_FILE = re.compile(r"[^\0\n]{1,300}\.(?:txt|in|pip)")
# "name" out of "name>=1.0", in the table of requirements that Hugging Face's projects keep.
_LOOKUP = re.compile(r"\^\(\(\[\^(!=<>~ ?(?:\\\[\\\])?)\]\+\)")


def called(script: Script, node: ast.Call) -> Value:
    """The value of a call."""
    arguments = _arguments(script, node)
    function = node.func
    if isinstance(function, ast.Name):
        known = script.value(function)
        if isinstance(known, ast.FunctionDef):
            return _own(script, known, arguments, node)
        return _function(script, function.id, arguments, node)
    if isinstance(function, ast.Attribute):
        holder = script.value(function.value)
        if isinstance(holder, Unknown):
            value = _function(script, function.attr, arguments, node)
            # What a module's function gives is unknown by itself; a method of something unknown is, because that is.
            return holder if isinstance(value, Unknown) and isinstance(function.value, ast.Call) else value
        return _method(script, holder, function.attr, arguments, node)
    return Unknown(node.lineno)


def _arguments(script: Script, node: ast.Call) -> list[Value]:
    found: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            found += script.spread(script.value(argument.value), node.lineno)
        else:
            found.append(script.value(argument))
    return found


def _own(script: Script, function: ast.FunctionDef, arguments: list[Value], node: ast.Call) -> Value:
    """A function of the file itself, with its parameters bound."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    bound: dict[str, Value] = {parameter.arg: Unknown(node.lineno) for parameter in (*parameters, *function.args.kwonlyargs)}
    defaults = function.args.defaults
    for parameter, default in zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True):
        bound[parameter.arg] = script.value(default)
    for parameter, value in zip(parameters, arguments, strict=False):
        bound[parameter.arg] = value
    if function.args.vararg is not None:
        bound[function.args.vararg.arg] = script.bounded(arguments[len(parameters) :])
    for keyword in node.keywords:
        if keyword.arg in bound:
            bound[keyword.arg] = script.value(keyword.value)
    return script.returned(function, bound)


def _function(script: Script, name: str, arguments: list[Value], node: ast.Call) -> Value:
    first = arguments[0] if arguments else None
    if name == "open":
        return _open(script, first, node.lineno)
    if name == "join":
        return _joined(arguments, node.lineno)
    if name in _LISTS:
        return script.bounded(script.items(first) or []) if script.items(first) is not None or not arguments else Unknown(node.lineno)
    if name in _SAME and arguments:
        return _copied(first)
    if name == "dict":
        return {keyword.arg: script.value(keyword.value) for keyword in node.keywords if keyword.arg is not None}
    if name in ("chain", "sum", "from_iterable"):
        parts = script.items(first) if name != "chain" else arguments
        inner = [script.items(part) for part in parts or []]
        if parts is not None and all(items is not None for items in inner):
            return script.bounded([item for items in inner for item in items or []])
        return Unknown(node.lineno)
    if name == "findall" and len(arguments) == 2:
        return _looked_up(arguments[0], arguments[1], node.lineno)
    if isinstance(first, str) and _FILE.fullmatch(first):
        return _open(script, first, node.lineno)  # parse_requirements("requirements.txt") and its like
    return first if isinstance(first, Opened) else Unknown(node.lineno)


def _method(script: Script, holder: Value, name: str, arguments: list[Value], node: ast.Call) -> Value:
    first = arguments[0] if arguments else None
    if isinstance(holder, Opened):
        return holder if name in _READING or name in ("__enter__", "read_lines") else Unknown(node.lineno)
    if isinstance(holder, str):
        return _of_text(script, holder, name, arguments, node.lineno)
    if isinstance(holder, dict):
        return _of_table(script, holder, name, arguments, node.lineno)
    if isinstance(holder, list):
        if name in ("append", "insert", "add"):
            holder.append(arguments[-1] if arguments else Unknown(node.lineno))
        elif name in ("extend", "update"):
            holder.extend(script.spread(first, node.lineno))
        elif name == "remove" and first in holder:
            holder.remove(first)
        elif name == "copy":
            return list(holder)
        script.bounded(holder)
        return None
    return Unknown(node.lineno)


def _of_text(script: Script, text: str, name: str, arguments: list[Value], line: int) -> Value:
    first = arguments[0] if arguments else None
    start = text.line if isinstance(text, Told) else line
    if name in ("splitlines", "split") and (name == "splitlines" or first == "\n"):
        return script.bounded([Told(part, start + place) for place, part in enumerate(text.split("\n"))])
    if name == "split" and (first is None or isinstance(first, str)) and first != "":
        return script.bounded([Told(part, start) for part in text.split(first)])
    if name in ("strip", "lstrip", "rstrip") and not arguments:
        skipped = text[: len(text) - len(text.lstrip())].count("\n") if name != "rstrip" else 0
        return Told(getattr(text, name)(), start + skipped)
    if name == "lower":
        return Told(text.lower(), start)
    if name in ("startswith", "endswith") and isinstance(first, str):
        return text.startswith(first) if name == "startswith" else text.endswith(first)
    if name in ("read_text", "open", "read_bytes"):
        return _open(script, text, line)
    if name == "joinpath":
        return _joined([text, *arguments], line)
    return Unknown(line)


def _of_table(script: Script, table: dict[str, Value], name: str, arguments: list[Value], line: int) -> Value:
    first = arguments[0] if arguments else None
    if name == "values":
        return script.bounded(list(table.values()))
    if name == "keys":
        return script.bounded(list(table))
    if name == "items":
        return script.bounded(list(table.items()))
    if name in ("get", "setdefault", "pop") and isinstance(first, str):
        default = arguments[1] if len(arguments) > 1 else None
        if name == "setdefault":
            return table.setdefault(first, default)
        return table.pop(first, default) if name == "pop" else table.get(first, default)
    if name == "update":
        table.update(first if isinstance(first, dict) else {})
        return None
    return dict(table) if name == "copy" else Unknown(line)


def _open(script: Script, name: Value, line: int) -> Value:
    if isinstance(name, Opened):
        return name
    if not isinstance(name, str):
        return Unknown(line, "the name of a file that is made when the file runs")
    opened = Opened(str(name), line)
    script.opened.append(opened)
    return opened


def _joined(arguments: list[Value], line: int) -> Value:
    """A path below a folder that is not known by name, as ``os.path.join(here, "requirements.txt")`` gives it: it is the file's own."""
    parts = arguments[1:] if arguments and isinstance(arguments[0], Unknown) else arguments
    if parts and all(isinstance(part, str) for part in parts):
        return Told("/".join(str(part) for part in parts), line)
    return Unknown(line)


def _copied(value: Value) -> Value:
    """A copy of a list or table, one level deep: what is below is never changed in place."""
    return list(value) if isinstance(value, list) else dict(value) if isinstance(value, dict) else value


def _looked_up(pattern: Value, text: Value, line: int) -> Value:
    table = _LOOKUP.match(pattern) if isinstance(pattern, str) else None
    if table is None or not isinstance(text, str):
        return Unknown(line)
    name = re.match(f"[^{table[1]}]+", text)
    return [(text, Told(name[0], line))] if name else []
