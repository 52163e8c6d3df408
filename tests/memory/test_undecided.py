"""What nobody stated and decides is named, with what it leaves open."""

from __future__ import annotations

import pytest

from envdoctor.facts.fact import FactValue, NotUnderstood
from envdoctor.facts.versions import Exact
from envdoctor.memory.config import read_architecture
from envdoctor.memory.fits import verdict
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.undecided import spanned, spanning, undecided, weigh
from envdoctor.records import replace
from tests.memory.models import QWEN_HALF_B, stated

_ALL: dict[str, FactValue] = {
    "plan.method": "lora",
    "plan.batch_size": 4,
    "plan.seq_len": 1024,
    "plan.gradient_checkpointing": True,
    "plan.load_dtype": "bfloat16",
    "plan.bf16": True,
    "packages.transformers": "==4.57.1",
}


def situation(**changed: FactValue) -> Planned:
    values = {**_ALL, **{name.replace("__", "."): value for name, value in changed.items()}}
    return planned(stated({name: value for name, value in values.items() if value != ""}), read_architecture(QWEN_HALF_B))


def names(found: Planned) -> set[str]:
    return {one.fact for one in undecided(found, found.estimate())}


def test_a_plan_that_states_what_decides_leaves_nothing_open() -> None:
    assert names(situation()) == set()


def test_an_adapter_that_facts_have_no_word_for_may_be_no_full_fine_tuning() -> None:
    def open_facts(words: str) -> set[str]:
        found = situation(plan__method=NotUnderstood(words), packages__torch="==2.8.0")
        return {one.fact for one in weigh(found, found.estimate())}

    for words in ("AdaLoRA", "LoHa", "vera", "fourier_ft", "LN-tuning"):
        assert "plan.method" not in open_facts(words), words
    assert "plan.method" in open_facts("a way of our own")


def test_each_fact_that_moves_the_answer_is_named_where_it_is_missing() -> None:
    assert names(situation(plan__batch_size="")) == {"plan.batch_size"}
    assert names(situation(plan__seq_len="")) == {"plan.seq_len"}
    assert names(situation(plan__seq_len=4096, plan__batch_size=1, plan__gradient_checkpointing="")) == {"plan.gradient_checkpointing"}


def test_a_length_at_which_a_trainer_cuts_is_no_length_of_the_rows() -> None:
    """A batch of several rows is as long as its longest one, and one row comes to the cut sooner or later."""
    long: dict[str, FactValue] = {"plan__seq_len": 8192, "plan__batch_size": 8, "plan__trainer": "ms-swift", "plan__packing": False}
    found = situation(**long)
    assert names(found) == {"plan.seq_len"}
    assert spanning(found.estimate(), undecided(found, found.estimate())).is_a_range
    assert names(situation(**{**long, "plan__batch_size": 1})) == set()
    assert names(situation(**{**long, "plan__packing": True})) == set()
    assert names(situation(**{**long, "plan__trainer": "transformers"})) == set()
    assert names(replace(found, counted=True)) == set()


def test_a_framework_with_layers_of_its_own_does_not_depend_on_the_release_of_transformers() -> None:
    """litgpt, torchtune and torchtitan read nothing of its modeling files."""
    for trainer, weighed in (("trl", True), ("litgpt", False), ("torchtune", False), ("torchtitan", False)):
        found = situation(packages__transformers="", plan__trainer=trainer)
        assert ("packages.transformers" in {one.fact for one in weigh(found, found.estimate())}) is weighed


def test_what_a_loop_of_ones_own_keeps_is_open() -> None:
    rows: dict[str, FactValue] = {"plan__gradient_checkpointing": True, "plan__fused_loss": "cross_entropy", "plan__batch_size": 8}
    assert "plan.outputs_kept" in names(situation(**rows))
    assert "plan.outputs_kept" not in names(situation(**rows, plan__outputs_kept=False))
    assert "plan.outputs_kept" not in names(situation(**rows, plan__trainer="trl"))


