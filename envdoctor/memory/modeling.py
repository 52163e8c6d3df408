"""What the modeling file of a kind of model does that its sizes do not tell.

Read in the wheels of transformers (4.48.1 and 4.57.1, and those between where a behaviour began or ended), and counted with the same code
under fake tensors (docs/memory-terms.md).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from envdoctor.memory import windows
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.plan import Plan
from envdoctor.memory.stack import at_least
from envdoctor.records import replace

Norm: TypeAlias = Literal["rms", "rms in float32", "layer", "layer in float32", "layer by hand"]

# A part of the layers that stands for all of them.
_MOST = 0.5
# The weight multiplies the float32 values, and only the product is cast: output.type_as(x) in modeling_gemma.py, modeling_olmo2.py.
_IN_FLOAT32 = frozenset(
    ("gemma", "gemma2", "gemma3", "gemma3_text", "olmo2", "olmo3", "gpt_oss", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
)
# A mean, a difference and a reciprocal root of float32 values: CohereLayerNorm.
_BY_HAND = frozenset(("cohere", "cohere2"))
# Norms after the branches only: attention and network are given the residual stream as it is.
_AFTER_ONLY = frozenset(("olmo2", "olmo3", "exaone4"))
# No class for torch's sdpa, so that transformers takes eager attention (envdoctor/data/sdpa.json); "" where no release has one.
_EAGER_UNTIL = {
    "bloom": "", "mpt": "", "gpt_neo": "", "deberta-v2": "", "gpt_oss": "", "gptj": "5.24", "codegen": "5.24",
    "electra": "5.0", "t5": "5.23", "mt5": "5.23", "umt5": "5.23", "opt": "4.46", "distilbert": "4.46", "roberta": "4.45",
    "xlm-roberta": "4.45", "camembert": "4.45", "mbart": "4.45", "gpt2": "4.42", "gpt_neox": "4.42", "bert": "4.41", "persimmon": "4.53",
}  # fmt: skip
# From which release on a class says that it has none for sdpa any more: Gemma 2's caps its scores.
_EAGER_SINCE = {"gemma2": "5.21"}
# Eager attention whose softmax stays in the dtype of the scores, and from which release on it is in float32; "" where it stays so.
_NARROW_SOFTMAX = {
    "gpt2": "", "bert": "", "roberta": "", "xlm-roberta": "", "camembert": "", "distilbert": "", "electra": "", "falcon": "",
    "bart": "", "mbart": "", "RefinedWeb": "", "RefinedWebModel": "", "opt": "4.49", "gpt_neox": "4.49",
}  # fmt: skip
# Values are a view of one product of queries, keys and values, which is kept whole beside the rotated queries and keys.
_VIEWED = frozenset(("gpt_neox", "phi3"))
# The same by functions of its own for every kind of attention, which copy nothing (modeling_modernbert.py of 4.51.3 and 5.24.0).
_VIEWED_BY_ITSELF = frozenset(("modernbert",))
# Attention classes of their own for sdpa up to 4.57, which copy keys and values for every head whatever torch could do.
_OWN_SDPA = frozenset(("stablelm", "nemotron", "qwen2_moe", "olmoe", "phimoe"))
# From which release to before which one a model says that it supports gradient checkpointing, and its layers are neither called through
# the checkpoint function nor a GradientCheckpointingLayer: nothing is computed again, and all is kept.
_NEVER_CHECKPOINTED = {"starcoder2": ("4.48", "4.52"), "gpt_bigcode": ("4.54", "5.0")}
# Query, key and value stay parts of one product where no rotation makes them new; from this release on a cache that is filled in
# training too, unless checkpointing turns it off, copies keys and values out of it.
_COPIED_BY_CACHE = {"gpt2": "4.52", "gpt_bigcode": "4.56"}


def norm(architecture: Architecture, plan: Plan) -> Norm:
    if architecture.kind in _IN_FLOAT32:
        # OLMo 2's was Llama's up to 4.51.
        return "rms" if architecture.kind == "olmo2" and not at_least(plan.stack.transformers, "4.52") else "rms in float32"
    if architecture.kind in _BY_HAND:
        return "layer by hand"
    if architecture.kind == "olmo":
        return "layer in float32"
    return architecture.norm


def after_only(architecture: Architecture) -> bool:
    """Whether attention and network are given the residual stream, and only what they put out is normalised."""
    return architecture.kind in _AFTER_ONLY


def one_input(architecture: Architecture) -> bool:
    """Whether attention and network are given the same normalised tensor."""
    return architecture.parallel and architecture.norms == 1


def is_eager(architecture: Architecture, plan: Plan) -> bool:
    """Whether transformers makes the matrix of probabilities, because it is asked to, or because the kind has nothing else."""
    if not architecture.attends:
        return False
    if plan.attention != "sdpa":
        return plan.attention == "eager"
    until, since, release = _EAGER_UNTIL.get(architecture.kind), _EAGER_SINCE.get(architecture.kind), plan.stack.transformers
    if since is not None and release != "-" and at_least(release, since):
        return True
    return until is not None and (not until or not at_least(plan.stack.transformers, until))


def falls_back(architecture: Architecture, plan: Plan) -> bool:
    """Whether torch's sdpa has no fused kernel for what it is given, and multiplies matrices (``_scaled_dot_product_attention_math``).

    The first Falcon gives it one key head for all query heads and does not say ``enable_gqa``: no kernel takes that. With
    ``enable_gqa`` FlashAttention does, for 16 bits only; the memory-efficient kernel never does (aten, sdp_utils_cpp.h,
    check_batch_size_and_num_heads_dense; cuda/sdp_utils.cpp), so that float32 is left without one.
    """
    if not architecture.attends or plan.attention != "sdpa" or architecture.kv_heads >= architecture.heads or is_eager(architecture, plan):
        return False
    if architecture.kind in ("falcon", "RefinedWebModel") and architecture.kv_heads == 1:
        return True
    wide = plan.autocast is None and (plan.load_dtype == "float32" or plan.upcast)
    # Beside a mask keys are copied for every head, which a fused kernel takes.
    return wide and not repeats(architecture, plan) and not plan.mask and windows.masked(architecture, plan) < _MOST


def makes_matrix(architecture: Architecture, plan: Plan) -> bool:
    return is_eager(architecture, plan) or falls_back(architecture, plan)


def wide_softmax(architecture: Architecture, plan: Plan) -> bool:
    """Whether eager attention computes its softmax in float32: autocast does, but where a class names the dtype of the scores itself."""
    if architecture.kind == "gpt_oss":
        # ``F.softmax(combined_logits, dim=-1, dtype=combined_logits.dtype)``: 4.55.4, 5.0.0 and 5.24.0.
        return False
    if plan.autocast is not None:
        return True
    if architecture.kind == "opt" and plan.load_dtype == "float16" and not plan.upcast:
        return True
    since = _NARROW_SOFTMAX.get(architecture.kind)
    return since is None or bool(since and at_least(plan.stack.transformers, since))


def keeps_softmax(architecture: Architecture, plan: Plan) -> bool:
    """Whether a class hands on its probabilities in the dtype that the softmax has, and casts nothing itself."""
    since = _NARROW_SOFTMAX.get(architecture.kind)
    return since is not None and not (since and at_least(plan.stack.transformers, since))


def repeats(architecture: Architecture, plan: Plan) -> bool:
    """Whether keys and values are copied for every query head before the attention sees them.

    FlashAttention takes them as they are. torch's sdpa does so from transformers 4.54.0 with torch 2.5 on, where there is no mask
    (``use_gqa_in_sdpa``, integrations/sdpa_attention.py); 4.48 to 4.53 always copy. Falcon's new layers broadcast them at any time.
    """
    if architecture.kv_heads >= architecture.heads:
        return False
    if plan.litgpt:
        # ``k.expand(...)`` and ``.reshape`` in model.py of 0.5.0, in front of torch's sdpa.
        return True
    if plan.attention.startswith("flash"):
        return False
    if is_eager(architecture, plan) or architecture.kind in ("falcon", "RefinedWeb"):
        return True
    if architecture.kind in _OWN_SDPA and not at_least(plan.stack.transformers, "5.0"):
        return True
    grouped = at_least(plan.stack.transformers, "4.54") and at_least(plan.stack.torch, "2.5") and not plan.mask
    if architecture.kv_heads == 1 and (architecture.kind == "gpt_bigcode" or at_least(plan.stack.transformers, "4.56")):
        # One key for all heads is spread over them without a copy, which only sdpa_attention_forward's ``contiguous`` made, up to 4.55.
        # What autocast makes 16 bits of then has all heads.
        return not grouped and _casts_products(architecture, plan)
    return not grouped


def _casts_products(architecture: Architecture, plan: Plan) -> bool:
    """Whether a layer of 4 or 8 bits hands back float32, which autocast makes 16 bits of in front of the attention."""
    wide = plan.upcast or norm(architecture, plan) == "layer"
    return wide and plan.autocast is not None and plan.quant in ("4bit", "8bit")


def repeats_in_math(architecture: Architecture) -> bool:
    """Whether sdpa itself repeats keys where it multiplies matrices: it is told to group them (``enable_gqa``), not by the first Falcon."""
    return architecture.kind not in ("falcon", "RefinedWebModel")


def mask_copies(plan: Plan) -> bool:
    """Whether each layer makes a mask of its own in the computed dtype: transformers makes boolean ones from 4.53 on
    (masking_utils.py), which sdpa's kernels turn into numbers and keep."""
    transformers = plan.stack.transformers
    return plan.mask and plan.attention == "sdpa" and transformers != "-" and at_least(transformers, "4.53")


