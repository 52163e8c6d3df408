"""What a script asks of ``from_pretrained``: dtype, quantization, attention, device map; and ``.half()`` behind it."""

from __future__ import annotations

import ast
import re

from envdoctor.records import replace
from envdoctor.sources.scripts.claims import ABSENT
from envdoctor.sources.scripts.kinds import Known, Table
from envdoctor.sources.scripts.named_models import say_model
from envdoctor.sources.scripts.names import LOCAL
from envdoctor.sources.scripts.reading import Call, Reading

_CLASS = re.compile(
    r"Auto(?:Liger)?(?:Kernel)?Model(?:For\w+|With\w+)?|\w+For(?:CausalLM|ConditionalGeneration|Seq2SeqLM|SequenceClassification|"
    r"TokenClassification|QuestionAnswering|MaskedLM|ImageTextToText|Vision2Seq|PreTraining)(?:WithValueHead)?|\w+LMHeadModel|\w+Model"
)
# Other libraries' models, adapters of a base model, and models that are no language model's.
_ELSEWHERE = frozenset(
    ("peft", "diffusers", "sentence_transformers", "unsloth", "timm", "open_clip", "datasets", "ipex_llm", "bigdl", "optimum",
     "intel_extension_for_transformers", "mlx_lm", "ctransformers")
)  # fmt: skip
# Whose from_pretrained hands its keywords to transformers; a class of the file or of the project mostly derives from theirs.
_OF_TRANSFORMERS = frozenset(("transformers", "trl", LOCAL, ""))
_OTHER = re.compile(r"TF|Flax|AutoPeft|CLIP|ControlNet|ViT|Siglip|UNet|Peft")
# What a model is called that stands beside the one that is trained.
_BESIDE = re.compile(r"(?:^|_)(?:ref|reference|teacher|draft|judge)(?:_|$)")
# Methods that hand the same model on.
_PASSES_ON = frozenset(("cuda", "eval", "train", "cpu", "to", "half", "float", "bfloat16", "requires_grad_", "tie_weights", "quantize"))
_CASTS = {"half": "float16", "float": "float32", "bfloat16": "bfloat16", "double": "float64"}
_QUANTIZERS = {
    "GPTQConfig": "gptq", "AwqConfig": "awq", "HqqConfig": "hqq", "AqlmConfig": "aqlm", "TorchAoConfig": "torchao",
    "FineGrainedFP8Config": "fp8", "FbgemmFp8Config": "fp8", "Mxfp4Config": "mxfp4",
}  # fmt: skip
# Facts that a load may leave to a default.
_CHOSEN = ("plan.load_dtype", "plan.quant", "plan.attn")
ASKED_OF_LOADS = frozenset((*_CHOSEN, "plan.load_dtype_argument", "plan.double_quant", "plan.load_in_4bit", "plan.load_in_8bit"))
"""Facts that a load of the model decides, also where it leaves them out."""
OF_QUANTIZING = ("plan.quantization_config", "plan.load_in_4bit", "plan.load_in_8bit")
"""Arguments of a load by which weights are quantized; where each is left out, they are taken as they are stored."""
_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")


def read_loading(reading: Reading) -> list[Call]:
    """State what the loads of a language model say; the calls themselves."""
    loads = reading.few([call for call in reading.calls if _is_load(reading, call) and not _BESIDE.search(_target(reading, call))])
    silent: list[tuple[str, Call]] = []
    for call in loads:
        say_model(reading, call, "pretrained_model_name_or_path")
        before = {fact: len(reading.claims.claims.get(fact, ())) for fact in _CHOSEN}
        _load(reading, call)
        if "AutoLigerKernelFor" in call.name:
            reading.claims.state("plan.liger", True, call.line, call.scope)
        silent += ((fact, call) for fact in _CHOSEN if len(reading.claims.claims.get(fact, ())) == before[fact])
    # What one load asks for and another leaves out is not one plan.
    for fact, call in silent:
        if fact in reading.claims.claims:
            reading.claims.unknown(fact, call.line, call.scope, ABSENT)
    _placement(reading, loads)
    for call in reading.named("unsloth", "from_pretrained"):
        _unsloth(reading, call)
    for call in reading.named("auto_gptq", "from_quantized"):
        reading.claims.state("plan.quant", "gptq", call.line, call.scope)
        say_model(reading, call, "model_name_or_path")
    _later_casts(reading, loads)
    _remote(reading)
    return loads


