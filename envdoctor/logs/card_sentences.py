"""Sentences about what a GPU, its driver's library or a sharded run cannot do as it was asked: a table, for ``run_errors``."""

from __future__ import annotations

from envdoctor.logs.run_sentences import Sentence

NO_BFLOAT16 = (
    "float16 in place of bfloat16: fp16=True (and bf16=False) in the training arguments, torch_dtype=torch.float16 where the model is "
    "loaded, --dtype half for vLLM and what serves with it; where float16 overflows float32"
)

# What torch/distributed/__init__.py imports only where torch was built with it.
_OF_PROCESSES = (
    "(?:init_process_group|is_initialized|get_rank|get_world_size|group|ReduceOp|new_group|barrier|broadcast|all_reduce|all_gather"
    "|destroy_process_group|ProcessGroup|is_nccl_available)"
)
NO_DISTRIBUTED = (
    rf"module 'torch\.distributed' has no attribute '{_OF_PROCESSES}'|cannot import name '{_OF_PROCESSES}' from 'torch\.distributed'"
)

CARDS = (
    # https://github.com/pytorch/examples/issues/467, https://github.com/conda-forge/pytorch-cpu-feedstock/issues/46,
    # https://github.com/pytorch/pytorch/issues/42092, https://github.com/lightly-ai/lightly/issues/1153
    Sentence(
        NO_DISTRIBUTED,
        "This torch was built without torch.distributed, and the code asks it for a part of that",
        "some builds leave it out: torch on Windows before 1.7, conda-forge's and older ones for a Mac, and some made from source",
        "python -c 'import torch.distributed as d; print(d.is_available())' tells; a later torch from PyPI in its place, or, on one GPU or "
        "none, the option of the program that starts no processes (if torch.distributed.is_available(): around that call)",
        "torch",
    ),
    # torch/amp/autocast_mode.py asks torch.cuda.is_bf16_supported().
    Sentence(
        r"Current (?:CUDA|XPU) Device does not support bfloat16|(?:device|GPU|hardware|card) (?:does not|doesn't) support b(?:float|f)16"
        r"|[Bb](?:[Ff]loat|f)16 is not supported (?:on|by) (?:this|your|the (?:current )?)",
        "The GPU has no bfloat16, and the run asks for it",
        "bfloat16 came with compute capability 8.0 (Ampere): P100, V100, T4 and the RTX 20 have none",
        NO_BFLOAT16,
    ),
    # https://github.com/NVIDIA/cuda-python/issues/17, https://github.com/NVIDIA/cudf/issues/11573, https://github.com/microsoft/WSL/issues/8587
    Sentence(
        r"Failed to dlopen libcuda\.so|libcuda\.so cannot found|libcuda\.so(?: was)? not found",
        "The library of the NVIDIA driver, libcuda.so, is not where the program looks for it",
        "under WSL it lies in /usr/lib/wsl/lib, where dlopen does not look for that name; elsewhere the driver is "
        "missing, or a container was "
        "started without the GPUs",
        "under WSL export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH before the program starts; elsewhere "
        "nvidia-smi must work there, "
        "and a container wants --gpus all",
    ),
    # accelerate/accelerator.py, _prepare_deepspeed; https://github.com/GuHuangAI/ADM-Public/issues/5, https://github.com/huggingface/trl/issues/2388
    Sentence(
        r"When using DeepSpeed,? `?accelerate\.prepare\(\)`? requires you to pass at least one",
        "accelerate is set to DeepSpeed, and the script hands prepare() no data loader of which the batch could be read",
        "the batch of a GPU is then unknown; a script that was written without DeepSpeed often prepares its loaders apart or not at all",
        "accelerate config again and without DeepSpeed, where the script does not need it; else the loader into the same prepare() as the "
        "model, or train_micro_batch_size_per_gpu as a number in the DeepSpeed configuration",
        "accelerate",
    ),
    # https://github.com/deepspeedai/DeepSpeed/issues/3024, https://github.com/deepspeedai/DeepSpeed/pull/7211, /pull/7225:
    # deepspeed/runtime/engine.py makes this class where ZeRO-3 is given no optimizer.
    Sentence(
        r"'DeepSpeedZeRoOffload' object has no attribute '\w{2,60}'",
        "DeepSpeed ZeRO-3 was set up without an optimizer, for inference alone, and what stands in its place has no such function",
        "no optimizer was passed to deepspeed.initialize() or prepare(), and the DeepSpeed configuration names none",
        'the optimizer into the same prepare() or initialize() as the model, or an "optimizer" block in the DeepSpeed configuration (with '
        "accelerate a DummyOptim for it)",
        "deepspeed",
    ),
    # transformers/models/auto/tokenization_auto.py; https://github.com/zai-org/ChatGLM-6B/issues/37,
    # https://github.com/FlagAI-Open/Aquila2/issues/75, https://github.com/QwenLM/Qwen-VL/issues/466
    Sentence(
        r"Unrecognized configuration class .{1,300} to build an AutoTokenizer",
        "transformers found no class for the tokenizer, and went by that of the configuration, for which it knows none",
        "mostly tokenizer_config.json, or the model's own tokenization_*.py, is not there: a merged or trained model was saved without its "
        "tokenizer, or was fetched in part",
        "copy tokenizer_config.json, special_tokens_map.json, tokenizer.model (tokenizer.json, vocabulary) and tokenization_*.py of the "
        "base model into that folder, or AutoTokenizer.from_pretrained(BASE, trust_remote_code=True); with them there, the transformers of "
        "the model's day",
        "transformers",
    ),
    # https://github.com/huggingface/datasets/issues/7418, https://github.com/agiresearch/OpenP5/issues/5, https://github.com/open-compass/T-Eval/issues/61
    Sentence(
        r"cannot mix (?P<kind>list|struct) and non-(?P=kind),? non-null values",
        "One column holds values of two shapes: lists or dictionaries in some rows, and plain values in others",
        "Arrow gives a column one type; a function for map(batched=True) that is written for one row returns such a "
        "mixture, and so do records "
        "whose field is text in one and a list in the next",
        "return the same shape for every row: map without batched=True, or a function that takes lists and returns "
        "lists of one length; in a "
        "JSON file the same type for the field in all records",
        "pyarrow",
    ),
    # mlx_lm/models/llama.py of 0.16.0 wants these two keys; that of 0.16.1 reads rope_type too.
    # https://github.com/ml-explore/mlx-examples/issues/909, https://github.com/transformerlab/transformerlab-app/issues/152
    Sentence(
        r"rope_scaling must contain keys \{'(?:type|factor)', '(?:type|factor)'\}",
        "mlx-lm is older than the model, whose configuration names its rope scaling rope_type",
        "Llama 3.1 and what was made of it: mlx-lm 0.16.1 was the first that reads that key; older code of mlx-examples was copied into "
        "other programs",
        'pip install -U "mlx-lm>=0.16.1", or the program that has a copy of its models brought up to date',
        "mlx-lm",
    ),
    # torch says it in its compiled code; https://github.com/kohya-ss/sd-scripts/commit/9a4cc53
    Sentence(
        r"[Oo]nly Tensors of floating point (?:and complex )?dtype can require gradients",
        "Weights that are whole numbers (quantized, or buffers of indices) were told to be trained",
        "requires_grad_(True) over a whole model that was loaded in 4 or 8 bit, or a Parameter that is made of them without "
        "requires_grad=False",
        "requires_grad_ where p.is_floating_point() alone, and an adapter (peft, prepare_model_for_kbit_training) on a quantized model; "
        "nn.Parameter(..., requires_grad=False) for what is quantized",
        "torch",
    ),
    # https://docs.python.org/3/library/logging.html#logging.basicConfig
    Sentence(
        r"Unrecognised argument\(s\): encoding",
        "The code is for a newer Python than the one that ran: logging.basicConfig takes encoding from 3.9 on",
        "",
        "Python 3.9 or later, or leave out encoding= in that line",
        refuted=">=3.9",
    ),
    # modules/devices.py of https://github.com/openvinotoolkit/stable-diffusion-webui
    Sentence(
        r"A tensor with (?:all )?NaNs was produced",
        "The picture came out as NaN alone: half precision was too little for the Unet or the VAE of the web UI",
        "cards without fast half precision (GTX 16), checkpoints that overflow in it, a VAE that does; or a damaged checkpoint",
        "in the VAE --no-half-vae (or a VAE that was mended for half precision); in the Unet --no-half, or Upcast cross attention layer to "
        "float32 in Settings > Stable Diffusion; where it comes with one checkpoint alone, that one",
    ),
    # https://github.com/m-bain/whisperX (its README on --compute_type, and commit 064f737)
    Sentence(
        r"Requested (?:float16|bfloat16|int8_float16|int8_bfloat16) compute type, but the target device or backend do not support",
        "CTranslate2 was asked to compute in half precision on a device that has no fast kernels for it: the CPU, or an old GPU",
        "no GPU was found (device cpu), or the card is older than Volta",
        'compute_type="int8" or "float32" (WhisperModel(..., compute_type=...), whisperx --compute_type int8); with an NVIDIA GPU of Volta '
        'or later device="cuda", and a torch and CTranslate2 that see it',
        "ctranslate2",
    ),
    # gradio/blocks.py, Blocks.launch: where networking.url_ok of its own address fails
    Sentence(
        r"When localhost is not accessible, a shareable link must be created",
        "gradio started its page and could not open it itself: a proxy stands between, or the page fails with an error of its own",
        "http_proxy without exceptions, a container or a VPN; or a traceback above it in the log, which is then "
        "the cause (argument of type "
        "'bool' is not iterable: pydantic 2.11 beside an older gradio)",
        "export no_proxy=localhost,127.0.0.1,0.0.0.0 (or unset http_proxy https_proxy all_proxy) before it "
        "starts; where a traceback stands "
        'above it, mend that one: for the one of pydantic pip install "pydantic==2.10.6"; launch(share=True) where the page may be public',
        "gradio",
    ),
)  # fmt: skip

# Lines of a list of reasons, of which the message itself quotes the first ones.
REFUSED = (
    # xformers/ops/fmha/cutlass.py; https://github.com/facebookresearch/xformers/issues/1263
    Sentence(
        r"attn_bias\.stride\(-2\) % \d{1,3} != 0",
        "The rows of attn_bias do not begin at multiples of 8, as xformers' kernel for a tensor as bias wants them",
        "the sequence is no multiple of 8 long; the other kernels take no such bias, so that none is left",
        "allocate the bias with its last dimension rounded up to a multiple of 8 and cut it: torch.zeros(1, 1, M, "
        "PADDED)[:, :, :, :M], as the "
        "HINT says; or pad the sequence itself to a multiple of 8",
    ),
)
