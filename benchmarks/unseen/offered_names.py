"""What the packages of an environment offer: the public names that may be called, and the keywords that they take."""

# ruff: noqa: BLE001, E501 - whatever an import raises, the name is passed over, and the tables are wide
from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

MODULES = {
    "transformers": ["", ".utils", ".trainer_utils", ".optimization", ".generation", ".image_utils", ".image_transforms", ".trainer_pt_utils",
                     ".modeling_utils", ".configuration_utils", ".tokenization_utils_base", ".pipelines", ".integrations", ".training_args"],
    "diffusers": ["", ".utils", ".training_utils", ".optimization", ".loaders", ".image_processor"],
    "datasets": ["", ".features", ".utils", ".arrow_dataset", ".iterable_dataset", ".formatting", ".combine"],
    "peft": ["", ".utils", ".tuners", ".helpers", ".tuners.lora"],
    "trl": ["", ".trainer", ".trainer.utils", ".models", ".data_utils", ".extras", ".rewards"],
    "accelerate": ["", ".utils", ".big_modeling", ".data_loader", ".hooks", ".scheduler", ".optimizer", ".tracking"],
    "huggingface_hub": ["", ".utils", ".hf_api", ".repocard", ".repocard_data", ".serialization", ".inference"],
    "numpy": ["", ".linalg", ".random", ".fft", ".lib.stride_tricks"],
    "pandas": ["", ".api.types", ".tseries.offsets", ".io.api"],
    "tokenizers": ["", ".models", ".pre_tokenizers", ".processors", ".normalizers", ".decoders", ".trainers"],
    "pydantic": ["", ".types", ".fields", ".functional_validators"],
    "pyarrow": ["", ".compute", ".parquet", ".json", ".csv", ".dataset"],
    "torch": ["", ".nn.functional", ".optim", ".utils.data", ".nn", ".amp"],
    "safetensors": ["", ".torch", ".numpy"],
    "sentence_transformers": ["", ".losses", ".util", ".models"],
    "sklearn": [".model_selection", ".metrics", ".utils", ".preprocessing", ".linear_model"],
    "torchmetrics": ["", ".functional", ".classification"],
    "lightning": ["", ".pytorch", ".pytorch.callbacks", ".pytorch.loggers", ".fabric"],
}  # fmt: skip
NOT_CALLED = re.compile(
    r"launch|spawn|login|logout|exit|kill|serve|server|main$|debug|breakpoint|interact|input|sleep|wait|benchmark|notebook|show_|test|daemon"
    r"|faulthandler|set_start|jit|compile|export|cuda|distributed|dist_|subprocess|install|upgrade|hook$",
    re.IGNORECASE,
)


def names_of(package: str) -> Iterator[tuple[str, Any, str]]:
    """The public names of a package: their places, modules and names. What is given on request is not loaded for that."""
    for suffix in MODULES.get(package, [""]):
        try:
            module = importlib.import_module(package + suffix)
        except Exception:
            continue
        for name in sorted({*dir(module), *getattr(module, "__all__", ())}):
            if not name.startswith("_") and not NOT_CALLED.search(name):
                yield f"{package}{suffix}:{name}", module, name


def callable_of(package: str, module: Any, name: str) -> Any:
    """What a name stands for, where it is a callable of this package; else None."""
    try:
        one = getattr(module, name)
    except BaseException:
        return None
    owner = getattr(one, "__module__", "") or package
    return one if callable(one) and str(owner).partition(".")[0] in (package, "builtins") else None


def parameters(one: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(one).parameters.values())
    except BaseException:
        return None


def line_of(package: str, place: str, module: Any, name: str) -> str:
    """A callable's place and its keywords; a star where it takes any, or where that would have to be loaded to be known."""
    lazy = name not in vars(module)
    one = None if lazy else callable_of(package, module, name)
    found = None if one is None else parameters(one)
    if found is None:
        return f"{place} *" if one is not None or lazy else ""
    open_ = any(p.kind is p.VAR_KEYWORD for p in found)
    return " ".join([place, *(["*"] if open_ else []), *(p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))])