def _is_load(reading: Reading, call: Call) -> bool:
    parts = call.name.split(".")
    if len(parts) < 2 or parts[-1] != "from_pretrained" or parts[0] in _ELSEWHERE:
        return False
    owner = parts[-2] if parts[0] != LOCAL else ""
    if parts[0] == LOCAL:
        owner = next((one.rpartition(".")[2] for one in reading.ancestry(f"{LOCAL}.{parts[-2]}") if not one.startswith(LOCAL)), "")
    return bool(_CLASS.fullmatch(owner)) and not _OTHER.match(owner)


def _target(reading: Reading, call: Call) -> str:
    """The name that a load is given, or the attribute: ``ref_model`` of ``self.ref_model = ...``."""
    parent = reading.outline.parents.get(id((_chain(reading, call.node) or [call.node])[-1]))
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    return target.id.lower() if isinstance(target, ast.Name) else target.attr.lower() if isinstance(target, ast.Attribute) else ""


def _load(reading: Reading, call: Call) -> None:
    claims, scope = reading.claims, call.scope
    stated_dtype = _dtype(reading, call)
    cast = _cast_behind(reading, call) if call.at is None else None
    if cast is not None:
        claims.say("plan.load_dtype", cast, call.line, scope, "a cast to what is no constant")
    elif stated_dtype is not None:
        keyword = stated_dtype
        claims.say("plan.load_dtype", reading.value(call, keyword), call.line_of(keyword), scope, f"{keyword}= of no constant value")
    elif not call.whole:
        claims.unknown("plan.load_dtype", call.line, scope, "keywords from a ** that is not known")
    _quantization(reading, call)
    _attention(reading, call)
    if "config" in call.keywords:
        # A path is read with the other arguments of the call; an object stays what it is.
        given = reading.value(call, "config")
        is_path = given is not None and (given.value is None or isinstance(given.value, str))
        claims.state("plan.passes_config", not is_path, call.line_of("config"), scope)
    elif call.whole:
        claims.state("plan.passes_config", False, call.line, scope)
    if "use_cache" in call.keywords:
        claims.say("plan.use_cache", reading.value(call, "use_cache"), call.line_of("use_cache"), scope)


def _placement(reading: Reading, loads: list[Call]) -> None:
    """A device map that places layers by itself, where every load of the script has one."""
    maps = [reading.value(call, "device_map") for call in loads]
    for call, placed in zip(loads, maps, strict=True):
        places = _written_map(reading, call)
        if len(loads) == 1 and {"cpu", "disk"} & places and len(places) > 1:
            line = call.line_of("device_map")
            reading.claims.state("plan.distributed", "device_map", line, call.scope)
            reading.claims.state("plan.offload", "parameters", line, call.scope)
        if placed is not None and placed.value in _MAPS:
            known = Known("device_map", placed.default, placed.line)
            reading.claims.say("plan.distributed", known, call.line_of("device_map"), call.scope)
        elif any(other is not None and other.value in _MAPS for other in maps):
            reading.claims.unknown("plan.distributed", call.line, call.scope, quiet=True)


def _written_map(reading: Reading, call: Call) -> set[object]:
    """The places that a device map of one's own names; none where one of them is not shown."""
    table = reading.evaluator.table(*call.keywords["device_map"]) if "device_map" in call.keywords else None
    known = [reading.of(*entry) for entry in table.entries.values()] if table is not None and table.whole else []
    return set() if None in known else {one.value for one in known if one is not None}


