"""When a remote tokenizer sets its attributes: before its base class is constructed, or too late for what that reads."""

from __future__ import annotations

import ast

from envdoctor.sources.model.class_tree import Class, Function, class_attributes, flat, is_self, self_attributes

# What the constructors of slow tokenizers call from transformers 4.34 on, to register added tokens.
_ASKED_BY_INIT = (
    "get_vocab", "vocab_size", "__len__", "_convert_token_to_id", "_convert_id_to_token", "convert_tokens_to_ids", "convert_ids_to_tokens",
    "added_tokens_encoder", "added_tokens_decoder", "all_special_ids",
    "unk_token", "bos_token", "eos_token", "pad_token", "unk_token_id", "bos_token_id", "eos_token_id", "pad_token_id",
)  # fmt: skip
_REGISTERS = "_add_tokens"


def order_of_init(chain: list[Class], special_tokens: bool) -> tuple[str, int | None]:
    """The value of ``model.tokenizer_init``, and the line on which the first late attribute is set.

    A class that registers tokens by a method of its own, as Qwen's does, keeps the constructor from asking for the vocabulary, and where
    nobody names a special token, from reading anything in it (executed with 4.34.1 to 4.57.6). That of transformers 5 asks for the
    vocabulary all the same (executed with 5.0.0), which is "late-vocabulary".
    """
    methods: dict[str, Function] = {}
    for cls in reversed(chain):
        methods.update((item.name, item) for item in flat(cls.node.body) if isinstance(item, Function) and not _is_setter(item))
    asked = [name for name in _ASKED_BY_INIT if name in methods]
    registers = methods.get(_REGISTERS)
    if registers is None or _calls_super(registers):
        late = _set_late(chain, _read_by(methods, asked))
        return ("before-super", None) if late is None else ("after-super", late)
    if special_tokens or _names_tokens(chain):
        late = _set_late(chain, _read_by(methods, [_REGISTERS]))
        if late is not None:
            return "after-super", late
    late = _set_late(chain, _read_by(methods, asked))
    return ("before-super", None) if late is None else ("late-vocabulary", late)


def _set_late(chain: list[Class], read: set[str]) -> int | None:
    """The line on which ``__init__`` first sets, after ``super().__init__()``, what that call reads through an override."""
    before: set[str] = {name for cls in chain for item in flat(cls.node.body) for name in class_attributes(item)}
    after: list[tuple[str, int]] = []
    for cls in chain:
        for init in cls.functions("__init__"):
            called = False
            for statement in init.body:
                if called:
                    after += self_attributes(statement)
                else:
                    before.update(name for name, _ in self_attributes(statement))
                called = called or _super_init(statement) is not None
    return min((line for name, line in after if name in read and name not in before), default=None)


def _read_by(methods: dict[str, Function], asked: list[str]) -> set[str]:
    """Attributes that overridden methods and properties read while the base class's ``__init__`` runs."""
    read: set[str] = set()
    waiting, seen = list(asked), set(asked)
    while waiting:
        for node in ast.walk(methods[waiting.pop()]):
            if isinstance(node, ast.Attribute) and is_self(node.value):
                if node.attr in methods and node.attr not in seen:
                    seen.add(node.attr)
                    waiting.append(node.attr)
                elif node.attr not in methods and isinstance(node.ctx, ast.Load):
                    read.add(node.attr)
    return read


def _names_tokens(chain: list[Class]) -> bool:
    """Whether a class hands special tokens to its base by name, whatever the files say."""
    calls = (_super_init(statement) for cls in chain for init in cls.functions("__init__") for statement in init.body)
    return any("token" in (keyword.arg or "") for call in calls if call is not None for keyword in call.keywords)


def _super_init(statement: ast.AST) -> ast.Call | None:
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == "__init__" and _is_base(node.func.value):
            return node
    return None


def _calls_super(function: Function) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == function.name and _is_base(node.value) for node in ast.walk(function))


def _is_base(node: ast.expr) -> bool:
    """``super()``, or a class named to call its method: ``PreTrainedTokenizer.__init__(self)``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id != "self"


def _is_setter(function: Function) -> bool:
    return any(isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter") for decorator in function.decorator_list)
