"""What a script asks of PEFT: the kind of adapter, its rank and targets, and how the base is prepared."""

from __future__ import annotations

import ast
import re
import sys

from envdoctor.sources.scripts.input_grads import is_near, stays_in_sight
from envdoctor.sources.scripts.kinds import Known, Symbol, Table
from envdoctor.sources.scripts.reading import Call, Reading

_KINDS = {
    "LoraConfig": "lora", "PrefixTuningConfig": "prefix-tuning", "PromptTuningConfig": "prompt-tuning", "PromptEncoderConfig": "p-tuning",
    "AdaLoraConfig": "adalora", "IA3Config": "ia3", "LoHaConfig": "loha", "LoKrConfig": "lokr", "OFTConfig": "oft", "BOFTConfig": "boft",
    "VeraConfig": "vera", "LNTuningConfig": "ln-tuning", "AdaptionPromptConfig": "adaption-prompt", "FourierFTConfig": "fourierft",
}  # fmt: skip
_SETTINGS = (
    ("r", "plan.lora_r"),
    ("lora_alpha", "plan.lora_alpha"),
    ("lora_dropout", "plan.lora_dropout"),
    ("target_modules", "plan.lora_targets"),
    ("modules_to_save", "plan.modules_to_save"),
)
# Fields of LoraConfig with one default in all releases of peft.
_DEFAULTS = (("r", "plan.lora_r", 8), ("lora_alpha", "plan.lora_alpha", 8), ("lora_dropout", "plan.lora_dropout", 0))
_HEADS = (("SEQ_CLS", ("classifier", "score")), ("TOKEN_CLS", ("classifier", "score")), ("QUESTION_ANS", ("qa_outputs",)))
_ADAPTERS = ("prefix-tuning", "prompt-tuning", "p-tuning")
_LIBRARIES = frozenset(
    ("torch", "transformers", "peft", "datasets", "accelerate", "numpy", "pandas", "tqdm", "evaluate", "bitsandbytes", "wandb", "fire",
     "typer", "sklearn", "matplotlib", "huggingface_hub", "safetensors", "tokenizers", "typing_extensions", "IPython", "swanlab",
     "tensorboard", "sentencepiece", "einops", "scipy", "jieba", "rouge_chinese", "nltk", "ruamel", "yaml", "rouge", "PIL")
)  # fmt: skip
_NAME = re.compile(r"[\w-]+")
# Classes that are given a model and a configuration, as get_peft_model gives them.
_MODELS = tuple(
    f"PeftModel{task}"
    for task in ("", "ForCausalLM", "ForSeq2SeqLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")
)
_PREPARES = ("prepare_model_for_kbit_training", "prepare_model_for_int8_training")


def read_adapters(reading: Reading) -> None:
    """State the adapters that the script makes; a configuration that is read elsewhere leaves the method open."""
    for call in reading.named("peft", *_KINDS):
        _config(reading, call, _KINDS[call.name.rpartition(".")[2]])
    for call in reading.named("peft", "get_peft_model", "from_pretrained", *_MODELS):
        if "autocast_adapter_dtype" in call.keywords:
            known = reading.value(call, "autocast_adapter_dtype")
            reading.claims.say("plan.autocast_adapter_dtype", known, call.line_of("autocast_adapter_dtype"), call.scope)
    for call in reading.named("peft", "get_peft_config"):
        reading.claims.unknown("plan.method", call.line, call.scope, "a PEFT configuration that is read elsewhere")
    for call in (*reading.named("trl", "get_peft_config"),):
        reading.claims.unknown("plan.method", call.line, call.scope, "a PEFT configuration from the command line")
    for call in reading.named("unsloth", "get_peft_model"):
        _unsloth(reading, call)
    for call in reading.named("peft", *_PREPARES):
        _prepared(reading, call)
    _inputs(reading)


def _config(reading: Reading, call: Call, kind: str) -> None:
    claims = reading.claims
    if kind == "lora":
        for keyword, fact in _SETTINGS:
            _setting(reading, call, keyword, fact)
        for keyword, fact, value in _DEFAULTS:
            if call.whole and keyword not in call.keywords:
                claims.default(fact, value if keyword == "r" else float(value), "default of LoraConfig")
        _saved(reading, call)
        kind_known = _variant(reading, call)
    elif kind in _ADAPTERS:
        kind_known = Known(kind)
    elif kind == "ia3":
        _setting(reading, call, "target_modules", "plan.lora_targets")
        _setting(reading, call, "modules_to_save", "plan.modules_to_save")
        _saved(reading, call)
        kind_known = Known(kind)
    else:
        claims.unknown("plan.method", call.line, call.scope, f"{call.last}, no method that facts know")
        return
    if call.sure:
        claims.say("plan.method", kind_known, call.line, call.scope, "a LoraConfig whose kind is no constant")
    else:
        claims.unknown("plan.method", call.line, call.scope, f"{call.last} under a condition")


def _saved(reading: Reading, call: Call) -> None:
    """What is trained in full beside the adapter where modules_to_save says nothing: the head, by the task (peft/peft_model.py)."""
    task = reading.value(call, "task_type")
    if "modules_to_save" in call.keywords or not call.whole or ("task_type" in call.keywords and task is None):
        return
    named = "" if task is None else task.value.name if isinstance(task.value, Symbol) else str(task.value)
    heads = next((heads for kind, heads in _HEADS if named.endswith(kind)), ())
    if heads:
        reading.claims.say("plan.modules_to_save", Known(heads), call.line, call.scope)
    else:
        reading.claims.default("plan.modules_to_save", (), "default of LoraConfig")


