"""Facts of one launch: what its flags, its starters and its environment tell the run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, Origin, Skip
from envdoctor.facts.vocabulary import WHOLE
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field, replace
from envdoctor.sources.launches.flag_table import setting_of, table_of_flags
from envdoctor.sources.launches.overrides import given_by_flags, given_by_words
from envdoctor.sources.launches.own_parser import configuration_filled, fills_arguments, parses_by_itself
from envdoctor.sources.launches.programs import TOOLS, Launch, flags
from envdoctor.sources.launches.started import ReadScript, add_script, is_default, script_of, shows_uses, trains
from envdoctor.sources.launches.variables import Piece
from envdoctor.sources.plans.accelerate import read_accelerate
from envdoctor.sources.plans.arguments import read_arguments, say_refused, state_arguments
from envdoctor.sources.plans.deepspeed import beside
from envdoctor.sources.plans.llama_factory import read_command
from envdoctor.sources.plans.peft import say_targets
from envdoctor.sources.plans.plan import Given, collect_plan
from envdoctor.sources.plans.plan_file import PlanFile
from envdoctor.sources.plans.reader import Reader, Table, is_yes, text_keys, word
from envdoctor.sources.plans.swift import SWIFT, read_swift
from envdoctor.sources.plans.trainer import ANOTHER_WAY, is_given_whole, read_trl, settings_of, state_trl_arguments, telling
from envdoctor.sources.plans.trl_uses import kind_of_configuration, say_config_uses

_PLANS = (".yaml", ".yml", ".json")
_SWIFT_SCRIPTS = re.compile(r"(?:.*/)?(?:llm_sft|llm_pt|llm_rlhf|swift/cli/(?:_megatron/)?(?:sft|pt|rlhf))\.py|swift\.cli\.(?:sft|pt|rlhf)")
_LLAMA_FACTORY_SCRIPTS = re.compile(r"(?:.*/)?(?:train_bash|llamafactory/launcher|llmtuner/launcher)\.py|llamafactory\.launcher")
# Programs by the module, or the file, that they are.
_PROGRAM_OF = {"llamafactory.cli": "llamafactory-cli", "swift.cli.main": "swift", "trl.cli": "trl"}
# Commands of LLaMA-Factory that do not train: what they import differs.
_NAMED = frozenset(("version", "env", "help", "webui", "webchat"))
_TRL_COMMANDS = frozenset(("sft", "dpo", "grpo", "kto", "orpo", "reward", "rloo", "cpo"))
_TRL_GOALS = frozenset(("dpo", "grpo", "kto", "orpo", "reward"))
_TRAINS = frozenset(("sft", "pt", "rlhf", "dpo"))
# rlhf_type is dpo where nobody names another (RLHFArguments of ms-swift 2.2.0, 2.3.0, 3.12.6, 4.6.0); `swift dpo` is the same command.
_BY_PREFERENCE = frozenset(("rlhf", "dpo"))

# Flags that the training scripts of many projects share, beside TrainingArguments'.
_SHARED = (
    ("torch_dtype", "plan.load_dtype"),
    ("attn_implementation", "plan.attn"),
    ("trust_remote_code", "plan.trust_remote_code"),
    ("model_max_length", "plan.seq_len"),
    ("max_seq_length", "plan.seq_len"),
    ("max_seq_len", "plan.seq_len"),
    ("cutoff_len", "plan.seq_len"),
    ("block_size", "plan.seq_len"),
    ("packing", "plan.packing"),
    ("lora_r", "plan.lora_r"),
    ("lora_rank", "plan.lora_r"),
    ("lora_alpha", "plan.lora_alpha"),
    ("lora_dropout", "plan.lora_dropout"),
    ("streaming", "plan.stream"),
)
# In the names of scripts that are given an adapter, and train none.
_BESIDE_TRAINING = re.compile(r"infer|eval|test|predict|generat|demo|chat|serve|merge|export|prune|web|api|cli")
# Examples of transformers, which train all weights: whoever adds an adapter to one gives it flags for that.
_EXAMPLES = re.compile(
    r"(?:.*/)?run_(?:clm|mlm|plm|fim|glue|xnli|swag|ner|(?:seq2seq_)?qa|summarization|translation|classification|audio_classification"
    r"|image_classification|speech_recognition_(?:ctc|seq2seq))\.py"
)
_LORA_SWITCHES = ("lora_enable", "use_lora", "use_peft")


@dataclass(slots=True)
class Told:
    """What one launch says; a stated fact replaces another, a default only fills a gap.

    ``lost``: settings of the run are elsewhere, in a plan that was not read or in what somebody fills in.
    """

    facts: dict[str, Fact] = field(default_factory=dict)
    skips: list[Skip] = field(default_factory=list)
    lost: bool = False

    def add(self, found: Collected) -> None:
        for fact in found.facts:
            before = self.facts.get(fact.name)
            if before is None or is_default(before) or not is_default(fact):
                self.facts[fact.name] = fact
        self.skips += found.skips


def told_by(path: Path, launch: Launch, read: ReadScript | None = None, *, alone: bool = False) -> Told:
    """The facts of a launch in a script at a path; ``read`` reads the Python script that it starts, ``alone``: nothing else is started."""
    told, ran = Told(), Told()
    script = script_of(path, launch, read)
    for kind, options in launch.starters:
        if kind == "accelerate":
            _accelerate(told, path, options)
    _tool(ran, path, launch)
    if not (ran.facts or ran.skips) and _known_tool(launch) and not (alone and (trains(script) or shows_uses(script))):
        return ran
    told.add(Collected(tuple(ran.facts.values()), skips=tuple(ran.skips)))
    if told.lost or ran.lost:
        told.facts[WHOLE] = Fact(WHOLE, False, Origin(plain(str(path), 4096), str(path), launch.line))
    if told.facts or launch.starters:
        _devices(told, path, launch, script)
    add_script(told.facts, script, launch, alone=alone, parses=parses_by_itself(path, launch))
    return told


def _known_tool(launch: Launch) -> bool:
    """Whether a program was started that, with these words, trains nothing: ``swift deploy``."""
    return launch.tool.rpartition("/")[2] in TOOLS or not launch.starters


class _Flags(PlanFile):
    """Settings that are flags: what a reader looks for in a mapping stands where one of its flags stands."""

    __slots__ = ()

    def line_of(self, *keys: str) -> int | None:
        return next((self.lines[(key,)] for key in (keys[-1], keys[0]) if (key,) in self.lines), None)


def _reader(path: Path, lines: Mapping[str, int], whole: int | None = None) -> Reader:
    names = {name.replace("-", "_"): line for name, line in lines.items()}
    switched_off = {name.removeprefix("no_"): line for name, line in names.items()}
    return Reader(path, _Flags({}, "", {(name,): line for name, line in {**switched_off, **names}.items()}, whole=whole))


def _tool(told: Told, path: Path, launch: Launch) -> None:
    values, lines, before = flags(launch.arguments)
    table = table_of_flags(values)
    name = _program(launch)
    command = before[0].text if before else ""
    reader = _reader(path, lines, launch.line)
    if name in ("swift", "megatron"):
        if command in _TRAINS:
            _follow(told, path, [*before[1:], *values.get("config", ())], f"{name} {command}")
            reader.default("plan.trainer", "ms-swift", reader.origin())
            if name == "megatron":
                reader.say("plan.distributed", "megatron")
                # One of Megatron's own settings, so that its names are read.
                table = {"recompute_granularity": None, **table}
            if command in _BY_PREFERENCE and not values.get("config"):
                table = {"rlhf_type": "dpo", **table}
            read_swift(reader, table)
    elif _SWIFT_SCRIPTS.fullmatch(launch.tool) or (launch.tool.endswith(".py") and SWIFT.recognises(table, text_keys(table))):
        read_swift(reader, table)
    elif name in ("llamafactory-cli", "lmf") or _LLAMA_FACTORY_SCRIPTS.fullmatch(launch.tool) or _is_llama_factory(launch, table):
        plans = [piece for piece in before if piece.text.endswith(_PLANS)]
        if plans:
            _follow(told, path, plans[:1], "llamafactory-cli", given_by_words(path, (*before, *values.get("", ()))))
        read_command(reader, {} if plans else table, command)
        if name in ("llamafactory-cli", "lmf") and command in _NAMED:
            # Up to 0.9.3 what trains is imported before the command is looked at: src/llamafactory/cli.py.
            reader.say("plan.code_uses", [f"$ llamafactory-cli {command}"])
    elif name == "axolotl" or launch.tool.startswith("axolotl.cli."):
        if command == "train" or launch.tool in ("axolotl.cli.train", "axolotl.cli.main"):
            named = [piece for piece in before if piece.text.endswith(_PLANS)][:1]
            _follow(told, path, named, "axolotl", given_by_flags(path, values, lines))
            reader.default("plan.trainer", "axolotl", reader.origin())
    elif name == "trl":
        if command in _TRL_COMMANDS:
            _follow(told, path, values.get("config", ()), "trl")
            read_arguments(reader, table) if telling(text_keys(table)) else state_arguments(reader, table)
            read_trl(reader, table)
            reader.say("plan.trainer", "trl")
            files = [settings_of(beside(path, piece.text)) for piece in values.get("config", ()) if piece.known]
            given = {key: value for one in (*files, table) for key, value in one.items()}
            state_trl_arguments(reader, text_keys(given))
            say_config_uses(reader, command, given)
            if command in _TRL_GOALS:
                reader.say("plan.objective", command)
    elif name == "vllm" or launch.tool.startswith("vllm.entrypoints."):
        reader.say("plan.code_uses", ["vllm"])
        reader.say("plan.method", "inference")
        reader.say_model({"model": before[1].text} if command == "serve" and len(before) > 1 and before[1].known else table, "model")
    elif name == "tune":
        _torchtune(told, path, launch, values)
    elif launch.tool.endswith(".py") or launch.module or launch.starters:
        _script(told, reader, path, table, before, launch)
    found = reader.collected()
    if parses_by_itself(path, launch):
        found = replace(found, facts=tuple(fact for fact in found.facts if fact.name != "plan.arguments"))
    if "" in values:
        first = values[""][0]
        why = f"{first.text} adds arguments when the run starts: what is left out here is unknown"
        skips = (*found.skips, Skip(f"{plain(str(path), 4096)}:{first.line}", plain(why)))
        told_so_far = tuple(fact for fact in found.facts if not is_default(fact))
        found = replace(found, facts=(*told_so_far, Fact(WHOLE, False, reader.origin())), skips=skips)
    told.lost = told.lost or (command == "webui" and name in ("llamafactory-cli", "lmf"))
    told.add(found)


def _program(launch: Launch) -> str:
    module = ".".join(launch.tool.removesuffix(".py").split("/")[-2:]) if launch.tool.endswith("/cli.py") else launch.tool
    return _PROGRAM_OF.get(module, launch.tool.rpartition("/")[2])


def _is_llama_factory(launch: Launch, table: Table) -> bool:
    return launch.tool.endswith("train.py") and ("finetuning_type" in table or {"stage", "dataset", "template"} <= table.keys())


def _script(told: Told, reader: Reader, path: Path, table: Table, before: Sequence[Piece], launch: Launch) -> None:
    """A training script of a project's own: TrainingArguments by their names, and LoRA as such scripts call it."""
    values, _, _ = flags(launch.arguments)
    first = before[0] if before else None
    if first is not None and first.text.endswith(_PLANS):
        # HfArgumentParser reads a plan that is the first word; a JSON file there may as well be data.
        found = Told()
        _follow(found, path, [first], None, given_by_words(path, before[1:]))
        if found.facts or not first.text.endswith(".json"):
            told.add(Collected(tuple(found.facts.values()), skips=tuple(found.skips)))
    configuration = configuration_filled(path, launch)
    if configuration is not None:
        # TrlParser reads the file first, and the flags over it.
        files = [settings_of(beside(path, piece.text)) for piece in values.get("config", ()) if piece.known]
        _follow(told, path, values.get("config", ()), None)
        given = {key: value for one in (*files, table) for key, value in one.items() if key != "config"}
        kind = kind_of_configuration(configuration)
        say_config_uses(reader, kind, given, trains=False)
        read_trl(reader, table, trains_all=False)
        if kind in _TRL_GOALS:
            reader.say("plan.objective", kind)
        if files:
            state_trl_arguments(reader, text_keys(given))
    known = telling(text_keys(table)) and is_given_whole(text_keys(table))
    if known or (table and fills_arguments(path, launch)):
        read_arguments(reader, table)
        say_refused(reader, table, whole=False)
    else:
        state_arguments(reader, table)
    reader.say_all(table, _SHARED)
    reader.say_model(table, "model_name_or_path", "base_model", "model_id")
    if "lora_target_modules" in table or "target_modules" in table:
        say_targets(reader, table, "lora_target_modules" if "lora_target_modules" in table else "target_modules")
    _method(reader, table, trains=_BESIDE_TRAINING.search(launch.tool.rpartition("/")[2].lower()) is None)
    if _EXAMPLES.fullmatch(launch.tool) and table.get("do_train") is True and not any(map(ANOTHER_WAY.search, text_keys(table))):
        reader.default("plan.method", "full", reader.origin())
    switch = next((key for key in _LORA_SWITCHES if table.get(key) is True), None)
    if table.get("use_8bit_adam") is True:  # of diffusers' scripts: bitsandbytes' AdamW8bit
        reader.say("plan.optimizer", "adamw_bnb_8bit", "use_8bit_adam")
    bits = table.get("bits")
    if bits in (4, 8) and ("lora_r" in table or switch):
        reader.say("plan.quant", f"{bits}bit", "bits")
    for key, quant in (("load_in_8bit", "8bit"), ("load_in_4bit", "4bit")):
        if table.get(key) is True:
            reader.say("plan.quant", quant, key)


