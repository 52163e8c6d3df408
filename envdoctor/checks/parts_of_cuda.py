"""The parts of CUDA that torch brings (``nvidia-*``): which ones it requires is a matter of its build, and several others are one fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.records import replace
from envdoctor.world.torch_builds import torch_build

_PARTS = ("nvidia-", "cuda-")
_SEVERAL = 2


def is_of_another_cuda(facts: Facts, name: str, release: str) -> bool:
    """Whether a package is a part of CUDA, and the torch that is taken is known to be built for another one than the package index's."""
    cuda, build = facts.value("cuda"), torch_build(release.partition("+")[0]) if name.startswith(_PARTS) else None
    return build is not None and bool(build.cuda) and cuda is not None and str(cuda) != build.cuda


def parts_as_one(facts: Facts, hits: Sequence[Hit]) -> Iterator[Hit]:
    """The hits, with all parts of CUDA that are other ones than torch requires as one."""
    kinds = {(hit.rule, hit.outcome) for hit in hits}
    for kind in sorted(kinds, key=str):
        parts = [hit for hit in hits if (hit.rule, hit.outcome) == kind and _part_of(hit)]
        if len(parts) < _SEVERAL:
            continue
        yield _joined(facts, parts)
        hits = [hit for hit in hits if hit not in parts]
    yield from hits


def _part_of(hit: Hit) -> str:
    """The part that a hit about torch and one other package is about; empty where it is about something else."""
    other = next((name for name in hit.packages if name != "torch"), "")
    return other if len(hit.packages) == 2 and "torch" in hit.packages and other.startswith(_PARTS) and other in dict(hit.pins) else ""


def _joined(facts: Facts, parts: Sequence[Hit]) -> Hit:
    names = [_part_of(hit) for hit in parts]
    place = facts[f"packages.{names[0]}"].origin
    told = [f"{name}{dict(hit.pins)[name]}" for name, hit in zip(names, parts, strict=True)]
    return replace(
        parts[0],
        because=(("packages.torch", "of another CUDA"),),
        detail=f"torch {facts.value('packages.torch')} requires {', '.join(told)}",
        packages=("torch", *names),
        pins=tuple((name, dict(hit.pins)[name]) for name, hit in zip(names, parts, strict=True)),
        file=place.file,
        line=place.line,
        edge="nvidia",
        headline=f"{len(parts)} parts of CUDA are pinned to other releases than torch requires",
        advice="take the nvidia-* packages out of the list: torch brings its own",
    )
