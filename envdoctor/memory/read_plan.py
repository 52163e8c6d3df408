"""From facts to a plan: what was stated is taken, what follows is derived, and what is left is assumed and said."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import ABSENT, Exact
from envdoctor.memory import ia3, read_kernels
from envdoctor.memory import optimizer as optimizers
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.asked import CHECKPOINTS_IN_TRL, Reader, arguments_may_decide
from envdoctor.memory.estimate import Assumption
from envdoctor.memory.parallel import context_of, experts_of, named_by_transformers, spread_of, stages_of
from envdoctor.memory.plan import Adapter, Dtype, Plan, Sharding, Stack
from envdoctor.memory.read_method import (
    GENERATED,
    PROMPT,
    VIRTUAL_TOKENS,
    answer_of,
    autocast_of,
    load_dtype_of,
    method_of,
    objective,
    sequences,
)
from envdoctor.memory.read_sharing import offload_of, sharding_of, tensor_of
from envdoctor.memory.stack import at_least
from envdoctor.memory.targets import default_targets, tuned
from envdoctor.records import replace
from envdoctor.world.gpus import capability_key

# What torchtune calls the modules of Llama's layers (torchtune/modules: transformer.py, attention.py, feed_forward.py).
_OF_TORCHTUNE = {"output_proj": "o_proj", "w1": "gate_proj", "w2": "down_proj", "w3": "up_proj", "output": "lm_head"}
# Trainers that checkpoint unless they are told not to: disable_gradient_checkpointing of hparams/model_args.py is false, and
# gradient_checkpointing of swift/trainers/arguments.py true, use_gradient_checkpointing of Unsloth's get_peft_model True or "unsloth"
# (unsloth/models/llama.py of 2024.8, 2025.3.19, 2026.1.1 and 2026.10.9), which also has lora_dropout=0.
_CHECKPOINTING = {"llamafactory": "LLaMA-Factory", "ms-swift": "ms-swift", "unsloth": "Unsloth"}
# Trainers that compile layer by layer, and no loss: apply_compile of prime-rl (src/prime_rl/trainer/model.py at 8718eb14).
_COMPILE_LAYERS = frozenset(("prime-rl",))
# Trainers whose adapters have no dropout unless a plan says so: lora_dropout of Unsloth's get_peft_model, and of axolotl's
# utils/schemas/peft.py (0.8.0 and 0.19.0).
_NO_DROPOUT = {"unsloth": "Unsloth", "axolotl": "axolotl"}
# Where Unsloth's loss of a labelled batch makes no logits any more (fused_linear_cross_entropy in models/llama.py: not in 2024.10.7, in
# 2024.11.10 and 2025.2.15).
_WITHOUT_LOGITS = "2024.11"
# Trainers that leave what is not quantized as it is: prepare_model_for_training of LLaMA-Factory (model_utils/checkpointing.py) makes
# layer norms float32 where upcast_layernorm is set, and nothing else; Unsloth's (unsloth_zoo 2025.11.1, training_utils.py) makes what is
# trained float32; torchtune 0.6.1 has none, nor have litgpt 0.5.0 and 0.5.13, nor ms-swift at its tags from 1.7.0 to 3.8.0.
_UNPREPARED = frozenset(("llamafactory", "ms-swift", "unsloth", "torchtune", "litgpt"))
# Whose Megatron compiles the loss unless a plan says otherwise (cross_entropy_loss_fusion of swift/megatron/arguments/megatron_args.py at
# 3602360a, and in each of its examples before).
_COMPILED_BY_MEGATRON = frozenset(("ms-swift",))
_EXPANDABLE = frozenset(("torchtitan",))
# Weights of integers, unless FSDP shares them out, for which 4-bit ones are stored as floating-point numbers.
_OF_INTEGERS = frozenset(("4bit", "8bit", "gptq", "awq"))
_OF_BITSANDBYTES = frozenset(("4bit", "8bit"))
# Trainers that make norms, embeddings and output layer what the run computes in again behind peft's preparation, for every adapter
# (``_convert_embedding_modules_dtype(dist_dtype=cfg.torch_dtype)`` where needs_fa2_dtype; axolotl 0.8.0 to 0.19.0, loaders/model.py), and
# under FSDP leave that preparation out.
_CAST_BACK = frozenset(("axolotl",))
# Trainers that bring low-rank layers of their own and go without peft: made in the dtype that the weights are loaded in (
# ``training.set_default_dtype`` in the recipes of torchtune 0.6.1, ``fabric.init_module`` of litgpt 0.5.0 under ``bf16-true``).
_OWN_ADAPTERS = frozenset(("torchtune", "litgpt"))
# Trainers that wrap whole layers with their adapters (``FSDPStrategy(auto_wrap_policy={Block})``, finetune/lora.py of litgpt at 9a2065e5),
# and not each adapter by itself, as peft's policy does.
_JOINED = frozenset(("litgpt",))
# From which compute capability on cuBLAS has the larger workspace: Hopper, and Blackwell since torch knows it.
_WIDE_FROM = 9
_DECIDING = (
    "torch",
    "transformers",
    "peft",
    "accelerate",
    "deepspeed",
    "bitsandbytes",
    "flash-linear-attention",
    "mamba-ssm",
    "axolotl",
    "unsloth",
)
# Settings that a plan may state in words that are not understood, and what is counted then.
_IN_WORDS: Mapping[str, object] = {
    "plan.quant": "none", "plan.fp16": False, "plan.bf16": False, "plan.packing": False, "plan.offload": "none",
    "plan.gradient_accumulation": 1, "plan.double_quant": False,
}  # fmt: skip


def read_plan(facts: Facts, architecture: Architecture) -> tuple[Plan, tuple[Assumption, ...]]:
    """The plan that facts describe, and what had to be assumed."""
    reader = Reader(facts)
    method, quant = method_of(reader)
    stack = _stack(reader)
    autocast = autocast_of(reader)
    tensor = tensor_of(reader, architecture, method)
    stages, spread = stages_of(reader, architecture), tensor > 1 and spread_of(reader, architecture)
    sharding, gpus = sharding_of(reader, tensor * stages, method)
    whole = quant in _OF_INTEGERS and sharding != "fsdp" and reader.text("plan.trainer") not in _OWN_ADAPTERS
    adapter = _adapter(reader, architecture, stack, beside_integers=whole) if method == "adapter" else None
    offload, sharding = offload_of(reader, method, sharding)
    dtype, autocast = _cast_by_deepspeed(sharding, load_dtype_of(reader, method, quant, architecture.kind), autocast)
    if adapter is not None and dtype == "float32":
        # Left in the dtype of the base model, an adapter is float32 too.
        adapter = replace(adapter, float32=True)
    rows, loss = reader.number_or("plan.batch_size", 1), _loss(reader)
    packed, (context, gathers) = reader.flag("plan.packing") is True, context_of(reader, sharding)
    plan = Plan(
        method=method,
        load_dtype=dtype,
        autocast=autocast,
        rows=rows * sequences(facts),
        tokens=-(-_tokens(reader) // (context * (tensor if spread else 1))),
        adapter=adapter,
        quant=quant,
        double_quant=reader.flag("plan.double_quant") is True,
        quantized_experts=quant in _OF_BITSANDBYTES and reader.flag("plan.quantize_experts") is True,
        upcast=_upcast(reader, method, quant, sharding),
        prompt=reader.number("plan.virtual_tokens") or VIRTUAL_TOKENS if method == "prompt" else 0,
        accumulation=reader.number("plan.gradient_accumulation") or stages,
        checkpointing=_checkpointing(reader, method),
        reentrant=reader.flag("plan.use_reentrant"),
        optimizer=_optimizer(reader, stack) if method != "inference" else "none",
        state_dtype=_state_dtype(reader),
        in_backward=reader.flag("plan.optimizer_in_backward") is True,
        attention=_attention(reader, architecture, stack),
        sharding=sharding,
        gpus=gpus,
        tensor=tensor,
        context=context,
        gathers=gathers,
        spread=spread,
        pipeline=stages,
        experts_over=experts_of(reader, architecture, sharding),
        second=sharding == "fsdp" and reader.number("plan.fsdp_version") == 2,
        offload=offload,
        mask=_mask(reader, rows, packed),
        packed=packed,
        scored=_scored(reader),
        liger=reader.flag("plan.liger") is True or loss == "linear_cross_entropy",
        fused_loss=loss == "cross_entropy" or (loss is None and sharding == "megatron" and reader.trainer in _COMPILED_BY_MEGATRON),
        chunked_loss=loss == "chunked_cross_entropy",
        every=_every(reader),
        offloaded=_offloaded(reader),
        ops=reader.text("plan.selective_checkpointing") == "op",
        joined=method == "adapter" and sharding == "fsdp" and reader.text("plan.trainer") in _JOINED,
        wrapped=reader.flag("plan.fsdp_wrapped") is not False,
        upcast_loss=reader.flag("plan.loss_upcast") is not False,
        compile=reader.flag("plan.compile") is True,
        compiled_loss=reader.flag("plan.compile") is True and reader.text("plan.trainer") not in _COMPILE_LAYERS,
        outputs_kept=reader.flag("plan.outputs_kept") is True,
        resharded=reader.flag("plan.reshard_after_forward") is not False,
        zero_init=reader.flag("plan.zero_init"),
        expandable=_expandable(reader),
        wide_workspace=_wide_workspace(reader),
        stack=stack,
    )
    _assume_in_words(reader)
    return read_kernels.with_kernels(plan, reader, architecture), tuple(reader.assumed)


def _assume_in_words(reader: Reader) -> None:
    for name, value in _IN_WORDS.items():
        words = reader.in_words(name)
        if words is not None and name not in {one.fact for one in reader.assumed}:
            reader.assume(name, value, f"{words} is not understood")


def _cast_by_deepspeed(sharding: Sharding, dtype: Dtype, autocast: Dtype | None) -> tuple[Dtype, Dtype | None]:
    """The dtypes that the weights have and that is computed in: DeepSpeed's engine casts the weights and computes in that dtype, and
    accelerate does not autocast then (Accelerator, native_amp). Megatron has its parameters in that dtype too."""
    if sharding in ("zero1", "zero2", "zero3", "megatron") and autocast is not None:
        return autocast, None
    return dtype, autocast


def _wide_workspace(reader: Reader) -> bool:
    value = reader.facts.value("gpu.compute_capability")
    key = capability_key(value.text) if isinstance(value, Exact) else None
    return key is not None and key[0] >= _WIDE_FROM


def _expandable(reader: Reader) -> bool:
    """Whether PYTORCH_CUDA_ALLOC_CONF has expandable_segments: as a script sets it, or run_train.sh of torchtitan (at 0168bd51)."""
    used = reader.facts.value("plan.code_uses")
    settings = used if isinstance(used, tuple) else ()
    said = any("ALLOC_CONF" in str(one) and "expandable_segments:true" in str(one).lower() for one in settings)
    return said or reader.text("plan.trainer") in _EXPANDABLE


def _stack(reader: Reader) -> Stack:
    def release(package: str) -> str:
        value = reader.facts.value(f"packages.{package}")
        if isinstance(value, Exact):
            return value.text
        return "-" if value is ABSENT else ""

    return Stack(*map(release, _DECIDING))


def _adapter(reader: Reader, architecture: Architecture, stack: Stack, *, beside_integers: bool) -> Adapter:
    vectors = reader.text("plan.method") == "ia3"
    rank = 1 if vectors else reader.number_or("plan.lora_r", 8, "default of peft")
    targets = reader.words("plan.lora_targets")
    if targets and reader.text("plan.trainer") == "torchtune" and not tuned(architecture, ("output_proj", "w1", "w2", "w3")):
        targets = tuple(_OF_TORCHTUNE.get(name, name) for name in targets)
    if targets and reader.text("plan.distributed") == "megatron":
        targets = named_by_transformers(targets)
    if not targets:
        targets = ia3.default_targets(architecture) if vectors else default_targets(architecture)
        why = "default of peft for this architecture"
        if not targets:
            # peft asks for target_modules then; queries and values are what its paper adapted.
            targets = tuple(dict.fromkeys(one.name for one in architecture.linears if one.role in ("query", "value", "attention")))
            why = "peft has no default for this architecture"
        reader.assume("plan.lora_targets", targets, why)
    cast = reader.flag("plan.autocast_adapter_dtype")
    # peft 0.7.0 to 0.11.1 leave adapters in the base model's dtype; before and after they are float32. No release gives them the dtype of a
    # weight of integers (``if weight.dtype.is_floating_point`` in 0.7.0, 0.11.1, 0.12.0, 0.13.2 and 0.21.2): beside those they are float32.
    between = stack.peft not in ("", "-") and at_least(stack.peft, "0.7.0") and not at_least(stack.peft, "0.12.0")
    float32 = beside_integers or (not between if cast is None or between else cast)
    if cast is None and (reader.text("plan.trainer") in _OWN_ADAPTERS or reader.text("plan.distributed") == "megatron"):
        float32 = False
    saved = reader.words("plan.modules_to_save") or ()
    chance = 0.0 if vectors else _chance(reader)
    return Adapter(rank, targets, saved, float32, reader.text("plan.method") == "dora", chance, vectors)


def _chance(reader: Reader) -> float:
    value = reader.facts.value("plan.lora_dropout")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    whose = _NO_DROPOUT.get(reader.trainer or "")
    if whose is not None:
        reader.assume("plan.lora_dropout", 0.0, f"default of {whose}")
        return 0.0
    # peft's own default is none; published recipes mostly have some, and it costs memory whatever its chance is.
    reader.assume("plan.lora_dropout", 0.05, "default of TRL")
    return 0.05


def _upcast(reader: Reader, method: str, quant: str, sharding: Sharding) -> bool:
    """Whether what is not quantized became float32: peft's preparation does so, unless FSDP or ZeRO-3 shards the weights."""
    stated = reader.flag("plan.kbit_preparation")
    if reader.text("plan.trainer") in _CAST_BACK:
        return False
    # GPTQ and AWQ layers are left as they are by it (peft/utils/other.py).
    if method != "adapter" or quant in ("none", "gptq", "awq") or stated is False:
        return False
    if stated is not None or quant not in ("4bit", "8bit") or sharding in ("fsdp", "zero3"):
        return stated is True
    trainer = reader.trainer
    if read_kernels.unprepared_by_trl(reader):
        return False
    if trainer in (None, "own"):
        reader.assume("plan.kbit_preparation", True, "as peft prepares quantized models")
    return trainer not in _UNPREPARED


