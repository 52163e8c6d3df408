"""What a base image brings: as its tag states it, or as a table knows it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from envdoctor.facts.versions import version_condition
from envdoctor.records import dataclass, field

_TABLE = Path(__file__).parents[2] / "data" / "images.json"

_VERSION = r"[0-9]+(?:\.[0-9]+)*(?:\.?(?:post|rc|dev|a|b)[0-9]+)?"
# Parts of a tag that every family below writes alike: name and version run together.
_PART = re.compile(
    r"(?P<torch>(?:(?:py)?torch|th)(?P<torch_version>[0-9]+\.[0-9]+(?:\.[0-9]+)?))"
    r"|(?P<python>py(?:thon)?(?P<python_version>3\.[0-9]+(?:\.[0-9]+)?|3[0-9]{1,2}))"
    r"|(?P<cuda>cuda(?P<cuda_version>[0-9]+\.[0-9]+(?:\.[0-9]+)?)|cu(?P<cuda_digits>1[0-9]{2}))"
    r"|(?P<cudnn>cudnn(?P<cudnn_version>[0-9]+(?:\.[0-9]+)*))"
    r"|(?P<system>ubuntu(?P<system_version>[0-9]{2}\.?[0-9]{2}))"
    rf"|(?P<package>vllm|sglang|transformers|swift|modelscope|flashattn|fa|te|deepspeed)v?(?P<package_version>{_VERSION})",
)
_PACKAGES = {"flashattn": "flash-attn", "fa": "flash-attn", "te": "transformer-engine", "swift": "ms-swift"}
_SPLIT = re.compile(r"[-_]")
_JOINED = re.compile(r"pytorch[-_](?:release[-_])?(?=[0-9])")
_CODENAMES = {
    "focal": "ubuntu20.04",
    "jammy": "ubuntu22.04",
    "noble": "ubuntu24.04",
    "bionic": "ubuntu18.04",
    "buster": "debian10",
    "bullseye": "debian11",
    "bookworm": "debian12",
    "stretch": "debian9",
    "trixie": "debian13",
}
# The C library of a distribution's release: https://launchpad.net/ubuntu/+source/glibc, https://tracker.debian.org/pkg/glibc,
# Red Hat's releases, which CentOS, Rocky Linux and AlmaLinux rebuild, and https://docs.aws.amazon.com/linux/ for Amazon's.
_GLIBC = {
    "centos6": "2.12", "centos7": "2.17", "ubi7": "2.17", "oraclelinux7": "2.17", "amazonlinux2": "2.26", "debian9": "2.24",
    "centos8": "2.28", "centosstream8": "2.28", "centosstream9": "2.34", "oraclelinux8": "2.28", "oraclelinux9": "2.34",
    "amazonlinux2023": "2.34",
    "ubuntu16.04": "2.23", "ubuntu18.04": "2.27", "ubuntu20.04": "2.31", "ubuntu22.04": "2.35", "ubuntu24.04": "2.39",
    "debian10": "2.28", "debian11": "2.31", "debian12": "2.36", "debian13": "2.41",
    "ubi8": "2.28", "rockylinux8": "2.28", "almalinux8": "2.28", "ubi9": "2.34", "rockylinux9": "2.34", "almalinux9": "2.34",
}  # fmt: skip

_PYTORCH = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+)-cuda([0-9]+\.[0-9]+(?:\.[0-9]+)?)-cudnn([0-9]+)-(?:runtime|devel)")
_CUDA = re.compile(
    r"([0-9]+\.[0-9]+(?:\.[0-9]+)?)(?:-cudnn([0-9]*))?(?:-(?:base|runtime|devel))?"
    r"(?:-cudnn([0-9]*))?(?:-(?:base|runtime|devel))?(?:-([a-z]+[0-9.]+))?"
)
_PYTHON = re.compile(r"(3\.[0-9]+(?:\.[0-9]+)?)(?:-[a-z0-9.]+)*")
_AXOLOTL = re.compile(r"(?:.*-)?py(3\.[0-9]+)-cu([0-9]{2,3})-([0-9]+\.[0-9]+\.[0-9]+)(?:-.*)?")
_MOSAIC = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+)_(cu[0-9]{3}|cpu)(?:_[a-z0-9]+)?-python(3\.[0-9]+)-(ubuntu[0-9.]+)")
_RUNPOD = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+)-py(3\.[0-9]+(?:\.[0-9]+)?)-cuda([0-9.]+[0-9])(?:-[a-z]+)?-(ubuntu[0-9.]+)")
_AWS = re.compile(
    r"([0-9]+\.[0-9]+\.[0-9]+)(?:-transformers([0-9]+\.[0-9]+\.[0-9]+))?-(?:gpu|cpu)-py(3)([0-9]+)(?:-cu([0-9]{3}))?-(ubuntu[0-9.]+[0-9]).*"
)
_GOOGLE = re.compile(
    r"(?:huggingface-)?pytorch-(?:training-|inference-)?(?:cu([0-9]{2})([0-9])|gpu|cpu)\.([0-9]+)-([0-9]+)"
    r"(?:\.transformers\.([0-9]+)-([0-9]+))?(?:\.ubuntu([0-9]{2})([0-9]{2}))?(?:\.py(3)([0-9]+))?"
)
_ECR = re.compile(r"(?:[0-9]{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?|public\.ecr\.aws/deep-learning-containers)/(.+)")
_VLLM = re.compile(rf"v({_VERSION})(?:-.*)?")
_RELEASE = re.compile(rf"v?({_VERSION})")


@dataclass(frozen=True, slots=True)
class Reference:
    """An image as FROM names it; Docker Hub's own prefixes are left out of ``name``."""

    name: str
    tag: str | None
    digest: str | None


