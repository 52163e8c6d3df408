"""The same step of a tiny model with all activations kept and with gradient checkpointing: gradients and saved bytes.

CPython 3.8+, the patient's torch and transformers, and peft for LoRA. Checkpointing is switched on as the Trainer does it:
after get_peft_model, with ``gradient_checkpointing_kwargs`` where the release has that parameter.
"""

from __future__ import annotations

import importlib
import inspect
import math
import os
import runpy
from collections.abc import Callable
from typing import Any

SEED = 0
LAYERS = 4
ROWS, TOKENS = 2, 32
_ENABLE = "gradient_checkpointing_enable"


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    stage("importing transformers")
    transformers: Any = importlib.import_module("transformers")
    importlib.import_module("transformers.models.auto.modeling_auto")
    peft: Any = None
    if params["lora"]:
        stage("importing peft")
        peft = importlib.import_module("peft")
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    helpers = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiny_model.py"))
    steps = _Steps(torch, transformers, peft, helpers, params, stage)
    try:
        steps.compare()
    except helpers["UntestableError"] as reason:
        steps.measured["untestable"] = str(reason)
    except helpers["FAILURES"] as error:
        steps.measured["error"] = helpers["failure"](error, steps.during)
    return steps.measured


class _Steps:
    def __init__(
        self, torch: Any, transformers: Any, peft: Any, helpers: dict[str, Any], params: dict[str, Any], stage: Callable[[str], None]
    ) -> None:
        self.torch = torch
        self.transformers = transformers
        self.peft = peft
        self.helpers = helpers
        self.params = params
        self.stage = stage
        self.during = ""
        packages = [torch, transformers] + ([] if peft is None else [peft])
        self.measured: dict[str, Any] = {"versions": helpers["versions"](*packages), "error": None, "untestable": None}

    def enter(self, name: str) -> None:
        self.during = name
        self.stage(name)

    def compare(self) -> None:
        tiny = self.helpers["build"](self.torch, self.transformers, self.params, LAYERS, self.enter)
        self.measured.update(tiny.measured)
        base = tiny.model
        if hasattr(base, "config"):
            base.config.use_cache = False
        if self.params["input_require_grads"]:
            self.enter("enable_input_require_grads")
            base.enable_input_require_grads()
        model = base
        if self.params["lora"]:
            self.enter("applying the adapter")
            model = self._adapted(base)
        model.train()
        ids = self.torch.randint(10, 100, (ROWS, TOKENS))
        self.enter("a step without checkpointing")
        plain = self._step(model, ids)
        self.enter("the same step again")
        again = self._step(model, ids)
        self.enter(_ENABLE)
        self._switch_on(base, model)
        self.measured["is_gradient_checkpointing"] = bool(getattr(base, "is_gradient_checkpointing", False))
        self.enter("a step with checkpointing")
        saving = self._step(model, ids)
        self.measured.update(
            {
                "saved_bytes": [plain["bytes"], saving["bytes"]],
                "losses": [plain["loss"], saving["loss"]],
                "moved": [len(plain["gradients"]), len(saving["gradients"])],
                "trainable": sum(parameter.requires_grad for parameter in model.parameters()),
                "noise": self._difference(plain["gradients"], again["gradients"]),
                "gradient_difference": self._difference(plain["gradients"], saving["gradients"]),
            }
        )

    def _switch_on(self, base: Any, model: Any) -> None:
        library = getattr(self.transformers.PreTrainedModel, _ENABLE)
        takes = "gradient_checkpointing_kwargs" in inspect.signature(library).parameters
        kwargs = None if self.params["use_reentrant"] is None else {"use_reentrant": self.params["use_reentrant"]}
        # The library's own method, past an override of the snapshot's class.
        enable = library.__get__(base) if self.params["library_method"] else getattr(model, _ENABLE)
        if takes or self.params["passes_kwargs"]:
            enable(gradient_checkpointing_kwargs=kwargs)
        else:
            enable()

    def _adapted(self, base: Any) -> Any:
        """LoRA on the first two kinds of linear layer in the blocks; both of its matrices are random, so that each has a gradient."""
        torch = self.torch
        names: list[str] = []
        for path, module in base.named_modules():
            above, _, name = path.rpartition(".")
            linear = isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D"
            if linear and name not in names and not name.isdigit() and any(part.isdigit() for part in above.split(".")):
                names.append(name)
        if not names:
            raise self.helpers["UntestableError"]("it has no linear layers for LoRA")
        settings = self.peft.LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, target_modules=names[:2], task_type="CAUSAL_LM")
        model = self.peft.get_peft_model(base, settings)
        generator = torch.Generator().manual_seed(SEED)
        with torch.no_grad():
            for _, parameter in sorted(model.named_parameters()):
                if parameter.requires_grad:
                    parameter.normal_(0.0, 0.1, generator=generator)
        return model

    def _step(self, model: Any, ids: Any) -> dict[str, Any]:
        """The loss, each gradient that is not zero, and the bytes of distinct storages saved for backward, weights left out."""
        torch = self.torch
        weights = {parameter.data_ptr() for parameter in model.parameters()}
        saved: dict[int, int] = {}

        def pack(tensor: Any) -> Any:
            if tensor.data_ptr() not in weights:
                size = tensor.numel() * tensor.element_size()
                saved[tensor.data_ptr()] = max(size, saved.get(tensor.data_ptr(), 0))
            return tensor

        model.zero_grad(set_to_none=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids).loss
        total = sum(saved.values())
        during = self.during
        self.enter(during + ": backward")
        loss.backward()
        self.during = during
        gradients = {
            name: parameter.grad.detach().clone()
            for name, parameter in model.named_parameters()
            if parameter.requires_grad and parameter.grad is not None and bool((parameter.grad != 0).any())
        }
        return {"loss": _number(loss), "gradients": gradients, "bytes": total}

    def _difference(self, one: dict[str, Any], other: dict[str, Any]) -> Any:
        """The largest difference of the gradients that both have, relative to the largest gradient; None without any."""
        shared = [name for name in one if name in other]
        if not shared:
            return None
        largest = max(float(one[name].abs().max()) for name in shared)
        return _finite(max(float((one[name] - other[name]).abs().max()) for name in shared) / max(largest, 1e-12))


def _number(value: Any) -> Any:
    return _finite(float(value.detach()))


def _finite(number: float) -> Any:
    """A finite number as it is, any other as text, because JSON has no NaN."""
    return round(number, 8) if math.isfinite(number) else str(number)
