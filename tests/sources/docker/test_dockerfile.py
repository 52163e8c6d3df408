"""Whole Dockerfiles: what their images would hold, fact by fact with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.values import shown
from envdoctor.sources.declared.variant import Variant
from envdoctor.sources.docker.dockerfile import collect_dockerfile, is_dockerfile
from envdoctor.world.installation import Installation

UNTOLD = "what it stands for is not known from the Dockerfile alone"
HERE = Installation({"sys_platform": "linux", "platform_machine": "x86_64"})


def variants(tmp_path: Path, text: str, **files: str) -> tuple[Variant, ...]:
    for name, content in files.items():
        path = tmp_path / name.replace("__", "/").replace("_txt", ".txt").replace("_toml", ".toml").replace("_yml", ".yml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (tmp_path / "Dockerfile").write_text(text)
    return collect_dockerfile(tmp_path / "Dockerfile", HERE)


def facts(variant: Variant) -> dict[str, str]:
    """Each fact as ``value @ file:line``, the file left out where it is the Dockerfile."""
    told = {}
    for fact in variant.collected.facts:
        assert fact.origin.file is not None
        name = Path(fact.origin.file).name
        told[fact.name] = f"{shown(fact.value)} @ {'' if name == 'Dockerfile' else name + ':'}{fact.origin.line}"
    return told


def skips(variant: Variant) -> list[tuple[str, str]]:
    return [(skip.what.rpartition(":")[2], skip.why) for skip in variant.collected.skips]


def packages(tmp_path: Path, commands: str, base: str = "python:3.10") -> dict[str, str]:
    (variant,) = variants(tmp_path, f"FROM {base}\n{commands}")
    return {fact.name.removeprefix("packages."): shown(fact.value) for fact in variant.collected.facts if fact.name.startswith("packages.")}


@pytest.mark.parametrize(
    ("lines", "uses"),
    [
        ("ENV DISABLE_VERSION_CHECK=1", "env:DISABLE_VERSION_CHECK=1 @ 2"),
        ("ENV DISABLE_VERSION_CHECK 1\nENV DISABLE_VERSION_CHECK=0", "env:DISABLE_VERSION_CHECK=0 @ 3"),
        ("ENV HF_HUB_ENABLE_HF_TRANSFER=1", "env:HF_HUB_ENABLE_HF_TRANSFER=1 @ 2"),
        ("ENV PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "env:PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True @ 2"),
        ("ARG CACHE\nENV HF_HOME=$CACHE", "env:HF_HOME=... @ 3"),
        ("ENV OTHER=1", None),
    ],
)
def test_a_switch_of_the_image_is_a_use(tmp_path: Path, lines: str, uses: str | None) -> None:
    (variant,) = variants(tmp_path, f"FROM python:3.11\n{lines}\nRUN pip install llamafactory\n")
    assert facts(variant).get("plan.code_uses") == uses


def test_a_training_image(tmp_path: Path) -> None:
    (variant,) = variants(
        tmp_path,
        """\
# syntax=docker/dockerfile:1
ARG CUDA=12.1.1
FROM --platform=linux/amd64 nvidia/cuda:${CUDA}-cudnn8-devel-ubuntu22.04
ARG TORCH=2.3.1
ENV HF_HUB_OFFLINE=1 \\
    PIP_NO_CACHE_DIR=1
RUN apt-get update && apt-get install -y --no-install-recommends \\
        git \\
        # the interpreter
        python3-pip && \\
    rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY requirements.txt constraints.txt ./
RUN pip install torch==${TORCH} torchvision --index-url https://download.pytorch.org/whl/cu${CUDA_SHORT:-118}
RUN pip install -r requirements.txt -c constraints.txt \\
    "accelerate>=0.30" \\
 && pip install flash-attn --no-build-isolation
