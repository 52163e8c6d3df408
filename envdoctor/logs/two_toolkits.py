"""The CUDA toolkit that compiles and the CUDA that torch was built with, where torch.utils.cpp_extension refuses the two.

Both cures are told with their numbers: https://github.com/UX-Decoder/Segment-Everything-Everywhere-All-At-Once/issues/99 and
https://github.com/circleLZY/JL1-CD/issues/5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.checks.hit import Hit
from envdoctor.logs.installer_rules import BUILD
from envdoctor.logs.wording import named
from envdoctor.world.torch_builds import releases_listed, variant_cuda, variants

# A page tells of the pair without its numbers. That there is no wheel is why it is compiled, and not why that fails.
_SAYS_LESS = ("toolkit-and-torch-of-two-cudas", "flash-attn-has-no-wheel-for-torch")
# Its lines are broken behind "compile", and the tuple that an old release raises is printed with its two values at the end.
_MISMATCH = re.compile(
    r"The detected CUDA version \((?:(?P<here>\d{1,2}\.\d{1,2})|%s)\) mismatches the version that was used to compile\s{0,40}"
    r"PyTorch \((?:(?P<torch>\d{1,2}\.\d{1,2})|%s)\)(?:.{0,100}?, '(?P<here2>\d{1,2}\.\d{1,2})', '(?P<torch2>\d{1,2}\.\d{1,2})')?"
)


def judge_toolkits(lines: Sequence[tuple[int, str]], build: Hit | None) -> tuple[Hit, int, str] | None:
    """The two numbers of a log and what brings them together; ``build`` is what is known of the build that failed."""
    for at, (number, line) in enumerate(lines):
        if "detected CUDA version" not in line:
            continue
        text = " ".join(one.strip() for _, one in lines[at : at + 3])
        found = _MISMATCH.search(text)
        here = found and (found["here"] or found["here2"])
        torch = found and (found["torch"] or found["torch2"])
        if not here or not torch:
            continue
        whose = build.packages[0] if build is not None and build.packages else ""
        label, releases = _label_for(here)
        index = f"https://download.pytorch.org/whl/{label}"
        for_it = f"pip install torch --index-url {index} (built for CUDA {variant_cuda(label)}: torch {releases})" if label else ""
        toolkit = f"install the CUDA toolkit {torch} beside it and set CUDA_HOME to its folder"
        then = f"; then {whose} anew with --no-build-isolation" if whose else ""
        detail = (
            f"the toolkit whose nvcc was found is {here}, and torch was built for CUDA {torch}; the number that nvidia-smi shows plays no "
            "part in it"
        )
        advice = "; or ".join(filter(None, (toolkit, for_it))) + then
        hit = Hit(
            BUILD, True, detail=detail, packages=named(whose, "torch"), edge=f"{here}:{torch}", advice=advice, over=_SAYS_LESS,
            headline=f"{whose or 'An extension'} is built with the CUDA toolkit {here}, and torch is built for CUDA {torch}",
        )  # fmt: skip
        return hit, number, text
    return None


def _label_for(cuda: str) -> tuple[str, str]:
    """The label of PyTorch's builds that go with a toolkit, and the releases that have it: of its major, the next below it, else above."""
    builds: dict[str, list[str]] = {}
    for release in releases_listed():
        for variant in variants(release):
            if (built := variant_cuda(variant)) is not None and built.partition(".")[0] == cuda.partition(".")[0]:
                builds.setdefault(variant, []).append(release)
    ordered = sorted(builds, key=lambda one: _number(variant_cuda(one) or "0.0"))
    below = [one for one in ordered if _number(variant_cuda(one) or "0.0") <= _number(cuda)]
    label = (below[-1:] or ordered[:1] or [""])[0]
    of = builds.get(label, [])
    return label, f"{of[0]} to {of[-1]}" if len(of) > 1 else "".join(of)


def _number(cuda: str) -> tuple[int, ...]:
    return tuple(int(part) for part in cuda.split("."))
