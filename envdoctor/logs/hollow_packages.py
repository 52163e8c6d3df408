"""Packages that are there and have not what is imported from them: releases without their module, builds without their compiled part."""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.masks import write
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import holds, places
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.asked import ATTRIBUTE
from envdoctor.logs.statements import MissingAttribute, MissingName
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import place_of
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

_OF_FILE = re.compile(r"(?P<top>[A-Za-z_]\w{1,40})/[\w/]{0,100}\w{1,60}\.py")

# Packages whose release on the package index holds no module of their name: the source distribution of pyairports 0.0.1.
HOLLOW = {"pyairports": "install pyairports from its repository (github.com/ozeliger/pyairports), or outlines >=0.1, which does without"}
# Compiled parts that some builds of a package leave out. https://github.com/XLearning-SCU/2022-CVPR-AirNet/issues/5 and
# https://github.com/open-mmlab/mmdetection/issues/3272, and mmcv's own page on its installation.
UNBUILT: dict[str, tuple[str, str]] = {
    "mmcv._ext": (
        "mmcv is here without its compiled operators: mmcv 1.x is the build without them (mmcv-full has them), in 2.x mmcv-lite is, and "
        "what was built from source without a compiler has none either",
        "pip uninstall mmcv mmcv-lite mmcv-full, then mmcv-full (1.x) or mmcv (2.x) as a wheel for this torch and CUDA: "
        "mim install mmcv-full, mim install mmcv",
    ),
    # https://github.com/NVIDIA/apex/issues/499
    **dict.fromkeys(
        (
            "fused_layer_norm_cuda",
            "amp_C",
            "apex_C",
            "syncbn",
            "fused_weight_gradient_mlp_cuda",
            "scaled_upper_triang_masked_softmax_cuda",
            "scaled_masked_softmax_cuda",
            "fused_dense_cuda",
            "fast_layer_norm",
        ),
        (
            "a compiled part of apex, which a plain pip install leaves out: apex is not here, or was built without its CUDA extensions",
            "in a clone of https://github.com/NVIDIA/apex: pip install -v --no-build-isolation --no-cache-dir --config-settings "
            '"--build-option=--cpp_ext" --config-settings "--build-option=--cuda_ext" . (in states of 2025 and later '
            "APEX_CPP_EXT=1 APEX_CUDA_EXT=1 before it), with nvcc of torch.version.cuda",
        ),
    ),
    # setup.py of each of them; https://github.com/Dao-AILab/flash-attention, its folder csrc
    **{
        module: (
            f"a compiled part of {package}, which is not here, or was built for another Python or without nvcc",
            f"pip install --force-reinstall --no-deps --no-cache-dir --no-build-isolation {package}",
        )
        for module, package in (
            ("flash_attn_2_cuda", "flash-attn"),
            ("selective_scan_cuda", "mamba-ssm"),
            ("causal_conv1d_cuda", "causal-conv1d"),
            ("exllama_kernels", "auto-gptq"),
            ("exllamav2_kernels", "auto-gptq"),
            ("autogptq_cuda_64", "auto-gptq"),
            ("autogptq_cuda_256", "auto-gptq"),
            ("awq_ext", "autoawq-kernels"),
            ("awq_inference_engine", "autoawq-kernels"),
        )
    },
    # Their README and csrc/: parts of flash-attention's repository that its wheel does not bring.
    **{
        module: (
            f"a part of flash-attention's repository that is built by itself (csrc/{folder}): flash-attn does not bring it",
            f"pip install --no-build-isolation 'git+https://github.com/Dao-AILab/flash-attention.git#subdirectory=csrc/{folder}'",
        )
        for module, folder in (
            ("rotary_emb", "rotary"),
            ("dropout_layer_norm", "layer_norm"),
            ("xentropy_cuda_lib", "xentropy"),
            ("fused_dense_lib", "fused_dense_lib"),
        )
    },
}
# What projects call their compiled modules: https://github.com/nerfstudio-project/nerfstudio/issues/2685 (gsplat.csrc).
_COMPILED = re.compile(r"_C|_?ext|_?csrc|_?cuda(?:_\w+)?|\w+_(?:C|ext|cuda|cpp|csrc)")


def judge_unbuilt(one: MissingName, failure: Failure) -> Hit | None:
    """A package whose own file imports the compiled part that it does not have; None for packages whose releases tell better."""
    last, top = failure.frames[-1] if failure.frames else None, one.module.partition(".")[0]
    if last is None or not top or last.package != top or not _COMPILED.fullmatch(one.name) or open_package(package_of(top)) is not None:
        return None
    package = package_of(top)
    return Hit(
        "error-name-missing",
        True,
        detail=f"{place_of(last)} imports {one.name} of {one.module}, which is what its build makes: it was installed without a compiler "
        "or nvcc, was built for another Python or torch, or is compiled now, as it is first used (then what follows says why it failed)",
        packages=(package,),
        edge=f"{package}:{one.module}.{one.name}:unbuilt",
        headline=f"The compiled part of {package} ({one.name}) is not there",
        advice=f"a wheel of {package} for this torch, CUDA and Python; else with the CUDA toolkit that torch was built for (CUDA_HOME, "
        f"nvcc --version) and a gcc that it takes: pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps {package}",
    )


# https://github.com/unslothai/unsloth/issues/460: the wheels of triton on the package index are for Linux.
_TRITON = (
    "triton on the package index is for Linux alone, and what imports it here was written for that",
    "pip install triton-windows, in the release for this torch (its page lists them), or the run under WSL2",
)


def part_of(module: str, facts: Facts) -> tuple[str, str] | None:
    """What a module is that no install brings by itself, and how one comes to it; None where it is an ordinary one."""
    return _TRITON if module == "triton" and facts.value("os") == "windows" else UNBUILT.get(module)


def judge_without_cuda(one: MissingAttribute, failure: Failure, facts: Facts) -> Hit | None:
    """A name of torch's compiled part that its builds with CUDA have (torch/csrc/cuda/Module.cpp), unless the stated release has none.

    https://github.com/unslothai/unsloth-zoo/pull/1064
    """
    bound = open_package("torch")
    told = look_up(f"torch._C:{one.name}") if one.module == "torch._C" and one.name.startswith("_cuda_") else None
    if bound is None or told is None or not told.there:
        return None
    volume, stated = bound.volume, facts.value("packages.torch")
    if isinstance(stated, Exact) and not holds(told.there, places(volume, stated.text)):
        return None
    tops = [package_of(found["top"]) for found in _OF_FILE.finditer(failure.near)]
    asking = next((name for name in (*map(package_of, failure.packages), *tops) if name in listed() and name != "torch"), "")
    who = f", and {asking} runs its code for CUDA" if asking else ""
    since = "" if isinstance(stated, Exact) else f", or one that is not of {write(told.there, volume.releases)}"
    return Hit(
        ATTRIBUTE,
        True,
        detail=f"torch._C has {one.name} in builds with CUDA: a torch for the CPU alone is there (or for another accelerator){since}{who}",
        packages=tuple(name for name in (asking, "torch") if name),
        edge=f"{asking or 'code'}:torch._C.{one.name}",
        headline=f"{asking or 'What runs'} does not fit the torch that is there: its compiled part has no CUDA",
        advice=f"install torch for CUDA by its own index, or the {asking or 'package that asks'} that fits the torch that is there: "
        "python -c 'import torch; print(torch.__version__, torch.version.cuda)' tells which it is",
    )
