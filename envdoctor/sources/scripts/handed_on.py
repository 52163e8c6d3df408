"""Models that another library loads for a script, by the from_pretrained of transformers: its calls stand in no line of the script.

What each hands on was read: ``HuggingFacePipeline.from_model_id`` of langchain-huggingface 1.2.0 (earlier ones are langchain-community's),
``HuggingFaceLLM`` of llama-index-llms-huggingface 0.6.1, ``simple_evaluate`` and ``HFLM`` of lm_eval 0.4.9.
"""

from __future__ import annotations

import ast

from envdoctor.records import dataclass, replace
from envdoctor.sources.scripts.kinds import Table
from envdoctor.sources.scripts.outline import Scope
from envdoctor.sources.scripts.reading import Call, Reading

_EVALUATED = ("hf", "huggingface", "hf-auto", "hf-multimodal")
_LANGCHAIN = ("langchain_huggingface", "langchain_community", "langchain")
# Settings of lm_eval that are arguments of from_pretrained, by the names that it gives them there.
_EVALUATES = {"pretrained": "pretrained_model_name_or_path", "dtype": "torch_dtype"}
_HANDED = ("trust_remote_code", "revision", "load_in_4bit", "load_in_8bit", "attn_implementation", "device_map", "autogptq")
_NAME = "pretrained_model_name_or_path"


@dataclass(frozen=True, slots=True)
class Loader:
    """A call of another library that loads a model: where it is given the name, keywords of from_pretrained, and a dict of more."""

    packages: tuple[str, ...]
    last: str
    name: str
    at: int | None
    kwargs: str
    handed: tuple[str, ...] = ("device_map",)


_LOADERS = (
    Loader(_LANGCHAIN, "from_model_id", "model_id", 0, "model_kwargs"),
    Loader(("llama_index",), "HuggingFaceLLM", "model_name", None, "model_kwargs"),
)


def add_handed_on(reading: Reading) -> None:
    """Take down what other libraries load for the script as calls of its own, on the lines of theirs."""
    for loader in _LOADERS:
        for package in loader.packages:
            for call in reading.few(list(reading.named(package, loader.last))):
                _add(reading, call, _given(reading, call, loader))
    for last in ("simple_evaluate", "HFLM"):
        for call in reading.few(list(reading.named("lm_eval", last))):
            table = _evaluated(reading, call)
            if table is not None:
                _add(reading, call, table)


def _given(reading: Reading, call: Call, loader: Loader) -> Table | None:
    """The keywords of from_pretrained; None where it is not transformers' own class that loads, or where no model is named."""
    backend = reading.value(call, "backend")
    if "backend" in call.keywords and (backend is None or backend.value != "default"):
        return None
    if loader.name in call.keywords:
        entries: dict[str, tuple[ast.expr | None, Scope]] = {_NAME: call.keywords[loader.name]}
    elif loader.at is not None and loader.at < len(call.node.args):
        entries = {_NAME: (call.node.args[loader.at], call.scope)}
    else:
        return None
    entries |= {name: call.keywords[name] for name in loader.handed if name in call.keywords}
    more = reading.evaluator.table(*call.keywords[loader.kwargs]) if loader.kwargs in call.keywords else Table({}, whole=True)
    return Table(entries, whole=False) if more is None else Table({**more.entries, **entries}, call.whole and more.whole)


def _evaluated(reading: Reading, call: Call) -> Table | None:
    """``simple_evaluate(model="hf", model_args="pretrained=...,dtype=bfloat16")``."""
    kind, told = reading.value(call, "model", 0), reading.value(call, "model_args", 1)
    if call.last == "HFLM":
        return Table(_renamed(call), call.whole) if "pretrained" in call.keywords else None
    if kind is None or kind.value not in _EVALUATED or told is None or told.default or not isinstance(told.value, str):
        return None
    pairs = [word.strip().partition("=") for word in told.value.split(",")]
    given = {_EVALUATES.get(name, name): value for name, _, value in pairs if name in _EVALUATES or name in _HANDED}
    known = {name: ast.Constant(value == "True" if value in ("True", "False") else value) for name, value in given.items()}
    for node in known.values():
        ast.copy_location(node, call.node)
    return Table({name: (node, call.scope) for name, node in known.items()}, whole=True) if _NAME in known else None


def _renamed(call: Call) -> dict[str, tuple[ast.expr | None, Scope]]:
    names = {**_EVALUATES, **dict.fromkeys(_HANDED)}
    return {names[name] or name: given for name, given in call.keywords.items() if name in names}


def _add(reading: Reading, call: Call, table: Table | None) -> None:
    if table is None:
        return
    task = reading.value(call, "task", 1) if call.last == "from_model_id" else None
    kind = "Seq2SeqLM" if task is not None and task.value not in ("text-generation", None) else "CausalLM"
    for name in (f"transformers.AutoModelFor{kind}.from_pretrained", "transformers.AutoTokenizer.from_pretrained"):
        made = replace(call, name=name, keywords=table.entries, whole=table.whole, at=call.line, chosen=frozenset())
        reading.add(made, "from_pretrained")
    reading.claims.state("plan.tokenize", True, call.line)
    reading.claims.state("plan.generate", True, call.line)
