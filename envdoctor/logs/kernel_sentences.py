"""Sentences of what compiles and runs kernels: triton, its assembler, the driver, and types that a device does not compute in."""

from __future__ import annotations

from envdoctor.logs.run_sentences import Sentence

KERNELS = (
    Sentence(
        r"Unsupported \.version [\d.]+; current version is|Value 'sm_\w+' is not defined for option 'gpu-name'",
        "The ptxas that assembles kernels is older than the PTX, or than the GPU, that it is given",
        "a toolkit on the PATH that is older than what triton writes, or triton's own beside a newer GPU",
        "TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas of a CUDA that knows both (on a newer GPU), else triton's own; or a later triton",
        "triton",
    ),
    # https://github.com/triton-lang/triton/issues/3001 and /4172 came to an older driver, /1246 to an older ptxas.
    Sentence(
        r"Triton Error \[CUDA\]: device kernel image is invalid|CUDA: Error- invalid image"
        r"|[Pp]rovided PTX was compiled with an unsupported toolchain",
        "The driver, or the ptxas between it and triton, does not read the kernel that triton made",
        "a driver that is older than the CUDA whose ptxas made it, or a ptxas on the PATH that is older than what triton writes",
        "a newer NVIDIA driver (nvidia-smi names the CUDA that it reads), or the triton and torch built for an older CUDA",
        "triton",
    ),
    Sentence(
        r"\"\w{3,60}\" not implemented for ['\"]Half",
        "An operation was asked of the CPU in float16, and this torch has no kernel for that",
        "the model, or one part of it, is on the CPU: no GPU was found, it was loaded there in half precision, or offloading left it there",
        "torch_dtype=torch.float32 (or bfloat16) for what runs on the CPU, or both the module and its inputs on the GPU; many of these "
        "kernels came with torch 2.2 and 2.3",
        "torch",
    ),
    # torch/amp/grad_scaler.py unscales with this kernel; VinUni-AI20k/Day21-Track3-Finetuning-Lab commit 82093ee
    Sentence(
        r"_amp_foreach_non_finite_check_and_unscale_cuda\W{1,3} not implemented for ['\"]BFloat16",
        "The scaler of fp16 training was given gradients in bfloat16: the weights that are trained are bfloat16",
        "fp16=True beside a model, or an adapter, that was loaded in bfloat16; bfloat16 needs no scaler",
        "fp16=False with bf16=True, where the GPU computes in it (Ampere and later); else torch_dtype=torch.float16 for the frozen model, "
        "and float32 for what is trained",
        "torch",
    ),
    Sentence(
        r"\"\w{3,60}\" not implemented for ['\"](?:BFloat16|Float8\w*|Bool|Long|Int|Char|Byte)",
        "An operation was asked in a type for which this torch has no kernel on that device",
        "a tensor of another type than the operation is made for, or a type that came to this operation with a later torch",
        "cast before that line (.float(), .long()), or a later torch",
        "torch",
    ),
    Sentence(
        r"shape '\[[\d, -]{1,80}\]' is invalid for input of size \d",
        "A tensor is given a shape that has not as many places as it has numbers",
        "code that was written for another model (as many key and value heads as query heads, another head size), a batch or a length that "
        "is another one than the code takes it for",
        "divide the size that the message tells by the other sides of the shape: what is left is the side that is taken for another one",
    ),
    Sentence(
        r"invalid value encountered in cast",
        "An array holds no numbers (NaN) where it is turned into whole ones, as pixels are",
        "a model or a decoder that overflows in float16: NaN goes through to the last step and only its cast shows it",
        "the model, or its VAE alone, in float32 or bfloat16",
    ),
    Sentence(
        r"DNN library is not found|Could not load dynamic library 'libcudnn|Loaded runtime CuDNN library: \S+ but source was compiled with",
        "The cuDNN that was found is not the one that this build of the framework was made with, or none was found",
        "another cuDNN on LD_LIBRARY_PATH or beside the toolkit",
        "pip install the nvidia-cudnn that it names, and unset LD_LIBRARY_PATH; python -c 'import tensorflow as tf; "
        "print(tf.sysconfig.get_build_info())' shows which it wants",
    ),
    # https://github.com/pytorch/pytorch/issues/164346 (11.0.0 on gfx1151), 132570 (10.3.0 on gfx1031); torch says it of every kernel
    # that a build lacks.
    Sentence(
        r"HIP error: (?:invalid device function|no kernel image is available)|hipErrorNoBinaryForGpu",
        "This ROCm build of torch has no kernels for the AMD GPU that it took",
        "a build lists the GPUs that it was compiled for, and newer or smaller ones (gfx1103, gfx1151, ...) came later; beside a processor "
        "with graphics of its own, that may be the GPU which was taken",
        "with two GPUs (rocminfo lists them) HIP_VISIBLE_DEVICES=1, or 0, picks the card; python -c 'import torch; "
        "print(torch.cuda.get_arch_list())' lists what the build has: a build that has this one; until then HSA_OVERRIDE_GFX_VERSION "
        "of the nearest that it has (11.0.0 for gfx1100 on gfx1103 and gfx1151, 10.3.0 for gfx1030)",
        "torch",
    ),
    # https://github.com/meta-pytorch/torchcodec/issues/795; the table of its README (pull 1096) has one torch for each release.
    Sentence(
        r"Could not run 'torchcodec_ns::\w+' with arguments from the",
        "torchcodec's library was made for another torch than the one that is there, or was not loaded",
        "each release of torchcodec is for one release of torch, as its page lists them; builds of a vendor's own, as "
        "NVIDIA's containers have "
        "them, go with none",
        "the torchcodec that its page names for this torch (a pre-release for a torch that is newer than all), or a datasets before 4 "
        "(pip install 'datasets<4'), which decodes audio without it",
        "torchcodec",
    ),
    Sentence(
        r"Could not run '(?!aten::|torchvision::|prims::|torchcodec_ns::|quantized::)(?P<space>\w+)::\w+' with arguments from the",
        "An operator of an extension has no kernel for the device that its tensors are on",
        "the library was built for the CPU alone, for another torch, or was not loaded",
        "install the extension for this torch and CUDA, or build it with CUDA_HOME set; else move the tensors to the device that it has",
    ),
)
