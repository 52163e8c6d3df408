"""Errors of a run that say what happened and not why: for each what it means, and what is behind it most often.

They are torch's, NCCL's and the loaders' own sentences, the same in all releases. No release is accused of them.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure
from envdoctor.records import dataclass
from envdoctor.world.import_names import package_of

RUN = "error-of-the-run"
_HAND_ON = frozenset(("torch", "accelerate", "peft"))


@dataclass(frozen=True, slots=True)
class _Known:
    says: re.Pattern[str]
    means: str
    package: str = ""
    refuted: str = ""


# The sentences were looked up in torch 2.13, accelerate, transformers and safetensors, those of NCCL, CUDA, MPS and SentencePiece where
# their sources or threads quote them; what is behind each is what the threads arrived at.
# Pythons in which a sentence means something else.
_SINCE = {
    r"'type' object is not subscriptable": ">=3.9",
    r"unsupported operand type\(s\) for \|: '\w{1,40}' and '(?:NoneType|type)'": ">=3.10",
}
_KNOWN = tuple(
    _Known(re.compile(says), means, package, _SINCE.get(says, ""))
    for says, means, package in (
        (
            r"index out of range in self",
            "an id is not below the number of rows of the embedding: a tokenizer of another model, tokens that were added without "
            "resize_token_embeddings, or more positions than the model has",
            "",
        ),
        (
            r"Target -?\d{1,9} is out of bounds|label.{0,20} out of (?:range|bounds)|Assertion `t >= 0 && t < n_classes` failed",
            "a label is not below the number of classes: num_labels, labels that do not begin at 0, or padding that is not -100",
            "",
        ),
        (
            r"[Tt]rying to backward through the graph a second time",
            "the graph of one step is used in another: a loss or a state that is kept (detach() it), a second backward without "
            "retain_graph=True, or reentrant checkpointing of an input that two calls share",
            "",
        ),
        (
            r"[Ee]xpected to have finished reduction in the prior iteration",
            "DDP waits for gradients of parameters that took no part in the loss: freeze them, ddp_find_unused_parameters=True, or with "
            "gradient checkpointing use_reentrant=False",
            "",
        ),
        (
            r"[Ee]xpected to mark a variable ready only once|marked (?:as )?ready (?:twice|only once)",
            "a parameter gets its gradient twice in a step under DDP: with gradient checkpointing use_reentrant=False and "
            "ddp_find_unused_parameters=False; else a module that is called twice",
            "",
        ),
        (
            r"modified by an inplace operation",
            "a tensor that backward needs was changed after the forward pass: +=, relu_ or an assignment into it; "
            "torch.autograd.set_detect_anomaly(True) names the operation",
            "",
        ),
        (
            r"probability tensor contains either",
            "sampling got logits that are no number: float16 that overflowed, weights that do not fit, or a model that diverged; load it "
            "in bfloat16 or float32, and look at the logits of one row",
            "",
        ),
        (
            r"Placeholder storage has not been allocated on MPS device",
            "the model is on mps and an input is not: inputs.to(model.device)",
            "",
        ),
        (
            r"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long",
            "ids came as floats, as an empty list or a division makes them: ids.long(), and no empty rows",
            "",
        ),
        (
            r"Expected input batch_size \(\d{1,9}\) to match target batch_size",
            "logits and labels are of different shapes: labels of another task, or a shift or a mask that only one of them got",
            "",
        ),
        (
            r"unable to find an engine to execute this computation|Unable to find a valid cuDNN algorithm"
            r"|CUDNN_STATUS_(?:NOT_INITIALIZED|INTERNAL_ERROR|EXECUTION_FAILED|MAPPING_ERROR|SUBLIBRARY_VERSION_MISMATCH)"
            r"|cudnn_frontend\] Error|No execution plans support the graph|No valid execution plans built",
            "cuDNN found no way to compute it: the GPU is nearly full, another cuDNN than torch's own is loaded (nvidia-cudnn of another "
            "release, or one on LD_LIBRARY_PATH), or the type and shape are none that it knows",
            "torch",
        ),
        (
            r"CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|INVALID_VALUE|NOT_SUPPORTED|ARCH_MISMATCH)",
            "a matrix product failed: an index that was out of range before it (CUDA_LAUNCH_BLOCKING=1 shows where), another cuBLAS on "
            "LD_LIBRARY_PATH than torch's own (unset it), or bfloat16 on a GPU that has none",
            "torch",
        ),
        (
            r"an illegal memory access was encountered|unspecified launch failure|misaligned address",
            "a kernel read or wrote where it may not, and the traceback ends at a later call: CUDA_LAUNCH_BLOCKING=1 shows which; mostly a "
            "compiled extension (flash-attn, xformers, bitsandbytes, triton) of another release, or an index out of range",
            "torch",
        ),
        (
            r"nvrtc: error: invalid value for --gpu-architecture|nvrtc compilation failed",
            "the CUDA that torch was built for does not know this GPU: a torch for a later CUDA (the RTX 40 and H100 need 11.8, the RTX 50 "
            "12.8)",
            "torch",
        ),
        (
            r"'(?:Distributed)?DataParallel' object has no attribute",
            "the model is wrapped for several GPUs: what it has itself is behind .module (model.module.generate), or take "
            "accelerator.unwrap_model(model)",
            "",
        ),
        (
            r"'type' object is not subscriptable",
            "list[int] and dict[str, int] as types need Python 3.9: the code is for a newer Python than the one that ran",
            "",
        ),
        (
            r"unsupported operand type\(s\) for \|: '\w{1,40}' and '(?:NoneType|type)'",
            "X | None as a type needs Python 3.10: the code is for a newer Python than the one that ran",
            "",
        ),
        (
            r"bf16 mixed precision requires PyTorch >= 1\.10 and a supported device",
            "accelerate asked whether the device computes in bfloat16, and it does not: a GPU before Ampere (T4, V100, RTX 20), a torch "
            "that sees no GPU, or MPS: float16, or no mixed precision",
            "accelerate",
        ),
        (
            r"Cannot re-initialize CUDA in forked subprocess",
            "a process was forked after CUDA was used: start workers by spawn (torch.multiprocessing.set_start_method, for vLLM "
            "VLLM_WORKER_MULTIPROC_METHOD=spawn), and touch no GPU before",
            "",
        ),
        (
            r"nvcc fatal\s{0,3}: Unsupported gpu architecture 'compute_\d{2,3}",
            "the nvcc that compiles does not know the architecture of this GPU: CUDA 11.8 is the first for compute_89 and compute_90, "
            "12.8 for compute_100 and compute_120; set CUDA_HOME to a newer toolkit, or fewer architectures in TORCH_CUDA_ARCH_LIST",
            "",
        ),
        (
            r"Trying to set a tensor of shape torch\.Size",
            "a weight of the checkpoint has another shape than the model: tokens were added when it was saved (resize_token_embeddings "
            "first), or it is of another model, configuration or quantisation",
            "",
        ),
        (
            r"Image features and image tokens do not match",
            "the text has other places for the image than the processor makes of it: input_ids were cut (max_length), the processor is of "
            "another release or size than the model, or the image token stands in the text twice",
            "transformers",
        ),
        (
            r"CUDA-capable device\(s\) is/are busy",
            "another process holds the GPU, or it is in exclusive mode (nvidia-smi -c 0), or an earlier process died on it: nvidia-smi "
            "shows who",
            "",
        ),
        (
            r"Duplicate GPU detected",
            "two processes of the run use one GPU: torch.cuda.set_device(local_rank) before the first use, or fewer processes",
            "",
        ),
        (
            r"device_ids and output_device arguments only work",
            "a model that lies on several devices (device_map, pipeline) is wrapped in DistributedDataParallel: start one process, "
            "or give each its own GPU (device_map={'': local_rank})",
            "",
        ),
        (
            r"size of tensor [ab] \(0\)|shape torch\.Size\(\[0\]\)",
            "a weight has no rows here: it is sharded (ZeRO-3, FSDP) and was not gathered: deepspeed.zero.GatheredParameters around "
            "the code that reads it, or it was never loaded",
            "",
        ),
        (
            r"Conversation roles must alternate",
            "the chat template of this model wants user and assistant in turn, mostly without a system message: put it into the first user "
            "message, and join two of one role",
            "",
        ),
        (
            r"could not parse ModelProto|sentencepiece_processor\.cc",
            "the file of the SentencePiece model (tokenizer.model) is cut, empty or a pointer of git-lfs, or of another kind: fetch "
            "it again",
            "sentencepiece",
        ),
        (
            r"no kernel found to launch",
            "no attention kernel is built for this GPU, this type or this head size: float16 or bfloat16 in place of float32, another "
            'attn_implementation ("eager"), or an xformers built for this torch',
            "torch",
        ),
        (
            r"[Cc]annot find a working triton installation|TritonMissing|triton.{0,20}is not (?:installed|available)",
            "torch.compile wants triton, which is not there or does not fit torch: install the one that torch names (on Windows "
            "triton-windows), or do not compile (TORCHDYNAMO_DISABLE=1)",
            "triton",
        ),
        (
            r"dispatched on the CPU or the disk",
            "the quantised model does not fit on the GPUs that it may use, and bitsandbytes computes on no CPU: free the GPU, give "
            "max_memory or fewer bits, or keep some layers on the CPU with llm_int8_enable_fp32_cpu_offload=True",
            "transformers",
        ),
        (
            r"Could not find (?:a|the) transformer layer class",
            "FSDP wraps by the name of a layer class, and the model has none of that name: fsdp_transformer_layer_cls_to_wrap is to be the "
            "class of this model's decoder layer",
            "accelerate",
        ),
        (
            r"invalid device ordinal",
            "the run asks for a GPU that it does not see: more processes than GPUs, or CUDA_VISIBLE_DEVICES hides some",
            "",
        ),
        (
            r"[Nn]o CUDA GPUs are available|Found no NVIDIA driver|CUDA driver initialization failed|CUDA unknown error",
            "torch is built for CUDA and no GPU is visible: no driver here, a container without --gpus all, CUDA_VISIBLE_DEVICES that "
            "names none, or a driver that was replaced since the machine started",
            "",
        ),
        (
            r"(?:[Ee]rror 802|CUDA error): system not yet initialized",
            "the GPUs hang on NVSwitch and its fabric manager does not run: nvidia-fabricmanager of the driver's own version",
            "",
        ),
        (
            r"unhandled (?:system|cuda) error|NCCL error in:.{0,200}(?:remote process|internal error)|ncclSystemError|ncclInternalError",
            "NCCL gave up, and NCCL_DEBUG=INFO says why: a small /dev/shm in a container (--ipc=host or --shm-size), GPUs that cannot "
            "reach each other (NCCL_P2P_DISABLE=1, NCCL_IB_DISABLE=1, NCCL_SOCKET_IFNAME), two processes on one GPU, or a driver older "
            "than the CUDA of torch",
            "torch",
        ),
        (
            r"TCPStore|connect\(\) timed out|Socket Timeout|RendezvousTimeoutError",
            "a process did not come to the meeting: it failed before (its own log says why), another address or port (MASTER_ADDR, "
            "MASTER_PORT), or a firewall between the nodes",
            "",
        ),
        (
            r"DataLoader worker \(pid\(?s?\)? [\d, ]{1,40}\) (?:is killed by signal|exited unexpectedly)",
            "a worker that loads data was ended: /dev/shm or the machine's memory was full; fewer workers (dataloader_num_workers=0 shows "
            "the error itself), or --shm-size of the container",
            "",
        ),
        (
            r"Error while deserializing header|invalid load key|PytorchStreamReader failed|central directory|"
            r"Unable to load weights from pytorch checkpoint file",
            "the file of weights is cut, damaged or only a pointer of git-lfs: its size against that on the hub tells; fetch it again "
            "(hf download), with git-lfs installed where it was cloned",
            "",
        ),
    )
)  # fmt: skip


def judge_known(failure: Failure, facts: Facts) -> Hit | None:
    """What an error of the run means; None where it is none of those that are known."""
    found = next((one for one in _KNOWN if one.says.search(failure.told)), None)
    python = facts.value("python")
    if found is None or (found.refuted and isinstance(python, Exact) and admits(found.refuted, python)):
        return None
    at = next((frame for frame in reversed(failure.frames) if frame.package and frame.package not in _HAND_ON), None)
    where = f"; in {at.module or at.package}{f', {at.function}' if at.function else ''}" if at is not None else ""
    owner = found.package or (package_of(at.package) if at is not None and at.package != "transformers_modules" else "")
    edge = f"{owner or 'code'}:{found.says.pattern[:60]}"
    return Hit(RUN, True, (), detail=found.means + where, packages=(owner,) if owner else (), edge=edge)
