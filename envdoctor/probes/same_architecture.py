"""``same-architecture``: does a tiny model of the snapshot's architecture live through a whole training on this stack?

Random weights, a few dozen wide: built, one forward, backward and optimizer step, saved, loaded, asked for 4 tokens with the
cache. A stage that fails with an error of an interface is the fault; one that may come of the small sizes is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.probes.measured import is_finite, number, with_assumed
from envdoctor.probes.probe import CHILDREN, Probe, Variation
from envdoctor.probes.snapshot_model import not_testable, one_line, source, told
from envdoctor.probes.verdict import Ruling, Verdict

Judgement: TypeAlias = "tuple[Ruling, str]"

NAME = "same-architecture"
NEW_TOKENS = 4
STAGES = (
    "reading the config",
    "shrinking the config",
    "building the model",
    "forward",
    "backward",
    "optimizer step",
    "evaluation",
    "save_pretrained",
    "from_pretrained",
    "evaluation after from_pretrained",
    "generate",
)
# Two forwards of one model agree to the last digit on a CPU; a model with other weights is nowhere near.
_SAME, _NOISE = 1e-3, 1e-5
# Until a step was taken, an error about sizes may come of the small ones, and one about dtypes of float32.
_BEFORE_A_STEP = STAGES[1:6]
_OF_SIZES = (
    "size", "shape", "mat1", "divisible", "out of range", "out of bounds", "dimension", "must match", "length", "expand", "broadcast",
    "head_dim", "scalar type", "same dtype", "index", "divide", "should be",
)  # fmt: skip
_OF_INTERFACES = (
    "AttributeError", "TypeError", "NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "KeyError", "SyntaxError",
    "NotImplementedError",
)  # fmt: skip
_OF_VALUES = ("ValueError", "RuntimeError")


def parameters(facts: Facts, trust: bool = False) -> Mapping[str, object] | str:
    """What the child shall build, or why nothing can be; ``trust`` is the user's consent to run the snapshot's code."""
    found = source(facts, trust)
    if isinstance(found, str):
        return found
    if found["path"] is None and found["model_type"] is None:
        return "no model is stated"
    attn, argument = facts.value("plan.attn"), facts.value("plan.load_dtype_argument")
    assumed = []
    if attn not in (None, "auto", "eager", "sdpa"):
        assumed.append(f"the default attention instead of {attn}, which needs a GPU")
    if facts.value("plan.quant") not in (None, "none"):
        assumed.append("the base is not quantized")
    return {
        **found,
        "attn": attn if attn in ("eager", "sdpa") else None,
        "dtype_argument": argument if argument in ("none", "torch_dtype", "dtype") else None,
        "assumed": assumed,
    }


def variations(params: Mapping[str, object]) -> Iterable[Variation]:
    if params.get("remote") is True:
        plain = {**params, "remote": False}
        yield Variation("transformers' own class instead of the snapshot's code", plain, {"plan.trust_remote_code": False})
    if params.get("attn") == "sdpa":
        yield Variation("eager attention", {**params, "attn": "eager"}, {"plan.attn": "eager"})
    if params.get("dtype_argument") in ("none", "dtype"):
        asked = {**params, "dtype_argument": "torch_dtype"}
        yield Variation("torch_dtype= given to from_pretrained", asked, {"plan.load_dtype_argument": "torch_dtype"})


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the measurement shows. Pure; anything unexpected in it is inconclusive."""
    return with_assumed(_judge(measured, params), params)


def _judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    untestable = measured.get("untestable")
    if untestable is not None:
        return "inconclusive", f"no tiny model of it is built: {untestable}"
    error = measured.get("error")
    if error is not None:
        return _failed(error if isinstance(error, Mapping) else {}, params)
    done = measured.get("done")
    if not isinstance(done, (list, tuple)) or any(name not in done for name in STAGES):
        return "inconclusive", "the child did not come to the end"
    subject = f"a tiny {measured.get('class')} ({measured.get('code')} code)"
    losses = measured.get("loss"), measured.get("loss_after")
    if not all(map(is_finite, losses)):
        return "inconclusive", f"{subject}: the loss is {losses[0]} before and {losses[1]} after a step"
    gradients = measured.get("gradients")
    if not isinstance(gradients, Mapping) or gradients.get("nonfinite") != 0:
        return "inconclusive", f"{subject}: gradients are not finite"
    noise, changed = measured.get("noise"), measured.get("reloaded_difference")
    if not is_finite(noise) or number(noise) > _NOISE:
        return "inconclusive", f"{subject}: the same input gives other logits each time, so that nothing can be compared"
    if measured.get("reloaded_dtypes") != ["float32"]:
        return "inconclusive", f"{subject}: saved in float32 it is loaded as {measured.get('reloaded_dtypes')}"
    if changed is None or (isinstance(changed, float) and changed != changed):
        return "inconclusive", f"{subject}: the logits after from_pretrained were not compared"
    if not is_finite(changed) or abs(number(changed)) > _SAME:
        return "confirmed", f"{subject}: after save_pretrained and from_pretrained the logits differ by {changed} of the largest"
    if measured.get("new_tokens") != NEW_TOKENS:
        return "inconclusive", f"{subject}: generate gave {measured.get('new_tokens')} of {NEW_TOKENS} tokens"
    return (
        "refuted",
        f"{subject} goes through forward, backward, optimizer step, save_pretrained, from_pretrained and {NEW_TOKENS} generated tokens",
    )


def _failed(error: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    during, kind = error.get("during"), error.get("type")
    why = not_testable(error)
    if why is not None:
        return "inconclusive", why
    if during not in STAGES or during == "shrinking the config":
        return "inconclusive", told(error)
    if params.get("model_type") is not None and during in _BEFORE_A_STEP:
        return "inconclusive", f"{told(error)}, which the defaults of its config class may cause: no snapshot is stated"
    of_sizes = any(text in one_line(error).lower() for text in _OF_SIZES)
    if kind in _OF_INTERFACES or (kind in _OF_VALUES and not (of_sizes and during in _BEFORE_A_STEP)):
        return "confirmed", told(error)
    return "inconclusive", f"{told(error)}, which the small sizes or float32 may cause"


def about(verdict: Verdict, packages: Collection[str], symptoms: Collection[str]) -> Verdict:
    """The life of a model ends at its first error, whichever that is: a rule is confirmed by its own."""
    if verdict.verdict == "refuted":
        return verdict
    error = verdict.measured.get("error")
    # A KeyError says no more than its key, and that between quotes: its type belongs to the text that people see.
    text = f"{error.get('type')}: {error.get('message')}" if isinstance(error, Mapping) else ""
    return verdict if any(symptom in text for symptom in symptoms) else verdict.but("another fault was met first")


PROBE = Probe(
    name=NAME,
    shows="whether a tiny model of the snapshot's architecture can be built, trained, saved, loaded and asked on this stack",
    needs=("torch", "transformers"),
    cost="6 to 30 s on one CPU core, nearly all of it imports",
    script=CHILDREN / "same_architecture.py",
    parameters=parameters,
    judge=judge,
    timeout=180.0,
    memory_bytes=8 << 30,
    variations=variations,
    about=about,
    remote_code=True,
)
