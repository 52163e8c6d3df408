"""What of a training plan decides its memory, read from facts; what nobody stated is assumed, and said."""

from __future__ import annotations

from typing import Literal

from envdoctor.records import dataclass

Dtype = Literal["float32", "float16", "bfloat16"]
Sharding = Literal["none", "ddp", "zero1", "zero2", "zero3", "fsdp", "device_map", "megatron"]
Method = Literal["full", "adapter", "prompt", "inference"]
Stage = Literal["", "first", "last"]
Offload = Literal["none", "optimizer", "parameters", "both"]
WIDTH = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8": 1, "int8": 1, "uint8": 1}


@dataclass(frozen=True, slots=True)
class Adapter:
    """Low-rank matrices beside ``targets`` (last parts of module names; ("all-linear",) for every one), and modules trained in full.

    ``vectors``: IA3, which has one vector for each target in their place.
    """

    rank: int
    targets: tuple[str, ...]
    modules_to_save: tuple[str, ...] = ()
    float32: bool = True
    dora: bool = False
    dropout: float = 0.0
    vectors: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """Releases that change what is kept: "" where one is not known, "-" where it is known not to be there."""

    torch: str = ""
    transformers: str = ""
    peft: str = ""
    accelerate: str = ""
    deepspeed: str = ""
    bitsandbytes: str = ""
    fla: str = ""
    mamba: str = ""
    axolotl: str = ""
    unsloth: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """``rows`` of ``tokens`` each are one micro-batch of one GPU; ``autocast`` is the dtype of mixed precision, None without.

    ``quant`` is the form of the base model's linear layers: "none", "4bit" (bitsandbytes), "8bit", "gptq", "awq" ...
    ``upcast`` says that what is not quantized was made float32 (prepare_model_for_kbit_training). ``prompt`` are virtual tokens.
    ``state_dtype``: that of the optimizer's moments where it is not the parameters'; ``in_backward``: each gradient is stepped with and
    freed as soon as it is there.
    ``fused_loss`` is a cross entropy that keeps no log-softmax (Unsloth's, fms-acceleration's); ``liger`` fuses the output layer too.
    ``chunked_loss`` makes float32 of the logits piece by piece (torchtune's).
    ``cut_loss``: it does so alone (cut cross entropy), and norms and activations are transformers' own. ``unsloth``: norms and the pieces
    of the loss are Unsloth's. ``lora_kernels``: of "mlp", "qkv" and "o" what a kernel of axolotl or Unsloth computes with its adapters.
    ``scored``: of so many tokens of a row the logits are made, its answer's; of all where it is 0.
    ``loss_rows``: of so many tokens at a time the logits are made, 0 where that follows from something else; ``loss_way`` is how
    TRL does so: "float32" with a copy of the output layer that wide, "narrow" without, "tiles" of tokens and vocabulary.
    ``narrow_ends``: embeddings and output layer are 16 bits again behind k-bit preparation. ``card``: GiB of the GPU's memory, 0 where
    nobody says.
    ``second``: FSDP2 (``fully_shard``) in the place of FullyShardedDataParallel. ``tensor`` GPUs share each layer (tensor parallelism),
    ``context`` the tokens of each row, of which ``tokens`` are one's part (``gathers``: an attention has the
    keys and values of all), and ``experts_over`` the experts.
    ``spread``: the GPUs that share a layer share out its tokens too (Megatron's sequence parallelism), of which ``tokens`` are one's part.
    ``pipeline`` GPUs have a part of the layers each; ``stage`` is the one that is looked at, "" where the fullest is asked for.
    ``resharded``: FSDP gives the weights of a layer back after its forward.
    ``packed``: rows are filled up to ``tokens``, so that all of them are as long.
    ``zero_init``: under ZeRO-3 the model was made inside ``zero.Init`` (transformers does so where the training arguments are made first);
    None where nobody says.
    ``offloaded``: whose way has the inputs of checkpointed layers wait on the CPU; "" where they do not.
    ``reentrant``: which of torch's two ways to checkpoint is asked for; None where nobody says.
    ``every``: of so many layers one is checkpointed; ``ops``: half of a checkpointed layer's products and its attention's output are kept.
    ``joined``: adapters stand in one flat parameter of FSDP with the frozen weights of their layer.
    ``wrapped``: FSDP shares out each layer by itself, and not the model as one unit.
    ``upcast_loss``: the loss is computed on float32 logits; ``expandable``: the allocator grows its segments.
    ``wide_workspace``: cuBLAS has the workspace of Hopper and Blackwell.
    ``compiled_loss``: what torch.compile compiles has the loss in it.
    ``litgpt``: layers, adapters and loss are those of litgpt, and not of transformers and peft.
    ``quantized_experts``: experts that are a bare parameter are quantized too, and written out whole before their products.
    ``outputs_kept``: a loop of its own holds what the model returned, logits among it, until the next forward has returned.
    """

    method: Method
    load_dtype: Dtype
    autocast: Dtype | None
    rows: int
    tokens: int
    adapter: Adapter | None = None
    quant: str = "none"
    double_quant: bool = False
    quantized_experts: bool = False
    upcast: bool = False
    prompt: int = 0
    accumulation: int = 1
    checkpointing: bool = False
    reentrant: bool | None = None
    optimizer: str = "adamw_torch"
    state_dtype: Dtype | None = None
    in_backward: bool = False
    attention: str = "sdpa"
    sharding: Sharding = "none"
    gpus: int = 1
    second: bool = False
    tensor: int = 1
    context: int = 1
    gathers: bool = False
    experts_over: int = 1
    spread: bool = False
    pipeline: int = 1
    stage: Stage = ""
    offload: Offload = "none"
    mask: bool = False
    packed: bool = False
    liger: bool = False
    fused_loss: bool = False
    chunked_loss: bool = False
    cut_loss: bool = False
    unsloth: bool = False
    lora_kernels: frozenset[str] = frozenset()
    card: float = 0.0
    loss_rows: int = 0
    scored: int = 0
    loss_way: str = ""
    narrow_ends: bool = False
    offloaded: str = ""
    every: int = 1
    ops: bool = False
    joined: bool = False
    wrapped: bool = True
    upcast_loss: bool = True
    compile: bool = False
    compiled_loss: bool = False
    litgpt: bool = False
    outputs_kept: bool = False
    resharded: bool = True
    zero_init: bool | None = None
    expandable: bool = False
    wide_workspace: bool = False
    stack: Stack = Stack()

    @property
    def ranks(self) -> int:
        """All GPUs of the run."""
        return self.gpus * self.tensor * self.pipeline

    @property
    def parts(self) -> int:
        """Among how many GPUs the tokens of a row are shared out."""
        return self.context * (self.tensor if self.spread else 1)

    @property
    def in_flight(self) -> int:
        """Micro-batches of which the stage keeps what its layers keep: one forward and one backward take turns once the pipeline is full
        (``num_warmup_microbatches`` of core/pipeline_parallel/schedules.py, megatron-core 0.16.1)."""
        return min(self.pipeline, self.accumulation) if self.stage == "first" else 1

    @property
    def fused_norms(self) -> bool:
        """Whether a kernel computes the norms, which keeps their input as it is: Liger's, Unsloth's or Transformer Engine's."""
        return (self.liger and not self.cut_loss) or self.unsloth or self.sharding == "megatron"

    @property
    def fused_activation(self) -> bool:
        """Whether Liger computes the activation of a gated network, or Megatron (``bias_swiglu_fusion``)."""
        return (self.liger and not self.cut_loss and not self.unsloth) or self.sharding == "megatron"