def _dtype(reading: Reading, call: Call) -> str | None:
    """The keyword that gives a dtype; its fact is stated on the way, where it is transformers that takes it."""
    keyword = next((name for name in ("torch_dtype", "dtype") if name in call.keywords), None)
    given = reading.value(call, keyword) if keyword else None
    elsewhere = call.at is None and call.name.partition(".")[0] not in _OF_TRANSFORMERS
    if keyword and (given is None or given.value is not None):
        if not elsewhere:
            reading.claims.state("plan.load_dtype_argument", keyword, call.line_of(keyword), call.scope)
        return keyword
    if elsewhere:
        return None
    if call.whole:
        reading.claims.state("plan.load_dtype_argument", "none", call.line, call.scope)
    else:
        reading.claims.unknown("plan.load_dtype_argument", call.line, call.scope)
    return None


def _quantization(reading: Reading, call: Call) -> None:
    claims, scope = reading.claims, call.scope
    for bits in ("4bit", "8bit"):
        keyword = f"load_in_{bits}"
        known = reading.value(call, keyword)
        if keyword in call.keywords:
            claims.say(f"plan.{keyword}", known, call.line_of(keyword), scope)
            if known is None:
                claims.unknown("plan.quant", call.line_of(keyword), scope, f"{keyword}= of no constant value")
            elif known.value is True:
                claims.say("plan.quant", Known(bits, known.default, known.line), call.line_of(keyword), scope)
        elif call.whole:
            claims.state(f"plan.{keyword}", False, call.line, scope)
    if "quantization_config" in call.keywords:
        known = reading.value(call, "quantization_config")
        line = call.line_of("quantization_config")
        claims.say("plan.quantization_config", _presence(known), line, scope, "quantization_config= that is not shown")
        if known is None or known.value is not None:
            _from_config(reading, known, line, call)
    elif call.whole:
        claims.state("plan.quantization_config", False, call.line, scope)
    else:
        claims.unknown("plan.quant", call.line, scope, "keywords from a ** that is not known")


def _presence(known: Known | None) -> Known | None:
    """Whether a configuration is given: an unknown one may be None."""
    return None if known is None else Known(known.value is not None, known.default, known.line)


def _from_config(reading: Reading, known: Known | None, line: int, call: Call) -> None:
    """What a quantization_config asks for."""
    claims = reading.claims
    made = reading.made(known)
    if made is None:
        claims.unknown("plan.quant", line, call.scope, "quantization_config= that is not shown")
        return
    last = made.kind.rpartition(".")[2]
    if last in _QUANTIZERS:
        claims.state("plan.quant", _QUANTIZERS[last], line, call.scope)
        return
    if last != "BitsAndBytesConfig":
        claims.unknown("plan.quant", line, call.scope, f"quantization_config= of a {last}")
        return
    given = reading.evaluator.keywords(made.call, made.scope)
    keywords, whole = given.entries, given.whole
    asked = {bits: reading.of(*keywords[f"load_in_{bits}"]) for bits in ("4bit", "8bit") if f"load_in_{bits}" in keywords}
    on = [bits for bits, value in asked.items() if value is not None and value.value is True]
    if len(on) == 1 and whole and all(value is not None for value in asked.values()):
        value = asked[on[0]]
        assert value is not None
        claims.say("plan.quant", Known(on[0], value.default, value.line), line, call.scope)
        if "bnb_4bit_use_double_quant" in keywords:
            claims.say("plan.double_quant", reading.of(*keywords["bnb_4bit_use_double_quant"]), line, call.scope, "no constant")
    else:
        claims.unknown("plan.quant", line, call.scope, "a BitsAndBytesConfig whose bits are no constant")


def _attention(reading: Reading, call: Call) -> None:
    for keyword in ("attn_implementation", "_attn_implementation"):
        if keyword in call.keywords:
            reading.claims.say(
                "plan.attn", reading.value(call, keyword), call.line_of(keyword), call.scope, f"{keyword}= of no constant value"
            )
            return
    known = reading.value(call, "use_flash_attention_2")
    line = call.line_of("use_flash_attention_2")
    if known is not None and known.value is True:
        reading.claims.say("plan.attn", Known("flash_attention_2", known.default, known.line), line, call.scope)
    elif known is None and "use_flash_attention_2" in call.keywords:
        reading.claims.unknown("plan.attn", line, call.scope, "use_flash_attention_2= of no constant value")
    elif not call.whole:
        reading.claims.unknown("plan.attn", call.line, call.scope, "keywords from a ** that is not known")


