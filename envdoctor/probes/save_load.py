"""``save-load``: is the adapter that was saved the adapter that was trained?

Faults it shows: an adapter file without tensors (tloen/alpaca-lora#446: model.state_dict replaced by one that keeps the adapter
only, which the library then filters again); tensors that share memory, which safetensors refuses (huggingface/peft#1079).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.facts.uses import CODE_USES, list_meant
from envdoctor.probes.measured import is_count, is_finite, number, with_assumed
from envdoctor.probes.probe import CHILDREN, Probe, Variation
from envdoctor.probes.snapshot_model import not_testable, told
from envdoctor.probes.verdict import Ruling, Verdict

Judgement: TypeAlias = "tuple[Ruling, str]"

NAME = "save-load"
_METHODS = {"lora": "lora", "qlora": "lora", "dora": "dora", "rslora": "rslora"}
_MODULES = {
    "lm_head": ("lm_head", "output_layer", "embed_out"),
    "embed_tokens": ("embed_tokens", "word_embeddings", "wte", "embed_in"),
}
_SAVING = ("saving the adapter", "reading the adapter's file", "loading the adapter")
_SAME, _EFFECT = 1e-3, 1e-2
_SHARED = "share memory"


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """What the child shall save for this plan, or why this plan cannot be tested so."""
    assumed = []
    method = facts.value("plan.method")
    if method is None or (str(method) not in _METHODS and ("plan.lora_r" in facts or "plan.lora_targets" in facts)):
        assumed += ["LoRA"] if method is None else []
        method = "lora"
    if str(method) not in _METHODS:
        return f"plan.method is {method}: no LoRA adapter is saved"
    if facts.value("plan.distributed") in ("zero3", "fsdp"):
        return f"plan.distributed is {facts.value('plan.distributed')}: what a shard of the model saves is not seen on one CPU"
    uses = facts.value(CODE_USES)
    uses = uses if isinstance(uses, tuple) else ()
    biases = bool(list_meant(["peft.LoraConfig(bias=all)"], map(str, uses)))
    if biases:
        assumed.append("a head of its own beside the biases")
    if method == "qlora" or facts.value("plan.quant") not in (None, "none"):
        assumed.append("the base is not quantized")
    stated = facts.value("plan.modules_to_save")
    saved = sorted({_module(str(name)) or str(name) for name in stated}) if isinstance(stated, tuple) and not biases else []
    unknown = [name for name in saved if name not in _MODULES]
    if unknown:
        return f"plan.modules_to_save names {unknown[0]}, which the tiny model does not have"
    return {
        "method": _METHODS[str(method)],
        "biases_and_head": biases,
        "modules_to_save": saved,
        "state_dict_override": bool(list_meant(["?.state_dict = peft.get_peft_model_state_dict"], map(str, uses))),
        "safe": None,
        "assumed": assumed,
    }


def _module(name: str) -> str | None:
    last = name.rpartition(".")[2]
    return next((ours for ours, names in _MODULES.items() if last in names), None)


def variations(params: Mapping[str, object]) -> Iterable[Variation]:
    if params.get("state_dict_override") is True:
        yield Variation("model.state_dict left alone", {**params, "state_dict_override": False})
    if params.get("biases_and_head") is True:
        yield Variation('LoRA without bias="all"', {**params, "biases_and_head": False})
    if params.get("modules_to_save"):
        yield Variation("no modules_to_save", {**params, "modules_to_save": []}, {"plan.modules_to_save": ()})
    if params.get("safe") is not False:
        yield Variation("saved with pickle (save_safetensors=False)", {**params, "safe": False})


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the measurement shows. Pure; anything unexpected in it is inconclusive."""
    return with_assumed(_judge(measured), params)


def _judge(measured: Mapping[str, object]) -> Judgement:
    error = measured.get("error")
    fields = error if isinstance(error, Mapping) else {}
    if error is not None and fields.get("during") != "merge_and_unload":
        why = not_testable(fields)
        if why is not None:
            return "inconclusive", why
        return ("confirmed" if fields.get("during") in _SAVING else "inconclusive"), told(fields)
    trained, tensors, elements = (measured.get(key) for key in ("trainable_elements", "saved_tensors", "saved_elements"))
    if not (is_count(trained) and is_count(tensors) and is_count(elements)) or trained == 0:
        return "inconclusive", "the saved adapter was not measured"
    effect, difference = measured.get("effect"), measured.get("difference")
    if not is_finite(effect) or number(effect) < _EFFECT:
        return "inconclusive", "the adapter did not change the logits, so that nothing can be compared"
    told_file = f"{measured.get('file')} has {tensors} tensors with {elements} elements, {trained} were trained"
    if elements == 0:
        return "confirmed", f"the adapter was saved empty: {told_file}"
    if number(elements) < number(trained):
        return "confirmed", f"part of the adapter was not saved: {told_file}"
    if difference is None or (isinstance(difference, float) and difference != difference):
        return "inconclusive", f"{told_file}, but the loaded adapter was not compared"
    if not is_finite(difference) or abs(number(difference)) > _SAME:
        return "confirmed", f"the loaded adapter is another one: its logits differ by {difference} of the largest; {told_file}"
    if error is not None:
        return "inconclusive", f"the adapter is the same after saving and loading, but {told(fields)}"
    merged = measured.get("merged_difference")
    if not is_finite(merged) or abs(number(merged)) > _SAME:
        return "inconclusive", f"the adapter is the same after saving and loading, but merged into the base its logits differ by {merged}"
    return "refuted", f"saved, loaded and merged the adapter gives the same logits; {told_file}"


def about(verdict: Verdict, packages: Collection[str], symptoms: Collection[str]) -> Verdict:
    """Tensors that share memory are one fault, an adapter saved empty another; plain LoRA, which is saved, tells nothing of the first."""
    of_sharing = any(_SHARED in symptom for symptom in symptoms)
    error = verdict.measured.get("error")
    message = str(error.get("message", "")) if isinstance(error, Mapping) else ""
    if verdict.verdict == "refuted":
        plain = verdict.measured.get("biases_and_head") is not True
        return verdict.but('bias="all" beside a head of its own was not tried') if of_sharing and plain else verdict
    fits = any(symptom in message for symptom in symptoms) if message else not of_sharing
    return verdict if fits else verdict.but("another fault than this one was met")


PROBE = Probe(
    name=NAME,
    shows="whether a LoRA adapter is saved whole and gives the same logits when it is loaded again",
    needs=("torch", "transformers", "peft"),
    cost="2 to 20 s on one CPU core, nearly all of it imports",
    script=CHILDREN / "save_load.py",
    parameters=parameters,
    judge=judge,
    timeout=120.0,
    memory_bytes=8 << 30,
    variations=variations,
    about=about,
)
