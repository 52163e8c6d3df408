"""Stated values: what a person would write is understood, what nobody would is kept and decides nothing."""

from __future__ import annotations

import datetime
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import NotUnderstood
from envdoctor.facts.values import flatten, parse_value, shown
from envdoctor.facts.versions import ABSENT, Exact, Ranged, exact
from envdoctor.facts.vocabulary import TERMS
from envdoctor.files.toml import parse_toml
from tests.each import each

LISTS = {known.name for known in TERMS if known.kind == "list"}
NAMES = [*(known.name for known in TERMS), "packages.torch"]


def same(name: str, written: tuple[object, ...], meant: object) -> list[tuple[str, object, object]]:
    return [(name, text, meant) for text in written]


@each(
    ("name", "written", "meant"),
    [
        *same(
            "plan.trainer",
            ("trl", "TRL", "SFTTrainer", "trl (through backpropagate)", "TRL SFTTrainer", "GRPOTrainer", "trl.SFTTrainer"),
            "trl",
        ),
        *same("plan.trainer", ("Unsloth + TRL", "unsloth"), "unsloth"),
        *same("plan.trainer", ("plain PyTorch", "custom training loop", "own loop"), "own"),
        *same("plan.trainer", ("PyTorch Lightning", "pytorch-lightning", "Fabric"), "lightning"),
        *same("plan.trainer", ("DeepSpeed", "deepspeed engine"), "deepspeed"),
        *same("plan.trainer", ("own", "own loop", "own loop (DeepSpeed pipeline)"), "own"),
        ("plan.trainer", "halo (own subclass of trl SFTTrainer)", "halo (own subclass of trl SFTTrainer)"),
        *same("plan.quant", ("4bit", "4-bit", "4 bit", "int4", "nf4", "NF4", 4, "bnb 4-bit", "load_in_4bit", "4-bit NF4 (QLoRA)"), "4bit"),
        *same("plan.quant", ("8bit", "8-bit", "int8", 8, "LLM.int8"), "8bit"),
        *same("plan.quant", ("none", "None", "no", False), "none"),
        *same("plan.quant", ("GPTQ", "gptq-int4", "GPTQ 4-bit"), "gptq"),
        *same("plan.quant", ("awq", "AWQ 4bit"), "awq"),
        *same("plan.load_dtype", ("float16", "fp16", "FP16", "half", "torch.float16", "float-16"), "float16"),
        *same("plan.load_dtype", ("bfloat16", "bf16", "BF16", "torch.bfloat16"), "bfloat16"),
        *same("plan.load_dtype", ("float32", "fp32", "float", "full"), "float32"),
        *same("model.dtype", ("F16", "fp16"), "float16"),
        *same("model.dtype", ("BF16",), "bfloat16"),
        *same(
            "plan.attn",
            ("flash_attention_2", "Flash Attention 2", "FlashAttention-2", "flash-attn", "fa2", "flash attn v2"),
            "flash_attention_2",
        ),
        *same("plan.attn", ("fa3", "Flash-Attention 3"), "flash_attention_3"),
        *same("plan.attn", ("SDPA", "scaled dot product attention"), "sdpa"),
        *same("plan.attn", ("eager", "Eager", "manual"), "eager"),
        *same(
            "plan.distributed", ("zero3", "ZeRO-3", "deepspeed zero-3", "DeepSpeed ZeRO stage 3", "ds_z3_offload", "z3", "stage 3"), "zero3"
        ),
        *same("plan.distributed", ("zero 2", "deepspeed stage2"), "zero2"),
        *same("plan.distributed", ("DDP", "DistributedDataParallel", "torchrun (DDP)"), "ddp"),
        *same("plan.distributed", ("FSDP", "fully sharded data parallel"), "fsdp"),
        *same("plan.distributed", ("none", "no", "single GPU", False), "none"),
        *same("plan.distributed", ("device_map=auto", "device_map"), "device_map"),
        *same("plan.method", ("lora", "LoRA", "LoRA r=8", "SFT LoRA"), "lora"),
        *same("plan.method", ("QLoRA", "qlora (4-bit LoRA)"), "qlora"),
        *same("plan.method", ("full", "full fine-tuning", "full parameter", "Full-parameter fine-tuning"), "full"),
        *same("plan.method", ("P-Tuning v2", "prefix tuning"), "prefix-tuning"),
        *same("plan.method", ("inference", "eval", "chat"), "inference"),
        *same("plan.optimizer", ("adamw_torch", "AdamW_Torch", "AdamW", "torch.optim.AdamW"), "adamw_torch"),
        *same("plan.optimizer", ("paged_adamw_8bit", "Paged AdamW 8bit"), "paged_adamw_8bit"),
        *same("os", ("linux", "Linux", "Ubuntu 22.04", "Ubuntu 20.04 (glibc 2.31)", "CentOS 7.9", "WSL2", "Windows 11 (WSL2)"), "linux"),
        *same("os", ("Linux-5.15.0-91-generic-x86_64-with-glibc2.35", "Red Hat Enterprise Linux 8", "Google Colab", "Arch Linux"), "linux"),
        *same("os", ("EndeavourOS", "Pop!_OS 22.04"), "linux"),
        *same("os", ("windows", "Windows 11", "win32", "Microsoft Windows 10 Pro"), "windows"),
        *same("os", ("macos", "macOS 14.1", "Mac OS X", "Darwin"), "macos"),
        *same("machine", ("x86_64", "x86-64", "amd64"), "x86_64"),
        *same("accelerator", ("cuda", "GPU"), "cuda"),
        *same(
            "python", ("3.10.12", "Python 3.10.12", "3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] (64-bit runtime)"), exact("3.10.12")
        ),
        *same("python", (">=3.10", "python >=3.10"), Ranged(">=3.10")),
        *same("python", ("==3.10.12",), exact("3.10.12")),
        *same("cuda", ("12.1", 12.1, "CUDA 12.1", "cu121", "12.1 (V12.1.105)"), exact("12.1")),
        *same("cuda", ("11.8", "cu118"), exact("11.8")),
        *same("driver", ("535.104.05", "NVIDIA driver 535.104.05"), exact("535.104.05")),
        *same("driver", (535,), exact("535")),
        *same("gpu.compute_capability", ("8.6", 8.6, "sm_86", "sm86"), exact("8.6")),
        *same("gpu.compute_capability", ("8.0", 8.0), exact("8.0")),
        *same("gpu.memory_gib", (80, "80", "80GB", "80 GiB", "80g"), 80.0),
        *same("gpu.count", (2, "2", 2.0), 2),
        *same("plan.learning_rate", (2e-4, "2e-4", "0.0002"), 2e-4),
        *same("plan.batch_size", (4, "4"), 4),
        *same("plan.seq_len", ("6_000", 6000), 6000),
        *same("plan.fp16", (True, "true", "yes", "On", 1), True),
        *same("plan.fp16", (False, "false", "no", "0"), False),
        *same("plan.lora_targets", (["q_proj", "v_proj"], "q_proj,v_proj", "q_proj v_proj", '["q_proj", "v_proj"]'), ("q_proj", "v_proj")),
        *same("plan.modules_to_save", ([], False, "none", ""), ()),
        *same("model.eos_ids", ([0, 2], "0, 2"), ("0", "2")),
        *same("model.eos_ids", ("0",), ("0",)),
        *same("packages.torch", ("2.5.0+cu118", "==2.5.0+cu118", " 2.5.0+cu118 "), exact("2.5.0+cu118")),
        *same("packages.torch", (">=2.3,<2.6",), Ranged(">=2.3,<2.6")),
        *same("packages.torch", ("*", ""), Ranged("")),
        *same("packages.torch", (False, "none", "not installed", "N/A"), ABSENT),
    ],
)
def test_what_a_person_would_write_is_understood(name: str, written: object, meant: object) -> None:
    assert parse_value(name, written) == meant
    assert type(parse_value(name, written)) is type(meant)