def test_an_optimizer_that_is_not_known_is_open_and_one_that_is_known_is_counted() -> None:
    unknown = situation(plan__method="full", plan__optimizer="shampoo", plan__batch_size=1)
    assert "plan.optimizer" in names(unknown)
    spanned = spanning(unknown.estimate(), undecided(unknown, unknown.estimate()))
    for name in ("sgd", "prodigy"):
        known = situation(plan__method="full", plan__optimizer=name, plan__batch_size=1)
        assert names(known) == set()
        assert spanned.allocated.low <= known.estimate().allocated.expected <= spanned.allocated.high
    # Of an adapter nothing depends on it.
    assert names(situation(plan__optimizer="shampoo", plan__batch_size=1)) == set()


def test_how_a_loop_of_ones_own_takes_its_loss_is_open() -> None:
    own: dict[str, FactValue] = {"plan__trainer": "own", "plan__outputs_kept": False, "plan__bf16": False}
    assert names(situation(**own)) == {"plan.loss_upcast"}
    assert names(situation(**own, plan__loss_upcast=False)) == set()
    # Autocast computes it in float32 either way.
    assert names(situation(**{**own, "plan__bf16": True})) == set()


def test_a_quantized_model_may_be_checkpointed_by_its_preparation() -> None:
    unsaid: dict[str, FactValue] = {
        "plan__method": "qlora",
        "plan__seq_len": 4096,
        "plan__batch_size": 1,
        "plan__gradient_checkpointing": "",
        "plan__kbit_preparation": True,
    }
    assert "plan.gradient_checkpointing" in names(situation(**unsaid, plan__trainer="transformers"))
    assert "plan.gradient_checkpointing" not in names(situation(**{**unsaid, "plan__method": "lora"}, plan__trainer="transformers"))
    assert "plan.gradient_checkpointing" not in names(situation(**unsaid, plan__trainer="axolotl"))


def test_trl_checkpoints_from_one_release_on_and_without_a_release_it_is_open() -> None:
    unsaid: dict[str, FactValue] = {
        "plan__seq_len": 4096,
        "plan__batch_size": 1,
        "plan__gradient_checkpointing": "",
        "plan__trainer": "trl",
    }
    assert "plan.gradient_checkpointing" in names(situation(**unsaid))
    later, before = situation(**unsaid, packages__trl="==0.24.0"), situation(**unsaid, packages__trl="==0.20.0")
    assert (later.plan.checkpointing, before.plan.checkpointing) == (True, False)
    assert "plan.gradient_checkpointing" not in names(later) | names(before)


def test_a_trainer_that_checkpoints_selectively_leaves_open_how() -> None:
    titan: dict[str, FactValue] = {"plan__method": "full", "plan__trainer": "torchtitan", "plan__seq_len": 8192}
    assert "plan.selective_checkpointing" in names(situation(**titan))
    assert "plan.selective_checkpointing" not in names(situation(**titan, plan__selective_checkpointing="op"))


def test_what_a_trainer_decides_is_not_open() -> None:
    assert names(situation(plan__seq_len=4096, plan__batch_size=1, plan__gradient_checkpointing="", plan__trainer="transformers")) == set()


def test_mixed_precision_decides_little_beside_weights_that_were_made_float32() -> None:
    # 4-bit layers hand back float32 with it and without.
    qlora = situation(plan__method="qlora", plan__bf16="", plan__batch_size=1, plan__gradient_checkpointing=False)
    assert "plan.bf16" not in names(qlora)


def test_a_way_of_sharing_that_is_not_modelled_is_open() -> None:
    tensor = situation(plan__method="full", plan__distributed="tensor_parallel", gpu__count=4, plan__batch_size=1, plan__seq_len=128)
    assert "plan.distributed" in names(tensor)
    assert "plan.distributed" not in names(situation(plan__method="full", plan__distributed="fsdp", gpu__count=4))
    unstated: dict[str, FactValue] = {"plan__method": "full", "gpu__count": 4, "plan__batch_size": 1, "plan__seq_len": 128}
    assert "plan.distributed" in names(situation(**unstated))
    assert "plan.distributed" not in names(situation(**unstated, plan__trainer="transformers"))
    spanned = spanning(tensor.estimate(), undecided(tensor, tensor.estimate()))
    assert verdict(spanned, 0.8 * tensor.estimate().allocated.expected).fits == "unknown"


