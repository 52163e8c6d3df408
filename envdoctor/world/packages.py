"""What is known of packages by name: which ones every run has, which ones come along, and which setting asks for one."""

from __future__ import annotations

# What a run of transformers practically always has.
CORE = frozenset(
    (
        "accelerate", "datasets", "fsspec", "huggingface-hub", "numpy", "packaging", "peft", "pyarrow", "safetensors", "tokenizers",
        "torch", "transformers",
    )
)  # fmt: skip
# What an environment has with many other packages, whoever asked for it.
GENERAL = frozenset(
    (
        "anyio", "click", "httpx", "jinja2", "markupsafe", "pandas", "pillow", "protobuf", "pydantic", "requests", "scipy", "setuptools",
        "starlette", "typer", "typing-extensions", "urllib3",
    )
)  # fmt: skip
# The fact of a plan, and its values, by which a run asks for a package.
ASKED_BY: dict[str, tuple[str, tuple[object, ...]]] = {
    "bitsandbytes": ("plan.quant", ("4bit", "8bit")),
    "deepspeed": ("plan.distributed", ("zero1", "zero2", "zero3")),
    "flash-attn": ("plan.attn", ("flash_attention_2", "flash_attention_3")),
    "xformers": ("plan.attn", ("xformers",)),
    "auto-gptq": ("plan.quant", ("gptq",)),
    "optimum": ("plan.quant", ("gptq",)),
    "autoawq": ("plan.quant", ("awq",)),
    "trl": ("plan.method", ("dpo", "ppo", "grpo", "kto", "orpo")),
    "vllm": ("plan.vllm", (True,)),
}
# Packages that name ranges of others which they do not run without, and these others.
BINDING = ("accelerate", "datasets", "diffusers", "peft", "sentence-transformers", "tokenizers", "transformers", "trl")
BOUND = ("accelerate", "fsspec", "huggingface-hub", "numpy", "pyarrow", "safetensors", "tokenizers", "transformers")
# What trains by settings of its own, with defaults of its own.
FRAMEWORKS = ("axolotl", "litgpt", "llamafactory", "ms-swift", "nemo-toolkit", "torchtune", "unsloth", "verl")
