"""Messages of a sharded model that is saved, gathered or moved: FSDP's own words, and a GPU that fills at the end of a run."""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

_FULL_CARD = ("gpu-memory-in-use", "gpu-memory-fragmented", "plan-exceeds-gpu-memory", "gpu-memory-held-by-others")
_GATHER = (
    "fsdp_state_dict_type: SHARDED_STATE_DICT (accelerate merge-weights joins the shards afterwards); where one file is wanted, "
    "FullStateDictConfig(offload_to_cpu=True, rank0_only=True) around the state_dict call"
)

SAVING = (
    # https://github.com/tatsu-lab/stanford_alpaca/issues/65, https://github.com/huggingface/transformers/issues/23386
    StatedMessage(
        r"Failed to clone\(\) tensor with name (?P<name>\S{1,120})[^\n]{0,500}out of memory",
        "FSDP gathers the whole model on every GPU to save it, and there is no room for that",
        "training itself fitted: a full state dict wants all weights at once ({name} is where it ended)",
        _GATHER,
        over=_FULL_CARD,
        package="torch",
    ),
    # https://github.com/meta-llama/llama-cookbook/issues/626
    StatedMessage(
        r"Expects tensor to be on the compute device (?P<want>[\w:]{3,12}),? (?:but got|was on) (?P<got>[\w:]{3,12})",
        "FSDP's weights were moved to {got}, and it looks for them on {want}",
        "model.cpu() or .to() after the model was wrapped, as it is done before a save",
        f"no move of a wrapped model; to save it {_GATHER}",
        package="torch",
    ),
)
