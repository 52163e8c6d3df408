"""The names that most people take from a package which loads its modules only when they are asked for.

The import of such a package by itself shows little of what it needs. These are the names that its own documentation begins with.
"""

from __future__ import annotations

from collections.abc import Iterable

MAIN_NAMES = {
    "diffusers": ("diffusers:DiffusionPipeline", "diffusers:StableDiffusionPipeline", "diffusers:AutoencoderKL"),
    "llmcompressor": ("llmcompressor.modifiers.quantization:GPTQModifier", "llmcompressor.modifiers.quantization:QuantizationModifier"),
    "sglang": ("sglang:Engine",),
    "transformers": (
        "transformers:AutoTokenizer", "transformers:AutoModelForCausalLM", "transformers:Trainer", "transformers:TrainingArguments",
        "transformers:pipeline",
    ),
    "trl": ("trl:SFTTrainer", "trl:DPOTrainer", "trl:RewardTrainer", "trl:GRPOTrainer", "trl:PPOTrainer", "trl:KTOTrainer"),
    "vllm": ("vllm:LLM", "vllm:SamplingParams"),
}  # fmt: skip


def main_entries(packages: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The imports of the main names of packages, each with its package."""
    return tuple((package, entry) for package in packages for entry in MAIN_NAMES.get(package, ()))


__all__ = ["MAIN_NAMES", "main_entries"]
