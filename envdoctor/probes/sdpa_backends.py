"""``sdpa-backends``: does the kernel that torch's attention takes on this GPU give finite numbers with a mask?

Two faults are known. torch 2.5.0 tried cuDNN's kernel first on capability 9.0, which had several NaN bugs and refused
some inputs (pytorch/pytorch#138522). From 2.11 on the same kernel gives NaN in the gradient of the queries for a
masked row whose length leaves 64 after division by 128 and whose scores are very negative (pytorch/pytorch#196678).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from envdoctor.facts.fact import Facts
from envdoctor.probes.measured import is_finite, with_assumed
from envdoctor.probes.on_gpu import gpu_words, no_gpu, ran_without_gpu
from envdoctor.probes.probe import CHILDREN, Probe, Variation
from envdoctor.probes.verdict import Ruling

NAME = "sdpa-backends"
MASKS = ("none", "padding", "additive", "masked rows", "negative scores")
# 192 leaves 64 after division by 128.
LENGTHS = (192, 256)

_DTYPES = ("float16", "bfloat16", "float32")
_TOLERANCE = {"float32": 0.02}
_HALF_TOLERANCE = 0.2
# A row that sees nothing has no defined output; with equal scores the gradient of the queries is a difference of equal numbers.
_COMPARED = ("none", "padding", "additive")
_NO_PLAN = ("no execution plans support the graph", "no available kernel", "no viable backend")


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """The masks, lengths and dtype to compute, or why this plan or machine cannot be tested so."""
    attn = facts.value("plan.attn")
    if attn not in (None, "auto", "sdpa"):
        return f"plan.attn is {attn}: torch's own attention is not used"
    assumed: list[str] = []
    loaded = facts.value("plan.load_dtype")
    if loaded == "auto":
        loaded = facts.value("model.config_dtype") or facts.value("model.dtype")
    if loaded in (None, "float32"):
        mixed = "bfloat16" if facts.value("plan.bf16") is True else "float16" if facts.value("plan.fp16") is True else None
        loaded = mixed or loaded
    if loaded is None:
        assumed.append("bfloat16")
        loaded = "bfloat16"
    if loaded not in _DTYPES:
        return f"the weights are loaded as {loaded}: only {', '.join(_DTYPES)} are tested"
    why = no_gpu(facts)
    if why is not None:
        return why
    return {"dtype": loaded, "masks": list(MASKS), "lengths": list(LENGTHS), "disabled": [], "assumed": assumed}


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> tuple[Ruling, str]:
    """What the kernels show. Pure; anything unexpected in it is inconclusive.

    A fault is what torch's own choice of kernel does where the math kernel, for the same input, is well.
    """
    return with_assumed(_judge(measured, params), params)


def _judge(measured: Mapping[str, object], params: Mapping[str, object]) -> tuple[Ruling, str]:
    why = ran_without_gpu(measured)
    if why is not None:
        return "inconclusive", why
    on = f"on {gpu_words(measured)} in {params.get('dtype')}"
    made = measured.get("trials")
    trials = {_key(trial): trial for trial in made if isinstance(trial, Mapping)} if isinstance(made, (list, tuple)) else {}
    masks, lengths = (value if isinstance(value, (list, tuple)) else () for value in (params.get("masks"), params.get("lengths")))
    pairs = [(str(mask), str(length)) for mask in masks for length in lengths]
    if not pairs:
        return "inconclusive", f"nothing was computed {on}"
    strange: list[str] = []
    for pair in pairs:
        ours, plain = trials.get((*pair, "default")), trials.get((*pair, "math"))
        if ours is None or plain is None:
            strange.append(f"{_words(pair)}: not computed")
            continue
        if _error(plain) is not None or _nonfinite(plain) is None:
            strange.append(f"{_words(pair)}: the math kernel failed: {_error(plain) or 'no numbers'}")
            continue
        fault = _fault(ours, plain)
        if fault is not None:
            return "confirmed", f"{_words(pair)} {on}: {fault}, where the math kernel is well{_culprits(trials, pair)}"
        other = _other(ours, pair[0], str(params.get("dtype")))
        if other is not None:
            strange.append(f"{_words(pair)}: {other}")
    if strange:
        return "inconclusive", f"{'; '.join(strange)[:600]} {on}, which is another fault"
    forced = sorted({key[2] for key, trial in trials.items() if key[2] not in ("default", "math") and _broken(trial, trials, key)})
    aside = f" (forced by hand, {' and '.join(forced)} does not)" if forced else ""
    return "refuted", f"torch's choice of kernel gives finite numbers with and without masks {on}{aside}"


def _key(trial: Mapping[str, object]) -> tuple[str, str, str]:
    return str(trial.get("mask")), str(trial.get("length")), str(trial.get("kernel"))


def _words(pair: tuple[str, str]) -> str:
    return f"mask: {pair[0]}, {pair[1]} tokens"


def _error(trial: Mapping[str, object]) -> str | None:
    error = trial.get("error")
    if error is None:
        return None
    return " ".join(str(error.get("message", "") if isinstance(error, Mapping) else error).split())[:300] or "an error"


def _nonfinite(trial: Mapping[str, object]) -> dict[str, int] | None:
    """How many numbers are not finite, by what they are; None where the trial does not say."""
    counts = trial.get("nonfinite")
    if not isinstance(counts, Mapping) or not counts:
        return None
    return {str(name): count for name, count in counts.items() if isinstance(count, int) and not isinstance(count, bool)}


def _fault(ours: Mapping[str, object], plain: Mapping[str, object]) -> str | None:
    error = _error(ours)
    if error is not None:
        return f"torch finds no kernel: {error}" if any(words in error.lower() for words in _NO_PLAN) else None
    healthy, found = _nonfinite(plain) or {}, _nonfinite(ours) or {}
    broken = [f"{count} numbers of the {name.replace('_', ' ')}" for name, count in found.items() if count and healthy.get(name) == 0]
    return f"{' and '.join(broken)} are not finite" if broken else None


def _other(ours: Mapping[str, object], mask: str, dtype: str) -> str | None:
    """What is wrong with torch's choice without being the fault that is looked for."""
    error = _error(ours)
    if error is not None:
        return error
    if _nonfinite(ours) is None:
        return "no numbers"
    difference = ours.get("difference")
    if mask not in _COMPARED or not isinstance(difference, Mapping):
        return None
    tolerance = _TOLERANCE.get(dtype, _HALF_TOLERANCE)
    for name, value in difference.items():
        if not is_finite(value) or value > tolerance:
            return f"the {str(name).replace('_', ' ')} differs from float32 by {value} of its norm"
    return None