def _method(reader: Reader, table: Table, *, trains: bool) -> None:
    """What is trained, where flags say it; ``trains``: the script's name speaks of nothing else, such as ``infer.py``."""
    keys = text_keys(table)
    if table.get("do_predict") is True and table.get("do_train") is not True:
        reader.say("plan.method", "inference", "do_predict")
        return
    # An adapter of another kind than LoRA, for which there is a switch beside the one for all of them.
    another = word(table.get("peft_method") or table.get("peft_type") or "lora").lower() != "lora" or "use_adalora" in keys
    if not trains or another:
        return
    quantized = next((key for key in ("q_lora", "use_qlora", "qlora") if table.get(key) is True), None)
    switch = next((key for key in _LORA_SWITCHES if table.get(key) is True), None)
    if quantized:
        reader.say("plan.method", "qlora", quantized)
    elif switch:
        reader.say("plan.method", "lora", switch)
    elif (rank := next((key for key in ("lora_r", "lora_rank") if key in table), None)) and not keys & {*_LORA_SWITCHES}:
        reader.say("plan.method", "lora", rank)
    elif table.get("pre_seq_len") is not None and {"max_source_length", "quantization_bit", "prefix_projection"} & keys:
        # The P-Tuning v2 of ChatGLM's own scripts: a trained prefix.
        reader.say("plan.method", "prefix-tuning", "pre_seq_len")


