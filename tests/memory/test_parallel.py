"""Plans whose layers, experts or tokens several ranks share: what one of them has."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from sys import path

import pytest

from envdoctor.facts.fact import FactValue
from envdoctor.memory.config import read_architecture
from envdoctor.memory.parameters import parameters
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.undecided import deciding, weigh
from tests.memory.models import stated

DENSE: dict[str, object] = {
    "model_type": "qwen3",
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 32000,
    "tie_word_embeddings": False,
}
SPARSE: dict[str, object] = {
    **DENSE,
    "model_type": "qwen3_moe",
    "moe_intermediate_size": 512,
    "num_experts": 32,
    "num_experts_per_tok": 4,
}
GIB = 2**30
ROOT = Path(__file__).resolve().parents[2]
path.insert(0, str(ROOT / "scripts"))


def situation(config: dict[str, object], **facts: FactValue) -> Planned:
    given: dict[str, FactValue] = {
        "plan__method": "full",
        "plan__trainer": "ms-swift",
        "plan__distributed": "megatron",
        "plan__load_dtype": "bfloat16",
        "plan__bf16": True,
        "plan__batch_size": 1,
        "plan__seq_len": 8192,
        "plan__packing": True,
        "plan__gradient_checkpointing": True,
        "plan__gradient_accumulation": 8,
        "plan__tensor_parallel": 1,
        "plan__attn": "flash_attention_2",
        "gpu__count": 8,
        **facts,
    }
    return planned(stated({name.replace("__", "."): value for name, value in given.items()}), read_architecture(config))


def weights(one: Planned) -> float:
    return one.estimate().peak.terms["weights"]


def test_a_rank_has_its_part_of_the_experts_and_all_of_the_rest() -> None:
    counted = parameters(read_architecture(SPARSE))
    experts = 8 * 32 * 3 * 1024 * 512
    alone, shared = situation(SPARSE), situation(SPARSE, plan__expert_parallel=8)
    assert weights(alone) == pytest.approx(counted.total * 2)
    assert weights(shared) == pytest.approx((counted.total - experts * 7 / 8) * 2)
    # States are shared out among all ranks whichever have the same experts.
    terms = [one.estimate().peak.terms for one in (alone, shared)]
    assert terms[0]["optimizer"] == pytest.approx(terms[1]["optimizer"])
    assert terms[0]["activations"] == pytest.approx(terms[1]["activations"], rel=0.05)


def test_ranks_that_share_a_layer_and_its_tokens_have_their_part_of_both() -> None:
    whole = situation(DENSE, gpu__count=2)
    cut = situation(DENSE, gpu__count=16, plan__tensor_parallel=8, plan__sequence_parallel=True)
    assert (whole.plan.tokens, cut.plan.tokens, cut.plan.gpus) == (8192, 1024, 2)
    for term in ("weights", "gradients", "optimizer", "activations", "logits"):
        assert cut.estimate().peak.terms[term] == pytest.approx(whole.estimate().peak.terms[term] / 8, rel=0.02)
    # Experts are cut by neither: as many ranks have others.
    sparse = situation(SPARSE, plan__tensor_parallel=8, plan__expert_parallel=8)
    assert sparse.plan.spread
    assert weights(sparse) < weights(situation(SPARSE)) / 7


def test_whether_ranks_share_the_tokens_is_open_until_it_is_stated() -> None:
    long: dict[str, FactValue] = {"plan__tensor_parallel": 8, "plan__gradient_checkpointing": False, "plan__seq_len": 32768}
    unsaid, said = situation(DENSE, **long), situation(DENSE, **long, plan__sequence_parallel=False)
    assert "plan.sequence_parallel" in {one.fact for one in deciding(weigh(unsaid, unsaid.estimate()))}
    assert not deciding(weigh(said, said.estimate()))


def test_of_stages_the_fullest_is_told() -> None:
    whole, two = situation(DENSE, gpu__count=2), situation(DENSE, gpu__count=4, plan__pipeline_parallel=2)
    # The last one has half of the layers, the output layer and the logits; the first keeps two micro-batches.
    assert weights(two) == pytest.approx((weights(whole) - 2 * 32000 * 1024) / 2 + 32000 * 1024, rel=0.01)
    assert two.estimate().peak.terms["logits"] == pytest.approx(whole.estimate().peak.terms["logits"], rel=0.01)
    kept: dict[str, FactValue] = {"plan__gradient_checkpointing": False, "plan__seq_len": 16384}
    deep = situation({**DENSE, "vocab_size": 1000}, gpu__count=4, plan__pipeline_parallel=2, **kept).estimate()
    flat = situation({**DENSE, "vocab_size": 1000}, gpu__count=2, **kept).estimate()
    assert "logits" not in deep.peak.terms
    assert deep.peak.terms["activations"] == pytest.approx(flat.peak.terms["activations"], rel=0.1)


@pytest.mark.parametrize("number", [85, 86, 87, 88])
def test_stages_of_a_loop_of_ones_own_are_met(number: int) -> None:
    """fairscale's Pipe over four A100, 125M to 6.7B parameters: 1.6 to 17 GiB on the fullest (benchmarks/unseen/memory-11.json)."""
    case = {one.number: one for one in import_module("memory_cases").load(ROOT / "benchmarks" / "unseen" / "memory-11.json")}[number]
    facts = {f"{table}.{name}": value for table, values in case.facts.items() for name, value in values.items()}
    found = planned(stated(facts), read_architecture(case.config))
    assert found.estimate().allocated.expected == pytest.approx(case.measured * GIB, rel=0.03)
    assert "plan.pipeline_parallel" not in {one.fact for one in weigh(found, found.estimate())}
    # Three GPUs have no four stages, and beside ZeRO nobody has read what a stage shares out.
    for other in ({"gpu.count": 3}, {"plan.distributed": "zero3"}):
        assert planned(stated({**facts, **other}), read_architecture(case.config)).plan.pipeline == 1


