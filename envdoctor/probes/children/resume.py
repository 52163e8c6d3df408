"""The patient's own Trainer on the CPU: one step of a tiny model, a checkpoint, and the second step from it in a new Trainer.

What is measured: the steps reached before and after, the files of the checkpoint, and the failure of either half.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pickle
import platform
import random
from collections.abc import Callable
from typing import Any

SEED = 0
TOKENS = 16
MOST_FILES = 32
EXPECTED = (pickle.UnpicklingError, RuntimeError, ValueError, TypeError, AttributeError, KeyError, ImportError, OSError, ArithmeticError)


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    stage("importing accelerate")
    accelerate: Any = importlib.import_module("accelerate")
    stage("importing transformers")
    transformers: Any = importlib.import_module("transformers")
    transformers.logging.set_verbosity_error()
    numpy: Any = importlib.import_module("numpy")
    random.seed(SEED)
    torch.set_num_threads(1)
    measured: dict[str, Any] = {
        "versions": {
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "transformers": str(transformers.__version__),
            "accelerate": str(accelerate.__version__),
            "numpy": str(numpy.__version__),
        },
        "steps": [],
        "files": [],
        "error": None,
    }
    checkpoint = os.path.join("trainer", "checkpoint-1")
    for during, steps, start in (("training and saving", 1, None), ("resuming", 2, checkpoint)):
        stage(during)
        try:
            measured["steps"].append(_train(torch, transformers, steps, start))
        except EXPECTED as error:
            measured["error"] = {"during": during, "type": type(error).__name__, "message": str(error)[:2000]}
            break
        measured["files"] = sorted(os.listdir(checkpoint))[:MOST_FILES] if os.path.isdir(checkpoint) else []
    return measured


def _train(torch: Any, transformers: Any, steps: int, start: str | None) -> int:
    """Train to that step and return the one reached."""
    torch.manual_seed(SEED)
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=64,
        attn_implementation="eager",
    )
    ids = torch.arange(TOKENS)
    known = inspect.signature(transformers.TrainingArguments.__init__).parameters
    arguments = transformers.TrainingArguments(
        output_dir="trainer",
        max_steps=steps,
        per_device_train_batch_size=2,
        optim="adamw_torch",
        learning_rate=1e-3,
        save_strategy="steps",
        save_steps=1,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
        seed=SEED,
        **({"use_cpu": True} if "use_cpu" in known else {"no_cuda": True}),
    )
    trainer = transformers.Trainer(
        model=transformers.LlamaForCausalLM(config),
        args=arguments,
        train_dataset=[{"input_ids": ids, "labels": ids}] * 8,
        data_collator=transformers.default_data_collator,
    )
    trainer.train(resume_from_checkpoint=start)
    return int(trainer.state.global_step)
