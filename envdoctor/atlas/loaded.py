"""Which packages a script's imports lead to, in whatever releases: what they never reach, the script does not load."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from envdoctor.atlas.binding import Bound
from envdoctor.atlas.breaks import followed, takes_of
from envdoctor.atlas.distributions import distributions_of, top_of
from envdoctor.atlas.guards import NEVER
from envdoctor.atlas.shelf import package_names
from envdoctor.atlas.takes import Takes
from envdoctor.atlas.volume import Volume
from envdoctor.facts.vocabulary import CONFIG, MODEL, TRAINER
from envdoctor.world.dependencies import dependencies

# Packages that the atlas does not have, and that load none of those that it has, but for arrays, tables and pictures.
_PLAIN = frozenset(
    ("IPython", "bs4", "colorama", "cv2", "dateutil", "dotenv", "faiss", "fire", "fitz", "gdown", "git", "jieba", "json5", "jsonlines",
     "loguru", "mpl_toolkits", "orjson", "plotly", "pynvml", "pytest", "pytz", "rouge", "rouge_chinese", "ruamel", "seaborn", "six",
     "soundfile", "tabulate", "ujson", "zmq", "serial", "attr", "hydra")
)  # fmt: skip
# Its own modules lead to each other, and what it requires is loaded by few of them.
_LARGE = frozenset(("torch",))
_THEIRS = ("numpy", "scipy", "pandas", "matplotlib", "pillow")
# They import whatever a name that is given to them asks for.
_BY_NAME = frozenset(("evaluate", "lighteval", "lm-eval", "hydra-core"))
# What is imported when something is called, and not when the package is.
_WHEN_CALLED = {
    "pandas": ("pyarrow",),
    "torch": ("setuptools", "triton"),
    "huggingface-hub": ("hf-xet",),
    "wandb": ("numpy",),  # util.get_module, by its name
    "langchain": ("openai", "sentence-transformers", "huggingface-hub", "transformers"),  # by whatever makes a model, or embeds
    "llama-index-core": ("openai", "chromadb", "numpy"),  # its integrations are packages below its name
    "liger-kernel": ("transformers",),  # by the whole of liger_kernel.transformers up to 0.5.6
    # Their message classes, in modules that are made at build time.
    "tensorboard": ("protobuf",),
    "tensorboardx": ("protobuf",),
    "mlflow": ("protobuf",),
    "ray": ("protobuf", "pydantic"),  # by the processes that ray.init starts
    "streamlit": ("protobuf",),
    "torchtune": ("wandb", "tensorboard", "comet-ml", "mlflow", "torchdata"),
    "datasets": ("pandas", "pillow", "librosa", "torchcodec", "torchvision", "torchaudio", "jax", "scipy"),
    "sentence-transformers": ("peft", "datasets", "optimum", "onnxruntime"),
    "accelerate": ("deepspeed", "bitsandbytes", "wandb", "tensorboard", "mlflow", "comet-ml", "clearml", "aim", "swanlab"),
}
_BY_A_MODEL = (
    "accelerate", "auto-gptq", "auto-round", "autoawq", "bitsandbytes", "causal-conv1d", "compressed-tensors", "deepspeed", "einops",
    "flash-attn", "flash-linear-attention", "flashinfer-python", "gguf", "gptqmodel", "hqq", "kernels", "librosa", "liger-kernel",
    "mamba-ssm", "ml-dtypes", "optimum", "optimum-quanto", "pillow", "scipy", "sentencepiece", "tiktoken", "timm", "torchao", "torchaudio",
    "torchvision", "triton", "xformers",
)  # fmt: skip
_BY_A_TRAINER = (
    "aim", "apollo-torch", "clearml", "codecarbon", "comet-ml", "cut-cross-entropy", "galore-torch", "keras", "lion-pytorch", "mlflow",
    "neptune", "optuna", "peft", "ray", "schedulefree", "swanlab", "tensorboard", "tensorboardx", "wandb",
)  # fmt: skip
# What their imports give on request alone, and by what it is asked for: hub_mixin.py and serialization/ of huggingface_hub import torch,
# `import huggingface_hub` and its downloads do not (wheels of 0.20.3 and 1.3.0).
_ON_REQUEST = {"huggingface-hub": "torch"}
_REQUESTED = {
    "torch": re.compile(r"huggingface_hub(?:\.\w+)*\.\w*(?:[Mm]ixin|torch|state_dict|SummaryWriter|serialization|tensorboard)\w*(?:\.\w+)*")
}
# Packages that bring models to transformers, and leave it to others to train them with its Trainer.
_NO_TRAINER = frozenset(
    ("accelerate", "auto-gptq", "autoawq", "bitsandbytes", "deepspeed", "diffusers", "flash-attn", "gptqmodel", "gradio", "kernels",
     "optimum", "peft", "safetensors", "sentencepiece", "timm", "tokenizers", "torchao", "transformers", "vllm")
)  # fmt: skip
# Of its names what a model, a configuration and a trainer load is told below.
_FOLLOWED = frozenset(("transformers",))
# They read a model's configuration with transformers and bring models of their own.
_SERVES = frozenset(("lmdeploy", "sglang", "vllm"))
_TRAINS = re.compile(r"Trainer|trainer|TrainingArguments|training_args")
# trl's judges import it where it is installed, and so does what imports them: these trainers and the callbacks (trl 0.15.2 to 0.25.1).
_JUDGES, _WITH_JUDGES = (
    "llm-blender",
    re.compile(r"trl(?:\.\w+)*\.(?:(?:DPO|GRPO|RLOO|OnlineDPO|NashMD|XPO)Trainer|\w*Judge|\w+Callback)(?:\.\w+)*"),
)
# What of transformers neither is a model or a configuration of one, nor loads one.
_TEXT_ALONE = re.compile(
    r"transformers(?:\.(?:models(?:\.\w+)*|tokenization_\w+|data(?:\.\w+)*|utils(?:\.\w+)*|hf_argparser|trainer_utils))?"
    r"(?:\.(?:\w*Tokenizer\w*|DataCollator\w*|default_data_collator|BatchEncoding|AddedToken|HfArgumentParser|set_seed|logging|utils|"
    r"__version__)(?:\.\w+)*)?"
)
_CONFIGURES = re.compile(r"transformers(?:\.\w+)*\.(?:\w*(?:Config|Processor|FeatureExtractor)|configuration_\w+)(?:\.\w+)*")

# Models that TensorFlow or JAX computes: they ask nothing of torch, nor of what loads weights for it.
_WITHOUT_TORCH = re.compile(r"transformers(?:\.\w+)*\.(?:TF|Flax)[A-Z]\w*(?:\.\w+)*")


@lru_cache(maxsize=64)
def not_loaded(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """The packages of the atlas that none of a script's imports leads to, and ``config``, ``model`` and ``trainer`` where it has none.

    ``names`` are the full names that the script takes of packages. None where one of them is of a package that nobody has read.
    """
    known = set(package_names())
    waiting: list[tuple[str, str]] = []
    for name in names:
        top = name.partition(".")[0]
        owners = [one for one in distributions_of(top) if one in known]
        if _BY_NAME.intersection(owners) or not (owners or top in _PLAIN):
            return None
        waiting += [(owner, entry) for owner in owners for entry in _entries(owner, name)] or [(one, one) for one in _THEIRS]
    found = _follow(waiting, known)
    taken = {package for package, _ in waiting}
    own = [name for name in names if name.partition(".")[0] == "transformers" and not _TEXT_ALONE.fullmatch(name)]
    bringing = _follow([row for row in waiting if row[0] not in _SERVES | {"transformers"}], known)
    models = "transformers" in bringing or not all(_CONFIGURES.fullmatch(name) or _WITHOUT_TORCH.fullmatch(name) for name in own)
    configures = models or bool(own) or not _SERVES.isdisjoint(taken)
    training = taken - _NO_TRAINER
    called = [one for package in found for one in _WHEN_CALLED.get(package, ())]
    if models and "transformers" in found:
        called += _BY_A_MODEL
    trains = any(_TRAINS.search(name) for name in names) or any("transformers" in _follow([(one, one)], known) for one in training)
    if models and trains:
        called += _BY_A_TRAINER
    if any(map(_WITH_JUDGES.fullmatch, names)):
        called.append(_JUDGES)
    called += [one for one, asked in _REQUESTED.items() if any(map(asked.fullmatch, names))]
    if any(name.endswith((".load_adapter", ".add_adapter")) for name in names):
        called.append("peft")
    if any(name.endswith(".apply_chat_template") for name in names):
        called += ["jinja2", "markupsafe"]
    found.update(called)
    told = ((CONFIG, configures), (MODEL, models), (TRAINER, models and trains))
    return (*sorted(known - found), *(name for name, there in told if not there))


def _follow(entries: Sequence[tuple[str, str]], known: set[str]) -> set[str]:
    """The packages that these imports load, one after the other."""
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = list(entries)
    while waiting:
        package, entry = waiting.pop()
        if (package, entry) in seen:
            continue
        seen.add((package, entry))
        if package not in found:
            found.add(package)
            own = takes_of(package)
            waiting += [(package, top) for top in own[0].volume.tops] if own is not None else []
        crossed = (row for row in _crossings(package, entry) if row[0] != _ON_REQUEST.get(package))
        waiting += [row for row in crossed if row[0] in known and row not in seen]
    return found


@lru_cache(maxsize=4096)
def _crossings(package: str, entry: str) -> tuple[tuple[str, str], ...]:
    """What one import asks of other packages, in any release."""
    own = takes_of(package)
    reached = None if own is None else own[1].entry(entry)
    if own is not None and reached is None and _is_given_unseen(own[0].volume, package, entry):
        return _by_any_import(package)
    if own is not None and reached is None and package not in _LARGE and _leads_on(own[0].volume, package, entry):
        # What a module that nobody followed loads may be anything that the package requires, and is what it takes of others.
        required = dependencies(package, own[0].volume.releases[-1], unbound=True) or ()
        return (*((one.name, one.name) for one in required), *_taken_at(package, entry, *own))
    rows = (one for one in reached or () if one.kind != "take" and NEVER not in one.guard.split(" & "))
    return tuple({(owner, one.name): None for one in rows for owner in distributions_of(top_of(one.name))})


def _leads_on(volume: Volume, package: str, entry: str) -> bool:
    """Whether an import that nobody followed loads more than that of the package: a module, or a name that is given on request."""
    module, colon, name = entry.partition(":")
    if not colon:
        return "." in entry
    chunk = None if package in _FOLLOWED else volume.chunk(module)
    return chunk is not None and name in chunk.lazy


def _is_given_unseen(volume: Volume, package: str, entry: str) -> bool:
    """Whether a module gives a name by a function that does not show which module it takes it from."""
    module, _, name = entry.partition(":")
    chunk = volume.chunk(module) if name and package not in _FOLLOWED | _LARGE else None
    if chunk is None or "__getattr__" not in chunk.functions:
        return False
    last = len(volume.releases) - 1
    linked = any(mask >> last & 1 for told in (chunk.links, chunk.lazy) for mask in told.get(name, {}).values())
    return not linked and not chunk.names.get(name, 0) >> last & 1 and name not in chunk.functions and name not in chunk.classes


@lru_cache(maxsize=64)
def _by_any_import(package: str) -> tuple[tuple[str, str], ...]:
    """What the imports of a package that were followed load of others, whatever the condition over it."""
    own = takes_of(package)
    rows = (line.split(" ") for page in (() if own is None else own[1].pages()) for line in page.split("\n"))
    tops = {top_of(row[1]) for row in rows if row[0] in ("+", "?") and len(row) > 1}
    return tuple(sorted({(owner, top) for top in tops for owner in distributions_of(top)}))


def _taken_at(package: str, entry: str, bound: Bound, takes: Takes) -> Iterator[tuple[str, str]]:
    """The modules of others of which an import that was not followed takes what some release of them lacks."""
    for one in followed(package, entry, len(bound.volume.releases) - 1):
        module = takes.take(one.take).name.partition(":")[0]
        yield from ((owner, module) for owner in distributions_of(top_of(module)))


def _entries(package: str, name: str) -> Iterator[str]:
    """The imports that a full name stands for: its module, and what is taken of that first."""
    own = takes_of(package)
    if own is None:
        return
    parts = name.split(".")
    length = next((end for end in range(len(parts), 0, -1) if _is_module(own[0].volume, ".".join(parts[:end]))), 1)
    module = ".".join(parts[:length])
    yield module
    if length < len(parts):
        yield f"{module}:{parts[length]}"


def _is_module(volume: Volume, name: str) -> bool:
    return bool(volume.has_module(name))


__all__ = ["not_loaded"]
