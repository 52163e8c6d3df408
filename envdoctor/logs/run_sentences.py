"""Sentences of torch, NCCL, the loaders and others that say what happened and not why: a table, for ``run_errors``."""

from __future__ import annotations

from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as a pattern, what it means, what is behind it most often where that is not plain, and what to do; ``package`` has its
    source, and in Pythons that ``refuted`` admits it means something else. ``pins`` cure it; they may use the pattern's groups."""

    says: str
    means: str
    behind: str
    advice: str
    package: str = ""
    refuted: str = ""
    pins: tuple[tuple[str, str], ...] = ()


# What `X | Y` meets on Python 3.9 where a side is a type: a class, one of typing's own, one of another metaclass.
_A_TYPE = r"(?:type|\w{0,30}Meta(?:class)?|EnumType|types\.\w{1,20}|_?\w{0,20}GenericAlias|_SpecialForm|TypeVar|ForwardRef|NewType)"
# The sentences were looked up in torch 2.13, accelerate, transformers and safetensors, those of NCCL, CUDA, MPS and SentencePiece where
# their sources or threads quote them; what is behind each is what the threads arrived at.
SENTENCES = (
    Sentence(
        r"index out of range in self",
        "An id is not below the number of rows of the embedding",
        "a tokenizer of another model, tokens that were added to it alone, or more positions than the model has",
        "model.resize_token_embeddings(len(tokenizer)) after tokens were added, or rows cut to max_position_embeddings",
    ),
    Sentence(
        r"Target -?\d{1,9} is out of bounds|label.{0,20}(?<!none) out of (?:range|bounds)(?!: 0\b)"
        r"|Assertion `t >= 0 && t < n_classes` failed",
        "A label is not below the number of classes",
        "",
        "num_labels as many as the data has, labels that begin at 0, and -100 for what does not count",
    ),
    Sentence(
        r"stack expects each tensor to be equal size(?!, but got \[[134], \d{1,5}, \d{1,5}\])",
        "Rows of one batch have different lengths",
        "no collator pads them, or they were not cut",
        "tokenizer.pad or a DataCollatorWithPadding; truncation=True with a max_length",
    ),
    Sentence(
        r"element 0 of tensors does not require grad and does not have a grad_fn",
        "The loss depends on nothing that is trained",
        "all weights are frozen, reentrant checkpointing whose input needs no gradient, or a loss that was computed without a graph",
        "print the parameters with requires_grad; model.enable_input_require_grads() or use_reentrant=False with checkpointing",
    ),
    Sentence(
        r"Error\(s\) in loading state_dict for \w",
        "The weights that are loaded are not of this model",
        "another model or configuration, names that another release or a wrapper gave the layers, or shards that were never gathered",
        "compare the keys and shapes that the lines below the message list with model.state_dict(); save and load in the same way",
    ),
    Sentence(
        r"[Tt]rying to backward through the graph a second time",
        "The graph of one step is used in another",
        "a loss or a state that is kept, a second backward, or reentrant checkpointing of an input that two calls share",
        "detach() what is kept from step to step; gradient_checkpointing_kwargs={'use_reentrant': False}",
    ),
    Sentence(
        r"[Ee]xpected to have finished reduction in the prior iteration",
        "DDP waits for gradients of parameters that took no part in the loss",
        "",
        "freeze them, or ddp_find_unused_parameters=True; with gradient checkpointing use_reentrant=False",
    ),
    Sentence(
        r"[Ee]xpected to mark a variable ready only once|marked (?:as )?ready (?:twice|only once)",
        "A parameter gets its gradient twice in a step under DDP",
        "reentrant checkpointing, or a module that is called twice",
        "gradient_checkpointing_kwargs={'use_reentrant': False} and ddp_find_unused_parameters=False",
    ),
    Sentence(
        r"modified by an inplace operation",
        "A tensor that backward needs was changed after the forward pass",
        "+=, relu_ or an assignment into it",
        "torch.autograd.set_detect_anomaly(True) names the operation: write its result into a new tensor",
    ),
    Sentence(
        r"probability tensor contains either",
        "Sampling got logits that are no number",
        "float16 that overflowed, weights that do not fit, or a model that diverged",
        "load it in bfloat16 or float32, and look at the logits of one row",
    ),
    Sentence(
        r"Function '\w{1,60}Backward\d?' returned nan values",
        "A gradient is no number",
        "float16 that overflowed, a row of which every label is masked, or a learning rate that is too high",
        "bf16=True in place of fp16, rows with at least one label that counts, and a lower learning rate",
    ),
    Sentence(
        r"Placeholder storage has not been allocated on MPS device",
        "The model is on mps and an input is not",
        "",
        "inputs = inputs.to(model.device)",
    ),
    Sentence(
        r"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long",
        "Ids came as floats, as an empty list or a division makes them",
        "",
        "ids.long(), and no empty rows",
    ),
    Sentence(
        r"Expected input batch_size \(\d{1,9}\) to match target batch_size",
        "Logits and labels are of different shapes",
        "labels of another task, or a shift or a mask that only one of them got",
        "labels of the shape that the model's task wants, one to a row or one to a token",
    ),
    Sentence(
        r"unable to find an engine to execute this computation|Unable to find a valid cuDNN algorithm"
        r"|CUDNN_STATUS_(?:NOT_INITIALIZED|INTERNAL_ERROR|EXECUTION_FAILED|MAPPING_ERROR|SUBLIBRARY_VERSION_MISMATCH)"
        r"|cudnn_frontend\] Error|No execution plans support the graph|No valid execution plans built",
        "cuDNN failed, and its status does not say why",
        "the GPU is nearly full or newer than the CUDA that torch was built for, another cuDNN than torch's own is loaded, or the type and "
        "shape are none that it knows",
        "unset LD_LIBRARY_PATH, and pip install the nvidia-cudnn that torch requires; a smaller batch shows whether memory is short, and "
        "python -c 'import torch; print(torch.cuda.get_arch_list(), torch.cuda.get_device_capability())' whether torch knows the GPU",
        "torch",
    ),
    Sentence(
        r"CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|INVALID_VALUE|NOT_SUPPORTED|ARCH_MISMATCH)",
        "A matrix product failed",
        "an index that was out of range before it, another cuBLAS than torch's own, or bfloat16 on a GPU that has none",
        "CUDA_LAUNCH_BLOCKING=1 shows where it began; unset LD_LIBRARY_PATH rules out another cuBLAS",
        "torch",
    ),
    Sentence(
        r"an illegal memory access was encountered|unspecified launch failure|misaligned address",
        "A kernel read or wrote where it may not, and the traceback ends at a later call",
        "mostly a compiled extension (flash-attn, xformers, bitsandbytes, triton) of another release, or an index out of range",
        "CUDA_LAUNCH_BLOCKING=1 shows which kernel it is",
        "torch",
    ),
    Sentence(
        r"nvrtc: error: invalid value for --gpu-architecture|nvrtc compilation failed",
        "The CUDA that torch was built for does not know this GPU",
        "",
        "a torch for a later CUDA: the RTX 40 and H100 need 11.8, the RTX 50 needs 12.8",
        "torch",
    ),
    Sentence(
        r"'(?:Distributed)?DataParallel' object has no attribute",
        "The model is wrapped for several GPUs, and what it has itself is behind .module",
        "",
        "model.module in place of model for it (model.module.config, model.module.generate(...)), or accelerator.unwrap_model(model)",
    ),
    Sentence(
        r"'type' object is not subscriptable",
        "The code is for a newer Python than the one that ran: list[int] as a type needs 3.9",
        "",
        "Python 3.9 or later, or from __future__ import annotations where it is only an annotation",
        refuted=">=3.9",
    ),
    Sentence(
        rf"unsupported operand type\(s\) for \|: (?:'{_A_TYPE}' and '(?:{_A_TYPE}|NoneType)'|'(?:\w{{1,40}}|typing\.\w+)' and 'NoneType'"
        rf"|'NoneType' and '{_A_TYPE}'|'\w{{1,40}}' and 'type')",
        "The code is for a newer Python than the one that ran: X | Y as a type needs 3.10",
        "",
        "Python 3.10 or later, or from __future__ import annotations where it is only an annotation",
        refuted=">=3.10",
    ),
    Sentence(
        r"bf16 mixed precision requires PyTorch >= 1\.10 and a supported device",
        "accelerate asked whether the device computes in bfloat16, and it does not",
        "a GPU before Ampere (T4, V100, RTX 20), a torch that sees no GPU, or MPS",
        "mixed_precision=fp16, or no mixed precision",
        "accelerate",
    ),
    Sentence(
        r"Cannot re-initialize CUDA in forked subprocess",
        "A process was forked after CUDA was used",
        "",
        'torch.multiprocessing.set_start_method("spawn"), for vLLM VLLM_WORKER_MULTIPROC_METHOD=spawn, and no use of a GPU before',
    ),
    Sentence(
        r"nvcc fatal\s{0,3}: (?:Unsupported gpu architecture 'compute_\d{2,3}|Value 'compute_\d{2,3}a?' is not defined)",
        "The nvcc that compiles does not know the architecture of this GPU",
        "CUDA 10.0 is the first for 7.5, 11.0 for 8.0, 11.1 for 8.6, 11.8 for 8.9 and 9.0, 12.8 for 10.0 and 12.0",
        "CUDA_HOME of such a toolkit (nvcc -V tells); or, as code for 8.0 runs on 8.6 and 8.9, TORCH_CUDA_ARCH_LIST=8.0 before the build",
    ),
    Sentence(
        r"Trying to set a tensor of shape torch\.Size",
        "A weight of the checkpoint has another shape than the model",
        "tokens were added when it was saved, or it is of another model, configuration or quantisation",
        "the configuration that was saved with the weights; model.resize_token_embeddings(ROWS) first where tokens were added",
    ),
    Sentence(
        r"Image features and image tokens do not match",
        "The text has other places for the image than the processor makes of it",
        "input_ids were cut, the processor is of another release or size than the model, or the image token stands in the text twice",
        "no max_length that cuts the image's tokens, and the processor that came with the model",
        "transformers",
    ),
    Sentence(
        r"CUDA-capable device\(s\) is/are busy",
        "Another process holds the GPU, or it is in exclusive mode",
        "",
        "nvidia-smi shows who holds it; nvidia-smi -c 0 ends the exclusive mode",
    ),
    Sentence(
        r"Duplicate GPU detected",
        "Two processes of the run use one GPU",
        "",
        "torch.cuda.set_device(local_rank) before the first use, or fewer processes",
    ),
    Sentence(
        r"device_ids and output_device arguments only work",
        "A model that lies on several devices is wrapped in DistributedDataParallel",
        "device_map, or a pipeline over several GPUs",
        "start one process, or give each its own GPU: device_map={'': local_rank}",
    ),
    Sentence(
        r"size of tensor [ab] \(0\)|shape torch\.Size\(\[0\]\)",
        "A weight has no rows here: it is sharded and was not gathered, or never loaded",
        "ZeRO-3 and FSDP keep a share of each weight in each process",
        "deepspeed.zero.GatheredParameters around the code that reads it",
    ),
    Sentence(
        r"Conversation roles must alternate",
        "The chat template of this model wants user and assistant in turn",
        "mostly without a system message",
        "put the system message into the first user message, and join two of one role",
    ),
    Sentence(
        r"could not parse ModelProto|sentencepiece_processor\.cc",
        "The file of the SentencePiece model (tokenizer.model) is cut, empty, a pointer of git-lfs, or of another kind",
        "",
        "fetch it again: hf download MODEL tokenizer.model",
        "sentencepiece",
    ),
    Sentence(
        r"--tf32 requires Ampere|`?--?tf32`? requires",
        "TF32 is asked of a GPU that has none: it came with compute capability 8.0 (A100, RTX 30)",
        "",
        "tf32=False",
        "transformers",
    ),
    Sentence(
        r"Target module \w+\(.{0,200}?\) is not supported",
        "LoRA is asked for a module of a kind that it has no layer for",
        "target_modules, or the expression that stands for them, matches more than linear layers",
        'target_modules="all-linear", or the names of linear layers with what else they match in exclude_modules',
        "peft",
    ),
    Sentence(
        r"The following `?model_kwargs`? are not used by the model",
        "generate() is given arguments that the model's forward does not take",
        "code of another release: transformers refuses since 4.22 what it had passed over",
        "leave out what the message lists; or the transformers that the code was written for",
        "transformers",
    ),
    Sentence(
        r"max seq len \(\d+\) is larger than the maximum number of tokens that can be stored in (?:the )?KV cache"
        r"|larger than the available KV cache memory|No available memory for the cache blocks",
        "The memory that vLLM has left for its cache does not hold one row of the model's full length",
        "",
        "a smaller max_model_len, a larger gpu_memory_utilization, or fewer weights on the card (quantized, tensor_parallel_size)",
        "vllm",
    ),
    Sentence(
        r"Engine (?:core initialization|process) failed|[Ee]ngine core proc(?:ess)? .{0,40}died|EngineDeadError",
        "The process of vLLM's engine ended, and its own error stands above this one",
        "",
        "read, and paste, the lines of that process (EngineCore) from its first traceback on",
        "vllm",
    ),
    Sentence(
        r"no kernel found to launch",
        "No attention kernel is built for this GPU, this type or this head size",
        "",
        'bfloat16 or float16 in place of float32, attn_implementation="eager", or an xformers built for this torch',
        "torch",
    ),
    Sentence(
        r"[Cc]annot find a working triton installation|TritonMissing|triton.{0,20}is not (?:installed|available)",
        "torch.compile wants triton, which is not there or does not fit torch",
        "",
        "install the triton that torch requires (on Windows triton-windows), or do not compile: TORCHDYNAMO_DISABLE=1",
        "triton",
    ),
    Sentence(
        r"dispatched on the CPU or the disk",
        "The quantised model does not fit on the GPUs that it may use, and bitsandbytes computes on no CPU",
        "",
        "free the GPU, give max_memory or fewer bits, or llm_int8_enable_fp32_cpu_offload=True with layers on the CPU",
        "transformers",
    ),
    Sentence(
        r"Could not find (?:a|the) transformer layer class",
        "FSDP wraps by the name of a layer class, and the model has none of that name",
        "",
        "fsdp_transformer_layer_cls_to_wrap: the class of this model's decoder layer",
        "accelerate",
    ),
    Sentence(
        r"invalid device ordinal",
        "The run asks for a GPU that it does not see",
        "",
        "no more processes than GPUs, and a CUDA_VISIBLE_DEVICES that shows them all",
    ),
    Sentence(
        r"[Nn]o CUDA GPUs are available|Found no NVIDIA driver|CUDA driver initialization failed|CUDA unknown error",
        "torch is built for CUDA and no GPU is visible",
        "no driver here, a container without its GPUs, CUDA_VISIBLE_DEVICES that names none, or a driver that was replaced since the start",
        "nvidia-smi in the same place shows what is there; docker run --gpus all; a restart after a new driver",
    ),
    Sentence(
        r"(?:[Ee]rror 802|CUDA error): system not yet initialized",
        "The GPUs hang on NVSwitch and its fabric manager does not run",
        "",
        "start nvidia-fabricmanager, of the driver's own version",
    ),
    Sentence(
        r"unhandled (?:system|cuda) error|NCCL error in:.{0,200}(?:remote process|internal error)|ncclSystemError|ncclInternalError",
        "NCCL gave up",
        "little shared memory in a container, GPUs that cannot reach each other, two processes on one GPU, or a driver older than CUDA",
        "NCCL_DEBUG=INFO says why; --ipc=host for a container; NCCL_P2P_DISABLE=1 or NCCL_IB_DISABLE=1 for GPUs out of reach",
        "torch",
    ),
    Sentence(
        r"TCPStore|connect\(\) timed out|Socket Timeout|RendezvousTimeoutError|DistStoreError",
        "A process did not come to the meeting",
        "it failed before, asks at another address or port, or a firewall stands between the nodes",
        "read the other processes' logs, and compare MASTER_ADDR and MASTER_PORT",
    ),
    Sentence(
        r"DataLoader worker \(pid\(?s?\)? [\d, ]{1,40}\) is killed by signal",
        "A worker that loads data was ended",
        "the container's shared memory or the machine's memory was full",
        "dataloader_num_workers=0 shows the error itself; fewer workers, or --shm-size=8g for a container",
    ),
    Sentence(
        r"DataLoader worker \(pid\(?s?\)? [\d, ]{1,40}\) exited unexpectedly",
        "A worker that loads data ended by itself or was ended",
        "an error of its own, which stands above or is not printed; on Windows and macOS a script without if __name__ == '__main__'; or "
        "the machine's memory or a container's shared memory was full",
        "num_workers=0 shows the error itself; where that runs, fewer workers, or --shm-size=8g for a container",
    ),
    Sentence(
        r"No inf checks were recorded for this optimizer",
        "The scaler of float16 found no gradient to look at",
        "nothing that the optimizer has took part in the loss: all of it is frozen, or the optimizer was made before the adapters",
        "model.print_trainable_parameters() before the Trainer is made, and an optimizer over what is trained",
    ),
    Sentence(
        r"\['ninja', '-v'\]' returned non-zero",
        "A compiled extension could not be built when it was first used",
        "the compiler's own words stand above: a toolkit of another CUDA than torch's, a gcc that nvcc does not take, or too little memory",
        "read the first line with 'error:' above it; CUDA_HOME of the release of torch.version.cuda, and MAX_JOBS=2",
    ),
    Sentence(
        r"Expecting value: line 1 column 1 \(char 0\)",
        "A text that is to be JSON is empty, or something else",
        "an empty or cut file, a pointer of git-lfs, a page of a proxy in place of an answer, or a file of JSON lines",
        "look at the file that the frame above opens, and fetch it again",
    ),
    Sentence(
        r"[Tt]he size of tensor a \([1-9]\d{0,7}\) must match the size of tensor b \([1-9]"
        r"|[Tt]he expanded size of the tensor \(\d{1,7}\) must match the existing size \(\d{1,7}\)",
        "Two tensors of one operation are of different sizes",
        "a mask or positions that are longer than the model's, weights of another model, or a patched attention of another release",
        "cut the rows to max_position_embeddings, and take the code, the weights and the releases that belong together",
    ),
    Sentence(
        r"Must flatten tensors with uniform dtype",
        "FSDP joins the weights of a layer into one tensor, and these are of two dtypes",
        "an adapter in another dtype than its base, or a quantized base whose storage is not of the dtype of the rest",
        "load all in one dtype (torch_dtype, and for 4 bits the same bnb_4bit_quant_storage), and cast the adapter to it",
    ),
    Sentence(
        r"Trying to resize storage that is not resizable",
        "A tensor that is a view of something else is to be given another size",
        "rows of unequal length that a collator stacks, or a checkpoint of a sharded run that holds no whole weights",
        "pad the rows to one length; with num_workers=0 the collator shows itself. Under FSDP or ZeRO-3 save the full state and load that",
    ),
    Sentence(
        r"tokenization mismatch: \d{1,7} vs\. \d{1,7}",
        "The rounds of a conversation do not add up to its tokens, and the whole row is left out of the loss",
        "a conversation template of another model than the tokenizer, or a tokenizer of a release that counts its special tokens otherwise",
        "take the template that the model was made with (--version, --conv-mode), and the transformers that the project names",
    ),
    Sentence(
        r"Error while deserializing header|invalid load key(?!, '[v<]')|PytorchStreamReader failed|central directory|"
        r"Unable to load weights from pytorch checkpoint file",
        "The file of weights is cut, damaged or only a pointer of git-lfs",
        "its size against that on the hub tells",
        "fetch it again: hf download MODEL --force-download, or git lfs pull where it was cloned",
    ),
    Sentence(
        r"operator 'aten::[\w.]+' is not current(?:ly)? implemented for the MPS device",
        "This torch has no kernel of that operator for Apple's GPUs",
        "",
        "PYTORCH_ENABLE_MPS_FALLBACK=1 computes it on the CPU; or a later torch",
        "torch",
    ),
)
