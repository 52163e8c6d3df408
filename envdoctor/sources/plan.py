"""Facts from a training plan: TrainingArguments, the ChatGLM3 and GLM-4 finetune_demo, TRL, LLaMA-Factory, DeepSpeed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts import Collected, Fact, FactValue, NotUnderstood, Origin, Skip
from envdoctor.sources.jsonfile import plain
from envdoctor.sources.plan_file import PlanFile, read_plan
from envdoctor.sources.stated import stated_value
from envdoctor.sources.training_arguments import DEFAULTS, FIELDS

_DEFAULT = Origin("default of TrainingArguments")
_LLAMA_FACTORY = Origin("default of LLaMA-Factory")

# Settings that only the named tool knows.
_TRL = frozenset(
    ("use_peft", "lora_r", "lora_target_modules", "lora_modules_to_save", "load_in_4bit", "load_in_8bit", "bnb_4bit_quant_type",
     "max_seq_length", "packing", "dataset_text_field", "assistant_only_loss", "completion_only_loss", "max_prompt_length")
)  # fmt: skip
# Fields by which TrainingArguments are told: others, such as learning_rate and seed, every trainer has.
_TELLING = frozenset(
    ("per_device_train_batch_size", "per_device_eval_batch_size", "eval_strategy", "evaluation_strategy", "save_strategy",
     "logging_strategy", "lr_scheduler_type", "report_to", "gradient_checkpointing", "gradient_checkpointing_kwargs", "bf16", "fp16",
     "output_dir", "save_total_limit", "logging_steps", "save_steps", "predict_with_generate", "remove_unused_columns", "optim",
     "dataloader_num_workers", "neftune_noise_alpha", "use_liger_kernel", "ddp_find_unused_parameters", "overwrite_output_dir")
)  # fmt: skip
_UNMISTAKABLE = frozenset(
    ("per_device_train_batch_size", "per_device_eval_batch_size", "gradient_checkpointing_kwargs", "predict_with_generate", "eval_strategy")
)
_OTHERS: tuple[tuple[str, frozenset[str]], ...] = (
    ("axolotl", frozenset(("base_model", "sequence_len", "micro_batch_size", "val_set_size", "sample_packing", "adapter"))),
    ("ms-swift", frozenset(("train_type", "tuner_type", "sft_type", "model_id_or_path", "split_dataset_ratio", "swift_version"))),
    ("accelerate", frozenset(("compute_environment", "distributed_type", "num_machines", "machine_rank"))),
)


def collect_plan(path: Path) -> Collected:
    """What a plan file says of the run.

    What a recognised file of TrainingArguments leaves out has TrainingArguments' default, with that origin.
    A mapping in a dialect that is not read is one skip.

    Raises:
        EnvdoctorError: the file cannot be read or is neither JSON nor YAML.
    """
    file = read_plan(path)
    table = file.value
    reader = _Reader(path, file)
    if not isinstance(table, dict):
        return Collected(skips=(Skip(plain(str(path)), "no mapping of settings: not a training plan"),))
    dialect = _dialect(table)
    if callable(dialect):
        dialect(reader, table)
        return reader.collected()
    return Collected(skips=(Skip(plain(str(path)), dialect),))


def _dialect(table: Mapping[object, object]) -> Callable[[_Reader, Mapping[object, object]], None] | str:
    """The function that reads a plan, or why none does."""
    keys = {key for key in table if isinstance(key, str)}
    if isinstance(table.get("training_args"), dict):
        return _finetune_demo
    if "finetuning_type" in keys or ("stage" in keys and keys & {"model_name_or_path", "template", "dataset"}):
        return _llama_factory
    if "zero_optimization" in keys or "train_micro_batch_size_per_gpu" in keys:
        return _deepspeed_file
    for name, marks in _OTHERS:
        if len(keys & marks) >= 2:
            return f"a configuration of {name}: not read yet"
    if any(isinstance(value, dict) and "_component_" in value for value in table.values()):
        return "a configuration of torchtune: not read yet"
    fields = keys & FIELDS
    mostly = len(fields) >= 2 and 5 * len(fields) >= 4 * len(table)
    if mostly or len(keys & _TELLING) >= 2 or keys & _UNMISTAKABLE or (fields and isinstance(table.get("peft_config"), dict)):
        return _training_arguments
    return "settings of no known training tool"


@dataclass(slots=True)
class _Reader:
    """Collects facts from one file; a later statement of a fact replaces an earlier one."""

    path: Path
    file: PlanFile
    facts: dict[str, Fact] = field(default_factory=dict)
    skips: list[Skip] = field(default_factory=list)

    def origin(self, *keys: str) -> Origin:
        place = plain(str(self.path), 4096)
        return Origin(place, place, self.file.line_of(*keys) if keys else None)

    def say(self, fact: str, raw: object, *keys: str) -> None:
        """State a fact from the setting at a path of keys; null says nothing."""
        if raw is not None:
            self.facts[fact] = Fact(fact, stated_value(fact, raw), self.origin(*keys))

    def default(self, fact: str, value: FactValue, origin: Origin) -> None:
        self.facts.setdefault(fact, Fact(fact, value, origin))

    def skip(self, what: str, why: str) -> None:
        self.skips.append(Skip(plain(what), plain(why)))

    def collected(self) -> Collected:
        return Collected(tuple(self.facts.values()), skips=tuple(self.skips))


# --- TrainingArguments ---------------------------------------------------------------------------

_DIRECT = (
    ("per_device_train_batch_size", "plan.batch_size"),
    ("per_device_eval_batch_size", "plan.eval_batch_size"),
    ("gradient_accumulation_steps", "plan.gradient_accumulation"),
    ("activation_checkpointing", "plan.gradient_checkpointing"),
    ("gradient_checkpointing", "plan.gradient_checkpointing"),
    ("fp16", "plan.fp16"),
    ("bf16", "plan.bf16"),
    ("tf32", "plan.tf32"),
    ("optim", "plan.optimizer"),
    ("adam_epsilon", "plan.optimizer_eps"),
    ("learning_rate", "plan.learning_rate"),
    ("max_grad_norm", "plan.max_grad_norm"),
    ("predict_with_generate", "plan.predict_with_generate"),
    ("remove_unused_columns", "plan.remove_unused_columns"),
    ("use_liger_kernel", "plan.liger"),
    ("use_cache", "plan.use_cache"),
    ("torch_compile", "plan.compile"),
)
_STRATEGIES = (("evaluation_strategy", "plan.evaluate"), ("eval_strategy", "plan.evaluate"), ("save_strategy", "plan.save"))


def _arguments(reader: _Reader, table: Mapping[object, object], *above: str) -> None:
    """TrainingArguments at a path of keys, with their defaults."""
    for key, fact in _DIRECT:
        reader.say(fact, table.get(key), *above, key)
    for key, fact in _STRATEGIES:
        # YAML reads an unquoted `no` as false.
        raw = table.get(key)
        if raw is not None:
            reader.say(fact, raw is not False and str(raw).lower() != "no", *above, key)
    for key, fact in (("resume_from_checkpoint", "plan.resume"), ("neftune_noise_alpha", "plan.neftune")):
        raw = table.get(key)
        if raw is not None:
            reader.say(fact, raw is not False and str(raw).lower() not in ("false", ""), *above, key)
    for key in ("activation_checkpointing_kwargs", "gradient_checkpointing_kwargs"):
        kwargs = table.get(key)
        if kwargs is not None:
            reader.say("plan.gradient_checkpointing_kwargs", True, *above, key)
            if isinstance(kwargs, dict):
                reader.say("plan.use_reentrant", kwargs.get("use_reentrant"), *above, key, "use_reentrant")
    for key in ("torch_compile_backend", "torch_compile_mode"):
        if table.get(key):
            reader.say("plan.compile", True, *above, key)
    for key in ("use_cpu", "no_cuda"):
        if table.get(key) is True:
            reader.say("accelerator", "cpu", *above, key)
    _fsdp(reader, table, *above)
    if table.get("deepspeed"):
        _deepspeed(reader, table["deepspeed"], *above, "deepspeed")
    names = tuple(sorted(key for key in table if isinstance(key, str) and (above or key in FIELDS)))
    reader.say("plan.arguments", names, *above)
    for fact, value in DEFAULTS:
        reader.default(fact, value, _DEFAULT)


def _fsdp(reader: _Reader, table: Mapping[object, object], *above: str) -> None:
    fsdp = table.get("fsdp")
    if not fsdp or str(fsdp).lower() == "false":
        return
    reader.say("plan.distributed", "fsdp", *above, "fsdp")
    words = " ".join(map(str, fsdp)) if isinstance(fsdp, list) else str(fsdp)
    reader.say("plan.offload", "both" if "offload" in words.lower() else "none", *above, "fsdp")


def _training_arguments(reader: _Reader, table: Mapping[object, object]) -> None:
    _arguments(reader, table)
    peft = table.get("peft_config")
    trl = {key for key in table if isinstance(key, str)} & _TRL
    if isinstance(peft, dict):
        _peft(reader, peft)
    if trl:
        _trl(reader, table)
    reader.default("plan.trainer", "trl" if trl else "transformers", reader.origin())


def _trl(reader: _Reader, table: Mapping[object, object]) -> None:
    """TRL's ModelConfig and SFTConfig, as ``trl sft --config`` and the alignment-handbook use them."""
    for key, fact in (
        ("torch_dtype", "plan.load_dtype"),
        ("dtype", "plan.load_dtype"),
        ("attn_implementation", "plan.attn"),
        ("trust_remote_code", "plan.trust_remote_code"),
        ("max_seq_length", "plan.seq_len"),
        ("max_length", "plan.seq_len"),
        ("packing", "plan.packing"),
    ):
        reader.say(fact, table.get(key), key)
    for key, bits in (("load_in_8bit", "8bit"), ("load_in_4bit", "4bit")):
        if table.get(key) is True:
            reader.say("plan.quant", bits, key)
            reader.say("plan.quantization_config", True, key)
    if table.get("use_peft") is True:
        reader.say("plan.method", _lora(table, "lora"), "use_peft")
        _lora_facts(reader, table, ("lora_r", "lora_alpha", "lora_target_modules", "lora_modules_to_save"))
    elif "peft_config" not in table:
        reader.default("plan.method", "full", reader.origin())


