"""What ``--exact`` makes of a plan and of a child's answer; the children that answer here are made up, the real ones are in
``test_exact_probe.py``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.memory.estimate import Estimate, Moment, Range
from envdoctor.memory.exact import Refusal, child_params, measure, unmeasurable
from envdoctor.memory.plan import Adapter, Plan
from envdoctor.memory.reserved import beside
from envdoctor.probes.runner import Outcome

PLAN = Plan(method="full", load_dtype="bfloat16", autocast=None, rows=2, tokens=512)
LORA = replace(PLAN, method="adapter", adapter=Adapter(8, ("q_proj",), ("lm_head",), False, True, 0.1))
CONFIG = {"model_type": "llama", "hidden_size": 64}
NOTHING = dict.fromkeys(("weights", "adapters", "gradients", "optimizer", "activations", "logits", "other"), 0)
ANSWER: Mapping[str, object] = {
    "versions": {"torch": "2.13.0", "transformers": "4.57.1"},
    "moments": [
        {"name": "loading", "allocated": 1000, "reserved": 4000, "terms": {**NOTHING, "weights": 1000}},
        {"name": "loss", "allocated": 3000, "reserved": 4000, "terms": {**NOTHING, "weights": 1000, "logits": 2000}},
        {"name": "optimizer step", "allocated": 2500, "reserved": 4000, "terms": {**NOTHING, "weights": 1000, "optimizer": 1500}},
    ],
    "allocated": 3000,
    "reserved": 4000,
    "parameters": 500,
    "trainable": 500,
}


def child(outcome: Outcome, asked: list[Mapping[str, object]] | None = None) -> Callable[..., Outcome]:
    def run(interpreter: Path, script: Path, params: Mapping[str, object], **_: object) -> Outcome:
        assert script.name == "fake_step.py"
        assert script.exists()
        if asked is not None:
            asked.append(params)
        return outcome

    return run


def answered(answer: Mapping[str, object] | None, plan: Plan = PLAN, failure: str | None = None) -> Estimate | Refusal:
    run = child(Outcome(answer, failure, 1.0))
    return measure(Path("python"), CONFIG, plan, model_path=None, trust=False, timeout=1, run=run)


def test_a_childs_answer_becomes_an_estimate_with_its_moments_in_order() -> None:
    assert answered(ANSWER) == Estimate(
        method="fake-tensors",
        moments=(
            Moment("loading", {"weights": 1000.0}),
            Moment("loss", {"weights": 1000.0, "logits": 2000.0}),
            Moment("optimizer step", {"weights": 1000.0, "optimizer": 1500.0}),
        ),
        allocated=Range(2985.0, 3000.0, 3030.0 + (48 << 20)),
        reserved=Range(3800.0, 4000.0, 4600.0),
        beside=beside(PLAN),
        notes=("The model's own code ran on fake tensors, without weights or GPU, with torch 2.13.0, transformers 4.57.1.",),
    )


def test_what_was_played_is_said() -> None:
    found = answered(ANSWER, replace(LORA, quant="4bit", autocast="bfloat16", sharding="ddp", gpus=2, attention="flash_attention_2"))
    assert isinstance(found, Estimate)
    assert found.notes[1:] == (
        "One replica was run, with the buckets of DistributedDataParallel beside it.",
        "CUDA's mixed precision was played by the CPU's, with CUDA's list of operations in float32.",
        "Layers of 4 bits were played: what bitsandbytes keeps and unpacks, without its kernels.",
        "FlashAttention-2 was played by a kernel that keeps what it keeps.",
    )


def test_the_child_is_told_the_whole_plan() -> None:
    asked: list[Mapping[str, object]] = []
    run = child(Outcome(ANSWER, None, 1.0), asked)
    measure(Path("python"), CONFIG, replace(LORA, mask=True, upcast=True), model_path=Path("model"), trust=False, timeout=1, run=run)
    assert asked == [
        {
            "config": CONFIG,
            "path": None,
            "remote": False,
            "dtype": "bfloat16",
            "autocast": None,
            "rows": 2,
            "tokens": 512,
            "adapter": {
                "rank": 8,
                "targets": ["q_proj"],
                "modules_to_save": ["lm_head"],
                "float32": False,
                "dora": True,
                "vectors": False,
                "dropout": 0.1,
            },
            "quant": "none",
            "double_quant": False,
            "upcast": True,
            "accumulation": 1,
            "checkpointing": False,
            "reentrant": None,
            "optimizer": "adamw_torch",
            "attention": "sdpa",
            "mask": True,
            "ddp": False,
            "sharding": None,
            "outputs_kept": False,
            "loss_rows": 0,
            "loss_way": "",
        }
    ]


def test_trls_loss_in_pieces_is_played_through() -> None:
    pieces = replace(PLAN, liger=True, cut_loss=True, loss_rows=256, loss_way="float32")
    assert unmeasurable(pieces) is None
    params = child_params(CONFIG, pieces, None)
    assert (params["loss_rows"], params["loss_way"]) == (256, "float32")


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (
            replace(PLAN, sharding="zero3", gpus=2),
            "zero3: each GPU holds a part of the model, which one process cannot show: only the closed form counts it",
        ),
        (replace(PLAN, offload="optimizer"), "offloading moves tensors between devices, and there is one only"),
        (replace(LORA, quant="gptq"), "the kernels of gptq weights run on a GPU only"),
        (replace(PLAN, method="prompt", prompt=20), "a run of the method prompt is not played through"),
        (replace(PLAN, liger=True, loss_rows=256, loss_way="tiles"), "the kernels of TRL's loss run on a GPU only"),
        (replace(PLAN, sharding="fsdp", gpus=2, liger=True, loss_rows=256), "TRL's loss in pieces is not played through under FSDP"),
        (replace(PLAN, liger=True), "fused loss kernels run on a GPU only"),
        (replace(PLAN, fused_loss=True), "fused loss kernels run on a GPU only"),
        (replace(LORA, lora_kernels=frozenset({"mlp"})), "the kernels of axolotl and Unsloth run on a GPU only"),
        (replace(LORA, unsloth=True), "the kernels of axolotl and Unsloth run on a GPU only"),
        (replace(PLAN, compile=True), "torch.compile decides on a GPU what is kept and what is computed again"),
        (replace(PLAN, attention="flash_attention_3"), "there is no stand-in for the attention flash_attention_3"),
        *[
            (plan, "a loop of one's own (its loss, its selective checkpointing, FSDP in one unit) is not played through")
            for plan in (replace(PLAN, upcast_loss=False), replace(PLAN, ops=True), replace(PLAN, every=2), replace(PLAN, wrapped=False))
        ],
        (replace(PLAN, quant="4bit"), "weights of 4 bits are not trained in full"),
    ],
)
def test_a_plan_that_one_process_on_a_cpu_cannot_show_is_refused_before_anything_is_started(plan: Plan, reason: str) -> None:
    def run(*_: object, **__: object) -> Outcome:
        raise AssertionError

    assert measure(Path("python"), CONFIG, plan, model_path=None, trust=True, timeout=1, run=run) == Refusal(reason)
    assert unmeasurable(plan) == reason


def test_the_snapshots_own_code_needs_consent_and_a_snapshot() -> None:
    config = {**CONFIG, "auto_map": {"AutoModelForCausalLM": "modeling_own.OwnModel"}}
    asked: list[Mapping[str, object]] = []
    run = child(Outcome(ANSWER, None, 1.0), asked)

    def tried(path: Path | None, trust: bool) -> Estimate | Refusal:
        return measure(Path("python"), config, PLAN, model_path=path, trust=trust, timeout=1, run=run)

    assert tried(Path("model"), False) == Refusal("the snapshot's own code is executed only with --trust-remote-code")
    assert tried(None, True) == Refusal("the model's own code decides, and no local snapshot holds it")
    assert asked == []
    assert isinstance(tried(Path("model"), True), Estimate)
    assert (asked[0]["path"], asked[0]["remote"]) == (str(Path("model").absolute()), True)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("no module named torch", "the environment has no torch"),
        ("no module named transformers while importing transformers", "the environment has no transformers"),
        ("no module named peft", "the environment has no peft"),
        (
            "timed out after 60 s while step 1: optimizer",
            "the run on fake tensors ended early: timed out after 60 s while step 1: optimizer",
        ),
    ],
)
def test_a_child_that_ends_early_is_a_reason(said: str, reason: str) -> None:
    assert answered(None, failure=said) == Refusal(reason)


def test_a_childs_own_refusal_is_passed_on_in_plain_words() -> None:
    assert answered({"refused": "no model of the type \x1b[31mown"}) == Refusal("no model of the type [31mown")


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {**ANSWER, "moments": []},
        {**ANSWER, "moments": [{"name": "loss", "terms": {"weights": 1}}]},
        {**ANSWER, "moments": [{"name": 3, "terms": NOTHING}]},
        {**ANSWER, "moments": "many"},
        {**ANSWER, "reserved": None},
        {**ANSWER, "versions": []},
    ],
)
def test_an_answer_of_another_form_is_not_an_estimate(answer: Mapping[str, object]) -> None:
    assert answered(answer) == Refusal("the child's answer was not understood")


def test_an_environment_without_torch_is_said_so(tmp_path: Path) -> None:
    # An interpreter without its packages, whatever this one has.
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    found = measure(bare, CONFIG, PLAN, model_path=None, trust=False, timeout=30)
    assert found == Refusal("the environment has no torch")
