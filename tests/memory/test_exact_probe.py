"""``--exact`` in a real environment: torch, transformers and peft on fake tensors, without weights and without a GPU.

``ENVDOCTOR_PROBE_CACHE`` may name a directory in which the environment is kept between runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from envdoctor.memory.estimate import GIB, Estimate, Moment
from envdoctor.memory.exact import Refusal, measure
from envdoctor.memory.plan import Adapter, Plan
from tests.probes.test_lora_step_real import GOOD, STACK, build

pytestmark = pytest.mark.probe

WORKSPACES = 2 * (8 * 1024 + 128) * 1024
# Every tensor is a multiple of 512 bytes and at most 1 MiB: no block of the allocator is larger than what was asked for.
HIDDEN, FFN, HEADS, VOCABULARY, LAYERS, ROWS, LENGTH = 256, 768, 4, 512, 2, 2, 128
TOKENS = ROWS * LENGTH
LLAMA: Mapping[str, object] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": HIDDEN,
    "intermediate_size": FFN,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": False,
}
LINEAR = 4 * HIDDEN * HIDDEN + 3 * HIDDEN * FFN
PARAMETERS = LAYERS * (LINEAR + 2 * HIDDEN) + HIDDEN + 2 * VOCABULARY * HIDDEN
FULL = Plan(method="full", load_dtype="bfloat16", autocast=None, rows=ROWS, tokens=LENGTH)
LORA = replace(FULL, method="adapter", adapter=Adapter(16, ("q_proj", "v_proj")))


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("ENVDOCTOR_PROBE_CACHE")
    directory = Path(kept).expanduser().absolute() if kept else tmp_path_factory.mktemp("environments")
    return build((*STACK, f"peft=={GOOD}"), directory)


@cache
def run(interpreter: Path, plan: Plan, layers: int = LAYERS) -> Estimate:
    return measured(interpreter, plan, {**LLAMA, "num_hidden_layers": layers})


def measured(interpreter: Path, plan: Plan, config: Mapping[str, object]) -> Estimate:
    found = measure(interpreter, config, plan, model_path=None, trust=False, timeout=120)
    assert isinstance(found, Estimate), found
    return found


def at(estimate: Estimate, name: str) -> Moment:
    return next(moment for moment in estimate.moments if moment.name == name)


def test_a_published_run_of_mistral_7b_is_met(interpreter: Path) -> None:
    # Full fine-tuning in bfloat16, 4 x 4096 tokens, checkpointing, FlashAttention-2, on an A100-80GB (fms-acceleration's benchmarks):
    # 67.460 GiB, whatever the release of transformers, because the optimizer's step is the peak.
    mistral = {
        **LLAMA,
        "model_type": "mistral",
        "architectures": ["MistralForCausalLM"],
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "num_hidden_layers": 32,
        "vocab_size": 32000,
    }
    found = measured(interpreter, replace(FULL, rows=4, tokens=4096, checkpointing=True, attention="flash_attention_2"), mistral)
    assert found.peak.name == "optimizer step"
    assert found.allocated.expected / GIB == pytest.approx(67.460, abs=0.001)


def test_full_fine_tuning_counts_every_byte(interpreter: Path) -> None:
    found = run(interpreter, FULL)
    assert [moment.name for moment in found.moments] == ["loading", "forward", "loss", "backward", "optimizer step"]
    step = at(found, "optimizer step").terms
    assert step["gradients"] == 2 * PARAMETERS
    # Two moments, the square root of the second one for a moment, and scalars.
    assert 0 <= step["optimizer"] - 6 * PARAMETERS < 1 << 20
    assert step["other"] == WORKSPACES
    # Beside the parameters only the rotary frequencies, of the model and of each layer in this release.
    assert at(found, "loading").terms == {"weights": 2 * PARAMETERS + (1 + LAYERS) * 512}


def test_a_layer_keeps_what_the_closed_form_of_this_architecture_says(interpreter: Path) -> None:
    two, four = (at(run(interpreter, FULL, layers), "loss").terms["activations"] for layers in (2, 4))
    assert (four - two) / 2 / TOKENS == 24 * HIDDEN + 8 * FFN + 4 * HEADS + 8


def test_adapters_are_float32_and_alone_have_gradients_and_states(interpreter: Path) -> None:
    found = run(interpreter, LORA)
    added = LAYERS * 2 * 2 * 16 * HIDDEN
    step = at(found, "optimizer step").terms
    assert (step["adapters"], step["gradients"]) == (4 * added, 4 * added)
    assert 0 <= step["optimizer"] - 12 * added < 1 << 20


def test_checkpointing_keeps_the_inputs_of_layers_only(interpreter: Path) -> None:
    two, four = (at(run(interpreter, replace(FULL, checkpointing=True), layers), "loss").terms["activations"] for layers in (2, 4))
    assert (four - two) / 2 / TOKENS == 2 * HIDDEN


def test_accumulated_gradients_live_through_the_next_forward(interpreter: Path) -> None:
    plain, accumulated = run(interpreter, FULL), run(interpreter, replace(FULL, accumulation=2))
    assert "gradients" not in at(plain, "loss").terms
    assert at(accumulated, "loss").terms["gradients"] == 2 * PARAMETERS


def test_eager_attention_keeps_the_scores_and_sdpa_does_not(interpreter: Path) -> None:
    sdpa, eager = (at(run(interpreter, replace(FULL, attention=name)), "loss").terms["activations"] for name in ("sdpa", "eager"))
    scores = ROWS * HEADS * LENGTH * LENGTH
    # The scores' softmax in float32 and in bfloat16, in each layer, and no log of sums.
    assert eager - sdpa > LAYERS * (4 + 2) * scores * 0.9


def test_four_bits_are_half_a_byte_and_their_scales(interpreter: Path) -> None:
    found = run(interpreter, replace(LORA, quant="4bit", checkpointing=True))
    numbers = LAYERS * LINEAR
    rest = 2 * (PARAMETERS - numbers)
    tables = (LAYERS * 7 + LAYERS + 1) * 512
    assert at(found, "loading").terms["weights"] == numbers // 2 + 4 * numbers // 64 + rest + tables
    assert "gradients" in at(found, "optimizer step").terms


def test_mixed_precision_keeps_copies_of_the_weights_that_are_float32(interpreter: Path) -> None:
    plain = run(interpreter, replace(FULL, load_dtype="float32"))
    mixed = run(interpreter, replace(FULL, load_dtype="float32", autocast="bfloat16"))
    cast = 2 * (LAYERS * LINEAR + VOCABULARY * HIDDEN)
    more = at(mixed, "loss").terms["activations"] + at(mixed, "loss").terms["logits"]
    less = at(plain, "loss").terms["activations"] + at(plain, "loss").terms["logits"]
    assert at(mixed, "loading").terms == at(plain, "loading").terms
    # Half of the activations are halved, and the copies come to them.
    assert less / 2 + cast < more < less + cast


@pytest.mark.parametrize(
    ("config", "plan", "reason"),
    [
        ({"model_type": "never-heard-of"}, FULL, "transformers 4.46.3 has no model of the type never-heard-of"),
        (
            {**LLAMA, "model_type": "mixtral", "architectures": ["MixtralForCausalLM"]},
            FULL,
            "its code looks at the values of tensors, which fake ones do not have (aten.nonzero.default)",
        ),
    ],
)
def test_what_fake_tensors_cannot_show_is_refused(interpreter: Path, config: Mapping[str, object], plan: Plan, reason: str) -> None:
    assert measure(interpreter, config, plan, model_path=None, trust=False, timeout=120) == Refusal(reason)


def test_the_snapshots_own_code_is_run_with_consent(interpreter: Path, tmp_path: Path) -> None:
    (tmp_path / "modeling_own.py").write_text(
        "from transformers.models.llama import modeling_llama\nclass OwnForCausalLM(modeling_llama.LlamaForCausalLM):\n    pass\n"
    )
    config = {**LLAMA, "auto_map": {"AutoModelForCausalLM": "modeling_own.OwnForCausalLM"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    own = measure(interpreter, config, FULL, model_path=tmp_path, trust=True, timeout=120)
    assert isinstance(own, Estimate), own
    assert own.moments == run(interpreter, FULL).moments
