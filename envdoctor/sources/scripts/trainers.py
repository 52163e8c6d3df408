"""What a script gives a trainer: which one, its tokenizer, packing and lengths, and a checkpoint to resume from."""

from __future__ import annotations

import ast
import re

from envdoctor.sources.model.class_tree import Function
from envdoctor.sources.scripts.kinds import Known
from envdoctor.sources.scripts.names import LOCAL
from envdoctor.sources.scripts.reading import Call, Reading
from envdoctor.sources.scripts.steps import of_own_class

_TRANSFORMERS = ("Trainer", "Seq2SeqTrainer")
_TRL = {
    "SFTTrainer": "", "DPOTrainer": "dpo", "GRPOTrainer": "grpo", "KTOTrainer": "kto", "ORPOTrainer": "orpo", "PPOTrainer": "ppo",
    "CPOTrainer": "", "BCOTrainer": "", "RewardTrainer": "", "RLOOTrainer": "", "GKDTrainer": "", "OnlineDPOTrainer": "",
    "PPOv2Trainer": "ppo",
}  # fmt: skip
_CONFIGS = tuple(f"{name.removesuffix('Trainer')}Config" for name in _TRL)
# What the loss is of, with an adapter or without.
_GOALS = {**{name: goal for name, goal in _TRL.items() if goal}, "RewardTrainer": "reward", "SFTTrainer": "sft"}
# What a script says that trains a part, or weights that are stored in other ways.
_HALF_TRAINED = ("requires_grad", "quantization", "load_in_")
# Commands by which a notebook has another program train.
_TRAINS_ELSEWHERE = re.compile(r"torchrun|deepspeed|accelerate launch|tune run|axolotl|swift |llamafactory|train|finetun|fine_tun|sft")
_SETTINGS = (("max_seq_length", "plan.seq_len"), ("packing", "plan.packing"))
_RUNS = {
    "llamafactory": (("run_exp", "export_model", "ChatModel", "create_ui", "create_web_demo", "create_app"), "llamafactory"),
    "swift": (("sft_main", "rlhf_main", "pretrain_main"), "ms-swift"),
}
_OF_SWIFT = ("dpo", "grpo", "kto", "orpo", "ppo")
# The same for commands that a notebook hands to a shell.
_STARTS = (
    (
        re.compile(r"\b(?:llamafactory-cli|lmf|python3? -m llamafactory\.cli)\s+(?:train|webui|export|eval|chat|webchat|api)\b"),
        "llamafactory",
    ),
    (re.compile(r"\b(?:swift|megatron)\s+(?:sft|pt|rlhf|dpo)\b"), "ms-swift"),
    (re.compile(r"\baxolotl\s+train\b|-m\s+axolotl\.cli\.train\b"), "axolotl"),
)


def trainer_kind(reading: Reading, name: str) -> str:
    """The package whose trainer a dotted name is, or derives from: ``transformers``, ``trl`` or ""."""
    if not name:
        return ""
    if reading.is_kind(name, "trl", *_TRL):
        return "trl"
    plain = reading.is_kind(name, "transformers", *_TRANSFORMERS)
    return "transformers" if plain or reading.is_kind(name, "sentence_transformers", "SentenceTransformerTrainer") else ""


def read_trainers(reading: Reading) -> list[Call]:
    """State what the constructions of trainers say; the calls themselves."""
    trainers = reading.few([call for call in reading.calls if call.last[:1].isupper() and trainer_kind(reading, call.name)])
    for call in trainers:
        _trainer(reading, call)
    for call in reading.named("vllm", "LLM"):
        served = reading.value(call, "model", 0)
        if served is not None and isinstance(served.value, str):
            reading.claims.say("model.id", served, call.line_of("model"), call.scope)
    for package, (functions, tool) in _RUNS.items():
        for call in reading.named(package, *functions):
            reading.claims.state("plan.trainer", tool, call.line, call.scope)
    for call in reading.named("swift", "RLHFArguments"):
        # What it is where nobody names another: ms-swift 2.2.0 to 4.6.0.
        chosen = reading.value(call, "rlhf_type") if "rlhf_type" in call.keywords else Known("dpo") if call.whole else None
        if chosen is not None and chosen.value in _OF_SWIFT:
            reading.claims.say("plan.objective", chosen, call.line_of("rlhf_type"), call.scope)
    for line in reading.source.shell:
        for command, tool in _STARTS:
            if line.sure and command.search(line.text):
                reading.claims.state("plan.trainer", tool, line.line)
    return trainers


def find_training(reading: Reading) -> None:
    """Take down where ``trainer.train()`` stands, before anything is settled by it."""
    for call in reading.methods("train"):
        if _is_trainer(reading, call):
            reading.claims.training[call.scope] = call.line


def read_resumption(reading: Reading) -> None:
    """``trainer.train(resume_from_checkpoint=...)``."""
    trainings = [call for call in reading.methods("train") if _is_trainer(reading, call)]
    given = [call for call in trainings if "resume_from_checkpoint" in call.keywords or call.node.args]
    for call in trainings if given else ():
        known = reading.value(call, "resume_from_checkpoint", 0) if call in given else Known(None)
        if call.sure and known is not None and (known.value is None or isinstance(known.value, (bool, str))):
            reading.claims.say("plan.resume", Known(known.value not in (None, False, ""), known.default, known.line), call.line, None)
        else:
            reading.claims.unknown("plan.resume", call.line)


def _is_trainer(reading: Reading, call: Call) -> bool:
    function = call.node.func
    assert isinstance(function, ast.Attribute)
    made = reading.made(reading.of(function.value, call.scope))
    if made is not None:
        return bool(trainer_kind(reading, made.kind)) or made.kind.endswith("Trainer")
    return isinstance(function.value, ast.Name) and function.value.id == "trainer"


