"""Stored quantization against the releases that know it, the libraries that it needs, and training."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.facts.vocabulary import NOT_LOADED, TRAINING
from envdoctor.files.text import plain
from envdoctor.sources.model.snapshot import Snapshot, table_of

# The first release of transformers whose AUTO_QUANTIZER_MAPPING has the method (quantizers/auto.py of the wheels).
SINCE = {
    "aqlm": "4.38.0", "quanto": "4.39.0", "eetq": "4.41.0", "hqq": "4.41.0", "fbgemm_fp8": "4.43.0", "compressed-tensors": "4.45.0",
    "torchao": "4.45.0", "bitnet": "4.46.0", "higgs": "4.48.0", "vptq": "4.48.0", "spqr": "4.49.0", "quark": "4.50.0",
    "auto-round": "4.52.0", "fp_quant": "4.54.0", "mxfp4": "4.55.0",
}  # fmt: skip
# Before, there was no such mapping, and what a release makes of an unknown method is another matter for each.
_MAPPED_SINCE = "4.38.0"

# Releases of transformers, and the packages of which one must be there (validate_environment of the quantizers in the wheels).
# GPTQ and AWQ in transformers 5, and optimum for GPTQ, have rules of their own.
_NEEDS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "aqlm": ((">=4.38.0", ("aqlm",)),),
    "auto-round": ((">=4.52.0", ("auto-round",)),),
    "awq": ((">=4.35.0,<5", ("autoawq",)),),
    "bitsandbytes": ((">=4.37.0", ("bitsandbytes",)),),
    "compressed-tensors": ((">=4.45.0", ("compressed-tensors", "compressed-tensors-nightly")),),
    "eetq": ((">=4.41.0,<5", ("eetq",)), (">=5.0.0", ("kernels",))),
    "fbgemm_fp8": ((">=4.43.0", ("fbgemm-gpu", "fbgemm-gpu-genai", "fbgemm-gpu-nightly")),),
    "gptq": ((">=4.32.0,<4.49", ("auto-gptq",)), (">=4.49.0,<5", ("gptqmodel", "auto-gptq"))),
    "hqq": ((">=4.41.0", ("hqq",)),),
    "quanto": ((">=4.39.0,<4.46", ("quanto",)), (">=4.47.0", ("optimum-quanto",))),
    "spqr": ((">=4.49.0", ("spqr-quant",)),),
    "torchao": ((">=4.45.0", ("torchao",)),),
    "vptq": ((">=4.48.0", ("vptq",)),),
}
# They load the weights themselves, with kernels of their own.
_SERVERS = ("vllm", "sglang")
# Releases whose quantizer says is_trainable False, so that the Trainer refuses the model, adapters or not. FP8 and MXFP4 have a rule.
_NOT_TRAINABLE = {
    "auto-round": ">=4.52.0",
    "bitnet": ">=4.46.0",
    "compressed-tensors": ">=4.45.0,<4.47",
    "fbgemm_fp8": ">=4.43.0",
    "higgs": ">=4.48.0",
    "quanto": ">=4.39.0,<4.46",
    "quark": ">=4.50.0",
    "spqr": ">=4.49.0",
    "vptq": ">=4.48.0",
}


def library_missing(snapshot: Snapshot, facts: Facts) -> Iterator[Hit]:
    """from_pretrained needs a library that is known not to be installed."""
    if _is_served(facts) or _loads_no_model(facts):
        return
    method = _method(snapshot)
    for condition, packages in _NEEDS.get(method, ()):
        if _transformers(facts, condition) and all(facts.lacks(package) for package in packages):
            wanted = " or ".join(packages[:2] if method == "gptq" else packages[:1])
            detail = f"the weights are quantized with {method}; transformers needs {wanted} to load them"
            yield _hit("snapshot-quantization-library-missing", snapshot, detail, f"loads {method} with {wanted}", packages=packages[:1])


def method_unknown(snapshot: Snapshot, facts: Facts) -> Iterator[Hit]:
    """The method came with a later release of transformers."""
    method = _method(snapshot)
    first = SINCE.get(method)
    if first is not None and not _is_served(facts) and not _loads_no_model(facts) and _transformers(facts, f">={_MAPPED_SINCE},<{first}"):
        detail = f"the weights are quantized with {method}, which transformers knows from {first} on"
        yield _hit(
            "snapshot-quantization-unknown",
            snapshot,
            detail,
            f"before {first}",
            packages=("transformers",),
            pins=(("transformers", f">={first}"),),
        )


def base_not_trainable(snapshot: Snapshot, facts: Facts) -> Iterator[Hit]:
    """The Trainer refuses a model of this quantization, also with adapters."""
    method = _method(snapshot)
    condition = ">=4.46.0,<4.52" if _is_online_bitnet(snapshot) else _NOT_TRAINABLE.get(method)
    if condition is None or facts.text("plan.method") not in TRAINING or facts.value("plan.quantization_config") is True:
        return
    if facts.text("plan.trainer") in ("own", "torchtune"):
        return
    if _transformers(facts, condition):
        detail = f"the weights are quantized with {method}, which transformers cannot train"
        because = ("plan.method", "trains the model")
        yield _hit("snapshot-quantized-base-not-trainable", snapshot, detail, f"{method} is for inference only", also=because)


CHECKS = (library_missing, method_unknown, base_not_trainable)


def _is_served(facts: Facts) -> bool:
    """Whether a server may be what loads the weights: nothing is trained, and one is there."""
    there = any(isinstance(facts.value(f"packages.{name}"), (Exact, Ranged)) for name in _SERVERS)
    return there and facts.text("plan.method") not in TRAINING


def _loads_no_model(facts: Facts) -> bool:
    """Whether all that is loaded is known, and no model of transformers is: a script that tokenizes."""
    unused = facts.value(NOT_LOADED)
    return isinstance(unused, tuple) and "model" in unused


def _method(snapshot: Snapshot) -> str:
    """quant_method of quantization_config, in the spelling of transformers; empty where there is none."""
    table = table_of(snapshot.config).get("quantization_config")
    if not isinstance(table, dict):
        return ""
    method = table.get("quant_method")
    if method is None and (table.get("load_in_4bit") is True or table.get("load_in_8bit") is True):
        return "bitsandbytes"
    return plain(method, 60).lower() if isinstance(method, str) else ""


def _is_online_bitnet(snapshot: Snapshot) -> bool:
    """Whether the weights are BitNet's master weights, quantized as they are used: 4.52.0 and later train them."""
    table = table_of(snapshot.config).get("quantization_config")
    if _method(snapshot) != "bitnet" or not isinstance(table, dict):
        return False
    return (table.get("linear_class"), table.get("quantization_mode")) == ("autobitlinear", "online")


def _transformers(facts: Facts, condition: str) -> bool:
    value = facts.value("packages.transformers")
    return isinstance(value, (Exact, Ranged)) and version_condition(condition).relation(value) is True


def _hit(
    rule: str,
    snapshot: Snapshot,
    detail: str,
    why: str,
    *,
    packages: tuple[str, ...] = (),
    pins: tuple[tuple[str, str], ...] = (),
    also: tuple[str, str] | None = None,
) -> Hit:
    stored = (("model.quant_method", "stored in config.json"), ("packages.transformers", why))
    return Hit(
        rule,
        True,
        because=stored if also is None else (*stored, also),
        detail=detail,
        packages=packages,
        pins=pins,
        file=snapshot.directory.place("config.json"),
        line=snapshot.config.line_of("quantization_config"),
    )
