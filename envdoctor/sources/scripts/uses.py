"""``plan.code_uses``: what a script imports, calls and sets, in the spellings that rules know.

A name that is imported under a ``try`` that catches its absence, or under a test of a release, is no use that could fail.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from envdoctor.sources.model.class_tree import Function, accepts
from envdoctor.sources.scripts.arguments import arguments_kind
from envdoctor.sources.scripts.names import LOCAL, is_from
from envdoctor.sources.scripts.outline import Guard, Scope
from envdoctor.sources.scripts.reading import Call, Reading
from envdoctor.sources.scripts.steps import environment

# Objects of a package, by the name that it exports them under.
_PACKAGES = {
    "datasets": ("load_dataset", "load_metric"),
    "huggingface_hub": (
        "HfApi", "HfFolder", "InferenceApi", "ModelFilter", "DatasetFilter", "Repository", "cached_download", "hf_hub_download",
        "list_models", "snapshot_download",
    ),
    "peft": ("LoraConfig", "get_peft_model_state_dict"),
    "sentence_transformers": ("SentenceTransformer", "SentenceTransformerTrainer"),
    "transformers": (
        "AutoModelForCausalLM", "AutoTokenizer", "DynamicCache", "LlamaTokenizer", "ShardedDDPOption", "SlidingWindowCache", "Trainer",
        "find_pruneable_heads_and_indices", "prune_linear_layer",
    ),
    "trl": (
        "AutoModelForCausalLMWithValueHead", "BCOTrainer", "CPOTrainer", "DPOConfig", "DPOTrainer", "DataCollatorForCompletionOnlyLM",
        "GKDTrainer", "GRPOConfig", "GRPOTrainer", "KTOTrainer", "ORPOConfig", "ORPOTrainer", "OnlineDPOTrainer", "PPOConfig", "PPOTrainer",
        "RewardTrainer", "SFTConfig", "SFTTrainer", "clone_chat_template", "setup_chat_format",
    ),
}  # fmt: skip
NAMES: dict[str, tuple[str, str]] = {last: (package, last) for package, lasts in _PACKAGES.items() for last in lasts}
# The same, told by the package because others have an object of that name.
NAMES |= {
    f"{package}.{last}": (package.partition(".")[0], last)
    for package, last in (
        ("datasets", "Audio"), ("datasets", "List"), ("datasets", "Sequence"), ("datasets", "load_metric"), ("evaluate", "load"),
        ("torch.optim", "AdamW"), ("transformers", "AdamW"),
    )
}  # fmt: skip
# Modules that are gone or moved: importing anything from them counts.
MODULES = ("transformers.deepspeed", "transformers.integrations.deepspeed")
# ``Callee(keyword)``: the callee is one of NAMES.
KEYWORDS = tuple(
    f"{callee}({keyword})"
    for callee, keywords in {
        "DPOConfig": "beta",
        "DPOTrainer": "beta label_smoothing loss_type max_length max_prompt_length processing_class tokenizer",
        "KTOTrainer": "processing_class",
        "ORPOTrainer": "processing_class",
        "PPOConfig": "kl_coef log_with model_name steps",
        "PPOTrainer": "config",
        "RewardTrainer": "processing_class",
        "SFTConfig": "dataset_text_field",
        "SFTTrainer": "dataset_kwargs dataset_num_proc dataset_text_field max_seq_length packing processing_class",
        "hf_hub_download": "proxies token use_auth_token",
        "load_dataset": "ignore_verifications task token trust_remote_code use_auth_token",
        "Trainer": "compute_metrics preprocess_logits_for_metrics",
        "snapshot_download": "use_auth_token",
    }.items()
    for keyword in keywords.split()
)
# Keywords of downloads from the hub, and of from_pretrained.
HUB_KEYWORDS = ("force_filename", "local_dir", "local_dir_use_symlinks", "resume_download")
LOADING_KEYWORDS = ("attn_implementation", "use_flash_attention_2")
# A trainer that is given arguments of a class.
GIVEN = ("DPOTrainer(DPOConfig)", "DPOTrainer(TrainingArguments)", "SFTTrainer(TrainingArguments)")
# Methods of data sets, told where the script imports datasets.
DATASET_METHODS = ("map", "set_format", "with_format")
ENVIRONMENT = ("HF_HOME", "HF_HUB_ENABLE_HF_TRANSFER")
# A variable of torch's allocator that asks for expandable segments.
ALLOCATOR = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
EXPANDABLE = tuple(f"{name}(expandable_segments)" for name in ALLOCATOR)
SWIFT = {"swift rlhf": "rlhf_main", "swift sft": "sft_main"}
OTHERS = (
    "LoraConfig(bias=all)", "PPOTrainer.step", "Trainer.compute_loss", "get_batch_logps(average_log_prob)", "load_dataset(script)",
    "device_map", "model.state_dict = get_peft_model_state_dict", "safetensors.torch.save_file", "save_pretrained", "use_fast=False",
)  # fmt: skip
# Spellings of rules that no syntax tree shows, and why.
NOT_SHOWN = {
    "load_dataset(json object)": "whether a JSON file holds one object is a matter of the data, not of the script",
    "load_state_dict(zero3)": "whether parameters are divided when weights are loaded into them is settled by what was called before",
    "deepspeed(optimizer of the script)": "a DeepSpeed configuration with an optimizer of its own overrules the script's",
    "deepspeed(train_batch_size)": "the product is that of the configuration with the number of processes of a start",
    "deepspeed(values beside TrainingArguments)": "TrainingArguments are complete when the Trainer has worked out the number of steps",
    "deepspeed(cache flushes)": "how full a GPU gets is told by the log alone",
    "cublasCreate(on a full GPU)": "how full a GPU is when cuBLAS starts is told by the log alone",
    "launcher(ended by signal 9)": "how a process ended is told by its launcher alone",
    "nccl(on a full GPU)": "how full a GPU is when NCCL starts is told by the log alone",
    "mps(out of memory)": "how much of a Mac's memory is taken is told by the log alone",
    "vllm(no memory for the cache)": "what vLLM leaves for its cache is told by the log alone",
    "DefaultCPUAllocator(refused)": "how much of the main memory is taken is told by the log alone",
    "deepspeed(stage3_gather_16bit_weights_on_model_save)": "a run may mean to save in shares: that it did not is told by its log alone",
}

SPELLINGS = frozenset(
    (*NAMES, *MODULES, *KEYWORDS, *HUB_KEYWORDS, *LOADING_KEYWORDS, *GIVEN, *DATASET_METHODS, *ENVIRONMENT, *EXPANDABLE, *SWIFT, *OTHERS)
)

_BY_LAST: dict[str, list[tuple[str, str]]] = {}
for _spelling, (_package, _last) in NAMES.items():
    _BY_LAST.setdefault(_last, []).append((_spelling, _package))
_FORMATS = ("numpy", "torch", "pt", "pytorch", "np", "tensorflow", "tf", "jax")
_NEW_PPO = frozenset(("policy", "reward_model", "value_model", "policy_model", "args"))
_SET = ("1", "on", "yes", "true")


def read_uses(reading: Reading) -> dict[str, int]:
    """The spellings that the script shows, each with the first line that shows it; stated as ``plan.code_uses``."""
    found: dict[str, int] = {}
    for spelling, line in _all(reading):
        found[spelling] = min(line, found.get(spelling, line))
    if found:
        reading.claims.state("plan.code_uses", tuple(sorted(found)), min(found.values()))
    return found


def _all(reading: Reading) -> Iterator[tuple[str, int]]:
    yield from _imported(reading)
    calls = [call for call in reading.calls if not _chosen_by_release(reading, call)]
    for call in calls:
        yield from _called(reading, call)
        yield from _method(reading, call)
    yield from _compute_loss(reading)
    yield from _replaced(reading)
    for name, value, line, _ in environment(reading):
        if name == "HF_HOME" or (name in ENVIRONMENT and value.lower() in _SET):
            yield name, line
        elif name in ALLOCATOR and "expandable_segments:true" in value.lower():
            yield f"{name}(expandable_segments)", line
    for shell in reading.source.shell:
        said = re.match(r"[!%]?\s*(?:[A-Z_]+=\S*\s+)*(swift (?:rlhf|sft))\b", shell.text)
        if said:
            yield said[1], shell.line


# --- names ----------------------------------------------------------------------------------------


def _imported(reading: Reading) -> Iterator[tuple[str, int]]:
    excused: set[str] = set()
    for name, site in reading.outline.imports:
        if reading.evaluator.runs(site.guard) is False:
            continue
        if _may_fail(reading, site.guard):
            excused.add(name)
            continue
        yield from ((spelling, site.line) for spelling in _spelled(name))
        yield from ((module, site.line) for module in MODULES if name == module or name.startswith(f"{module}."))
    for site in reading.outline.names:
        node = site.node
        last = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) and reading.outline.stars else ""
        if last not in _BY_LAST or reading.evaluator.runs(site.guard) is False or _may_fail(reading, site.guard):
            continue
        known = reading.dotted(node, site.scope)
        if known is not None and known not in excused:
            yield from ((spelling, site.line) for spelling in _spelled(known))


def _spelled(name: str) -> Iterator[str]:
    """The spellings of a dotted name; what lies in a package's experimental part is what rules send one to."""
    if ".experimental." in name:
        return
    first, last = name.partition(".")[0], name.rpartition(".")[2]
    yield from (spelling for spelling, package in _BY_LAST.get(last, ()) if package == first)
    if is_from(name, "swift", "rlhf_main") or is_from(name, "swift", "sft_main"):
        yield "swift rlhf" if name.endswith("rlhf_main") else "swift sft"