def test_a_plan_with_stages_has_a_gpu_for_each_where_nobody_counts_them() -> None:
    told: dict[str, FactValue] = {"plan__distributed": "none", "plan__trainer": "own", "plan__pipeline_parallel": 4}
    counted, unsaid = situation(DENSE, **told, gpu__count=4), situation(DENSE, **{**told, "gpu__count": ""})
    assert unsaid.estimate().allocated == counted.estimate().allocated


def test_more_stages_never_take_more() -> None:
    one, two, four = (
        situation(DENSE, plan__distributed="none", plan__trainer="own", gpu__count=stages, plan__pipeline_parallel=stages).estimate()
        for stages in (1, 2, 4)
    )
    assert one.allocated.expected >= two.allocated.expected >= four.allocated.expected


def test_a_row_whose_tokens_are_shared_out_is_as_long_as_one_rank_s_part() -> None:
    more: dict[str, FactValue] = {
        "plan__distributed": "zero3",
        "plan__context_parallel": 8,
        "plan__seq_len": 65536,
        "plan__fused_loss": "linear_cross_entropy",
    }
    shared, short = situation(DENSE, **more), situation(DENSE, **{**more, "plan__context_parallel": 1, "plan__seq_len": 8192})
    assert shared.estimate().allocated.expected == short.estimate().allocated.expected
    # What the exchange holds is in the range alone, and a verdict inside of it is not given.
    assert shared.estimate().allocated.high > short.estimate().allocated.high
    assert shared.estimate().guessed
    # torch's own way gathers the keys and values of the whole row.
    sharded: dict[str, FactValue] = {**more, "plan__distributed": "fsdp", "plan__fsdp_version": 2}
    theirs, swifts = (situation(DENSE, **sharded, plan__trainer=name).estimate() for name in ("trl", "ms-swift"))
    gathered = theirs.peak.terms["activations"] - swifts.peak.terms["activations"]
    assert theirs.peak.name == "backward of the last layer"
    assert gathered == pytest.approx(4 * 8 * 64 * 65536, rel=0.01)
    # Eight ranks are not to be had of two.
    assert situation(DENSE, **{**more, "gpu__count": 2}).plan.context == 1


def test_adapters_stand_beside_the_products_that_megatron_names() -> None:
    named: dict[str, FactValue] = {"plan__method": "lora", "plan__lora_r": 8, "plan__trainer": "megatron-bridge"}
    fused = situation(DENSE, **named, plan__lora_targets=("linear_qkv", "linear_proj"))
    apart = situation(DENSE, **named, plan__lora_targets=("q_proj", "k_proj", "v_proj", "o_proj"))
    assert fused.estimate().peak.terms["adapters"] == apart.estimate().peak.terms["adapters"] > 0


def test_a_compiled_loss_has_a_copy_of_its_softmax_in_the_backward() -> None:
    theirs, swifts = (situation(DENSE, plan__trainer=name).estimate().peak.terms["logits"] for name in ("megatron-bridge", "ms-swift"))
    assert swifts - theirs == pytest.approx(4 * 8192 * 32000)