def _broken(trial: Mapping[str, object], trials: Mapping[tuple[str, str, str], Mapping[str, object]], key: tuple[str, str, str]) -> bool:
    plain = trials.get((key[0], key[1], "math"))
    return plain is not None and trial.get("refused") is not True and _error(trial) is None and _fault(trial, plain) is not None


def _culprits(trials: Mapping[tuple[str, str, str], Mapping[str, object]], pair: tuple[str, str]) -> str:
    """Which kernel, chosen by hand, does the same."""
    forced = (key for key in trials if key[:2] == pair and key[2] not in ("default", "math"))
    same = [key[2] for key in forced if _broken(trials[key], trials, key)]
    return f"; so does {' and '.join(same)} chosen by hand" if same else ""


def variations(params: Mapping[str, object]) -> Iterable[Variation]:
    """cuDNN's kernel switched off (a line of code: no fact of a plan), and rows of a length that the fault spares."""
    yield Variation("torch.backends.cuda.enable_cudnn_sdp(False)", {**params, "disabled": ["cudnn"]})
    yield Variation("rows padded to a multiple of 128 tokens", {**params, "lengths": [256]})


PROBE = Probe(
    name=NAME,
    shows="whether the attention kernel that torch chooses on this GPU gives finite outputs and gradients with a mask",
    needs=("torch", "a GPU"),
    cost="5 to 25 s, most of it the import and the start of CUDA",
    script=CHILDREN / "sdpa_backends.py",
    parameters=parameters,
    judge=judge,
    variations=variations,
    timeout=180.0,
    memory_bytes=16 << 30,
    gpu=True,
    proven=False,
)