@each(
    ("name", "written"),
    [
        ("plan.distributed", "deepspeed x6"),
        ("plan.distributed", "deepspeed"),
        ("plan.distributed", "torchrun with deepspeed"),
        ("plan.distributed", "multi-gpu"),
        ("plan.distributed", "zero"),
        ("plan.distributed", "zero2 or zero3"),
        ("plan.distributed", "not zero3"),
        ("plan.method", "sft"),
        ("plan.method", "finetuning"),
        ("plan.method", "adalora"),
        ("plan.method", "not lora"),
        ("plan.method", "full, then lora"),
        ("plan.quant", "bitsandbytes"),
        ("plan.quant", "4-bit or 8-bit"),
        ("plan.load_dtype", "half of it"),
        ("os", "some container"),
        ("os", "unknown architecture"),
        ("python", 3.1),
        ("python", "3.8+"),
        ("python", "3.10 or newer"),
        ("python", "\u0663.\u0661\u0660"),
        ("python", "3.10.12 or 3.11.7"),
        ("cuda", "12.x"),
        ("cuda", "11.8 / 12.1"),
        ("cuda", "not 12.1"),
        ("driver", "new"),
        ("packages.torch", 2.1),
        ("packages.torch", True),
        ("packages.torch", "latest"),
        ("packages.torch", "git+https://github.com/pytorch/pytorch"),
        ("gpu.memory_gib", math.inf),
        ("gpu.memory_gib", math.nan),
        ("gpu.memory_gib", "nan"),
        ("gpu.memory_gib", 10**400),
        ("gpu.count", 10**30),
        ("gpu.count", True),
        ("gpu.count", 1.5),
        ("plan.learning_rate", "1e400"),
        ("plan.learning_rate", "2e-4 GB"),
        ("plan.batch_size", "4 per device"),
        ("plan.fp16", "maybe"),
        ("plan.optimizer", ""),
        ("model.type", "x" * 5000),
    ],
)
def test_what_is_ambiguous_or_unheard_of_is_kept_as_text_and_means_nothing(name: str, written: object) -> None:
    assert isinstance(parse_value(name, written), NotUnderstood)


