"""FSDP in one process: a group of ranks that is not there, of which this one is the first.

What FSDP gathers, keeps and gives back is decided by its own code; the collectives of torch's "fake" process group move nothing, and under
fake tensors there is nothing to move. CPython 3.8+; torch comes as an argument.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


class NoGroupError(Exception):
    """This torch cannot play a group of ranks; the text says why."""


def prepare(torch: Any, gpus: int) -> Any:
    """The mesh of ranks. Made before there are fake tensors: it reads values of its own."""
    try:
        fake: Any = importlib.import_module("torch.testing._internal.distributed.fake_pg")
        meshes: Any = importlib.import_module("torch.distributed.device_mesh")
        torch.distributed.init_process_group("fake", store=fake.FakeStore(), rank=0, world_size=gpus)
        return meshes.init_device_mesh("cpu", (gpus,))
    except (AttributeError, ImportError, RuntimeError, ValueError) as error:
        raise NoGroupError(f"torch {torch.__version__} has no process group to play with ({type(error).__name__})") from None


def follow_storages(torch: Any, ledger: Any) -> None:
    """What is gathered is given back by making its storage empty, which no operation tells."""
    real = torch.UntypedStorage.resize_

    def resize_(storage: Any, size: int) -> Any:
        made = real(storage, size)
        ledger.resize(storage)
        return made

    torch.UntypedStorage.resize_ = resize_


class Sharded:
    """A model shared out as accelerate does it: ``model`` to call, ``trained`` for the optimizer, ``shells`` for the dispatch mode."""

    def __init__(self, torch: Any, model: Any, params: dict[str, Any], mesh: Any) -> None:
        self.torch = torch
        self.shells: tuple[Any, ...] = ()
        self._second = bool(params["sharding"]["second"])
        self._waits = bool(params["sharding"]["waits_to_reduce"])
        dtype = getattr(torch, params["autocast"]) if params["autocast"] else None
        if dtype is not None:
            _widen(torch, model, everything=params["sharding"]["widens_all"])
        # Of a model around another one, which names none itself before transformers 5.1, those that are named inside (as peft's
        # ``_get_no_split_modules`` finds them).
        named = (getattr(module, "_no_split_modules", None) for module in model.modules())
        blocks = {name for names in named for name in names or ()}
        if self._second:
            self.model = self._by_parameter(model, blocks, dtype, mesh, apart=params["sharding"]["ends_apart"])
        else:
            self.model = self._by_block(model, blocks, dtype, adapter=params["adapter"] is not None)
        self._all = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.held = [_local(parameter) for parameter in self.model.parameters()]
        self.trained = [_local(parameter) for parameter in self._all] if self._second else self._all

    def _by_parameter(self, model: Any, blocks: set[str], dtype: Any, mesh: Any, *, apart: bool) -> Any:
        fsdp: Any = importlib.import_module("torch.distributed.fsdp")
        if not hasattr(fsdp, "fully_shard"):
            # Until torch 2.6 it had another place.
            fsdp = importlib.import_module("torch.distributed._composable.fsdp")
        tensors: Any = importlib.import_module("torch.distributed.tensor")
        self.shells = (tensors.DTensor,)
        policy = (
            fsdp.MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=dtype, output_dtype=dtype) if dtype else fsdp.MixedPrecisionPolicy()
        )
        # As fsdp2_prepare_model leaves it; children first.
        for module in reversed(list(model.modules())[1:]):
            if type(module).__name__ in blocks:
                fsdp.fully_shard(module, mesh=mesh, mp_policy=policy)
        first, last = model.get_input_embeddings(), model.get_output_embeddings()
        if apart and last is not None:
            tied = first.weight is last.weight
            if not tied:
                fsdp.fully_shard(first, mesh=mesh, mp_policy=policy)
            fsdp.fully_shard([first, last] if tied else [last], mesh=mesh, mp_policy=policy, reshard_after_forward=False)
        fsdp.fully_shard(model, mesh=mesh, mp_policy=policy)
        return model

    def _by_block(self, model: Any, blocks: set[str], dtype: Any, *, adapter: bool) -> Any:
        fsdp: Any = importlib.import_module("torch.distributed.fsdp")

        def wraps(module: Any, recurse: bool, **_: Any) -> bool:
            trained = adapter and not list(module.children()) and getattr(getattr(module, "weight", None), "requires_grad", False)
            return recurse or type(module).__name__ in blocks or bool(trained)

        precision = fsdp.MixedPrecision(param_dtype=dtype, reduce_dtype=dtype, buffer_dtype=dtype) if dtype else None
        options: dict[str, Any] = {"mixed_precision": precision, "use_orig_params": True, "device_id": self.torch.device("cpu")}
        return fsdp.FullyShardedDataParallel(model, auto_wrap_policy=wraps, **options)

    def without_reducing(self, last: bool) -> Any:
        """A context for one of several micro-batches: gradients are reduced with the last one only."""
        contexts: Any = importlib.import_module("contextlib")
        if self._second and self._waits:
            self.model.set_requires_gradient_sync(last)
        elif self._second:
            return contexts.nullcontext()
        elif not last:
            return self.model.no_sync()
        return contexts.nullcontext()

    def step(self, optimizer: Any) -> None:
        """On the local shards: what DTensor asks of itself before an operation is no memory of a GPU."""
        if self._second:
            for whole, local in zip(self._all, self.trained):  # noqa: B905
                local.grad = None if whole.grad is None else _local(whole.grad)
        optimizer.step()
        for parameter in [*self._all, *self.trained]:
            parameter.grad = None


def _local(tensor: Any) -> Any:
    to_local: Callable[[], Any] | None = getattr(tensor, "_local_tensor", None)
    return tensor if to_local is None else to_local


def _widen(torch: Any, model: Any, *, everything: bool) -> None:
    """accelerate keeps trained weights in float32 beside mixed precision, and its FSDP2 all of them before 1.13."""
    for parameter in model.parameters():
        if (everything or parameter.requires_grad) and parameter.dtype != torch.float32 and parameter.is_floating_point():
            parameter.data = parameter.data.float()
