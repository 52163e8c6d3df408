"""``model.compile()``: torch.nn.Module's, which hands its keywords to torch.compile (torch 2.13.0, torch/nn/modules/module.py)."""

from __future__ import annotations

import ast
import re

from envdoctor.sources.scripts.names import LOCAL
from envdoctor.sources.scripts.origins import origin_of
from envdoctor.sources.scripts.reading import Call, Reading

_TAKES = frozenset(("backend", "disable", "dynamic", "fullgraph", "mode", "options"))
# Their models have a method of that name as well.
_OTHERWISE = ("keras", "tensorflow", "tf_keras", "jax", "dspy", "langgraph")
_OF_MODULES = frozenset(("torch", "transformers", "peft", "diffusers", "timm", "torchvision", "sentence_transformers", "deepspeed"))
_A_MODEL = re.compile(r"model|net\b|module|unet|vae|encoder|decoder|transformer|backbone|engine", re.IGNORECASE)


def compiles_module(reading: Reading, call: Call) -> bool:
    """Whether a call is that of a module's ``compile``, as far as the object or its name tells."""
    function = call.node.func
    if call.name or not isinstance(function, ast.Attribute) or function.attr != "compile" or call.node.args:
        return False
    if not call.keywords.keys() <= _TAKES or not reading.imports("torch") or any(map(reading.imports, _OTHERWISE)):
        return False
    made = reading.made(reading.of(function.value, call.scope))
    origins = reading.ancestry(made.kind) if made is not None else [origin_of(reading, function.value, call.scope) or ""]
    packages = {one.partition(".")[0] for one in origins} - {LOCAL, ""}
    if made is not None or packages:
        return bool(packages & _OF_MODULES)
    named = function.value.attr if isinstance(function.value, ast.Attribute) else getattr(function.value, "id", "")
    return _A_MODEL.search(named) is not None