def _torchtune(told: Told, path: Path, launch: Launch, values: Mapping[str, Sequence[Piece]]) -> None:
    named = list(values.get("config", ()))[:1]
    if named and named[0].text.endswith(_PLANS):
        _follow(told, path, named, "tune", given_by_words(path, values["config"]))
    elif named:
        why = f"{named[0].text}: a configuration that torchtune brings along"
        told.skips.append(Skip(f"{plain(str(path), 4096)}:{named[0].line}", plain(why)))
    recipe = next((piece for piece in launch.arguments if piece.text.endswith(("_distributed", "_single_device"))), None)
    if recipe is not None:
        reader = _reader(path, {"recipe": recipe.line})
        reader.say("plan.trainer", "torchtune", "recipe")
        reader.say("plan.distributed", "fsdp" if recipe.text.endswith("_distributed") else "none", "recipe")
        told.add(reader.collected())
    overrides = list(values.get("config", ()))[1:]
    if overrides and not (named and named[0].text.endswith(_PLANS)):
        why = f"settings given on the command line are not read: {' '.join(piece.text for piece in overrides)}"
        told.skips.append(Skip(f"{plain(str(path), 4096)}:{overrides[0].line}", plain(why)))


def _follow(told: Told, path: Path, named: Sequence[Piece], by: str | None, given: Given | None = None) -> None:
    """Read the plans that a command names, where they lie beside the script, with what it gives in the place of their settings."""
    for piece in named:
        place = f"{plain(str(path), 4096)}:{piece.line}"
        found = beside(path, piece.text) if piece.known else None
        if found is None:
            why = "is not beside the script" if piece.known else "is named when the run starts"
            told.skips.append(Skip(place, plain(f"{piece.text}: the plan{f' of {by}' if by else ''} {why}")))
            told.lost = True
            continue
        try:
            told.add(collect_plan(found, given))
        except EnvdoctorError as error:
            told.skips.append(Skip(place, plain(str(error), 400)))
            told.lost = True


