"""What a layer holds for a moment beside what it keeps: gradients on their way, at the fullest point of its backward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envdoctor.memory import dora, fused_lora, mixers, modeling, routed
from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.kept import last_input, network
from envdoctor.memory.plan import WIDTH, Plan
from envdoctor.memory.widths import Widths


def backward(
    architecture: Architecture, plan: Plan, width: Widths, kept: Mapping[str, float], tuned: Sequence[Linear], written_out: float
) -> tuple[float, bool]:
    """Bytes for each token beside what the layer keeps, at the fullest of its points, and whether a quantized weight is written out then:
    inside the MLP, where its last product is computed, inside an attention that makes the matrix of its scores, or where an adapter adds
    to the widest product. ``written_out`` is such a weight as bytes for each token.

    By the time of the attention the MLP has freed what it kept.
    """
    stream = 2 * width.stream * architecture.hidden
    last = last_input(architecture, plan, width, tuned)
    points = [(_network(architecture, plan, width, last), False)]
    if written_out:
        points.append((_last_product(architecture, plan, width, last) + written_out, True))
    if architecture.mixer is not None:
        points.append((mixers.busy(architecture.mixer, plan, width.computed) - network(architecture, plan, tuned), False))
    if modeling.makes_matrix(architecture, plan):
        points.append((_scores(architecture, plan, width) - network(architecture, plan, tuned), False))
    again = dora.passing(plan, width, tuned) / max(plan.rows * plan.tokens, 1) if plan.checkpointing else 0.0
    if plan.checkpointing and architecture.experts and modeling.sums_experts(architecture, plan):
        # The end of the forward that a checkpointed layer repeats: beside the gradient of what it puts out, its normalised hidden states.
        repeated = routed.forward(architecture, plan, width, trained=trains_experts(plan, tuned))
        points.append((repeated + width.product * architecture.hidden, False))
    if plan.method == "adapter" and modeling.merges_experts(plan) and trains_experts(plan, tuned):
        points.extend((one, False) for one in _merged_gradients(architecture, plan, width, tuned))
    if again:
        # The forward that a checkpointed layer repeats, in which no gradient is on its way yet.
        points.append((again + dora.input_copies(plan, width, tuned) - stream, False))
    elif architecture.attends and fused_lora.has(architecture, plan, "down"):
        points.append((_fused_attention(architecture, width) - network(architecture, plan, tuned), False))
    held = _held(architecture, plan, width)
    if held:
        points.append((held, False))
    adapter = plan.adapter if plan.method == "adapter" else None
    if adapter is not None and adapter.float32 and not adapter.vectors and not architecture.experts:
        points.append((held + _added(architecture, plan, width, kept, last, tuned), False))
    most, there = max(points)
    return stream + most - (written_out if there else 0.0), there


def trains_experts(plan: Plan, tuned: Sequence[Linear]) -> bool:
    return plan.method == "full" or any(one.count > 1 for one in tuned)


def _merged_gradients(architecture: Architecture, plan: Plan, width: Widths, tuned: Sequence[Linear]) -> list[float]:
    """Bytes for each token of the gradients of the parameters that peft makes of merged experts and their adapters, each as large as the
    parameter: that of the last product, and that of the first ones when the last product's parameter and inputs are gone."""
    each = width.product * architecture.experts_per_token
    sizes = {"down": 0.0, "up": 0.0}
    for one in tuned:
        if one.count > 1:
            sizes["down" if one.role == "down" else "up"] += WIDTH[plan.load_dtype] * one.inputs * one.outputs * one.count
    down, up = (size / max(plan.rows * plan.tokens, 1) for size in sizes.values())
    out = each * architecture.hidden
    return [down + out, up - down - out + each * architecture.ffn]