def test_the_range_holds_every_value_and_decides_nothing_between() -> None:
    one = situation(plan__batch_size="")
    computed = one.estimate()
    spanned = spanning(computed, undecided(one, computed))
    eight = one.estimate_with({"plan.batch_size": 8}).allocated.expected
    assert spanned.allocated.low <= computed.allocated.expected < eight <= spanned.allocated.high
    assert verdict(spanned, (computed.allocated.expected + eight) / 2).fits == "unknown"
    assert verdict(spanned, 4 * eight).fits == "yes"


def test_releases_that_nobody_states_are_open_where_they_decide() -> None:
    eager: dict[str, FactValue] = {
        "plan__seq_len": 4096,
        "plan__batch_size": 1,
        "plan__gradient_checkpointing": False,
        "model__type": "llama",
    }
    assert "packages.transformers" in names(situation(packages__transformers="", **eager))
    assert "packages.transformers" not in names(
        situation(packages__transformers="", plan__attn="flash_attention_2", plan__liger=True, **eager)
    )
    assert "packages.transformers" not in names(situation(**eager))


@pytest.mark.parametrize(("kind", "open_one"), [("llama", "4.35.2"), ("qwen2", "4.37.0"), ("gemma3_text", "4.50.0"), ("qwen3_5_text", "")])
def test_no_release_is_open_that_does_not_know_the_model(kind: str, open_one: str) -> None:
    """The first transformers with sdpa is older than the first with Qwen2, and no TRL of before 0.27.2 goes with Qwen3.5's."""
    found = situation(packages__transformers="", model__type=kind, plan__trainer="trl")
    assert min(earlier(found), default="") == open_one
    of_trl = next(one.taken for one in weigh(found, found.estimate()) if one.fact == "packages.trl")
    assert isinstance(of_trl, Exact)
    assert of_trl.text == ("0.18.2" if open_one else "0.27.2")
    # A snapshot's own code runs beside any release.
    own = situation(packages__transformers="", model__type=kind, plan__trainer="trl", model__own_config=True)
    assert min(earlier(own)) == "4.35.2"


def earlier(found: Planned) -> list[str]:
    """The earlier releases of transformers that are left open."""
    weighed = weigh(found, found.estimate())
    return [other.text for one in weighed if one.fact == "packages.transformers" for other in one.others if isinstance(other, Exact)]


def test_a_model_that_only_new_releases_know_is_trained_as_a_new_trl_does() -> None:
    """It leaves a quantized model as it is, makes adapters 16 bits and computes in bfloat16 without being told."""
    new = situation(packages__transformers="", model__type="qwen3_5_text", plan__trainer="trl", plan__method="qlora", plan__bf16="")
    old = situation(packages__transformers="", model__type="qwen3", plan__trainer="trl", plan__method="qlora", plan__bf16="")
    assert (new.plan.upcast, new.plan.autocast) == (False, "bfloat16")
    assert (old.plan.upcast, old.plan.autocast) == (True, None)
    assert situation(packages__transformers="==5.4.0", model__type="qwen3", plan__trainer="trl", plan__method="qlora").plan.upcast is False


def test_a_model_that_came_later_was_not_trained_in_2023() -> None:
    """A configuration that a later release wrote, or a model that one brought, or a trainer of later."""
    unsaid: dict[str, FactValue] = {
        "packages__transformers": "",
        "plan__method": "qlora",
        "plan__kbit_preparation": True,
        "plan__trainer": "trl",
    }
    for told in ({"model__type": "qwen3"}, {"model__transformers_version": "==4.43.0"}, {"packages__trl": "==0.9.6"}):
        found = situation(**{**unsaid, "model__type": "llama", **told})
        assert spanning(found.estimate(), weigh(found, found.estimate())).allocated.high < 1.6 * found.estimate().allocated.expected
    first = situation(**{**unsaid, "model__type": "llama", "model__transformers_version": "==4.28.1"})
    assert spanning(first.estimate(), weigh(first, first.estimate())).allocated.high > 1.6 * first.estimate().allocated.expected


