"""``fit --exact``: the model's own code, run on fake tensors in the patient's interpreter instead of a closed form.

No weights and no GPU. With the releases of the measured runs it meets ``torch.cuda.max_memory_allocated()`` of Mistral-7B, PowerLM-3b and
santacoder on an A100 (full, LoRA, and 4-bit LoRA under autocast; checkpointing) within 0.15 % (docs/memory.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from envdoctor.memory import sharding
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import TERMS, Estimate, Moment, Range, Term
from envdoctor.memory.plan import Plan
from envdoctor.memory.reserved import beside
from envdoctor.probes.runner import Outcome, plain, run_child
from envdoctor.records import dataclass

CHILD = Path(__file__).parent / "children" / "fake_step.py"
# Address space and heap of torch and transformers; what fake tensors take stays below 0.5 GiB.
_MEMORY = 6 << 30
# What the kernels of a GPU take for themselves is not seen: cuBLAS workspaces are those of a GPU before Hopper, which has 2 x 24 MiB more.
_BELOW, _ABOVE, _HOPPER = 0.995, 1.01, 48 << 20
# The allocator's cache after two steps; a run with batches of other lengths keeps more of it.
_RESERVED_ABOVE = 1.15
_SHARDED = "each GPU holds a part of the model, which one process cannot show: only the closed form counts it"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a plan was not measured; one sentence without its full stop."""

    reason: str


def measure(
    interpreter: Path,
    config: Mapping[str, object],
    plan: Plan,
    *,
    model_path: Path | None,
    trust: bool,
    timeout: float,
    told: Callable[[str], None] | None = None,
    run: Callable[..., Outcome] = run_child,
) -> Estimate | Refusal:
    """Two optimizer steps of ``plan`` on the architecture of ``config``, a config.json, in the environment of ``interpreter``.

    ``model_path`` holds the snapshot's own code, which is executed only where ``trust`` says so. At most ``timeout`` seconds.
    ``told`` hears what the child does. The range of the allocated bytes is -0.5 % to +1 % and, above, the larger cuBLAS workspaces of
    Hopper.
    """
    remote = isinstance(config.get("auto_map"), Mapping)
    reason = unmeasurable(plan) or _code(remote, model_path, trust)
    if reason is not None:
        return Refusal(reason)
    params = child_params(config, plan, model_path if remote else None)
    outcome = run(interpreter, CHILD, params, timeout=timeout, memory_bytes=_MEMORY, told=told)
    if outcome.measured is None:
        return Refusal(_failure(outcome.failure or "it ended without a result"))
    refused = outcome.measured.get("refused")
    if isinstance(refused, str):
        return Refusal(plain(refused))
    return _estimate(outcome.measured, plan) or Refusal("the child's answer was not understood")


def unmeasurable(plan: Plan) -> str | None:
    """Why a plan is not one that can be run on fake tensors; None where it is."""
    if plan.sharding not in ("none", "ddp", "fsdp") or plan.tensor > 1:
        return f"{plan.sharding if plan.tensor < 2 else 'tensor parallelism'}: {_SHARDED}"
    if plan.sharding == "fsdp" and plan.quant != "none":
        return f"quantized weights under FSDP: {_SHARDED}"
    if plan.offload != "none":
        return "offloading moves tensors between devices, and there is one only"
    if plan.quant not in ("none", "4bit"):
        return f"the kernels of {plan.quant} weights run on a GPU only"
    if plan.method not in ("full", "adapter"):
        return f"a run of the method {plan.method} is not played through"
    if not plan.upcast_loss or plan.ops or plan.every > 1 or not plan.wrapped:
        return "a loop of one's own (its loss, its selective checkpointing, FSDP in one unit) is not played through"
    if plan.loss_way == "tiles":
        return "the kernels of TRL's loss run on a GPU only"
    if plan.loss_rows and plan.sharding == "fsdp":
        return "TRL's loss in pieces is not played through under FSDP"
    if plan.in_backward or plan.state_dtype is not None or plan.chunked_loss:
        return "an optimizer or a loss of a trainer's own is not played through"
    if (plan.liger and not plan.loss_rows) or plan.fused_loss:
        return "fused loss kernels run on a GPU only"
    if plan.lora_kernels or plan.unsloth:
        return "the kernels of axolotl and Unsloth run on a GPU only"
    if plan.compile:
        return "torch.compile decides on a GPU what is kept and what is computed again"
    if plan.attention not in ("sdpa", "eager", "flash_attention_2"):
        return f"there is no stand-in for the attention {plan.attention}"
    if plan.quant == "4bit" and plan.method == "full":
        return "weights of 4 bits are not trained in full"
    return None


def _code(remote: bool, model_path: Path | None, trust: bool) -> str | None:
    if remote and model_path is None:
        return "the model's own code decides, and no local snapshot holds it"
    if remote and not trust:
        return "the snapshot's own code is executed only with --trust-remote-code"
    return None