def copied_by_cache(architecture: Architecture, plan: Plan) -> bool:
    since = _COPIED_BY_CACHE.get(architecture.kind)
    return since is not None and not plan.checkpointing and at_least(plan.stack.transformers, since)


def fills_cache(architecture: Architecture, plan: Plan) -> bool:
    """Whether a training forward fills a cache of keys and values that nobody reads: config.use_cache is true by default, and only
    checkpointing turns it off, and the Trainer of transformers 5 (TrainingArguments.use_cache), which a loop of one's own goes without."""
    release = plan.stack.transformers
    known = bool(release) and release != "-" and not plan.litgpt and (plan.outputs_kept or not at_least(release, "5.0"))
    # GPTBigCode's model does not look whether it checkpoints before 4.53 (``use_cache = False`` of 4.53.3, none in 4.45.2 to 4.52.4).
    off = plan.checkpointing and not (architecture.kind == "gpt_bigcode" and not at_least(release, "4.53"))
    return known and not off and architecture.head == "causal" and not architecture.encoder_decoder


# Whose layers are given no ``DynamicCache`` while they train: Gemma's hybrid one is made to generate alone, the others hand on tuples.
_OTHER_CACHES = frozenset(("gemma2", "gemma3", "gemma3_text", "gpt2", "gpt_bigcode", "mpt"))