def test_a_quantized_model_beside_releases_that_nobody_states_leaves_room_for_those_of_2023() -> None:
    qlora = situation(packages__transformers="", plan__method="qlora", plan__kbit_preparation=True)
    computed = qlora.estimate()
    high = spanning(computed, undecided(qlora, computed)).allocated.high
    assert high > 1.6 * computed.allocated.expected
    known = situation(plan__method="qlora", plan__kbit_preparation=True)
    assert spanning(known.estimate(), undecided(known, known.estimate())).allocated.high < 1.3 * known.estimate().allocated.expected


def test_what_trainers_leave_in_16_bits_is_not_taken_for_prepared() -> None:
    of_peft, of_factory = situation(plan__method="qlora"), situation(plan__method="qlora", plan__trainer="llamafactory")
    assert of_peft.plan.upcast
    assert not of_factory.plan.upcast
    assert "plan.kbit_preparation" in {one.fact for one in of_peft.assumptions}
    assert "plan.kbit_preparation" not in {one.fact for one in of_factory.assumptions}
    assert situation(plan__method="qlora", plan__trainer="llamafactory", plan__kbit_preparation=True).plan.upcast
    assert not situation(plan__method="qlora", plan__trainer="ms-swift").plan.upcast


def test_a_pack_of_ms_swift_has_both_answers_in_its_length() -> None:
    pairs: dict[str, FactValue] = {"plan__method": "dpo", "plan__batch_size": 1, "plan__trainer": "ms-swift"}
    assert situation(**pairs, plan__packing=True).plan.rows == 1
    assert situation(**pairs, plan__packing=False).plan.rows == 2
    assert situation(**{**pairs, "plan__trainer": "trl"}, plan__packing=True).plan.rows == 2


def test_a_range_of_more_than_twice_is_the_answer_and_no_figure_in_it() -> None:
    one = situation(plan__batch_size="")
    computed = one.estimate()
    assert not computed.is_a_range
    spanned = spanning(computed, undecided(one, computed))
    assert spanned.allocated.high > 2 * spanned.allocated.low
    assert spanned.is_a_range


def test_a_loop_of_ones_own_may_give_the_attention_keys_for_every_head() -> None:
    """In float32 no fused kernel takes fewer heads of keys than of queries; the figure is that of transformers' own way."""
    facts: dict[str, FactValue] = {
        "plan__load_dtype": "float32", "plan__bf16": False, "plan__fp16": False, "plan__attn": "sdpa", "plan__padding": False,
        "packages__torch": "==2.10.0", "plan__seq_len": 4096, "plan__batch_size": 1, "plan__liger": True,
    }  # fmt: skip
    own, trained = situation(**facts).estimate(), situation(**facts, plan__trainer="transformers").estimate()
    assert own.allocated.expected == trained.allocated.expected
    assert own.allocated.low < trained.allocated.low


def test_segments_that_grow_leave_little_in_the_cache() -> None:
    """``PYTORCH_CUDA_ALLOC_CONF`` of a script, or of torchtitan's run_train.sh."""
    setting = "env:PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    plain = situation(plan__method="full").estimate().reserved
    for found in (situation(plan__method="full", plan__code_uses=(setting,)), situation(plan__method="full", plan__trainer="torchtitan")):
        grown = found.estimate()
        assert grown.reserved.expected < plain.expected
        assert grown.reserved.expected >= grown.allocated.expected


def test_a_fact_that_is_open_and_does_not_decide_widens_the_range_and_is_not_named() -> None:
    """Logits that a loop may hold are 15 % of this run: no figure of them is named, and the high end holds them."""
    of: dict[str, FactValue] = {"plan__lora_targets": ("q_proj",), "plan__attn": "sdpa"}
    known, open_ = situation(**of, plan__outputs_kept=False), situation(**of)
    assert not names(open_)
    narrow, wide = (spanning(one.estimate(), weigh(one, one.estimate())) for one in (known, open_))
    assert narrow.allocated.high == known.estimate().allocated.high
    assert not wide.guessed
    assert wide.allocated.expected == narrow.allocated.expected
    assert wide.allocated.high == pytest.approx(1.15 * narrow.allocated.high, rel=0.02)
    assert wide.allocated.low == narrow.allocated.low