def _trainer(reading: Reading, call: Call) -> None:
    claims, scope = reading.claims, call.scope
    kind = trainer_kind(reading, call.name)
    claims.state("plan.trainer", kind, call.line, scope)
    if not _takes_own(reading, call.name) and not reading.is_kind(call.name, "sentence_transformers", "SentenceTransformerTrainer"):
        # Keywords that are put together under a test of the release are those of that release.
        if "tokenizer" in call.keywords and "tokenizer" not in call.chosen:
            claims.state("plan.framework_tokenizer_argument", True, call.line_of("tokenizer"), scope)
        elif call.whole:
            claims.state("plan.framework_tokenizer_argument", False, call.line, scope)
    if kind == "trl":
        goal = next((goal for name, goal in _GOALS.items() if reading.is_kind(call.name, "trl", name)), "")
        if goal:
            claims.state("plan.objective", goal, call.line, scope)
        for keyword, fact in _SETTINGS:
            if keyword in call.keywords:
                claims.say(fact, reading.value(call, keyword), call.line_of(keyword), scope, f"{keyword}= of no constant value")
        _given(reading, call)
    model = reading.value(call, "model", 0)
    if kind == "trl" and model is not None and isinstance(model.value, str):
        claims.say("model.id", model, call.line_of("model"), scope)


def _given(reading: Reading, call: Call) -> None:
    known = reading.value(call, "neftune_noise_alpha")
    if known is not None and isinstance(known.value, (int, float)):
        reading.claims.say("plan.neftune", Known(True, known.default, known.line), call.line_of("neftune_noise_alpha"), call.scope)


def _takes_own(reading: Reading, name: str) -> bool:
    """Whether a class of the file has a constructor of its own, which may do anything with the tokenizer."""
    for one in reading.ancestry(name):
        entry = reading.outline.classes.get(one.removeprefix(f"{LOCAL}.")) if one.startswith(LOCAL) else None
        if entry is not None and any(isinstance(item, Function) and item.name == "__init__" for item in entry[0].body):
            return True
    return False


def _has_an_entry(reading: Reading) -> bool:
    """Whether anything is done when the file is run: a module of classes and functions is somebody else's to use."""
    calls = (item for item in reading.source.body if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call))
    blocks = (item for item in reading.source.body if isinstance(item, (ast.For, ast.While, ast.With)))
    loads = (call for call in reading.methods("from_pretrained", "generate", "chat") if call.scope is reading.outline.module)
    return "__main__" in reading.source.text or any(True for found in (calls, blocks, loads) for _ in found)


def _loads_itself(reading: Reading, call: Call) -> bool:
    """Whether the trainer is handed the name of a model, or one of sentence-transformers that was made of a name."""
    model = reading.value(call, "model", 0)
    named = trainer_kind(reading, call.name) == "trl" and model is not None and isinstance(model.value, str)
    return named or any(True for _ in reading.named("sentence_transformers", "SentenceTransformer"))


def loads_unquantized(reading: Reading, trainers: list[Call]) -> bool:
    """Whether each trainer of trl loads a model by its name, and nothing in the file hands on how: then as it is stored."""
    if not trainers or "model_init_kwargs" in reading.source.text or "quantization_config" in reading.source.text:
        return False
    settings = [call for call in reading.calls if reading.is_kind(call.name, "trl", *_CONFIGS)]
    return bool(settings) and all(call.whole for call in settings) and all(_loads_itself(reading, call) for call in trainers)


# A Trainer whose training nobody begins only measures.
_TRAINS = re.compile(r"\.train\b|hyperparameter_search|\bfit\(")


def read_method(reading: Reading, trainers: list[Call], loads: list[Call], *, trains_itself: bool) -> None:
    """What is trained, where no adapter says it: by the trainer's kind, all weights, or nothing at all.

    All weights only where the model is loaded in the file and nothing of it speaks of adapters or of frozen parameters.
    """
    claims, text = reading.claims, reading.source.text
    if "plan.method" in claims.claims:
        return
    adapters = any(map(reading.imports, ("peft", "unsloth", "swift", "llamafactory", "adapters"))) or "peft_config" in text
    measures = [call for call in reading.methods("evaluate", "predict") if call.sure] if trainers and not _TRAINS.search(text) else []
    if measures and not adapters:
        claims.state("plan.method", "inference", measures[0].line)
        return
    if trainers and not adapters:
        kinds = {_TRL.get(one.rpartition(".")[2], "") for call in trainers for one in reading.ancestry(call.name)} - {""}
        for call in trainers:
            if len(kinds) == 1 and call.sure:
                claims.state("plan.method", next(iter(kinds)), call.line, call.scope)
            elif not kinds and call.sure and (loads or _loads_itself(reading, call)) and not any(word in text for word in _HALF_TRAINED):
                claims.state("plan.method", "full", call.line, call.scope)
        return
    if not _has_an_entry(reading):
        return
    answers = [call for call in reading.methods("generate", "chat", "stream_chat") if call.sure and not of_own_class(reading, call)]
    answers += [call for call in loads if call.sure and (call.last == "pipeline" or call.at is not None)]
    elsewhere = any(_TRAINS_ELSEWHERE.search(line.text) and "install" not in line.text for line in reading.source.shell)
    training = (
        trainers or trains_itself or elsewhere or any(word in text for word in (".backward(", ".train(", "Trainer", "optimizer", "fit("))
    )
    if answers and loads and not training:
        claims.state("plan.method", "inference", answers[0].line)
