"""``checkpointing``: is gradient checkpointing really on after it is enabled, and are the gradients those without it?

Two faults (THUDM/ChatGLM3#1057, huggingface/peft#137): a snapshot's class overrides gradient_checkpointing_enable with a method
that switches nothing on; and the reentrant variant over a frozen base, which cuts LoRA off from the loss.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.probes.measured import is_count, is_finite, number, with_assumed
from envdoctor.probes.probe import CHILDREN, Probe, Variation
from envdoctor.probes.snapshot_model import not_testable, source, told
from envdoctor.probes.verdict import Ruling, Verdict

Judgement: TypeAlias = "tuple[Ruling, str]"

NAME = "checkpointing"
_ADAPTERS = ("lora", "qlora", "dora", "rslora")
_ENABLE, _WITH = "gradient_checkpointing_enable", "a step with checkpointing"
_NO_GRAPH = "does not require grad"
_SAME, _NOISE = 1e-3, 1e-5
# Share of the activations that is still saved: a tenth to a third where checkpointing works, all of it where it is not on.
_OFF, _ON = 0.95, 0.8


def parameters(facts: Facts, trust: bool = False) -> Mapping[str, object] | str:
    """What the child shall run, or why it cannot; ``trust`` is the user's consent to run the snapshot's code."""
    if facts.value("plan.gradient_checkpointing") is False:
        return "the plan does not use gradient checkpointing"
    found = source(facts, trust)
    if isinstance(found, str):
        return found
    assumed = []
    if found["path"] is None and found["model_type"] is None:
        found = {**found, "model_type": "llama"}
        assumed.append("a Llama")
    lora = facts.value("plan.method") in _ADAPTERS or "plan.lora_r" in facts or "plan.lora_targets" in facts
    reentrant, grads = facts.value("plan.use_reentrant"), facts.value("plan.input_require_grads")
    if facts.value("plan.quant") not in (None, "none"):
        assumed.append("the base is not quantized")
    return {
        **found,
        "attn": None,
        "lora": lora,
        "use_reentrant": reentrant if isinstance(reentrant, bool) else None,
        "passes_kwargs": facts.value("plan.gradient_checkpointing_kwargs") is True,
        "input_require_grads": grads is True,
        "grads_unstated": lora and not isinstance(grads, bool),
        "library_method": False,
        "assumed": assumed,
    }


def variations(params: Mapping[str, object]) -> Iterable[Variation]:
    if params.get("lora") is True and params.get("input_require_grads") is not True:
        grads = {**params, "input_require_grads": True}
        yield Variation("enable_input_require_grads called before get_peft_model", grads, {"plan.input_require_grads": True})
    if params.get("use_reentrant") is not False:
        other = {**params, "use_reentrant": False, "passes_kwargs": True}
        plan = {"plan.use_reentrant": False, "plan.gradient_checkpointing_kwargs": True}
        yield Variation("use_reentrant=False", other, plan)
    if params.get("passes_kwargs") is True:
        bare = {**params, "use_reentrant": None, "passes_kwargs": False}
        yield Variation("no gradient_checkpointing_kwargs", bare, {"plan.gradient_checkpointing_kwargs": False})
    if params.get("remote") is True:
        yield Variation("PreTrainedModel.gradient_checkpointing_enable(model), past the class's own", {**params, "library_method": True})
        native = {**params, "remote": False}
        yield Variation("transformers' own class instead of the snapshot's code", native, {"plan.trust_remote_code": False})


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the measurement shows. Pure; anything unexpected in it is inconclusive."""
    return with_assumed(_judge(measured, params), params)


