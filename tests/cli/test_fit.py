"""``envdoctor fit``, as a user types it: from a config.json alone to the line to paste."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

from envdoctor.lengths import measure
from envdoctor.lengths.values import Lengths, Refused
from envdoctor.memory import exact
from envdoctor.memory.closed_form import estimate
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import Estimate, Range
from envdoctor.memory.plan import Plan
from tests.cli.run import Ran, run
from tests.memory.models import CHATGLM3_6B, GLM_4_9B, LLAMA_2_13B, QWEN_HALF_B
from tests.memory.test_parallel import SPARSE
from tests.report.fits import LENGTHS
from tests.report.test_fit_json import SCHEMA

STACK = """
[packages]
torch = "2.5.0"
transformers = "4.48.0"
peft = "0.13.2"
"""


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facts.toml").write_text(STACK, encoding="utf-8")
    for name, config in (("glm", GLM_4_9B), ("llama", LLAMA_2_13B), ("qwen", QWEN_HALF_B), ("chatglm", CHATGLM3_6B)):
        model(name, config)


def model(name: str, config: Mapping[str, object]) -> None:
    Path(name).mkdir()
    (Path(name) / "config.json").write_text(json.dumps(config), encoding="utf-8")


def fit(capsys: pytest.CaptureFixture[str], *words: str, facts: str | None = "facts.toml") -> Ran:
    return run(capsys, "fit", *words, *([] if facts is None else ["--facts", facts]))


def told(capsys: pytest.CaptureFixture[str], *words: str, facts: str | None = "facts.toml") -> Any:
    ran = fit(capsys, *words, "--format", "json", facts=facts)
    assert ran.err == ""
    validate(ran.json, SCHEMA)
    assert ran.status == (1 if ran.json["fits"] == "no" else 0)
    return ran.json


DECIDED = ("--set", "plan.gradient_checkpointing=false", "--set", "plan.load_dtype=bfloat16")
LORA = ("--set", "plan.method=lora", "--set", "plan.batch_size=1", "--set", "plan.lora_targets=q_proj,v_proj")


def test_a_config_alone_is_enough_and_what_is_unknown_is_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    body = told(capsys, "qwen")
    assert body["method"] == "closed-form"
    assert (body["fits"], body["gpu_memory_gib"]) == ("unknown", None)
    assumed = {one["fact"]: one["assumed"] for one in body["unknown"]}
    assert assumed["plan.seq_len"] == 2048
    assert {"plan.method", "plan.batch_size", "plan.lora_r"} <= set(assumed)
    assert not any(name.startswith("packages.") for name in assumed)


def test_an_answer_for_an_assumed_plan_says_so_beside_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    lines = fit(capsys, "qwen", "--gpu", "RTX 3090").out.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("cannot be told: "))
    verdict = lines[place : lines.index("", place)]
    assert "  with what nobody stated: method = lora, batch_size = 1, seq_len = 2048" in verdict
    assert any(line.endswith("--set plan.batch_size=8 (1 was taken)") for line in verdict)
    stated = (*LORA, "--set", "plan.seq_len=8", "--set", "plan.load_dtype=bfloat16")
    assert "nobody stated" not in fit(capsys, "qwen", "--gpu", "RTX 3090", *stated).out


def test_where_no_release_is_known_the_newest_are_assumed_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("facts.toml").write_text("[packages]\nnumpy = '2.0.0'\n", encoding="utf-8")
    body = told(capsys, "qwen")
    assumed = {one["fact"]: one["assumed"] for one in body["unknown"]}
    assert {"packages.torch", "packages.transformers", "packages.peft"} <= set(assumed)
    assert "no release is known" in fit(capsys, "qwen").out


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        (("llama", "--gpu", "RTX 3090 x3", *LORA, "--set", "plan.distributed=ddp", "--set", "plan.seq_len=10"), "no"),
        (("llama", "--gpu", "A100 80GB", *LORA, "--set", "plan.seq_len=10"), "yes"),
        (("glm", "--gpu", "RTX 4090", *LORA, "--set", "plan.seq_len=6001"), "no"),
        (("glm", "--gpu", "H200", *LORA, "--set", "plan.seq_len=6001"), "yes"),
        (("qwen", "--gpu", "GPU 9000", *LORA), "unknown"),
    ],
)
def test_the_exit_status_is_the_answer_in_every_format(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], fits: str) -> None:
    word = {"yes": "fits", "no": "does not fit", "unknown": "cannot be told"}[fits]
    assert told(capsys, *words)["fits"] == fits
    text, page = fit(capsys, *words), fit(capsys, *words, "--format", "html")
    assert f"\n{word}: " in text.out
    assert f"<b>{word}</b>" in page.out
    assert text.status == page.status == (1 if fits == "no" else 0)


def test_replicas_of_13b_on_three_cards(capsys: pytest.CaptureFixture[str]) -> None:
    ran = fit(capsys, "llama", "--gpu", "RTX 3090 x3", *LORA, "--set", "plan.distributed=ddp", "--set", "plan.seq_len=10")
    assert "  GPU      3 x RTX 3090, 23.6 GiB usable each\n" in ran.out
    assert "every GPU holds a copy of all\n    weights, 24.2 GiB; 23.6 GiB can never hold that\n" in ran.out
    assert "--set plan.method=qlora --set plan.quant=4bit --set plan.bf16=true\n" in ran.out


def test_a_line_of_advice_pasted_gives_the_figure_that_it_promised(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("glm", "--gpu", "A100 40GB", *LORA, "--set", "plan.seq_len=6001", *DECIDED)
    advice = told(capsys, *words)["advice"]
    assert advice
    for one in advice:
        pasted = [part for name, value in one["change"].items() for part in ("--set", f"{name}={value}")]
        again = told(capsys, *words, *pasted)
        assert again["per_gpu"]["allocated_gib"]["expected"] == one["allocated_gib"]
        assert again["fits"] == one["fits"]


def test_a_plan_file_is_read_as_everywhere(capsys: pytest.CaptureFixture[str], fixtures: Path) -> None:
    plain = told(capsys, "chatglm", "--plan", str(fixtures / "plans" / "chatglm3-lora.yaml"), "--set", "plan.seq_len=769")
    recomputed = told(capsys, "chatglm", "--plan", str(fixtures / "plans" / "chatglm3-lora-gc.yaml"), "--set", "plan.seq_len=769")
    assert "plan.batch_size" not in {one["fact"] for one in plain["unknown"]}
    assert recomputed["per_gpu"]["terms_gib"]["activations"] < plain["per_gpu"]["terms_gib"]["activations"]


def test_the_named_card_counts_and_not_that_of_the_facts(capsys: pytest.CaptureFixture[str]) -> None:
    Path("facts.toml").write_text(f"{STACK}\n[gpu]\nname = 'A100'\nmemory_gib = 80\ncount = 8\n", encoding="utf-8")
    assert told(capsys, "qwen")["gpu_memory_gib"] == 79.15
    body = told(capsys, "qwen", "--gpu", "RTX 3090 x3")
    assert (body["gpu_memory_gib"], body["gpu"]) == (23.64, {"name": "RTX 3090", "count": 3})
    assert told(capsys, "qwen", "--gpu", "GPU 9000")["gpu_memory_gib"] is None
    assert told(capsys, "qwen", "--gpu", "RTX 3090 x3", "--set", "gpu.memory_gib=22.5")["gpu_memory_gib"] == 22.5


def test_the_page_is_written_where_it_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    ran = fit(capsys, "qwen", "--format", "html", "--output", "fit.html")
    assert (ran.status, ran.out) == (0, "")
    assert Path("fit.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_terminal_that_has_no_blocks_is_given_ascii(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "█" in fit(capsys, "qwen").out
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    from envdoctor.cli import main

    assert main(["fit", "qwen", "--facts", "facts.toml"]) == 0
    narrow.seek(0)
    text = narrow.read()
    assert "####" in text
    assert "\\u2588" not in text


def test_a_name_full_of_escapes_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    model("evil\x1b[2J<b>", QWEN_HALF_B)
    for form in ("text", "json", "html"):
        out = fit(capsys, "evil\x1b[2J<b>", "--gpu", "RTX\x1b[2J 3090", "--format", form).out
        assert "\x1b" not in out
    assert "evil\\x1b[2J&lt;b&gt;" in out


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("missing",), "missing"),
        (("no/such-model",), "no/such-model"),
        (("empty",), "empty"),
        (("facts.toml",), "facts.toml"),
        (("adapter",), "adapter"),
        (("broken",), "broken"),
        (("sizeless",), "sizeless"),
        (("rnn",), "rnn"),
        (("qwen", "--plan", "nothing.yaml"), "nothing.yaml"),
        (("qwen", "--gpu", " "), "--gpu"),
        (("qwen", "--set", "plan.seqlen=3"), "plan.seqlen"),
        (("qwen", "--format", "png"), "command line"),
        ((), "command line"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line_and_in_json(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], place: str
) -> None:
    Path("empty").mkdir()
    Path("adapter").mkdir()
    Path("adapter/adapter_config.json").write_text('{"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"]}', encoding="utf-8")
    model("broken", {})
    (Path("broken") / "config.json").write_text("{", encoding="utf-8")
    model("sizeless", {"model_type": "llama"})
    model("rnn", {"model_type": "rwkv", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100})
    ran = fit(capsys, *words, facts=None) if not words else fit(capsys, *words)
    assert ran.status == 2
    assert place in ran.err
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err
    if "--format" not in words:
        body = fit(capsys, *words, "--format", "json").json
        assert set(body["error"]) == {"place", "found", "expected", "next"}


@pytest.mark.parametrize("damage", [-1, 0, 2**60, "many", None, [1], 1.5, True])
@pytest.mark.parametrize("field", ["hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads", "intermediate_size"])
def test_a_field_that_is_no_size_is_refused_and_never_a_crash(capsys: pytest.CaptureFixture[str], field: str, damage: object) -> None:
    model("damaged", {**QWEN_HALF_B, field: damage})
    assert fit(capsys, "damaged").status in (0, 1, 2)


def lengths_are(monkeypatch: pytest.MonkeyPatch, found: Lengths | Refused) -> None:
    def measured(*_: object, **__: object) -> Lengths | Refused:
        return found

    monkeypatch.setattr(measure, "measure_lengths", measured)


def test_the_longest_row_of_the_data_is_what_is_counted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lengths_are(monkeypatch, LENGTHS)
    measured = told(capsys, "glm", *LORA, "--data", "train.jsonl", "--gpu", "A100 40GB")
    stated = told(capsys, "glm", *LORA, "--set", "plan.seq_len=6001")
    assert measured["per_gpu"] == stated["per_gpu"]
    assert measured["lengths"]["p99"] == 2000
    cut = next(one for one in measured["advice"] if "plan.seq_len" in one["change"])
    shares = {2000: "1 %", 900: "5 %", 200: "50 %"}
    assert cut["cost"] == f"{shares[cut['change']['plan.seq_len']]} of the rows are cut"
    shorter = told(capsys, "glm", *LORA, "--data", "train.jsonl", "--set", "plan.seq_len=900")
    assert shorter["lengths"]["worst_batch"]["longest"] == 900


def test_rows_that_are_pairs_are_trained_on_as_pairs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lengths_are(monkeypatch, replace(LENGTHS, sequences=2))
    body = told(capsys, "glm", *LORA, "--data", "pairs.jsonl")
    assert {"fact": "plan.objective", "assumed": "dpo", "why": "the rows of the data are pairs"} in body["unknown"]
    stated = told(capsys, "glm", *LORA, "--set", "plan.seq_len=6001", "--set", "plan.objective=dpo")
    assert body["per_gpu"] == stated["per_gpu"]
    again = told(capsys, "glm", *LORA, "--data", "pairs.jsonl", "--set", "plan.objective=orpo")
    assert "plan.objective" not in {one["fact"] for one in again["unknown"]}


def test_frozen_layers_and_reference_models_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    frozen = fit(capsys, "qwen", "--set", "plan.method=freeze", "--set", "plan.trained_layers=1").out
    assert "  plan     training of 1 layer, the others frozen, bfloat16, " in frozen
    assert "full" not in frozen
    assert "  with what nobody stated: trained_layers = 2, " in fit(capsys, "qwen", "--set", "plan.method=freeze").out
    (note,) = told(capsys, "qwen", "--set", "plan.method=dpo")["notes"]
    assert note.startswith("dpo compares with a frozen copy of the model")
    assert told(capsys, "qwen", *LORA, "--set", "plan.objective=dpo")["notes"] == []
    (rolled,) = told(capsys, "qwen", "--set", "plan.method=ppo")["notes"]
    assert "only the step of the policy is counted" in rolled


def test_quantized_weights_are_not_trained(capsys: pytest.CaptureFixture[str]) -> None:
    model("gptq", {**QWEN_HALF_B, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}})
    (note,) = told(capsys, "gptq", "--set", "plan.method=full")["notes"]
    assert note == "the Trainer refuses to train gptq weights: it asks for adapters on top of them"
    assert told(capsys, "gptq", "--set", "plan.method=qlora")["notes"] == []


def test_targets_that_name_nothing_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    (note,) = told(capsys, "qwen", *LORA, "--set", "plan.lora_targets=query_key_value,foo")["notes"]
    assert note.startswith("no module of this model is called query_key_value, foo: peft refuses")
    for good in ("all-linear", "lm_head", "q_proj,foo", ".*_proj$"):
        assert told(capsys, "qwen", *LORA, "--set", f"plan.lora_targets={good}")["notes"] == []


def test_the_rows_of_an_evaluation_are_a_change_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("qwen", *LORA, "--set", "plan.seq_len=2048", "--set", "plan.evaluate=true", "--set", "plan.eval_batch_size=32")
    body = told(capsys, *words, "--gpu", "RTX 3090")
    assert (body["fits"], body["per_gpu"]["peak_at"]) == ("no", "evaluation")
    (first, *_) = body["advice"]
    assert set(first["change"]) == {"plan.eval_batch_size"}
    again = told(capsys, *words, "--gpu", "RTX 3090", "--set", f"plan.eval_batch_size={first['change']['plan.eval_batch_size']}")
    assert again["fits"] == first["fits"]


def test_data_that_cannot_be_counted_is_bad_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lengths_are(monkeypatch, Refused("train.jsonl", "a directory", "a file of rows", "give the file"))
    ran = fit(capsys, "glm", "--data", "train.jsonl")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == "envdoctor: train.jsonl: found a directory; expected a file of rows; next: give the file\n"


def test_exact_without_an_environment_says_so_and_keeps_the_closed_form(capsys: pytest.CaptureFixture[str]) -> None:
    body = told(capsys, "qwen", "--exact")
    assert body["method"] == "closed-form"
    assert "--python PATH" in body["exact"]["refused"]
    assert "not measured: no environment" in fit(capsys, "qwen", "--exact").out


def measuring(monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    """A measurement that finds so many times what is computed."""

    def measured(_: object, config: Mapping[str, object], plan: Plan, **__: object) -> Estimate:
        computed = estimate(read_architecture(config), plan)
        moments = tuple(replace(one, terms={term: times * count for term, count in one.terms.items()}) for one in computed.moments)
        peak = times * computed.allocated.expected
        return replace(computed, method="fake-tensors", moments=moments, allocated=Range(0.995 * peak, peak, 1.01 * peak))

    monkeypatch.setattr(exact, "measure", measured)


def test_what_was_measured_decides_and_the_advice_follows_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = (
        "glm",
        "--gpu",
        "A100 80GB",
        *LORA,
        "--set",
        "plan.gradient_checkpointing=false",
        "--set",
        "plan.seq_len=4000",
        "--python",
        sys.executable,
    )
    Path("plan.toml").write_text(f"{STACK}[plan]\nload_dtype = 'bfloat16'\n", encoding="utf-8")
    computed = told(capsys, *words, facts="plan.toml")
    assert computed["fits"] == "yes"
    measuring(monkeypatch, 2.0)
    body = told(capsys, *words, "--exact", facts="plan.toml")
    assert (body["method"], body["fits"]) == ("fake-tensors", "no")
    assert body["closed_form"] == computed["per_gpu"]
    expected = computed["per_gpu"]["allocated_gib"]["expected"]
    assert body["per_gpu"]["allocated_gib"]["expected"] == pytest.approx(2 * expected, abs=0.01)
    assert body["advice"][0]["change"] == {"plan.gradient_checkpointing": True}
    text = fit(capsys, *words, "--exact", facts="plan.toml").out
    assert f"  measured {2 * expected:.1f} GiB by running the model on fake tensors" in text


def test_a_measurement_that_is_refused_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.toml").write_text("[plan]\nmethod = 'lora'\n", encoding="utf-8")
    words = ("glm", "--exact", "--python", sys.executable, "--set", "plan.distributed=zero3", "--set", "gpu.count=2")
    body = told(capsys, *words, facts="plan.toml")
    assert body["method"] == "closed-form"
    assert body["exact"]["refused"].startswith("zero3: ")


def test_text_says_what_json_says(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("glm", "--gpu", "RTX 4090", *LORA, "--set", "plan.gradient_checkpointing=false", "--set", "plan.seq_len=6001")
    body, text = told(capsys, *words), fit(capsys, *words).out
    assert f"allocated{body['per_gpu']['allocated_gib']['expected']:>16.2f}" in text
    for advice in body["advice"]:
        assert f"{advice['allocated_gib']:.1f} GiB  --set" in text
    for one in body["unknown"]:
        assert one["fact"] in text


def test_without_what_decides_the_answer_is_a_range(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("glm", "--gpu", "A100 80GB", "--set", "plan.method=lora")
    body, text = told(capsys, *words, facts=None), fit(capsys, *words, facts=None).out
    assert (body["answer"], body["fits"]) == ("range", "unknown")
    named = {one["fact"] for one in body["undecided"]}
    assert named >= {"plan.seq_len", "plan.batch_size", "plan.lora_targets"}
    assert "cannot be told: " in text
    assert "what was not stated" in " ".join(text.split())


DDP = ("--set", "plan.method=lora", "--set", "plan.quant=none", "--set", "plan.load_dtype=float16", "--set", "plan.distributed=ddp")
CARDS = ("--set", "gpu.name=RTX 3090", "--set", "gpu.count=3")


def findings(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    ran = run(capsys, "check", *words, "--facts", "facts.toml", "--format", "json")
    assert ran.err == ""
    return {one["rule"]: one for one in ran.json["findings"]}


def test_experts_that_may_be_quantized_are_no_reason_to_call_a_card_too_small(capsys: pytest.CaptureFixture[str]) -> None:
    """56 GiB in 16 bits, 17 in 4: which of the two is named with its --set, and nothing is told to be of no help."""
    model("moe", {**SPARSE, "num_hidden_layers": 40, "num_experts": 128, "moe_intermediate_size": 2048})
    words = ("--set", "plan.method=qlora", "--set", "plan.trainer=axolotl", "--set", "plan.seq_len=1024", "--set", "plan.batch_size=1")
    more = ("--set", "packages.transformers=5.12.1", "--set", "plan.bf16=true", "--set", "plan.gradient_checkpointing=true")
    ran = fit(capsys, "moe", *words, *more, "--gpu", "RTX 4090")
    assert "plan.quantize_experts=true (false was taken)" in ran.out
    assert "can never hold that" not in ran.out
    said = fit(capsys, "moe", *words, *more, "--gpu", "RTX 4090", "--set", "plan.quantize_experts=false")
    assert "does not fit" in said.out
    assert "can never hold that" in said.out


def test_check_finds_the_plan_that_cannot_fit(capsys: pytest.CaptureFixture[str]) -> None:
    found = findings(capsys, "llama", *DDP, *CARDS)["plan-exceeds-gpu-memory"]
    assert (found["severity"], found["status"], found["effect"]) == ("error", "matched", "oom")
    assert {one["fact"] for one in found["because"]} == {"gpu.memory_gib", "plan.method"}
    cure = found["fixes"][0]
    assert cure["kind"] == "plan"
    pasted = [part for name, value in cure["set"].items() for part in ("--set", f"{name}={value}")]
    assert "plan-exceeds-gpu-memory" not in findings(capsys, "llama", *DDP, *CARDS, *pasted)
    # The length of the rows is not stated: with longer ones it may not fit.
    assert told(capsys, "llama", *DDP, *CARDS, *pasted)["fits"] in ("yes", "tight", "unknown")


@pytest.mark.parametrize("words", [DDP, CARDS, (*DDP, "--set", "gpu.name=A100 80GB"), (*CARDS, "--set", "plan.method=lora")])
def test_check_says_nothing_where_the_plan_may_fit(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert "plan-exceeds-gpu-memory" not in findings(capsys, "llama", *words)


def test_a_model_that_is_not_here_is_answered_with_the_line_that_fetches_its_sizes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    ran = run(capsys, "fit", "acme/Small-1B", "--set", "plan.method=lora")
    assert ran.status == 2
    assert ran.err.rstrip().endswith("next: hf download acme/Small-1B config.json --local-dir Small-1B && envdoctor fit ./Small-1B")