def _setting(reading: Reading, call: Call, keyword: str, fact: str) -> None:
    if keyword not in call.keywords:
        return
    known = reading.value(call, keyword)
    if known is not None and isinstance(known.value, str) and not _NAME.fullmatch(known.value):
        known = None  # a regular expression over names of modules
    reading.claims.say(fact, known, call.line_of(keyword), call.scope)


def _variant(reading: Reading, call: Call) -> Known | None:
    """LoRA, or the kind of it that use_dora or use_rslora asks for."""
    for keyword, kind in (("use_dora", "dora"), ("use_rslora", "rslora")):
        known = reading.value(call, keyword)
        if keyword in call.keywords and known is None:
            return None
        if known is not None and known.value is True:
            return Known(kind, known.default, known.line)
    return Known("lora") if call.whole else None


def _unsloth(reading: Reading, call: Call) -> None:
    """``FastLanguageModel.get_peft_model``, which takes LoraConfig's fields and the checkpointing itself."""
    claims = reading.claims
    for keyword, fact in _SETTINGS:
        _setting(reading, call, keyword, fact)
    if call.sure:
        claims.say("plan.method", _variant(reading, call), call.line, call.scope)
    else:
        claims.unknown("plan.method", call.line, call.scope, "get_peft_model under a condition")
    keyword = "use_gradient_checkpointing"
    known = reading.value(call, keyword)
    if known is not None and known.value in (True, "unsloth", "True") and call.sure:
        claims.say("plan.gradient_checkpointing", Known(True, known.default, known.line), call.line_of(keyword), call.scope)


def _prepared(reading: Reading, call: Call) -> None:
    """prepare_model_for_kbit_training switches checkpointing on, and makes the inputs require gradients, unless told not to."""
    if call.sure:
        reading.claims.state("plan.kbit_preparation", True, call.line, call.scope)
    given = "use_gradient_checkpointing" in call.keywords or len(call.node.args) > 1
    known = reading.value(call, "use_gradient_checkpointing", 1) if given else Known(True)
    if known is not None and known.value is False:
        return
    # It does so for quantized weights alone, which may come quantized out of the repository as well.
    stated = reading.claims.claims
    asked = "plan.quant" in stated or "plan.load_dtype_argument" not in stated
    facts = ("plan.gradient_checkpointing", "plan.input_require_grads")
    for fact in facts:
        if not asked:
            reading.claims.unknown(fact, call.line, call.scope, quiet=True)
        elif known is not None and known.value is True and call.sure:
            reading.claims.say(fact, known, call.line, call.scope)
        else:
            reading.claims.unknown(fact, call.line, call.scope, f"{call.last} under a condition")
    read_checkpointing_kwargs(reading, call)


def read_checkpointing_kwargs(reading: Reading, call: Call) -> None:
    """``gradient_checkpointing_kwargs={"use_reentrant": False}`` of any call that takes it."""
    keyword = "gradient_checkpointing_kwargs"
    if keyword not in call.keywords:
        return
    expression, scope = call.keywords[keyword]
    line = call.line_of(keyword)
    table = reading.evaluator.table(expression, scope)
    if table is None:
        known = reading.of(expression, scope)
        if known is None or known.value is not None:
            reading.claims.unknown(f"plan.{keyword}", line, call.scope)
            reading.claims.unknown("plan.use_reentrant", line, call.scope, f"{keyword}= that is not shown")
        return
    reading.claims.state(f"plan.{keyword}", True, line, call.scope)
    _reentrant(reading, table, line, call)


def _reentrant(reading: Reading, table: Table, line: int, call: Call) -> None:
    if "use_reentrant" in table.entries:
        reading.claims.say("plan.use_reentrant", reading.of(*table.entries["use_reentrant"]), line, call.scope)
    elif not table.whole:
        reading.claims.unknown("plan.use_reentrant", line, call.scope)


def _inputs(reading: Reading) -> None:
    """Whether the inputs of the checkpointed layers are made to require gradients.

    That they are not is said only where nothing of the file comes near it: get_peft_model makes the call itself where
    checkpointing is on already, and so do TRL, unsloth and whatever hooks the file sets.
    """
    said = False
    for call in reading.methods("enable_input_require_grads"):
        said = True
        if call.sure:
            reading.claims.state("plan.input_require_grads", True, call.line, call.scope)
        else:
            reading.claims.unknown("plan.input_require_grads", call.line, call.scope)
    tree = ast.Module(body=reading.source.body, type_ignores=[])
    wrapped = list(reading.named("peft", "get_peft_model"))
    switched = any(reading.methods("gradient_checkpointing_enable"))
    if said or switched or is_near(tree) or any(map(reading.imports, ("trl", "unsloth", "swift", "llamafactory"))):
        return
    if len(wrapped) == 1 and wrapped[0].sure and (not _helpers(reading) or stays_in_sight(tree, wrapped[0].node)):
        reading.claims.state("plan.input_require_grads", False, wrapped[0].line, wrapped[0].scope)


def _helpers(reading: Reading) -> bool:
    """Whether modules of the project itself may be imported: a model may pass through any of them."""
    roots = {name.partition(".")[0] for name, _ in reading.outline.imports}
    return not roots <= (_LIBRARIES | sys.stdlib_module_names)