def test_text_that_is_not_understood_is_kept_as_written() -> None:
    assert parse_value("plan.distributed", "deepspeed x6") == NotUnderstood("deepspeed x6")
    assert shown(parse_value("packages.torch", "from source")) == "from source"


def test_a_version_without_quotes_says_what_was_lost() -> None:
    assert shown(parse_value("packages.peft", 0.1)) == "0.1 (a number; a version needs quotes)"
    assert shown(parse_value("python", 3.1)) == "3.1 (a number; a version needs quotes)"


def test_numbers_of_any_length_in_a_facts_file_do_no_harm() -> None:
    table = parse_toml(
        b"[plan]\nbatch_size = 0x" + b"f" * 6000 + b"\nlora_targets = [0x" + b"f" * 6000 + b"]\n[packages]\ntorch = 0x" + b"f" * 6000,
        "facts.toml",
    )
    for name, raw in flatten(table):
        assert isinstance(parse_value(name, raw), NotUnderstood)


scalars = st.one_of(
    st.text(),
    st.text(alphabet="0123456789.+-<>=!~, ()abcxzv", max_size=30),
    st.builds(str.__add__, st.sampled_from(["lora", "full", "zero", "3", "4bit", "flash", "linux", "not"]), st.text(max_size=8)),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.dates().map(lambda day: datetime.date(day.year, day.month, day.day)),
)  # fmt: skip


@given(st.sampled_from(NAMES), st.one_of(scalars, st.lists(scalars, max_size=3)))
def test_no_value_of_any_fact_crashes(name: str, raw: object) -> None:
    value = parse_value(name, raw)
    assert isinstance(value, (bool, int, float, str, tuple, NotUnderstood, Exact, Ranged, type(ABSENT)))
    assert isinstance(shown(value), str)
    if isinstance(value, float):
        assert math.isfinite(value)


@given(st.sampled_from(NAMES), scalars)
def test_a_value_shown_and_read_again_is_the_same(name: str, raw: object) -> None:
    once = parse_value(name, raw)
    if not isinstance(once, NotUnderstood):
        assert parse_value(name, shown(once)) == once


@pytest.mark.large
@each("name", NAMES)
def test_a_text_of_a_million_characters_is_no_value(name: str) -> None:
    for text in ("1" * 10**6, "1." * 500_000, "deepspeed " * 100_000):
        value = parse_value(name, text)
        assert isinstance(value, tuple if name in LISTS else NotUnderstood)


def test_tables_are_flattened_to_dotted_names_with_normalised_packages() -> None:
    table = {"python": "3.10", "packages": {"Flash_Attn": "2.7.0", "huggingface.hub": False}, "plan": {"lora": {"r": 8}}}
    assert list(flatten(table)) == [
        ("python", "3.10"),
        ("packages.flash-attn", "2.7.0"),
        ("packages.huggingface-hub", False),
        ("plan.lora.r", 8),
    ]


@pytest.mark.parametrize("name", ["plan.metod", "packages.", "package.torch", ""])
def test_a_name_that_is_no_fact_has_no_value(name: str) -> None:
    with pytest.raises(KeyError):
        parse_value(name, "x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (("a", "b"), "a, b"),
        ((), ""),
        (8, "8"),
        (1e-8, "1e-08"),
        (exact("2.5.0+cu118"), "2.5.0+cu118"),
        (ABSENT, "not installed"),
    ],
    ids=str,
)
def test_values_are_shown_as_people_write_them(value: object, text: str) -> None:
    assert shown(value) == text  # type: ignore[arg-type]