@dataclass(frozen=True, slots=True)
class Image:
    """What an image holds. ``packages`` are versions or ranges by normalised name.

    ``system`` is the distribution with its release, for the Python that its package manager installs. ``why`` says what
    is not known of it, and is empty where the image is nothing but a system or says all. ``entered_by`` are the words of its ENTRYPOINT.
    """

    python: str | None = None
    cuda: str | None = None
    cudnn: str | None = None
    os: str = "linux"
    accelerator: str | None = None
    system: str | None = None
    packages: dict[str, str] = field(default_factory=dict)
    why: str = ""
    entered_by: tuple[str, ...] = ()


class _Row(TypedDict):
    """``read`` is how the source was read: the page itself, or as another text quotes it."""

    image: str
    tags: list[str]
    facts: dict[str, str]
    source: list[str]
    read: str


class _Python(TypedDict):
    of: str
    python: str
    source: list[str]
    read: str


class _Table(TypedDict):
    rows: list[_Row]
    systems: list[_Python]
    pytorch: list[_Python]
    vllm: list[_Python]


def parse_reference(text: str) -> Reference:
    """``docker.io/library/python:3.10@sha256:...`` -> python, 3.10, sha256:..."""
    name, _, digest = text.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    name = f"{head}{slash}{last}"
    for prefix in ("index.docker.io/", "registry-1.docker.io/", "docker.io/", "library/"):
        name = name.removeprefix(prefix)
    return Reference(name, tag or None, digest or None)


def image_of(text: str) -> Image:
    """What is known of an image that FROM names."""
    reference = parse_reference(text)
    name, tag = reference.name, reference.tag or ""
    named = f"image {text}"
    if name == "scratch":
        return Image()
    if name.startswith("mcr.microsoft.com/windows"):
        return Image(os="windows")
    if tag == "" and reference.digest:
        return Image(why=f"{named}: named by its digest alone, what it holds is not known")
    for family in (_plain_system, _cuda_image, _pytorch_image, _of_table, _stated_by_tag):
        image = family(name, tag)
        if image is not None:
            return image
    return Image(why=f"{named}: what it holds is not known")


def system_python(system: str) -> str | None:
    """The version of a distribution's own ``python3``."""
    return next((row["python"] for row in _table()["systems"] if row["of"] == system), None)


def glibc_of(text: str, image: Image) -> str | None:
    """The C library of an image, where it or its tag names the system that it is made of."""
    reference = parse_reference(text)
    words = (reference.tag or "").split("-")
    name = reference.name.rpartition("/")[2]
    if name in ("rockylinux", "almalinux", "centos", "oraclelinux", "amazonlinux") and words[0]:
        return _GLIBC.get(f"{name}{words[0].partition('.')[0]}")
    # The images in which wheels are built say for which glibc.
    if built := re.match(r"manylinux_(\d+)_(\d+)_|manylinux(2014)_", name):
        return "2.17" if built[3] else f"{built[1]}.{built[2]}"
    named = image.system or next((_CODENAMES[word] for word in words if word in _CODENAMES), "")
    return _GLIBC.get(named)


