"""One optimizer step of the patient's own Trainer: N micro-batches of one row against one batch of N rows, on the CPU.

A tiny random Llama is trained by plain SGD without clipping, so that the change of its weights is the gradient. Two classes are
tried: transformers' own, and one whose forward takes no arguments for the loss, like most code that comes with a snapshot.
What is measured for each, on rows with equal and with unequal numbers of label tokens: the norm of the accumulated change over
that of the whole batch (``ratio``), how far the accumulated change is from ``ratio`` times the other (``direction_error``, relative),
how far from the other itself (``difference``, relative), and the loss that the Trainer reports.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import math
import platform
import random
from collections.abc import Callable
from typing import Any

SEED = 0
TOKENS = 24
VOCABULARY = 64
# Label tokens of the first rows: unequal, all of them more than a causal shift takes away.
LENGTHS = (4, 20, 8, 16, 12, 6, 18, 10)
EXPECTED = (RuntimeError, ValueError, TypeError, AttributeError, KeyError, ImportError, OSError, ArithmeticError)


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    stage("importing accelerate")
    accelerate: Any = importlib.import_module("accelerate")
    stage("importing transformers")
    transformers: Any = importlib.import_module("transformers")
    transformers.logging.set_verbosity_error()
    random.seed(SEED)
    torch.set_num_threads(1)
    stage("importing the Trainer")
    trainer: Any = transformers.Trainer
    measured: dict[str, Any] = {
        "versions": {
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "transformers": str(transformers.__version__),
            "accelerate": str(accelerate.__version__),
        },
        "steps": int(params["steps"]),
        "model_class": None,
        "accepts_loss_arguments": None,
    }
    if params["model_type"] is not None:
        stage("looking up the model's class")
        measured["model_class"], measured["accepts_loss_arguments"] = _own_class(transformers, params["model_type"])
    for name, make in (("own_class", _own), ("plain_class", _plain)):
        stage(f"training {name.replace('_', ' ')}")
        measured[name] = _guarded(_Experiment(torch, transformers, trainer, make, int(params["steps"])))
    return measured


def _own_class(transformers: Any, model_type: str) -> tuple[str | None, bool | None]:
    """The class that transformers has for causal training of this type, and whether the Trainer hands it loss arguments."""
    auto: Any = importlib.import_module("transformers.models.auto.modeling_auto")
    name = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(model_type)
    if not isinstance(name, str) or not hasattr(transformers, name):
        return None, None
    found = getattr(transformers, name)
    stated = getattr(found, "accepts_loss_kwargs", None)
    if isinstance(stated, bool):
        return name, stated
    return name, any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(found.forward).parameters.values())


def _config(transformers: Any) -> Any:
    return transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=64,
        attn_implementation="eager",
        tie_word_embeddings=False,
    )


def _own(torch: Any, transformers: Any) -> Any:
    return transformers.LlamaForCausalLM(_config(transformers))


def _plain(torch: Any, transformers: Any) -> Any:
    llama: Any = transformers.LlamaForCausalLM

    class Plain(llama):  # type: ignore[misc]
        """Takes what files of 2023 and 2024 take, and averages the loss over the label tokens of its batch."""

        # transformers 5.3 looks the class's module up among the loaded ones, and a script that is run by its path is none of them.
        __module__ = llama.__module__

        def forward(self, input_ids: Any = None, attention_mask: Any = None, labels: Any = None) -> Any:
            logits = super().forward(input_ids=input_ids, attention_mask=attention_mask).logits
            loss = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, VOCABULARY), labels[:, 1:].reshape(-1))
            return {"loss": loss, "logits": logits}

    return Plain(_config(transformers))


def _guarded(experiment: _Experiment) -> dict[str, Any]:
    try:
        experiment.run()
    except EXPECTED as error:
        failure = {"during": experiment.during, "type": type(error).__name__, "message": str(error)[:2000]}
        return {**experiment.measured, "error": failure}
    return {**experiment.measured, "error": None}


class _Experiment:
    """Equal and unequal rows for one class of model; what was measured until a failure stays."""

    def __init__(self, torch: Any, transformers: Any, trainer: Any, make: Any, steps: int) -> None:
        self.torch = torch
        self.transformers = transformers
        self.trainer = trainer
        self.make = make
        self.steps = steps
        self.during = "building a tiny model"
        self.measured: dict[str, Any] = {}

    def run(self) -> None:
        self.torch.manual_seed(SEED)
        self.model = self.make(self.torch, self.transformers)
        self.measured["equal_rows"] = self._compare([16] * self.steps)
        self.measured["unequal_rows"] = self._compare([LENGTHS[index % len(LENGTHS)] for index in range(self.steps)])

    def _compare(self, lengths: list[int]) -> dict[str, Any]:
        rows = [self._row(number, length) for number, length in enumerate(lengths)]
        self.during = "training on the whole batch"
        whole, whole_loss = self._update(rows, self.steps, 1)
        self.during = "training on accumulated micro-batches"
        accumulated, accumulated_loss = self._update(rows, 1, self.steps)
        self.during = "comparing the steps"
        norm, other = float(whole.norm()), float(accumulated.norm())
        ratio = other / norm if norm > 0 else math.nan
        return {
            "update_norm": _number(norm),
            "ratio": _number(ratio),
            "direction_error": _number(float((accumulated - ratio * whole).norm()) / other if other > 0 else math.nan),
            "difference": _number(float((accumulated - whole).norm()) / norm if norm > 0 else math.nan),
            "losses": [_number(whole_loss), _number(accumulated_loss)],
        }

    def _row(self, number: int, length: int) -> dict[str, Any]:
        ids = (self.torch.arange(TOKENS) * (2 * number + 3) + number) % VOCABULARY
        labels = self.torch.where(self.torch.arange(TOKENS) < length, ids, self.torch.full_like(ids, -100))
        return {"input_ids": ids, "labels": labels}

    def _update(self, rows: list[dict[str, Any]], batch: int, steps: int) -> tuple[Any, float]:
        """The change of all weights by one optimizer step, and the training loss as reported."""
        model = copy.deepcopy(self.model)
        arguments = self.transformers.TrainingArguments(
            output_dir="trainer",
            max_steps=1,
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=steps,
            learning_rate=1.0,
            optim="sgd",
            max_grad_norm=0.0,
            lr_scheduler_type="constant",
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            dataloader_pin_memory=False,
            seed=SEED,
            **self._on_cpu(),
        )
        trainer = self.trainer(model=model, args=arguments, train_dataset=rows, data_collator=self.transformers.default_data_collator)
        result = trainer.train()
        before, after = (self.torch.cat([weight.detach().flatten() for weight in each.parameters()]) for each in (self.model, model))
        return after - before, float(result.training_loss)

    def _on_cpu(self) -> dict[str, bool]:
        known = inspect.signature(self.transformers.TrainingArguments.__init__).parameters
        return {"use_cpu": True} if "use_cpu" in known else {"no_cuda": True}


def _number(value: float) -> Any:
    """A finite number, any other as text, because JSON has no NaN."""
    return round(value, 6) if math.isfinite(value) else str(value)
