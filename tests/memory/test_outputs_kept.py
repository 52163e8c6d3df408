"""Logits that a plain loop holds, float32 beside k-bit preparation, and 16-bit copies of frozen weights."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.memory import kept, modeling, widths
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.closed_form import estimate
from envdoctor.memory.config import read_architecture
from envdoctor.memory.plan import Adapter, Plan, Stack
from tests.memory.models import QWEN_HALF_B
from tests.memory.test_closed_form import LORA

_QWEN = read_architecture(QWEN_HALF_B)
_PLAN = replace(LORA, autocast="bfloat16", rows=4, tokens=512, checkpointing=True, stack=Stack("2.13.0", "4.57.1", "0.17.1"))
_LOGITS = 151936 * 2 * 4 * 512


def total(plan: Plan, moment: str) -> float:
    return next(one.total for one in estimate(_QWEN, plan).moments if one.name == moment)


def test_kept_outputs_hold_the_logits_of_one_batch_at_every_moment_of_the_step() -> None:
    held = replace(_PLAN, outputs_kept=True)
    for moment in ("loss", "backward of the loss", "backward of the first layer", "optimizer step"):
        assert total(held, moment) - total(_PLAN, moment) == _LOGITS


def test_logits_that_the_model_itself_upcasts_are_held_in_float32() -> None:
    old = replace(_PLAN, stack=Stack("2.4.0", "4.44.2", "0.12.0"))
    assert total(replace(old, outputs_kept=True), "backward of the loss") - total(old, "backward of the loss") == 2 * _LOGITS


def test_k_bit_preparation_makes_the_network_float32_with_mixed_precision_and_without() -> None:
    # A 4-bit layer hands back the dtype that it was given, and the norm before it gives float32.
    prepared = replace(_PLAN, quant="4bit", upcast=True, checkpointing=False)
    mixed = kept.layer(_QWEN, prepared, ())["mlp"]
    assert mixed == kept.layer(_QWEN, replace(prepared, autocast=None), ())["mlp"]
    assert mixed == 2 * kept.layer(_QWEN, replace(prepared, upcast=False), ())["mlp"]
    assert mixed == 2 * kept.layer(_QWEN, replace(prepared, quant="gptq", upcast=False), ())["mlp"]


def test_mixed_precision_makes_a_quantized_network_float32_behind_a_layer_norm() -> None:
    sizes = {"hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 1000}
    norms = {kind: read_architecture({**sizes, "model_type": kind}) for kind in ("phi", "llama")}
    plan = replace(_PLAN, quant="4bit", checkpointing=False)
    assert {kind: widths.widths(one, plan).product for kind, one in norms.items()} == {"phi": 4, "llama": 2}
    assert widths.widths(norms["phi"], replace(plan, quant="none")).product == 2


def test_adapters_beside_4_bit_layers_share_their_input_under_autocast() -> None:
    adapter = replace(_PLAN.adapter or Adapter(8, ()), targets=("gate_proj", "up_proj"))
    plan = replace(_PLAN, adapter=adapter, checkpointing=False)
    both = [one for one in _QWEN.linears if one.name in adapter.targets]
    inputs = {quant: kept.layer(_QWEN, replace(plan, quant=quant), both)["adapters"] for quant in ("none", "4bit")}
    # peft casts the input for each of two adapters, but beside 4-bit layers leaves it to autocast, which finds 16 bits.
    assert inputs["none"] - inputs["4bit"] == 2 * _QWEN.hidden


def test_a_loop_of_ones_own_fills_a_cache_in_transformers_5_where_the_trainer_does_not() -> None:
    newer = replace(_PLAN, checkpointing=False, stack=Stack("2.13.0", "5.1.0", "0.18.0"))
    assert not modeling.fills_cache(_QWEN, newer)
    assert modeling.fills_cache(_QWEN, replace(newer, outputs_kept=True))
    assert modeling.fills_cache(_QWEN, replace(newer, stack=Stack("2.13.0", "4.57.1", "0.18.0")))


def test_a_tied_embedding_has_two_gradients_and_their_sum_and_one_more_of_earlier_batches() -> None:
    full = replace(_PLAN, method="full", adapter=None, autocast=None, tokens=128, rows=1, stack=Stack("2.13.0", "4.57.1"))
    untied = replace(_QWEN, tied=False)
    embedding = _QWEN.vocab * _QWEN.hidden * 2

    def gradients(architecture: Architecture, plan: Plan) -> float:
        moments = estimate(architecture, plan).moments
        return next(one for one in moments if one.name == "backward of the embeddings").terms["gradients"]

    alone, together = gradients(_QWEN, full), gradients(_QWEN, replace(full, accumulation=4))
    assert together - alone == embedding
    assert gradients(untied, replace(full, accumulation=4)) - gradients(untied, full) == embedding
    assert alone - gradients(untied, full) == embedding  # three instead of those of embedding and output layer
    mixed = replace(full, load_dtype="float32", autocast="bfloat16")
    assert gradients(_QWEN, mixed) == gradients(untied, mixed)  # a gradient that is cast is added up in place
    assert gradients(_QWEN, full) - gradients(_QWEN, replace(full, liger=True)) == embedding  # and one that a loss in chunks made


def test_opt_has_no_sdpa_before_4_46_and_makes_the_matrix_of_its_scores() -> None:
    opt = read_architecture({"model_type": "opt", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8, "ffn_dim": 2048,
                             "vocab_size": 1000})  # fmt: skip
    plans = {release: replace(_PLAN, attention="sdpa", stack=Stack("2.5.1", release)) for release in ("4.45.2", "4.46.0")}
    assert {release: modeling.makes_matrix(opt, plan) for release, plan in plans.items()} == {"4.45.2": True, "4.46.0": False}


def test_falcon_hands_its_probabilities_on_while_the_next_layer_makes_its_own() -> None:
    falcon = read_architecture({"model_type": "falcon", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8,
                                "num_kv_heads": 4, "new_decoder_architecture": True, "vocab_size": 1000})  # fmt: skip
    eager = replace(_PLAN, attention="eager")
    matrix = 8 * eager.tokens * eager.tokens * eager.rows
    moments = {one.name: one for one in estimate(falcon, eager).moments}
    assert moments["forward of the last layer"].terms["activations"] > 16 * matrix  # two in float32, its copy, and two of 16 bits
    assert "forward of the last layer" not in {one.name for one in estimate(falcon, replace(eager, attention="sdpa")).moments}


def test_bert_holds_its_probabilities_in_float32_while_its_network_is_computed() -> None:
    sizes = {"hidden_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 1000}
    bert = read_architecture({**sizes, "model_type": "bert", "attention_probs_dropout_prob": 0.1})
    adapter = replace(_PLAN.adapter or Adapter(8, ()), targets=("all-linear",))
    plan = replace(_PLAN, adapter=adapter, attention="eager", tokens=1024, stack=Stack("2.13.0", "5.23.0", "0.21.2"))
    moments = {one.name: one for one in estimate(bert, plan).moments}
    kept_by_two = 2 * (4 + 2 + 1 + 4) * 16 * 1024 / 2  # float32, its 16-bit copy and the mask, and what the layer holds
    assert moments["backward of the last layer"].terms["activations"] > kept_by_two * plan.rows * plan.tokens


def test_fsdp_alone_shards_nothing_and_gathers_nothing() -> None:
    alone = replace(_PLAN, sharding="fsdp", autocast=None)
    assert total(alone, "loss") == total(replace(alone, sharding="none"), "loss")
    assert total(replace(alone, gpus=2), "loss") > total(alone, "loss") / 2


def test_gemma_2_has_no_sdpa_from_transformers_5_21_on() -> None:
    gemma = read_architecture({"model_type": "gemma2", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8, "head_dim": 64,
                               "num_key_value_heads": 4, "intermediate_size": 2048, "vocab_size": 1000})  # fmt: skip
    plans = {release: replace(_PLAN, attention="sdpa", stack=Stack("2.13.0", release)) for release in ("4.57.1", "5.20.0", "5.21.0")}
    found = {release: modeling.makes_matrix(gemma, plan) for release, plan in plans.items()}
    assert found == {"4.57.1": False, "5.20.0": False, "5.21.0": True}


def test_autocast_copies_frozen_float32_weights_and_the_backward_waits_for_the_copies() -> None:
    plan = replace(_PLAN, checkpointing=False)
    narrow, wide = (total(replace(plan, load_dtype=dtype), "backward of the loss") for dtype in ("bfloat16", "float32"))
    checkpointed = total(replace(_PLAN, load_dtype="float32"), "backward of the loss")
    parameters = 494_032_768
    assert wide - narrow > 2 * parameters + 2 * 0.99 * parameters
    assert checkpointed < wide - 0.7 * 2 * parameters
