"""What an object is made of, as the call that makes it says: a class, or a class by the method that makes one of its own.

``AutoTokenizer.from_pretrained(...)`` stands for the class that it gives, and is written ``AutoTokenizer.from_pretrained`` until its
package is known (``class_of_result``). ``.to(device)`` and its like hand on the model itself.
"""

from __future__ import annotations

import ast

MAKERS = frozenset(("from_pretrained", "from_config", "load_from_checkpoint"))
_HANDS_ON = frozenset(("to", "eval", "cuda", "cpu", "half", "float", "bfloat16", "requires_grad_"))
# With these ``from_pretrained`` gives several things, or a class of code that nobody read.
_OTHERWISE = frozenset(("output_loading_info", "return_unused_kwargs", "trust_remote_code"))
_LONGEST = 8
# What transformers 5.0.0 took from its tokenizers and models; ``__getattr__`` of a tokenizer gives special tokens alone, and that of a
# model what it registered.
TOKENIZERS = (
    "as_target_tokenizer", "batch_encode_plus", "encode_plus", "sanitize_special_tokens", "all_special_tokens_extended",
    "special_tokens_map_extended",
)  # fmt: skip
MODELS = (
    "add_memory_hooks", "create_extended_attention_mask_for_decoder", "estimate_tokens", "get_extended_attention_mask", "get_head_mask",
    "invert_attention_mask", "prune_heads", "reset_memory_hooks_state", "reverse_bettertransformer", "to_bettertransformer",
)  # fmt: skip
# What stands in their place, as transformers 4.46.3 said of each (tokenization_utils_base.py), and 5.24.0 takes.
INSTEAD = {
    "as_target_tokenizer": "pass text_target= to the tokenizer",
    "batch_encode_plus": "call the tokenizer itself: tokenizer(...)",
    "encode_plus": "call the tokenizer itself: tokenizer(...)",
}
# Tokenizers that have the first of these themselves; of a file that names one of them it is not known which class it loads.
OWN_METHODS = ("layoutlm", "layoutxlm", "markuplm", "pop2piano", "rocbert", "roc_bert", "roc-bert", "tapas", "udop")
_RESULTS = {"transformers": (("AutoTokenizer", "PreTrainedTokenizerBase", TOKENIZERS), ("AutoModel", "PreTrainedModel", MODELS))}
_SETTINGS = ("Args", "Arguments", "Config", "Configuration")
# What these give is of a class below them, which has more.
_OF_OTHERS = ("Auto", "DiffusionPipeline", "Peft", "PreTrained", "Pretrained", "SchedulerMixin", "ModelMixin", "ConfigMixin", "Lightning")


def is_class(function: ast.expr) -> bool:
    """Whether a callee is written as a class is."""
    name = _last(function)
    return name[:1].isupper() and not name.isupper()


def made_of(value: ast.expr | None) -> ast.expr | None:
    """The class of an object, or the class and the method that makes one of its own; None where the call does not say."""
    handed_on = False
    for _ in range(_LONGEST):
        if not isinstance(value, ast.Call):
            return None
        function = value.func
        if is_class(function):
            return None if handed_on else function
        if not isinstance(function, ast.Attribute):
            return None
        if function.attr in MAKERS and is_class(function.value):
            return None if any(one.arg is None or one.arg in _OTHERWISE for one in value.keywords) else function
        if function.attr not in _HANDS_ON:
            return None
        value, handed_on = function.value, True
    return None


def annotated(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The parameters of a function whose annotation is a class: ``trainer: Trainer``, ``trainer: Trainer | None``.

    Not of settings, of which projects have their own with more fields.
    """
    found: dict[str, ast.expr] = {}
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        kind = one.annotation
        if isinstance(kind, ast.BinOp) and isinstance(kind.right, ast.Constant) and kind.right.value is None:
            kind = kind.left
        elif isinstance(kind, ast.Subscript) and _last(kind.value) == "Optional":
            kind = kind.slice
        if kind is not None and is_class(kind) and not _last(kind).endswith(_SETTINGS):
            found[one.arg] = kind
    return found


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def class_of_result(name: str) -> str | None:
    """A name with the class in place of the method that makes it: ``transformers:BertModel.from_pretrained.x``; None: it may be any."""
    module, colon, rest = name.partition(":")
    words = (rest if colon else module).split(".")
    at = next((place for place, word in enumerate(words) if place and word in MAKERS and place + 1 < len(words)), 0)
    if not at:
        return name
    kind, member = words[at - 1], words[at + 1]
    for start, base, members in _RESULTS.get(module.partition(".")[0], ()):
        if kind.startswith(start):
            return f"{module.partition('.')[0]}:{base}.{member}" if member in members else None
    if kind.startswith(_OF_OTHERS):
        return None
    words = [*words[:at], *words[at + 1 :]]
    return f"{module}:{'.'.join(words)}" if colon else ".".join(words)
