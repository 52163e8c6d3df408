"""Layers whose attention sees a window of the row: how wide it is, and which part of the layers has one.

From transformers 4.53 on they have a mask of their own where the row is as long as the window, padded or not
(``create_sliding_window_causal_mask`` and ``_ignore_causal_mask_sdpa``, masking_utils.py of 5.0.0 and 5.24.0).
"""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.fields import Fields
from envdoctor.memory.plan import Plan
from envdoctor.memory.stack import at_least
from envdoctor.records import replace

# Of so many layers the last one sees all (``layer_types`` that the configuration classes of 5.24.0 make where a model states none).
_ONE_OF = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "cohere2": 4, "exaone4": 4, "olmo3": 4}
# All layers have the window, where there is one (modeling files of 5.24.0: ``create_causal_mask if ... is None``).
_ALL = frozenset(("mistral", "mixtral", "phi3", "starcoder2"))
# Whose class has a window of 4,096 where a configuration states none.
_USUAL = {**dict.fromkeys(_ONE_OF, 4096), "mistral": 4096}
# Who has one where use_sliding_window says so, from the layer max_window_layers on.
_ASKED = frozenset(("qwen2", "qwen2_moe", "qwen3", "qwen3_moe"))


def with_windows(architecture: Architecture, fields: Fields) -> Architecture:
    """The architecture with the width of the window and the part of its layers that has one."""
    kind, stated = fields.kind, fields.config
    if kind == "modernbert":
        return _of_modernbert(architecture, fields)
    window = stated.get("sliding_window", _USUAL.get(kind))
    if not isinstance(window, int) or isinstance(window, bool) or window <= 0 or architecture.variants:
        return architecture
    types, share = stated.get("layer_types"), 0.0
    if isinstance(types, list) and types and (kind in _ONE_OF or kind in _ASKED):
        share = types.count("sliding_attention") / len(types)
    elif kind in _ONE_OF:
        share = sum((layer + 1) % _ONE_OF[kind] != 0 for layer in range(architecture.layers)) / max(architecture.layers, 1)
    elif kind in _ALL:
        share = 1.0
    elif kind in _ASKED and stated.get("use_sliding_window") is True:
        first = stated.get("max_window_layers", 28)
        share = max(0, architecture.layers - first) / max(architecture.layers, 1) if isinstance(first, int) else 0.0
    return replace(architecture, window=window, windowed=share)


def _of_modernbert(architecture: Architecture, fields: Fields) -> Architecture:
    """All layers but each third see ``local_attention`` tokens (configuration_modernbert.py of 4.51.3 and 5.24.0)."""
    window = fields.size("local_attention", default=128, most=2**24)
    every = fields.size("global_attn_every_n_layers", default=3, most=2**16)
    share = sum(layer % every != 0 for layer in range(architecture.layers)) / max(architecture.layers, 1)
    return replace(architecture, window=window, windowed=share)


# Whose layers with a window make a mask of their own out of that of all layers, however long the row is (``torch.where`` of
# sliding_window_mask, modeling_gemma2.py of 4.46.3 and 4.51.3, modeling_gemma3.py and modeling_cohere2.py of 4.51.3).
_OF_THEIR_OWN = frozenset(("gemma2", "gemma3", "gemma3_text", "cohere2"))


def masked(architecture: Architecture, plan: Plan) -> float:
    """The part of the layers that is given a mask for its window alone, which no other layer needs."""
    release = plan.stack.transformers
    early = bool(release) and release != "-" and not at_least(release, "4.53") and not plan.litgpt
    if early and plan.attention == "sdpa" and architecture.kind in _OF_THEIR_OWN and architecture.window:
        return architecture.windowed
    if plan.mask or plan.attention != "sdpa" or not architecture.window or plan.tokens < architecture.window:
        return 0.0
    return architecture.windowed if release != "-" and at_least(release, "4.53") and not plan.litgpt else 0.0