def hides_keys_in_inputs(architecture: Architecture, plan: Plan) -> bool:
    """Whether torch sees keys and values of the layers before among what a layer is given: a ``DynamicCache`` is a node of its trees of
    arguments in transformers 4.50.3 to 4.55.4 (``register_pytree_node``, cache_utils.py), not in 4.49.0 nor, unasked, in 4.56.2."""
    release = plan.stack.transformers
    within = at_least(release, "4.50") and not at_least(release, "4.56")
    return within and architecture.kind not in _OTHER_CACHES and fills_cache(architecture, plan)


def hands_on_scores(architecture: Architecture, plan: Plan) -> bool:
    """Whether a layer hands its probabilities on, so that they live in the model's loop while the next layer makes its own: Falcon's
    (``outputs = block(...)``, modeling_falcon.py), with eager attention."""
    return architecture.kind == "falcon" and is_eager(architecture, plan)


def views_values(architecture: Architecture, plan: Plan) -> bool:
    """Whether the values that an attention keeps are a part of a larger tensor: a cache copies them out of it, and so did
    sdpa_attention_forward from 4.48 to 4.55 (``contiguous``); before it, classes of each model did where there was a mask."""
    if architecture.kind in _VIEWED_BY_ITSELF:
        return not makes_matrix(architecture, plan) and not (plan.upcast and plan.autocast is not None)
    if architecture.kind not in _VIEWED or fills_cache(architecture, plan) or makes_matrix(architecture, plan):
        return False
    if plan.upcast and plan.autocast is not None:
        # The product is float32, and the kernel is given 16-bit copies of its parts.
        return False
    release = plan.stack.transformers
    early = release not in ("", "-") and not at_least(release, "4.48") and not plan.mask
    return plan.attention.startswith("flash") or at_least(release, "4.56") or early