def _checkpointing(reader: Reader, method: str) -> bool:
    """Asked for, and done: the override of some snapshots switches nothing on."""
    if method == "inference":
        return False
    stated = reader.flag("plan.gradient_checkpointing")
    if stated is None:
        trainer = reader.trainer or ""
        of_trl = reader.of_trl(CHECKPOINTS_IN_TRL)
        stated = trainer in _CHECKPOINTING or of_trl
        whose = "TRL" if of_trl else _CHECKPOINTING.get(trainer, "TrainingArguments")
        if not (stated and arguments_may_decide(reader)):
            reader.assume("plan.gradient_checkpointing", stated, f"default of {whose}")
    if stated and arguments_may_decide(reader):
        # What get_peft_model is told is set aside for the arguments of the trainer.
        stated = not isinstance(reader.facts.value("packages.unsloth"), Exact)
        reader.assume("plan.gradient_checkpointing", stated, "Unsloth takes it from the trainer's arguments, False in this TRL unless set")
    return stated is True and reader.text("model.gc_support") != "no-op"


def _offloaded(reader: Reader) -> str:
    """Whether the inputs of checkpointed layers wait on the CPU: as a plan says, or as Unsloth's loader patches it where nobody does
    (``use_gradient_checkpointing = "unsloth"`` of its notebooks, and of get_peft_model in 2026.1.1; True in 2024.8 and 2025.4.1)."""
    stated = reader.flag("plan.activation_offload")
    if stated is None and reader.trainer == "unsloth":
        reader.assume("plan.activation_offload", True, "as Unsloth checkpoints")
        stated = True
    return (reader.trainer or "own") if stated else ""


