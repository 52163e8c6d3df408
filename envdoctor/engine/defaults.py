"""Facts that follow from other facts: what libraries do when a plan leaves something out.

Each function states one default with its source; a derived fact never replaces a stated one (``auto``, which
asks for the default, is none), and where the releases at hand do not determine the default nothing is derived.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from envdoctor.engine.attention import sdpa_releases
from envdoctor.engine.cuda_of_torch import cuda_beside
from envdoctor.engine.fsdp_layers import missing_layers
from envdoctor.engine.loaded_class import type_of_loads
from envdoctor.engine.stored_name import STORED, is_stored_quantized, read_stored_name
from envdoctor.engine.unset import OBJECTIVES, unset, unset_beside, what_runs_it
from envdoctor.facts.fact import Fact, Facts, FactValue, NotUnderstood, Origin
from envdoctor.facts.hub_names import glm_bits, glm_family, glm_type
from envdoctor.facts.published_models import STILL_WITH_CODE, Published, published_model
from envdoctor.facts.published_tokens import list_token_facts
from envdoctor.facts.uses import CODE_USES, WRAPPERS, is_variable
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.facts.vocabulary import TRAINING, UNCLEAR, WHOLE
from envdoctor.records import replace
from envdoctor.sources.machine.hardware import derive_gpu
from envdoctor.world.architectures import bounds as architecture_bounds
from envdoctor.world.architectures import is_never_native, known_types, oldest
from envdoctor.world.torch_builds import variant_cuda
from envdoctor.world.vllm_builds import is_built_from_source

_ADAPTERS = frozenset(("lora", "qlora", "dora", "rslora"))

# How the frameworks whose plans are read are imported.
_MODULES = {"axolotl": "axolotl", "llamafactory": "llamafactory", "ms-swift": "swift", "torchtune": "torchtune"}
_LOADS_TOKENIZER = re.compile(r"transformers(?:\.\w+)*\.\w*Tokenizer(?:Fast)?\.from_pretrained\b")
# What is compiled against torch, and for what else than CUDA it is built.
_BUILT = ("torch", "vllm")
# What the index has for one CUDA: a label of any kind is another build.
_OF_ONE_CUDA = ("autoawq", "onnxruntime-gpu")
_KINDS = ("cpu", "rocm", "xpu")


def derive(facts: Facts) -> Facts:
    """The facts and all that follows from them, in an order in which later defaults may use earlier ones."""
    unclear = facts.value(UNCLEAR)
    blocked = frozenset(unclear if isinstance(unclear, tuple) else ())
    if is_stored_quantized(facts) or (facts.value("plan.load_in_4bit") is True and _is_said_by_hand(facts, "plan.load_in_4bit")):
        blocked -= {"plan.quant"}  # what a script leaves unclear its user may know
    facts = _beside_variables(facts)
    for step in _STEPS:
        found: dict[str, Fact] = {}
        for fact in step(facts):
            before = found.get(fact.name) or facts.by_name.get(fact.name)
            if fact.name not in blocked and (before is None or before.value == "auto"):
                found[fact.name] = fact
        if found:
            facts = facts.with_facts(found.values())
    return facts


SWAYED: dict[str, frozenset[str]] = {
    "transformers": frozenset(("plan.load_dtype", "plan.optimizer", "plan.attn", "model.remote_code")),
    "torch": frozenset(("plan.optimizer", "plan.attn", "cuda", "accelerator", "builds")),
    **dict.fromkeys(("vllm", *_OF_ONE_CUDA), frozenset(("builds",))),
}
"""The facts that a package's release decides, where nobody states them."""


def bounds(facts: Facts) -> dict[str, tuple[str, ...]]:
    """The version conditions on which a default turns, by package.

    Two releases that none of them tells apart lead to the same derived facts.
    """
    sdpa = sdpa_releases(facts.text("model.type") or "")
    known = architecture_bounds(facts.text("model.type"), facts.text("model.tokenizer_class"))
    return {
        "transformers": ("<4.32", "<=4.48.3", "<4.50", "<4.54", "<5", *(sdpa[1] if sdpa else ()), *known),
        "torch": ("<2.1.1", "<2.8"),
    }


# Made again for every set of pins that is looked at. True and 1 are not one value.
@lru_cache(maxsize=4096, typed=True)
def _fact(name: str, value: FactValue, why: str) -> Fact:
    return Fact(name, value, Origin(why))