def values_of_a_product(architecture: Architecture) -> bool:
    """Whether values stay a part of one product of queries, keys and values: a cache copies them out of it from 4.56 on only."""
    return architecture.kind in _VIEWED


def merges_experts(plan: Plan) -> bool:
    """Whether the experts of a layer are two parameters (``gate_up_proj`` and ``down_proj``) and no linear layers any more, as in
    transformers 5: bitsandbytes quantizes linear layers only (integrations/bitsandbytes.py of 5.0.0 and 5.23.0), and peft's "all-linear"
    finds no others. Where no release is known, that of the models' own time is taken."""
    release = plan.stack.transformers
    return release not in ("", "-") and at_least(release, "5.0")


# Kinds whose targets peft converts to parameters of the experts where they are merged (utils/transformers_weight_conversion.py of 0.21.2).
_OF_PEFT = """
    afmoe cohere2_moe deepseek_v2 deepseek_v3 deepseek_v32 dots1 ernie4_5_moe exaone_moe flex_olmo glm4_moe glm4_moe_lite glm4v_moe
    glm4v_moe_text glm_moe_dsa hunyuan_v1_moe longcat_flash minimax minimax_m2 mixtral olmoe qwen3_moe qwen3_next qwen3_omni_moe_text
    solar_open
"""
_CONVERTED = frozenset(_OF_PEFT.split())


def adapts_experts(architecture: Architecture, plan: Plan, *, every: bool) -> bool:
    """Whether targets reach experts: merged ones of the kinds that peft converts, lists of names from 0.19 on, "all-linear" from 0.20."""
    if not merges_experts(plan):
        return True
    return architecture.kind in _CONVERTED and at_least(plan.stack.peft, "0.20" if every else "0.19")


# Experts of their own, which add what each puts out where it belongs; Granite's until a release after 5.12.0 and up to 5.24.0.
_ADD_THEIRS = {"granitemoe": "5.24", "granitemoeshared": "5.24", "granitemoehybrid": "5.24", "jetmoe": ""}


def sums_experts(architecture: Architecture, plan: Plan) -> bool:
    """Whether what experts put out is weighted and summed, of which autograd keeps no product: ``grouped_mm_experts_forward``
    (integrations/moe.py of 5.0.0 and 5.24.0), in the place of an ``index_add_`` that keeps its source."""
    until = _ADD_THEIRS.get(architecture.kind)
    adds = until is not None and not (until and at_least(plan.stack.transformers, until))
    return merges_experts(plan) and not adds and not architecture.remote


def as_merged(architecture: Architecture, plan: Plan) -> Architecture:
    """The architecture as a release builds its experts."""
    if architecture.remote or not merges_experts(plan) or not any(kind.experts for _, kind in architecture.kinds):
        return architecture
    linears = tuple(replace(one, module=False) if one.count > 1 else one for one in architecture.linears)
    return replace(architecture, linears=linears, variants=tuple(as_merged(one, plan) for one in architecture.variants))


def checkpoints(architecture: Architecture, plan: Plan) -> bool:
    """Whether gradient checkpointing does what it is asked for; a release that is not known is taken for one in which it does."""
    release, without = plan.stack.transformers, _NEVER_CHECKPOINTED.get(architecture.kind)
    if not plan.checkpointing or without is None or not release or architecture.remote:
        return plan.checkpointing
    return not (at_least(release, without[0]) and not at_least(release, without[1]))


def activation(architecture: Architecture, plan: Plan, width: int, *, full: bool) -> float:
    """Bytes that an activation function keeps for each element of a network without a gate, beside the input of the next product."""
    name = architecture.activation
    if name in ("gelu_new", "gelu_fast", "gelu_python_tanh"):
        # Operations of Python: x, x/2, the tanh, and 1 + tanh. Autocast takes the power of x, and all that follows, in float32.
        return 3 * 4 + width if plan.autocast is not None and width < 4 else 4 * width
    if name == "relu":
        # Its result, which is the input of the next product.
        return 0.0 if full else width
    if name == "relu2":
        return width + (4 if plan.autocast is not None and width < 4 else 0)
    return width
