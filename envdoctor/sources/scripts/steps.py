"""What a script does itself: its own training loop, generation, settings of the model and the tokenizer, the environment."""

from __future__ import annotations

import ast
import re

from envdoctor.sources.scripts.adapters import read_checkpointing_kwargs
from envdoctor.sources.scripts.compiling import compiles_module
from envdoctor.sources.scripts.deepspeed import read_engines
from envdoctor.sources.scripts.kinds import Known
from envdoctor.sources.scripts.names import LOCAL, is_from
from envdoctor.sources.scripts.outline import Store
from envdoctor.sources.scripts.reading import Call, Reading

# Names of loaders that no training step draws from.
_HELD_BACK = re.compile(r"val|eval|test|dev|valid")
_OF_THE_MODEL = re.compile(r"\.loss\b(?!\s*=[^=])")
_TRUE = ("1", "on", "yes", "true")
_LIGHTNING = ("lightning", "pytorch_lightning", "lightning_fabric")
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_OPTIMIZERS = {
    ("torch", "AdamW"): "adamw_torch", ("torch", "SGD"): "sgd", ("torch", "Adagrad"): "adagrad", ("torch", "RMSprop"): "rmsprop",
    ("bitsandbytes", "AdamW8bit"): "adamw_bnb_8bit", ("bitsandbytes", "PagedAdamW8bit"): "paged_adamw_8bit",
    ("bitsandbytes", "PagedAdamW32bit"): "paged_adamw_32bit", ("bitsandbytes", "Lion8bit"): "lion_8bit",
    ("bitsandbytes", "PagedLion8bit"): "paged_lion_8bit", ("bitsandbytes", "AdEMAMix8bit"): "ademamix_8bit",
    ("transformers", "AdamW"): "adamw_hf", ("transformers", "Adafactor"): "adafactor",
}  # fmt: skip
# What puts Liger's forward into a model: of a type, of one that is there, and of what is loaded.
_ACCELERATORS = frozenset(("accelerate.Accelerator", "accelerate.accelerator.Accelerator"))
_PUTS_LIGER = re.compile(r"\w+\.apply_liger_kernel_to_\w+|\w+\._apply_liger_kernel(?:_to_instance)?|AutoLigerKernel\w+\.from_pretrained")


def read_steps(reading: Reading, *, has_trainer: bool) -> bool:
    """State what the calls and assignments of a script say beside loading, adapters and trainers; whether it has a loop of its own."""
    loops = any(True for _ in reading.methods("backward")) and not has_trainer
    _checkpointing(reading)
    _model_settings(reading)
    _generation(reading)
    _compiles(reading)
    _padding(reading)
    _data(reading, loops=loops)
    if not has_trainer:
        _accelerator(reading)
        _precision(reading)
    if loops:
        _loop(reading)
        _loss(reading)
    for name, value, line, sure in environment(reading):
        if name in _OFFLINE and sure:
            reading.claims.state("plan.offline", value.lower() in _TRUE, line)
    return loops


def _loss(reading: Reading) -> None:
    """A loop that takes ``outputs.loss`` and computes none has transformers' own, which is of float32 logits."""
    taken = _OF_THE_MODEL.search(reading.source.text)
    if taken and not any(True for _ in reading.named("torch", "cross_entropy", "CrossEntropyLoss", "NLLLoss", "nll_loss")):
        reading.claims.state("plan.loss_upcast", True, reading.source.text.count("\n", 0, taken.start()) + 1)


def _event(reading: Reading, call: Call, fact: str, known: Known | None) -> None:
    """State what a call does: nothing is known where it stands under a condition."""
    if call.sure:
        reading.claims.say(fact, known, call.line, call.scope)
    else:
        reading.claims.unknown(fact, call.line, call.scope, f"{call.last}() under a condition")


def _checkpointing(reading: Reading) -> None:
    for call in reading.methods("gradient_checkpointing_enable"):
        _event(reading, call, "plan.gradient_checkpointing", Known(True))
        if "gradient_checkpointing_kwargs" in call.keywords:
            read_checkpointing_kwargs(reading, call)


def _model_settings(reading: Reading) -> None:
    """``tokenizer.padding_side = "left"``, ``model.config.use_cache = False``."""
    for store in reading.outline.stores:
        runs = reading.evaluator.runs(store.guard)
        fact = _setting(store)
        if fact is None or runs is False:
            continue
        if runs:
            reading.claims.say(fact, reading.of(store.value, store.scope), store.line, store.scope)
        else:
            reading.claims.unknown(fact, store.line, store.scope, f"{store.key} set under a condition")
    for call in reading.methods("from_pretrained"):
        if "padding_side" in call.keywords:
            reading.claims.say("plan.padding_side", reading.value(call, "padding_side"), call.line_of("padding_side"), call.scope)