def child_params(config: Mapping[str, object], plan: Plan, code: Path | None) -> dict[str, object]:
    """What the child is asked to run."""
    adapter = plan.adapter if plan.method == "adapter" else None
    return {
        "config": _untied(config),
        "path": None if code is None else str(code.absolute()),
        "remote": code is not None,
        "dtype": plan.load_dtype,
        "autocast": plan.autocast,
        "rows": plan.rows,
        "tokens": plan.tokens,
        "adapter": None
        if adapter is None
        else {
            "rank": adapter.rank,
            "targets": list(adapter.targets),
            "modules_to_save": list(adapter.modules_to_save),
            "float32": adapter.float32,
            "dora": adapter.dora,
            "vectors": adapter.vectors,
            "dropout": adapter.dropout,
        },
        "quant": plan.quant,
        "double_quant": plan.double_quant,
        "upcast": plan.upcast,
        "accumulation": plan.accumulation,
        "checkpointing": plan.checkpointing,
        "reentrant": plan.reentrant,
        "optimizer": plan.optimizer,
        "attention": plan.attention,
        "mask": plan.mask,
        "ddp": plan.sharding == "ddp",
        "sharding": _sharding(plan),
        "outputs_kept": plan.outputs_kept,
        "loss_rows": plan.loss_rows,
        "loss_way": plan.loss_way,
    }


def _untied(config: Mapping[str, object]) -> dict[str, object]:
    """The configuration with what the closed form takes of embeddings that it says nothing about: transformers 5 ties those of a model
    around another one (Mistral3Config) where there are no weights, and not those of a checkpoint that has both tensors."""
    inner = config.get("text_config")
    stated = "tie_word_embeddings" in config or (isinstance(inner, Mapping) and "tie_word_embeddings" in inner)
    if stated or not isinstance(inner, Mapping) or read_architecture(config).tied:
        return dict(config)
    return {**config, "tie_word_embeddings": False, "text_config": {**inner, "tie_word_embeddings": False}}


def _sharding(plan: Plan) -> dict[str, object] | None:
    """How a part of the model is laid on one of several GPUs; None where each has all of it. Alone FSDP shards nothing."""
    if plan.sharding != "fsdp" or plan.gpus < 2:
        return None
    return {
        "gpus": plan.gpus,
        "second": plan.second,
        "widens_all": sharding.widens_frozen(plan),
        "ends_apart": sharding.ends_apart(plan),
        "waits_to_reduce": sharding.waits_to_reduce(plan),
    }


def _failure(said: str) -> str:
    for package in ("torch", "transformers", "peft"):
        if said.startswith(f"no module named {package}"):
            return f"the environment has no {package}"
    return f"the run on fake tensors ended early: {said}"


def _estimate(measured: Mapping[str, object], plan: Plan) -> Estimate | None:
    listed, reserved, versions = measured.get("moments"), measured.get("reserved"), measured.get("versions")
    if not isinstance(listed, list) or not isinstance(reserved, (int, float)) or not isinstance(versions, Mapping):
        return None
    moments = tuple(moment for moment in map(_moment, listed) if moment is not None)
    if not moments or len(moments) != len(listed):
        return None
    most = max(moment.total for moment in moments)
    return Estimate(
        method="fake-tensors",
        moments=moments,
        allocated=Range(_BELOW * most, most, _ABOVE * most + _HOPPER),
        reserved=Range(max(most, 0.95 * reserved), float(max(reserved, most)), _RESERVED_ABOVE * max(reserved, most)),
        beside=beside(plan),
        notes=_notes(plan, {str(name): plain(str(release)) for name, release in versions.items()}),
    )


def _moment(listed: object) -> Moment | None:
    match listed:
        case {"name": str(name), "terms": dict(terms)} if all(isinstance(terms.get(term), (int, float)) for term in TERMS):
            counted: dict[Term, float] = {term: float(terms[term]) for term in TERMS if terms[term]}
            return Moment(plain(name), counted)
    return None


def _notes(plan: Plan, versions: Mapping[str, str]) -> tuple[str, ...]:
    ran = ", ".join(f"{name} {release}" for name, release in versions.items())
    notes = [f"The model's own code ran on fake tensors, without weights or GPU, with {ran}."]
    if plan.sharding == "ddp":
        notes.append("One replica was run, with the buckets of DistributedDataParallel beside it.")
    if plan.sharding == "fsdp" and plan.gpus > 1:
        notes.append(f"One of {plan.gpus} ranks was run, in a process group that moves nothing.")
    if plan.autocast is not None:
        notes.append("CUDA's mixed precision was played by the CPU's, with CUDA's list of operations in float32.")
    if plan.quant == "4bit":
        notes.append("Layers of 4 bits were played: what bitsandbytes keeps and unpacks, without its kernels.")
    if plan.attention == "flash_attention_2":
        notes.append("FlashAttention-2 was played by a kernel that keeps what it keeps.")
    return tuple(notes)