# --- PEFT ----------------------------------------------------------------------------------------

_PEFT_TYPES = {"LORA": "lora", "PREFIX_TUNING": "prefix-tuning", "P_TUNING": "p-tuning", "PROMPT_TUNING": "prompt-tuning"}


def _peft(reader: _Reader, peft: Mapping[object, object]) -> None:
    """The fields of a PEFT configuration under ``peft_config``."""
    kind = str(peft.get("peft_type", "")).upper()
    method = _PEFT_TYPES.get(kind, kind.lower())
    if method:
        reader.say("plan.method", _lora(peft, method), "peft_config", "peft_type")
    if method == "lora":
        _lora_facts(reader, peft, ("r", "lora_alpha", "target_modules", "modules_to_save"), "peft_config")


def _lora(table: Mapping[object, object], method: str) -> str:
    if method == "lora" and table.get("use_dora") is True:
        return "dora"
    return "rslora" if method == "lora" and table.get("use_rslora") is True else method


def _lora_facts(reader: _Reader, table: Mapping[object, object], keys: tuple[str, str, str, str], *above: str) -> None:
    """Rank, scale, targets and saved modules, each under the dialect's own name."""
    for fact, key in zip(("plan.lora_r", "plan.lora_alpha", "plan.lora_targets", "plan.modules_to_save"), keys, strict=True):
        reader.say(fact, table.get(key), *above, key)


