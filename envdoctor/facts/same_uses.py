"""Other ways to write one use: rules wait for the one, and every reader of what a run uses states both.

Each is the same in the package's own code: modelscope's classes load from ModelScope and hand the rest on (modelscope/utils/hf_util of
1.24.0, modelscope/utils/hf_util.py of 1.9.5); ``AutoConfig.register`` is ``CONFIG_MAPPING.register`` (transformers 4.52.4,
models/auto/configuration_auto.py); ``safe_globals`` names the classes as ``add_safe_globals`` does, for a block (torch 2.13.0,
torch/serialization.py); the variables and settings leave ``torch.compile`` nothing to do, or nothing to fail with (the same,
torch/_dynamo/config.py and eval_frame.py). The configurations of trl's trainers (trl 0.12.0; PPO's from there on, so that it is left out)
and of sentence-transformers' (5.1.0) are TrainingArguments of transformers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.wrapped_packages import list_wrapped

COMPILES_NOTHING = "torch.compile(disable=True)"
COMPILE_SETTINGS = ("torch._dynamo.config.disable", "torch._dynamo.config.suppress_errors")
COMPILE_SWITCHES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_SUPPRESS_ERRORS")
_OF_MODELSCOPE = re.compile(
    r"(def |)modelscope\.(?:utils\.hf_util\.)?((?:Auto(?:Model(?:For\w+)?|Tokenizer|Config|Processor|ImageProcessor|FeatureExtractor)"
    r"|(?:BitsAndBytes|GPTQ|Awq|Generation)Config|Llama(?:Model|PreTrainedModel|ForCausalLM)|T5EncoderModel"
    r"|Qwen2(?:_5_)?VLForConditionalGeneration)\b)"
)
_REGISTERS = re.compile(r"transformers\.(?:\w+\.)*CONFIG_MAPPING\.register(?=\(|$)")
_SAFE = re.compile(r"torch\.serialization\.safe_globals(?=\(|$)")
_OF_A_TRAINER = re.compile(
    r"trl\.(?:\w+\.)*(?:SFT|DPO|GRPO|KTO|ORPO|CPO|BCO|Reward|RLOO|GKD|OnlineDPO|XPO|NashMD|PRM)Config(?=\()"
    r"|sentence_transformers\.(?:\w+\.)*(?:SentenceTransformer|CrossEncoder|SparseEncoder)TrainingArguments(?=\()"
    r"|unsloth\.(?:\w+\.)*UnslothTrainingArguments(?=\()"
)
_COMPILES_NOTHING = frozenset(f"env:{name}=1" for name in COMPILE_SWITCHES)


def list_same(use: str) -> Iterator[str]:
    """The use, and what else it is."""
    yield use
    yield from list_wrapped(use)
    handed = _OF_MODELSCOPE.match(use)
    if handed is not None:
        yield f"{handed[1]}transformers.{use[handed.start(2) :]}"
    elif use in _COMPILES_NOTHING:
        yield COMPILES_NOTHING
    elif (found := _REGISTERS.match(use)) is not None:
        yield f"transformers.AutoConfig.register{use[found.end() :]}"
    elif (found := _SAFE.match(use)) is not None:
        yield f"torch.serialization.add_safe_globals{use[found.end() :]}"
    elif (found := _OF_A_TRAINER.match(use)) is not None:
        yield f"transformers.TrainingArguments{use[found.end() :]}"
