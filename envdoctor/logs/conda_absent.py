"""What conda lists as absent from its channels: which of it is never made for the system at hand, and what to do with it there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.installer_rules import NO_FILE
from envdoctor.logs.specifiers import admits
from envdoctor.records import dataclass

LISTS_ABSENT = re.compile(r"ResolvePackageNotFound|PackagesNotFoundError|not available from current channels")
# One line of such a list, without a build: "- cudatoolkit=11.3", "- torchvision==0.12.0", "- xformers::xformers=0.0.18".
_ABSENT = re.compile(r"^\s*- (?:[\w-]{1,40}::)?(?P<name>[a-z_][\w.-]{0,80})(?P<spec>(?:==?|[<>!~]=?)[\w.*,<>=!~]{1,60})?\s*$")
# What follows are the names of channels.
_CHANNELS = re.compile(r"^\s*(?:Current )?[Cc]hannels:\s*$")
_CLASH = re.compile(r"UnsatisfiableError|Found conflicts|conflict", re.IGNORECASE)
_PLATFORM = re.compile(
    r"(?:^Platform: |conda\.anaconda\.org/\S{1,80}/|repo\.anaconda\.com/pkgs/\w{1,20}/)(?P<system>linux|win|osx)-(?P<machine>\w{1,10})"
)
_OF_CONDA = {"linux": "linux", "win": "windows", "osx": "macos"}
_WORDS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}
# https://github.com/Ansarimajid/Construction-PPE-Detection/issues/4, https://github.com/EliasNehme/Deep-STORM/issues/2
_OF_WINDOWS = re.compile(r"vc|vs20\d\d_runtime|wincertstore|pywin32(?:-ctypes)?|pywinpty|win_inet_pton|icc_rt|m(?:2w64|sys2)-.{1,60}")
# https://github.com/lenck/vlb/issues/17, https://github.com/williamyang1991/VToonify/issues/22, https://github.com/pnlbwh/pnlNipype/issues/94
_OF_LINUX = re.compile(r"lib(?:gcc|stdcxx|gfortran)-ng|_libgcc_mutex|\w{1,40}[_-]linux-64")
# https://github.com/facebookresearch/xformers/issues/694: its own channel is for Linux alone, and PyPI has it for Windows.
_OF_LINUX_BY_CONDA = ("xformers",)
# https://github.com/CompVis/stable-diffusion/issues/309: of cudatoolkit there are 9.0 and, in one channel, 10.0 for a Mac.
_CUDA = re.compile(
    r"cudatoolkit(?:-dev)?|pytorch-cuda|cuda(?:-.{1,40})?|cudnn|nccl|faiss-gpu|tensorflow-gpu|magma-cuda\d{1,4}|cupy|nvidia-apex|dgl-cuda.{1,8}"
)
# "=11.7.0*", "==12.1"
_CUDA_OF = re.compile(r"==?(?P<major>\d{1,2})\.(?P<minor>\d)")
_NO_CUDATOOLKIT = 12
_GUESSES = (
    ("of another channel (pytorch, nvidia, conda-forge)", ""),
    ("not made for this system (Windows, macOS, aarch64)", "other"),
    ("or PyPI's, where it may have another name", ""),
)
_SEARCH = (
    "conda search -c conda-forge -c pytorch -c nvidia NAME shows who has it for this system: add that channel; what none has goes "
    "under pip: in the file, by its name on PyPI and with == (or is left out: torch from PyPI brings its CUDA)"
)


@dataclass(frozen=True, slots=True)
class _Machine:
    """The system and the processor that conda looked for packages for; empty where nobody says."""

    system: str
    processor: str

    @property
    def is_x86(self) -> bool | None:
        return self.processor in ("64", "32", "x86_64", "amd64") if self.processor else None


def judge_absent(lines: Sequence[tuple[int, str]], facts: Facts) -> tuple[Hit, int, str] | None:
    """Whether conda lists what no channel has that it was told to ask, which is no contradiction of two requirements."""
    head = next((place for place, (_, line) in enumerate(lines) if LISTS_ABSENT.search(line)), None)
    if head is None or any(_CLASH.search(line) for _, line in lines):
        return None
    found = {one["name"]: one["spec"] or "" for one in _listed(line for _, line in lines[head + 1 :])}
    if not found:
        return None
    number, line = lines[head]
    return _tell(found, _machine(lines, facts), " ".join(_named_channels(lines))), number, line


def _named_channels(lines: Sequence[tuple[int, str]]) -> Iterator[str]:
    """What conda prints of the channels that it asked, above and below its list."""
    inside = False
    for _, line in lines:
        if _CHANNELS.match(line):
            inside = True
        elif inside and line.strip() and not line.strip().startswith("- "):
            inside = False
        elif inside:
            yield line.strip()


def _listed(lines: Iterable[str]) -> Iterator[re.Match[str]]:
    for line in lines:
        if _CHANNELS.match(line):
            return
        if (one := _ABSENT.match(line)) is not None:
            yield one


def _machine(lines: Sequence[tuple[int, str]], facts: Facts) -> _Machine:
    """What conda itself says of where it runs stands before what its user says."""
    told = next((found for _, line in lines if (found := _PLATFORM.search(line)) is not None), None)
    if told is not None:
        return _Machine(_OF_CONDA[told["system"]], told["machine"])
    return _Machine(facts.text("os") or "", facts.text("machine") or "")


def _tell(found: Mapping[str, str], machine: _Machine, channels: str) -> Hit:
    here = _WORDS.get(machine.system, "")
    parts: list[tuple[list[str], str, str]] = []
    windows = [name for name in found if _OF_WINDOWS.fullmatch(name)] if machine.system != "windows" else []
    linux = [name for name in found if _OF_LINUX.fullmatch(name)] if machine.system != "linux" else []
    if windows:
        parts.append(
            (windows, "of Windows alone: the file was written there", "leave {names} out of the file: nothing needs {them} elsewhere")
        )
    if linux:
        parts.append(
            (linux, "of Linux alone: the file was written there", "leave {names} out of the file: conda brings what another system needs")
        )
    if machine.system in ("windows", "macos"):
        by_pip = [name for name in found if name in _OF_LINUX_BY_CONDA]
        if by_pip and machine.system == "windows":
            parts.append(
                (
                    by_pip,
                    "made for Linux alone as a conda package",
                    "pip install {names} in the environment (or under pip: in the file): PyPI has wheels for Windows",
                )
            )
        elif by_pip:
            parts.append(
                (by_pip, "made for Linux alone as a conda package", "leave {names} out on a Mac: torch's own attention does without")
            )
    if machine.system == "macos":
        cuda = [name for name, spec in found.items() if _CUDA.fullmatch(name) and not _was_for_macs(name, spec)]
        why = "CUDA's, and no channel has it for macOS: the file is for a machine with an NVIDIA GPU"
        way = "leave {names} out of the file on a Mac (pytorch runs there on the processor or with MPS), or make the environment on Linux"
        parts += [(cuda, why, way)] if cuda else []
    elif toolkit := _toolkit(found.get("cudatoolkit"), channels):
        parts.append((["cudatoolkit"], *toolkit))
    known = {name for names, _, _ in parts for name in names}
    rest = {name: spec for name, spec in found.items() if name not in known}
    python = bool(rest.get("python")) and machine.is_x86 is not True and machine.system != "windows"
    if python:
        names = [name for name in rest if rest[name]]
        parts.append(
            (
                names,
                "without a build for this processor: x86-64 has that Python, and Apple silicon and aarch64 only have later ones",
                "take the releases off {names}"
                + (" (or CONDA_SUBDIR=osx-64 before conda env create, which runs them under Rosetta)" if machine.system == "macos" else ""),
            )
        )
        rest = {name: spec for name, spec in rest.items() if name not in names}
    return _joined(found, parts, rest, here)


def _toolkit(spec: str | None, channels: str) -> tuple[str, str] | None:
    """Where the cudatoolkit of a CUDA is, on a system that has NVIDIA's GPUs; None where nobody knows of it."""
    told = _CUDA_OF.match(spec or "")
    if told is None:
        return None
    if int(told["major"]) >= _NO_CUDATOOLKIT:
        # https://github.com/Vincentqyw/image-matching-webui/issues/73; conda-forge splits CUDA 12 into packages of its own, cuda-toolkit
        # among them: https://carpentries-incubator.github.io/reproducible-ml-workflows/cuda_conda_pacakges.html
        release = f"{told['major']}.{told['minor']}"
        return (
            "no channel has it: the package of that name ends with CUDA 11",
            f"in its place pytorch-cuda={release} with -c pytorch -c nvidia, or cuda-toolkit={release} of nvidia or conda-forge (where "
            "only torch is to run it can be left out: torch from PyPI brings its CUDA)",
        )
    if int(told["major"]) == _NO_CUDATOOLKIT - 1 and channels and "conda-forge" not in channels:
        # https://github.com/NVlabs/stylegan3/pull/143, https://github.com/songweige/rich-text-to-image/issues/22
        return (
            "conda-forge has those of CUDA 11, and is not among the channels",
            "-c conda-forge (or conda-forge under channels: in the file)",
        )
    return None


