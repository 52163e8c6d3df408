"""``SomeModel.__init__() got an unexpected keyword argument``: what ``from_pretrained`` keeps in some releases, and hands on in others.

No signature shows these keywords: ``from_pretrained`` pops them one by one, and what it does not know goes to the model.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callers import caller_of
from envdoctor.logs.specifiers import admits
from envdoctor.logs.statements import RefusedKeyword
from envdoctor.logs.tracebacks import Failure

ARGUMENT = "error-argument-refused"

# Read on 2026-11-26 from PreTrainedModel.from_pretrained in modeling_utils.py of the wheels of 171 releases from 4.16.0 to 5.23.0.
_TAKEN = {
    "adapter_kwargs": ">=4.34.0",
    "attn_implementation": ">=4.36.0",
    "device_map": ">=4.20.0",
    "dtype": ">=4.56.0",
    "experts_implementation": ">=5.0.0",
    "gguf_file": ">=4.41.0",
    "key_mapping": ">=4.50.0",
    "load_in_4bit": ">=4.30.0,<5.0.0",
    "load_in_8bit": ">=4.22.0,<5.0.0",
    "max_memory": ">=4.20.0",
    "offload_folder": ">=4.20.0",
    "offload_state_dict": ">=4.20.0,!=4.57.0",
    "quantization_config": ">=4.27.0",
    "subfolder": ">=4.21.0",
    "tp_plan": ">=4.47.0",
    # modeling_utils.py of 4.57.6 pops it with a warning, that of 5.0.0 does not know it.
    "use_auth_token": "<5.0.0",
    "use_flash_attention_2": ">=4.34.0,<4.53.0",
    "use_kernels": ">=4.53.0",
    "use_safetensors": ">=4.27.0",
    "variant": ">=4.27.0",
    "weights_only": ">=4.46.1",
}
# Nothing else is made with these.
_OF_LOADING = frozenset(("load_in_4bit", "load_in_8bit", "attn_implementation", "use_flash_attention_2", "offload_state_dict", "gguf_file"))
_INSTEAD = {
    "load_in_4bit": "quantization_config=BitsAndBytesConfig(load_in_4bit=True) is taken from 4.30 on, by 5 as well",
    "load_in_8bit": "quantization_config=BitsAndBytesConfig(load_in_8bit=True) is taken from 4.27 on, by 5 as well",
    "use_flash_attention_2": 'it is attn_implementation="flash_attention_2" from 4.36.0 on',
    "dtype": "it is called torch_dtype before",
    "use_auth_token": "it is called token",
}
# What is written in place of a keyword that later releases hand on.
_WRITTEN = {
    "load_in_4bit": "quantization_config=BitsAndBytesConfig(load_in_4bit=True) in place of load_in_4bit=True",
    "load_in_8bit": "quantization_config=BitsAndBytesConfig(load_in_8bit=True) in place of load_in_8bit=True",
    "use_auth_token": "token=... in place of use_auth_token=...",
    "use_flash_attention_2": 'attn_implementation="flash_attention_2" in place of use_flash_attention_2=True',
}
_MODEL = re.compile(r"(?:Model|For[A-Z]\w{2,60}|LMHead\w{0,30}|Transformer\w{0,20})$")


def judge_loading(statement: RefusedKeyword, failure: Failure, facts: Facts) -> Hit | None:
    """The releases of transformers that take a keyword before the model sees it; None where the stated one does."""
    taken = _TAKEN.get(statement.keyword)
    owner, _, last = statement.function.rpartition(".")
    loads = "from_pretrained" in failure.near or any("from_pretrained" in f"{frame.function} {frame.text}" for frame in failure.frames)
    if (
        taken is None
        or last != "__init__"
        or not (_MODEL.search(owner.rpartition(".")[2]) or (not owner and (loads or statement.keyword in _OF_LOADING)))
    ):
        return None
    stated = facts.value("packages.transformers")
    if isinstance(stated, Exact) and admits(taken, stated):
        return None
    who = caller_of(failure, "transformers")
    ran = f"transformers {stated}" if isinstance(stated, Exact) else "the transformers that ran"
    told = f"; {_INSTEAD[statement.keyword]}" if statement.keyword in _INSTEAD else ""
    detail = (
        f"from_pretrained of {ran} does not know {statement.keyword} and hands it to the model; transformers {taken} takes it{told}; "
        f"{who.words(facts, 'transformers', 'passes')}"
    )
    packages = tuple(dict.fromkeys(name for name in ("transformers", who.package) if name))
    edge = f"{who.package or 'code'}:from_pretrained({statement.keyword})"
    because = (("packages.transformers", f"not {taken}"),)
    written = "" if who.package else _WRITTEN.get(statement.keyword, "")
    if taken.startswith(">=") and not (isinstance(stated, Exact) and admits(f">={taken.rpartition('<')[2]}", stated)):
        written = ""  # the release that ran may be older than all that take it
    pins = (("transformers", taken),)
    return Hit(ARGUMENT, True, because, detail=detail, packages=packages, pins=pins, edge=edge, advice=written)