def _plain_system(name: str, tag: str) -> Image | None:
    first = tag.split("-")[0]
    if name in ("ubuntu", "debian"):
        return Image(system=_CODENAMES.get(first, f"{name}{first}") if first else None)
    if name == "python":
        stated = _PYTHON.fullmatch(tag)
        why = "" if stated else f"image python:{tag or 'latest'}: its tag does not state the Python"
        return Image(python=stated[1] if stated else None, why=why)
    if name in ("alpine", "busybox", "centos", "rockylinux", "almalinux", "fedora", "amazonlinux", "buildpack-deps", "debian"):
        return Image()
    if name in ("condaforge/miniforge3", "condaforge/mambaforge", "continuumio/miniconda3", "continuumio/anaconda3", "mambaorg/micromamba"):
        return Image()
    if re.fullmatch(r"ghcr\.io/astral-sh/uv", name):
        stated = re.fullmatch(r"(?:.*-)?python(3\.[0-9]+)(?:-.*)?", tag)
        return Image(python=stated[1] if stated else None)
    return None


def _cuda_image(name: str, tag: str) -> Image | None:
    if name not in ("nvidia/cuda", "nvcr.io/nvidia/cuda"):
        return None
    stated = _CUDA.fullmatch(tag)
    if stated is None:
        return Image(why=f"image {name}:{tag}: its tag does not state the CUDA")
    return Image(cuda=stated[1], cudnn=stated[2] or stated[3] or None, system=stated[4])


def _pytorch_image(name: str, tag: str) -> Image | None:
    if name != "pytorch/pytorch":
        return None
    stated = _PYTORCH.fullmatch(tag)
    if stated is None:
        return Image(why=f"image {name}:{tag or 'latest'}: its tag does not state what it holds")
    torch = stated[1]
    return Image(_row_for(_table()["pytorch"], torch), stated[2], stated[3], packages={"torch": torch})


def _row_for(rows: list[_Python], version: str) -> str | None:
    from envdoctor.facts.versions import exact

    return next((row["python"] for row in rows if version_condition(row["of"]).admits(exact(version))), None)


# https://docs.vllm.ai/en/v0.4.2/serving/deploying_with_docker.html: it runs the OpenAI compatible server, and is given its arguments.
_SERVES = ("python3", "-m", "vllm.entrypoints.openai.api_server")


def _of_table(name: str, tag: str) -> Image | None:
    rows = [row for row in _table()["rows"] if row["image"] == name]
    row = next((row for row in rows if tag in row["tags"]), None)
    if row is not None:
        facts = row["facts"]
        packages = {key.removeprefix("packages."): value for key, value in facts.items() if key.startswith("packages.")}
        return Image(facts.get("python"), facts.get("cuda"), facts.get("cudnn"), packages=packages)
    if rows:
        return Image(why=f"image {name}:{tag or 'latest'}: what this tag holds is not known")
    if name == "vllm/vllm-openai":
        stated = _VLLM.fullmatch(tag)
        if stated is None:
            return Image(why=f"image {name}:{tag or 'latest'}: its tag does not state the release")
        torch = torch_of_vllm(stated[1])
        return Image(packages={"vllm": stated[1]} | ({"torch": torch} if torch else {}), entered_by=_SERVES)
    if name in ("huggingface/transformers-pytorch-gpu", "huggingface/transformers-pytorch-cpu", "huggingface/transformers-gpu"):
        stated = _RELEASE.fullmatch(tag)
        if stated is not None:
            why = f"image {name}:{tag}: its tag states transformers alone"
            return Image(packages={"transformers": stated[1]}, why=why)
    return None