def _may_fail(reading: Reading, guard: Guard | None) -> bool:
    """Whether a missing name is provided for: a ``try`` around it, or a test of a release or of what is installed."""
    chain: list[Guard] = []
    while guard is not None and guard not in reading.provided:
        chain.append(guard)
        guard = guard.above
    provided = guard is not None and reading.provided[guard]
    for inner in reversed(chain):
        provided = provided or inner.attempt or inner.test is None or _asks_release(reading, inner.test, inner.scope)
        reading.provided[inner] = provided
    return provided


def _asks_release(reading: Reading, test: ast.expr, scope: Scope, depth: int = 0) -> bool:
    for node in ast.walk(test):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if "version" in name.lower() or name == "hasattr" or (name.startswith("is_") and name.endswith("_available")):
            return True
        if isinstance(node, ast.Name) and depth == 0:
            values = [binding.value for binding in reading.outline.module.bindings.get(node.id, []) if binding.value is not None]
            if any(_asks_release(reading, value, scope, 1) for value in values[:3]):
                return True
    return False


def _chosen_by_release(reading: Reading, call: Call) -> bool:
    guard = reading.guards.get(id(call.node))
    return guard is not None and _may_fail(reading, guard)


# --- calls ----------------------------------------------------------------------------------------


def _called(reading: Reading, call: Call) -> Iterator[tuple[str, int]]:
    chain = _kinds(reading, call)
    for callee in chain:
        yield from (
            (spelling, call.line_of(keyword))
            for keyword in call.keywords
            if (spelling := f"{callee}({keyword})") in KEYWORDS and _means_it(spelling, call)
        )
        yield from _given(reading, call, callee)
        if callee == "LoraConfig" and (known := reading.value(call, "bias")) is not None and known.value == "all":
            yield "LoraConfig(bias=all)", call.line_of("bias")
        if callee == "load_dataset" and _is_script(reading, call):
            yield "load_dataset(script)", call.line
    if call.name.startswith("huggingface_hub.") or _is_api(reading, call):
        yield from ((keyword, call.line_of(keyword)) for keyword in HUB_KEYWORDS if keyword in call.keywords)
    if call.last in ("from_pretrained", "from_config"):
        yield from ((keyword, call.line_of(keyword)) for keyword in LOADING_KEYWORDS if keyword in call.keywords)
        placed = reading.value(call, "device_map")
        if placed is not None and placed.value is not None and not placed.default:
            yield "device_map", call.line_of("device_map")
        known = reading.value(call, "use_fast")
        if known is not None and known.value is False and not known.default:
            yield "use_fast=False", call.line_of("use_fast")
    bare = call.whole and "metadata" not in call.keywords and len(call.node.args) < 3
    if call.name == "safetensors.torch.save_file" and bare:
        yield "safetensors.torch.save_file", call.line


