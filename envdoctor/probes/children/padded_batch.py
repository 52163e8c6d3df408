"""Two rows of a tiny random model, each alone and both in one padded batch: the numbers have to be the same.

What is measured, for each arrangement of attention, dtype and padding side: the losses of training and evaluation
alone and padded (mean over supervised tokens), how many logits of real tokens and how many gradients are not finite,
the norm of the whole gradient, and what padding changes: the difference of logits and of gradients, each relative to
the norm of those alone. ``control`` is the difference of logits when the mask of a batch padded on the left is left
out, which tells whether the experiment would see a mask that is wrong.
An arrangement that fails is measured too: where, and with what message.
"""

from __future__ import annotations

import importlib
import math
import platform
import random
from collections.abc import Callable
from operator import mul, sub
from typing import Any

SEED = 0
# 64 after division by 128: a length at which one fused kernel has failed.
LENGTHS = (64, 41)
VOCABULARY = 128
IGNORED = -100
TINY: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "query_pre_attn_scalar": 32,
    "max_position_embeddings": 256,
    # Attention shall not be uniform: with small weights a wrong mask would hardly move the loss.
    "initializer_range": 0.2,
    # Padding that has an embedding of its own, as with the end of sequence for padding.
    "pad_token_id": None,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
# Layers that pass a state along the row instead of attending have a mask of their own.
SETTINGS: dict[str, dict[str, Any]] = {
    "lfm2": {"layer_types": ["conv", "full_attention"], "full_attn_idxs": [1], "block_multiple_of": 64},
}


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    stage("importing transformers")
    transformers: Any = importlib.import_module("transformers")
    torch.set_num_threads(1)
    device = "cuda" if params["device"] != "cpu" and torch.cuda.is_available() else "cpu"
    measured: dict[str, Any] = {
        "versions": {
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "transformers": str(transformers.__version__),
        },
        "device": device,
        "device_name": str(torch.cuda.get_device_name()) if device == "cuda" else platform.machine(),
        "model_type": params["model_type"],
        "arrangements": [],
        "unavailable": [],
    }
    for attn in params["attn"]:
        for dtype in params["dtypes"]:
            bench = _Bench(torch, transformers, params, device, attn, dtype)
            for side in params["sides"]:
                stage(f"computing {attn}, {dtype}, padded on the {side}")
                found = bench.measure(side)
                if found.get("unavailable"):
                    if found["unavailable"] not in measured["unavailable"]:
                        measured["unavailable"].append(found["unavailable"])
                else:
                    measured["arrangements"].append(found)
    return measured


