"""Spellings of ``plan.code_uses`` from before uses and patterns had a form, and what stands in their place.

People have them in facts files, in packs of their own and, by way of conditions, in baselines. To be removed with the second release
after 0.1, together with the names without a package in ``envdoctor/facts/uses.py``.
"""

from __future__ import annotations

_PPO = "trl.PPOTrainer(config, !policy, !reward_model, !value_model, !policy_model, !args)"
_FORMATS = "0|type=numpy|torch|pt|pytorch|np|tensorflow|tf|jax"
_GROWS = "*expandable_segments:true*"
# By the old spelling: a use that it meant, and the patterns that mean what it meant.
OLD: dict[str, tuple[str, tuple[str, ...]]] = {
    "DPOTrainer(DPOConfig)": ("trl.DPOTrainer(args=trl.DPOConfig)", ("trl.DPOTrainer(args=trl.DPOConfig)",)),
    "DPOTrainer(TrainingArguments)": (
        "trl.DPOTrainer(args=transformers.TrainingArguments)",
        ("trl.DPOTrainer(args=transformers.TrainingArguments|transformers.Seq2SeqTrainingArguments)",),
    ),
    "HF_HOME": ("env:HF_HOME", ("env:HF_HOME",)),
    "HF_HUB_ENABLE_HF_TRANSFER": ("env:HF_HUB_ENABLE_HF_TRANSFER=1", ("env:HF_HUB_ENABLE_HF_TRANSFER=1|on|yes|true",)),
    "PPOTrainer(config)": ("trl.PPOTrainer(config)", (_PPO,)),
    "PYTORCH_ALLOC_CONF(expandable_segments)": (
        "env:PYTORCH_ALLOC_CONF=expandable_segments:True",
        (f"env:PYTORCH_ALLOC_CONF={_GROWS}",),
    ),
    "PYTORCH_CUDA_ALLOC_CONF(expandable_segments)": (
        "env:PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        (f"env:PYTORCH_CUDA_ALLOC_CONF={_GROWS}",),
    ),
    "SFTTrainer(TrainingArguments)": (
        "trl.SFTTrainer(args=transformers.TrainingArguments)",
        ("trl.SFTTrainer(args=transformers.TrainingArguments|transformers.Seq2SeqTrainingArguments)",),
    ),
    "Trainer(compute_metrics)": ("transformers.Trainer(compute_metrics=...)", ("transformers.Trainer(compute_metrics=...|*)",)),
    "Trainer(preprocess_logits_for_metrics)": (
        "transformers.Trainer(preprocess_logits_for_metrics=...)",
        ("transformers.Trainer(preprocess_logits_for_metrics=...|*)",),
    ),
    "Trainer.compute_loss": (
        "def transformers.Trainer.compute_loss(self, model, inputs)",
        ("def transformers.*Trainer.compute_loss(!num_items_in_batch)", "def trl.*Trainer.compute_loss(!num_items_in_batch)"),
    ),
    "attn_implementation": (
        "transformers.AutoModel.from_pretrained(attn_implementation)",
        (
            "transformers.*.from_pretrained(attn_implementation)", "transformers.*.from_config(attn_implementation)",
            "trl.*.from_pretrained(attn_implementation)", "?.from_pretrained(attn_implementation)", "?.from_config(attn_implementation)",
        ),
    ),
    "device_map": (
        "transformers.AutoModel.from_pretrained(device_map=auto)",
        (
            "transformers.*.from_pretrained(device_map=*)", "trl.*.from_pretrained(device_map=*)",
            "peft.AutoPeft*.from_pretrained(device_map=*)", "?.from_pretrained(device_map=*)",
        ),
    ),
    "find_pruneable_heads_and_indices": (
        "transformers.pytorch_utils.find_pruneable_heads_and_indices",
        ("transformers.find_pruneable_heads_and_indices",),
    ),
    "force_filename": ("huggingface_hub.hf_hub_download(force_filename)", ("huggingface_hub.*(force_filename)",)),
    "get_batch_logps(average_log_prob)": (
        "?.get_batch_logps(average_log_prob)",
        ("?.get_batch_logps(average_log_prob)", "trl.get_batch_logps(average_log_prob)"),
    ),
    "load_dataset(script)": ("datasets.load_dataset(path=data.py)", ("datasets.load_dataset(0|path=*.py)",)),
    "local_dir": ("huggingface_hub.hf_hub_download(local_dir)", ("huggingface_hub.*(local_dir)",)),
    "local_dir_use_symlinks": ("huggingface_hub.hf_hub_download(local_dir_use_symlinks)", ("huggingface_hub.*(local_dir_use_symlinks)",)),
    "map": ("?.map()", ("?.map()",)),
    "model.state_dict = get_peft_model_state_dict": (
        "?.state_dict = peft.get_peft_model_state_dict",
        ("?.state_dict = peft.get_peft_model_state_dict",),
    ),
    "resume_download": ("huggingface_hub.hf_hub_download(resume_download)", ("huggingface_hub.*(resume_download)",)),
    "safetensors.torch.save_file": ("safetensors.torch.save_file(0, 1)", ("safetensors.torch.save_file(!metadata, !2)",)),
    "save_pretrained": ("?.save_pretrained()", ("?.save_pretrained()",)),
    "set_format": (
        "?.set_format(type=torch)",
        (f"?.set_format({_FORMATS})", f"datasets.*.set_format({_FORMATS})"),
    ),
    "swift rlhf": ("$ swift rlhf", ("$ swift rlhf", "swift.rlhf_main")),
    "swift sft": ("$ swift sft", ("$ swift sft", "swift.sft_main")),
    "transformers.deepspeed": ("transformers.deepspeed.HfDeepSpeedConfig", ("transformers.deepspeed.*",)),
    "transformers.integrations.deepspeed": (
        "transformers.integrations.deepspeed.HfDeepSpeedConfig",
        ("transformers.integrations.deepspeed.*",),
    ),
    "use_fast=False": (
        "transformers.AutoTokenizer.from_pretrained(use_fast=False)",
        ("transformers.*.from_pretrained(use_fast=False)", "?.from_pretrained(use_fast=False)"),
    ),
    "use_flash_attention_2": (
        "transformers.AutoModel.from_pretrained(use_flash_attention_2)",
        ("transformers.*.from_pretrained(use_flash_attention_2)", "?.from_pretrained(use_flash_attention_2)"),
    ),
    "with_format": (
        "?.with_format(type=torch)",
        (f"?.with_format({_FORMATS})", f"datasets.*.with_format({_FORMATS})"),
    ),
}  # fmt: skip
# Of one rule that had both.
_BOTH = {"datasets.load_metric": "load_metric or datasets.load_metric"}
# Names that had their package before.
_QUALIFIED = frozenset(("datasets.Audio", "datasets.List", "evaluate.load", "torch.optim.AdamW", "transformers.AdamW"))


def now_used(text: str) -> str:
    """A stated use as it is written now."""
    return OLD[text][0] if text in OLD else text


def now_meant(text: str) -> tuple[str, ...]:
    """A pattern of a pack as it is written now."""
    return OLD[text][1] if text in OLD else (text,)


def as_before(text: str) -> str:
    """The text of a condition over ``plan.code_uses`` as a baseline has it that was written with the old spellings."""
    denied = text.startswith("not ")
    told = dict.fromkeys(_before(one) for one in text.removeprefix("not ").split(" or "))
    return f"{'not ' if denied else ''}{' or '.join(told)}"


def _before(pattern: str) -> str:
    for old, (_, patterns) in OLD.items():
        if pattern in patterns:
            return old
    if pattern in _BOTH:
        return _BOTH[pattern]
    return pattern if pattern in _QUALIFIED or "." not in pattern.partition("(")[0] else ".".join(_tail(pattern))


def _tail(pattern: str) -> list[str]:
    name, parenthesis, rest = pattern.partition("(")
    parts = name.split(".")
    kept = parts[-2:] if len(parts) > 2 and parts[-2][:1].isupper() else parts[-1:]
    return [*kept[:-1], f"{kept[-1]}{parenthesis}{rest}"]