def _held(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Float32 probabilities behind a dropout, which a layer's ``_`` holds to its end though autocast multiplies a 16-bit copy of them:
    of classes that leave the softmax's dtype as it is (``self_attention_output, _ = self.attention(...)``, modeling_bert.py)."""
    eager = modeling.is_eager(architecture, plan) and architecture.attention_dropout and plan.autocast is not None
    return 4.0 * architecture.heads * plan.tokens if eager and width.computed < 4 and modeling.keeps_softmax(architecture, plan) else 0.0


def _last_product(architecture: Architecture, plan: Plan, width: Widths, last: float) -> float:
    """The input of the last product while its weight is written out: in the forward its input, in the backward the gradient of that, beside
    the one that an adapter made first."""
    wide = width.product * architecture.ffn
    if architecture.experts:
        return _fullest(architecture) * 2 * wide
    return max(wide, 2 * wide - last) if last else wide


def _network(architecture: Architecture, plan: Plan, width: Widths, last: float) -> float:
    """The gradients around the activation, when the last product, whose input took ``last`` bytes, is done with."""
    wide = width.product * architecture.ffn
    if architecture.experts and modeling.sums_experts(architecture, plan):
        # All of them at once: the gradients of gate and up, and both in one; or those of the product with the router's weights.
        return max(architecture.experts_per_token * 4 * wide, routed.backward(architecture, plan, width))
    if architecture.experts:
        return _fullest(architecture) * wide * 3
    if fused_lora.has(architecture, plan, "down"):
        # The gradient of what goes into the last product: those of gate and up take the place of gate and up, and the gradient of the input
        # is made beside all of them. What comes through a norm behind the network is none of the two that come and go.
        behind = width.stream * architecture.hidden if architecture.norms == 4 else 0
        return wide * (2 if fused_lora.added_apart(plan) else 1) + behind
    if architecture.gated:
        return max(3 * wide - last, wide)
    name = architecture.activation
    if name in ("gelu_new", "gelu_fast", "gelu_python_tanh"):
        # Of the product and of both its factors, which autocast takes in float32.
        mixed = plan.autocast is not None and width.product < 4
        return max((3 * 4 + 2) * architecture.ffn if mixed else 3 * wide, wide + last) - last
    if name == "bloom_gelu":
        # Its backward is a formula in Python, with six tensors at once.
        return max(6 * wide - last, wide)
    if name == "relu":
        # Its result, which it keeps itself, is the input of the last product.
        return 2 * wide
    if name == "relu2":
        # The square's gradient is what comes in, the power, twice that, and their product; autocast takes them in float32.
        mixed = plan.autocast is not None and width.product < 4
        return max(4 * (4 if mixed else width.product) * architecture.ffn - last, wide)
    return max(2 * wide - last, wide)


def _scores(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """The gradients of probabilities and scores, in float32 where the softmax is, and what CUDA's kernel multiplies first (``tmp = grad *
    output``, softmax_backward_cuda_out of ATen/native/cuda/SoftMax.cu); less the 16-bit copy that is no more by then, and less what a
    dropout kept. Measured: runs of eager attention on a T4 (benchmarks/unseen), 4 bytes a score more than without it."""
    matrix = architecture.heads * plan.tokens
    if modeling.falls_back(architecture, plan):
        return 12.0 * matrix
    wide = width.computed == 4 or modeling.wide_softmax(architecture, plan)
    freed = width.computed if (wide and width.computed < 4) or architecture.attention_dropout else 0
    made = 3 * (4 if wide else width.computed)
    if (
        wide
        and (architecture.kind not in ("gptj", "codegen") or plan.autocast is not None)
        and "float16" in (plan.autocast, plan.load_dtype if plan.autocast is None else "")
        and width.computed < 4
        # A mask of a float32 model makes the scores float32.
        and (plan.load_dtype == "float16" and not plan.upcast)
    ):
        # One kernel makes float32 of float16, forward and back; GPT-J's and CodeGen's scores are float32 before it, but
        # for autocast, which multiplies in 16 bits whatever they are made.
        made = 10
    return float(matrix * (made - freed - (1 if architecture.attention_dropout else 0)))


def _fused_attention(architecture: Architecture, width: Widths) -> float:
    """The backward of FlashAttention's kernels: the gradients of output, queries, keys and values, a sum in float32 for the queries
    (``dq_accum``), and keys' and values' for every head where several share one (``dk_expanded``; mha_bwd in csrc/flash_attn/flash_api.cpp
    of flash-attention, and in ATen/native/transformers/cuda/flash_attn). Beside a network that no kernel computes it is never the most."""
    query, key = architecture.query_width, architecture.key_width
    expanded = 2 * query if architecture.kv_heads < architecture.heads else 0
    return float(4 * query + width.computed * (2 * query + 2 * key + expanded))


def passing_scores(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Bytes for each token of the scores in a checkpointed forward whose layers hand their probabilities on: those of the layer before, and
    this one's as they are, with the mask, as float32 and through the softmax."""
    if not modeling.hands_on_scores(architecture, plan):
        return 0.0
    wide = 4 if modeling.wide_softmax(architecture, plan) else width.computed
    copied = wide if wide != width.computed else 0
    return float(architecture.heads * plan.tokens * (2 * wide + copied + 2 * width.computed))


def passing_experts(architecture: Architecture, plan: Plan, width: Widths, tuned: Sequence[Linear]) -> float:
    """Bytes for each token at the end of the forward of experts that is not repeated, beside all that is kept: with the sum, and what came
    in as it is and normalised."""
    if plan.checkpointing or not architecture.experts or not modeling.sums_experts(architecture, plan):
        return 0.0
    passed = routed.forward(architecture, plan, width, trained=trains_experts(plan, tuned))
    return passed + (routed.weighted_width(architecture, plan, width) + 2 * width.stream) * architecture.hidden


def _added(architecture: Architecture, plan: Plan, width: Widths, kept: Mapping[str, float], last: float, tuned: Sequence[Linear]) -> float:
    """Where an adapter adds to a wide product, in the forward that a checkpointed layer repeats and in its backward.

    peft (lora/layer.py, lora/bnb.py) makes the base layer's product, that of the adapter, the latter scaled, and the sum. The input of the
    adapter is there as the base layer has it, in the adapter's dtype (beside layers of bitsandbytes autocast does without), and as the
    dropout leaves it; their gradients likewise. What comes after it in the layer is not there yet.
    """
    given, low = width.product, width.computed if plan.autocast is not None else 4
    made = given + low + max(given, low)
    # ``fully_shard`` has gathered them in the dtype that is computed in when peft looks; those that FSDP1 wraps by themselves are float32.
    gathered = plan.second and plan.gpus > 1 and plan.quant == "none"
    cast = 0 if (plan.quant in ("4bit", "8bit") or gathered) and plan.autocast is not None else 4
    dropped = (cast or given) if plan.adapter is not None and plan.adapter.dropout else 0
    # What is kept of the input is one of these where autocast makes no copy of its own.
    copies = cast * (given != 4) + dropped - (0 if plan.autocast is not None else last / max(_fed_down(tuned), 1))
    most, fused = 0.0, fused_lora.roles(architecture, plan)
    for one in tuned:
        if one.role in fused:
            continue
        if one.role in ("gate", "up", "gate_up"):
            later = given * architecture.ffn if one.role == "up" and architecture.gated else kept.get("mlp", 0.0)
            most = max(most, made * one.outputs - later - last)
        if one.role == "down":
            most = max(most, (given + max(copies, 0)) * one.inputs + made * one.outputs)
            if dropped:
                most = max(most, 2 * dropped * one.inputs - last)
    return most


def _fed_down(tuned: Sequence[Linear]) -> float:
    return sum(one.inputs * one.count * one.share for one in tuned if one.role == "down")


def _fullest(architecture: Architecture) -> float:
    """Which part of the tokens one expert works on at once, all of them without experts.

    Routers are not even: 1.15 times the even share is fitted to one figure, what the Mixtral rows of fms-acceleration's benchmarks
    without fused kernels leave for it beyond the tensors that are counted.
    """
    if not architecture.experts:
        return 1.0
    return min(1.0, 1.15 * max(architecture.experts_per_token, 1) / architecture.experts)


def forward(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Bytes for each token of the widest point of a layer's forward that keeps nothing."""
    mlp = _fullest(architecture) * width.computed * architecture.ffn * (3 if architecture.gated else 2)
    matrix = architecture.heads * plan.tokens * (4 + 2 * width.computed) if modeling.makes_matrix(architecture, plan) else 0
    return 2 * width.stream * architecture.hidden + max(mlp, matrix)
