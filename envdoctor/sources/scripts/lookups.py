"""Values that a script looks up: an entry of a dict or list, a variable of the environment, the folder of a download."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from envdoctor.records import replace
from envdoctor.sources.scripts.kinds import Known, Table, joined
from envdoctor.sources.scripts.names import dotted
from envdoctor.sources.scripts.outline import Scope

if TYPE_CHECKING:
    from envdoctor.sources.scripts.values import Evaluator

# Both hubs' (huggingface_hub 0.36.2, modelscope 1.24.0), from whichever module it is taken.
DOWNLOADS = re.compile(r"(?:huggingface_hub|modelscope)(?:\.\w+)*\.snapshot_download")
_REPOSITORY = ("repo_id", "model_id")
_VARIABLES = ("os.environ.get", "os.getenv")


def read_entry(evaluator: Evaluator, node: ast.expr, scope: Scope, depth: int) -> Known | None:
    """``CONFIG["model"]["name"]`` and ``NAMES[0]``; nothing of what a statement changes."""
    assert isinstance(node, ast.Subscript)
    root = _root(node)
    if root is None or evaluator.namespaces.is_changed(root):
        return None
    key = evaluator.of(node.slice, scope, depth)
    if key is None:
        return None
    if isinstance(node.value, ast.Subscript) and any(_sets_inside(store.target, store.key, key.value) for store in evaluator.found.stores):
        return None
    if isinstance(key.value, str):
        table = evaluator.table(node.value, scope, depth)
        entry = table.entries.get(key.value) if table is not None else None
        found = evaluator.of(*entry, depth) if entry is not None else None
        return None if found is None else joined(found.value, found, key)
    if not isinstance(key.value, int) or isinstance(key.value, bool) or evaluator.namespaces.keys_set(root):
        return None
    listed = evaluator.of(node.value, scope, depth)
    items = listed.value if listed is not None else None
    if listed is None or not isinstance(items, tuple) or not 0 <= key.value < len(items):
        return None
    return joined(items[key.value], listed, key)


def read_variable(evaluator: Evaluator, node: ast.Call, scope: Scope, depth: int) -> Known | None:
    """``os.environ.get("MODEL", "org/name")``: the default of a setting; of what a launcher starts nobody knows whether it sets it."""
    if dotted(evaluator.found, node.func, scope) not in _VARIABLES or len(node.args) != 2 or node.keywords or evaluator.given:
        return None
    name, default = (evaluator.of(one, scope, depth) for one in node.args)
    if name is None or not isinstance(name.value, str) or default is None or isinstance(default.value, Table):
        return None
    return Known(default.value, name.value, node.lineno)


def read_download(evaluator: Evaluator, node: ast.Call, scope: Scope, depth: int) -> Known | None:
    """The repository whose folder a download gives back: what is loaded from there is that model."""
    words = {word.arg: word.value for word in node.keywords}
    kind = evaluator.of(words["repo_type"], scope, depth) if "repo_type" in words else Known("model")
    named = next((words[name] for name in _REPOSITORY if name in words), node.args[0] if node.args else None)
    known = evaluator.of(named, scope, depth) if kind is not None and kind.value in ("model", None) else None
    return replace(known, fetched=True) if known is not None and isinstance(known.value, str) else None


def _sets_inside(target: ast.expr, key: str, asked: object) -> bool:
    """Whether a statement sets this key of an entry, or one that is no constant."""
    return isinstance(target, ast.Subscript) and key in ("", asked)


def _root(node: ast.expr) -> str | None:
    """The name whose entry of an entry is asked for."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
