"""Errors whose words leave out what is behind them: a compiled model's wrapper, the memory of a server that runs beside the training."""

from __future__ import annotations

from envdoctor.logs.break_form import Break

ATTRIBUTE, RUN, TENSORS = "error-attribute-missing", "error-of-the-run", "error-tensors-disagree"

WRAPPER_BREAKS = (
    # extract_model_from_parallel in accelerate/utils/other.py of 1.7.0 to 1.12.0 and of 1.13.0, which looks first
    Break(
        r"^KeyError: ['\"]_orig_mod['\"]",
        "accelerate takes a model of which parts are compiled for one that is compiled as a whole, and unwraps what is not there",
        "unwrap_model looks for _orig_mod in any model that has a compiled part: from 1.7 to 1.12 without asking whether it is there; "
        "a model whose own code compiles a layer or an attention meets it",
        "",
        RUN,
        ("accelerate",),
        ">=1.7,<1.13",
        (("accelerate", ">=1.13.0"), ("accelerate", "<1.7")),
        line=r"_orig_mod",
    ),
    # torch/_dynamo/eval_frame.py: OptimizedModule keeps the module as _orig_mod
    Break(
        r"(?s)[Uu]nexpected key\(s\) in state_dict: .{0,400}?[\"'](?:module\.)?_orig_mod\.",
        "The weights were saved from a model that torch.compile had wrapped: each name begins with _orig_mod",
        "the model that loads them is not compiled, or is compiled only afterwards",
        "state = {name.replace('_orig_mod.', ''): value for name, value in state.items()} before load_state_dict; save from "
        "model._orig_mod (accelerate: accelerator.unwrap_model(model)), and compile after loading",
        TENSORS,
        ("torch",),
    ),
    Break(
        r"(?s)[Mm]issing key\(s\) in state_dict: .{0,400}?[\"'](?:module\.)?_orig_mod\.",
        "The model that loads is wrapped by torch.compile, and the weights were saved from one that was not",
        "each name of a compiled model begins with _orig_mod",
        "load into the model before torch.compile, or into model._orig_mod",
        TENSORS,
        ("torch",),
    ),
    Break(
        r"'(?!OptimizedModule)\w{2,80}' object has no attribute '_orig_mod'",
        "The code unwraps a compiled model, and this one is not compiled",
        "torch.compile puts the model into _orig_mod of its wrapper; without it (torch_compile=False, a platform without triton, a part of "
        "the model) there is none",
        "getattr(model, '_orig_mod', model) in place of model._orig_mod",
        ATTRIBUTE,
        ("torch",),
    ),
    # unsloth/save.py of 2025.2.15 and 2025.3.9 (save_to_gguf); https://github.com/unslothai/unsloth/issues/1781
    Break(
        r"Unsloth: (?:Quantization failed|The file ['\"`]?llama\.cpp/(?:llama-)?quantize)",
        "unsloth found no llama-quantize that runs: it looks for it in the folder llama.cpp where the script runs",
        "llama.cpp is built with cmake, which leaves its programs in build/bin; a build that failed or was cut leaves none",
        "in the folder where the script runs: git clone https://github.com/ggml-org/llama.cpp; cmake llama.cpp -B llama.cpp/build "
        "-DBUILD_SHARED_LIBS=OFF; cmake --build llama.cpp/build --config Release --target llama-quantize llama-cli; cp "
        "llama.cpp/build/bin/llama-* llama.cpp; then save anew; or a later unsloth with its unsloth_zoo; or save_method='merged_16bit' and "
        "llama.cpp's own convert_hf_to_gguf.py",
        RUN,
        ("unsloth",),
    ),
    # vllm/device_allocator/cumem.py; https://github.com/verl-project/verl/issues/302
    Break(
        r"(?i)out of memory at \S{0,200}cumem_allocator\.cpp",
        "vLLM wakes up from its sleep, or takes its memory, and its share of the GPU is not free",
        "cumem_allocator is vLLM's allocator for its sleep mode: what gpu_memory_utilization names is taken at once, and the training "
        "beside it (weights, optimizer, torch's cache) still holds some of it",
        "a lower gpu_memory_utilization (verl: actor_rollout_ref.rollout.gpu_memory_utilization=0.4; trl: "
        "vllm_gpu_memory_utilization=0.3); the training's weights and optimizer off the card before vLLM wakes (verl: "
        "fsdp_config.param_offload and optimizer_offload=True), torch.cuda.empty_cache()",
        RUN,
        ("vllm",),
    ),
)
