"""What a snapshot's own Python code does, read from its syntax tree: nothing is imported or executed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from envdoctor.facts.fact import Fact
from envdoctor.records import dataclass
from envdoctor.sources.model.class_tree import (
    Class,
    Code,
    Function,
    accepts,
    class_attributes,
    flat,
    mentions_version,
    root,
    self_attributes,
)
from envdoctor.sources.model.late_attributes import order_of_init
from envdoctor.sources.model.model_directory import ModelDirectory

_CACHE_HOOK = "_extract_past_from_model_output"
_MODEL_CLASSES = ("AutoModelForCausalLM", "AutoModel", "AutoModelForSeq2SeqLM", "AutoModelForImageTextToText", "AutoModelForVision2Seq")


def read_remote_code(directory: ModelDirectory, config_map: object, tokenizer_map: object, *, special_tokens: bool = True) -> list[Fact]:
    """Facts about the classes that ``auto_map`` names in config.json and tokenizer_config.json.

    ``special_tokens``: whether the tokenizer's files may name any, which its constructor then registers.

    A class without a definition of its own inherits what transformers does; where no class is named, the
    code that runs is transformers' own and the facts say so. A file that cannot be parsed is a skip of the
    directory, and what it would have told stays unknown.
    """
    code = Code(directory)
    tokenizer = _entry(tokenizer_map, ("AutoTokenizer",)) or _entry(config_map, ("AutoTokenizer",))
    return [
        *_tokenizer_facts(directory, code, tokenizer, special_tokens),
        *_model_facts(directory, code, _entry(config_map, _MODEL_CLASSES)),
        *_config_facts(directory, code, _entry(config_map, ("AutoConfig",))),
    ]


def _entry(auto_map: object, kinds: Iterable[str]) -> str | None:
    """The ``module.Class`` that an auto_map gives for the first of the kinds it has; of a pair the slow tokenizer."""
    if isinstance(auto_map, list) and kinds == ("AutoTokenizer",):
        auto_map = {"AutoTokenizer": auto_map}
    if not isinstance(auto_map, Mapping):
        return None
    for kind in kinds:
        value = auto_map.get(kind)
        named = [item for item in value if isinstance(item, str)] if isinstance(value, list) else [value]
        if named and isinstance(named[0], str):
            return named[0]
    return None


# --- the tokenizer -------------------------------------------------------------------------------


def _tokenizer_facts(directory: ModelDirectory, code: Code, entry: str | None, special_tokens: bool) -> Iterator[Fact]:
    if entry is None:
        yield directory.fact("model.tokenizer_init", "before-super", "config.json")
        yield directory.fact("model.tokenizer_pad_signature", "inherited", "config.json")
        return
    chain = code.chain(entry)
    if not chain:
        return
    order, late = order_of_init(chain, special_tokens)
    first = chain[0]
    init = next((function for cls in chain for function in cls.functions("__init__")), None)
    line = first.node.lineno if init is None else init.lineno
    yield directory.fact("model.tokenizer_init", order, first.module.file, late or line)
    owner, pad = _nearest(chain, "_pad")
    if pad is None:
        yield directory.fact("model.tokenizer_pad_signature", "inherited", first.module.file, first.node.lineno)
    else:
        knows = accepts(pad, "padding_side")
        yield directory.fact(
            "model.tokenizer_pad_signature", "with-padding-side" if knows else "without-padding-side", owner.module.file, pad.lineno
        )


def _nearest(chain: list[Class], name: str) -> tuple[Class, Function | None]:
    return next(((cls, function) for cls in chain for function in cls.functions(name)), (chain[0], None))


# --- the model -----------------------------------------------------------------------------------


def _model_facts(directory: ModelDirectory, code: Code, entry: str | None) -> Iterator[Fact]:
    if entry is None:
        yield directory.fact("model.gc_support", "inherited", "config.json")
        yield directory.fact("model.uses_cache_format_hook", False, "config.json")
        return
    chain = code.chain(entry)
    if not chain:
        return
    first = chain[0]
    support, owner, line = _gc_support(chain)
    yield directory.fact("model.gc_support", support, owner.module.file, line)
    calls = _hook_calls(chain)
    own, definition = _nearest(chain, _CACHE_HOOK)
    if not calls or definition is not None:
        # Code that brings its own hook does not meet the library's.
        where = (first.module.file, first.node.lineno) if definition is None else (own.module.file, definition.lineno)
        yield directory.fact("model.uses_cache_format_hook", False, *where)
    else:
        file = calls[0].file
        gated = all(call.gated for call in calls)
        yield directory.fact("model.uses_cache_format_hook", True, file, calls[0].line)
        yield directory.fact("model.cache_hook_gated", gated, file, calls[0].line)
        plain_call = next((call for call in calls if not call.gated), None)
        if plain_call is not None:
            yield directory.fact("model.cache_hook_call", plain_call.form, plain_call.file, plain_call.line)
    needed = {name: line for cls in reversed(chain) for name, line in cls.module.uses.items()}
    yield directory.fact("model.code_uses", tuple(sorted(needed)), first.module.file, min(needed.values(), default=1))
    owner, forward = _nearest(chain, "forward")
    if forward is not None:
        yield directory.fact("model.loss_kwargs", accepts(forward, "num_items_in_batch"), owner.module.file, forward.lineno)


def _gc_support(chain: list[Class]) -> tuple[str, Class, int]:
    owner, enable = _nearest(chain, "gradient_checkpointing_enable")
    if enable is not None and _supports_checkpointing(chain) and not _does_something(enable):
        return "no-op", owner, enable.lineno
    owner, hook = _nearest(chain, "_set_gradient_checkpointing")
    # transformers 4.35 calls the hook with enable=; a hook that knows the keyword works as the inherited one does.
    if hook is not None and not accepts(hook, "enable"):
        return "set-hook", owner, hook.lineno
    return "inherited", chain[0], chain[0].node.lineno


def _supports_checkpointing(chain: list[Class]) -> bool:
    for cls in chain:
        for item in flat(cls.node.body):
            if isinstance(item, (ast.Assign, ast.AnnAssign)) and "supports_gradient_checkpointing" in class_attributes(item):
                return isinstance(item.value, ast.Constant) and item.value.value is True
    return False


def _does_something(function: Function) -> bool:
    """Whether a body sets an attribute, or calls a method of ``self``, ``super()`` or another class."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in ("setattr", "super"):
                return True
            if isinstance(called, ast.Attribute) and ("checkpointing" in called.attr or root(called) == "self"):
                return True
    return False


