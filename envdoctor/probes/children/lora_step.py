"""Two optimizer steps of LoRA on a tiny random Llama, on the CPU, with the patient's torch, transformers and peft.

What is measured: the dtype of the trainable parameters, the loss before each step and after the
last, after each step how many trainable tensors hold a value that is not finite, and how many had
a gradient that is not zero. A step that fails is measured too: where, and with what message.
"""

from __future__ import annotations

import importlib
import math
import platform
import random
from collections.abc import Callable
from typing import Any

SEED = 0
ROWS, TOKENS = 2, 16
# Smaller than the trainer's 65536: both steps shall be taken, not skipped because a scaled gradient overflowed.
INITIAL_SCALE = 1024.0


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    stage("importing transformers")
    transformers: Any = importlib.import_module("transformers")
    stage("importing peft")
    peft: Any = importlib.import_module("peft")
    random.seed(SEED)
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    measured: dict[str, Any] = {
        "versions": {
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "transformers": str(transformers.__version__),
            "peft": str(peft.__version__),
        },
        "base_dtype": params["dtype"],
    }

    stage("building a tiny model")
    base = _tiny_llama(transformers).to(getattr(torch, params["dtype"]))
    stage("applying the adapter")
    model = _with_adapter(peft, base, params)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    measured["trainable_dtypes"] = _count(str(parameter.dtype).replace("torch.", "") for parameter in trainable)
    stage("making the optimizer")
    measured["optimizer"] = params["optimizer"] or _default_optimizer()
    steps = _Steps(torch, model, trainable, float(params["eps"]), bool(params["grad_scaler"]))
    for number in range(1, params["steps"] + 1):
        stage(f"training step {number}")
        steps.guarded(number, measured["optimizer"])
    measured.update(steps.measured)
    return measured


def _tiny_llama(transformers: Any) -> Any:
    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        vocab_size=128,
        max_position_embeddings=64,
        attn_implementation="eager",
        tie_word_embeddings=False,
    )
    return transformers.LlamaForCausalLM(config)


def _with_adapter(peft: Any, base: Any, params: dict[str, Any]) -> Any:
    settings: dict[str, Any] = {
        "r": 8,
        "lora_alpha": 32,
        "lora_dropout": 0.0,
        "target_modules": ["q_proj", "v_proj"],
        "task_type": "CAUSAL_LM",
    }
    if params["modules_to_save"]:
        settings["modules_to_save"] = list(params["modules_to_save"])
    if params["method"] == "dora":
        settings["use_dora"] = True
    if params["method"] == "rslora":
        settings["use_rslora"] = True
    cast = params["autocast_adapter_dtype"]
    model = peft.get_peft_model(base, peft.LoraConfig(**settings), **({} if cast is None else {"autocast_adapter_dtype": cast}))
    model.train()
    return model


def _default_optimizer() -> str:
    """The trainer's own default: later releases choose it by the torch that they find."""
    arguments: Any = importlib.import_module("transformers.training_args")
    default = getattr(arguments.TrainingArguments, "default_optim", "adamw_torch")
    return str(getattr(default, "value", default))


class _Steps:
    """Forward, backward and step, with every number kept; the first failure ends them."""

    def __init__(self, torch: Any, model: Any, trainable: list[Any], eps: float, scaled: bool) -> None:
        self.torch = torch
        self.model = model
        self.trainable = trainable
        self.eps = eps
        self.scaled = scaled
        self.optimizer: Any = None
        self.scaler: Any = None
        self.ids = torch.randint(1, 128, (ROWS, TOKENS))
        self.losses: list[Any] = []
        self.nonfinite: list[int] = []
        self.nonzero: list[int] = []
        self.skipped = 0
        self.failure: dict[str, Any] | None = None

    @property
    def measured(self) -> dict[str, Any]:
        return {
            "losses": self.losses,
            "nonfinite_trainable": self.nonfinite,
            "nonzero_gradients": self.nonzero,
            "skipped_steps": self.skipped,
            "error": self.failure,
        }

    def guarded(self, number: int, optimizer: str) -> None:
        if self.failure is not None:
            return
        self.during = "making the optimizer"
        try:
            if self.optimizer is None:
                self.optimizer = self._optimizer(optimizer)
                if self.scaled:
                    self.during = "making the gradient scaler"
                    self.scaler = self.torch.amp.GradScaler("cpu", init_scale=INITIAL_SCALE)
            self._step()
        except (RuntimeError, ValueError, TypeError, AttributeError) as error:
            self.failure = {"step": number, "during": self.during, "type": type(error).__name__, "message": str(error)[:2000]}

    def _step(self) -> None:
        self.optimizer.zero_grad()
        loss = self._loss()
        if not self.losses:
            self.losses.append(_number(loss))
        self.during = "backward"
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()
        gradients = [parameter.grad for parameter in self.trainable]
        self.nonzero.append(sum(grad is not None and bool((grad != 0).any()) for grad in gradients))
        if self.scaler is None:
            self.during = "optimizer step"
            self.optimizer.step()
        else:
            self.during = "unscaling the gradients"
            self.scaler.unscale_(self.optimizer)
            self.during = "optimizer step"
            before = self.scaler.get_scale()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.skipped += self.scaler.get_scale() < before
        self.nonfinite.append(sum(not bool(self.torch.isfinite(parameter).all()) for parameter in self.trainable))
        self.losses.append(_number(self._loss()))

    def _loss(self) -> Any:
        self.during = "forward"
        # The trainer's fp16 is autocast with a scaler; without it the model computes in the dtype that it has.
        with self.torch.autocast("cpu", dtype=self.torch.float16 if self.scaled else self.torch.bfloat16, enabled=self.scaled):
            return self.model(input_ids=self.ids, attention_mask=self.torch.ones_like(self.ids), labels=self.ids).loss

    def _optimizer(self, name: str) -> Any:
        optim = self.torch.optim
        if name == "adamw_torch":
            return optim.AdamW(self.trainable, lr=1e-3, eps=self.eps, weight_decay=0.0)
        if name == "adamw_torch_fused":
            return optim.AdamW(self.trainable, lr=1e-3, eps=self.eps, weight_decay=0.0, fused=True)
        if name == "adafactor":
            optimization: Any = importlib.import_module("transformers.optimization")
            return optimization.Adafactor(self.trainable, lr=1e-3, scale_parameter=False, relative_step=False)
        if name == "sgd":
            return optim.SGD(self.trainable, lr=1e-3)
        raise ValueError(f"the optimizer {name} is not one that this probe makes")


def _count(names: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _number(loss: Any) -> Any:
    """A finite loss as a number, any other as text, because JSON has no NaN."""
    value = float(loss.detach())
    return round(value, 6) if math.isfinite(value) else str(value)
