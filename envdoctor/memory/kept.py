"""What autograd keeps of one layer until its backward, in bytes for each token, item by item.

Counted from the code of the layers (transformers' modeling files, torch's derivatives.yaml, peft's lora/layer.py) and compared with the
storages that are alive in a run of the same code under fake tensors (docs/memory.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from envdoctor.memory import dora, fused_lora, ia3, mixers, modeling, windows
from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.plan import WIDTH, Plan
from envdoctor.memory.stack import at_least
from envdoctor.memory.widths import Widths, widths

_ATTENTION_INPUTS = ("query", "key", "value", "key_value", "attention", "latent")
_MLP_INPUTS = ("gate", "up", "gate_up")


def layer(architecture: Architecture, plan: Plan, tuned: Sequence[Linear]) -> Mapping[str, float]:
    """Bytes that one layer keeps for each token. ``tuned`` are the linear layers with a trained adapter beside them."""
    width = widths(architecture, plan)
    full = plan.method == "full"
    items = {
        "norms": _norms(architecture, plan, width, trained=full),
        "attention": _attention(architecture, plan, width) + _gate(architecture, plan, width, tuned) if architecture.attends else 0.0,
        "mixer": _mixer(architecture, plan, width, tuned),
        "mlp": _mlp(architecture, plan, width),
        "dropout": _dropout(architecture),
        "injected": float(_INJECTED * width.product * architecture.injected),
    }
    if full:
        items["inputs"] = _trained_inputs(architecture, plan, width)
    elif plan.quant == "8bit" or (plan.quant == "4bit" and not at_least(plan.stack.bitsandbytes, "0.43.2")):
        items["inputs"] = _all_inputs(architecture, width)
    if plan.method == "adapter" and plan.adapter is not None:
        items["adapters"] = _adapter_inputs(architecture, tuned, plan, width)
        copies = dora.weights(plan, width, tuned) + _merged_weights(plan, tuned)
        items["copies"] = copies / max(plan.rows * plan.tokens, 1)
    return {name: bytes_ for name, bytes_ in items.items() if bytes_}


def _merged_weights(plan: Plan, tuned: Sequence[Linear]) -> float:
    """Bytes of the parameters of experts with what their adapters add, which one layer keeps to hand gradients back through: peft
    parametrizes them (``ParamWrapper`` and ``baddbmm`` of its lora/layer.py, 0.21.2), in the dtype of the parameter."""
    if not modeling.merges_experts(plan):
        return 0.0
    return float(sum(WIDTH[plan.load_dtype] * one.inputs * one.outputs * one.count for one in tuned if one.count > 1))


def network(architecture: Architecture, plan: Plan, tuned: Sequence[Linear]) -> float:
    """Of these, what is gone when the backward of the feed-forward network is done, and that of the attention's last product."""
    width, full = widths(architecture, plan), plan.method == "full"
    total = _mlp(architecture, plan, width) + _dropout(architecture)
    if architecture.norms > 1 and not architecture.parallel:
        total += _normed(architecture, plan, width.stream, full) * architecture.hidden * (architecture.norms - 1)
    done = ("gate", "up", "gate_up", "down", "router", "output", "other")
    if full:
        total += _trained_inputs(architecture, plan, width, _MLP_INPUTS)
    elif plan.adapter is not None:
        total += _adapter_inputs(architecture, [one for one in tuned if one.role in done], plan, width)
    return total