class _Bench:
    """One model in one dtype with one attention implementation."""

    def __init__(self, torch: Any, transformers: Any, params: dict[str, Any], device: str, attn: str, dtype: str) -> None:
        self.torch = torch
        self.transformers = transformers
        self.params = params
        self.device = device
        self.attn = attn
        self.dtype = dtype
        self.model: Any = None
        self.alone: Any = None
        self.during = "building a tiny model"
        random.seed(SEED)
        torch.manual_seed(SEED)
        self.rows = [torch.randint(3, VOCABULARY, (length,)) for length in LENGTHS]

    def measure(self, side: str) -> dict[str, Any]:
        found: dict[str, Any] = {"attn": self.attn, "dtype": self.dtype, "side": side, "error": None}
        try:
            if self.model is None:
                unavailable = self._build()
                if unavailable is not None:
                    return {"unavailable": unavailable}
            self._compare(side, found)
        except (RuntimeError, ValueError, TypeError, AttributeError, KeyError, ImportError, IndexError, NotImplementedError) as error:
            found["error"] = {"during": self.during, "type": type(error).__name__, "message": str(error)[:2000]}
        return found

    def _build(self) -> Any:
        """Build the model; the text returned says why this release has no such attention."""
        self.during = "building a tiny model"
        torch, transformers = self.torch, self.transformers
        release, model_type = f"transformers {transformers.__version__}", self.params["model_type"]
        config = transformers.AutoConfig.for_model(model_type, **{**TINY, **SETTINGS.get(model_type, {})})
        torch.manual_seed(SEED)
        if not hasattr(config, "_attn_implementation"):  # before transformers 4.36
            if self.attn != "eager":
                return f"{release} knows no {self.attn}"
            model = transformers.AutoModelForCausalLM.from_config(config)
        else:
            try:
                model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=self.attn)
            except ValueError as error:
                if "does not support an attention implementation" not in str(error):
                    raise
                return f"{release} has no {self.attn} for {model_type}"
            if model.config._attn_implementation != self.attn:
                return f"{release} takes {model.config._attn_implementation} for {model_type} where {self.attn} is asked"
        self.model = model.to(device=self.device, dtype=getattr(torch, self.dtype))
        return None

    def _compare(self, side: str, found: dict[str, Any]) -> None:
        torch = self.torch
        if self.alone is None:
            self.during = "a row alone"
            self.alone = [self._both(*self._batch([row], "right")) for row in self.rows]
        shares = [(len(row) - 1) / sum(len(row) - 1 for row in self.rows) for row in self.rows]
        logits = torch.cat([one["logits"] for one in self.alone])
        gradient = [sum(map(mul, shares, parts)) for parts in zip(*(one["gradient"] for one in self.alone))]  # noqa: B905 (since 3.10)
        found["tensors"] = len(gradient)
        found["autocast"] = self._autocast_dtype()
        found["alone"] = {
            "loss": _number(sum(map(mul, shares, (one["loss"] for one in self.alone)))),
            "eval_loss": _number(sum(map(mul, shares, (one["eval_loss"] for one in self.alone)))),
            "nonfinite_logits": sum(one["nonfinite_logits"] for one in self.alone),
            "nonfinite_gradients": self._nonfinite(gradient),
            "gradient_norm": _number(self._norm(gradient)),
        }
        if self.params["batch"] < 2:
            return
        self.during = "the padded batch"
        ids, mask, labels = self._batch(self.rows, side)
        both = self._both(ids, mask, labels)
        found["padded"] = {
            "loss": _number(both["loss"]),
            "eval_loss": _number(both["eval_loss"]),
            "nonfinite_logits": both["nonfinite_logits"],
            "nonfinite_gradients": self._nonfinite(both["gradient"]),
            "gradient_norm": _number(self._norm(both["gradient"])),
            "logits_difference": _number(self._difference([both["logits"]], [logits])),
            "gradient_difference": _number(self._difference(both["gradient"], gradient)),
        }
        if side == "left":
            self.during = "the batch without its mask"
            with torch.no_grad():
                unmasked = self._forward(ids, torch.ones_like(mask), labels)
            found["control"] = _number(self._difference([self._real(unmasked.logits, mask)], [logits]))

    def _batch(self, rows: Any, side: str) -> Any:
        torch = self.torch
        longest = max(len(row) for row in rows)
        ids = torch.zeros((len(rows), longest), dtype=torch.long)
        mask = torch.zeros_like(ids)
        labels = torch.full_like(ids, IGNORED)
        for number, row in enumerate(rows):
            first = longest - len(row) if side == "left" else 0
            ids[number, first : first + len(row)] = row
            mask[number, first : first + len(row)] = 1
            # The first real token has nothing before it: on the left it would be predicted from padding.
            labels[number, first + 1 : first + len(row)] = row[1:]
        return ids.to(self.device), mask.to(self.device), labels.to(self.device)

    def _both(self, ids: Any, mask: Any, labels: Any) -> dict[str, Any]:
        """Loss, logits of real tokens and gradient in training, the loss in evaluation, and what is not finite in either."""
        torch = self.torch
        self.model.train()
        self.model.zero_grad(set_to_none=True)
        out = self._forward(ids, mask, labels)
        out.loss.backward()
        self.model.eval()
        with torch.no_grad():
            evaluated = self._forward(ids, mask, labels)
        logits = [self._real(each.logits, mask) for each in (out, evaluated)]
        return {
            "loss": float(out.loss.detach()),
            "eval_loss": float(evaluated.loss),
            "logits": logits[0],
            "nonfinite_logits": sum(int((~torch.isfinite(each)).sum()) for each in logits),
            "gradient": [torch.zeros(1) if p.grad is None else p.grad.detach().double().cpu() for p in self.model.parameters()],
        }

    def _autocast_dtype(self) -> Any:
        """What a product of float32 is computed in; an older torch goes on without float16 on a CPU, and only warns."""
        if self.params["autocast"] is None:
            return None
        square = self.torch.ones(2, 2, device=self.device)
        with self._autocast():
            return str((square @ square).dtype).replace("torch.", "")

    def _autocast(self) -> Any:
        autocast = self.params["autocast"]
        return self.torch.autocast(self.device, dtype=getattr(self.torch, autocast or "bfloat16"), enabled=autocast is not None)

    def _forward(self, ids: Any, mask: Any, labels: Any) -> Any:
        with self._autocast():
            return self.model(input_ids=ids, attention_mask=mask, labels=labels, use_cache=False)

    def _real(self, logits: Any, mask: Any) -> Any:
        """The logits of the tokens that are no padding, row after row."""
        return logits.detach()[mask.bool()].double().cpu()

    def _nonfinite(self, parts: Any) -> int:
        return sum(not bool(self.torch.isfinite(part).all()) for part in parts)

    def _norm(self, parts: Any) -> float:
        return math.sqrt(sum(float((part * part).sum()) for part in parts))

    def _difference(self, parts: Any, others: Any) -> float:
        return self._norm(list(map(sub, parts, others))) / max(self._norm(others), 1e-30)


def _number(value: float) -> Any:
    """A finite number as it is, any other as text, because JSON has no NaN."""
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)
