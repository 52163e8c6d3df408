"""Published measurements as situations, and what the score says of them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import NotUnderstood
from envdoctor.facts.values import flatten, parse_value
from envdoctor.facts.vocabulary import term
from envdoctor.files.toml import parse_toml
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import Range
from envdoctor.memory.parameters import parameters
from tests.each import each

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))
memory_cases = import_module("memory_cases")
memory_configs = import_module("memory_configs")
memory_page = import_module("memory_page")
memory_rows = import_module("memory_rows")
score_memory = import_module("score_memory")

CASES = memory_cases.load(score_memory.KEPT)

# Sizes as a row gives them: hidden, layers, heads, key heads, ffn, vocabulary, tied; and the parameters that the model's page names.
PUBLISHED: Mapping[str, tuple[int, int, int, int, int, int, bool | None, int]] = {
    "mistralai/Mistral-7B-v0.1": (4096, 32, 32, 8, 14336, 32000, False, 7_241_732_096),
    "mistralai/Mixtral-8x7B-Instruct-v0.1": (4096, 32, 32, 8, 14336, 32000, False, 46_702_792_704),
    "NousResearch/Llama-2-70b-hf": (8192, 80, 64, 8, 28672, 32000, False, 68_976_648_192),
    "codellama/CodeLlama-34b-hf": (8192, 48, 64, 8, 22016, 32000, False, 33_743_970_304),
    "meta-llama/Llama-3.1-405B": (16384, 126, 128, 8, 53248, 128256, False, 405_853_388_800),
    "meta-llama/Llama-3.2-3B": (3072, 28, 24, 8, 8192, 128256, True, 3_212_749_824),
    "bigcode/gpt_bigcode-santacoder": (2048, 24, 16, 1, 8192, 49280, True, 1_124_886_528),
    "Qwen/Qwen-1_8B": (2048, 24, 16, 16, 5504, 151936, False, 1_836_828_672),
    "Qwen/Qwen-7B": (4096, 32, 32, 32, 11008, 151936, False, 7_721_324_544),
    "Qwen/Qwen2.5-0.5B": (896, 24, 14, 2, 4864, 151936, True, 494_032_768),
    "tiiuae/falcon-40b": (8192, 60, 128, 8, 32768, 65024, True, 41_303_293_952),
    "TinyLlama/TinyLlama-1.1B": (2048, 22, 32, 4, 5632, 32000, False, 1_100_048_384),
    "bigscience/bloomz-7b1": (4096, 30, 32, 32, 16384, 250880, True, 7_069_016_064),
    "THUDM/chatglm3-6b": (4096, 28, 32, 2, 13696, 65024, False, 6_243_584_000),
    "THUDM/glm-4-9b-chat": (4096, 40, 32, 2, 13696, 151552, False, 9_399_951_360),
    "bigscience/T0_3B": (2048, 48, 32, 32, 5120, 32128, None, 2_849_757_184),
    "bert-large-uncased": (1024, 24, 16, 16, 4096, 30522, None, 335_143_938),
}


def row(**more: Any) -> dict[str, Any]:
    sizes = dict(zip(("hidden", "layers", "heads", "kv_heads", "ffn", "vocab", "tied"), PUBLISHED["meta-llama/Llama-3.2-3B"], strict=False))
    known = {
        "id": 7, "model": "meta-llama/Llama-3.2-3B", "arch": sizes, "method": "lora", "dtype": "bfloat16", "micro_batch": 4, "seq": 512,
        "gpus": 1, "gpu": "A100-80GB", "metric": "torch.max_memory_allocated", "measured_gib": 20.0, "outcome": "ok", "quality": "A",
        "source": "https://github.com/owner/name/blob/main/table.md",
    }  # fmt: skip
    return known | more


@pytest.mark.parametrize("model", PUBLISHED)
def test_a_configuration_has_the_parameters_that_the_model_has(model: str) -> None:
    *sizes, counted = PUBLISHED[model]
    named = dict(zip(("hidden", "layers", "heads", "kv_heads", "ffn", "vocab", "tied"), sizes, strict=True))
    config = memory_configs.configuration(row(model=model, arch=named), "bfloat16")
    assert parameters(read_architecture(config)).total == counted


def test_a_row_without_sizes_has_no_configuration() -> None:
    config, facts = memory_rows.situation(row(arch=None))
    assert config == {}
    assert facts["plan"]["batch_size"] == 4
    assert memory_rows.case(row(arch=None)).reason == "the row does not give the sizes of the model"


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ({"dtype": "float16 +fp16 autocast"}, {"load_dtype": "float16", "fp16": True, "bf16": False}),
        ({"dtype": "fp32 weights + fp16 autocast"}, {"load_dtype": "float32", "fp16": True}),
        ({"dtype": "bfloat16 (bf16-true)"}, {"load_dtype": "bfloat16", "bf16": False, "autocast_adapter_dtype": False}),
        ({"method": "qlora", "quant": "gptq-4bit"}, {"method": "qlora", "quant": "gptq"}),
        ({"method": "qlora", "quant": "bnb-nf4-dq"}, {"method": "qlora", "quant": "4bit", "double_quant": True}),
        (
            {"method": "qlora", "quant": "bnb-nf4", "framework": "baseline-peft-bnb"},
            {"quant": "4bit", "double_quant": True, "kbit_preparation": True},
        ),
        (
            {
                "method": "qlora",
                "quant": "bnb-nf4",
                "framework": "accelerated-peft-bnb-foak",
                "liger_or_fused_ce": "fms FOAK fused ops+fast CE",
            },
            {"quant": "4bit", "double_quant": True, "kbit_preparation": False, "fused_loss": "cross_entropy"},
        ),
        ({"method": "full (seq-cls)"}, {"method": "full"}),
        ({"method": "peft:prompt_tuning"}, {"method": "prompt-tuning"}),
        ({"method": "lora + ZeRO CPU offload"}, {"method": "lora", "distributed": "zero3", "offload": "both"}),
        ({"shard": "FSDP FULL_SHARD", "gpus": 2}, {"distributed": "fsdp"}),
        ({"shard": "FSDP DDP mode", "gpus": 2}, {"distributed": "ddp"}),
        ({"shard": "DeepSpeed ZeRO-2", "gpus": 4}, {"distributed": "zero2"}),
        ({"optimizer": "galore_adamw8bit_per_layer"}, {"optimizer": "galore_adamw_8bit_layerwise"}),
        ({"optimizer": "paged AdamW 8-bit"}, {"optimizer": "paged_adamw_8bit"}),
        ({"liger_or_fused_ce": "liger fused linear CE"}, {"liger": True}),
        ({"lora": {"r": 64, "targets": "all linear+output"}}, {"lora_r": 64, "lora_targets": ["all-linear"]}),
        ({"lora": {"r": 8, "targets": "q,v", "dropout": 0.05}}, {"lora_dropout": 0.05, "lora_r": 8, "lora_targets": ["q_proj", "v_proj"]}),
        ({"attn": "sdpa (transformers default)", "ckpt": True}, {"attn": "sdpa", "gradient_checkpointing": True}),
    ],
)
def test_what_a_row_says_is_stated_as_facts(said: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    plan = memory_rows.case(row(**said)).plan
    assert {name: plan.get(name) for name in facts} == facts


@given(st.data())
def test_a_row_may_leave_out_anything(data: st.DataObject) -> None:
    """Whatever a table does not tell, what is left is stated as facts that there are."""
    told = row(
        quant="bnb-nf4", lora={"r": 8, "targets": "q,v"}, optimizer="AdamW", grad_accum=2, ckpt=True, attn="eager", compile=False,
        liger_or_fused_ce="none", shard="FSDP", versions="torch2.4.1 transformers4.48.1 see refs/requirements_moe.txt", framework="foak",
    )  # fmt: skip
    left_out = data.draw(st.sets(st.sampled_from(sorted(told.keys() - {"id"}))))
    as_null = data.draw(st.booleans())
    case = memory_rows.case(
        {name: value for name, value in told.items() if name not in left_out} | dict.fromkeys(left_out if as_null else ())
    )
    read = parse_toml(memory_cases.toml(case.facts).encode(), "facts.toml")
    assert [name for table, values in read.items() for name in values if term(f"{table}.{name}") is None] == []
    assert bool(case.reason) == ("arch" in left_out)


def test_what_no_fact_says_is_named() -> None:
    case = memory_rows.case(row(micro_batch=None, seq=None, liger_or_fused_ce="cut CE", optimizer="AdamW in backward"))
    assert case.not_stated == (
        "batch_size: the source does not tell", "seq_len: the source does not tell", "cut CE", "optimizer step inside backward",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("torch.max_memory_allocated (rank0, HF Trainer)", "allocated"),
        ("peak memory active (torch)", "allocated"),
        ("torch.max_memory_reserved over 5000 steps", "reserved"),
        ("nvidia-smi used incl. 1343 MiB CUDA context", "used"),
        ("unstated GB; multi-GPU cells are the SUM over GPUs (divided here)", "used"),
    ],
)
def test_a_figure_is_compared_with_what_it_is(words: str, kind: str) -> None:
    assert memory_rows.case(row(metric=words)).metric == kind


@pytest.mark.parametrize(
    ("outcome", "ended"),
    [("ok", "ok"), ("OOM on 80GB", "oom"), ("failed (no train metrics; OOM-like)", "oom"), ("crashed", ""), (None, "")],
)
def test_how_a_run_ended(outcome: str | None, ended: str) -> None:
    assert memory_rows.case(row(outcome=outcome)).ended == ended


@each("case", CASES, ids=lambda case: str(case.number))
def test_a_kept_case_states_facts_that_there_are(case: Any) -> None:
    read: Any = parse_toml(memory_cases.toml(case.facts).encode(), "facts.toml")
    assert read == json.loads(json.dumps(case.facts))
    values = {name: parse_value(name, raw) for name, raw in flatten(read)}
    assert [name for name, value in values.items() if isinstance(value, NotUnderstood)] == []
    assert values["gpu.count"] == case.facts["gpu"]["count"] >= 1
    # What trains is what the source says; peft's other methods are adapters like LoRA, or prompts.
    trained = re.split(r"[ +:]", case.method)[0]
    assert values["plan.method"] in {"peft": {"lora", "dora", "prefix-tuning", "prompt-tuning", "p-tuning"}}.get(trained, {trained})
    # Of what decides the memory most, each is stated or named as not stated.
    for name in ("batch_size", "seq_len"):
        assert (f"plan.{name}" in values) is not any(text.startswith(name) for text in case.not_stated)


def test_cases_survive_being_kept(tmp_path: Path) -> None:
    kept = tmp_path / "cases.json"
    kept.write_text(memory_cases.dump(CASES), encoding="utf-8")
    assert memory_cases.load(kept) == CASES
    assert kept.read_bytes() == score_memory.KEPT.read_bytes()


def test_rows_are_read_as_cases(tmp_path: Path) -> None:
    lines = tmp_path / "rows.jsonl"
    lines.write_text(f"{json.dumps(row())}\n\n{json.dumps(row(id=8))}\n", encoding="utf-8")
    assert [case.number for case in score_memory.read(lines)] == [7, 8]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.floats(0.01, 1))
def test_a_quantile_is_the_first_value_that_enough_do_not_exceed(values: list[float], share: float) -> None:
    ordered = sorted(values)
    found = score_memory.quantile(ordered, share)
    assert found in ordered
    assert sum(value <= found for value in ordered) >= share * len(ordered) - 1e-9
    assert sum(value < found for value in ordered) < share * len(ordered) + 1e-9


def scored(expected: float, *, fits: str = "yes", **more: Any) -> Any:
    said = Range(expected * 0.9, expected, expected * 1.1)
    none = Range(0, 0, 0)
    answer = score_memory.Answer(said, none, none, {"weights": expected}, "loss", fits, {"loss": expected}, expected)
    return score_memory.Scored(memory_rows.case(row(**more)), answer, said.low, said.expected, said.high)


def test_a_summary_counts_errors_to_both_sides() -> None:
    found = score_memory.summary([scored(20.0), scored(22.0), scored(18.0), scored(10.0), scored(25.0, measured_gib=None)])
    assert found is not None
    assert (found.cases, found.median, found.p90, found.under, found.within) == (4, 0.1, 0.5, 0.5, 0.5)
    assert found.bias == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("fits", "outcome", "wrong"),
    [
        ("yes", "ok", False), ("tight", "ok", False), ("no", "ok", True), ("yes", "OOM on 80GB", True), ("tight", "OOM on 80GB", False),
        ("no", "OOM on 80GB", False), ("unknown", "ok", None), ("no", None, None),
    ],
)  # fmt: skip
def test_tight_is_never_a_wrong_answer(fits: str, outcome: str | None, wrong: bool | None) -> None:
    assert scored(20.0, fits=fits, outcome=outcome).wrong is wrong


def ranged(expected: float, **more: Any) -> Any:
    one = scored(expected, fits="unknown", **more)
    return replace(one, answer=replace(one.answer, ranged=True))


def test_an_answer_that_is_a_range_has_no_error_and_is_in_it_or_not() -> None:
    rows = [scored(20.0), ranged(21.0), ranged(40.0)]
    found = score_memory.summary(rows)
    assert found is not None
    assert (found.cases, found.median, found.within, found.ranges, found.ranges_within) == (1, 0.0, 1.0, 2, 1)
    assert score_memory.figures(rows) == (3, 1)
    assert "| range |" in memory_page.page(rows)
    alone = score_memory.summary(rows[1:])
    assert alone is not None
    assert (alone.cases, alone.ranges) == (0, 2)


def test_a_calibration_tells_what_a_narrower_range_would_hold() -> None:
    # Ranges of a tenth to each side, around figures of which the measured 20 GiB are 0, 4.8 and 25 % away.
    rows = [scored(20.0), scored(21.0), scored(25.0)]
    assert score_memory.calibration(rows) == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3, 1.0])
    assert score_memory.calibration([]) == [0, 0, 0, 0, 0]


def test_verdicts_are_told_against_how_runs_ended() -> None:
    rows = [scored(20.0), scored(20.0, fits="tight"), scored(30.0, fits="no", outcome="OOM on 80GB"), scored(20.0, outcome=None)]
    unknown = replace(rows[0], answer=replace(rows[0].answer, card=None, fits="unknown"))
    found = score_memory.verdicts([*rows, unknown])
    assert (found.ended, found.out_of_memory) == ({"yes": 1, "tight": 1}, {"no": 1})
    assert "| ran out of memory | 0 | 0 | 1 | 0 |" in memory_page.page(rows).splitlines()


def test_what_torch_reserves_is_compared_as_far_as_the_card_goes() -> None:
    large = score_memory.Answer(Range(9, 10, 11), Range(10, 18, 30), Range(0, 0, 0), {}, "loss", "yes", {}, 1.0, card=15.0)
    assert score_memory._on_the_card(large) == Range(10, 15, 15)
    assert score_memory._on_the_card(replace(large, card=None)) == large.reserved
    assert score_memory._on_the_card(replace(large, card=8.0)).expected == 10


def test_the_page_shows_every_case_and_where_it_is_from() -> None:
    one, other = scored(21.0, seq=1024), scored(30.0, fits="no", id=8, outcome="OOM on 80GB", measured_gib=None, versions="torch2.4.1")
    text = memory_page.page([one, other, replace(other, answer=None, why="no sizes")])
    lines = text.splitlines()
    assert "| quality A, allocated | 1 | 5.0% | 5.0% | 5.0% | +5.0% | 0.0% | 100% | - | - |" in lines
    assert (
        "| 7 | meta-llama/Llama-3.2-3B | lora, bf16, 4 x 1024 | allocated, A | 20.00 | 21.00 | 18.90 - 23.10 | +5.0% | yes | ok | - |"
        in lines
    )
    assert "| 8 | meta-llama/Llama-3.2-3B | lora, bf16, 4 x 512 | allocated, A | - | 30.00 | 27.00 - 33.00 | - | no | oom | - |" in lines
    assert "| 8 | meta-llama/Llama-3.2-3B | lora, bf16, 4 x 512 | allocated, A | - | - | - | - | - | oom | no sizes |" in lines
    assert "| <https://github.com/owner/name/blob/main/table.md> | 7-8, 8 | torch 2.4.1 |" in lines
    assert "Of 2 runs on a GPU of known size, 0 were answered wrong: one that ended well was told `no`," in lines


@pytest.fixture(scope="module")
def found() -> Any:
    return score_memory.scores(CASES)


@pytest.mark.large
def test_the_estimates_are_as_right_as_was_asked_for(found: Any) -> None:
    exact = score_memory.summary(one for one in found if one.exact)
    rest = score_memory.summary(one for one in found if not one.exact)
    told, wrong = score_memory.fits(found)
    assert exact.median <= 0.05
    assert exact.p95 <= 0.15
    assert exact.under <= 0.03
    assert rest.median <= 0.12
    assert len(wrong) <= 0.05 * len(told)


def test_every_kept_case_has_an_answer(found: Any) -> None:
    assert {one.why for one in found if one.answer is None} == {"the row does not give the sizes of the model"}
    for one in found:
        if one.answer is not None:
            assert 0 < one.low <= one.expected <= one.high
            assert one.answer.allocated.expected == pytest.approx(sum(one.answer.terms.values()))