def test_the_longest_of_several_rows_may_be_shorter_than_what_is_stated() -> None:
    of: dict[str, FactValue] = {"plan__lora_targets": ("q_proj",), "plan__outputs_kept": False}
    for open_, less in (
        (situation(**of), True),
        (situation(**of, plan__batch_size=1), False),
        (situation(**of, plan__packing=True), False),
    ):
        computed = open_.estimate()
        spanned = spanning(computed, weigh(open_, computed))
        assert (spanned.allocated.low < 0.95 * computed.allocated.low) is less
        assert (spanned.reserved.low < 0.95 * computed.reserved.low) is less
        assert spanned.allocated.high == computed.allocated.high


def test_checkpointing_that_spares_something_in_words_is_open() -> None:
    rows: dict[str, FactValue] = {"plan__method": "full", "plan__batch_size": 8, "plan__seq_len": 4096, "plan__liger": True}
    assert "plan.selective_checkpointing" in names(situation(**rows, plan__selective_checkpointing="the attention of every layer"))
    assert "plan.selective_checkpointing" not in names(situation(**rows, plan__selective_checkpointing="2"))


def test_no_range_is_narrower_than_what_adapters_of_one_source_left_open() -> None:
    """Beside float32 adapters on short rows everything is counted to the byte, and was 2 to 5 % lower when it ran."""
    short = situation(plan__seq_len=25, plan__batch_size=2, plan__lora_targets=("all-linear",)).estimate().allocated
    assert short.high >= 1.05 * short.expected
    assert short.low <= 0.97 * short.expected


@pytest.mark.parametrize(
    ("facts", "cut"),
    [
        ({"plan__trainer": "unsloth"}, True),
        ({"plan__trainer": "trl", "plan__padding": False}, True),
        ({"plan__trainer": "unsloth", "plan__padding": True}, True),
        ({"plan__trainer": "unsloth", "plan__padding": True, "plan__seq_len": 2048}, False),
        ({"plan__trainer": "unsloth", "plan__packing": True}, False),
        ({"plan__trainer": "trl"}, False),
        ({"plan__trainer": "transformers", "plan__padding": False}, False),
    ],
)
def test_the_length_of_trl_and_unsloth_is_a_cut_where_rows_are_neither_packed_nor_padded(facts: dict[str, FactValue], cut: bool) -> None:
    long: dict[str, FactValue] = {"plan__seq_len": 8192, "plan__batch_size": 8, "packages__trl": "==0.24.0"}
    found = situation(**{**long, "packages__unsloth": "==2026.10.9", **facts})
    assert any(one.fact == "plan.seq_len" and one.others for one in weigh(found, found.estimate())) is cut


def test_a_model_that_no_card_holds_whole_is_rather_shared_out() -> None:
    """Three GPUs of 80 GB trained Llama-2-7B in full, and nobody said how (benchmarks/unseen/memory-7.json, 61)."""
    large: dict[str, FactValue] = {"plan__method": "full", "gpu__count": 4, "plan__trainer": "transformers", "plan__load_dtype": "float32"}
    assert "plan.distributed" in names(situation(**large, gpu__memory_gib=6))
    assert "plan.distributed" not in names(situation(**large, gpu__memory_gib=80))
    assert "plan.distributed" not in names(situation(**large, gpu__memory_gib=6, plan__distributed="ddp"))


def test_the_ranks_that_megatron_cuts_a_layer_among_are_open_until_they_are_stated() -> None:
    megatron: dict[str, FactValue] = {"plan__method": "full", "plan__distributed": "megatron", "gpu__count": 8, "plan__load_dtype": ""}
    found = situation(**megatron)
    assert "plan.tensor_parallel" in names(found)
    assert spanning(found.estimate(), undecided(found, found.estimate())).is_a_range
    assert "plan.tensor_parallel" not in names(situation(**megatron, plan__tensor_parallel=2))


