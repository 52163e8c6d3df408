"""``padded-batch``: does a padded batch compute what its rows compute alone?

Two rows of a tiny model, each alone and both together, in training and in evaluation: logits of real tokens, loss and
gradients have to be finite and the same. Padding makes attention take a mask and another kernel, which is where
faults have been (zai-org/GLM-4#724: loss NaN from two rows on). No label stands on the first real token: on the left
it would be predicted from padding, whose gradient no release computes reliably.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from envdoctor.facts.fact import Facts
from envdoctor.probes.measured import NOT_ON_THIS_CPU, is_finite, number, with_assumed
from envdoctor.probes.on_gpu import no_gpu
from envdoctor.probes.probe import CHILDREN, Probe, Variation
from envdoctor.probes.verdict import Ruling

NAME = "padded-batch"

# Model types whose positions are relative, so that padding on the left changes nothing, seen to be so in released transformers. Mixtures of
# experts are left out: in half precision rounding sends a token to another expert.
TINY_TYPES = (
    *("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi", "phi3", "glm", "glm4"),
    *("cohere", "cohere2", "olmo", "olmo2", "stablelm", "starcoder2", "granite", "nemotron", "persimmon", "gpt_neox", "mamba", "lfm2"),
)
STAND_IN = "llama"

_DTYPES = ("float32", "bfloat16", "float16")
_ATTENTIONS = ("eager", "sdpa", "flash_attention_2")
_SIDES = ("right", "left")
# How far rounding moves logits and gradients, relative to their norm; measured on a CPU: 1e-6 and 0.05.
_LOGITS = {"float32": 1e-3}
_HALF_LOGITS = 0.05
_GRADIENTS = {"float32": 1e-2}
_HALF_GRADIENTS = 0.3
_LOSS = {"float32": 1e-3}
_HALF_LOSS = 0.03


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """What the child shall run for this plan, or why this plan cannot be tested so.

    Of what the plan leaves open (attention, dtype, side) every usual value is run; ``assumed`` says so.
    """
    if facts.value("plan.padding") is False:
        return "plan.padding is false: no batch is padded"
    assumed: list[str] = []
    attn = facts.value("plan.attn")
    if attn not in (None, "auto", *_ATTENTIONS):
        return f"plan.attn is {attn}: only {', '.join(_ATTENTIONS)} are tested"
    if attn == "flash_attention_2" and (why := no_gpu(facts)) is not None:
        return f"flash_attention_2 runs on a GPU only: {why}"
    mixed = "bfloat16" if facts.value("plan.bf16") is True else "float16" if facts.value("plan.fp16") is True else None
    dtypes = _dtypes(facts, flash=attn == "flash_attention_2" and mixed is None)
    if isinstance(dtypes, str):
        return dtypes
    side = facts.value("plan.padding_side")
    model = facts.text("model.type")
    if model is None:
        assumed.append("a Llama")
    accelerator = facts.value("accelerator")
    return {
        "model_type": model if model in TINY_TYPES and facts.value("model.remote_code") is not True else STAND_IN,
        "stands_for": None if model is None or (model in TINY_TYPES and facts.value("model.remote_code") is not True) else model,
        "attn": [attn] if attn in _ATTENTIONS else ["eager", "sdpa"],
        "dtypes": dtypes,
        "autocast": mixed if dtypes == ["float32"] else None,
        "sides": [side] if side in _SIDES else list(_SIDES),
        "batch": 2,
        "accelerator": accelerator if isinstance(accelerator, str) else None,
        "device": "cpu" if accelerator == "cpu" else "auto",
        "assumed": assumed,
    }


def _dtypes(facts: Facts, *, flash: bool) -> list[str] | str:
    """The dtypes of the weights; ``flash``: flash attention has to compute in them, which it does in half precision only."""
    loaded = facts.value("plan.load_dtype")
    if loaded == "auto":
        loaded = facts.value("model.config_dtype") or facts.value("model.dtype")
    if loaded is None:
        return [dtype for dtype in _DTYPES if not (flash and dtype == "float32")]
    if flash and loaded == "float32":
        return "flash_attention_2 does not compute in float32, in which the weights are loaded"
    if loaded not in _DTYPES:
        return f"the weights are loaded as {loaded}: only {', '.join(_DTYPES)} are tested"
    return [str(loaded)]


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> tuple[Ruling, str]:
    """What the measurement shows. Pure; anything unexpected in it is inconclusive."""
    return with_assumed(_judge(measured, params), params)


def _judge(measured: Mapping[str, object], params: Mapping[str, object]) -> tuple[Ruling, str]:
    device = str(measured.get("device"))
    made = measured.get("arrangements")
    arrangements = [each for each in made if isinstance(each, Mapping)] if isinstance(made, (list, tuple)) else []
    if not arrangements:
        lacking = measured.get("unavailable")
        why = "; ".join(filter(None, map(str, lacking))) if isinstance(lacking, (list, tuple)) else ""
        return "inconclusive", why[:600] or "the child measured nothing"
    half = params.get("autocast") is not None
    alone = params.get("batch") == 1
    doubts: list[str] = []
    for each in arrangements:
        words = f"{each.get('attn')}, {each.get('dtype')}, padded on the {each.get('side')}"
        error, computed_in = each.get("error"), each.get("autocast")
        if half and error is None and computed_in != params.get("autocast"):
            doubts.append(f"{words}: autocast to {params.get('autocast')} computed in {computed_in} on {_where(device, measured)}")
        elif error is not None:
            doubts.append(f"{words}: {_failed(error)}")
        elif (strange := _unwell(each.get("alone"))) is not None:
            doubts.append(f"{words}: a row alone is not finite either ({strange}), which is another fault than padding")
        elif not alone:
            fault, doubt = _compared(each, half)
            if fault is not None:
                return "confirmed", f"{words}, on {_where(device, measured)}: {fault}; each row alone is well"
            if doubt is not None:
                doubts.append(f"{words}: {doubt}")
    if doubts:
        return "inconclusive", "; ".join(dict.fromkeys(doubts))[:800]
    if alone:
        return "refuted", f"a batch of one row has no padding, and stays finite on {_where(device, measured)}"
    healthy = f"a padded batch computes what its rows compute alone on {_where(device, measured)}: {_covered(arrangements)}"
    stands_for = params.get("stands_for")
    if stands_for is not None:
        return "inconclusive", f"{healthy}; but it was a Llama, standing for {stands_for}"
    if device == "cpu" and params.get("accelerator") != "cpu" and params.get("cures") is not True:
        planned = params.get("accelerator") or "an accelerator that is not known"
        return "inconclusive", f"{healthy}; but the run computes on {planned}, whose kernels were not run"
    return "refuted", healthy


def _failed(error: object) -> str:
    fields = error if isinstance(error, Mapping) else {}
    message = " ".join(str(fields.get("message", "")).split())[:300]
    during = str(fields.get("during", "the experiment"))
    if any(text in message.lower() for text in NOT_ON_THIS_CPU):
        return f"not testable on this CPU ({during}: {message})"
    return f"{during} failed: {fields.get('type', 'an error')}: {message}"


def _unwell(numbers: object) -> str | None:
    """What of one computation is not finite, or None where all is."""
    if not isinstance(numbers, Mapping):
        return "nothing measured"
    found = [f"{name.replace('_', ' ')} {numbers.get(name)}" for name in ("loss", "eval_loss") if not is_finite(numbers.get(name))]
    for name in ("nonfinite_logits", "nonfinite_gradients"):
        count = numbers.get(name)
        if isinstance(count, bool) or not isinstance(count, int) or count:
            found.append(f"{count} {name.partition('_')[2]} not finite")
    return ", ".join(found) or None


def _compared(each: Mapping[str, object], mixed: bool) -> tuple[str | None, str | None]:
    """The fault of a padded batch, or the doubt that keeps it from being healthy."""
    padded, alone = each.get("padded"), each.get("alone")
    if not isinstance(padded, Mapping) or not isinstance(alone, Mapping):
        return None, "no padded batch was measured"
    unwell = _unwell(padded)
    if unwell is not None:
        seen = any(isinstance(padded.get(name), str) for name in ("loss", "eval_loss")) or any(
            isinstance(count := padded.get(name), int) and not isinstance(count, bool) and count > 0
            for name in ("nonfinite_logits", "nonfinite_gradients")
        )
        return (unwell, None) if seen else (None, f"numbers are missing ({unwell})")
    dtype = "half" if mixed else str(each.get("dtype"))
    logits, gradients, control = padded.get("logits_difference"), padded.get("gradient_difference"), each.get("control")
    if not is_finite(logits) or not is_finite(gradients):
        return None, "no difference was measured"
    allowed = _LOGITS.get(dtype, _HALF_LOGITS)
    if each.get("side") == "left":
        # Beside what leaving out the mask does, a quarter of it is rounding; where that is within rounding, nothing would be seen.
        if not is_finite(control) or number(control) / 4 < allowed:
            return None, f"a wrong mask would not be seen: leaving it out moves the logits by {control} of their norm"
        allowed = number(control) / 4
    if number(logits) > allowed:
        aside = f" (without any mask: {number(control):.2g})" if is_finite(control) else ""
        return f"padding moves the logits of real tokens by {number(logits):.2g} of their norm{aside}", None
    for name in ("loss", "eval_loss"):
        mine, other = number(padded.get(name)), number(alone.get(name))
        if abs(mine - other) > _LOSS.get(dtype, _HALF_LOSS) * max(abs(other), 1.0):
            return f"the {name.replace('eval_loss', 'evaluation loss')} is {mine:g} where the rows alone have {other:g}", None
    if number(gradients) > _GRADIENTS.get(dtype, _HALF_GRADIENTS):
        said = f"the gradient differs by {number(gradients):.2g} of its norm"
        return (said, None) if dtype == "float32" else (None, said)
    return None, None


def _covered(arrangements: Sequence[Mapping[str, object]]) -> str:
    parts = [list(dict.fromkeys(str(each.get(name)) for each in arrangements)) for name in ("attn", "dtype", "side")]
    return f"{' and '.join(parts[0])}; {', '.join(parts[1])}; padded on the {' and '.join(parts[2])}"


def _where(device: str, measured: Mapping[str, object]) -> str:
    return "a CPU" if device == "cpu" else str(measured.get("device_name"))


def variations(params: Mapping[str, object]) -> Iterable[Variation]:
    """Another attention, one row a batch, the other side, another dtype: on the device that showed the fault, whatever the run has."""
    params = {**params, "cures": True}
    attns, sides, dtypes = (value if isinstance(value, (list, tuple)) else () for value in map(params.get, ("attn", "sides", "dtypes")))
    for attn in ("eager", "sdpa"):
        if list(attns) != [attn]:
            yield Variation(f"attention: {attn}", {**params, "attn": [attn]}, {"plan.attn": attn})
    yield Variation("one row a batch", {**params, "batch": 1}, {"plan.batch_size": 1, "plan.padding": False})
    for side in _SIDES:
        if list(sides) != [side]:
            yield Variation(f"padding on the {side}", {**params, "sides": [side]}, {"plan.padding_side": side})
    for dtype in _DTYPES:
        if list(dtypes) != [dtype] and params.get("autocast") is None:
            yield Variation(f"weights loaded as {dtype}", {**params, "dtypes": [dtype]}, {"plan.load_dtype": dtype})


PROBE = Probe(
    name=NAME,
    shows="whether a padded batch gives the losses, logits and gradients of its rows alone, without NaN",
    needs=("torch", "transformers"),
    cost="4 to 30 s on one CPU core, most of it imports",
    script=CHILDREN / "padded_batch.py",
    parameters=parameters,
    judge=judge,
    variations=variations,
    timeout=180.0,
    memory_bytes=8 << 30,
)
