"""A tiny model of the snapshot's architecture goes through a whole training: forward, backward, step, save, reload, generate.

CPython 3.8+, the patient's torch and transformers. What is measured: how far it came (``done``), what it failed with
(``error``), or why it was not tried (``untestable``).
"""

from __future__ import annotations

import importlib
import math
import os
import runpy
from collections.abc import Callable
from typing import Any

SEED = 0
LAYERS = 2
ROWS, TOKENS, NEW_TOKENS = 2, 12, 4


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    stage("importing transformers")
    transformers: Any = importlib.import_module("transformers")
    importlib.import_module("transformers.models.auto.modeling_auto")
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    tiny_model = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiny_model.py"))
    life = _Life(torch, transformers, tiny_model, params, stage)
    try:
        life.live()
    except tiny_model["UntestableError"] as reason:
        life.measured["untestable"] = str(reason)
    except tiny_model["FAILURES"] as error:
        life.measured["error"] = tiny_model["failure"](error, life.during)
    return life.measured


class _Life:
    def __init__(
        self, torch: Any, transformers: Any, helpers: dict[str, Any], params: dict[str, Any], stage: Callable[[str], None]
    ) -> None:
        self.torch = torch
        self.transformers = transformers
        self.helpers = helpers
        self.params = params
        self.stage = stage
        self.during = ""
        self.measured: dict[str, Any] = {
            "versions": helpers["versions"](torch, transformers),
            "done": [],
            "error": None,
            "untestable": None,
        }

    def enter(self, name: str) -> None:
        if self.during:
            self.measured["done"].append(self.during)
        self.during = name
        self.stage(name)

    def live(self) -> None:
        torch = self.torch
        tiny = self.helpers["build"](torch, self.transformers, self.params, LAYERS, self.enter)
        self.measured.update(tiny.measured)
        model = tiny.model
        ids = torch.randint(10, 100, (ROWS, TOKENS))
        self.enter("forward")
        model.train()
        loss = self._loss(model, ids)
        self.measured["loss"] = _number(loss)
        self.enter("backward")
        loss.backward()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.requires_grad]
        self.measured["gradients"] = {
            "missing": sum(gradient is None for gradient in gradients),
            "nonfinite": sum(gradient is not None and not bool(torch.isfinite(gradient).all()) for gradient in gradients),
            "all": len(gradients),
        }
        self.enter("optimizer step")
        optimizer = torch.optim.AdamW([parameter for parameter in model.parameters() if parameter.requires_grad], lr=1e-3)
        optimizer.step()
        self.measured["loss_after"] = _number(self._loss(model, ids))
        self.enter("evaluation")
        model.eval()
        before, again = self._logits(model, ids), self._logits(model, ids)
        self.measured["noise"] = _distance(before, again)
        self.enter("save_pretrained")
        saved = os.path.abspath("saved")
        model.save_pretrained(saved)
        self.helpers["copy_code"](tiny, saved)
        self.enter("from_pretrained")
        argument = self.params["dtype_argument"] or self._dtype_argument()
        asked = {} if argument == "none" else {argument: torch.float32}
        if self.params["attn"] is not None:
            asked["attn_implementation"] = self.params["attn"]
        loaded = tiny.auto.from_pretrained(saved, trust_remote_code=tiny.remote, **asked).eval()
        self.enter("evaluation after from_pretrained")
        self.measured["reloaded_dtypes"] = sorted({str(parameter.dtype).replace("torch.", "") for parameter in loaded.parameters()})
        self.measured["reloaded_difference"] = _distance(before, self._logits(loaded, ids))
        self.enter("generate")
        prompt = ids[:1]
        produced = loaded.generate(
            input_ids=prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=NEW_TOKENS,
            min_new_tokens=NEW_TOKENS,
            do_sample=False,
            use_cache=True,
        )
        self.measured["new_tokens"] = int(produced.shape[1]) - TOKENS
        self.enter("")

    def _dtype_argument(self) -> str:
        """The keyword that the release is documented with."""
        numbers = str(self.transformers.__version__).split(".")
        return "dtype" if (int(numbers[0]), int(numbers[1])) >= (4, 56) else "torch_dtype"

    def _loss(self, model: Any, ids: Any) -> Any:
        return model(input_ids=ids, attention_mask=self.torch.ones_like(ids), labels=ids).loss

    def _logits(self, model: Any, ids: Any) -> Any:
        with self.torch.no_grad():
            return model(input_ids=ids, attention_mask=self.torch.ones_like(ids)).logits.float()


def _distance(one: Any, other: Any) -> Any:
    """The largest difference, relative to the largest value."""
    return _number((one - other).abs().max() / one.abs().max().clamp_min(1e-12))


def _number(value: Any) -> Any:
    """A finite number as it is, any other as text, because JSON has no NaN."""
    number = float(value.detach())
    return round(number, 8) if math.isfinite(number) else str(number)
