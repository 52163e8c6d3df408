"""The words and forms of environment reports: packages and their aliases, labels, versions, and what makes a version no statement."""

# ruff: noqa: RUF001 - people write full-width punctuation
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from envdoctor.world.releases import tracked

# Not followed by the index here, but named in reports and in rules.
_ALSO_KNOWN = frozenset((
    "llamafactory", "ms-swift", "axolotl", "unsloth", "unsloth-zoo", "diffusers", "optimum", "auto-gptq", "autoawq", "gptqmodel", "hqq",
    "aqlm", "torchao", "torchtune", "torch-npu", "torch-xla", "sglang", "lmdeploy", "liger-kernel", "transformer-engine",
    "megatron-core", "mamba-ssm", "tensorflow", "tf-keras", "flax", "jax", "jaxlib", "sentencepiece", "tiktoken", "protobuf", "einops",
    "modelscope", "cpm-kernels", "icetk", "pytorch-lightning", "scipy", "pandas", "scikit-learn", "gradio", "mpi4py", "pydantic",
    "setuptools", "lm-eval", "fschat", "flashinfer-python",
))  # fmt: skip
ALIASES = {
    "pytorch": "torch", "transformer": "transformers", "hf-hub": "huggingface-hub", "bnb": "bitsandbytes",
    "flash-attention": "flash-attn", "flashattention": "flash-attn", "flashattn": "flash-attn", "autogptq": "auto-gptq",
    "auto-awq": "autoawq", "llama-factory": "llamafactory", "sentence-transformer": "sentence-transformers", "llmtuner": "llamafactory",
}  # fmt: skip
SYSTEM = {"python": "python", "cuda": "cuda", "cudnn": "cudnn", "driver": "driver", "驱动": "driver", "glibc": "glibc", "nvcc": "nvcc"}

