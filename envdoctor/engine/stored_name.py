"""How the weights are stored that nobody has at hand, by the name of their repository."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.stored_names import stored_in_name

STORED = ("gptq", "awq", "fp8", "hqq", "aqlm", "mxfp4", "torchao")
"""Methods by which weights are quantized in the checkpoint, whatever the plan asks for."""

_WHY = Origin("the model's name")


def is_stored_quantized(facts: Facts) -> bool:
    """Whether the weights are quantized as they are stored, which a script that cannot be read to its end does not change."""
    return facts.text("model.quant_method") in STORED or stored_in_name(facts.text("model.id") or "") is not None


def read_stored_name(facts: Facts) -> Iterator[Fact]:
    """The method of quantization, where no snapshot says it: a repository of bitsandbytes is loaded with the bits of its name."""
    if facts.value("model.path") is not None:
        return
    stored = stored_in_name(facts.text("model.id") or "")
    if stored in ("4bit", "8bit"):
        yield Fact("model.quant_method", "bitsandbytes", _WHY)
        yield Fact("plan.quant", stored, _WHY)
    elif stored is not None and facts.value("model.quant_method") in (None, stored):
        yield Fact("model.quant_method", stored, _WHY)
        yield Fact("plan.quant", stored, _WHY)


__all__ = ["STORED", "is_stored_quantized", "read_stored_name"]