def _release(facts: Facts, package: str) -> Exact | None:
    value = facts.value(f"packages.{package}")
    return value if isinstance(value, Exact) else None


def _within(facts: Facts, package: str, spec: str) -> bool:
    release = _release(facts, package)
    return release is not None and version_condition(spec).admits(release)


def _default_of(facts: Facts, package: str) -> str:
    return f"default of {package} {_release(facts, package)}"


def _gpu(facts: Facts) -> Iterator[Fact]:
    """A known GPU name tells its capability and memory; a named NVIDIA GPU implies CUDA."""
    name = facts.text("gpu.name")
    if name is not None:
        yield from derive_gpu(name, Origin(f"known GPU {name}"))
    if facts.value("gpu.compute_capability") is not None:
        yield _fact("accelerator", "cuda", "a compute capability is an NVIDIA GPU's")


def _cuda_build(facts: Facts) -> Iterator[Fact]:
    """The build of torch says what computes when no GPU was stated: one for CUDA or ROCm is meant for such a GPU."""
    torch = _release(facts, "torch")
    if torch is None:
        return
    label = torch.text.partition("+")[2].lower()
    cuda = variant_cuda(label)
    if cuda is not None:
        yield _fact("cuda", exact(cuda), f"label of torch {torch}")
    elif (beside := cuda_beside(facts, torch)) is not None:
        yield _fact("cuda", exact(beside[0]), f"{beside[1]} beside torch {torch}")
    builds = facts.value("builds")
    of_index = next((one[6:] for one in builds if one.startswith("torch+")), "") if isinstance(builds, tuple) and not label else ""
    if kind := next((kind for kind in _KINDS if (label or of_index).startswith(kind)), None):
        yield _fact("accelerator", kind, f"label of torch {torch}" if label else "the index that torch is from")
    elif cuda is not None or (not label and facts.value("cuda") is not None):
        yield _fact("accelerator", "cuda", f"CUDA build of torch {torch}")


def _builds(facts: Facts) -> Iterator[Fact]:
    """A label of a release that names no CUDA: builds for a CPU, for other accelerators, or from source; of torch also for CUDA 11 or 13.

    On Windows and macOS torch brings its libraries itself and loads none of NVIDIA's packages (their requirement is marked for Linux).
    """
    releases = {name: release for name in _BUILT if (release := _release(facts, name)) is not None}
    labels = {name: release.text.partition("+")[2].lower() for name, release in releases.items()}
    other = [
        f"{name}+{next((kind for kind in _KINDS if label.startswith(kind)), 'own')}"
        for name, label in labels.items()
        if label and (variant_cuda(label) is None or (name == "vllm" and is_built_from_source(releases[name])))
    ]
    other += [f"{name}+own" for name in _OF_ONE_CUDA if (release := _release(facts, name)) is not None and "+" in release.text]
    if "torch" in labels:
        cuda, system = facts.value("cuda"), facts.text("os")
        major = cuda.text.partition(".")[0] if isinstance(cuda, Exact) else "12"
        other += [f"torch+cu{major}"] if major != "12" else []
        other += [f"torch+{system}"] if system in ("windows", "macos") else []
    if other:
        yield _fact("builds", tuple(other), "labels of releases, and the CUDA and the system that are stated")


def _loaded(facts: Facts) -> Iterator[Fact]:
    """A framework that runs a plan loads itself, and what it imports: nothing that nobody named."""
    module = _MODULES.get(facts.text("plan.trainer") or "")
    if module is not None and "plan.script" not in facts and CODE_USES not in facts:
        yield _fact("plan.script", True, f"{module} runs the plan")
        yield _fact(CODE_USES, (module,), f"{module} runs the plan")


def _beside_variables(facts: Facts) -> Facts:
    """The facts with the framework that runs a plan, where all that is said of the code is which variables are set, or what wraps it."""
    module, uses = _MODULES.get(facts.text("plan.trainer") or ""), facts.by_name.get(CODE_USES)
    if module is None or uses is None or "plan.script" in facts or not isinstance(uses.value, tuple):
        return facts
    if not all(is_variable(use) or use in WRAPPERS for use in uses.value):
        return facts
    why = f"{module} runs the plan"
    places = (*uses.places, Origin(why)) if uses.places else ()
    return facts.with_facts([replace(uses, value=(*uses.value, module), places=places), _fact("plan.script", True, why)])