@dataclass(frozen=True, slots=True)
class _HookCall:
    file: str
    line: int
    gated: bool
    form: str


def _hook_calls(chain: list[Class]) -> list[_HookCall]:
    return [call for cls in chain for call in _calls_in(cls)]


def _calls_in(cls: Class) -> Iterator[_HookCall]:
    """Calls of the cache hook, and whether each lies under a test of the transformers release or a ``try``."""
    stack: list[tuple[ast.AST, bool, ast.AST]] = [(cls.node, False, cls.node)]
    names = cls.module.version_names | _local_version_names(cls)
    found = []
    while stack:
        node, gated, parent = stack.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == _CACHE_HOOK:
            found.append(_HookCall(cls.module.file, node.lineno, gated, _form(node, parent)))
        if isinstance(node, (ast.If, ast.IfExp)):
            gated = gated or mentions_version(node.test, names) or _asks_for_hook(node.test)
        elif isinstance(node, ast.Try):
            gated = gated or _catches_refusal(node)
        stack += ((child, gated, node) for child in ast.iter_child_nodes(node))
    return iter(sorted(found, key=lambda call: call.line))


def _form(call: ast.Call, parent: ast.AST) -> str:
    """Whether the keyword standardize_cache_format is passed, and whether a pair or one value is expected back."""
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    unpacked = isinstance(parent, ast.Subscript) or any(isinstance(target, (ast.Tuple, ast.List)) for target in targets)
    formatted = any(keyword.arg == "standardize_cache_format" for keyword in call.keywords)
    return ("format-" if formatted else "") + ("pair" if unpacked else "value")


def _local_version_names(cls: Class) -> set[str]:
    return {
        target.id
        for function in cls.functions("_update_model_kwargs_for_generation")
        for item in ast.walk(function)
        if isinstance(item, ast.Assign) and mentions_version(item.value, cls.module.version_names)
        for target in item.targets
        if isinstance(target, ast.Name)
    }


def _asks_for_hook(test: ast.expr) -> bool:
    """``hasattr(self, "_extract_past_from_model_output")`` is as good as a test of the release."""
    return any(isinstance(node, ast.Constant) and node.value == _CACHE_HOOK for node in ast.walk(test))


def _catches_refusal(node: ast.Try) -> bool:
    for handler in node.handlers:
        caught = {name.id for name in ast.walk(handler.type) if isinstance(name, ast.Name)} if handler.type else {"BaseException"}
        if caught & {"AttributeError", "TypeError", "Exception", "BaseException"}:
            return True
    return False


# --- the configuration ---------------------------------------------------------------------------


def _config_facts(directory: ModelDirectory, code: Code, entry: str | None) -> Iterator[Fact]:
    chain = code.chain(entry) if entry is not None else None
    if not chain:
        return
    line = next((found for cls in chain if (found := _defines_layers(cls)) is not None), None)
    yield directory.fact("model.has_num_hidden_layers", line is not None, chain[0].module.file, line or chain[0].node.lineno)


def _defines_layers(cls: Class) -> int | None:
    """The line on which a configuration class defines num_hidden_layers: sets it, maps it, or computes it."""
    name = "num_hidden_layers"
    for item in flat(cls.node.body):
        if isinstance(item, Function):
            if item.name == name:
                return item.lineno
            line = next((line for attribute, line in self_attributes(item) if attribute == name), None)
            if line is not None:
                return line
        elif name in class_attributes(item) or (
            isinstance(item, (ast.Assign, ast.AnnAssign))
            and isinstance(item.value, ast.Dict)
            and "attribute_map" in class_attributes(item)
            and any(isinstance(key, ast.Constant) and key.value == name for key in item.value.keys)
        ):
            return item.lineno
    return None
