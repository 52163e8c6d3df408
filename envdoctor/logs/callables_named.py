"""Which classes and functions of packages a traceback means by a bare name: those of the packages in its frames."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.atlas.binding import Bound
from envdoctor.atlas.shelf import open_package
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.import_names import package_of

_MOST = 8
# A class with a shorter name is anybody's.
_LONG = 7
# Whose classes and functions people call most, where neither frames nor the lines of code name a package.
OFTEN = (
    "transformers", "peft", "trl", "accelerate", "datasets", "diffusers", "sentence-transformers", "open-clip-torch", "liger-kernel",
    "gradio", "timm",
)  # fmt: skip
# These bring models that were published with code of their own, whose classes are called so: without a frame, it is the code of the files.
TOOK_OVER = frozenset(("diffusers", "vllm", "sglang", "lmdeploy"))
OF_MODELS = re.compile(r"\w+(?:Tokenizer|TokenizerFast|Config|Model|Attention|ForCausalLM|ForConditionalGeneration|LMHeadModel)")
# Whose objects stand in messages of others.
_PASSED = (
    *OFTEN, "bitsandbytes", "deepspeed", "torch", "pydantic", "tokenizers", "huggingface-hub", "auto-gptq", "autoawq", "gptqmodel",
    "optimum",
    "xformers", "flash-attn", "vllm", "lightning", "pytorch-lightning", "wandb", "omegaconf", "torchmetrics",
    "torchtune", "llamafactory", "axolotl", "ms-swift", "verl", "langchain-core", "openai", "numpy", "pandas", "pyarrow", "pillow",
    "fsspec", "ray", "mlflow", "torchao", "compressed-tensors", "openrlhf", "setfit", "triton",
)  # fmt: skip
# Classes of Python itself: that a package's stubs have one of that name says nothing (torch._C declares a NoneType).
OF_PYTHON = frozenset(
    ("NoneType", "bool", "builtin_function_or_method", "bytes", "dict", "float", "function", "generator", "int", "list", "method", "module",
     "object", "property", "set", "str", "tuple", "type")
)  # fmt: skip
_OF_TORCH = ("torch.nn.modules.", "torch.optim.", "torch.utils.data.")
# What people call packages when they import them.
_ALIASES = {
    "pl": "pytorch_lightning",
    "L": "lightning",
    "np": "numpy",
    "pd": "pandas",
    "gr": "gradio",
    "pa": "pyarrow",
    "hf": "transformers",
}
_IMPORTED = re.compile(r"(?m)\b(?:from|import) ([A-Za-z_]\w{1,40})")


def classes_called(name: str, failure: Failure, *, passed: bool = False) -> Iterator[str]:
    """The classes of this name as ``module:Class``: of the packages in the frames and in the code before them; without any, of those that
    most people use. ``passed``: of all whose objects are passed through packages that know nothing of their class."""
    if passed and len(name) < _LONG:
        return
    for bound in filter(None, map(open_package, _PASSED)) if passed else _packages(failure, often=True):
        yield from _defined(bound, "c", name)


def classes_of(bound: Bound, name: str) -> Iterator[str]:
    """The classes of this name in one package."""
    yield from _defined(bound, "c", name)


def functions_called(function: str, failure: Failure, *, passed: bool = False) -> Iterator[str]:
    """The functions of this name as ``module:function``; a method with its class."""
    if not function:
        return
    owner, _, last = function.replace(".<locals>", "").rpartition(".")
    if owner:
        cls = owner.rpartition(".")[2]
        found = list(classes_called(cls, failure, passed=passed))
        if passed:
            # Others type, wrap or re-export what torch gives by that name (lightning.fabric.utilities.types): a call makes torch's.
            found = [one for one in found if one.startswith(_OF_TORCH)] or found
        for one in found:
            package = one.partition(".")[0]
            if not (package in TOOK_OVER and package not in failure.packages and OF_MODELS.fullmatch(cls)):
                yield one if last == "__init__" else f"{one}.{last}"
        return
    if last == "__init__":
        # Before Python 3.10 the class is not told; the line that called it is.
        texts = [*(frame.text for frame in failure.frames[-2:]), failure.near if not failure.frames else ""]
        called = [word for text in texts for word in re.findall(r"\b([A-Z]\w{2,80})\(", text)]
        for word in dict.fromkeys(reversed(called)):
            found = list(classes_called(word, failure, passed=passed))
            if found:
                yield from found
                return
        return
    # A function that a script calls by its bare name is most likely the script's own.
    if not passed:
        for bound in _packages(failure, often=not failure.frames):
            yield from _defined(bound, "f", last)


def classes_named(name: str) -> Iterator[str]:
    """The classes of this name in the packages whose objects people meet, however short it is."""
    for bound in filter(None, map(open_package, _PASSED)):
        yield from _defined(bound, "c", name)


def functions_named(name: str) -> Iterator[str]:
    """The functions of this name in the packages whose objects people meet, whoever calls them."""
    for bound in filter(None, map(open_package, _PASSED)):
        yield from _defined(bound, "f", name)


def aliased(word: str, failure: Failure) -> str:
    """What stands before a point in a line of code, by the name that it was imported by: ``li`` of ``import librosa as li``, ``np``."""
    imported = re.search(rf"\bimport ([A-Za-z_][\w.]{{0,60}}) as {re.escape(word)}\b", failure.near)
    return imported[1] if imported is not None else _ALIASES.get(word, word)


def has_function(package: str, name: str) -> bool:
    """Whether a package has a function of this name at the top of a module."""
    bound = open_package(package)
    return bound is not None and next(_defined(bound, "f", name), None) is not None


def _packages(failure: Failure, *, often: bool) -> Iterator[Bound]:
    """The packages in the frames, and those that the lines of code import or name; with ``often``, without any, those of most people."""
    names = [package_of(one) for one in failure.packages]
    for text in (*(frame.text for frame in failure.frames), failure.near):
        names += [package_of(aliased(word, failure)) for word in re.findall(r"\b([A-Za-z_]{1,30})\.(?=\w)", text)]
        names += [package_of(word) for word in _IMPORTED.findall(text)]
    # ``self`` and ``np`` stand before a point as well.
    named = [bound for one in dict.fromkeys(names) if (bound := open_package(one)) is not None]
    yield from named or (bound for one in OFTEN if often and (bound := open_package(one)) is not None)


def _defined(bound: Bound, letter: str, name: str) -> Iterator[str]:
    pattern = re.compile(rf"(?m)^{letter} {re.escape(name)}(?:[ \t]|$)")
    found = [module for module, text in bound.modules(name) if pattern.search(text)]
    if len(found) <= _MOST:
        yield from (f"{module}:{name}" for module in found)