COPY . .
CMD ["python3", "train.py"]
""",
        requirements_txt="transformers==4.44.2\npeft>=0.10\npywin32 ; sys_platform == 'win32'\n",
        constraints_txt="peft<0.13\nnumpy<2\n",
    )
    assert variant.label == ""
    assert facts(variant) == {
        "os": "linux @ 3",
        "accelerator": "cuda @ 3",
        "machine": "x86_64 @ 3",
        "plan.offline": "true @ 5",
        "plan.code_uses": "env:PIP_NO_BUILD_ISOLATION=1 @ 17",
        "glibc": "2.35 @ 3",
        "python": "3.10 @ 10",
        "cuda": "11.8 @ 14",
        "packages.torch": "2.3.1 @ 14",
        "packages.torchvision": " @ 14",
        "packages.transformers": "4.44.2 @ requirements.txt:1",
        "packages.peft": ">=0.10,<0.13 @ requirements.txt:2",
        "packages.accelerate": ">=0.30 @ 16",
        "packages.flash-attn": " @ 17",
    }
    assert (variant.collected.skips, variant.collected.defects) == ((), ())
    assert "torch==2.3.1" in variant.collected.wanted


def test_the_toolkit_of_the_system_is_said_where_no_torch_brings_its_own(tmp_path: Path) -> None:
    (bare,) = variants(tmp_path, "FROM nvidia/cuda:12.1.1-cudnn8-devel-ubuntu22.04\nRUN pip install peft\n")
    assert facts(bare) == {
        "os": "linux @ 1", "accelerator": "cuda @ 1", "cuda": "12.1.1 @ 1", "cudnn": "==8.* @ 1", "packages.peft": " @ 2",
        "glibc": "2.35 @ 1",
    }  # fmt: skip
    (torch,) = variants(tmp_path, "FROM nvidia/cuda:12.1.1-cudnn8-devel-ubuntu22.04\nRUN pip install torch==2.5.1\n")
    assert facts(torch) == {"os": "linux @ 1", "glibc": "2.35 @ 1", "accelerator": "cuda @ 1", "packages.torch": "2.5.1 @ 2"}
    (image,) = variants(tmp_path, "FROM pytorch/pytorch:2.1.0-cuda11.8-cudnn8-devel\nRUN pip install torch peft==0.6.0\n")
    assert facts(image) == {
        "os": "linux @ 1", "accelerator": "cuda @ 1", "python": "3.10 @ 1", "cuda": "11.8 @ 1", "cudnn": "==8.* @ 1",
        "packages.torch": "2.1.0 @ 1", "packages.peft": "0.6.0 @ 2",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ("RUN pip install torch==2.1.0\nRUN pip install torch==2.3.0", {"torch": "2.3.0"}),
        ("RUN pip install torch==2.1.0\nRUN pip install torch", {"torch": "2.1.0"}),
        ("RUN pip install torch==2.1.0\nRUN pip install 'torch>=2'", {"torch": "2.1.0"}),
        ("RUN pip install torch==2.1.0\nRUN pip install 'torch>=2.2'", {"torch": ">=2.2"}),
        ("RUN pip install torch==2.1.0\nRUN pip install -U torch", {"torch": ""}),
        ("RUN pip install torch==2.1.0+cu118\nRUN pip install torch==2.1.0", {"torch": "2.1.0+cu118"}),
        ("RUN pip install 'peft>=0.5,<0.7'\nRUN pip install 'peft>=0.4'", {"peft": "<0.7,>=0.5"}),
        ("RUN pip install torch==2.1.0 peft\nRUN pip uninstall -y torch", {"peft": ""}),
        ("RUN pip install torch==2.1.0 'torch<2.2'", {"torch": "2.1.0"}),
        ("RUN pip install torch==2.1.0\nRUN pip install vllm", {"vllm": ""}),
        ("RUN pip install torch==2.4.0\nRUN pip install vllm==0.5.4", {"torch": "2.4.0", "vllm": "0.5.4"}),
        ("RUN pip install torch==2.1.0\nRUN pip install vllm==0.5.4", {"vllm": "0.5.4"}),
        ("RUN pip install torch==2.1.0\nRUN pip install --no-deps vllm==0.5.4", {"torch": "2.1.0", "vllm": "0.5.4"}),
        ("RUN pip install https://x/torch-2.1.0%2Bcu118-cp310-cp310-linux_x86_64.whl", {"torch": "2.1.0+cu118"}),
        ("RUN pip install transformers==4.40.0\nRUN pip install git+https://github.com/huggingface/transformers.git", {}),
        ("RUN pip install peft==0.10.0\nRUN pip install git+https://github.com/huggingface/peft@v0.12.0", {"peft": "0.12.0"}),
        ("RUN pip install trl==0.9 peft==0.5\nRUN git clone https://x/trl && cd trl && pip install -e .", {"peft": "0.5"}),
        ("RUN conda install -y pytorch==2.1.0 transformers=4.35 cpuonly -c pytorch", {"torch": "2.1.0", "transformers": "==4.35.*"}),
        ("ARG V\nRUN pip install torch==2.1.0 peft\nRUN pip install torch==$V", {"peft": ""}),
        ("ARG V=2.2.0\nRUN pip install torch==$V", {"torch": "2.2.0"}),
        ("ARG V\nRUN pip install torch==${V:-2.2.1}", {"torch": "2.2.1"}),
        ("ARG V=2.2.0\nENV V=2.3.0\nRUN pip install torch==$V", {"torch": "2.3.0"}),
        ("ENV A=1 B=$A\nENV B=2.$A\nRUN pip install torch==$B.0", {"torch": "2.1.0"}),
        ('RUN ["pip", "install", "torch==2.1.0"]', {"torch": "2.1.0"}),
        ("RUN <<EOF\nset -e\npip install torch==2.1.0\npip install peft\nEOF", {"torch": "2.1.0", "peft": ""}),
        ("RUN <<EOF\n#!/usr/bin/env python\nimport os\nEOF", {}),
        (
            "RUN python -m venv /v && /v/bin/pip install torch==2.1.0\nENV PATH=/v/bin:$PATH\nRUN pip install peft",
            {"torch": "2.1.0", "peft": ""},
        ),
        ("RUN pip install wheel\nONBUILD RUN pip install torch", {"wheel": ""}),
        ("RUN pip install ./dist/*.whl peft", {"peft": ""}),
    ],
)  # fmt: skip
def test_later_commands_overrule_earlier_ones(tmp_path: Path, commands: str, expected: dict[str, str]) -> None:
    assert packages(tmp_path, commands) == expected


def test_what_hangs_on_an_unknown_condition_is_not_known(tmp_path: Path) -> None:
    (variant,) = variants(
        tmp_path,
        "FROM python:3.11\nARG EXTRA\nARG FLASH=false\nRUN pip install torch==2.1.0 peft==0.6.0\n"
        'RUN if [ "$EXTRA" = 1 ]; then pip install torch==2.3.0 peft; fi\n'
        'RUN if [ "$FLASH" = true ]; then pip install flash-attn; fi\n',
    )
    assert facts(variant) == {"os": "linux @ 1", "python": "3.11 @ 1", "packages.peft": "0.6.0 @ 4"}
    assert skips(variant) == [("5", "torch: installed only under a condition that the Dockerfile does not decide")]


@pytest.mark.parametrize(
    ("commands", "cuda"),
    [
        ("pip install torch==2.1.0 --index-url https://download.pytorch.org/whl/cu118", "11.8"),
        ("pip install torch -i https://mirrors.aliyun.com/pytorch-wheels/cu121", "12.1"),
        ("uv pip install --torch-backend=cu126 torch", "12.6"),
        ("PIP_INDEX_URL=https://download.pytorch.org/whl/cu121 pip install torch", "12.1"),
        ("env PIP_INDEX_URL=https://download.pytorch.org/whl/cu121 pip install peft && pip install torch", ""),
        ("pip install torch==2.1.0 && pip install torch --index-url https://download.pytorch.org/whl/cu118", ""),
        ("pip install torch --index-url https://download.pytorch.org/whl/cu118 && pip install -U torch", ""),
        ("pip install peft --index-url https://download.pytorch.org/whl/cu118", ""),
        ("pip install torch --index-url https://download.pytorch.org/whl/cpu", ""),
        ("conda install pytorch==2.1.0 pytorch-cuda=11.8 -c pytorch -c nvidia", "11.8"),
    ],
)
def test_the_cuda_of_the_torch_that_is_installed(tmp_path: Path, commands: str, cuda: str) -> None:
    (variant,) = variants(tmp_path, f"FROM python:3.10\nRUN {commands}\n")
    assert facts(variant).get("cuda", "").partition(" ")[0] == cuda
    assert ("accelerator" in facts(variant)) is commands.endswith("/cpu")


@pytest.mark.parametrize(
    ("commands", "builds"),
    [
        ("pip install torch==2.3.1 --index-url https://download.pytorch.org/whl/cpu", "torch+cpu"),
        ("pip install torch==2.3.1 --index-url https://download.pytorch.org/whl/rocm6.0", "torch+rocm"),
        ("pip install torch==2.3.1 --index-url https://download.pytorch.org/whl/cpu && pip install -U torch==2.4.0", ""),
        ("pip install torch==2.3.1", ""),
    ],
)
def test_of_which_build_the_torch_of_an_image_is(tmp_path: Path, commands: str, builds: str) -> None:
    (variant,) = variants(tmp_path, f"FROM python:3.10\nRUN {commands}\n")
    assert facts(variant).get("builds", "").partition(" ")[0] == builds


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("ENV PIP_CONSTRAINT=c.txt\nRUN pip install openai-whisper==20240930", "env:PIP_CONSTRAINT=c.txt"),
        ("RUN pip install --no-build-isolation openai-whisper==20240930", "env:PIP_NO_BUILD_ISOLATION=1"),
        ("RUN uv pip install --build-constraints c.txt openai-whisper==20240930", "env:PIP_NO_BUILD_ISOLATION=1"),
        ("RUN pip install openai-whisper==20240930", ""),
    ],
)
def test_with_what_an_image_builds(tmp_path: Path, text: str, uses: str) -> None:
    (variant,) = variants(tmp_path, f"FROM python:3.10\n{text}\n")
    assert facts(variant).get("plan.code_uses", "").partition(" ")[0] == uses


def test_stages_environments_and_what_is_copied(tmp_path: Path) -> None:
    last, test = variants(
        tmp_path,
        """\