def _setting(store: Store) -> str | None:
    if store.key == "padding_side":
        return "plan.padding_side"
    is_config = isinstance(store.target, (ast.Attribute, ast.Name)) and _last(store.target) == "config"
    if store.key == "use_cache" and is_config:
        return "plan.use_cache"
    return None


def _last(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


_GIVE_A_TEMPLATE = (("trl", "setup_chat_format"), ("trl", "clone_chat_template"), ("unsloth", "get_chat_template"))


def _generation(reading: Reading) -> None:
    """Text that the run generates, prompts of a chat template; a function that nobody may call counts, since the file has it for this."""
    for call in reading.methods("generate", "stream_chat", "fast_generate"):
        if not of_own_class(reading, call):
            reading.claims.state("plan.generate", True, call.line)
    # A template of the script's own takes the place of the snapshot's.
    own = (
        any(store.key == "chat_template" for store in reading.outline.stores)
        or any("chat_template" in call.keywords for call in reading.methods("apply_chat_template", "from_pretrained"))
        or any(True for package, name in _GIVE_A_TEMPLATE for _ in reading.named(package, name))
    )
    for call in reading.methods("apply_chat_template") if not own else ():
        reading.claims.state("plan.apply_chat_template", True, call.line)


def of_own_class(reading: Reading, call: Call) -> bool:
    """Whether a method is one of an object that the file shows to be of a class of its own, made of nothing but its own."""
    function = call.node.func
    made = reading.made(reading.of(function.value, call.scope)) if isinstance(function, ast.Attribute) else None
    return made is not None and all(one.startswith(f"{LOCAL}.") for one in (made.kind, *reading.ancestry(made.kind)))


def _compiles(reading: Reading) -> None:
    for call in reading.calls:
        if (
            call.name == "torch.compile"
            or compiles_module(reading, call)
            or (call.name in _ACCELERATORS and _asks_for_dynamo(reading, call))
        ):  # without arguments, or with keywords alone, it is a decorator
            _event(reading, call, "plan.compile", Known(True))
        elif call.name.startswith("liger_kernel.") and _PUTS_LIGER.fullmatch(".".join(call.name.split(".")[-2:])):
            _event(reading, call, "plan.liger", Known(True))
    for scope in reading.outline.scopes:
        for one in getattr(scope.node, "decorator_list", ()):
            if not isinstance(one, ast.Call) and scope.parent is not None and reading.dotted(one, scope.parent) == "torch.compile":
                reading.claims.state("plan.compile", True, one.lineno, scope)


def _asks_for_dynamo(reading: Reading, call: Call) -> bool:
    """Whether ``Accelerator(dynamo_backend=...)`` compiles what it prepares with a backend that makes code for triton."""
    backend = reading.value(call, "dynamo_backend") if "dynamo_backend" in call.keywords else None
    return backend is not None and isinstance(backend.value, str) and backend.value.lower() == "inductor"


def _padding(reading: Reading) -> None:
    """``tokenizer([first, second], padding=True)``: several texts that are filled up to one length."""
    for call in reading.calls:
        asked = reading.value(call, "padding") if "padding" in call.keywords and call.node.args and call.sure else None
        if asked is None or asked.value not in (True, "longest", "max_length"):
            continue
        texts = reading.of(call.node.args[0], call.scope)
        if texts is not None and isinstance(texts.value, tuple) and len(texts.value) > 1:
            reading.claims.state("plan.padding", True, call.line_of("padding"))


def _data(reading: Reading, *, loops: bool) -> None:
    for call in reading.named("datasets", "load_dataset"):
        known = reading.value(call, "streaming")
        if known is not None and known.value is True:
            reading.claims.say("plan.stream", known, call.line_of("streaming"))
    if not loops:
        return
    loaders = [call for call in reading.named("torch", "DataLoader") if not _HELD_BACK.match(_assigned_to(reading, call))]
    for call in loaders:
        shuffled = reading.value(call, "shuffle")
        if len(loaders) == 1 or (shuffled is not None and shuffled.value is True) or "train" in _assigned_to(reading, call):
            reading.claims.say("plan.batch_size", reading.value(call, "batch_size", 1), call.line_of("batch_size"), call.scope)


def _assigned_to(reading: Reading, call: Call) -> str:
    parent = reading.outline.parents.get(id(call.node))
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    return target.id.lower() if isinstance(target, ast.Name) else ""


def _accelerator(reading: Reading) -> None:
    """``Accelerator(mixed_precision="fp16")`` of a loop without a trainer."""
    read_engines(reading)
    for call in reading.named("accelerate", "Accelerator"):
        if "mixed_precision" in call.keywords:
            known = reading.value(call, "mixed_precision")
            line = call.line_of("mixed_precision")
            for kind in ("fp16", "bf16"):
                chosen = None if known is None or known.value is None else Known(known.value == kind, known.default, known.line)
                if known is None or known.value is not None:
                    reading.claims.say(f"plan.{kind}", chosen, line, call.scope, "mixed_precision= of no constant value")
        if "gradient_accumulation_steps" in call.keywords:
            known = reading.value(call, "gradient_accumulation_steps")
            reading.claims.say("plan.gradient_accumulation", known, call.line_of("gradient_accumulation_steps"), call.scope)


def _precision(reading: Reading) -> None:
    """``precision="bf16-mixed"`` of Lightning's Fabric and Trainer."""
    for call in (call for package in _LIGHTNING for call in (*reading.named(package, "Fabric"), *reading.named(package, "Trainer"))):
        known = reading.value(call, "precision")
        text = str(known.value) if known is not None and isinstance(known.value, (str, int)) else ""
        if known is not None and text.startswith("bf16"):
            reading.claims.say("plan.bf16", Known(True, known.default, known.line), call.line_of("precision"), call.scope)
            reading.claims.say("plan.fp16", Known(False, known.default, known.line), call.line_of("precision"), call.scope)


def _loop(reading: Reading) -> None:
    """Autocast, the scaler and the optimizer of a loop that calls ``backward`` itself."""
    for call in reading.calls:
        if call.name.startswith("torch.") and call.last == "autocast":
            known = reading.value(call, "dtype") or reading.value(call, "dtype", 1)
            if known is not None and known.value == "torch.bfloat16" and call.sure:
                reading.claims.say("plan.bf16", Known(True), call.line, call.scope)
        elif call.name.startswith("torch.") and call.last == "GradScaler" and not call.keywords and not call.node.args:
            _event(reading, call, "plan.fp16", Known(True))
        name = _optimizer(call.name)
        if name is not None:
            reading.claims.state("plan.optimizer", name, call.line, call.scope)
            for keyword, fact in (("eps", "plan.optimizer_eps"), ("lr", "plan.learning_rate")):
                if keyword in call.keywords:
                    reading.claims.say(fact, reading.value(call, keyword), call.line_of(keyword), call.scope)


def _optimizer(called: str) -> str | None:
    """The name that TrainingArguments has for an optimizer's class."""
    return next((name for (package, last), name in _OPTIMIZERS.items() if is_from(called, package, last)), None)


def read_given_optimizers(reading: Reading, trainers: list[Call]) -> None:
    """``Trainer(optimizers=(optimizer, scheduler))``, which TrainingArguments' choice does not matter beside."""
    for call in trainers:
        expression, scope = call.keywords.get("optimizers", (None, call.scope))
        if not isinstance(expression, ast.Tuple) or not expression.elts:
            continue
        made = reading.made(reading.of(expression.elts[0], scope))
        if made is not None or not isinstance(expression.elts[0], ast.Constant):
            known = Known(_optimizer(made.kind)) if made is not None and _optimizer(made.kind) else None
            reading.claims.say("plan.optimizer", known, call.line_of("optimizers"), call.scope, "optimizers= that are not shown")


def environment(reading: Reading) -> list[tuple[str, str, int, bool]]:
    """Environment variables that the script sets to constants: name, value, line, and whether no condition stands above."""
    found: list[tuple[str, str, int, bool]] = []
    for store in reading.outline.stores:
        known = reading.of(store.value, store.scope)
        runs = reading.evaluator.runs(store.guard)
        is_environment = reading.dotted(store.target, store.scope) == "os.environ"
        if is_environment and runs is not False and known is not None and isinstance(known.value, str):
            found.append((store.key, known.value, store.line, runs is True))
    for call in reading.calls:
        if call.name in ("os.environ.setdefault", "os.putenv"):
            name, value = reading.value(call, "key", 0), reading.value(call, "value", 1)
            if name is not None and value is not None and isinstance(name.value, str) and isinstance(value.value, str):
                found.append((name.value, value.value, call.line, call.sure))
        elif call.name == "os.environ.update":
            table = reading.evaluator.table(call.node.args[0], call.scope) if call.node.args else None
            for key, (expression, scope) in {**(table.entries if table is not None else {}), **call.keywords}.items():
                known = reading.of(expression, scope)
                if known is not None and isinstance(known.value, str):
                    found.append((key, known.value, call.line, call.sure))
    for line in reading.source.shell:
        said = re.match(r"%(?:set_)?env\s+(\w+)[=\s]\s*(\S+)", line.text)
        if said:
            found.append((said[1], said[2].strip("\"'"), line.line, line.sure))
    return found