# --- the finetune_demo of ChatGLM3 and GLM-4 -----------------------------------------------------


def _finetune_demo(reader: _Reader, table: Mapping[object, object]) -> None:
    """``training_args`` beside ``peft_config`` and the lengths; without a peft_config all weights are trained.

    Rows are cut to max_input_length + max_output_length + 1 tokens, and nothing is evaluated without a
    val_file: https://github.com/THUDM/ChatGLM3/blob/main/finetune_demo/finetune_hf.py
    """
    arguments = table["training_args"]
    if isinstance(arguments, dict):
        _arguments(reader, arguments, "training_args")
    data = table.get("data_config")
    if isinstance(data, dict) and not data.get("val_file"):
        reader.say("plan.evaluate", False, "data_config")
    lengths = [table.get("max_input_length"), table.get("max_output_length")]
    if all(type(length) is int for length in lengths):
        reader.say("plan.seq_len", sum(length for length in lengths if isinstance(length, int)) + 1, "max_input_length")
    peft = table.get("peft_config")
    if isinstance(peft, dict):
        _peft(reader, peft)
    elif peft is None:
        reader.say("plan.method", "full", "training_args")
    reader.default("plan.trainer", "transformers", reader.origin())


# --- LLaMA-Factory -------------------------------------------------------------------------------

_FLASH = {"fa2": "flash_attention_2", "fa3": "flash_attention_3", "sdpa": "sdpa", "disabled": "eager", "off": "eager"}