def _kinds(reading: Reading, call: Call) -> list[str]:
    """The callee among NAMES, or the class of the file's base among them where it has no constructor of its own."""
    found: list[str] = []
    for name in reading.ancestry(call.name) if call.name else ():
        if name.startswith(LOCAL):
            entry = reading.outline.classes.get(name.removeprefix(f"{LOCAL}."))
            if entry is None or any(isinstance(item, Function) and item.name == "__init__" for item in entry[0].body):
                return []
        found += [spelling for spelling in _spelled(name) if "." not in spelling]
    if not found and _is_api(reading, call):
        found = [call.last]
    return found


def _is_api(reading: Reading, call: Call) -> bool:
    """A method of an HfApi object: ``api.hf_hub_download(...)``."""
    function = call.node.func
    made = reading.made(reading.of(function.value, call.scope)) if isinstance(function, ast.Attribute) else None
    return made is not None and is_from(made.kind, "huggingface_hub", "HfApi")


def _means_it(spelling: str, call: Call) -> bool:
    """PPOTrainer was rewritten: that config= is the old one's is told by what the new one alone takes. ``None`` is as good as nothing."""
    if spelling in ("Trainer(compute_metrics)", "Trainer(preprocess_logits_for_metrics)"):
        expression, _ = call.keywords[spelling[len("Trainer(") : -1]]
        return isinstance(expression, (ast.Name, ast.Attribute, ast.Lambda, ast.Call))
    return spelling != "PPOTrainer(config)" or not (_NEW_PPO & call.keywords.keys())