def test_which_loss_megatron_computes_is_open_until_it_is_stated() -> None:
    def open_facts(**facts: FactValue) -> set[str]:
        asked = situation({**DENSE, "vocab_size": 256000}, **facts)
        return {one.fact for one in deciding(weigh(asked, asked.estimate()))}

    assert open_facts() == {"plan.fused_loss"}
    assert open_facts(plan__fused_loss="cross_entropy") == set()


def test_several_ranks_of_megatron_have_more_beside_what_torch_holds() -> None:
    one, eight = situation(DENSE, gpu__count=1), situation(DENSE, plan__tensor_parallel=8)
    assert one.estimate().beside.high < 2 * GIB < 6 * GIB < eight.estimate().beside.high


def test_a_frozen_copy_is_cut_as_the_model_is() -> None:
    whole = situation(DENSE, gpu__count=2, plan__objective="dpo").estimate().peak.terms["weights"]
    cut = situation(DENSE, gpu__count=16, plan__objective="dpo", plan__tensor_parallel=8, plan__sequence_parallel=True).estimate()
    assert cut.peak.terms["weights"] == pytest.approx(whole / 8, rel=0.02)


def test_a_reward_is_one_number_for_each_row_and_no_logits() -> None:
    facts: dict[str, FactValue] = {"plan__distributed": "none", "gpu__count": 1, "plan__objective": "reward"}

    def logits(trainer: str) -> float:
        return max(moment.terms.get("logits", 0.0) for moment in situation(DENSE, **facts, plan__trainer=trainer).estimate().moments)

    assert logits("trl") < 0.1 * logits("llamafactory")


@pytest.mark.parametrize(
    ("uses", "spared"),
    [
        (("transformers.AutoModelForSequenceClassification.from_pretrained(num_labels=4)",), True),
        (("transformers.AutoModelForTokenClassification",), True),
        (("transformers.models.llama.LlamaForSequenceClassification.from_pretrained",), True),
        (("transformers.AutoModelForSequenceClassification", "transformers.AutoModelForCausalLM.from_pretrained"), False),
        (("transformers.AutoModel.from_pretrained",), True),
        (("transformers.AutoModel",), True),
        (("transformers.AutoModel.from_pretrained", "transformers.AutoModelForCausalLM"), False),
        (("transformers.AutoModel.from_pretrained", "peft.AutoPeftModelForCausalLM.from_pretrained"), False),
        (("transformers.AutoModel.from_pretrained", "trl.SFTTrainer"), False),
        (("transformers.AutoModelForCausalLM.from_pretrained",), False),
        (("transformers.AutoModelForSeq2SeqLM",), False),
        ((), False),
    ],
)
def test_a_script_that_loads_a_model_to_classify_has_no_logits_over_the_vocabulary(uses: tuple[str, ...], spared: bool) -> None:
    facts: dict[str, FactValue] = {"plan__distributed": "none", "gpu__count": 1, "plan__trainer": "transformers"}

    def logits(**more: FactValue) -> float:
        return max(moment.terms.get("logits", 0.0) for moment in situation(DENSE, **facts, **more).estimate().moments)

    assert (logits(plan__code_uses=uses) < 0.1 * logits()) is spared


def test_adapters_of_merged_experts_have_twice_the_rank_beside_gate_and_up() -> None:
    """Counted in peft 0.21.2 with transformers 5.25.0: three layers of Mixtral-8x7B with adapters of rank 256 have 2,058 MiB of float32."""
    mixtral: dict[str, object] = {
        **DENSE,
        "model_type": "mixtral",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 3,
        "num_attention_heads": 32,
        "head_dim": 128,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
    }
    facts: dict[str, FactValue] = {
        "plan__method": "lora", "plan__lora_r": 256, "plan__lora_targets": ("all-linear",), "plan__distributed": "none", "gpu__count": 1,
        "plan__trainer": "transformers", "plan__bf16": False, "packages__transformers": "==5.25.0",
    }  # fmt: skip
    joined, apart = situation(mixtral, **facts, packages__peft="==0.21.2"), situation(mixtral, **facts, packages__peft="==0.18.0")
    assert joined.estimate().peak.terms["adapters"] / 2**20 == pytest.approx(2058, rel=0.001)
    # Before experts have adapters, the attention and the router alone have.
    assert apart.estimate().peak.terms["adapters"] / 2**20 == pytest.approx(3 * 256 * 4 * (2 * 8192 + 2 * 5120 + 4096 + 8) / 2**20)