def _goal(facts: Facts) -> Iterator[Fact]:
    """Methods that say what the loss is of, and not what is trained."""
    method = facts.text("plan.method")
    if method in OBJECTIVES:
        yield _fact("plan.objective", method, f"plan.method = {method}")


def _model(facts: Facts) -> Iterator[Fact]:
    """What a repository's name says, where the family cannot be read from a snapshot."""
    stated = facts.text("model.type")
    if stated not in (None, "chatglm"):
        published = published_model(facts.text("model.id") or "")
        for fact, value in published.facts() if published is not None and published.type == stated else ():
            yield _fact(fact, value, "the model's name")
        return
    family = glm_family(facts.text("model.id") or "")
    if family is not None:
        yield _fact("model.family", family, "the model's name")
        yield _fact("model.type", "chatglm", "the model's name")
        if (bits := glm_bits(facts.text("model.id") or "")) is not None:
            yield _fact("model.quant_method", bits, "the model's name")
        return
    name = facts.text("model.id") or ""
    kind = glm_type(name)
    published = Published(kind, plain=True) if kind is not None else published_model(name)
    if published is not None:
        for fact, value in (*published.facts(), *list_token_facts(name, published.type)):
            yield _fact(fact, value, "the model's name")
        return
    uses = facts.value("plan.code_uses")
    if isinstance(uses, tuple) and (loaded := type_of_loads(uses)) is not None:
        yield _fact("model.type", loaded, "the class that the script loads")


def _remote(facts: Facts) -> Iterator[Fact]:
    """A model of a type for which no transformers has a class runs the snapshot's own code."""
    kind = facts.text("model.type")
    if kind is not None and is_never_native(kind):
        yield _fact("model.remote_code", True, f"no release of transformers knows model_type {kind}")
    published, release = published_model(facts.text("model.id") or ""), _release(facts, "transformers")
    if (
        published is None
        or published.type not in STILL_WITH_CODE
        or release is None
        or not version_condition(f">={oldest()}").admits(release)
    ):
        return
    if published.type == kind and kind not in known_types(release):
        yield _fact("model.remote_code", True, f"transformers {release} knows no model_type {kind}")


def _untrusted(facts: Facts) -> Iterator[Fact]:
    """A script that loads with from_pretrained, shows all its arguments and nothing else, and asks for no code of the snapshot's."""
    if facts.value("plan.script") is True and facts.value("plan.quantization_config") is not None:
        yield _fact("plan.trust_remote_code", False, "default of from_pretrained")


# They ask for a dtype whatever the plan says: LLaMA-Factory's src/llamafactory/model/{patcher,loader}.py, axolotl's
# src/axolotl/loaders/model.py, and get_model_tokenizer_from_repo of ms-swift.
ASK_FOR_A_DTYPE = ("llamafactory", "axolotl", "ms-swift")
_PROGRAMS = (".py", ".ipynb", ".sh", ".bash", ".slurm", ".sbatch", ".zsh", ".ksh")


def _quantization(facts: Facts) -> Iterator[Fact]:
    if facts.value("plan.load_in_4bit") is True:
        yield _fact("plan.quant", "4bit", "load_in_4bit")
    if facts.value("plan.load_in_8bit") is True:
        yield _fact("plan.quant", "8bit", "load_in_8bit")
    if facts.text("plan.method") == "qlora":
        yield _fact("plan.quant", "4bit", "QLoRA is LoRA on a 4-bit base")
    stored = facts.text("model.quant_method")
    if stored in STORED:
        yield _fact("plan.quant", stored, "quantization_config of the snapshot")
    elif stored is None and facts.value("model.path") is not None and facts.value("model.type") is not None:
        stored = "none"
        yield _fact("model.quant_method", stored, "no quantization_config in the snapshot")
    if facts.value("model.type") is None or stored not in (None, "none"):
        return
    asked = [facts.value(f"plan.{name}") for name in ("quantization_config", "load_in_4bit", "load_in_8bit")]
    plain = asked == [False] * 3 or (asked in ([None, False, None], [None, False, False]) and _is_said_by_hand(facts, "plan.load_in_4bit"))
    if (_says_how_it_loads(facts) and asked[0] is not True) or plain:
        yield _fact("plan.quant", "none", "default of from_pretrained")


