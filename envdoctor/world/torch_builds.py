"""Which GPUs the CUDA code inside a torch wheel runs on."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from envdoctor.facts.versions import final_key
from envdoctor.records import dataclass
from envdoctor.world.gpus import capability_key

_TABLE = Path(__file__).parent.parent / "data" / "torch_builds.json"

# From DEVICE_REQUIREMENT in torch/cuda/__init__.py (2.13.0): integrated GPUs run only code compiled for them.
_INTEGRATED = {(5, 3), (6, 2), (7, 2), (8, 7), (10, 1)}


class _Row(TypedDict):
    releases: list[str]
    variant: str
    machine: str
    sm: list[str]
    ptx: str | None
    pypi_default: bool
    evidence: str
    sources: list[str]


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """One variant of a torch release: what its wheel for one processor architecture is compiled for.

    ``release`` is the minor release (``2.5``), ``variant`` its label (``cu118``, ``cpu``), ``cuda`` the
    CUDA version or None for a CPU build. ``sm`` lists compiled targets (``sm_86``) and is empty where
    they are not known; ``ptx`` is the portable target (``compute_120``), None where there is none and
    ``?`` where it is claimed and no wheel shows it.
    """

    release: str
    variant: str
    cuda: str | None
    sm: tuple[str, ...]
    ptx: str | None
    pypi_default: bool
    evidence: str
    source: str


def torch_build(version_text: str, machine: str = "x86_64") -> TorchBuild | None:
    """The build that a version names: ``2.5.0+cu118``, ``2.13.0+cpu``; without a label the package index's for Linux.

    A CUDA variant that the table does not list is returned without targets. None for a pre-release, for
    another vendor's build (``+rocm6.2``, ``+nv24.10``) and for an unlabelled release not in the table.
    """
    public, _, label = version_text.strip().partition("+")
    label = label.lower().partition(".")[0]
    release = _minor(public)
    if release is None:
        return TorchBuild("", "cpu", None, (), None, False, "label", "") if label == "cpu" else None
    if label == "cpu":
        return TorchBuild(release, "cpu", None, (), None, False, "label", "")
    rows = _rows(machine).get(release, {})
    if not label:
        return next((build for build in rows.values() if build.pypi_default), None)
    cuda = variant_cuda(label)
    if cuda is None:
        return None
    return rows.get(label) or TorchBuild(release, label, cuda, (), None, False, "", "")


def variants(release: str, machine: str = "x86_64") -> tuple[str, ...]:
    """The CUDA variants of a release that the table lists, lowest CUDA first: ``2.5.1`` -> cu118, cu121, cu124."""
    minor = _minor(release)
    return tuple(sorted(_rows(machine).get(minor, {}))) if minor else ()


def other_variants(version_text: str) -> tuple[str, ...]:
    """The CUDA variants of a release, where the version names one that it never had: ``2.5.0+cu126`` -> cu118, cu121, cu124.

    Nothing where there is such a build, where the label is none of PyTorch's, or where the release is not in the table. The matrices that
    the table is from need not name all that was built: a label that releases before and after it have is not denied.
    """
    public, _, label = version_text.partition("+")
    known = variants(public) if variant_cuda(label) is not None else ()
    if label in known:
        return ()
    having = [_number(release) for release in releases_listed() if label in variants(release)]
    minor = _minor(public)
    return () if having and minor is not None and having[0] < _number(minor) < having[-1] else known


def nearest_variant(version_text: str) -> str:
    """In place of a build that a release never had, the one for the next lower CUDA, else the lowest: ``2.5.0+cu126`` -> 2.5.0+cu124."""
    public, _, label = version_text.partition("+")
    others = sorted(other_variants(version_text), key=lambda one: int(one[2:]))
    below = [one for one in others if int(one[2:]) < int(label[2:])]
    return f"{public}+{(below[-1:] or others[:1])[0]}" if others else ""


def torch_beside(name: str, version_text: str) -> str:
    """The build of torch that a labelled build of torchvision or torchaudio is made for: ``0.21.0+cu128`` -> 2.6.0+cu128; else empty.

    Their wheels name that release of torch, and PyTorch builds them in the variants of that release.
    """
    from envdoctor.world.dependencies import dependencies

    public, _, label = version_text.partition("+")
    if name == "torch":
        return version_text
    if name not in ("torchvision", "torchaudio") or not label:
        return ""
    asked = next((one.specifier for one in dependencies(name, public) or () if one.name == "torch"), "")
    exact = re.fullmatch(r"==([\d.]+)", asked)
    return f"{exact[1]}+{label}" if exact is not None else ""


def cuda_builds(cuda: str, machine: str = "x86_64") -> tuple[TorchBuild, ...]:
    """Every listed build for one CUDA version (``12.1``), oldest release first."""
    return tuple(build for release in releases_listed(machine) for build in _rows(machine)[release].values() if build.cuda == cuda)


def releases_listed(machine: str = "x86_64") -> tuple[str, ...]:
    """The minor releases that the table lists, oldest first."""
    return tuple(sorted(_rows(machine), key=_number))


def variant_cuda(variant: str) -> str | None:
    """The CUDA version of a label: ``cu118`` -> ``11.8``; None for any other label."""
    match = re.fullmatch(r"cu(\d{2})(\d)", variant, flags=re.ASCII)
    return None if match is None else f"{match[1]}.{match[2]}"


def runs_on(build: TorchBuild, compute_capability: str) -> bool | None:
    """Whether the build has code for a GPU, by torch's own rule; None where the build's targets are not known.

    Compiled code for X.Y runs on the same major from Y on; of integrated GPUs (Jetson) only on the one it is
    for. PTX of X.Y is compiled by the driver for any later GPU. A CPU build runs on none.

    Raises:
        ValueError: the text is no compute capability.
    """
    device = capability_key(compute_capability)
    if device is None:
        raise ValueError(f"found {compute_capability!r}; expected a compute capability such as 8.6")
    if build.cuda is None:
        return False
    if not build.sm:
        return None
    if any(_compiled_for(_target(sm), device) for sm in build.sm):
        return True
    if build.ptx is None:
        return False
    if build.ptx == "?":
        # At best it is PTX of the newest target, which no older GPU can use.
        return None if device > max(_target(sm) for sm in build.sm) else False
    return device >= _target(build.ptx)


def _compiled_for(target: tuple[int, int], device: tuple[int, int]) -> bool:
    if target == (10, 1):
        return device in ((10, 1), (11, 0))
    if device in _INTEGRATED or target in _INTEGRATED:
        return device == target
    return device[0] == target[0] and device[1] >= target[1]


def _target(text: str) -> tuple[int, int]:
    digits = text.rpartition("_")[2]
    return int(digits[:-1]), int(digits[-1])


def _minor(public: str) -> str | None:
    key = final_key(public)
    return None if key is None else ".".join(str(number) for number in (*key, 0)[:2])


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


@lru_cache(maxsize=4)
def _rows(machine: str) -> dict[str, dict[str, TorchBuild]]:
    """The table of one processor architecture: release, then variant."""
    table = json.loads(_TABLE.read_bytes())
    found: dict[str, dict[str, TorchBuild]] = {}
    rows: list[_Row] = [row for row in table["builds"] if row["machine"] == machine]
    for row in rows:
        source = next((url for name in row["sources"] if (url := table["sources"][name]["url"])), "")
        for release in row["releases"]:
            found.setdefault(release, {})[row["variant"]] = TorchBuild(
                release=release,
                variant=row["variant"],
                cuda=variant_cuda(row["variant"]),
                sm=tuple(row["sm"]),
                ptx=row["ptx"],
                pypi_default=row["pypi_default"],
                evidence=row["evidence"],
                source=source,
            )
    return found
