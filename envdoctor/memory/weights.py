"""What the weights take on a GPU: as they are stored, or as a quantizer leaves them."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.memory import modeling
from envdoctor.memory.architecture import Architecture, Parameters
from envdoctor.memory.plan import WIDTH, Plan

# Bytes for each parameter of a quantized linear layer, with what the quantizer keeps beside the values.
# bitsandbytes: blocks of 64 with one float32 absmax; double quantization stores that in 8 bits with a float32 for 256 of them
# (https://huggingface.co/docs/bitsandbytes, functional.quantize_4bit). GPTQ, AWQ: groups, mostly of 128, with a float16 scale and a zero
# point as narrow as the values (https://github.com/AutoGPTQ/AutoGPTQ, qlinear buffers). int8: one scale a row.
_QUANTIZED: Mapping[str, float] = {
    "4bit": 0.5 + 4 / 64,
    "8bit": 1.0,
    "hqq": 0.5 + 4 / 64,
    "aqlm": 0.25,
    "fp8": 1.0,
    "mxfp4": 0.5 + 1 / 32,
    "torchao": 0.5 + 4 / 256,
}
_DOUBLE = 0.5 + 1 / 64 + 4 / (64 * 256)


def linear_width(architecture: Architecture, plan: Plan) -> float:
    """Bytes for each parameter of the linear layers inside the blocks."""
    if plan.quant == "none":
        return WIDTH[plan.load_dtype]
    if plan.quant in ("gptq", "awq"):
        bits, group = architecture.packed_bits or 4, architecture.packed_group
        values = group if group is not None and group > 0 else 128 if group is None else architecture.hidden
        return bits / 8 + (2 + bits / 8) / values
    if plan.quant in ("4bit", "torchao") and plan.double_quant:
        return _DOUBLE
    return _QUANTIZED.get(plan.quant, 0.5 + 4 / 64)


def other_width(plan: Plan) -> float:
    """Bytes for each parameter of embeddings, output layer and norms: no quantizer replaces them, and preparing for k-bit training
    makes them float32 (peft, ``prepare_model_for_kbit_training``)."""
    return 4 if plan.upcast and not plan.narrow_ends else WIDTH[plan.load_dtype]


def saved_modules(parameters: Parameters, plan: Plan) -> tuple[int, int]:
    """Parameters of the output layer and of the embedding that peft copies to train in full, by the names of modules."""
    named = plan.adapter.modules_to_save if plan.adapter is not None else ()
    head = embedding = 0
    for name in named:
        word = name.lower().rpartition(".")[2]
        if word in ("lm_head", "output_layer", "output", "embed_out", "score", "classifier"):
            head = parameters.head or parameters.embedding
        elif "emb" in word or word in ("wte", "tok_embeddings"):
            embedding = parameters.embedding
    return head, embedding


def base_bytes(architecture: Architecture, parameters: Parameters, plan: Plan) -> float:
    """Bytes of the base model, whole."""
    others = parameters.embedding + parameters.head + parameters.other
    if plan.unsloth and plan.offloaded:
        # Of what is copied to be trained the frozen tensors go to the disk (offload_input_embeddings, offload_output_embeddings and
        # _offload_frozen_module_for_training of unsloth/models/llama.py, 2024.8, 2025.4.1 and 2026.10.9).
        others -= min(sum(saved_modules(parameters, plan)), parameters.embedding + parameters.head)
    quantized = parameters.linear
    if plan.quantized_experts:
        bare = _bare_experts(architecture, plan)
        others, quantized = others - sum(bare), quantized + sum(bare)
    if quantizes_head(plan):
        others, quantized = others - parameters.head, quantized + parameters.head
    # bitsandbytes replaces the linear layers of a tower as well, which are nearly all of it (transformers, get_keys_to_not_convert keeps
    # the output layer alone; gemma-3-4b of TRL's notebook, benchmarks/unseen/memory-2.json 9531).
    wide = linear_width(architecture, plan) if plan.quant in ("4bit", "8bit") else WIDTH[plan.load_dtype]
    beside = parameters.beside * wide
    # A mask of the causal order for all positions, of one byte each (``bias`` of GPTBigCodeModel, 4.46.3 to 5.24.0).
    order = float(architecture.positions**2) if architecture.kind == "gpt_bigcode" else 0.0
    return quantized * linear_width(architecture, plan) + others * other_width(plan) + beside + order


def root_bytes(parameters: Parameters, plan: Plan) -> float:
    """Bytes of what stands outside of the layers: embeddings, output layer, last norm."""
    return (parameters.embedding + parameters.head) * other_width(plan)


def dequantized_bytes(architecture: Architecture, plan: Plan) -> float:
    """The largest linear layer in the dtype that it is computed in: a quantized one is written out before its product, forward and
    backward, one at a time (bitsandbytes ``MatMul4Bit``; auto-gptq's triton and exllama kernels do so for many rows)."""
    if plan.quant in ("none", "fp8"):
        return 0.0
    largest = max((one.inputs * one.outputs for _, kind in architecture.kinds for one in kind.linears if one.module), default=0)
    # Experts that are a parameter of a layer are written out when it is read, all of a layer's for its forward (axolotl's
    # monkeypatch/moe_quant.py and bitsandbytes.nn.parametrize, axolotl 0.19.0): autograd keeps them until its backward.
    bare = _bare_experts(architecture, plan) if plan.quantized_experts else []
    return 2.0 * max(largest, max(bare, default=0) if plan.checkpointing else sum(bare))


def _bare_experts(architecture: Architecture, plan: Plan) -> list[int]:
    """Parameters of the experts of each layer that has any which are no modules."""
    return [
        sum(one.parameters for one in kind.linears if one.count > 1 and not one.module)
        for times, kind in modeling.as_merged(architecture, plan).kinds
        for _ in range(times - kind.dense_layers)
    ]


def quantizes_head(plan: Plan) -> bool:
    """Whether the output layer is one of four bits too: Fabric's plugin, which litgpt uses, puts its class in the place of every
    ``torch.nn.Linear`` (``module_init_context``, lightning 2.2.1)."""
    return plan.litgpt and plan.quant == "4bit"


def written_out_head(parameters: Parameters, plan: Plan) -> float:
    """The output layer of four bits as it is multiplied: in float16, in which Fabric's plugin quantizes it, and in the dtype of its
    input."""
    return 4.0 * parameters.head if quantizes_head(plan) else 0.0


def left_behind(parameters: Parameters, plan: Plan) -> float:
    """Bytes of the 16-bit tensors whose float32 copies k-bit preparation made: they stay in the allocator's cache."""
    if not plan.upcast or plan.load_dtype == "float32":
        return 0.0
    return (parameters.embedding + parameters.head) * float(WIDTH[plan.load_dtype])


def experts_bytes(architecture: Architecture, plan: Plan) -> float:
    """Bytes of all experts as they are stored, of one GPU that shares them with none."""
    architecture = modeling.as_merged(architecture, plan)
    found = 0.0
    for times, kind in architecture.kinds:
        for one in kind.linears:
            if one.count > 1:
                quantized = one.module or plan.quantized_experts
                found += (
                    (times - kind.dense_layers) * one.parameters * (linear_width(architecture, plan) if quantized else other_width(plan))
                )
    return found
