"""What a run logs, and whether it tells of a fault.

Two things look like faults and are none. A gradient scaler of float16 training starts at 65536 and halves until nothing overflows: until
then gradients are infinite or NaN. And a loss is logged with four decimals: one that falls below 0.00005 is written as 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

# A loss that falls to 0.0 from above this fell in one step; one from below it was rounded.
CLIFF = 0.01
# 2 ** 16, where a gradient scaler starts, is halved to 1 in as many steps.
SCALER_STEPS = 17
# Less than this between two samples is neither growth nor release (bytes).
STILL = 1 << 20


@dataclass(frozen=True)
class Symptom:
    """``kind`` is one of loss-nan, loss-zero, gradient-nan, gradient-zero and memory-growth; ``step`` is the optimizer step."""

    kind: str
    step: int
    words: str


class LossWatch:
    """Loss and gradient norm, log by log.

    ``patience`` is how many logs in a row must tell of NaN or zero gradients, or of a zero loss from the start. With ``fp16`` the
    logs of NaN gradients must also span more steps than a gradient scaler needs to find its scale.
    """

    def __init__(self, patience: int, fp16: bool) -> None:
        self.patience = patience
        self.fp16 = fp16
        self.last_loss: float | None = None
        self.was_above = False
        self.nan_gradients: list[int] = []
        self.zero_gradients: list[int] = []
        self.zero_losses: list[int] = []

    def logged(self, step: int, logs: Mapping[str, Any]) -> Symptom | None:
        """What this log tells, after those before it."""
        for name in ("loss", "eval_loss"):
            value = number(logs.get(name))
            if value is not None and not math.isfinite(value):
                return Symptom("loss-nan", step, f"{name} is {value}")
        loss, norm = number(logs.get("loss")), number(logs.get("grad_norm"))
        if loss is None and norm is None:
            return None
        # Reinforcement learning has a loss and a gradient of zero where all rewards of a batch are equal.
        rewarded = any(str(name).startswith("reward") for name in logs)
        symptom = self._of_gradient(step, loss, norm, rewarded) or self._of_loss(step, loss, norm, rewarded)
        if loss is not None:
            self.last_loss = loss
            self.was_above = self.was_above or loss > 0.0
        return symptom

    def _of_gradient(self, step: int, loss: float | None, norm: float | None, rewarded: bool) -> Symptom | None:
        if norm is None:
            return None
        nan = not math.isfinite(norm)
        self.nan_gradients = [*self.nan_gradients, step] if nan else []
        self.zero_gradients = [*self.zero_gradients, step] if norm == 0.0 and not rewarded else []
        if nan and loss == 0.0:
            return Symptom("loss-zero", step, f"loss is 0.0 and grad_norm {norm}: NaN, which the trainer's filter logs as 0")
        long = not self.fp16 or (len(self.nan_gradients) > 0 and step - self.nan_gradients[0] >= SCALER_STEPS)
        if len(self.nan_gradients) >= self.patience and long:
            return Symptom("gradient-nan", step, f"grad_norm is {norm} in {len(self.nan_gradients)} logs in a row")
        if len(self.zero_gradients) >= self.patience:
            return Symptom("gradient-zero", step, f"grad_norm is 0.0 in {len(self.zero_gradients)} logs in a row: nothing is learned")
        return None

    def _of_loss(self, step: int, loss: float | None, norm: float | None, rewarded: bool) -> Symptom | None:
        # A gradient that is there belongs to a loss that was only rounded.
        if loss is None or loss != 0.0 or rewarded or (norm is not None and norm != 0.0):
            self.zero_losses = []
            return None
        self.zero_losses = [*self.zero_losses, step]
        if norm is None and self.last_loss is not None and self.last_loss >= CLIFF:
            return Symptom("loss-zero", step, f"loss fell from {self.last_loss} to exactly 0.0")
        if len(self.zero_losses) >= self.patience and not self.was_above:
            return Symptom("loss-zero", step, f"loss is exactly 0.0 in all {len(self.zero_losses)} logs")
        return None


class MemoryWatch:
    """Memory between steps, sample by sample, in bytes.

    ``rises`` is how many times it must have grown without being released, and ``growth`` by how much in all. The first sample is
    left out: optimizer states are made in the first step.
    """

    def __init__(self, rises: int, growth: int) -> None:
        self.rises = rises
        self.growth = growth
        self.samples = 0
        self.series: list[int] = []

    def sampled(self, step: int, used: int | None) -> Symptom | None:
        """What this sample tells, after those before it."""
        if used is None:
            return None
        self.samples += 1
        if self.samples == 1:
            return None
        if not self.series or used < self.series[-1] - STILL:
            self.series = [used]
        elif used > self.series[-1] + STILL:
            self.series.append(used)
        grown = self.series[-1] - self.series[0]
        if len(self.series) <= self.rises or grown < self.growth:
            return None
        words = f"memory grew {len(self.series) - 1} times without release, from {gib(self.series[0])} to {gib(self.series[-1])}"
        return Symptom("memory-growth", step, words)


class Told:
    """Each kind of symptom once."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()

    def is_new(self, symptom: Symptom) -> bool:
        new = symptom.kind not in self.kinds
        self.kinds.add(symptom.kind)
        return new


def gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"


def number(value: Any) -> float | None:
    """A number as logged, numpy's and a tensor's too (DeepSpeed's gradient norm is one in some releases); everything else is none."""
    if callable(getattr(value, "numel", None)) and value.numel() == 1:
        value = value.item()
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
