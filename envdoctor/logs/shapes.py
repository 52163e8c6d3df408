"""What the numbers of a refused reshape come to: which side of the shape is another than the code takes it for, and what it is.

Vocabularies as the config.json of these families states them (vocab_size): Llama 2 and Mistral, Llama 3, Qwen 1.5 to 3, Gemma 1 and 2,
Gemma 3, GPT-2, DeepSeek-V2, DeepSeek-V3, Phi-3, ChatGLM2 and 3, GLM-4. Models whose key and value heads are fewer than their query heads:
https://arxiv.org/abs/2305.13245.
"""

from __future__ import annotations

import re
from math import prod

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure

_REFUSED = re.compile(r"shape '\[(?P<sides>-?\d{1,9}(?:, -?\d{1,9}){0,7})\]' is invalid for input of size (?P<size>\d{1,15})")
_VOCABULARIES = {
    32000: "Llama 2 and Mistral",
    32001: "Llama 2 with one token more",
    32064: "Phi-3",
    32768: "Mistral 0.3",
    50257: "GPT-2",
    65024: "ChatGLM2 and ChatGLM3",
    102400: "DeepSeek-V2",
    128256: "Llama 3",
    129280: "DeepSeek-V3",
    131072: "Mistral-Nemo",
    151552: "GLM-4",
    151936: "Qwen",
    152064: "the larger Qwen models",
    256000: "Gemma 1 and 2",
    262144: "Gemma 3",
    262208: "Gemma 3 with images",
}
_LEAST_VOCABULARY = 20_000
_MOST_HEADS = 128
# 128256 is four times 32064, so that sizes of Llama 3 are sizes of Phi-3 too.
_MOST_READINGS = 2
_MOST_OF_A_ROW = 2**20


def judge_shape(failure: Failure) -> Hit | None:
    """Which side of a refused shape is another one; None where nothing follows from the numbers."""
    refused = _REFUSED.search(failure.told)
    if refused is None:
        return None
    sides, size = [int(one) for one in refused["sides"].split(", ")], int(refused["size"])
    return _vocabulary(sides, size) or _heads(sides, size)


def _vocabulary(sides: list[int], size: int) -> Hit | None:
    """Logits that are laid out for the vocabulary of another model."""
    taken = sides[-1]
    if taken < _LEAST_VOCABULARY or -1 not in sides[:-1]:
        return None
    others = abs(prod(one for one in sides[:-1] if one != -1))
    true = [one for one in _VOCABULARIES if one != taken and size % (one * others) == 0 and size // one <= _MOST_OF_A_ROW]
    # Of sizes that are powers of two times something, any smaller power of two is a factor, and says nothing.
    true = [one for one in true if one & (one - 1)] or true
    if not 1 <= len(true) <= _MOST_READINGS:
        return None
    ways = " or ".join(f"{size // one} x {one} (the vocabulary of {_VOCABULARIES[one]})" for one in sorted(true, reverse=True))
    model = f"this model's has {true[0]}" if len(true) == 1 else "this model has another"
    return Hit(
        "error-of-what-was-given",
        True,
        detail=f"{size} = {ways}",
        edge="code:shape-of-another-vocabulary",
        headline=f"Logits are laid out for a vocabulary of {taken}, and {model}",
        advice=f"logits.view(-1, logits.size(-1)) in place of {taken}, or model.config.vocab_size",
    )


def _heads(sides: list[int], size: int) -> Hit | None:
    """Keys or values that are laid out in as many heads as the queries have, in a model that has fewer."""
    if len(sides) != 4 or -1 in sides or size == 0 or prod(sides) % size:
        return None
    fold = prod(sides) // size
    heads = min(sides[1], sides[2])
    if fold < 2 or heads % fold or heads > _MOST_HEADS or sides[3] not in (64, 80, 96, 112, 128, 160, 192, 256):
        return None
    return Hit(
        "error-of-the-run",
        True,
        detail=f"{' x '.join(map(str, sides))} is {fold} times {size}: {heads // fold} heads of {sides[3]} are there, not {heads} "
        "(or as many of another head size)",
        edge="code:shape-of-fewer-heads",
        headline=f"Keys or values are laid out in {heads} heads, and the model has {heads // fold} of them",
        advice="the model's keys and values have fewer heads than its queries (num_key_value_heads): code, a patch of the attention or a "
        "release that knows that; transformers knows it of Llama since 4.31.0",
    )


__all__ = ["judge_shape"]
