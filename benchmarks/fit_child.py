"""In an interpreter with torch, transformers and peft: plans under fake tensors, one fork for each, imported once.

    PYTHON benchmarks/fit_child.py FAKE_STEP < plans > answers

Every line is the parameters of one run of envdoctor/memory/children/fake_step.py, and every answer one line. A fork, because such a run
puts stand-ins into torch.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import sys
from typing import Any

SECONDS = 240


def main() -> None:
    torch: Any = importlib.import_module("torch")
    for name in ("transformers", "transformers.modeling_utils", "peft", "torch._subclasses.fake_tensor", "torch.utils._python_dispatch"):
        importlib.import_module(name)
    torch.set_num_threads(1)
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            # Of its own time: a busy machine is no refusal.
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            _answer(torch, json.loads(line), writing)
        os.close(writing)
        with os.fdopen(reading) as stream:
            told = stream.read()
        os.waitpid(child, 0)
        print(told.strip() or json.dumps({"refused": "it ended without a result"}), flush=True)


def _answer(torch: Any, params: dict[str, Any], writing: int) -> None:
    os.dup2(2, 1)
    experts = params.pop("experts", 0)
    if experts:
        _even_experts(torch, experts)
    try:
        measured = runpy.run_path(sys.argv[1])["run"](params, lambda _: None)
    except (ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, RuntimeError, TypeError, ValueError) as error:
        measured = {"refused": f"{type(error).__name__}: {error}"[:300]}
    with os.fdopen(writing, "w") as stream:
        stream.write(json.dumps(measured))
    os._exit(0)


def _even_experts(torch: Any, experts: int) -> None:
    """Which rows go to which expert depends on values: every expert is given its even share. Nor is a batch of one length packed."""
    nonzero, where = torch.Tensor.nonzero, torch.where

    def chosen(self: Any, *args: Any, **options: Any) -> Any:
        return list(range(experts)) if tuple(self.shape) == (experts,) else nonzero(self, *args, **options)

    def rows(condition: Any, *args: Any, **options: Any) -> Any:
        if args or options:
            return where(condition, *args, **options)
        found = torch.zeros(condition.numel() // experts, dtype=torch.long)
        return found, found.clone()

    torch.Tensor.nonzero, torch.where = chosen, rows
    try:
        masks: Any = importlib.import_module("transformers.masking_utils")
    except ImportError:
        return
    masks.find_packed_sequence_indices = lambda *_: None


if __name__ == "__main__":
    main()
