"""What torch may use of a GPU: what is sold, less what driver, firmware or system keep of it."""

from __future__ import annotations

from envdoctor.facts.fact import Facts
from envdoctor.memory.estimate import GIB
from envdoctor.records import dataclass

# What a card is sold with against what torch may use of it, in GiB: 24 and 23.64 (the cards of zjunlp/DeepKE#519), 80 and 79.15 (A100).
_SOLD, _KEPT = (24.0, 80.0), (0.36, 0.85)
_LEAST_KEPT = 0.2
# ROCm tells torch nearly all of it: 287.98 GiB of 288 (ROCm/TheRock#2118), 23.98 of 24 (Tongyi-MAI/Z-Image#103), 15.92 of 16
# (Comfy-Org/ComfyUI#9529).
_OF_AMD = 0.08
# recommendedMaxWorkingSetSize of Metal, as shares of the memory of a Mac. Two thirds: 10,923 MB of 16 GB (abetlen/llama-cpp-python#687),
# 21,845 of 32 (ollama/ollama#434); three quarters: 73,728 of 96 (ggml-org/llama.cpp#3213). macOS 26 recommends more: 37.44 GiB of 48
# (https://dev.to/nefayran/mps-backend-out-of-memory-on-a-mac-what-the-numbers-mean-and-how-to-set-the-watermark-43dp), 107.52 of 128
# (antirez/ds4#893).
_UP_TO, _SHARE_BELOW, _SHARE_ABOVE, _SHARE_MOST = 32.0, 2 / 3, 0.75, 0.84
# Of GB10's 128 GB, which processor and GPU share, torch is told 121.69 GiB; on fresh boots without a desktop 101.3 to 102.2 are free
# (MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#47), and at some 113 in use the kernel ends the run (vxtto/dgx-spark-full-finetune,
# docs/results.md). Of other boards whose memory is the machine's nothing was read.
_OF_GB10, _FREE_OF_GB10, _MOST_OF_GB10 = ("GB10", "DGX SPARK"), 102.0, 113.0
# total_memory_available of optimum-habana: 29.85 of 32 (huggingface/optimum-habana#89), 94.62 of 96 (#1111). Of Gaudi 3 none is known.
_OF_GAUDI = 2.15
# npu-smi shows that much in use before anything runs: 3,369 MB of 65,536 (vllm-project/vllm-ascend#1903), and 2,841 of 32,768 beside the
# one process of Project-HAMi/HAMi#1860.
_OF_ASCEND = 3.3
# Beyond what CUDA's and ROCm's kernels keep, nothing was compared with a measurement.
_FOREIGN = {"apple": "Metal", "intel": "Gaudi", "huawei": "Ascend"}


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes of one GPU: ``usable`` is what a plan should stay in; more than ``most`` cannot be had at all. ``note`` says where they are
    from, where that is not plain."""

    usable: float
    most: float
    note: str = ""


def budget(facts: Facts) -> Budget | None:
    """What torch may use of one GPU; None where its memory is not known.

    The driver keeps a part of what is sold, and of what nvidia-smi calls total. A figure with decimals that somebody states (23.64) is
    torch's own, from the message of a failed allocation, and is taken as it is.
    """
    fact = facts.get("gpu.memory_gib")
    if fact is None or not isinstance(fact.value, (int, float)) or isinstance(fact.value, bool) or fact.value <= 0:
        return None
    size, maker = float(fact.value), facts.text("gpu.vendor")
    if any(name in (facts.text("gpu.name") or "").upper() for name in _OF_GB10) and size > _MOST_OF_GB10:
        return _of_gb10()
    if not size.is_integer() and fact.origin.source != "nvidia-smi" and not fact.origin.source.startswith("known GPU"):
        return Budget(size * GIB, size * GIB)
    if maker == "apple":
        return _unified(size)
    usable = max(0.0, size - _kept(size, maker)) * GIB
    return Budget(usable, usable)


def usable_memory(facts: Facts) -> float | None:
    """Bytes of one GPU that torch may use; None where the memory is not known."""
    found = budget(facts)
    return None if found is None else found.usable


def usable_of(size: float) -> float:
    """GiB that torch may use of an NVIDIA card that is sold with ``size`` GiB: a line through two cards of which both are known."""
    return max(0.0, size - _kept(size, None))


def foreign(facts: Facts) -> str:
    """What computes, where it is neither CUDA nor ROCm."""
    return _FOREIGN.get(facts.text("gpu.vendor") or "", "")


def _kept(size: float, maker: str | None) -> float:
    if maker == "amd":
        return _OF_AMD
    if maker == "intel":
        return _OF_GAUDI
    if maker == "huawei":
        return _OF_ASCEND
    slope = (_KEPT[1] - _KEPT[0]) / (_SOLD[1] - _SOLD[0])
    return max(_LEAST_KEPT, _KEPT[0] + slope * (size - _SOLD[0]))


def _of_gb10() -> Budget:
    note = (
        f"of the 128 GB that processor and GPU share, some {_FREE_OF_GB10:g} GiB are free on a fresh boot, and at some"
        f" {_MOST_OF_GB10:g} in use the kernel ends the run"
    )
    return Budget(_FREE_OF_GB10 * GIB, _MOST_OF_GB10 * GIB, note)


def _unified(size: float) -> Budget:
    share = _SHARE_BELOW if size <= _UP_TO else _SHARE_ABOVE
    usable, most = size * share, size * _SHARE_MOST
    note = (
        f"of the {size:g} GiB that processor and GPU share, Metal recommends {usable:.1f} GiB to the GPU, and up to {most:.1f} GiB in"
        " newer releases of macOS (torch.mps.recommended_max_memory() tells); torch takes 1.7 times as much before it refuses, and the"
        " system pages"
    )
    return Budget(usable * GIB, most * GIB, note)
