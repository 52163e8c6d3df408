"""An Auto class of transformers that has no model for a configuration: which one has, as far as the message tells.

https://github.com/THUDM/ChatGLM-6B (its page loads it by AutoModel), https://github.com/OpenBMB/VisRAG/issues/54,
https://github.com/huggingface/transformers/issues/12079 (an encoder); transformers/models/auto/modeling_auto.py of 4.15.0, 4.30.2,
4.36.2, 4.45.2, 4.51.3, 4.57.6, 5.0.0 and 5.24.0: what MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES has in one of them, and
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES in none.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure

PAGE = "configuration-of-another-auto-class"
_REFUSED = re.compile(
    r"Unrecognized configuration class <class '(?P<module>[\w.-]{1,300})\.(?P<cls>\w{1,80})'> "
    r"for this kind of AutoModel: (?P<auto>\w{4,60})"
)
_IN_PAIRS = re.compile(
    r"(?:T5|MT5|UMT5|LongT5|T5Gemma2?|SwitchTransformers|FSMT|GPTSanJapanese|LED|M2M100|NllbMoe|EncoderDecoder|PegasusX"
    r"|SeamlessM4T(?:v2)?)Config"
)
# The same tables have models there that hear: some of an encoder of sound before a language model.
_HEARS = re.compile(
    r"(?:AudioFlamingo3|GlmAsr|GraniteSpeech(?:Plus)?|MusicFlamingo|Nemotron3_5Transcribe|OmniASR|Qwen2Audio|Qwen3ASR|VibeVoiceAsr"
    r"|Voxtral(?:Realtime)?)Config"
)
_SEES = re.compile(r"VL|Vision|Llava|Idefics|Gemma|Mllama|Mistral3|Image|Video|Omni|Blip|Kosmos|Fuyu|Pix2Struct|Aria|Florence|Glm4v|Got")
_ASK = (
    "python -c \"from transformers import AutoConfig as A; c = A.from_pretrained('PATH', trust_remote_code=True); print(c.architectures, "
    "getattr(c, 'auto_map', None))\" prints the class to load, and under which Auto classes the model's own code gives one"
)


def judge_auto_class(failure: Failure) -> Hit | None:
    """None where a model that sees is asked for as one of language alone: the page says what to do."""
    told = _REFUSED.search(failure.message)
    if told is None:
        return None
    cls, auto = told["cls"], told["auto"]
    if "transformers_modules" in told["module"]:
        detail = f"{cls} is of the model's own code, whose config.json names no class under {auto} in auto_map"
        others = "AutoModel, AutoModelForSeq2SeqLM" if auto == "AutoModelForCausalLM" else "AutoModelForCausalLM, AutoModel"
        advice = f"the Auto class that auto_map in its config.json names (of {others} and others), with trust_remote_code=True; {_ASK}"
    elif auto == "AutoModelForCausalLM" and _IN_PAIRS.fullmatch(cls):
        detail = f"{cls} is of a model with an encoder and a decoder"
        advice = "AutoModelForSeq2SeqLM.from_pretrained(PATH), and a trainer for such models (in peft task_type SEQ_2_SEQ_LM)"
    elif auto == "AutoModelForCausalLM" and _HEARS.fullmatch(cls):
        detail = f"{cls} is of a model that hears, which transformers lists under AutoModelForSeq2SeqLM"
        advice = f"the class that config.json names under architectures, or AutoModelForSeq2SeqLM, with the model's processor: {_ASK}"
    elif _SEES.search(cls):
        return None
    else:
        detail = f"transformers has no model for {cls} under {auto}"
        advice = f"the class that config.json names under architectures, or another model: {_ASK}"
    return Hit(PAGE, True, (), detail=detail, packages=("transformers",), edge=f"{auto}:{cls}", advice=advice)
