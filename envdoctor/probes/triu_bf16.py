"""``triu-bf16``: can this torch cut a bfloat16 triangle on this GPU?

torch before 2.1 has no such kernel (pytorch/pytorch#101932): "triu_tril_cuda_template" not implemented for
'BFloat16'. transformers builds its causal mask so. A CPU has the kernel in every release, so it shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from envdoctor.facts.fact import Facts
from envdoctor.probes.on_gpu import gpu_words, no_gpu, ran_without_gpu
from envdoctor.probes.probe import CHILDREN, Probe, Variation
from envdoctor.probes.verdict import Ruling

NAME = "triu-bf16"
CONTROL = "float32"

_DTYPES = ("bfloat16", "float16")


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """The dtypes of the triangle: the plan's, bfloat16 where it names none, and float32 to compare; or why not."""
    loaded = facts.value("plan.load_dtype")
    if loaded == "auto":
        loaded = facts.value("model.config_dtype") or facts.value("model.dtype")
    dtype = "bfloat16" if loaded is None else str(loaded)
    if dtype not in _DTYPES:
        return f"the weights are loaded as {dtype}: no triangle of half precision is cut"
    return no_gpu(facts) or {"dtypes": [dtype, CONTROL]}


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> tuple[Ruling, str]:
    """What the calls show. Pure; anything unexpected in it is inconclusive."""
    why = ran_without_gpu(measured)
    if why is not None:
        return "inconclusive", why
    wanted = params.get("dtypes")
    dtypes = [str(dtype) for dtype in wanted] if isinstance(wanted, (list, tuple)) else []
    made = measured.get("calls")
    calls = [call for call in made if isinstance(call, Mapping)] if isinstance(made, (list, tuple)) else []
    on = f"on {gpu_words(measured)}"
    missing = [call for call in calls if call.get("dtype") == "bfloat16" and "not implemented for 'bfloat16'" in _message(call).lower()]
    others = [call for call in calls if call not in missing]
    for call in others:
        if call.get("error") is not None:
            return "inconclusive", f"{call.get('name')} in {call.get('dtype')} {on} failed in another way: {_message(call)}"
        if call.get("right") is not True:
            return "inconclusive", f"{call.get('name')} in {call.get('dtype')} {on} gave wrong numbers, which is another fault"
    if not dtypes or sorted(str(call.get("dtype")) for call in calls) != sorted(dtypes * 2):
        return "inconclusive", f"not all calls were made {on}"
    if missing:
        return "confirmed", f"{' and '.join(str(call.get('name')) for call in missing)} in bfloat16 {on}: {_message(missing[0])}"
    return "refuted", f"triu and tril in {' and '.join(dtypes)} {on} give the numbers of the CPU"


def _message(call: Mapping[str, object]) -> str:
    error = call.get("error")
    return " ".join(str(error.get("message", "") if isinstance(error, Mapping) else error).split())[:300]


def variations(params: Mapping[str, object]) -> Iterable[Variation]:
    """float16 in place of bfloat16."""
    yield Variation("weights loaded as float16", {**params, "dtypes": ["float16", CONTROL]}, {"plan.load_dtype": "float16"})


PROBE = Probe(
    name=NAME,
    shows="whether torch.triu and torch.tril work in bfloat16 on this GPU",
    needs=("torch", "a GPU"),
    cost="3 to 15 s, nearly all of it the import and the start of CUDA",
    script=CHILDREN / "triu_bf16.py",
    parameters=parameters,
    judge=judge,
    variations=variations,
    timeout=120.0,
    memory_bytes=16 << 30,
    gpu=True,
    proven=False,
)
