"""``pipeline(task, model="...")`` of transformers: a load, and an answer; encoders of sentence-transformers, which load likewise."""

from __future__ import annotations

import re

from envdoctor.sources.scripts.kinds import Known, Table
from envdoctor.sources.scripts.loading import read_model_kwargs
from envdoctor.sources.scripts.named_models import say_model
from envdoctor.sources.scripts.reading import Call, Reading

# Tasks whose pipelines call generate(); speech and questions about pictures do so with some models alone.
_GENERATES = re.compile(
    r"text-generation|text2text-generation|summarization|translation(_\w+)?|image-to-text|image-text-to-text|conversational"
)
# Speech models that write what they hear by generate(); the others read it off the sounds.
_WRITES = re.compile(r"whisper|speech2text|s2t|seamless|moonshine", re.IGNORECASE)
# Those that read text: they load the tokenizer of their model.
_TOKENIZES = re.compile(
    r"text(2text)?-(generation|classification)|summarization|translation(_\w+)?|sentiment-analysis|ner|token-classification"
    r"|question-answering|fill-mask|zero-shot-classification"
)
# Arguments of its own that it hands to from_pretrained.
_HANDED_ON = ("torch_dtype", "dtype", "device_map", "trust_remote_code")


def read_pipelines(reading: Reading, loads: list[Call]) -> list[Call]:
    """State what the pipelines say that are given the name of a model, where the script loads none itself; those that generate."""
    made = reading.few(list(reading.named("transformers", "pipeline")))
    answers = []
    for call in made:
        task = reading.value(call, "task", 0)
        if task is not None and isinstance(task.value, str) and _TOKENIZES.fullmatch(task.value):
            reading.claims.state("plan.tokenize", True, call.line)
        if task is not None and isinstance(task.value, str) and (_GENERATES.fullmatch(task.value) or _hears(reading, call, task.value)):
            reading.claims.state("plan.generate", True, call.line)
            answers.append(call)
    named = [call for call in made if "model" in call.keywords or len(call.node.args) > 1]
    for call in named if not loads else ():
        say_model(reading, call, "model", 1)
        _load(reading, call)
    _read_encoders(reading)
    return answers if named and not loads else []


def _hears(reading: Reading, call: Call, task: str) -> bool:
    model = reading.value(call, "model", 1) if task == "automatic-speech-recognition" else None
    return model is not None and isinstance(model.value, str) and _WRITES.search(model.value) is not None


def _read_encoders(reading: Reading) -> None:
    """``SentenceTransformer(name, model_kwargs={...})`` and its like: keywords of the from_pretrained of transformers that they call."""
    for call in reading.few(list(reading.named("sentence_transformers", "SentenceTransformer", "CrossEncoder", "SparseEncoder"))):
        table = reading.evaluator.table(*call.keywords["model_kwargs"]) if "model_kwargs" in call.keywords else None
        if table is not None:
            say_model(reading, call, "model_name" if "model_name" in call.keywords else "model_name_or_path")
            read_model_kwargs(reading, table, call, call.line_of("model_kwargs"))
            if "trust_remote_code" in call.keywords:
                known = reading.value(call, "trust_remote_code")
                reading.claims.say("plan.trust_remote_code", known, call.line_of("trust_remote_code"), call.scope)


def _load(reading: Reading, call: Call) -> None:
    handed = {name: given for name, given in call.keywords.items() if name in _HANDED_ON}
    more = reading.evaluator.table(*call.keywords["model_kwargs"]) if "model_kwargs" in call.keywords else Table({}, whole=True)
    if more is None:
        more = Table({}, whole=False)
    read_model_kwargs(reading, Table({**more.entries, **handed}, call.whole and more.whole), call, call.line)
    for keyword, fact in (("trust_remote_code", "plan.trust_remote_code"), ("device_map", "plan.distributed")):
        known = reading.value(call, keyword)
        if keyword == "device_map" and known is not None and known.value == "auto":
            known = Known("device_map", known.default, known.line)
        elif keyword == "device_map":
            continue
        if keyword in call.keywords:
            reading.claims.say(fact, known, call.line_of(keyword), call.scope)