def _stated_by_tag(name: str, tag: str) -> Image | None:
    """Families whose tags spell out what they hold."""
    last = name.rpartition("/")[2]
    ecr = _ECR.fullmatch(name)
    if ecr and "pytorch" in last and (stated := _AWS.fullmatch(tag)):
        packages = {"torch": stated[1]} | ({"transformers": stated[2]} if stated[2] else {})
        return Image(f"{stated[3]}.{stated[4]}", _cuda_digits(stated[5]), system=stated[6], packages=packages)
    if "deeplearning-platform-release" in name and (stated := _GOOGLE.fullmatch(last)):
        packages = {"torch": f"=={stated[3]}.{stated[4]}.*"} | ({"transformers": f"=={stated[5]}.{stated[6]}.*"} if stated[5] else {})
        cuda = f"{stated[1]}.{stated[2]}" if stated[1] else None
        system = f"ubuntu{stated[7]}.{stated[8]}" if stated[7] else None
        return Image(f"{stated[9]}.{stated[10]}" if stated[9] else None, cuda, system=system, packages=packages)
    if name.startswith(("winglian/axolotl", "axolotlai/axolotl")) and (stated := _AXOLOTL.fullmatch(tag)):
        return Image(stated[1], _cuda_digits(stated[2]), packages={"torch": stated[3]})
    if name.startswith("mosaicml/") and (stated := _MOSAIC.fullmatch(tag)):
        return Image(stated[3], _cuda_digits(stated[2][2:]), system=stated[4], packages={"torch": stated[1]})
    if name in ("runpod/pytorch", "cnstark/pytorch") and (stated := _RUNPOD.fullmatch(tag)):
        return Image(stated[2], stated[3], system=stated[4], packages={"torch": stated[1]})
    if name.startswith("rocm/dev-"):
        return Image(accelerator="rocm", system=_dashed_system(last))
    if name.startswith("rocm/"):
        return _parts(tag, f"image {name}:{tag}", accelerator="rocm")
    if last == "cann" and "ascend" in name:
        return _parts(tag, f"image {name}:{tag}", accelerator="npu")
    modelscope = last == "modelscope" and ("aliyuncs.com" in name or name == "modelscope/modelscope")
    if modelscope or name in ("verlai/verl", "whatcanyousee/verl", "hiyouga/verl", "hiyouga/pytorch"):
        return _parts(tag, f"image {name}:{tag}")
    return None


def _dashed_system(name: str) -> str | None:
    found = re.search(r"ubuntu-([0-9]{2}\.[0-9]{2})", name)
    return f"ubuntu{found[1]}" if found else None


def _cuda_digits(digits: str | None) -> str | None:
    """``118`` -> 11.8, ``1281`` -> 12.8.1"""
    if not digits or not digits.isdigit() or len(digits) < 3:
        return None
    return f"{digits[:2]}.{digits[2]}" + (f".{digits[3]}" if len(digits) > 3 else "")


def _parts(tag: str, named: str, *, accelerator: str | None = None) -> Image:
    """What the parts of a tag state, each for itself: ``ubuntu22.04-cuda12.1.0-py310-torch2.3.0-...``."""
    python = cuda = cudnn = system = None
    packages: dict[str, str] = {}
    for word in _SPLIT.split(_JOINED.sub("torch", tag)):
        stated = _PART.fullmatch(word)
        if stated is None:
            continue
        if stated["torch"]:
            packages["torch"] = stated["torch_version"]
        elif stated["python"]:
            digits = stated["python_version"]
            python = digits if "." in digits else f"{digits[0]}.{digits[1:]}"
        elif stated["cuda"]:
            cuda = stated["cuda_version"] or _cuda_digits(stated["cuda_digits"])
        elif stated["cudnn"]:
            cudnn = stated["cudnn_version"]
        elif stated["system"]:
            release = stated["system_version"]
            system = f"ubuntu{release}" if "." in release else f"ubuntu{release[:2]}.{release[2:]}"
        else:
            packages[_PACKAGES.get(stated["package"], stated["package"])] = stated["package_version"]
    why = "" if packages or python or cuda else f"{named}: its tag does not state what it holds"
    return Image(python, cuda, cudnn, accelerator=accelerator, system=system, packages=packages, why=why)


@lru_cache(maxsize=1)
def _table() -> _Table:
    table: _Table = json.loads(_TABLE.read_bytes())
    return table


def torch_of_vllm(version: str) -> str | None:
    """The release of torch that a release of vLLM requires; None for one that is not in the table."""
    return next((row["python"] for row in _table()["vllm"] if row["of"] == version), None)