def _accelerate(told: Told, path: Path, options: Mapping[str, Piece]) -> None:
    named = options.get("config_file")
    if named is not None:
        _follow(told, path, [named], "accelerate")
    if "cpu" in options:
        options = {**options, "use_cpu": options["cpu"]}
    table: dict[object, object] = {name: setting_of(piece) for name, piece in options.items()}
    kinds = (("use_deepspeed", "DEEPSPEED"), ("use_fsdp", "FSDP"), ("use_megatron_lm", "MEGATRON_LM"), ("multi_gpu", "MULTI_GPU"))
    switch = next(((key, kind) for key, kind in kinds if is_yes(table.get(key))), None)
    lines = {name: piece.line for name, piece in options.items()}
    if switch:
        table["distributed_type"] = switch[1]
        lines["distributed_type"] = lines[switch[0]]
        table["deepspeed_config"] = {key: table.get(key) for key in ("zero_stage", "offload_optimizer_device", "offload_param_device",
                                                                     "deepspeed_config_file", "zero3_init_flag")}  # fmt: skip
        table["fsdp_config"] = {key: table.get(key) for key in ("fsdp_offload_params", "fsdp_activation_checkpointing",
                                                                  "fsdp_auto_wrap_policy", "fsdp_state_dict_type",
                                                                  "fsdp_transformer_layer_cls_to_wrap", "fsdp_version",
                                                                  "fsdp_reshard_after_forward", "fsdp_sharding_strategy")}  # fmt: skip
    reader = _reader(path, lines)
    read_accelerate(reader, table)
    told.add(reader.collected())


