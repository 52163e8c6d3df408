"""Whether the layers that FSDP is told to wrap are those of the model."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.fact import Fact, Facts, Origin

# The class of a layer in transformers' modeling file of a type (_no_split_modules, or what accelerate's and transformers' documents wrap).
_LAYERS: dict[str, tuple[str, ...]] = {
    "llama": ("LlamaDecoderLayer",),
    "mistral": ("MistralDecoderLayer",),
    "mixtral": ("MixtralDecoderLayer",),
    "qwen2": ("Qwen2DecoderLayer",),
    "qwen2_moe": ("Qwen2MoeDecoderLayer",),
    "qwen3": ("Qwen3DecoderLayer",),
    "qwen3_moe": ("Qwen3MoeDecoderLayer",),
    "gemma": ("GemmaDecoderLayer",),
    "gemma2": ("Gemma2DecoderLayer",),
    "gemma3_text": ("Gemma3DecoderLayer",),
    "phi": ("PhiDecoderLayer",),
    "phi3": ("Phi3DecoderLayer",),
    "falcon": ("FalconDecoderLayer",),
    "starcoder2": ("Starcoder2DecoderLayer",),
    "opt": ("OPTDecoderLayer",),
    "gpt2": ("GPT2Block",),
    "gpt_neo": ("GPTNeoBlock",),
    "gpt_neox": ("GPTNeoXLayer",),
    "gptj": ("GPTJBlock",),
    "gpt_bigcode": ("GPTBigCodeBlock",),
    "bloom": ("BloomBlock",),
    "t5": ("T5Block",),
    "mt5": ("MT5Block",),
    "bert": ("BertLayer",),
    "roberta": ("RobertaLayer",),
    "xlm-roberta": ("XLMRobertaLayer",),
    "bart": ("BartEncoderLayer", "BartDecoderLayer"),
}
_ALL = frozenset(name.lower() for names in _LAYERS.values() for name in names)


def missing_layers(facts: Facts) -> Iterator[Fact]:
    """A class that another model's layers have, or that is written in other letters: accelerate finds none of it and ends the run."""
    named, own = facts.value("plan.fsdp_layers"), _LAYERS.get(facts.text("model.type") or "")
    if not isinstance(named, tuple) or own is None:
        return
    foreign = [name for name in map(str, named) if name not in own and name.lower() in _ALL]
    if foreign or set(map(str, named)) & set(own):
        yield Fact("plan.fsdp_layer_missing", bool(foreign), Origin(f"the layers of {facts.text('model.type')} are {', '.join(own)}"))
