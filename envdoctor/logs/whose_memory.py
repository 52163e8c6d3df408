"""Who asked for the memory that a GPU did not have: a server's own settings cure what its code asks for, and no setting of a training."""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.logs.reading import Reading
from envdoctor.records import replace
from envdoctor.world.import_names import package_of

# The arguments are those of vllm/engine/arg_utils.py, sglang/srt/server_args.py and diffusers' DiffusionPipeline.
_ADVICE = {
    "vllm": (
        "vLLM takes its share of the card for weights and cache",
        "a lower gpu_memory_utilization where something else is on the card (a training, another server), a higher one where it is alone; "
        "a smaller max_model_len and max_num_seqs; enforce_eager=True saves what CUDA graphs take; tensor_parallel_size over more GPUs",
    ),
    "sglang": (
        "SGLang takes its share of the card for weights and cache",
        "a lower --mem-fraction-static; a smaller --chunked-prefill-size where a prompt is read, --max-running-requests where tokens are "
        "generated, --cuda-graph-max-bs while graphs are captured; --tp over more GPUs",
    ),
    "diffusers": (
        "a pipeline of diffusers holds all its models and the picture that it computes",
        "pipe.enable_model_cpu_offload() in place of pipe.to('cuda'), pipe.vae.enable_tiling(), a smaller picture or batch; to train, the "
        "script's gradient checkpointing",
    ),
}
# A training that generates through such a server hands it the card.
_TRAINERS = frozenset(("trl", "verl", "transformers", "accelerate", "peft", "unsloth", "llamafactory", "swift", "ms-swift"))


def with_whose_memory(hit: Hit, reading: Reading, line: int) -> Hit:
    """The finding, with the settings of the server or pipeline in whose code the memory was asked for."""
    near = [one for one in reading.failures if abs(one.line - line) <= 1]
    frames = [package_of(frame.package) for one in near for frame in reversed(one.frames) if frame.package]
    whose = next((name for name in frames if name in _ADVICE or name in _TRAINERS), "")
    if whose not in _ADVICE:
        return hit
    behind, advice = _ADVICE[whose]
    return replace(hit, detail=f"{hit.detail}; {behind}", packages=(whose,), advice=advice)