def _llama_factory(reader: _Reader, table: Mapping[object, object]) -> None:
    """LLaMA-Factory's flat settings, which are TrainingArguments and its own.

    It recomputes activations unless told otherwise, and trains LoRA of rank 8 by default
    (src/llamafactory/hparams of https://github.com/hiyouga/LLaMA-Factory).
    """
    _arguments(reader, table)
    kind = str(table.get("finetuning_type", "lora"))
    pretrains = table.get("stage") == "pt" and kind == "full"
    reader.say("plan.method", "pretrain" if pretrains else _lora(table, kind), "finetuning_type")
    if kind == "lora":
        _lora_facts(reader, table, ("lora_rank", "lora_alpha", "lora_target", "additional_target"))
        reader.default("plan.lora_r", 8, _LLAMA_FACTORY)
    bits, method = table.get("quantization_bit"), str(table.get("quantization_method") or "bnb").lower()
    if bits is not None:
        reader.say("plan.quant", f"{bits}bit" if method in ("bnb", "bitsandbytes") else method, "quantization_bit")
        reader.say("plan.quantization_config", True, "quantization_bit")
    flash = table.get("flash_attn")
    if flash is not None and str(flash).lower() != "auto":
        reader.say("plan.attn", _FLASH.get("off" if flash is False else str(flash).lower(), str(flash)), "flash_attn")
    for key, fact in (
        ("cutoff_len", "plan.seq_len"),
        ("packing", "plan.packing"),
        ("neat_packing", "plan.packing"),
        ("enable_liger_kernel", "plan.liger"),
        ("trust_remote_code", "plan.trust_remote_code"),
        ("streaming", "plan.stream"),
    ):
        if not (key == "neat_packing" and table.get(key) is False):
            reader.say(fact, table.get(key), key)
    disabled = table.get("disable_gradient_checkpointing") is True
    origin = reader.origin("disable_gradient_checkpointing") if disabled else _LLAMA_FACTORY
    reader.facts["plan.gradient_checkpointing"] = Fact("plan.gradient_checkpointing", not disabled, origin)
    reader.say("plan.use_reentrant", table.get("use_reentrant_gc"), "use_reentrant_gc")
    reader.default("plan.trainer", "llamafactory", reader.origin())


# --- DeepSpeed -----------------------------------------------------------------------------------


def _deepspeed(reader: _Reader, setting: object, *keys: str) -> None:
    """The ``deepspeed`` field: a configuration, or the path of one."""
    reader.say("plan.deepspeed", True, *keys)
    if isinstance(setting, dict):
        _stage(reader, setting, reader.origin(*keys))
        return
    named = str(setting)
    found = _beside(reader.path, named)
    if found is None:
        reader.skip(named, "the DeepSpeed configuration that the plan names was not found beside it")
        return
    try:
        other = read_plan(found)
    except EnvdoctorError as error:
        reader.skip(named, str(error))
        return
    if isinstance(other.value, dict):
        inner = _Reader(found, other)
        _stage(reader, other.value, inner.origin("zero_optimization", "stage"))
    else:
        reader.skip(named, "no mapping of settings: not a DeepSpeed configuration")


def _beside(plan: Path, named: str) -> Path | None:
    """The file that a path in a plan means: runs are started from the plan's folder or from one a few levels above."""
    if "\0" in named or len(named) > 1024:
        return None
    folders = [plan.parent, *(plan.parent / "/".join([".."] * up) for up in (1, 2, 3))]
    try:
        return next((path for folder in folders if (path := folder / named).is_file()), None)
    except OSError:
        return None


def _stage(reader: _Reader, settings: Mapping[object, object], origin: Origin) -> None:
    """ZeRO stage and offload of a DeepSpeed configuration."""
    zero = settings.get("zero_optimization")
    zero = zero if isinstance(zero, dict) else {}
    stage = zero.get("stage", 0)
    if type(stage) is int and 0 <= stage <= 3:
        reader.facts["plan.distributed"] = Fact("plan.distributed", f"zero{stage}" if stage else "ddp", origin)
    else:
        reader.facts["plan.distributed"] = Fact("plan.distributed", NotUnderstood(plain(f"ZeRO stage {stage}")), origin)
    optimizer, parameters = (_offloads(zero.get(key)) for key in ("offload_optimizer", "offload_param"))
    offload = "both" if optimizer and parameters else "optimizer" if optimizer else "parameters" if parameters else "none"
    reader.facts["plan.offload"] = Fact("plan.offload", offload, origin)


def _offloads(setting: object) -> bool:
    return isinstance(setting, dict) and setting.get("device", "cpu") not in ("none", None)


def _deepspeed_file(reader: _Reader, table: Mapping[object, object]) -> None:
    """A DeepSpeed configuration by itself; what it leaves to the trainer (``auto``) stays unknown."""
    reader.say("plan.deepspeed", True)
    _stage(reader, table, reader.origin("zero_optimization", "stage"))
    for key, fact in (("fp16", "plan.fp16"), ("bf16", "plan.bf16")):
        settings = table.get(key)
        if isinstance(settings, dict) and isinstance(settings.get("enabled"), bool):
            reader.say(fact, settings["enabled"], key, "enabled")
    for key, fact in (
        ("train_micro_batch_size_per_gpu", "plan.batch_size"),
        ("gradient_accumulation_steps", "plan.gradient_accumulation"),
        ("gradient_clipping", "plan.max_grad_norm"),
    ):
        if table.get(key) != "auto":
            reader.say(fact, table.get(key), key)