def test_what_is_not_known_may_come_together() -> None:
    """What is known neither by its dtype nor by its release may be float32 under one that has no fused attention."""
    found = situation(plan__load_dtype="", plan__bf16="", packages__transformers="", plan__gradient_checkpointing=False, plan__seq_len=4096)
    computed = found.estimate()
    weighed = weigh(found, computed)
    alone, together = spanning(computed, weighed), spanned(found, computed, weighed)
    assert len([one for one in weighed if one.decides and one.most is not None]) > 1
    assert together.allocated.high > 1.05 * alone.allocated.high
    assert together.allocated.expected == alone.allocated.expected
    one = situation(plan__seq_len="")
    assert spanned(one, one.estimate(), weigh(one, one.estimate())) == spanning(one.estimate(), weigh(one, one.estimate()))


def test_whether_prime_rl_makes_the_logits_at_once_is_a_setting() -> None:
    rl: dict[str, FactValue] = {"plan__trainer": "prime-rl", "plan__seq_len": 65536, "plan__batch_size": 1}
    assert names(situation(**rl)) == {"plan.fused_loss"}
    assert names(situation(**rl, plan__fused_loss="none")) == set()


def test_how_a_loss_of_ones_own_takes_the_logits_is_open_where_they_decide() -> None:
    own: dict[str, FactValue] = {"plan__trainer": "own", "plan__loss_upcast": True, "plan__batch_size": 8, "plan__seq_len": 1024}
    checkpointed: dict[str, FactValue] = {**own, "plan__gradient_checkpointing": True, "plan__outputs_kept": False}
    asked = situation(**checkpointed)
    assert "plan.fused_loss" in names(asked)
    found = next(one for one in undecided(asked, asked.estimate()) if one.fact == "plan.fused_loss")
    assert (found.taken, found.least) == ("none", "linear_cross_entropy")
    assert "plan.fused_loss" not in names(situation(**checkpointed, plan__fused_loss="none"))
    assert "plan.fused_loss" not in names(situation(**{**checkpointed, "plan__trainer": "trl"}))


def test_unsloths_loader_does_not_decide_whether_a_run_is_checkpointed() -> None:
    """Its trainers of 2025.12 and later take the arguments', which TRL leaves off before 0.22: 6.2 GiB where 3.6 had been told
    (benchmarks/unseen/memory-6.json, 77)."""
    loaded: dict[str, FactValue] = {"plan__trainer": "unsloth", "plan__gradient_checkpointing": True, "packages__unsloth": "==2026.5.2"}
    older = situation(**loaded, packages__trl="==0.15.2")
    weighed = {one.fact: one for one in weigh(older, older.estimate())}
    assert not older.plan.checkpointing
    assert weighed["plan.gradient_checkpointing"].others == (True,)
    assert weighed["plan.gradient_checkpointing"].allocated.low < 0.8 * older.estimate().allocated.expected
    # Nothing is open with a TRL that checkpoints by itself, an Unsloth that listens to its loader alone, or where somebody says how it is.
    for other in ({"packages__trl": "==0.24.0"}, {"packages__trl": "==0.15.2", "packages__unsloth": "==2025.11.1"}):
        known = situation(**{**loaded, **other})
        assert known.plan.checkpointing
        assert "plan.gradient_checkpointing" not in {one.fact for one in weigh(known, known.estimate())}
    told = stated({"plan.gradient_checkpointing": True}, "--set")
    facts = older.stated.with_facts(told[name] for name in told)
    assert planned(facts, older.architecture).plan.checkpointing
    # Of an Unsloth that nobody states it is open, and counted as it was asked for.
    unsaid = situation(**{**loaded, "packages__unsloth": "", "packages__trl": "==0.15.2"})
    assert unsaid.plan.checkpointing
    assert "plan.gradient_checkpointing" in {one.fact for one in weigh(unsaid, unsaid.estimate())}