def _given(reading: Reading, call: Call, callee: str) -> Iterator[tuple[str, int]]:
    """``SFTTrainer(args=TrainingArguments(...))``, through a name or HfArgumentParser as well."""
    if callee not in ("SFTTrainer", "DPOTrainer") or "args" not in call.keywords:
        return
    expression, scope = call.keywords["args"]
    made = reading.made(reading.of(expression, scope))
    kinds = {made.kind} if made is not None else set()
    if made is None and isinstance(expression, ast.Name):
        kinds = reading.evaluator.namespaces.classes(expression.id)
    if len(kinds) != 1:
        return
    kind = next(iter(kinds))
    known = arguments_kind(reading, kind)
    if known == "transformers":
        spelling = f"{callee}(TrainingArguments)"
    else:
        spelling = f"{callee}(DPOConfig)" if reading.is_kind(kind, "trl", "DPOConfig") else ""
    if spelling in GIVEN:
        yield spelling, call.line_of("args")


def _is_script(reading: Reading, call: Call) -> bool:
    known = reading.value(call, "path", 0)
    return known is not None and isinstance(known.value, str) and known.value.endswith(".py") and not known.default


def _method(reading: Reading, call: Call) -> Iterator[tuple[str, int]]:
    function = call.node.func
    if not isinstance(function, ast.Attribute):
        return
    if function.attr == "save_pretrained":
        yield "save_pretrained", call.line
    elif function.attr == "get_batch_logps" and "average_log_prob" in call.keywords and reading.imports("trl"):
        yield "get_batch_logps(average_log_prob)", call.line
    elif function.attr in DATASET_METHODS and reading.imports("datasets"):
        known = reading.value(call, "type", 0)
        if function.attr == "map" or (known is not None and known.value in _FORMATS):
            yield function.attr, call.line
    elif function.attr == "step":
        made = reading.made(reading.of(function.value, call.scope))
        if made is not None and is_from(made.kind, "trl", "PPOTrainer") and ".experimental." not in made.kind:
            yield "PPOTrainer.step", call.line


def _compute_loss(reading: Reading) -> Iterator[tuple[str, int]]:
    """A Trainer of the script's own whose compute_loss does not take num_items_in_batch."""
    for name, (node, _) in reading.outline.classes.items():
        bases = reading.ancestry(f"{LOCAL}.{name}")[1:]
        trains = any(one.partition(".")[0] in ("transformers", "trl") and one.endswith("Trainer") for one in bases)
        for item in node.body:
            if trains and isinstance(item, Function) and item.name == "compute_loss" and not accepts(item, "num_items_in_batch"):
                yield "Trainer.compute_loss", item.lineno


def _replaced(reading: Reading) -> Iterator[tuple[str, int]]:
    """``model.state_dict = (lambda ...: get_peft_model_state_dict(...)).__get__(model)``, as training scripts of 2023 have it."""
    for store in reading.outline.stores:
        if store.key != "state_dict" or store.value is None or reading.evaluator.runs(store.guard) is False:
            continue
        named = (reading.dotted(node, store.scope) for node in ast.walk(store.value) if isinstance(node, (ast.Name, ast.Attribute)))
        if any(is_from(name, "peft", "get_peft_model_state_dict") for name in named):
            yield "model.state_dict = get_peft_model_state_dict", store.line