def _chain(reading: Reading, node: ast.AST) -> list[ast.Call]:
    """Calls of methods on the very result of a call: ``X.from_pretrained(...).half().cuda()``."""
    chain: list[ast.Call] = []
    while True:
        attribute = reading.outline.parents.get(id(node))
        above = reading.outline.parents.get(id(attribute)) if isinstance(attribute, ast.Attribute) else None
        if not isinstance(above, ast.Call) or above.func is not attribute or not isinstance(attribute, ast.Attribute):
            return chain
        if attribute.attr not in _PASSES_ON:
            return chain
        chain.append(above)
        node = above


def _cast_behind(reading: Reading, call: Call) -> Known | None:
    """The last cast chained behind a load."""
    last: Known | None = None
    for node in _chain(reading, call.node):
        cast = _cast(reading, node, call)
        last = cast or last
    return last


def _cast(reading: Reading, node: ast.Call, call: Call) -> Known | None:
    function = node.func
    assert isinstance(function, ast.Attribute)
    if function.attr in _CASTS and not node.args:
        return Known(_CASTS[function.attr])
    if function.attr != "to":
        return None
    for item in (*node.args, *(word.value for word in node.keywords if word.arg == "dtype")):
        known = reading.of(item, call.scope)
        if known is not None and isinstance(known.value, str) and known.value.startswith("torch."):
            return known
    return None


def _later_casts(reading: Reading, loads: list[Call]) -> None:
    """``model = model.half()`` as a statement of its own, on a name that a load was given."""
    names: dict[str, list[Call]] = {}
    for load in loads:
        node: ast.AST = (_chain(reading, load.node) or [load.node])[-1]
        parent = reading.outline.parents.get(id(node))
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
            names.setdefault(parent.targets[0].id, []).append(load)
    for call in reading.methods(*_CASTS, "to"):
        receiver = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
        given = names.get(receiver.id, []) if isinstance(receiver, ast.Name) else []
        # Another scope has another model of that name, and what is cast after the training is another run.
        given = [load for load in given if load.scope is call.scope and load.line < call.line]
        if not given or call.line > reading.claims.training.get(call.scope, call.line):
            continue
        known = _cast(reading, call.node, call)
        if known is None:
            continue
        if call.sure and len(given) == 1:
            rows = reading.claims.claims.get("plan.load_dtype", [])
            rows[:] = [row for row in rows if row.scope is not call.scope]
            reading.claims.say("plan.load_dtype", known, call.line, call.scope)
        else:
            reading.claims.unknown("plan.load_dtype", call.line, call.scope, f"{call.last}() under a condition")


def _remote(reading: Reading) -> None:
    """trust_remote_code= of any load, of the tokenizer too: one True is enough."""
    keyword = "trust_remote_code"
    said = [(call, reading.value(call, keyword)) for call in reading.methods("from_pretrained") if keyword in call.keywords]
    on = [(call, known) for call, known in said if known is not None and known.value is True]
    for call, known in on[:1] or said:
        reading.claims.say("plan.trust_remote_code", known, call.line_of(keyword), None)


def _unsloth(reading: Reading, call: Call) -> None:
    """``FastLanguageModel.from_pretrained``: 4-bit unless told otherwise (unsloth/models/loader.py)."""
    claims, scope = reading.claims, call.scope
    say_model(reading, call, "model_name")
    for keyword, position, fact in (("max_seq_length", 1, "plan.seq_len"), ("dtype", 2, "plan.load_dtype")):
        if keyword in call.keywords or position < len(call.node.args):
            claims.say(fact, reading.value(call, keyword, position), call.line_of(keyword), scope, f"{keyword}= of no constant value")
    bits = reading.value(call, "load_in_4bit", 3)
    if bits is not None and bits.value is True:
        claims.say("plan.quant", Known("4bit", bits.default, bits.line), call.line_of("load_in_4bit"), scope)
    _attention(reading, call)


def read_model_kwargs(reading: Reading, table: Table, call: Call, line: int) -> None:
    """``model_init_kwargs`` of TRL's configurations: keywords of a from_pretrained that the trainer calls."""
    _load(reading, replace(call, keywords=table.entries, whole=table.whole, at=line))