def _is_said_by_hand(facts: Facts, name: str) -> bool:
    """Whether a person states a fact, and not a program that may do more than its reader can follow."""
    fact = facts.get(name)
    return fact is not None and fact.origin.file is not None and not fact.origin.file.endswith(_PROGRAMS)


def _says_how_it_loads(facts: Facts) -> bool:
    """Whether the plan is a file of settings, in which a model that is not said to be quantized is not.

    A script or a launcher leaves out what it does in a way that a reader cannot follow; what it surely does, it states.
    """
    arguments = facts.get("plan.arguments")
    return arguments is not None and not (arguments.origin.file or "").endswith(_PROGRAMS)


def _deepspeed(facts: Facts) -> Iterator[Fact]:
    """ZeRO is DeepSpeed's; a run that shares its work in another way has no DeepSpeed configuration."""
    shared = facts.text("plan.distributed")
    if shared is not None and (shared.startswith("zero") or shared in ("none", "ddp", "dp", "fsdp", "device_map")):
        yield _fact("plan.deepspeed", shared.startswith("zero"), f"plan.distributed = {shared}")


def _loading(facts: Facts) -> Iterator[Fact]:
    """The dtype of a model loaded without a dtype argument.

    transformers < 5 loads native models as float32; from 5.0.0 on as the checkpoint is stored. ChatGLM
    remote code makes its layers in config.torch_dtype up to 4.48.3 and is loaded as float32 from 4.50.0
    on (4.49.0 fails). Executed on tiny models with the releases named.
    """
    remote_glm = facts.text("model.type") == "chatglm"
    stored = facts.text("model.config_dtype") or facts.text("model.dtype")
    asked = facts.get("plan.load_dtype")
    if asked is not None and asked.value == "auto" and stored not in (None, "auto"):
        origin = Origin(f"{asked.origin.source}: auto, as the model is stored", asked.origin.file, asked.origin.line)
        yield Fact("plan.load_dtype", stored, origin)
    if asked is not None:
        return
    argument = facts.value("plan.load_dtype_argument")
    plain = facts.value(WHOLE) is True and facts.text("plan.trainer") == "transformers"
    if argument is None and (plain or (_says_how_it_loads(facts) and facts.text("plan.trainer") not in ASK_FOR_A_DTYPE)):
        yield _fact("plan.load_dtype_argument", "none", "no dtype in the plan")
    elif argument is None and remote_glm and facts.text("plan.trainer") in ASK_FOR_A_DTYPE:
        yield from _loaded_by_llama_factory(facts, stored)
        return
    elif argument != "none" and not (argument is None and remote_glm):
        return
    why = _default_of(facts, "transformers")
    if remote_glm and _within(facts, "transformers", "<=4.48.3") and stored is not None:
        yield _fact("plan.load_dtype", stored, f"{why} for ChatGLM remote code")
    if remote_glm and _within(facts, "transformers", ">=4.50.0,<5"):
        yield _fact("plan.load_dtype", "float32", f"{why} for ChatGLM remote code")
    if not remote_glm and facts.value("model.remote_code") is False and _within(facts, "transformers", "<5"):
        yield _fact("plan.load_dtype", "float32", why)
    if not remote_glm and _within(facts, "transformers", ">=5") and stored is not None:
        yield _fact("plan.load_dtype", stored, why)


def _loaded_by_llama_factory(facts: Facts, stored: str | None) -> Iterator[Fact]:
    """The dtype that it asks for: that of the training, else that of the checkpoint; under ZeRO-3 and FSDP none (parser.py, patcher.py)."""
    shared = facts.text("plan.distributed") or ""
    if facts.text("plan.trainer") != "llamafactory" or shared == "zero3" or shared.startswith("fsdp"):
        return
    trained = next((kind for name, kind in (("bf16", "bfloat16"), ("fp16", "float16")) if facts.value(f"plan.{name}") is True), stored)
    if trained is not None:
        yield _fact("plan.load_dtype", trained, "LLaMA-Factory asks for it")