def _judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    untestable = measured.get("untestable")
    if untestable is not None:
        return "inconclusive", f"no tiny model of it is built: {untestable}"
    subject = f"a tiny {measured.get('class')} ({measured.get('code')} code)"
    error = measured.get("error")
    if error is not None:
        return _failed(error if isinstance(error, Mapping) else {}, params, subject)
    saved, moved = _pair(measured.get("saved_bytes")), _pair(measured.get("moved"))
    if saved is None or moved is None or not saved[0] > 0:
        return "inconclusive", f"{subject}: the steps were not measured"
    noise, difference = measured.get("noise"), measured.get("gradient_difference")
    if moved[0] == 0 or not is_finite(noise) or number(noise) > _NOISE:
        return "inconclusive", f"{subject}: without checkpointing two equal steps do not give equal gradients"
    if moved[1] < moved[0]:
        cut = f"{moved[1]} of {moved[0]} trainable tensors get a gradient with gradient checkpointing, all of them without"
        return _cut_off(f"{subject}: {cut}", params)
    share = f"{_size(saved[1])} saved for backward after {_ENABLE}, {_size(saved[0])} before"
    on = f"is_gradient_checkpointing is {measured.get('is_gradient_checkpointing')}"
    if saved[1] >= _OFF * saved[0]:
        return "confirmed", f"{subject}: gradient checkpointing is not on: {share}; {on}"
    if difference is None or (isinstance(difference, float) and difference != difference):
        return "inconclusive", f"{subject}: {share}, but the gradients were not compared"
    if not is_finite(difference) or abs(number(difference)) > _SAME:
        return "confirmed", f"{subject}: the gradients with gradient checkpointing differ by {difference} of the largest; {share}"
    if saved[1] > _ON * saved[0]:
        return "inconclusive", f"{subject}: only part of it is checkpointed: {share}; {on}"
    return "refuted", f"{subject}: {share}; {on}; the gradients are the same"


def _failed(error: Mapping[str, object], params: Mapping[str, object], subject: str) -> Judgement:
    why = not_testable(error)
    if why is not None:
        return "inconclusive", why
    during, words = str(error.get("during", "")), f"{subject}: {told(error)}"
    if during.startswith(_WITH):
        if _NO_GRAPH in str(error.get("message", "")):
            return _cut_off(words, params)
        return "confirmed", f"{words}, which passes without checkpointing"
    if during == _ENABLE:
        return "confirmed", words
    return "inconclusive", f"{words}, before checkpointing was on"


def _cut_off(words: str, params: Mapping[str, object]) -> Judgement:
    if params.get("lora") is True and params.get("grads_unstated") is True:
        return "inconclusive", f"{words}, unless enable_input_require_grads is called, which the plan does not state"
    return "confirmed", words


def about(verdict: Verdict, packages: Collection[str], symptoms: Collection[str]) -> Verdict:
    """Checkpointing that is not on cuts nothing off, and what cuts LoRA off is on: each rule is confirmed by its own fault alone."""
    if verdict.verdict == "refuted":
        return verdict
    error, moved = verdict.measured.get("error"), _pair(verdict.measured.get("moved"))
    message = str(error.get("message", "")) if isinstance(error, Mapping) else ""
    cut = _NO_GRAPH in message or (moved is not None and moved[1] < moved[0])
    of_cutting = any(_NO_GRAPH in symptom for symptom in symptoms)
    if cut or of_cutting:
        return verdict if cut and of_cutting else verdict.but("another fault than this one was met")
    if error is not None and not any(symptom in message for symptom in symptoms):
        return verdict.but("another fault than this one was met")
    return verdict


def _pair(value: object) -> tuple[int, int] | None:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    first, second = value
    return (first, second) if is_count(first) and is_count(second) else None


def _size(count: int) -> str:
    return f"{count / 1024:.0f} KiB"


PROBE = Probe(
    name=NAME,
    shows="whether gradient checkpointing is on after it is enabled, saves activations and leaves the gradients as they are",
    needs=("torch", "transformers"),
    cost="6 to 30 s on one CPU core, nearly all of it imports",
    script=CHILDREN / "checkpointing.py",
    parameters=parameters,
    judge=judge,
    timeout=180.0,
    memory_bytes=8 << 30,
    variations=variations,
    about=about,
    remote_code=True,
)
