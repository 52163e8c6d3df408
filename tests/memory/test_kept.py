"""What one layer keeps for its backward, item by item, where the sizes of the model alone do not tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from envdoctor.memory import kept
from envdoctor.memory.config import read_architecture
from envdoctor.memory.plan import Plan, Stack

HIDDEN = 256
SIZES: Mapping[str, object] = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "head_dim": 32,
    "intermediate_size": 512,
    "vocab_size": 1000,
}
HALF = Plan("full", "bfloat16", None, 2, 128, attention="flash_attention_2", stack=Stack("2.4.1", "4.51.3"))
MIXED = replace(HALF, load_dtype="float32", autocast="bfloat16")
LORA = replace(MIXED, method="adapter")


def of(kind: str, plan: Plan, **more: object) -> Mapping[str, float]:
    return kept.layer(read_architecture({**SIZES, "model_type": kind, **more}), plan, ())


# A norm keeps its input as float32 and a reciprocal root a row; trained, the normalised values too, in the dtype of its input. Two of the
# four norms of GLM-4 are given what attention and network put out, which under autocast has 16 bits; the others the stream of float32.
@pytest.mark.parametrize(
    ("kind", "plan", "norms"),
    [
        ("llama", HALF, 2 * ((4 + 2) * HIDDEN + 4)),
        ("llama", MIXED, 2 * ((4 + 4) * HIDDEN + 4)),
        ("glm4", HALF, 4 * ((4 + 2) * HIDDEN + 4)),
        ("glm4", MIXED, 2 * ((4 + 4) * HIDDEN + 4) + 2 * ((4 + 2) * HIDDEN + 4)),
        ("glm4", LORA, 4 * (4 * HIDDEN + 4)),
        ("exaone4", MIXED, 2 * ((4 + 2) * HIDDEN + 4)),
        ("exaone4", LORA, 2 * (4 * HIDDEN + 4)),
        ("gemma2", MIXED, 4 * ((4 + 4) * HIDDEN + 4)),  # it multiplies in float32 whatever it is given
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_norms_keep_depends_on_what_they_are_given(kind: str, plan: Plan, norms: int) -> None:
    extra = {"head_dim": 32} if kind != "exaone4" else {}
    items = of(kind, plan, **extra)
    head_norms = (4 + (2 if plan.method == "full" else 0)) * 2 * HIDDEN if kind == "exaone4" else 0
    assert items["norms"] == norms + head_norms


def test_a_cap_on_the_scores_keeps_one_more_matrix() -> None:
    capped = read_architecture({**SIZES, "model_type": "gemma2"})
    plain = replace(capped, softcap=False)
    assert capped.softcap
    for attention, more in (("eager", 8 * HALF.tokens * 2), ("flash_attention_2", 0)):  # heads, keys, bytes of a score
        plan = replace(HALF, attention=attention)
        assert kept.layer(capped, plan, ())["attention"] - kept.layer(plain, plan, ())["attention"] == more