def _was_for_macs(name: str, spec: str) -> bool:
    # https://github.com/nagadit/DeepFaceLab_Linux/issues/28
    bound = {"cudatoolkit": "<10.1", "cuda": "<10.1", "cudnn": "<7.1"}.get(name)
    return bound is not None and (not spec or admits(bound, spec.lstrip("=<>!~").rstrip(".*")) is True)


def _joined(found: Mapping[str, str], parts: Sequence[tuple[list[str], str, str]], rest: Mapping[str, str], here: str) -> Hit:
    told = [f"{', '.join(f'{name}{found[name]}' for name in names[:6])}: {why}" for names, why, _ in parts]
    ways = [way.format(names=", ".join(names[:6]), them="it" if len(names) == 1 else "them") for names, _, way in parts]
    if rest:
        named = ", ".join(f"{name}{spec}" for name, spec in list(rest.items())[:6])
        guesses = [text for text, kind in _GUESSES if not (kind and here)]
        if here:
            guesses.insert(1, f"not made for {here}")
        told.append(f"{named}: {', '.join(guesses)}")
        ways.append(_SEARCH)
    packages = tuple(dict.fromkeys((*(name for names, _, _ in parts for name in names), *rest)))[:4]
    headline = "The channels that conda was told to ask have no such package for this system"
    if parts and not rest and not any(why.startswith("conda-forge has") for _, why, _ in parts):
        headline = f"The environment file asks for packages that conda does not have for {here or 'this system'}"
    return Hit(
        NO_FILE, True, (), detail="; ".join(told), packages=packages, edge=f"conda:{packages[0]}", headline=headline, advice="; ".join(ways)
    )  # fmt: skip
