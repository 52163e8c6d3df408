"""Whether a file comes near what makes the inputs of the checkpointed layers require gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from envdoctor.syntax.walking import walk

_WORDS = ("require_grads", "prepare_model", "requires_grad", "register_forward_hook")
# What a model may be handed to without coming out otherwise: who wraps it, who trains it, and what looks at it.
_TAKE_MODELS = frozenset(("get_peft_model", "Trainer", "Seq2SeqTrainer", "print", "isinstance", "hasattr", "len", "type", "id"))


def is_near(tree: ast.Module) -> bool:
    """Whether the code names what lets inputs require gradients, or gives such a name as text; words of a message are none."""
    return any(word in name for name in _names(tree) for word in _WORDS)


def _names(tree: ast.Module) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value


def stays_in_sight(tree: ast.Module, wrapped: ast.Call) -> bool:
    """Whether the model that is wrapped is loaded by this file and handed to nothing but peft and the Trainer."""
    model = wrapped.args[0] if wrapped.args else None
    if not isinstance(model, ast.Name):
        return False
    loads = handed = 0
    for node in walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == model.id for target in node.targets):
            called = _last(node.value)
            if called == "from_pretrained":
                loads += 1
            elif called != "get_peft_model":
                return False
        elif isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(isinstance(one, ast.Name) and one.id == model.id for one in given) and _last(node) not in _TAKE_MODELS:
                handed += 1
        elif isinstance(node, ast.Return | ast.FunctionDef | ast.AsyncFunctionDef) and _gives(node, model.id):
            return False
    return loads > 0 and not handed


def _gives(node: ast.Return | ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Whether a function takes or returns something of the name: another function has it in its hands."""
    if isinstance(node, ast.Return):
        return node.value is not None and any(isinstance(one, ast.Name) and one.id == name for one in walk(node.value))
    return any(one.arg == name for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))


def _last(node: ast.expr) -> str:
    """The last part of what a call is of; empty for anything else."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