def _every(reader: Reader) -> int:
    stated = reader.text("plan.selective_checkpointing") or ""
    return max(1, int(stated)) if stated.isascii() and stated.isdigit() else 1


def _optimizer(reader: Reader, stack: Stack) -> str:
    stated = reader.text("plan.optimizer")
    if stated is None:
        default = "adamw_torch_fused" if at_least(stack.transformers, "4.54") and at_least(stack.torch, "2.8") else "adamw_torch"
        if not at_least(stack.transformers, "4.32"):
            default = "adamw_hf"
        reader.assume("plan.optimizer", default, "default of TrainingArguments")
        return default
    if optimizers.find(stated) is None:
        reader.assume("plan.optimizer", "adamw_torch", f"{stated} is not known here")
    return stated


def _state_dtype(reader: Reader) -> Dtype | None:
    stated = reader.text("plan.optimizer_state_dtype")
    return next((dtype for dtype in ("float32", "bfloat16", "float16") if dtype == stated), None)


def _answers(reader: Reader) -> bool:
    return reader.text("plan.trainer") == "trl" and objective(reader.facts) in GENERATED


def _tokens(reader: Reader) -> int:
    if reader.number("plan.seq_len") is None and _answers(reader):
        whole = PROMPT + (reader.number("plan.completion_len") or answer_of(reader))
        return reader.number_or("plan.seq_len", whole, "prompt and answer, as long as TRL lets them be by default")
    return reader.number_or("plan.seq_len", 2048)