def _optimizer(facts: Facts) -> Iterator[Fact]:
    """TrainingArguments' optimizer; epsilon 1e-8.

    transformers' own AdamW up to 4.31.0, adamw_torch from 4.32.0 on, and from 4.54.0 with torch 2.8 on the fused
    one: default_optim in training_args.py of the released wheels.
    """
    if facts.text("plan.method") not in TRAINING or _release(facts, "transformers") is None:
        return
    why = _default_of(facts, "transformers")
    if _within(facts, "transformers", "<4.32"):
        yield _fact("plan.optimizer", "adamw_hf", why)
    elif _within(facts, "transformers", "<4.54") or (_within(facts, "transformers", ">=4.54") and _within(facts, "torch", "<2.8")):
        yield _fact("plan.optimizer", "adamw_torch", why)
    elif _within(facts, "torch", ">=2.8"):
        yield _fact("plan.optimizer", "adamw_torch_fused", f"{why} with torch {_release(facts, 'torch')}")
    yield _fact("plan.optimizer_eps", 1e-8, why)


# modeling_chatglm.py of these repositories calls scaled_dot_product_attention by itself from torch 2.0 on; the later GLM-4 ones where
# transformers takes sdpa for them. The first ChatGLM does neither.
_GLM_WITH_SDPA = ("chatglm2", "chatglm3", "glm-4")


def _attention(facts: Facts) -> Iterator[Fact]:
    """transformers uses torch's sdpa where the model class supports it and torch is 2.1.1 or later, else eager.

    Which release first marked which model type is read from the released wheels (data/sdpa.json).
    """
    model_type = facts.text("model.type")
    transformers, torch = _release(facts, "transformers"), _release(facts, "torch")
    if facts.text("model.family") in _GLM_WITH_SDPA and _within(facts, "torch", ">=2.1.1"):
        yield _fact("plan.attn", "sdpa", f"the code of {facts.text('model.family')} with torch {torch}")
    if model_type is None or transformers is None or torch is None or facts.value("model.remote_code") is True:
        return
    taken = sdpa_releases(model_type)
    if taken is None:
        return
    sdpa = _within(facts, "transformers", taken[0]) and _within(facts, "torch", ">=2.1.1")
    yield _fact("plan.attn", "sdpa" if sdpa else "eager", _default_of(facts, "transformers"))


def _batches(facts: Facts) -> Iterator[Fact]:
    """More than one row in a batch means a padding mask, unless rows are packed."""
    rows = facts.value("plan.batch_size")
    packed = facts.value("plan.packing") is True
    if isinstance(rows, int) and not isinstance(facts.value("plan.packing"), NotUnderstood):
        evaluated = facts.value("plan.eval_batch_size") if facts.value("plan.evaluate") is not False else 1
        most = max(rows, evaluated) if isinstance(evaluated, int) else rows
        yield _fact("plan.padding", most > 1 and not packed, "rows packed" if packed else f"{most} row{'s' if most > 1 else ''} in a batch")


def _work(facts: Facts) -> Iterator[Fact]:
    """What a run does: it tokenizes text, saves what it trained, and generates when it infers or evaluates by generating."""
    method = facts.text("plan.method")
    uses = facts.value(CODE_USES)
    if isinstance(uses, tuple) and any(_LOADS_TOKENIZER.match(str(use)) for use in uses):
        yield _fact("plan.tokenize", True, "a script that loads a tokenizer")
    if method is None:
        return
    yield _fact("plan.tokenize", True, f"a run of {method} tokenizes text")
    if method in TRAINING:
        yield _fact("plan.save", True, f"a run of {method} saves what it trained")
    if method == "inference":
        yield _fact("plan.generate", True, "inference generates")
    elif isinstance(generates := facts.value("plan.predict_with_generate"), bool):
        yield _fact("plan.generate", generates, "predict_with_generate")
    # peft has the argument from 0.12.0 on.
    if method in _ADAPTERS and _within(facts, "peft", ">=0.12"):
        yield _fact("plan.autocast_adapter_dtype", True, _default_of(facts, "peft"))


_STEPS: tuple[Callable[[Facts], Iterator[Fact]], ...] = (
    _gpu, _cuda_build, _builds, _model, read_stored_name, _remote, _untrusted, _quantization, _deepspeed, what_runs_it, _loaded, _goal,
    unset, missing_layers, unset_beside, _loading, _optimizer, _attention, _batches, _work,
)  # fmt: skip
