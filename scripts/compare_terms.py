"""The closed form beside the real modules, family by family: what one layer keeps, and the most that is allocated.

    python scripts/compare_terms.py PYTHON [PYTHON ...]    # interpreters with torch, transformers and peft

Each runs the models of tests/memory/counted.json, cut to three layers, under fake tensors (envdoctor/memory/children/fake_step.py).
Writes docs/memory-terms.md and fixtures/memory/counted_layers.json, which the tests read.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHILD = ROOT / "benchmarks" / "fit_child.py"
STEP = ROOT / "envdoctor" / "memory" / "children" / "fake_step.py"
ROWS, TOKENS, LAYERS, VOCABULARY, EXPERTS = 16, 504, 3, 8192, 16
FAMILIES = (
    "Llama-3.2-3B", "Mistral-7B-v0.1", "Qwen2.5-7B", "Qwen3-8B", "gemma-2b", "gemma-2-2b", "gemma-3-1b", "phi-2", "Phi-3-mini-4k",
    "gpt2-xl", "pythia-6.9b", "gpt_bigcode-santacoder", "bloom-7b1", "opt-6.7b", "falcon-40b", "mpt-7b", "gpt-j-6b", "starcoder2-3b",
    "stablelm-3b-4e1t", "stablelm-2-12b", "PowerLM-3b", "OLMo-7B", "OLMo-2-7B", "command-r-v01", "command-r7b", "glm-4-9b-chat-hf",
    "GLM-4-9B-0414", "SmolLM3-3B", "Minitron-4B", "bert-large-uncased", "roberta-large", "distilbert-base-uncased", "Mixtral-8x7B-v0.1",
    "Qwen3-30B-A3B", "Qwen1.5-MoE-A2.7B", "OLMoE-1B-7B",
)  # fmt: skip
PLANS: dict[str, dict[str, Any]] = {
    "full": {},
    "full, checkpointing": {"checkpointing": True},
    "full, eager": {"attention": "eager"},
    "full, float32 under autocast": {"dtype": "float32", "autocast": "bfloat16"},
    "LoRA": {"lora": True},
    "LoRA, autocast": {"lora": True, "autocast": "bfloat16"},
    "LoRA, autocast, checkpointing, whole vocabulary": {"lora": True, "autocast": "bfloat16", "checkpointing": True, "whole": True},
}
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
_CLASSIFY = ("bert", "roberta", "distilbert")


def jobs() -> list[dict[str, Any]]:
    told = json.loads((ROOT / "tests" / "memory" / "counted.json").read_text())["models"]
    return [job(name, told[name]["config"], plan) for plan in PLANS for name in FAMILIES]


def job(name: str, config: dict[str, Any], plan: str) -> dict[str, Any]:
    asked: dict[str, Any] = dict(PLANS[plan])
    whole, lora = asked.pop("whole", False), asked.pop("lora", False)
    config = dict(config)
    config.update({field: LAYERS for field in _LAYERS if field in config} or {"num_hidden_layers": LAYERS})
    config.update({field: EXPERTS for field in _EXPERTS if field in config})
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][:LAYERS]
    if config["model_type"] in _CLASSIFY:
        config["architectures"] = ["ForSequenceClassification"]
    if not whole:
        config.update(vocab_size=VOCABULARY, pad_token_id=0, bos_token_id=1, eos_token_id=1)
    adapter = {"rank": 16, "targets": ["all-linear"], "modules_to_save": [], "float32": True, "dora": False, "dropout": 0.0}
    params = {
        "config": config, "path": None, "remote": False, "dtype": "bfloat16", "autocast": None, "rows": ROWS, "tokens": TOKENS,
        "adapter": adapter if lora else None, "quant": "none", "double_quant": False, "upcast": False, "accumulation": 1,
        "checkpointing": False, "optimizer": "sgd", "attention": "sdpa", "mask": False, "ddp": False, "debug": True, **asked,
    }  # fmt: skip
    return {"name": name, "plan": plan, "params": params}


def _kept(params: dict[str, Any], measured: dict[str, Any]) -> dict[str, Any]:
    if "allocated" not in measured:
        return measured
    layer = None if params["checkpointing"] else _layer(params, measured["debug"]["saved at forward end"])
    return {"layer": layer, "allocated": measured["allocated"], "versions": measured["versions"]}


def _layer(params: dict[str, Any], saved: list[Any]) -> float:
    """Bytes for each token that the second layer keeps; 16-bit copies of weights have no dimension of the batch."""
    tokens = params["rows"] * params["tokens"]
    chosen = params["config"].get("num_experts_per_tok")
    batch = {params["rows"], params["tokens"], tokens, tokens * chosen // EXPERTS if chosen else tokens}
    total = 0.0
    for size, made, _ in saved:
        within = made and re.search(r"(?:^|\.)(?:layers|h|layer|blocks)\.(\d+)(?:\.|$)", made[3])
        if within and within[1] == "1" and batch.intersection(made[1]):
            total += size
    return round(float(total / tokens), 1)


def measure(interpreters: list[str], asked: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """What each interpreter counts for these jobs, side by side.

    Raises:
        SystemExit: one that ended badly.
    """
    environment = {**os.environ, "PYTORCH_JIT": "0", "TRANSFORMERS_VERBOSITY": "error"}
    with tempfile.TemporaryDirectory() as folder:
        questions = Path(folder, "questions")
        questions.write_text("".join(json.dumps({**one["params"], "experts": EXPERTS}) + "\n" for one in asked))
        running = []
        for number, one in enumerate(interpreters):
            with questions.open() as reading, Path(folder, str(number)).open("w") as writing:
                command = [one, str(CHILD), str(STEP)]
                running.append(subprocess.Popen(command, stdin=reading, stdout=writing, stderr=subprocess.DEVNULL, env=environment))
        for number, process in enumerate(running):
            if process.wait():
                raise SystemExit(f"{interpreters[number]} ended with {process.returncode}")
        answers = [map(json.loads, Path(folder, str(number)).read_text().splitlines()) for number in range(len(interpreters))]
        return [[_kept(one["params"], found) for one, found in zip(asked, some, strict=True)] for some in answers]


def main(interpreters: list[str]) -> None:
    import terms_page

    told = [{**one, **found} for some in measure(interpreters, jobs()) for one, found in zip(jobs(), some, strict=True)]
    terms_page.FIXTURE.write_text(terms_page.fixture(told))
    terms_page.main()


if __name__ == "__main__":
    main(sys.argv[1:])
