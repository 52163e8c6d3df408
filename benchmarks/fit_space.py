"""The space that benchmarks/fit_draws.py draws from: models, cut to a few layers, and the facts of a plan for them.

``draw`` is the space of the seeds that were judged before 2026-11-26; ``draw_wide`` has more kinds of models, adapters, optimizers, lengths
and ways to run, and is that of every seed from ``WIDE_FROM`` on. From ``AGAIN_FROM`` on a model is drawn among those that the release has,
and what a stack refuses is drawn again. A seed, a number and a try give the same plan in every run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.version import Version

from envdoctor.facts.versions import exact
from envdoctor.world.architectures import known_types

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests" / "memory" / "counted.json"
FAMILIES = (
    "Llama-3.2-3B", "Mistral-7B-v0.1", "Qwen2.5-7B", "Qwen3-8B", "gemma-2b", "gemma-2-2b", "gemma-3-1b", "phi-2", "Phi-3-mini-4k",
    "gpt2-xl", "pythia-6.9b", "gpt_bigcode-santacoder", "bloom-7b1", "opt-6.7b", "falcon-40b", "gpt-j-6b", "starcoder2-3b",
    "stablelm-3b-4e1t", "PowerLM-3b", "OLMo-7B", "OLMo-2-7B", "command-r-v01", "glm-4-9b-chat-hf", "SmolLM3-3B", "Minitron-4B",
    "bert-large-uncased", "roberta-large", "distilbert-base-uncased", "Mixtral-8x7B-v0.1", "Qwen3-30B-A3B",
)  # fmt: skip
COMMON = ("Llama-3.2-3B", "Mistral-7B-v0.1", "Qwen2.5-7B", "Qwen3-8B", "gemma-2-2b", "Phi-3-mini-4k")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
_CLASSIFY = ("bert", "roberta", "distilbert")
EXPERTS = 8


def draw(seed: int, number: int | str, versions: Mapping[str, str], known: frozenset[str] | None = None) -> dict[str, Any]:
    """A model and the facts of a plan, the same for a seed and number in every run. ``known`` are the kinds to choose among, if not all."""
    chance = random.Random(f"{seed}:{number}")
    name = chance.choice(_among(FAMILIES if chance.random() < 0.6 else COMMON, known))
    layers = chance.randint(2, 4)
    config = _cut(json.loads(MODELS.read_text())["models"][name]["config"], layers, None if chance.random() < 0.6 else 8192)
    facts: dict[str, Any] = {f"packages.{package}": f"=={release}" for package, release in versions.items()}
    method = chance.choice(("full", "lora", "lora", "qlora"))
    facts["plan.method"] = method
    half = chance.choice(("bfloat16", "bfloat16", "float16"))
    facts["plan.load_dtype"] = chance.choice((half, half, "float32"))
    if chance.random() < 0.7:
        facts["plan.bf16" if half == "bfloat16" else "plan.fp16"] = True
    rows = chance.choice((1, 2, 4, 8))
    facts.update({"plan.batch_size": rows, "plan.seq_len": chance.choice((128, 256, 512, 1024, 2048))})
    facts["plan.padding"] = rows > 1 and chance.random() < 0.6
    facts["plan.gradient_checkpointing"] = chance.random() < 0.5
    facts["plan.gradient_accumulation"] = chance.choice((1, 1, 4))
    facts["plan.attn"] = chance.choice(("sdpa", "sdpa", "eager", "flash_attention_2"))
    if facts["plan.attn"] == "flash_attention_2" and Version(versions["transformers"]) < Version("4.48"):
        # There it is played by SDPA, which copies keys and values for every head.
        facts["plan.attn"] = "sdpa"
    facts["plan.optimizer"] = chance.choice(("adamw_torch", "adamw_torch", "adamw_torch_fused", "adamw_8bit", "paged_adamw_8bit", "sgd"))
    facts["plan.outputs_kept"] = chance.random() < 0.3
    if method != "full":
        facts["plan.lora_r"] = chance.choice((8, 16, 64))
        facts["plan.lora_targets"] = ["all-linear"]
        facts["plan.lora_dropout"] = chance.choice((0.0, 0.05))
    if method == "qlora":
        facts["plan.kbit_preparation"] = chance.random() < 0.7
        facts["plan.double_quant"] = chance.random() < 0.5
        facts["plan.load_dtype"] = half
    return {"seed": seed, "number": number, "model": name, "config": config, "facts": facts}


def _among(names: tuple[str, ...], known: frozenset[str] | None) -> tuple[str, ...]:
    if known is None:
        return names
    table = json.loads(MODELS.read_text())["models"]
    return tuple(name for name in names if table[name]["config"]["model_type"] in known)


def draw_sharded(seed: int, number: int, versions: Mapping[str, str], again: int = 0) -> dict[str, Any]:
    """The same with FSDP over several GPUs, of either kind and as three releases of accelerate prepare it."""
    known = known_types(exact(versions["transformers"])) if seed >= AGAIN_FROM else None
    which = number if not again else f"{number}.{again}"
    drawn = {**draw(seed, which, versions, known), "number": number, "again": again}
    chance, facts = random.Random(f"sharded:{seed}:{which}"), drawn["facts"]
    if facts["plan.method"] == "qlora":
        facts["plan.method"] = "lora"
        for name in ("plan.kbit_preparation", "plan.double_quant"):
            facts.pop(name)
    facts.update({"plan.distributed": "fsdp", "gpu.count": chance.choice((2, 4, 8)), "plan.fsdp_version": chance.choice((1, 2))})
    facts["packages.accelerate"] = "==" + chance.choice(("1.10.1", "1.13.0", "1.15.0"))
    return drawn


def _cut(config: dict[str, Any], layers: int, vocabulary: int | None) -> dict[str, Any]:
    if isinstance(config.get("text_config"), dict):
        return {**config, "text_config": _cut(config["text_config"], layers, None)}
    config = {**config, **({field: layers for field in _LAYERS if field in config} or {"num_hidden_layers": layers})}
    config.update({field: EXPERTS for field in _EXPERTS if field in config})
    if "n_routed_experts" in config and config.get("num_experts_per_tok", 0) > EXPERTS // 2:
        config["num_experts_per_tok"] = EXPERTS // 2
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][:layers]
    if config["model_type"] in _CLASSIFY:
        config["architectures"] = ["ForSequenceClassification"]
    if vocabulary is not None:
        config.update(vocab_size=vocabulary, pad_token_id=0, bos_token_id=1, eos_token_id=1)
    return config


WIDE_FROM = 20261210
MORE = (
    "GLM-4-9B-0414", "command-r7b", "OLMo-3-7B", "OLMoE-1B-7B", "Qwen1.5-MoE-A2.7B", "granite-3.1-8b", "granite-3.1-3b-a800m",
    "gpt-oss-20b", "EXAONE-4.0-1.2B", "ERNIE-4.5-0.3B", "Hunyuan-1.8B", "Seed-OSS-36B", "AFM-4.5B", "helium-1-preview-2b",
    "stablelm-2-12b", "mpt-7b", "falcon-7b", "falcon-11B", "starcoder", "codegen-350M", "persimmon-8b", "Phi-3.5-MoE", "phi-4",
    "DeepSeek-V2-Lite", "opt-350m", "gpt-neo-1.3B", "xlm-roberta-base", "electra-base", "ModernBERT-base", "Qwen2.5-0.5B",
    "TinyLlama-1.1B", "Mistral-Nemo-12B", "gemma-2-9b", "Qwen3-0.6B", "SmolLM2-135M",
)  # fmt: skip
SEEING = (
    "Qwen2.5-VL-3B",
    "Qwen2-VL-2B",
    "Qwen3-VL-4B",
    "gemma-3-4b",
    "llava-1.5-7b",
    "InternVL3-1B-hf",
    "Mistral-Small-3.1-24B",
    "paligemma-3b",
)
"""Models that see, given text alone: their towers are weights."""
_SAVED = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "phi3")


def draw_wide(seed: int, number: int | str, versions: Mapping[str, str], known: frozenset[str] | None = None) -> dict[str, Any]:
    """The same with more kinds of models, adapters, optimizers, lengths and ways to run."""
    drawn = draw(seed, number, versions, known)
    chance, facts = random.Random(f"wide:{seed}:{number}"), drawn["facts"]
    table = json.loads(MODELS.read_text())["models"]
    which = chance.random()
    if which < 0.5:
        drawn["model"] = chance.choice(_among(MORE if which < 0.42 else SEEING, known))
        config = _cut(table[drawn["model"]]["config"], chance.randint(2, 5), None if chance.random() < 0.6 else 8192)
        if config["model_type"] in _DECODERS_THAT_CLASSIFY and chance.random() < 0.15:
            config["architectures"] = ["ForSequenceClassification"]
        drawn["config"] = config
    sees = drawn["model"] in SEEING
    if sees and facts["plan.method"] == "full":
        # A tower that is given no picture has no gradient, which no training of one is like.
        facts.update({"plan.method": "lora", "plan.lora_r": 16, "plan.lora_targets": ["all-linear"], "plan.lora_dropout": 0.0})
    facts["plan.seq_len"] = chance.choice((facts["plan.seq_len"], 77, 384, 1000, 1536, 4096))
    facts["plan.batch_size"] = chance.choice((facts["plan.batch_size"], facts["plan.batch_size"], 1, 3, 16))
    if facts["plan.seq_len"] * facts["plan.batch_size"] > 32768:
        facts["plan.batch_size"] = 1
    facts["plan.padding"] = facts["plan.batch_size"] > 1 and chance.random() < 0.6
    if facts["plan.batch_size"] == 1 and chance.random() < 0.3:
        facts["plan.packing"] = True
    more = ("adafactor", "paged_adamw_32bit", "lion_8bit", "lion_32bit", "rmsprop", "adamw_bnb_8bit")
    facts["plan.optimizer"] = chance.choice((facts["plan.optimizer"], facts["plan.optimizer"], *more))
    if facts["plan.method"] != "full":
        _adapter(facts, drawn["config"], chance)
    if sees:
        # Few of its adapters stand in the tower, where they have neither gradients nor states.
        facts.update({"plan.lora_targets": ["q_proj", "k_proj", "v_proj"], "plan.lora_r": 8})
    if chance.random() < 0.08:
        facts.update({"plan.distributed": "ddp", "gpu.count": chance.choice((2, 8))})
    return drawn


_DECODERS_THAT_CLASSIFY = ("llama", "mistral", "qwen2", "qwen3", "gemma2")


def _adapter(facts: dict[str, Any], config: Mapping[str, Any], chance: random.Random) -> None:
    facts["plan.lora_r"] = chance.choice((facts["plan.lora_r"], 4, 128, 256))
    if facts["plan.method"] == "lora" and chance.random() < 0.2:
        facts["plan.method"] = chance.choice(("dora", "rslora"))
    if config["model_type"] in _SAVED:
        attention = ["qkv_proj"] if config["model_type"] == "phi3" else ["q_proj", "v_proj"]
        everywhere = ["qkv_proj", "o_proj"] if config["model_type"] == "phi3" else ["q_proj", "k_proj", "v_proj", "o_proj"]
        facts["plan.lora_targets"] = chance.choice((["all-linear"], attention, everywhere, ["down_proj"]))
        if chance.random() < 0.15 and "architectures" in config and "ForSequence" not in str(config["architectures"]):
            facts["plan.modules_to_save"] = ["embed_tokens", "lm_head"]
    if chance.random() < 0.15:
        facts["plan.autocast_adapter_dtype"] = False


AGAIN_FROM = 20261230
TRIES = 8


def draw_of(seed: int, number: int, versions: Mapping[str, str], again: int = 0) -> dict[str, Any]:
    """The draw of a seed, from the space of its day; ``again`` counts what a stack refused under that number."""
    if seed < AGAIN_FROM:
        return (draw_wide if seed >= WIDE_FROM else draw)(seed, number, versions)
    known = known_types(exact(versions["transformers"]))
    drawn = draw_wide(seed, number if not again else f"{number}.{again}", versions, known)
    return {**drawn, "number": number, "again": again}


def has_experts(config: Mapping[str, Any]) -> bool:
    return any(field in config for field in _EXPERTS)
