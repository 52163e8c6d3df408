"""Loops that are no Trainer's: a loss outside of the model, layers that are compiled alone, checkpointing that spares something, FSDP
without a wrap policy."""

from __future__ import annotations

import pytest

from envdoctor.facts.fact import FactValue
from envdoctor.memory.config import read_architecture
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.undecided import undecided
from tests.memory.models import QWEN_HALF_B, stated

_LAYERS, _HIDDEN, _HEADS, _KEYS, _NETWORK, _VOCABULARY = 24, 896, 14, 128, 4864, 151936
_ALL: dict[str, FactValue] = {
    "plan.method": "full",
    "plan.batch_size": 2,
    "plan.seq_len": 8192,
    "plan.padding": False,
    "plan.gradient_checkpointing": True,
    "plan.load_dtype": "bfloat16",
    "plan.outputs_kept": False,
    "plan.trainer": "own",
    "packages.transformers": "==4.57.1",
    "packages.torch": "==2.8.0",
}


def situation(**changed: FactValue) -> Planned:
    values = {**_ALL, **{name.replace("__", "."): value for name, value in changed.items()}}
    return planned(stated(values), read_architecture(QWEN_HALF_B))


def names(found: Planned) -> set[str]:
    return {one.fact for one in undecided(found, found.estimate())}


def term(found: Planned, moment: str, name: str) -> float:
    (one,) = [one for one in found.estimate().moments if one.name == moment]
    return next((value for key, value in one.terms.items() if key == name), 0.0)


def test_a_loss_on_the_logits_as_they_are_has_three_copies_of_them_in_16_bits() -> None:
    found = situation(plan__loss_upcast=False)
    logits = 2 * 8192 * _VOCABULARY * 2
    for moment in ("loss", "backward of the loss"):
        assert term(found, moment, "logits") == pytest.approx(3 * logits, rel=0.02)
    # A single row is no copy when it is shifted.
    single = situation(plan__loss_upcast=False, plan__batch_size=1)
    assert term(single, "loss", "logits") == pytest.approx(2 * logits / 2, rel=0.02)
    assert term(situation(), "backward of the loss", "logits") == pytest.approx(6 * logits, rel=0.02)


def test_the_loss_of_a_trainer_that_compiles_layer_by_layer_is_not_compiled() -> None:
    whole = situation(plan__compile=True, plan__trainer="transformers")
    layers = situation(plan__compile=True, plan__trainer="prime-rl")
    plain = situation(plan__trainer="prime-rl")
    assert term(layers, "backward of the loss", "logits") == term(plain, "backward of the loss", "logits")
    assert term(whole, "backward of the loss", "logits") < term(plain, "backward of the loss", "logits")


def test_checkpointing_by_operations_keeps_every_second_product_and_the_output_of_the_attention() -> None:
    every, some = situation(), situation(plan__selective_checkpointing="op")
    # Queries, values, gate and down.
    products = _HIDDEN + _KEYS + _NETWORK + _HIDDEN
    kept = _LAYERS * 2 * 8192 * (2 * (products + _HIDDEN) + 4 * _HEADS)
    assert term(some, "loss", "activations") - term(every, "loss", "activations") == pytest.approx(kept)
    # What is kept is not computed again.
    again = term(some, "backward of the last layer", "activations") - term(every, "backward of the last layer", "activations")
    assert again == pytest.approx(kept * (1 - 1 / _LAYERS))


def test_of_layers_of_which_every_second_is_checkpointed_half_keep_everything() -> None:
    every, half, none = situation(), situation(plan__selective_checkpointing="2"), situation(plan__gradient_checkpointing=False)
    middle = (term(every, "loss", "activations") + term(none, "loss", "activations")) / 2
    assert term(half, "loss", "activations") == pytest.approx(middle, rel=0.001)
    assert situation(plan__gradient_checkpointing=False, plan__selective_checkpointing="2").estimate() == none.estimate()


def test_fsdp_without_a_wrap_policy_has_the_whole_model_and_twice_its_gradients_at_the_end() -> None:
    shared: dict[str, FactValue] = {"plan__distributed": "fsdp", "plan__fsdp_version": 1, "gpu__count": 4}
    layers, one = situation(**shared), situation(**shared, plan__fsdp_wrapped=False)
    weights = 2.0 * 494_032_768
    assert term(one, "loss", "weights") == pytest.approx(1.25 * weights)
    assert term(one, "backward of the embeddings", "gradients") == pytest.approx(2 * weights)
    assert term(layers, "loss", "weights") < 0.6 * term(one, "loss", "weights")
    # Alone it shards nothing, and fully_shard has no such unit.
    alone: dict[str, FactValue] = {**shared, "gpu__count": 1}
    assert situation(**alone, plan__fsdp_wrapped=False).estimate() == situation(**alone).estimate()
    second: dict[str, FactValue] = {**shared, "plan__fsdp_version": 2}
    assert situation(**second, plan__fsdp_wrapped=False).estimate() == situation(**second).estimate()


