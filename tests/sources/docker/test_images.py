"""What base images bring: by their tags, by the table, and what is said of others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import envdoctor
from envdoctor.facts.versions import exact, parse_package, version_condition
from envdoctor.sources.docker.images import glibc_of, image_of, parse_reference, system_python

TABLE = Path(envdoctor.__file__).parent / "data" / "images.json"


@pytest.mark.parametrize(
    ("text", "name", "tag", "digest"),
    [
        ("python:3.10-slim", "python", "3.10-slim", None),
        ("docker.io/library/python@sha256:ab", "python", None, "sha256:ab"),
        ("localhost:5000/a/b:1@sha256:cd", "localhost:5000/a/b", "1", "sha256:cd"),
        ("localhost:5000/a", "localhost:5000/a", None, None),
        ("nvcr.io/nvidia/pytorch:24.01-py3", "nvcr.io/nvidia/pytorch", "24.01-py3", None),
        ("", "", None, None),
    ],
)
def test_references(text: str, name: str, tag: str | None, digest: str | None) -> None:
    reference = parse_reference(text)
    assert (reference.name, reference.tag, reference.digest) == (name, tag, digest)


@pytest.mark.parametrize(
    ("text", "python", "cuda", "cudnn", "packages"),
    [
        ("pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel", "3.10", "12.1", "8", {"torch": "2.1.0"}),
        ("docker.io/pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime@sha256:00", "3.11", "12.4", "9", {"torch": "2.5.1"}),
        ("pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime", None, "12.1", "8", {"torch": "2.3.1"}),
        ("nvcr.io/nvidia/pytorch:24.05-py3", "3.10", "12.4.1", None, {"torch": "2.4.0a0+07cecf4168"}),
        ("nvidia/cuda:12.1.1-cudnn8-devel-ubuntu22.04", None, "12.1.1", "8", {}),
        ("nvidia/cuda:12.6.3-cudnn-devel-ubuntu24.04", None, "12.6.3", None, {}),
        ("nvcr.io/nvidia/cuda:11.8.0-base-ubi8", None, "11.8.0", None, {}),
        ("python:3.10-slim-bookworm", "3.10", None, None, {}),
        ("ghcr.io/astral-sh/uv:python3.12-bookworm-slim", "3.12", None, None, {}),
        ("rocm/pytorch:rocm6.1_ubuntu22.04_py3.10_pytorch_2.1.2", "3.10", None, None, {"torch": "2.1.2"}),
        ("rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.7.1", "3.12", None, None, {"torch": "2.7.1"}),
        ("vllm/vllm-openai:v0.6.3.post1", None, None, None, {"vllm": "0.6.3.post1", "torch": "2.4.0"}),
        ("vllm/vllm-openai:v0.6.1", None, None, None, {"vllm": "0.6.1"}),
        ("huggingface/transformers-pytorch-gpu:4.35.2", None, None, None, {"transformers": "4.35.2"}),
        (
            "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-training:2.1.0-transformers4.36.0-gpu-py310-cu121-ubuntu20.04",
            "3.10", "12.1", None, {"torch": "2.1.0", "transformers": "4.36.0"},
        ),
        (
            "763104351884.dkr.ecr.eu-west-1.amazonaws.com/pytorch-training:2.4.0-gpu-py311-cu124-ubuntu22.04-sagemaker",
            "3.11", "12.4", None, {"torch": "2.4.0"},
        ),
        (
            "us-docker.pkg.dev/deeplearning-platform-release/gcr.io/huggingface-pytorch-training-cu121.2-3.transformers.4-42.ubuntu2204.py310",
            "3.10", "12.1", None, {"torch": "==2.3.*", "transformers": "==4.42.*"},
        ),
        ("winglian/axolotl:main-py3.10-cu118-2.0.1", "3.10", "11.8", None, {"torch": "2.0.1"}),
        ("axolotlai/axolotl:main-20241202-py3.11-cu124-2.5.1", "3.11", "12.4", None, {"torch": "2.5.1"}),
        (
            "registry.cn-hangzhou.aliyuncs.com/modelscope-repo/modelscope:ubuntu22.04-cuda12.1.0-py310-torch2.3.0-tf2.16.1-1.15.0",
            "3.10", "12.1.0", None, {"torch": "2.3.0"},
        ),
        (
            "modelscope-registry.cn-beijing.cr.aliyuncs.com/modelscope-repo/modelscope:"
            "ubuntu22.04-cuda12.4.0-py311-torch2.6.0-vllm0.8.5.post1-modelscope1.26.0-swift3.4.1.post1",
            "3.11", "12.4.0", None, {"torch": "2.6.0", "vllm": "0.8.5.post1", "modelscope": "1.26.0", "ms-swift": "3.4.1.post1"},
        ),
        ("mosaicml/pytorch:2.1.0_cu121-python3.10-ubuntu20.04", "3.10", "12.1", None, {"torch": "2.1.0"}),
        ("runpod/pytorch:2.1.0-py3.10-cuda11.8.0-devel-ubuntu22.04", "3.10", "11.8.0", None, {"torch": "2.1.0"}),
        ("hiyouga/pytorch:th2.6.0-cu124-flashattn2.7.4-cxx11abi0-devel", None, "12.4", None, {"torch": "2.6.0", "flash-attn": "2.7.4"}),
        (
            "verlai/verl:base-verl0.5-cu126-cudnn9.8-torch2.7.1-fa2.7.4",
            None, "12.6", "9.8", {"torch": "2.7.1", "flash-attn": "2.7.4"},
        ),
        ("quay.io/ascend/cann:8.3.rc1-910b-ubuntu22.04-py3.11", "3.11", None, None, {}),
        ("ubuntu:22.04", None, None, None, {}),
        ("condaforge/miniforge3:latest", None, None, None, {}),
        ("scratch", None, None, None, {}),
    ],
)  # fmt: skip
def test_what_is_known(text: str, python: str | None, cuda: str | None, cudnn: str | None, packages: dict[str, str]) -> None:
    image = image_of(text)
    assert (image.python, image.cuda, image.cudnn, image.packages, image.os) == (python, cuda, cudnn, packages, "linux")


@pytest.mark.parametrize(
    "text",
    [
        "pytorch/pytorch", "pytorch/pytorch:latest", "nvcr.io/nvidia/pytorch:19.01-py3", "huggingface/transformers-all-latest-gpu",
        "ghcr.io/huggingface/text-generation-inference:2.0.4", "winglian/axolotl:main-latest", "vllm/vllm-openai:latest", "company/train:7",
        "pytorch/pytorch@sha256:0123", "python:latest", "nvidia/cuda:latest", "rocm/pytorch:latest",
    ],
)  # fmt: skip
def test_what_is_not_known_is_said_by_name(text: str) -> None:
    image = image_of(text)
    assert not image.packages
    assert text.partition("@")[0].partition(":")[0] in image.why


@pytest.mark.parametrize(
    ("image", "python"),
    [("ubuntu:22.04", "3.10"), ("ubuntu:jammy-20240111", "3.10"), ("debian:bookworm-slim", "3.11"), ("debian:11", "3.9")],
)
def test_the_python_of_a_distribution(image: str, python: str) -> None:
    system = image_of(image).system
    assert system is not None
    assert system_python(system) == python


@pytest.mark.parametrize(
    ("image", "glibc"),
    [
        ("nvidia/cuda:12.6.3-devel-ubuntu20.04", "2.31"),
        ("nvidia/cuda:12.4.1-devel-ubi8", "2.28"),
        ("ubuntu:jammy", "2.35"),
        ("debian:13-slim", "2.41"),
        ("python:3.11-slim-bookworm", "2.36"),
        ("python:3.11-slim", None),
        ("rockylinux:9.3", "2.34"),
        ("centos:7", "2.17"),
        ("nvidia/cuda:11.2.2-devel-centos7", "2.17"),
        ("quay.io/centos/centos:stream9", "2.34"),
        ("amazonlinux:2", "2.26"),
        ("python:3.9-stretch", "2.24"),
        ("quay.io/pypa/manylinux2014_x86_64", "2.17"),
        ("quay.io/pypa/manylinux_2_28_x86_64:2024.11.16-1", "2.28"),
        ("pytorch/pytorch:2.1.0-cuda11.8-cudnn8-devel", None),
    ],
)
def test_the_c_library_of_a_system_that_is_named(image: str, glibc: str | None) -> None:
    assert glibc_of(image, image_of(image)) == glibc


def test_accelerators_and_other_systems() -> None:
    assert image_of("rocm/dev-ubuntu-22.04:6.3.1-complete").accelerator == "rocm"
    assert image_of("quay.io/ascend/cann:8.3.rc1-910b-ubuntu22.04-py3.11").accelerator == "npu"
    assert image_of("mcr.microsoft.com/windows/servercore:ltsc2022").os == "windows"


def test_every_row_of_the_table_is_well_formed_and_has_a_source() -> None:
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    for row in table["rows"]:
        for name, value in row["facts"].items():
            assert name in ("python", "cuda", "cudnn") or name.startswith("packages."), row
            exact(value)
        assert row["tags"], row
    for rows in table.values():
        for row in rows:
            assert row["source"], row
            assert row["read"] in ("page", "quoted"), row
            assert all(url.startswith("https://") for url in row["source"]), row
    for row in table["pytorch"]:
        version_condition(row["of"])
    tags = [(row["image"], tag) for row in table["rows"] for tag in row["tags"]]
    assert len(tags) == len(set(tags))


@given(st.text(st.sampled_from("pytorch/cuda:@.-_0123456789vn"), max_size=40) | st.text(max_size=30))
def test_any_name_is_an_image_or_is_said(text: str) -> None:
    for prefix in ("", "pytorch/pytorch:", "nvidia/cuda:", "rocm/pytorch:", "winglian/axolotl:", "verlai/verl:"):
        for version in image_of(prefix + text).packages.values():
            parse_package(version)
