"""Every fact's name, kind, unit and meaning, in one table.

A fact that is not here does not exist: stating one is an error with a suggestion. Packages are the
one open family: ``packages.<normalised name>``.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from envdoctor.records import dataclass

Constant: TypeAlias = "bool | int | float | str | tuple[str, ...]"
Kind = Literal["version", "text", "choice", "dtype", "bool", "int", "float", "list"]


@dataclass(frozen=True, slots=True)
class Term:
    """One fact that may be stated.

    ``choices`` are the values that have a meaning, when there is a closed list of them;
    ``closed`` says that any other value is not understood, rather than free text.

    ``usual`` is what a machine that trains, or a plan, practically always has: expected where nobody says. ``unread`` is what counts where
    only a script or a launcher could tell and none did. ``quiet`` facts are asked of nobody: how a call is spelled, details of files.
    ``adds_up``: what several files list is joined. ``once``: one statement that it is so is enough, nothing that a script does later takes
    it back. ``missed``: a reader should know where a script has something to say about it that cannot be read.
    """

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    closed: bool = False
    usual: Constant | None = None
    unread: Constant | None = None
    quiet: bool = False
    adds_up: bool = False
    once: bool = False
    missed: bool = False


_DTYPES = ("float32", "float16", "bfloat16", "float64", "float8", "int8", "uint8", "auto", "mixed")

TERMS: tuple[Term, ...] = (
    Term("python", "version", "the Python that runs the training"),
    Term("os", "choice", "operating system", choices=("linux", "windows", "macos"), closed=True, usual="linux"),
    Term("machine", "choice", "processor architecture", choices=("x86_64", "aarch64", "arm64"), closed=True, usual="x86_64"),
    Term(
        "present",
        "list",
        "packages that are there already or that conda installs: no index of pip is asked for a wheel of them",
        unread=(),
        quiet=True,
        adds_up=True,
    ),
    Term(
        "builds",
        "list",
        "packages of another build than the index's for CUDA 12 on Linux: torch+cpu, vllm+rocm, torch+own, torch+cu11, torch+windows",
        unread=(),
        quiet=True,
        adds_up=True,
    ),
    Term("not_loaded", "list", "what a script that shows all that it loads does not load: packages, config, model, trainer", quiet=True),
    Term("loaded_with", "list", "what of it is loaded with a release of a package, such as `trainer-made: trl >=0.12`", quiet=True),
    Term(
        "broken_imports",
        "list",
        "what the imports of a script, or of what runs a plan, lead to and what is not there, computed: package:module.name",
        quiet=True,
    ),
    Term("glibc", "version", "GNU C library of the system"),
    Term("cuda", "version", "CUDA runtime that torch was built for, or the toolkit as stated"),
    Term("cudnn", "version", "cuDNN that torch loads"),
    Term("driver", "version", "NVIDIA driver"),
    Term("accelerator", "choice", "what computes", choices=("cuda", "cpu", "mps", "rocm", "npu", "xpu"), closed=True, usual="cuda"),
    Term("gpu.name", "text", "product name, as nvidia-smi prints it"),
    Term("gpu.vendor", "choice", "who made the GPU", choices=("nvidia", "amd", "apple", "intel", "huawei", "none"), usual="nvidia"),
    Term("gpu.compute_capability", "version", "CUDA compute capability, e.g. 8.6"),
    Term("gpu.memory_gib", "float", "memory of one GPU", "GiB"),
    Term("gpu.count", "int", "GPUs that the run uses"),
    Term("model.id", "text", "repository on the hub, e.g. zai-org/chatglm3-6b"),
    Term("model.revision", "text", "commit or branch of the repository"),
    Term("model.type", "text", "model_type of config.json"),
    Term("model.family", "text", "chatglm, chatglm2, chatglm3, glm-4, llama-2 ...: what model.type alone does not tell"),
    Term("model.architecture", "text", "first of architectures in config.json"),
    Term("model.dtype", "dtype", "dtype the weights are stored in", choices=_DTYPES, closed=True),
    Term("model.config_dtype", "dtype", "torch_dtype (dtype) of config.json", choices=_DTYPES, closed=True),
    Term("model.path", "text", "directory of a local snapshot, read for the rest"),
    Term("model.parameters", "int", "parameters stored in the weight files"),
    Term("model.vocab_size", "int", "vocab_size of config.json", "tokens"),
    Term("model.hidden_size", "int", "hidden_size of config.json"),
    Term("model.num_hidden_layers", "int", "transformer layers (num_layers in ChatGLM)"),
    Term("model.transformers_version", "version", "transformers that wrote config.json"),
    Term("model.remote_code", "bool", "the snapshot's own Python code is used (auto_map)"),
    Term("model.own_config", "bool", "the configuration is of a class of the snapshot's own (AutoConfig in auto_map)", unread=False),
    Term("model.tokenizer_remote_code", "bool", "the tokenizer is of a class of the snapshot's own (AutoTokenizer in auto_map)"),
    Term("model.tokenizer_class", "text", "tokenizer_class of tokenizer_config.json"),
    Term(
        "model.tokenizer_class_misspelled",
        "bool",
        "tokenizer_class is LlamaTokenizer in other capitals, such as LLaMATokenizer",
        quiet=True,
    ),
    Term(
        "model.tokenizer_merges",
        "choice",
        "how tokenizer.json writes the merges of a BPE: as strings, as pairs (tokenizers 0.20 and later), or it has none",
        choices=("strings", "pairs", "none"),
        closed=True,
        quiet=True,
    ),
    Term("model.has_tokenizer_json", "bool", "a fast tokenizer comes with the snapshot (tokenizer.json)", quiet=True),
    Term("model.has_chat_template", "bool", "a chat template comes with the tokenizer"),
    Term("model.weights_format", "choice", "how weights are stored", choices=("safetensors", "pickle", "gguf", "none")),
    Term("model.tied_embeddings", "bool", "tie_word_embeddings of config.json"),
    Term("model.quant_method", "text", "quant_method of quantization_config in config.json"),
    Term("model.rope_type", "text", "rope_scaling's type (rope_type) in config.json"),
    Term("model.rope_type_key", "text", "the key by which rope_scaling names its type: rope_type, type, both or none", quiet=True),
    Term("model.partial_rotary_factor", "float", "the part of a head that rotates (partial_rotary_factor of config.json)", quiet=True),
    Term("model.eos_ids", "list", "end-of-sequence ids that generation will stop at"),
    Term("model.role_stop_ids", "choice", "role tokens among the stop ids", choices=("present", "missing"), closed=True),
    Term(
        "model.tokenizer_init",
        "choice",
        "the remote tokenizer sets its attributes before or after super().__init__(); late-vocabulary: too late for transformers 5 alone",
        choices=("before-super", "after-super", "late-vocabulary"),
        closed=True,
    ),
    Term(
        "model.tokenizer_pad_signature",
        "choice",
        "_pad of the remote tokenizer",
        choices=("without-padding-side", "with-padding-side", "inherited"),
        closed=True,
    ),
    Term("model.has_num_hidden_layers", "bool", "config.json or the remote config class defines num_hidden_layers"),
    Term("model.uses_cache_format_hook", "bool", "the remote code calls or overrides _extract_past_from_model_output"),
    Term("model.cache_hook_gated", "bool", "the remote code chooses the cache hook by the transformers version"),
    Term(
        "model.code_uses",
        "list",
        "what the remote code wants of transformers: names it imports, cache methods and keywords it calls",
        quiet=True,
    ),
    Term(
        "model.cache_hook_call",
        "choice",
        "how the remote code calls the cache hook: with standardize_cache_format or not, for a pair or a value",
        choices=("format-value", "format-pair", "value", "pair"),
        closed=True,
    ),
    Term(
        "model.gc_support",
        "choice",
        "how the remote code switches gradient checkpointing on",
        choices=("set-hook", "no-op", "inherited"),
        closed=True,
    ),
    Term("model.loss_kwargs", "bool", "forward accepts num_items_in_batch (**kwargs of the loss)"),
    Term(
        "model.generation_flags_unused",
        "bool",
        "generation_config.json sets temperature, top_p or the like and does not sample",
        quiet=True,
    ),
    Term("model.image_processor_type", "text", "image_processor_type of preprocessor_config.json", quiet=True),
    Term("model.processor_patch_size", "bool", "processor_config.json or preprocessor_config.json gives patch_size", quiet=True),
    Term("model.adapter_fields", "list", "fields of the adapter_config.json of the adapter that is loaded", quiet=True),
    Term(
        "model.adapter_vlm_layout",
        "choice",
        "which names of a vision-language model's submodules the tensors of the loaded adapter have",
        choices=("before-4.52", "since-4.52"),
        closed=True,
        quiet=True,
    ),
    Term(
        "plan.method",
        "choice",
        "what is trained, or inference",
        choices=(
            "lora",
            "qlora",
            "dora",
            "rslora",
            "ia3",
            "full",
            "freeze",
            "prompt-tuning",
            "prefix-tuning",
            "p-tuning",
            "pretrain",
            "dpo",
            "ppo",
            "grpo",
            "kto",
            "orpo",
            "inference",
        ),
        missed=True,
    ),
    Term("plan.objective", "text", "what the loss is of, where the method does not say it: sft, reward, dpo, kto, orpo, ppo, grpo"),
    Term("plan.trained_layers", "int", "layers that are trained, where the others are frozen", "layers"),
    Term("plan.completion_len", "int", "longest answer that is generated and scored (GRPO): max_completion_length", "tokens"),
    Term("plan.generation_steps", "int", "steps_per_generation: micro-batches whose answers are generated at once", "micro-batches"),
    Term("plan.virtual_tokens", "int", "num_virtual_tokens of prompt and prefix tuning", "tokens"),
    Term("plan.load_dtype", "dtype", "dtype the weights are loaded as", choices=_DTYPES, closed=True, missed=True),
    Term(
        "plan.load_dtype_argument", "choice", "keyword that asks for it", choices=("none", "torch_dtype", "dtype"), closed=True, quiet=True
    ),
    Term("plan.passes_config", "bool", "from_pretrained is given config=", quiet=True),
    Term("plan.fp16", "bool", "float16 mixed precision asked of the trainer (GradScaler)", missed=True),
    Term("plan.bf16", "bool", "bfloat16 mixed precision asked of the trainer", missed=True),
    Term("plan.tf32", "bool", "TF32 matrix products asked of the trainer"),
    Term("plan.batch_size", "int", "per_device_train_batch_size", "rows", missed=True),
    Term("plan.eval_batch_size", "int", "per_device_eval_batch_size", "rows"),
    Term("plan.seq_len", "int", "longest row after truncation", "tokens", missed=True),
    Term("plan.padding", "bool", "rows of a batch are padded, so that a padding mask is passed"),
    Term("plan.padding_side", "choice", "where rows are padded", choices=("left", "right"), closed=True),
    Term("plan.packing", "bool", "several samples share a row", usual=False),
    Term(
        "plan.quant",
        "choice",
        "quantization of the base model",
        choices=("none", "4bit", "8bit", "gptq", "awq", "fp8", "hqq", "aqlm", "mxfp4", "torchao"),
        usual="none",
        missed=True,
    ),
    Term("plan.load_in_4bit", "bool", "load_in_4bit= is passed to from_pretrained", quiet=True),
    Term("plan.load_in_8bit", "bool", "load_in_8bit= is passed to from_pretrained", quiet=True),
    Term("plan.quantization_config", "bool", "quantization_config= is passed to from_pretrained", quiet=True),
    Term("plan.double_quant", "bool", "bnb_4bit_use_double_quant: the scales of a 4-bit base are quantized too"),
    Term("plan.kbit_preparation", "bool", "prepare_model_for_kbit_training: what is not quantized is made float32"),
    Term("plan.gradient_checkpointing", "bool", "activations are recomputed", once=True, missed=True),
    Term("plan.gradient_checkpointing_kwargs", "bool", "gradient_checkpointing_kwargs is given"),
    Term("plan.use_reentrant", "bool", "use_reentrant of gradient checkpointing", missed=True),
    Term("plan.input_require_grads", "bool", "enable_input_require_grads is called, by the plan or by what runs it", quiet=True, once=True),
    Term("plan.gradient_accumulation", "int", "gradient_accumulation_steps", "micro-batches", usual=1),
    Term("plan.optimizer", "text", "optim of TrainingArguments, e.g. adamw_torch", missed=True),
    Term(
        "plan.optimizer_state_dtype", "dtype", "dtype of an optimizer's moments where it is not the weights'", choices=_DTYPES, closed=True
    ),
    Term("plan.optimizer_in_backward", "bool", "each gradient is stepped with and freed as soon as it is there", usual=False, quiet=True),
    Term("plan.optimizer_eps", "float", "epsilon of an Adam optimizer"),
    Term("plan.learning_rate", "float", "peak learning rate"),
    Term("plan.max_grad_norm", "float", "gradient clipping"),
    Term("plan.lora_r", "int", "rank of the LoRA matrices"),
    Term("plan.lora_alpha", "float", "scale of the LoRA matrices"),
    Term("plan.lora_targets", "list", "target_modules"),
    Term("plan.lora_dropout", "float", "lora_dropout: chance that an adapter's input is dropped"),
    Term("plan.modules_to_save", "list", "modules trained in full beside the adapter", unread=(), quiet=True),
    Term("plan.autocast_adapter_dtype", "bool", "autocast_adapter_dtype of get_peft_model", quiet=True),
    Term(
        "plan.attn",
        "choice",
        "attn_implementation",
        choices=("auto", "eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention", "xformers"),
        missed=True,
    ),
    Term(
        "plan.distributed",
        "choice",
        "how ranks share the work",
        choices=("none", "ddp", "dp", "zero1", "zero2", "zero3", "fsdp", "device_map", "megatron"),
        usual="none",
    ),
    Term("plan.fsdp_version", "int", "1 for FullyShardedDataParallel, 2 for fully_shard"),
    Term("plan.reshard_after_forward", "bool", "FSDP gives a layer's weights back after its forward; false keeps them (SHARD_GRAD_OP)"),
    Term("plan.tensor_parallel", "int", "GPUs that share each layer (tensor parallelism)"),
    Term("plan.sequence_parallel", "bool", "those that share each layer share out its norms and its input by tokens as well (Megatron)"),
    Term("plan.context_parallel", "int", "GPUs that share the tokens of each row (context or sequence parallelism)", unread=1),
    Term("plan.pipeline_parallel", "int", "GPUs that have a part of the layers each and pass batches on"),
    Term("plan.expert_parallel", "int", "GPUs that share the experts"),
    Term("plan.quantize_experts", "bool", "experts that are one parameter are quantized as well (quantize_moe_experts of axolotl)"),
    Term("plan.expert_offload", "bool", "experts wait on the CPU, or on a disk, until they are asked for"),
    Term("plan.activation_offload", "bool", "what layers keep for the backward waits on the CPU"),
    Term("plan.float8", "bool", "matrix products of the training are computed in 8 bits"),
    Term(
        "plan.offload",
        "choice",
        "what is moved off the GPU",
        choices=("none", "optimizer", "parameters", "both"),
        closed=True,
        usual="none",
    ),
    Term("plan.outputs_kept", "bool", "the loop holds what the model returned, logits among it, until the next batch is through"),
    Term("plan.loss_upcast", "bool", "the loss is computed on float32 logits; false: on the logits as the model returned them"),
    Term(
        "plan.selective_checkpointing",
        "text",
        "what checkpointing spares: op (half of the matrix products and the attention's output are kept) or n (each n-th layer has it)",
    ),
    Term(
        "plan.fsdp_wrap",
        "choice",
        "which layers FSDP shares out by themselves: those that the model lists, classes that are named, by their size, or none",
        choices=("own", "named", "size", "none"),
        closed=True,
        quiet=True,
    ),
    Term("plan.fsdp_state_dict", "choice", "form of FSDP's checkpoints", choices=("full", "sharded", "local"), closed=True, quiet=True),
    Term("plan.fsdp_wrapped", "bool", "FSDP shares out each layer by itself; false: no wrap policy, the model is one unit"),
    Term("plan.fsdp_layers", "list", "the classes of layers that FSDP is told to share out"),
    Term("plan.fsdp_layer_missing", "bool", "the model has no layer of such a class", quiet=True),
    Term("plan.zero_init", "bool", "under ZeRO-3 the model was made inside zero.Init", unread=True, quiet=True),
    Term("plan.trainer", "text", "what runs the loop: transformers, trl, llamafactory, axolotl, ms-swift, torchtune"),
    Term("plan.framework_tokenizer_argument", "bool", "Trainer(tokenizer=...) is passed", quiet=True),
    Term("plan.arguments", "list", "names of the TrainingArguments that the plan sets", quiet=True, adds_up=True),
    Term(
        "plan.keys",
        "list",
        "settings for a tool that refuses what it does not have: accelerate:debug",
        quiet=True,
        adds_up=True,
    ),
    Term(
        "plan.code_uses",
        "list",
        "what the script uses of packages, by full name: trl.SFTTrainer(packing=True), env:HF_HOME=/data, $ swift sft",
        unread=(),
        adds_up=True,
    ),
    Term("plan.script", "bool", "a script was read that shows all that it loads, nothing of a project", unread=False, quiet=True),
    Term("plan.predict_with_generate", "bool", "evaluation generates text"),
    Term("plan.generate", "bool", "the run generates text: inference, or evaluation that generates", once=True),
    Term("plan.apply_chat_template", "bool", "prompts are made with apply_chat_template", once=True),
    Term("plan.tokenize", "bool", "the run tokenizes text with the snapshot's tokenizer"),
    Term("plan.resume", "bool", "the run resumes from a checkpoint", usual=False),
    Term("plan.offline", "bool", "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set", unread=False),
    Term("plan.save", "bool", "checkpoints are saved"),
    Term("plan.evaluate", "bool", "the run evaluates while it trains"),
    Term("plan.refused_arguments", "list", "settings that TrainingArguments refuse together", unread=(), quiet=True),
    Term("plan.deepspeed_differs", "list", "what a DeepSpeed configuration and TrainingArguments say differently", unread=()),
    Term("plan.deepspeed_unfilled", "list", "values of a DeepSpeed configuration that nobody fills in for auto", unread=(), quiet=True),
    Term("plan.compile", "bool", "torch.compile is used", usual=False, once=True),
    Term("plan.compile_backend", "text", "the backend that torch.compile is asked for", quiet=True),
    Term("plan.trust_remote_code", "bool", "trust_remote_code=True is passed"),
    Term("plan.use_cache", "bool", "use_cache of the model during training"),
    Term("plan.deepspeed", "bool", "a DeepSpeed configuration is given", usual=False, unread=False),
    Term("plan.deepspeed_fused_adam", "bool", "the DeepSpeed configuration makes deepspeed's own fused Adam", unread=False, quiet=True),
    Term("plan.deepspeed_optimizer", "bool", "the DeepSpeed configuration names an optimizer or a scheduler of its own", unread=False),
    Term("plan.remove_unused_columns", "bool", "remove_unused_columns of TrainingArguments"),
    Term("plan.neftune", "bool", "neftune_noise_alpha is given", usual=False, once=True),
    Term("plan.stream", "bool", "the data set is streamed", usual=False, once=True),
    Term("plan.liger", "bool", "Liger kernels are used", usual=False, once=True),
    Term(
        "plan.fused_loss",
        "choice",
        "a cross entropy in pieces (torchtune), without its log-softmax (Unsloth), or without the logits (Liger, cut cross entropy)",
        choices=("none", "chunked_cross_entropy", "cross_entropy", "linear_cross_entropy"),
        closed=True,
        usual="none",
    ),
    Term("plan.lora_kernels", "list", "what axolotl's kernels (such as lora_mlp_kernel) compute with its adapters at once: mlp, qkv, o"),
    Term("plan.vllm", "bool", "vLLM generates during training", usual=False),
    Term("plan.report_to", "list", "where metrics are reported, such as wandb, tensorboard and mlflow", quiet=True),
    Term("plan.whole", "bool", "the plan is all that is asked for: what it leaves out has its default", quiet=True),
    Term("plan.unclear", "list", "facts that a script decides and does not show: no default takes their place", quiet=True, adds_up=True),
)

UNCLEAR, WHOLE = "plan.unclear", "plan.whole"

_BY_NAME = {term.name: term for term in TERMS}
USUAL = {term.name: term.usual for term in TERMS if term.usual is not None}
NOT_LOADED, LOADED_WITH = "not_loaded", "loaded_with"
# Under them a configuration, a model of transformers, and its Trainer or what derives from it, count as not loaded.
OF_TRANSFORMERS = CONFIG, MODEL, TRAINER = "config", "model", "trainer"
BROKEN_IMPORTS = "broken_imports"
UNREAD = {term.name: term.unread for term in TERMS if term.unread is not None}
QUIET = frozenset(term.name for term in TERMS if term.quiet)
ADDING_UP = frozenset(term.name for term in TERMS if term.adds_up)
ONCE = frozenset(term.name for term in TERMS if term.once)
MISSED = frozenset(term.name for term in TERMS if term.missed)


TRAINING = frozenset(_BY_NAME["plan.method"].choices) - {"inference"}
"""The methods that change a model."""


def term(name: str) -> Term | None:
    """The term of a fact; None for a name that is not a fact. ``packages.*`` are versions."""
    if name.startswith("packages.") and len(name) > len("packages."):
        return Term(name, "version", "release of the package, as installed, pinned or admitted")
    return _BY_NAME.get(name)


def suggestion(name: str) -> str | None:
    """The fact that was probably meant."""
    from difflib import get_close_matches

    close = get_close_matches(name, _BY_NAME, n=1, cutoff=0.6)
    if close:
        return close[0]
    tail = name.rpartition(".")[2]
    return next((known for known in _BY_NAME if known.rpartition(".")[2] == tail), None)