def test_weights_in_one_flat_parameter_with_an_adapter_have_gradients_too() -> None:
    shared: dict[str, FactValue] = {
        "plan__method": "lora",
        "plan__autocast_adapter_dtype": False,
        "plan__distributed": "fsdp",
        "plan__fsdp_version": 1,
        "gpu__count": 4,
    }
    inside = 2.0 * (494_032_768 - _VOCABULARY * _HIDDEN)

    def frozen(moment: str, **more: FactValue) -> float:
        return term(situation(**shared, **more, plan__trainer="litgpt"), moment, "gradients") - term(
            situation(**shared, **more, plan__trainer="transformers"), moment, "gradients"
        )

    # Whole while micro-batches add up, and shared out behind the last one.
    assert frozen("backward of the last layer", plan__gradient_accumulation=8) == pytest.approx(inside, rel=0.001)
    assert frozen("optimizer step", plan__gradient_accumulation=8) == pytest.approx(inside / 4, rel=0.001)
    assert frozen("backward of the loss", plan__gradient_accumulation=1) == 0
    assert frozen("optimizer step", plan__gradient_accumulation=1) == pytest.approx(inside / 4, rel=0.001)


@pytest.mark.parametrize(("name", "bytes_"), [("adam_mini", 2.0), ("adamw_torch", 4.0), ("came", 4.0), ("prodigy", 8.0)])
def test_optimizers_of_others_keep_what_their_code_keeps(name: str, bytes_: float) -> None:
    found = situation(plan__optimizer=name)
    assert term(found, "backward of the loss", "optimizer") == pytest.approx(bytes_ * 494_032_768, rel=0.01)


def test_litgpt_has_adapters_and_layers_of_its_own() -> None:
    """Adapters in the dtype of the weights, two tensors for a tied embedding, keys copied for every head, a loss of float32 logits
    without a third copy, and of batches of several rows a length that is only the cut."""
    adapted: dict[str, FactValue] = {"plan__method": "lora", "plan__trainer": "litgpt", "plan__gradient_checkpointing": False}
    found, peft = situation(**adapted), situation(**{**adapted, "plan__trainer": "transformers"})
    kept, usual = (one.estimate().moments[-1].terms for one in (found, peft))
    assert kept["adapters"] == pytest.approx(usual["adapters"] / 2)
    assert kept["weights"] - usual["weights"] == _VOCABULARY * _HIDDEN * 2
    assert term(found, "loss", "logits") == pytest.approx(2 * 8192 * _VOCABULARY * 8, rel=0.02)
    shared = situation(
        **{**adapted, "plan__trainer": "transformers", "plan__attn": "flash_attention_2", "plan__autocast_adapter_dtype": False}
    )
    more = term(found, "loss", "activations") - term(shared, "loss", "activations")
    assert more == pytest.approx(_LAYERS * 2 * 8192 * 4 * (_HIDDEN - _KEYS), rel=0.02)
    assert names(found) >= {"plan.seq_len"}
    assert "plan.seq_len" not in names(situation(**{**adapted, "plan__seq_len": 256}))


def test_litgpt_quantizes_the_output_layer_and_writes_it_out_for_the_loss() -> None:
    adapted: dict[str, FactValue] = {"plan__method": "qlora", "plan__quant": "4bit", "plan__trainer": "litgpt"}
    found = situation(**adapted)
    assert found.plan.upcast is False
    beside = term(found, "loss", "other") - term(found, "backward of the embeddings", "other")
    assert beside == pytest.approx(4 * _VOCABULARY * _HIDDEN, rel=0.01)


def test_compiled_layers_keep_what_their_products_put_out() -> None:
    """Counted in graphs that torch 2.13.0 partitions: inputs of norms as they are, gate and up without their activation, and for a
    matrix of scores as many bytes as for scores and probabilities."""
    plain, compiled = situation(plan__gradient_checkpointing=False), situation(plan__gradient_checkpointing=False, plan__compile=True)
    tokens = 2 * 8192
    less = term(plain, "loss", "activations") - term(compiled, "loss", "activations")
    # Two norms with a float32 copy and the normalised values, against their input alone; one of three copies in the network.
    assert less == pytest.approx(_LAYERS * tokens * (2 * (4 + 2 - 2) * _HIDDEN + 2 * _NETWORK), rel=0.02)
    matrix = _LAYERS * tokens * 8192 * _HEADS
    eager = situation(plan__gradient_checkpointing=False, plan__compile=True, plan__attn="eager")
    assert term(eager, "loss", "activations") - term(compiled, "loss", "activations") == pytest.approx(4 * matrix, rel=0.02)


def test_hopper_and_blackwell_have_the_larger_workspace_of_cublas() -> None:
    """32 MiB in the place of 8.125, for each of the two threads that multiply."""
    older, newer, unknown = situation(gpu__compute_capability="8.0"), situation(gpu__compute_capability="9.0"), situation()
    more = term(newer, "optimizer step", "other") - term(older, "optimizer step", "other")
    assert more == pytest.approx(2 * (32 - 8.125) * 2**20)
    assert term(unknown, "optimizer step", "other") == term(older, "optimizer step", "other")
