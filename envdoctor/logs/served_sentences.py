"""Sentences of vLLM over what it was told to serve, and with how much: the same in many releases, each a setting of the user's."""

from __future__ import annotations

from envdoctor.logs.run_sentences import Sentence

# Wordings as vLLM raises them (vllm/config, v1/worker, model_executor, lora); what is behind each is what its message and threads say.
SERVING = (
    # https://github.com/baichuan-inc/Baichuan-M1-14B/issues/8; default_weight_loader of vllm/model_executor/model_loader/weight_utils.py
    Sentence(
        r"Attempted to load weight \(torch\.Size\(\[[\d, ]{0,60}\]\)\) into parameter",
        "A weight of the checkpoint has another shape than vLLM made room for",
        "a tensor_parallel_size that the code of this model does not cut by, a quantized or merged checkpoint, or a vllm whose code is for "
        "another state of the model",
        "tensor_parallel_size=1 shows whether it is the cut; else the vllm (or the fork) that the model's page names",
        "vllm",
    ),
    Sentence(
        r"LoRA rank \d+ is greater than max_lora_rank",
        "The adapter has a higher rank than vLLM was started for: max_lora_rank is 16 unless it is set",
        "",
        "max_lora_rank (--max-lora-rank) of the adapter's r, or the next that vLLM takes: 8, 16, 32, 64, 128, 256",
        "vllm",
    ),
    Sentence(
        r"Total number of attention heads \(\d+\) must be divisible by tensor parallel size",
        "The attention heads of this model do not divide by the number of GPUs",
        "",
        "a tensor_parallel_size that divides the heads which the message names; the other GPUs by pipeline_parallel_size",
        "vllm",
    ),
    Sentence(
        r"User-specified max_model_len \(\d+\) is greater than the derived max_model_len",
        "max_model_len is longer than config.json says that the model goes",
        "",
        "a smaller max_model_len; a longer one only with the rope scaling that the model's page names (hf_overrides), or "
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 at the price of nonsense beyond",
        "vllm",
    ),
    Sentence(
        r"Free memory on device .{0,60} on startup is less than desired GPU memory utilization|Error in memory profiling",
        "Another process holds memory of the GPU that vLLM wants for itself, or took or freed some while vLLM measured",
        "an engine that was not ended, the trainer beside it, or another program",
        "nvidia-smi shows who; a smaller gpu_memory_utilization, or start one after the other",
        "vllm",
    ),
    Sentence(
        r"Unsupported FA version: None",
        "vLLM's flash attention has no kernel for this GPU, which is older than Ampere, or was not built",
        "",
        "VLLM_ATTENTION_BACKEND=XFORMERS (or another that the release has), VLLM_USE_V1=0 in vllm 0.8 to 0.10.2, which have "
        "V0, or a GPU of compute "
        "capability 8.0",
        "vllm",
    ),
    Sentence(
        r"(?:input|output) size is not aligned with the quantized weight|is not divisible by ?(?:min_thread|weight quantization block)",
        "The quantized weights cannot be cut into so many parts",
        "",
        "a smaller tensor_parallel_size, or a quantization with smaller groups",
        "vllm",
    ),
    Sentence(
        r"[Ff]ailed to infer device type|Device string must not be empty",
        "vLLM found no device that its build is for",
        "no visible GPU (driver, container without --gpus, CUDA_VISIBLE_DEVICES), or the wheel of another vendor",
        "nvidia-smi in the same place; the vllm that is built for this device (CUDA, ROCm, CPU)",
        "vllm",
    ),
    Sentence(
        r"There is no module or parameter named '?[\w.]+'? in \w+",
        "The weights have a name that vLLM's class of this model does not",
        "a model that is newer than this vllm, one that a wrapper or a merge renamed, or a config.json of another architecture",
        "a later vllm; else save the model again without the wrapper (_orig_mod, base_model.model)",
        "vllm",
    ),
    Sentence(
        r"Cannot find any of \[.{3,200}\] in the model's quantization config",
        "vLLM was told of a quantization whose settings the model's files do not have",
        "an adapter given to quantization=bitsandbytes without its base, or a method that is not the checkpoint's",
        "quantization as the checkpoint was made, or load_format as well (bitsandbytes)",
        "vllm",
    ),
    Sentence(
        r"At most \d+ \w+\(s\) may be provided in one (?:prompt|request)",
        "A prompt holds more images, videos or sounds than vLLM was started for",
        "",
        'limit_mm_per_prompt={"image": N} (--limit-mm-per-prompt)',
        "vllm",
    ),
    Sentence(
        r"number of required GPUs exceeds the total number of available GPUs",
        "tensor_parallel_size times pipeline_parallel_size is more than the GPUs that Ray sees",
        "",
        "ray status shows them; connect to the cluster that has them, or fewer parts",
        "vllm",
    ),
)
