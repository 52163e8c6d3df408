"""What rules wait for in a script is found by the index of their patterns as by comparing each with each."""

from __future__ import annotations

import pytest

from envdoctor.facts.uses import is_meant
from envdoctor.rules.calls import _index, _near, list_awaited

MADE_UP = (
    "transformers.models.llama.modeling_llama.LlamaForCausalLM.from_pretrained(attn_implementation=eager)",
    "?.chat(tokenizer)", "numpy.float", "trl.experimental.ppo.PPOTrainer", "env:NCCL_P2P_DISABLE=1", "$ accelerate launch train.py",
    "?.config.use_cache = False", "def forward", "TTS.api.TTS", "Trainer(model)", "evaluate", "lightning.pytorch.Trainer(gpus=1)",
)  # fmt: skip


@pytest.mark.large
def test_the_index_leaves_out_no_pattern_that_means_a_use() -> None:
    patterns = list_awaited()
    index = _index(patterns)
    for use in (*MADE_UP, *patterns[::3]):
        meant = {pattern for pattern in patterns if is_meant(pattern, use)}
        assert meant <= {*_near(use, index)}, use