def _scored(reader: Reader) -> int:
    """The answer alone, of TRL's GRPO: as long as it may be, or what a row has beyond the longest prompt that TRL takes by default."""
    whole, answer = reader.number("plan.seq_len"), answer_of(reader)
    if not _answers(reader) or (whole is not None and whole <= answer and reader.number("plan.completion_len") is None):
        return 0
    return reader.number("plan.completion_len") or max(answer, (whole or 0) - PROMPT)


def _loss(reader: Reader) -> str | None:
    """The cross entropy that is stated, or that a trainer brings."""
    stated = reader.text("plan.fused_loss")
    if stated is None and reader.trainer == "torchtune":
        # All 133 configurations of torchtune 0.6.1 that train on labels ask for CEWithChunkedOutputLoss.
        reader.assume("plan.fused_loss", "chunked_cross_entropy", "as torchtune's configurations compute it")
        return "chunked_cross_entropy"
    if read_kernels.in_pieces_of_trl(reader):
        if stated is None:
            reader.assume("plan.fused_loss", "linear_cross_entropy", "as TRL computes it")
        return "linear_cross_entropy"
    if stated is not None or reader.trainer != "unsloth":
        return stated
    release = reader.facts.value("packages.unsloth")
    older = isinstance(release, Exact) and not at_least(release.text, _WITHOUT_LOGITS)
    taken = "cross_entropy" if older else "linear_cross_entropy"
    reader.assume("plan.fused_loss", taken, "as Unsloth computes it")
    return taken


def _attention(reader: Reader, architecture: Architecture, stack: Stack) -> str:
    stated = reader.text("plan.attn")
    if stated is not None and stated != "auto":
        return {"flash_attention_3": "flash_attention_2", "flex_attention": "sdpa", "xformers": "flash_attention_2"}.get(stated, stated)
    # Gemma 2 has sdpa before 4.48, and does not take it by itself (_check_and_enable_sdpa, modeling_gemma2.py of 4.45.2 to 4.47.1).
    default = "eager" if architecture.kind == "gemma2" and not at_least(stack.transformers, "4.48") else "sdpa"
    reader.assume("plan.attn", default, "default of transformers")
    return default


def _mask(reader: Reader, rows: int, packed: bool) -> bool:
    """Rows of a batch are padded to the longest, and then a mask of all positions against all is made."""
    stated = reader.flag("plan.padding")
    return (rows > 1 and not packed) if stated is None else stated
