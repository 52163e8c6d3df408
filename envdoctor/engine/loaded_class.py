"""The type of the model that a script loads by a class of its own: ``Qwen2_5_VLForConditionalGeneration.from_pretrained(args.model)``.

transformers names its classes after the ``model_type`` of their configurations (configuration_*.py): what is left of the two without
case, underscores and dashes is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.world.architectures import all_types

_LOADS = re.compile(r"transformers\.(?:\w+\.)*(?P<name>[A-Z]\w*?)(?P<task>For[A-Z]\w+|LMHeadModel|Model)\.from_pretrained\b")
_ANY = re.compile(r"Auto|TF|Flax|PreTrained|VisionEncoderDecoder|SpeechEncoderDecoder|EncoderDecoder|VisionTextDual")
_PARTS = re.compile(r"[_\W]+")


def type_of_loads(uses: Iterable[str]) -> str | None:
    """The one type that the classes say from which models are loaded; None where they say none, or several, or leave it to the hub."""
    found = [shown for use in uses if (shown := _LOADS.match(use))]
    if not found or any(_ANY.match(one["name"]) for one in found):
        return None
    known = {_plain(one): one for one in all_types()}
    types = {_typed(known, one["name"], one["task"]) for one in found}
    return types.pop() if len(types) == 1 else None


def _typed(known: dict[str, str], name: str, task: str) -> str | None:
    """The type of a class; of one that speaks and has a sibling with images the type of the part that speaks."""
    plain = _plain(name)
    return (known.get(f"{plain}text") if task == "ForCausalLM" else None) or known.get(plain)


def _plain(name: str) -> str:
    return _PARTS.sub("", name).lower()


__all__ = ["type_of_loads"]
