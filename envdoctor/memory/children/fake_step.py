"""Two optimizer steps of a plan on the real architecture under fake tensors: the most that is allocated, when, and for what.

CPython 3.8+, the patient's torch (2.1 or later), transformers and peft; no weights, no GPU. What is measured: ``versions``,
``moments`` (each ``name``, ``allocated``, ``reserved`` and ``terms`` in bytes), ``allocated`` and ``reserved`` (the most of each),
``trainable`` and ``parameters``; or ``refused``, the reason why it was not tried. With ``debug`` also what lives at each peak and
what is kept at the end of the first forward.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import os
import runpy
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

# cuBLAS keeps one workspace for each thread that multiplies matrices: the one that computes forward and that of the backward
# engine (aten/src/ATen/cuda/CublasHandlePool.cpp: 4096 KiB x 2 + 16 KiB x 8).
WORKSPACE = 2 * 4096 * 1024 + 8 * 16 * 1024
HELPERS = ("allocator", "tracker", "kernels", "autocast", "quantized", "optimizers", "real_model", "sharded", "pieces")


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    here = os.path.dirname(os.path.abspath(__file__))
    helpers = {name: runpy.run_path(os.path.join(here, name + ".py")) for name in HELPERS}
    fake: Any = importlib.import_module("torch._subclasses.fake_tensor")
    try:
        return _Run(torch, helpers, params, stage).measure()
    except helpers["real_model"]["RefusedError"] as reason:
        return {"refused": str(reason)}
    except (fake.DynamicOutputShapeException, fake.DataDependentOutputException) as error:
        return {"refused": f"its code looks at the values of tensors, which fake ones do not have ({error.func})"}
    except fake.UnsupportedOperatorException as error:
        return {"refused": f"it uses an operation that fake tensors do not know ({error.func})"}


class _Run:
    def __init__(self, torch: Any, helpers: dict[str, Any], params: dict[str, Any], stage: Callable[[str], None]) -> None:
        self.torch = torch
        self.helpers = helpers
        self.params = params
        self.stage = stage
        self.debug = bool(params.get("debug"))
        self.ledger = helpers["tracker"]["Ledger"](helpers["allocator"]["Allocator"](), self.debug)
        self.path: list[str] = []
        self.shapes: set[tuple[int, ...]] = set()
        self.vocabulary = -1
        self.in_head = False
        self.forward_end: Any = None

    def measure(self) -> dict[str, Any]:
        torch, params = self.torch, self.params
        build = self.helpers["real_model"]
        if build["release"](torch.__version__) < (2, 1):
            raise build["RefusedError"](f"torch {torch.__version__}: fake tensors keep track of storages from torch 2.1 on")
        fake_tensor: Any = importlib.import_module("torch._subclasses.fake_tensor")
        importlib.import_module("torch.utils._python_dispatch")
        self.stage("importing transformers")
        planned = self.planned = build["Plan"](torch, params)
        attend = self.helpers["kernels"]["install"](torch)
        build["simple_conversions"](torch)
        build["one_sequence_a_row"]()
        library = self.helpers["autocast"]["install"](torch) if params["autocast"] else None
        torch.set_num_threads(1)
        self.mesh = self._ranks()
        with fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
            self.stage("building the model")
            model = planned.build()
            build["install_flash"](torch, attend, model)
            self._settle(model)
            # What was imported stays: the collector need not look through it again and again.
            gc.freeze()
            self._train(model)
        del library
        return self._told(model)

    def _ranks(self) -> Any:
        if params := self.params.get("sharding"):
            sharded = self.helpers["sharded"]
            try:
                mesh = sharded["prepare"](self.torch, params["gpus"])
            except sharded["NoGroupError"] as error:
                raise self.helpers["real_model"]["RefusedError"](str(error)) from None
            sharded["follow_storages"](self.torch, self.ledger)
            return mesh
        return None

    def _settle(self, model: Any) -> None:
        """Count the base model as it lies on the GPU before adapters are put in."""
        params, quantized = self.params, self.helpers["quantized"]
        self.vocabulary = int(getattr(model.config, "vocab_size", -1))
        if params["quant"] == "4bit":
            compute = getattr(self.torch, params["autocast"] or params["dtype"])
            quantized["quantize"](self.torch, model, compute, params["double_quant"], self.ledger)
        if params["upcast"]:
            quantized["upcast"](self.torch, model, params["upcast"] == "norms")
        # What is shared out is loaded on the CPU, and each GPU gets its part.
        for tensor in [] if self.mesh is not None else list(model.parameters()) + list(model.buffers()):
            self.ledger.take(tensor, "weights", ("weight", tuple(tensor.shape), str(tensor.dtype), "") if self.debug else None)

    def _train(self, base: Any) -> None:
        torch, params, ledger = self.torch, self.params, self.ledger
        build, tracker = self.helpers["real_model"], self.helpers["tracker"]
        model = self.base = base
        if params["adapter"] is not None:
            self.stage("putting adapters in")
            model = build["adapt"](base, params["adapter"], self.planned.classifies)
            for name, tensor in [] if self.mesh is not None else model.named_parameters():
                ledger.take(tensor, "adapters", (name, tuple(tensor.shape), str(tensor.dtype), "") if self.debug else None)
        if params["checkpointing"]:
            asked = {} if params.get("reentrant") is None else {"gradient_checkpointing_kwargs": {"use_reentrant": params["reentrant"]}}
            model.gradient_checkpointing_enable(**asked)
            if params["adapter"] is not None:
                model.enable_input_require_grads()
        shared = None
        if self.mesh is not None:
            self.stage("sharing it out")
            shared = self.helpers["sharded"]["Sharded"](torch, model, params, self.mesh)
            model = shared.model
            for tensor in shared.held:
                ledger.take(tensor, "weights", ("shard", tuple(tensor.shape), str(tensor.dtype), "") if self.debug else None)
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad] if shared is None else shared.trained
        self.trained = trained
        self.shapes = {tuple(parameter.shape) for parameter in trained}
        if params.get("ddp"):
            ledger.hold(sum(parameter.numel() * parameter.element_size() for parameter in trained), "gradients")
        for parameter in trained if shared is None else []:
            parameter.register_post_accumulate_grad_hook(self._accumulated)
        optimizer = self.helpers["optimizers"]["make"](torch, params["optimizer"], trained, build["RefusedError"])
        self._watch_head(base)
        if self.debug:
            self._watch_modules(base)
        extra = _counts(base, self.planned.release)
        shells = () if shared is None else shared.shells
        mode = tracker["mode"](torch, ledger, self._term, lambda: self.path[-1] if self.path else "", shells)
        with mode:
            for step in range(2):
                self.stage(f"step {step + 1}: forward and backward")
                batches = 2 if params["accumulation"] > 1 and step else 1
                for batch in range(batches):
                    with nullcontext() if shared is None else shared.without_reducing(batch + 1 == batches):
                        self._micro_batch(model, extra)
                self.stage(f"step {step + 1}: optimizer")
                ledger.enter("optimizer step")
                if shared is not None:
                    shared.step(optimizer)
                    continue
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

    def _micro_batch(self, model: Any, extra: bool) -> None:
        torch, params, ledger = self.torch, self.params, self.ledger
        build = self.helpers["real_model"]
        ledger.enter("forward")
        shape = (params["rows"], params["tokens"])
        labels = shape[:1] if self.planned.classifies else shape
        batch = {"input_ids": torch.zeros(shape, dtype=torch.long), "labels": torch.zeros(labels, dtype=torch.long)}
        # FlashAttention-2 cuts the padding away, and keeps no mask.
        if params["mask"] and params["attention"] != "flash_attention_2":
            batch["attention_mask"] = torch.ones(shape, dtype=torch.long)
        if self.planned.tells_pictures:
            batch["token_type_ids"] = torch.zeros(shape, dtype=torch.long)
        loss = self._loss(model, batch, extra)
        if self.debug and self.forward_end is None:
            self.forward_end = len(ledger.events)
        if not hasattr(self, "workspaces"):
            self.workspaces = [ledger.hold(WORKSPACE, "other")]
        if params["attention"] == "flash_attention_2" and self.planned.release >= (4, 48) and not getattr(self.base, "played", False):
            raise build["RefusedError"]("this model has a FlashAttention-2 of its own in this release, which only the package can run")
        del batch
        self.in_head = False
        ledger.enter("backward")
        if len(self.workspaces) < 2:
            self.workspaces.append(ledger.hold(WORKSPACE, "other"))
        loss.backward()

    def _loss(self, model: Any, batch: dict[str, Any], extra: bool) -> Any:
        """The loss as the Trainer of transformers takes it: what else the model returned dies here, unless a plain loop holds it."""
        torch, kept = self.torch, bool(self.params.get("outputs_kept"))
        if self.params.get("loss_rows"):
            return self._in_pieces(batch)
        options = {"num_items_in_batch": 100} if extra and not kept else {}
        if self.params["autocast"] is None:
            outputs = model(**batch, **options)
        else:
            with torch.autocast("cpu", dtype=getattr(torch, self.params["autocast"])):
                outputs = model(**batch, **options)
            if not kept:
                # accelerate gives all that a model returns back in float32.
                outputs = {name: value.float() if isinstance(value, torch.Tensor) else value for name, value in outputs.items()}
        loss = outputs["loss"]
        if kept:
            self.outputs = outputs
        return loss / self.params["accumulation"] if self.params["accumulation"] > 1 and not options else loss

    def _in_pieces(self, batch: dict[str, Any]) -> Any:
        torch, params = self.torch, self.params
        dtype = params["autocast"]
        with nullcontext() if dtype is None else torch.autocast("cpu", dtype=getattr(torch, dtype)):
            loss = self.helpers["pieces"]["loss"](torch, self.base, batch, params["loss_rows"], params["loss_way"] == "float32")
        return loss / params["accumulation"]

    def _accumulated(self, parameter: Any) -> None:
        self.ledger.call(parameter.grad, "gradients")

    def _watch_head(self, base: Any) -> None:
        head = base.get_output_embeddings()
        if head is not None:
            head.register_forward_pre_hook(lambda *_: self._enter_head())

    def _enter_head(self) -> None:
        if self.ledger.moment == "forward":
            self.in_head = True
            self.ledger.enter("loss")

    def _watch_modules(self, base: Any) -> None:
        for name, module in base.named_modules():
            module.register_forward_pre_hook(lambda *_, name=name: self.path.append(name))
            module.register_forward_hook(lambda *_: (self.path.pop(), None)[1])

    def _term(self, func: Any, tensor: Any) -> str:
        moment = self.ledger.moment
        shape = tensor.shape
        if moment == "optimizer step":
            return "optimizer"
        if self.in_head or (len(shape) > 1 and shape[-1] == self.vocabulary and tuple(shape) not in self.shapes):
            return "logits"
        if moment == "backward" and tuple(shape) in self.shapes:
            return "gradients"
        return "activations"

    def _told(self, model: Any) -> dict[str, Any]:
        ledger = self.ledger
        names = ("loading", "forward", "loss", "backward", "optimizer step")
        parameters = list(model.parameters())
        measured: dict[str, Any] = {
            "versions": _versions(),
            "moments": [
                {"name": name, **{key: ledger.peaks[name][key] for key in ("allocated", "reserved", "terms")}}
                for name in names
                if name in ledger.peaks
            ],
            "allocated": ledger.allocator.most_allocated,
            "reserved": ledger.allocator.most_reserved,
            "parameters": sum(parameter.numel() for parameter in parameters),
            "trainable": sum(parameter.numel() for parameter in parameters if parameter.requires_grad),
        }
        if self.debug:
            measured["debug"] = self._debugged()
        return measured

    def _debugged(self) -> dict[str, Any]:
        ledger = self.ledger
        found: dict[str, Any] = {}
        for name, peak in ledger.peaks.items():
            found["top at " + name] = [[size, *made] if made else [size] for size, *made in ledger.lived(peak["event"])[:15]]
        found["saved at forward end"] = [each for each in ledger.lived(self.forward_end) if each[-1] in ("activations", "logits")]
        return found


def _counts(base: Any, release: tuple[int, int]) -> bool:
    """Whether the Trainer gives the model the number of items of a batch, from 4.46 on, so that it sums the loss."""
    if release < (4, 46):
        return False
    if hasattr(base, "accepts_loss_kwargs"):
        return bool(base.accepts_loss_kwargs)
    # Some classes take others only to warn of arguments that they once had.
    more = [each.name for each in inspect.signature(base.forward).parameters.values() if each.kind is each.VAR_KEYWORD]
    return bool(more) and more != ["deprecated_arguments"]


def _versions() -> dict[str, str]:
    return {name: str(sys.modules[name].__version__) for name in ("torch", "transformers", "peft") if name in sys.modules}