def before_adapters(architecture: Architecture, plan: Plan, tuned: Sequence[Linear]) -> float:
    """Of these, what stands before the first adapter of the layer: its norms, its attention and its network, which keep nothing where no
    gradient goes through them."""
    width, roles = widths(architecture, plan), {one.role for one in tuned}
    one_norm = _norms(architecture, plan, width, trained=False) / max(architecture.norms, 1)
    if architecture.head_norms:
        own = _normed(architecture, plan, width.product, False) * (architecture.query_width + architecture.key_width)
        one_norm = (_norms(architecture, plan, width, trained=False) - own) / max(architecture.norms, 1)
    first = 0.0 if modeling.after_only(architecture) else one_norm
    if not roles or not roles.isdisjoint(_ATTENTION_INPUTS) or architecture.experts or not architecture.attends:
        return first
    attention = first + layer(architecture, plan, ()).get("attention", 0.0)
    if "output" in roles:
        return attention
    # Behind the attention: the norm of what it puts out, where there is one, and that before the network.
    attention += one_norm * (2 if architecture.norms == 4 else 1)
    if not roles.isdisjoint(_MLP_INPUTS):
        return attention
    return attention + _mlp(architecture, plan, width) if "down" in roles else first


def _norms(architecture: Architecture, plan: Plan, width: Widths, *, trained: bool) -> float:
    hidden = architecture.hidden
    if plan.fused_norms:
        # Liger's norms keep their input as it is and one number a row, those of queries and keys too.
        heads = architecture.head_norms and not plan.compile
        own_heads = width.product * (architecture.query_width + architecture.key_width) if heads else 0
        return architecture.norms * (width.stream * hidden + 4) + own_heads
    if plan.compile:
        # The input as it is; the rest is computed again.
        own_heads = width.product * (architecture.query_width + architecture.key_width) if architecture.head_norms else 0
        return architecture.norms * (width.stream * hidden + 4) + own_heads
    rows = 8 if architecture.norm == "layer" else 4
    own = architecture.norms
    if modeling.norm(architecture, plan) == "layer" and architecture.parallel and (plan.autocast is None or width.stream == 4):
        # Both norms of parallel branches keep the same input, if neither makes a copy of its own.
        own = 1
    total = own * (_normed(architecture, plan, width.stream, trained) * hidden + rows)
    if modeling.norm(architecture, plan) == "rms" and trained:
        # These are given what a branch puts out, not the stream.
        after = architecture.norms if modeling.after_only(architecture) else 2 if architecture.norms == 4 else 0
        total -= after * (width.stream - width.product) * hidden
    if architecture.head_norms:
        values = architecture.key_width if architecture.value_norms else 0
        total += _normed(architecture, plan, width.product, trained) * (architecture.query_width + architecture.key_width + values)
    return total


def _normed(architecture: Architecture, plan: Plan, given: int, trained: bool) -> int:
    """Bytes that a norm keeps for each of its elements, of ``given`` bytes each."""
    way = modeling.norm(architecture, plan)
    if way == "rms":
        # The input as float32; with a trained weight the normalised values too, in the dtype of the input.
        return 4 + (given if trained else 0)
    if way == "rms in float32":
        return 4 + (4 if trained else 0)
    if way == "layer by hand":
        # The difference to the mean twice: for the variance and for the result.
        return 8 + (4 if trained else 0)
    # native_layer_norm keeps its input; autocast gives it float32, but for Nemotron's, which leaves the region first.
    if plan.autocast is not None and architecture.kind == "nemotron":
        return WIDTH[plan.autocast]
    return 4 if way == "layer in float32" or plan.autocast is not None else given