ESCAPES = re.compile(r"\x1b\[[0-?]{0,40}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?|\x1b.?|\[\d{1,3}(?:;\d{1,3}){0,4}m")
DOTTED = re.compile(r"\d\.\d")
BULLETS = " \t\u00a0>|*#+-\u2013\u2022\u00b7`\"'(（【[" + "\u200b\ufeff"
_FILLER = r"[ \t\u00a0`'\"*|:：=_(（]{0,100}"
_WORD = (
    r"(?:versions?|ver|info|library|package|版本号?|的版本号?|库|包|为|是|is|was"
    r"|\((?:GPU\??|CPU\??|CPU\?\s?/\s?GPU\?\s?/\s?TPU\?|accelerator\?|NPU)\)|（GPU）)"
)
VERSION = (
    r"[vV]?(?P<version>\d{1,4}(?:\.\d{1,8}){1,5}(?:[.-]?(?:a|b|rc|alpha|beta|dev|post)\.?\d{0,8}){0,2}"
    r"(?:\+[A-Za-z0-9]{1,40}(?:[._-][A-Za-z0-9]{1,40}){0,6}|-(?=cu\d|cpu))?(?P<label>(?<=-)(?:cu\d{2,3}|cpu))?)(?![A-Za-z0-9+*]|\.[\dxX*])"
)
STATEMENT = re.compile(
    r"(?<![A-Za-z0-9_.@/\\-])(?P<name>[A-Za-z]{1,40}(?:[-_][A-Za-z]{1,30}){0,4}|驱动)(?:\.__version__)?"
    rf"(?P<glue>{_FILLER}(?:{_WORD}{_FILLER}){{0,3}}(?:\.{{2,60}}[ \t]{{0,4}}|-{{1,60}}[ \t]{{0,4}})?){VERSION}",
    re.IGNORECASE,
)
WORD_BEFORE = re.compile(r"([A-Za-z]{1,30})[ \u00a0]$")
# What follows a version that is one end of a range, a lower bound or a quantity.
NO_VERSION = re.compile(
    r"[-~\u2013\u2014]v?\d|\s{0,3}(?:[~/]\s{0,3}v?\d|to\s+v?\d|or\b|->|\u2192|=>|and\s+(?:above|later|higher|up|newer|below|earlier)"
    r"|和\s?\d|或|到|至|及?以上|及?以下|之[前后])"
    r"|\s{0,2}(?:[GMTk]i?B\b|[GMkB]\b|%|ms\b|s\b|sec|it/s|million|billion|times\b|倍|小时|hours?\b|days?\b|个|万|亿)",
    re.IGNORECASE,
)
# A sentence with one of these tells what should be, was or would be, not what is.
NOT_STATED = re.compile(
    r"requir|\bneeds?\b|\bneeded\b|\binstall(?:ing)?\b|uninstall|upgrad|downgrad|updat|\bbump|deprecat|remov|\bsince\b|introduc|\badded\b"
    r"|\bstarting\b|\bbefore\b|\bafter\b|\buntil\b|\bfrom version|\bprior\b|should|\bmust\b|please|\btry\b|\btried\b|solv|fixed"
    r"|\bfix(?:es)? (?:in|by|it)\b|revert|switch|chang|roll(?:ed|ing)? ?back|\bwork(?:s|ed)\b|\bwith no (?:issue|problem)|at least|at most"
    r"|minimum|support|compatible|recommend|\bas of\b|\blatest\b|newer|older|instead|suggest|\bif you\b|\bconda create\b|\bdocker\b"
    r"|\bwill be\b|\bgoing to\b|expected"
    r"|升级|降级|降到|降至|升到|升至|换成|换到|改成|改为|更新|需要|要求|建议|请|解决|推荐|支持|正常|尝试|试过|可以",
    re.IGNORECASE,
)
NEGATED_WORK = re.compile(r"(?:n't|not|never|no longer|fails? to)\s+work(?:s|ed)?|not\s+support", re.IGNORECASE)
SENTENCE_END = re.compile(r"[。；！？;]|[.!?]\s")
HAVE = re.compile(r"\bbut you have ([A-Za-z0-9][A-Za-z0-9._-]{0,60}) (\d[A-Za-z0-9.+_-]{0,60}) which\b")
PRESENT = re.compile(r"Requirement already satisfied: ([A-Za-z0-9][A-Za-z0-9._-]{0,60})\b.{0,600}\((\d[A-Za-z0-9.+_-]{0,60})\)$")
TAGGED_PIP = re.compile(r"\[pip3?\]\s{1,4}([A-Za-z0-9][A-Za-z0-9._-]{0,80})==(\S{1,80})")
TAGGED_CONDA = re.compile(r"\[conda\]\s{1,4}([A-Za-z0-9_][A-Za-z0-9._-]{0,80})\s{1,60}(\d\S{0,80})(?:\s{1,60}(\S{1,120}))?")
PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,80})\s?===?\s?([A-Za-z0-9.+!_-]{1,80})\s{0,4}(?:#.*)?")
ROW = re.compile(r"([A-Za-z0-9_][A-Za-z0-9._-]{0,80})\s{1,120}(\d[A-Za-z0-9.+!_-]{0,80})(?:\s{1,60}(\S{1,120}))?(?:\s.{0,300})?")
HEADER = re.compile(r"(#\s*Name|Package|Name)\s+Version\b")
PYTHON_PATH = re.compile(r"[\\/]python(3\.\d{1,2})[\\/](?:site|dist)-packages|[\\/]Python3(\d{1,2})[\\/]lib[\\/]", re.IGNORECASE)
SMI_GPU = re.compile(r"\|\s{1,4}(\d{1,3})\s{1,4}(\S.{0,40}?)\s{1,30}(?:On|Off|N/A)\s{0,4}\|")
SMI_MEMORY = re.compile(r"\d{1,8}MiB\s?/\s{0,6}(\d{3,8})MiB")
GPU_LABEL = re.compile(
    r"(GPUs?|NPU|XPU|显卡|硬件|Hardware|Graphics card)(\s?\d{1,3}(?=\s{0,40}[:：])|[^:：\d]{0,14})\s{0,40}[:：]\s{0,8}(?=(\S.{0,100}))",
    re.IGNORECASE,
)
GPU_WORD = re.compile(r"NVIDIA|\bGPU|RTX|GTX|Tesla|GeForce|Quadro|Ascend|\d\s?[x×*]|[x×*]\s?\d|\d\s?Gi?B?\b", re.IGNORECASE)
GPU_NUMBER = re.compile(r"(?:RTX|GTX|Tesla|Ascend|[AHVPLTB]\d|[2345]0[5-9]0)", re.IGNORECASE)
SYSTEM_NAME = re.compile(
    r"(?:microsoft\s+)?(?:ubuntu|debian|centos|windows|win\s?1[01]|win\s?server|mac\s?os|os x|linux|gnu/linux|red hat|rhel|rocky|alma"
    r"|fedora|arch linux|opensuse|suse|amazon linux|kylin|wsl|darwin)",
    re.IGNORECASE,
)
SYSTEM_ALONE = re.compile(SYSTEM_NAME.pattern + r"[\s\d.-]{0,20}(?:LTS|WSL2?)?", re.IGNORECASE)
SYSTEM_LABELS = frozenset((
    "os", "system", "operating system", "os version", "操作系统", "系统", "系统版本", "platform os", "os platform and distribution",
))  # fmt: skip
DRIVER_LABELS = frozenset((
    "nvidia driver version", "nvidia driver", "driver version", "gpu driver version", "cuda driver", "驱动版本", "显卡驱动", "显卡驱动版本",
))  # fmt: skip
NOWHERE = re.compile(r"(?:not installed|n/a|none|na)\b", re.IGNORECASE)
PATH_PARTS = ("://", "-packages", ".whl", ".tar.gz", ".py", ".so", ".json", ".yaml", ".sh")


def package_name(text: str) -> str | None:
    """The normalised name (PEP 503) of a package that reports are about, by its name or an alias; None for any other word."""
    name = normalised(text)
    name = ALIASES.get(name, name)
    return name if name in tracked() or name in _ALSO_KNOWN else None


def conda_package(name: str, version: str, build: str) -> Iterator[tuple[str, str]]:
    """The facts (name, text) that a row of ``conda list`` states.

    conda's names for torch are translated; the CUDA and cuDNN of a torch build stand in its build string
    (``py3.10_cuda12.1_cudnn8.9.2_0``, ``cuda126_generic_py310_h..._200``). Libraries that are no Python package state nothing.
    """
    plain = normalised(name)
    if plain == "python":
        yield "python", version
    elif plain in ("pytorch-cuda", "cuda-version", "cudatoolkit"):
        yield "cuda", version
    elif plain == "cudnn":
        yield "cudnn", version
    elif plain in ("pytorch", "torchtriton"):
        yield ("packages.torch" if plain == "pytorch" else "packages.triton"), version
        cuda = re.search(r"cuda(\d{1,2})\.(\d{1,2})|cuda(\d{2})(\d)", build)
        cudnn = re.search(r"cudnn(\d{1,2}(?:\.\d{1,3}){1,3})", build)
        if plain == "pytorch" and cuda:
            yield "cuda", f"{cuda[1] or cuda[3]}.{cuda[2] or cuda[4]}"
        if plain == "pytorch" and cudnn:
            yield "cudnn", cudnn[1]
        if plain == "pytorch" and re.search(r"(?:^|_)cpu_", build):
            yield "accelerator", "cpu"
    elif build in ("<pip>", "") or "py" in build or package_name(name) == plain:
        yield f"packages.{plain}", version


@lru_cache(maxsize=4096)
def normalised(text: str) -> str:
    return re.sub(r"[-_. ]+", "-", text.strip()).lower()