FROM python:3.11-slim AS build
RUN python -m venv /opt/venv
ENV PATH="/opt/venv/bin:$PATH"
RUN pip install torch==2.4.0 transformers==4.44.0
RUN /usr/local/bin/pip install peft==0.1.0

FROM build AS test
RUN pip install trl==0.9.6

FROM python:3.11-slim
COPY --from=build /opt/venv /srv/venv
ENV PATH=/srv/venv/bin:$PATH
RUN pip install accelerate==0.33.0
""",
    )
    assert (last.label, facts(last)) == (
        "",
        {
            "os": "linux @ 10",
            "python": "3.11 @ 1",
            "packages.torch": "2.4.0 @ 4",
            "packages.transformers": "4.44.0 @ 4",
            "packages.accelerate": "0.33.0 @ 13",
        },
    )
    assert (test.label, facts(test)["packages.trl"], facts(test)["packages.torch"]) == ("stage test", "0.9.6 @ 8", "2.4.0 @ 4")


@pytest.mark.parametrize(
    "copy",
    [
        "COPY --from=0 /usr/local/lib/python3.11/site-packages /usr/local/lib/python3.11/site-packages",
        "COPY --from=b /usr/local /usr/local",
        "COPY --from=B / /",
        "COPY --from=b /deps /usr/local",
    ],
)
def test_trees_of_packages_that_are_copied(tmp_path: Path, copy: str) -> None:
    into = " --prefix=/deps" if "/deps" in copy else ""
    text = f"FROM python:3.11 AS b\nRUN pip install{into} torch==2.4.0\nFROM python:3.11\n{copy}\n"
    (variant,) = variants(tmp_path, text)
    assert facts(variant)["packages.torch"] == "2.4.0 @ 2"


def test_a_second_environment_is_a_choice_of_its_own(tmp_path: Path) -> None:
    first, second = variants(
        tmp_path,
        "FROM continuumio/miniconda3\nRUN conda create -n train python=3.10 -y\nRUN conda run -n train pip install torch==2.1.0\n"
        'SHELL ["conda", "run", "-n", "train", "/bin/bash", "-c"]\nRUN pip install peft==0.7.0\nENV PATH=/opt/conda/envs/train/bin:$PATH\n'
        "RUN /opt/conda/bin/pip install transformers==4.36.0\n",
    )
    assert facts(first) == {
        "os": "linux @ 1", "python": "3.10 @ 2", "packages.torch": "2.1.0 @ 3", "packages.peft": "0.7.0 @ 5",
    }  # fmt: skip
    assert (second.label, facts(second)) == ("environment of the system", {"os": "linux @ 1", "packages.transformers": "4.36.0 @ 7"})


def test_files_of_the_context_are_traced(tmp_path: Path) -> None:
    (variant,) = variants(
        tmp_path,
        """\