def _attention(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Queries, keys, values and the output; the kernels of sdpa and FlashAttention add one float32 for each head, eager attention the
    whole matrix of probabilities: out of the softmax, and as it is multiplied with the values, where that is another dtype."""
    query, key = architecture.query_width, architecture.key_width
    whole = query if modeling.repeats(architecture, plan) else key
    kept = float(width.computed * (query + 2 * whole))
    matrix = architecture.heads * plan.tokens
    if modeling.falls_back(architecture, plan):
        # 16 bits are computed in float32 there from torch 2.5 on. One key head is spread over all without a copy.
        wide = 4 if at_least(plan.stack.torch, "2.5") else width.computed
        # A product of several rows copies them for every head after all: their strides are no matrix's.
        spread = architecture.kv_heads == 1 and plan.rows == 1 and not modeling.repeats_in_math(architecture)
        return wide * (query + 2 * (key if spread else query) + matrix)
    if plan.compile and modeling.is_eager(architecture, plan):
        # Scores and probabilities; of a float32 softmax both dtypes in some layers.
        return kept + matrix * (5.3 if plan.autocast is not None and width.computed < 4 else 2 * width.computed)
    if modeling.is_eager(architecture, plan):
        kept += matrix * width.computed * (2 if architecture.softcap else 1)
        if architecture.kind == "opt" and not at_least(plan.stack.transformers, "4.49"):
            # The scores as they were before the largest negative number bounded them, as wide as the mask that was added.
            kept += matrix * max(width.computed, width.stream)
        if architecture.kind in ("gptj", "codegen") and plan.autocast is None:
            # Queries and keys are multiplied in float32.
            kept += (4 - width.computed) * 2 * query
        if width.computed < 4 and modeling.wide_softmax(architecture, plan):
            kept += matrix * 4
            if architecture.attention_dropout:
                # The probabilities that the dropout was given are the float32 ones, cast, and gone.
                kept += matrix
        elif architecture.attention_dropout:
            kept += matrix * (1 + width.computed)
        return kept
    if modeling.copied_by_cache(architecture, plan):
        kept += width.computed * 2 * key
    if modeling.views_values(architecture, plan):
        kept += width.computed * (query + key)
    if modeling.mask_copies(plan):
        kept += width.computed * plan.tokens
    alone = windows.masked(architecture, plan)
    if alone:
        # Beside a mask keys and values are copied for every head, too.
        copied = 0 if modeling.repeats(architecture, plan) else 2 * (query - key)
        kept += alone * width.computed * (plan.tokens + copied)
    return kept + width.computed * query + 4 * architecture.heads


def _gate(architecture: Architecture, plan: Plan, width: Widths, tuned: Sequence[Linear]) -> float:
    """A gate of the attention's output: its sigmoid, and the product where the next layer keeps its input. A fused kernel keeps its output
    itself, eager attention does not."""
    if not architecture.gated_attention:
        return 0.0
    copies = 1 + _last_is_kept(plan, tuned)
    return float(width.computed * architecture.query_width * copies)


def _mixer(architecture: Architecture, plan: Plan, width: Widths, tuned: Sequence[Linear]) -> float:
    if architecture.mixer is None:
        return 0.0
    return mixers.kept(architecture.mixer, plan, width.computed, last=_last_is_kept(plan, tuned))


def _last_is_kept(plan: Plan, tuned: Sequence[Linear]) -> bool:
    """Whether the product behind the attention keeps its input: one that is trained, or has an adapter that takes it as it is."""
    vectors = plan.adapter is not None and plan.adapter.vectors
    return plan.method == "full" or (not vectors and any(one.role == "output" for one in tuned))


def cached(architecture: Architecture, plan: Plan) -> float:
    """Bytes for each token that one layer's part of an unread cache takes until the model returns, where they are other tensors than
    those that the attention keeps: rotated in float32 under autocast, or copied since, for every head or to be contiguous."""
    if not architecture.attends or not modeling.fills_cache(architecture, plan):
        return 0.0
    width, newer = widths(architecture, plan), at_least(plan.stack.transformers, "4.56")
    if plan.checkpointing:
        # Keys and values are parts of one product, of which nothing else is left then.
        return float(width.product * (architecture.query_width + 2 * architecture.key_width))
    fused = modeling.values_of_a_product(architecture) and not newer
    if plan.autocast is not None and width.stream == 4 and architecture.positions == 0:
        if fused and width.product == 4:
            # Values that are a part of the product of queries, keys and values hold all of it.
            return float(4 * (architecture.query_width + 3 * architecture.key_width))
        # The first keys decide the dtype of the whole cache from 4.56 on.
        return float((4 + (4 if newer or width.product == 4 else 0)) * architecture.key_width)
    if fused and not modeling.views_values(architecture, plan):
        return float(width.computed * (architecture.query_width + 3 * architecture.key_width))
    copied = modeling.repeats(architecture, plan) or modeling.makes_matrix(architecture, plan)
    if copied or (plan.attention == "sdpa" and not newer and architecture.positions == 0):
        return float(2 * width.computed * architecture.key_width)
    return 0.0


def _mlp(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Gated: the gate, what its activation makes of it, and the values that are multiplied; Liger's fused one computes the second again.
    Plain: what the activation keeps."""
    if architecture.experts:
        # The weighted outputs are as wide as the stream.
        weighted = architecture.experts_per_token * architecture.hidden
        own = width.product * (_experts(architecture) - weighted)
        return own if modeling.sums_experts(architecture, plan) else own + width.stream * weighted
    if plan.compile:
        return width.product * (2 if architecture.gated else 1) * architecture.ffn
    if architecture.gated:
        return width.product * (2 if plan.fused_activation or fused_lora.has(architecture, plan, "down") else 3) * architecture.ffn
    return modeling.activation(architecture, plan, width.product, full=plan.method == "full") * architecture.ffn


def _experts(architecture: Architecture) -> float:
    """Elements for each token: of each expert that it goes through, what a gated network keeps, its output, which the router's weight is
    multiplied with, and the product (``index_add_`` keeps its source); of a network for all tokens, the same but for the outputs, of
    which the one before a gate of its own is kept (Qwen2-MoE)."""
    each = architecture.experts_per_token * (3 * architecture.ffn + 2 * architecture.hidden)
    shared = sum(_SHARED.get(one.role, 0) * one.outputs for one in architecture.linears if one.count == 1)
    gated = any(one.name == "shared_expert_gate" for one in architecture.linears)
    return each + shared + (architecture.hidden if gated else 0)


# The product and its activation, which an embedding of the layer's own is multiplied with, and what comes of that (Gemma 4).
_INJECTED = 4
# How often the outputs of a product are kept, as they are and as the activation or the multiplication leaves them.
_SHARED = {"gate": 2, "up": 1, "gate_up": 1.5}


def _dropout(architecture: Architecture) -> float:
    """One byte for each element that a dropout with a chance above 0 saw, after the attention (not DistilBERT's) and after the MLP."""
    places = 1 if architecture.kind == "distilbert" else 2
    return float(places * architecture.hidden) if architecture.hidden_dropout else 0.0


def _trained_inputs(architecture: Architecture, plan: Plan, width: Widths, *places: tuple[str, ...]) -> float:
    """The inputs of trained matrix products. Under autocast every product makes its own 16-bit copy of a float32 input, and a layer norm
    puts out float32."""
    copies = width.computed < width.stream or (plan.autocast is not None and modeling.norm(architecture, plan) == "layer")
    copies = copies and architecture.kind != "nemotron"
    total = 0.0
    for roles in places or (_ATTENTION_INPUTS, _MLP_INPUTS):
        fed = [one for one in architecture.linears if one.role in roles]
        if fed:
            # Products of one input share it; those of a latent attention have inputs of several widths.
            total += width.computed * (sum(map(_fed, fed)) if copies else sum(set(map(_fed, fed))))
    if architecture.experts and not any(one.role in _MLP_INPUTS and one.count == 1 for one in architecture.linears):
        # Experts are given copies of their rows; the router has the input itself.
        total += width.computed * architecture.hidden
    if modeling.one_input(architecture) and not copies:
        total -= width.computed * architecture.hidden
    # The output of the attention is kept by a fused kernel itself; what goes into the last product is new.
    total += width.computed * sum(_fed(one) for one in architecture.linears if one.role == "down")
    if modeling.makes_matrix(architecture, plan):
        total += width.computed * architecture.query_width
    return total


def last_input(architecture: Architecture, plan: Plan, width: Widths, tuned: Sequence[Linear]) -> float:
    """Bytes that the input of the last product of the network takes for each token, where that is trained or has an adapter."""
    down = [one for one in (architecture.linears if plan.method == "full" else tuned) if one.role == "down"]
    if architecture.experts or not down or (plan.method != "full" and plan.adapter is None) or fused_lora.has(architecture, plan, "down"):
        return 0.0
    if plan.method == "full":
        return width.computed * sum(map(_fed, down))
    if plan.adapter is not None and plan.adapter.vectors:
        return ia3.kept(down, plan, width)
    return _adapter_width(plan, width) * sum(map(_fed, down))


def _adapter_width(plan: Plan, width: Widths) -> int:
    """Bytes of an element of what goes into an adapter: in its own dtype, or in that of autocast."""
    if plan.autocast is not None:
        return WIDTH[plan.autocast]
    return 4 if plan.adapter is None or plan.adapter.float32 else width.stream


def _all_inputs(architecture: Architecture, width: Widths) -> float:
    """bitsandbytes' int8 product keeps its input whether the weights are trained or not (``MatMul8bitLt``), and so did the 4-bit one
    before 0.43.2 (``MatMul4Bit``). What the attention puts out is kept by the attention itself."""
    return width.computed * sum(_fed(one) for one in _firsts(architecture.linears) if one.role != "output")


def _adapter_inputs(architecture: Architecture, tuned: Iterable[Linear], plan: Plan, width: Widths) -> float:
    """What the low-rank path keeps: its input, in the adapter's dtype where that is another, and the product of the first matrix.

    peft casts the input to the dtype of ``lora_A`` for each target by itself; autocast makes 16 bits of that again. Beside layers of
    bitsandbytes it leaves that to autocast (lora/bnb.py: ``requires_conversion``), which has nothing to do where 16 bits come in.
    """
    adapter = plan.adapter
    if adapter is None:
        return 0.0
    if adapter.vectors:
        return ia3.kept(tuned, plan, width)
    of_adapter = _adapter_width(plan, width)
    # ``fully_shard`` has gathered the adapter in the dtype that is computed in when peft looks at it; a layer norm hands on float32.
    gathered = plan.second and plan.gpus > 1 and architecture.norm == "rms"
    total = 0.0
    shared: dict[str, float] = {}
    fused = fused_lora.roles(architecture, plan)
    for place in {_place(one) for one in tuned if one.role in fused and one.role != "down"}:
        # The kernels keep what the products are given, and compute the rest again.
        given = max(_fed(one) for one in tuned if _place(one) == place)
        shared[place] = width.product * given
        total += (1 + width.product) * given if adapter.dropout else 0.0
    for one in tuned:
        if one.role in fused:
            continue
        if one.count > 1 and modeling.merges_experts(plan):
            # Its weight is made of the parameter and the adapter: what goes in is kept for the gradient of that weight alone.
            place = f"experts {_place(one)}"
            shared[place] = max(shared.get(place, 0.0), width.product * _fed(one))
            continue
        if adapter.dropout:
            # One byte of mask for each element, and the input as the dropout left it.
            total += (1 + of_adapter) * _fed(one)
        elif of_adapter != width.product or (plan.autocast is not None and plan.quant not in ("4bit", "8bit") and not gathered):
            total += of_adapter * _fed(one)
        elif one.role != "down" or architecture.activation != "relu" or architecture.gated:
            # A relu keeps its result itself.
            shared[_place(one)] = max(shared.get(_place(one), 0.0), width.computed * _fed(one))
        total += of_adapter * adapter.rank * one.count * one.share
        if adapter.dora:
            total += dora.results(plan, width, one)
    if not modeling.makes_matrix(architecture, plan):
        shared.pop("output", None)
    return total + sum(shared.values())


def _fed(one: Linear) -> float:
    """Elements that the modules of one kind see for each token of the layer."""
    return one.inputs * one.count * one.share


def _place(one: Linear) -> str:
    if one.role in _ATTENTION_INPUTS:
        return "attention"
    return "mlp" if one.role in _MLP_INPUTS else one.role


def _firsts(linears: Iterable[Linear]) -> Iterable[Linear]:
    """One linear layer for each tensor that several of them are given."""
    return {_place(one): one for one in linears}.values()