def _devices(told: Told, path: Path, launch: Launch, script: Sequence[Fact]) -> None:
    """How many GPUs the run gets, and whether ranks share the work where nothing else says how."""
    processes: Piece | None = None
    nodes: Piece | None = None
    starter = launch.starters[0][0] if launch.starters else None
    for kind, options in launch.starters:
        if kind in ("torchrun", "deepspeed"):
            processes = options.get("nproc_per_node") or options.get("num_gpus") or _included(options.get("include")) or processes
            nodes = options.get("nnodes") or options.get("num_nodes") or nodes
    if launch.tool.rpartition("/")[2] in ("swift", "megatron") and processes is None:
        processes, nodes = launch.environment.get("NPROC_PER_NODE"), launch.environment.get("NNODES")
        starter = "torchrun" if processes is not None else starter
    if launch.tool == "tune" and processes is None:
        given = flags(launch.arguments)[0]
        processes = next((given[name][0] for name in ("nproc_per_node", "nproc-per-node") if given.get(name)), None)
    reader = _reader(path, {})
    count, at = _whole(processes), processes.line if processes else launch.line
    across = 1 if nodes is None else _whole(nodes)
    visible = launch.environment.get("CUDA_VISIBLE_DEVICES")
    if processes is None and visible is not None and visible.known and across == 1:
        ids = [item for item in visible.text.split(",") if item.strip()]
        count, at = (0 if visible.text.strip() in ("", "-1") else len(ids)), visible.line
        if count == 0:
            reader = _reader(path, {"CUDA_VISIBLE_DEVICES": at})
            reader.say("accelerator", "cpu", "CUDA_VISIBLE_DEVICES")
            told.add(reader.collected())
            return
    if count is not None and across is not None:
        reader = _reader(path, {"count": at})
        if "gpu.count" not in told.facts:
            reader.say("gpu.count", count * across, "count")
        shared = told.facts.get("plan.distributed")
        trains = count * across == 1 or _is_plain_trainer(told) or _starts_a_trainer(told, script)
        if shared is None and starter == "torchrun" and trains:
            reader.say("plan.distributed", "ddp" if count * across > 1 else "none", "count")
        elif shared is None and starter is None and count == 1 and not _uses_deepspeed(told):
            reader.say("plan.distributed", "none", "count")
        told.add(reader.collected())


def _is_plain_trainer(told: Told) -> bool:
    """Whether ranks share the work by DDP: transformers' Trainer does without being told, other scripts do what they like."""
    return ("plan.arguments" in told.facts or "plan.trainer" in told.facts) and not _uses_deepspeed(told)


def _starts_a_trainer(told: Told, script: Sequence[Fact]) -> bool:
    """Whether the script that is started makes a Trainer of transformers or trl, and names neither DeepSpeed nor FSDP."""
    facts = {} if _uses_deepspeed(told) else {fact.name: fact.value for fact in script}
    trainer = facts.get("plan.trainer") in ("transformers", "trl")
    return trainer and facts.get("plan.deepspeed") is not True and "plan.distributed" not in facts


def _uses_deepspeed(told: Told) -> bool:
    fact = told.facts.get("plan.deepspeed")
    return fact is not None and fact.value is True


def _included(include: Piece | None) -> Piece | None:
    """The GPUs of ``--include localhost:0,1``, as their number."""
    if include is None or not include.known or "@" in include.text:
        return None
    found = re.fullmatch(r"[\w.-]+:([0-9,]{1,200})", include.text)
    return None if found is None else Piece(str(len([item for item in found[1].split(",") if item])), include.line)


def _whole(piece: Piece | None) -> int | None:
    return int(piece.text) if piece is not None and piece.known and re.fullmatch(r"[0-9]{1,4}", piece.text) else None