FROM python:3.11
WORKDIR /srv
COPY requirements /tmp/req
COPY pyproject.toml ./
ADD env*.yml more.txt /opt/
RUN --mount=type=bind,source=mounted.txt,target=/m.txt pip install -r /m.txt
RUN pip install -r /tmp/req/base.txt && pip install -e '.[train]' && cd /opt && pip install -r more.txt
COPY <<list <<"other" /in/
einops==0.8.0
# comment
list
tqdm
other
RUN pip install -r /in/list
RUN sed -i /torch/d /tmp/req/base.txt && pip install -r /tmp/req/base.txt
RUN git clone https://x/y && cd y && pip install -r requirements.txt -r https://z/r.txt
RUN pip install -r /m.txt
""",
        requirements__base_txt="torch==2.3.0\n",
        mounted_txt="numpy==1.26.4\n",
        more_txt="trl==0.9.4\n",
        pyproject_toml='[project]\nname = "p"\nversion = "1"\ndependencies = ["peft==0.12.0"]\n'
        '[project.optional-dependencies]\ntrain = ["datasets==2.20.0"]\n',
    )
    assert {name: told for name, told in facts(variant).items() if name.startswith("packages.")} == {
        "packages.numpy": "1.26.4 @ mounted.txt:1",
        "packages.torch": "2.3.0 @ base.txt:1",
        "packages.peft": "0.12.0 @ pyproject.toml:4",
        "packages.datasets": "2.20.0 @ pyproject.toml:6",
        "packages.trl": "0.9.4 @ more.txt:1",
        "packages.einops": "0.8.0 @ 9",
    }
    assert skips(variant) == [
        ("15", "-r /tmp/req/base.txt: /tmp/req/base.txt is changed by sed on line 15"),
        (
            "16",
            "-r /srv/y/requirements.txt: /srv/y/requirements.txt is not copied from the build context; a repository is cloned on line 16",
        ),
        ("16", "-r https://z/r.txt: a URL is not fetched"),
        ("17", "-r /m.txt: /m.txt is not copied from the build context; a repository is cloned on line 16"),
    ]


def test_the_context_may_be_above_the_dockerfile(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "docker").mkdir()
    (tmp_path / "requirements.txt").write_text("torch==2.3.0\n")
    (tmp_path / "docker" / "Dockerfile").write_text("FROM python:3.11\nCOPY . /app\nRUN pip install -r /app/requirements.txt\n")
    (variant,) = collect_dockerfile(tmp_path / "docker" / "Dockerfile", HERE)
    assert facts(variant)["packages.torch"] == "2.3.0 @ requirements.txt:1"


def test_a_link_out_of_the_context_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("torch==2.3.0\n")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "r.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "c" / "Dockerfile").write_text("FROM python:3.11\nCOPY r.txt ../secret.txt /\nRUN pip install -r /r.txt -r /secret.txt\n")
    (variant,) = collect_dockerfile(tmp_path / "c" / "Dockerfile", HERE)
    assert "packages.torch" not in facts(variant)
    assert [place for place, _ in skips(variant)] == ["3", "3"]


def test_locks_and_projects_of_tools(tmp_path: Path) -> None:
    lock = 'version = 1\nrequires-python = ">=3.10"\n[[package]]\nname = "p"\nversion = "1"\nsource = { virtual = "." }\n'
    lock += 'dependencies = [{ name = "torch" }]\n[[package]]\nname = "torch"\nversion = "2.6.0"\n'
    lock += 'source = { registry = "https://pypi.org/simple" }\n'
    text = "FROM ghcr.io/astral-sh/uv:python3.12-bookworm\nWORKDIR /a\nCOPY pyproject.toml uv.lock /a/\nRUN uv sync --frozen\n"
    text += "ENV PATH=/a/.venv/bin:$PATH\n"
    (variant,) = variants(tmp_path, text, pyproject_toml='[project]\nname = "p"\nversion = "1"\ndependencies = ["torch>=2.5"]\n')
    assert facts(variant)["packages.torch"] == ">=2.5 @ pyproject.toml:4"
    (tmp_path / "uv.lock").write_text(lock)
    (variant,) = collect_dockerfile(tmp_path / "Dockerfile", HERE)
    assert facts(variant)["packages.torch"] == "2.6.0 @ uv.lock:10"


def test_what_conda_installs_is_of_no_index_of_pip(tmp_path: Path) -> None:
    conda = "FROM ubuntu:18.04\nRUN conda install -y -c conda-forge pytorch=2.7.0 numpy=1.26\n"
    (kept,) = variants(tmp_path, conda)
    assert facts(kept)["present"] == "numpy, torch @ 2"
    (replaced,) = variants(tmp_path, conda + "RUN pip install torch==2.8.0\n")
    assert facts(replaced)["present"] == "numpy @ 2"
    (bare,) = variants(tmp_path, "FROM ubuntu:18.04\nRUN conda install -y pytorch=2.7.0\nRUN pip install torch==2.8.0\n")
    assert "present" not in facts(bare)


def test_conda_environment_files(tmp_path: Path) -> None:
    (variant,) = variants(
        tmp_path,
        "FROM mambaorg/micromamba\nCOPY environment.yml /tmp/\nRUN micromamba create -y -f /tmp/environment.yml\n"
        'ENTRYPOINT ["micromamba", "run", "-n", "llm", "python"]\n',
        environment_yml="name: llm\nchannels: [pytorch]\ndependencies:\n  - python=3.10\n  - pytorch=2.1.0\n  - pytorch-cuda=11.8\n"
        "  - pip:\n      - transformers==4.35.0\n",
    )
    told = facts(variant)
    assert told["packages.torch"].endswith("@ environment.yml:5")
    assert told["packages.transformers"] == "4.35.0 @ environment.yml:8"
    assert told["cuda"].startswith("11.8")


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("FROM ubuntu:22.04\nRUN apt-get install -y python3-pip", "3.10"),
        ("FROM ubuntu:22.04\nRUN pip install x", None),
        ("FROM ubuntu:20.04\nRUN apt install -y python3.9 python3.9-dev", "3.9"),
        ("FROM ubuntu:20.04\nRUN apt install -y python3 python3.9\nRUN python3.9 -m pip install x", "3.9"),
        ("FROM ubuntu:22.04\nRUN apt install -y python3 python3.11\nRUN ln -sf /usr/bin/python3.11 /usr/bin/python3", "3.11"),
        ("FROM python:3.12-slim\nRUN apt install -y python3", "3.12"),
        ("FROM debian:12\nRUN curl -O https://x/Miniconda3-py39_4.12.0-Linux-x86_64.sh", "3.9"),
        ("FROM ubuntu:22.04\nRUN apt install -y python3 && wget https://x/Miniconda3-latest-Linux-x86_64.sh", None),
        ("FROM condaforge/miniforge3\nRUN conda install -y python=3.10", "3.10"),
        (
            "FROM nvidia/cuda:12.1.0-base-ubuntu22.04\nRUN uv venv --python 3.11 /v && uv pip install --python /v/bin/python torch==2.4.0",
            "3.11",
        ),
    ],
)  # fmt: skip
def test_which_python_is_known(tmp_path: Path, text: str, python: str | None) -> None:
    (variant,) = variants(tmp_path, text)
    assert facts(variant).get("python", "").partition(" ")[0] == (python or "")


@pytest.mark.parametrize(
    ("text", "skipped"),
    [
        ("ARG BASE\nFROM $BASE", [("2", "FROM $BASE: which image that is the Dockerfile does not tell")]),
        ("FROM company/base:3", [("1", "image company/base:3: what it holds is not known")]),
        ("FROM python:3.10\nARG V\nRUN pip install \\\n  torch==$V", [("4", f"torch==$V: {UNTOLD}")]),
        ("FROM python:3.10\nRUN pip install 'torch", [("2", "not understood as shell from here: a quote ' is never closed")]),
        ("FROM python:3.10\nRUN pip install $(cat r.txt)", [("2", f"$(cat r.txt): {UNTOLD}")]),
        (
            "FROM python:3.10\nCOPY s.sh .\nRUN bash s.sh && ./s.sh && bash Miniconda3-latest.sh\nRUN $PIP install torch",
            [
                ("3", "s.sh: a script that is run; what it installs is not known"),
                ("3", "./s.sh: a script that is run; what it installs is not known"),
                ("4", "$PIP install: which program that is, is not known from the Dockerfile alone"),
            ],
        ),
        ("RUN pip install torch", [("Dockerfile", "it has no FROM: no image is built")]),
        ("", [("Dockerfile", "it has no FROM: no image is built")]),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_said_with_its_line(tmp_path: Path, text: str, skipped: list[tuple[str, str]]) -> None:
    (variant,) = variants(tmp_path, text)
    assert [(Path(place).name, why) for place, why in skips(variant)] == skipped


def test_a_malformed_requirement_is_a_defect_with_its_line(tmp_path: Path) -> None:
    (variant,) = variants(tmp_path, "FROM python:3.10\nRUN pip install peft==0.5 \\\n   torch=2.1.0 'transformers==4.99,<4'\n")
    assert [(defect.rule, defect.line) for defect in variant.collected.defects] == [
        ("requirement-malformed", 3),
        ("requirement-unsatisfiable", 3),
    ]
    assert facts(variant)["packages.peft"] == "0.5 @ 2"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Dockerfile", True), ("dockerfile", True), ("Containerfile", True), ("Dockerfile.gpu", True), ("Dockerfile_amd", True),
        ("Dockerfile-uv", True), ("torch.dockerfile", True), ("x.Dockerfile", True), ("Dockerfile.md", False), ("dockerfile.py", False),
        (".dockerignore", False), ("Dockerfile.dockerignore", False), ("Dockerfile-uv.jinja", False), ("docker-compose.yml", False),
        ("requirements.txt", False), ("Dockerfiles", False),
    ],
)  # fmt: skip
def test_a_dockerfile_is_known_by_its_name(name: str, known: bool) -> None:
    assert is_dockerfile(Path(name)) is known


@pytest.mark.parametrize("data", [b"F\0R\0O\0M\0", b"\xff\xfeF\0R\0", b"x" * (4 * 2**20 + 1)])
def test_what_is_no_text_is_an_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "Dockerfile"
    path.write_bytes(data)
    with pytest.raises(EnvdoctorError) as error:
        collect_dockerfile(path, HERE)
    assert error.value.place == str(path)
    with pytest.raises(EnvdoctorError):
        collect_dockerfile(tmp_path, HERE)
