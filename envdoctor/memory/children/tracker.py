"""Which storages live, for what, and how much that is: a dispatch mode that sees every operation on fake tensors.

A child reads this file by its path, since its directory is no place to import from. CPython 3.8+; torch comes as an argument.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

TERMS = ("weights", "adapters", "gradients", "optimizer", "activations", "logits", "other")


class Entry:
    """One live storage."""

    __slots__ = ("block", "made", "number", "reference", "term")

    def __init__(self, block: Any, term: str, number: int, made: Any, reference: Any) -> None:
        self.block = block
        self.term = term
        self.number = number
        self.made = made
        self.reference = reference


class Ledger:
    """Live storages by term, and for each moment of a run the most that lived at once and for what.

    ``logged``: keep every event, so that what lived at a peak can be told afterwards.
    """

    def __init__(self, allocator: Any, logged: bool = False) -> None:
        self.allocator = allocator
        self.live: dict[int, Entry] = {}
        self.by_term = dict.fromkeys(TERMS, 0)
        self.moment = "loading"
        self.peaks: dict[str, dict[str, Any]] = {}
        self.events: list[tuple[int, bool, str, int]] = []
        self.made: dict[int, Any] = {}
        self.logged = logged
        self._count = 0

    def enter(self, moment: str) -> None:
        self.moment = moment
        self._note()

    def take(self, tensor: Any, term: str, made: Any = None) -> None:
        """Count the storage of a tensor, once."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.live:
            return
        size = storage.nbytes()
        if not size:
            return
        block = self.allocator.allocate(size)
        self._count += 1
        # The callback must not hold the storage, nor the entry that holds the reference.
        entry = Entry(block, term, self._count, made, None)
        entry.reference = weakref.ref(storage, self._leaver(key))
        self.live[key] = entry
        self.by_term[term] += block.size
        if self.logged:
            self.made[self._count] = (size, made)
            self.events.append((self._count, True, term, block.size))
        self._note()

    def is_live(self, tensor: Any) -> bool:
        return tensor.untyped_storage()._cdata in self.live

    def resize(self, storage: Any) -> None:
        """A storage that was counted has another size now: FSDP gives what it gathered back by making its storage empty."""
        entry = self.live.get(storage._cdata)
        if entry is None or entry.block.size == (size := storage.nbytes()):
            return
        self.by_term[entry.term] -= entry.block.size
        self.allocator.release(entry.block)
        entry.block = self.allocator.allocate(size)
        self.by_term[entry.term] += entry.block.size
        if self.logged:
            self.events.append((entry.number, bool(size), entry.term, entry.block.size))
        self._note()

    def call(self, tensor: Any, term: str) -> None:
        """Say for what a storage is that was counted for something else."""
        entry = self.live.get(tensor.untyped_storage()._cdata)
        if entry is not None and entry.term != term:
            self.by_term[entry.term] -= entry.block.size
            self.by_term[term] += entry.block.size
            entry.term = term

    def hold(self, size: int, term: str, made: Any = None) -> Any:
        """Memory that no tensor tells of: a workspace. To be given back with ``drop``."""
        block = self.allocator.allocate(size)
        self.by_term[term] += block.size
        self._count += 1
        if self.logged:
            self.made[self._count] = (size, made)
            self.events.append((self._count, True, term, block.size))
        self._note()
        return block, term, self._count

    def drop(self, held: Any) -> None:
        block, term, number = held
        self.by_term[term] -= block.size
        if self.logged:
            self.events.append((number, False, term, block.size))
        self.allocator.release(block)

    def _leaver(self, key: int) -> Callable[[Any], None]:
        def leave(_: Any) -> None:
            entry = self.live.pop(key, None)
            if entry is not None:
                self.by_term[entry.term] -= entry.block.size
                if self.logged:
                    self.events.append((entry.number, False, entry.term, entry.block.size))
                self.allocator.release(entry.block)

        return leave

    def _note(self) -> None:
        peak = self.peaks.get(self.moment)
        if peak is None or self.allocator.allocated > peak["allocated"]:
            self.peaks[self.moment] = {
                "allocated": self.allocator.allocated,
                "reserved": self.allocator.reserved,
                "terms": dict(self.by_term),
                "event": len(self.events),
            }

    def lived(self, event: int) -> list[tuple[int, Any]]:
        """Size and origin of what lived after so many events, the largest first. Needs ``logged``."""
        numbers: dict[int, str] = {}
        for number, came, term, _ in self.events[:event]:
            if came:
                numbers[number] = term
            else:
                numbers.pop(number, None)
        return sorted(((*self.made[number], term) for number, term in numbers.items()), key=lambda each: -each[0])


def tensors(torch: Any, value: Any) -> Iterable[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors(torch, each)


def mode(torch: Any, ledger: Ledger, term: Callable[[Any, Any], str], where: Callable[[], str], shells: tuple[Any, ...] = ()) -> Any:
    """A dispatch mode that counts what operations make; ``term`` says for what, given the operation and the tensor.

    ``shells`` are classes of tensors that hold another one and are none themselves: what they do to that one is seen in its turn.
    """
    base: Any = torch.utils._python_dispatch.TorchDispatchMode
    add = torch.ops.aten.add.Tensor
    add_in_place = torch.ops.aten.add_.Tensor
    put, put_in_place = torch.ops.aten.index_put.default, torch.ops.aten.index_put_.default
    value = torch.ops.aten._local_scalar_dense.default
    softmax_backward = torch.ops.aten._softmax_backward_data.default
    # How many hold a storage: the tensor, and the object that asks.
    uses = getattr(torch._C, "_storage_Use_Count", lambda _: 0)

    class Mode(base):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if shells and any(issubclass(one, shells) for one in types):
                return NotImplemented
            if func is add and not kwargs and ledger.moment == "backward" and not torch.is_grad_enabled() and _sums(args):
                # The engine adds up gradients of one tensor in place, but never those of tensor subclasses.
                return add_in_place(*args)
            if func is put and ledger.moment == "backward" and not torch.is_grad_enabled():
                # So does the backward of an index with the zeros that it has just made (index_backward, FunctionsManual.cpp).
                return put_in_place(*args, **(kwargs or {}))
            if func is value and args[0].dtype == torch.bool:
                # Code asks whether a mask is all ones, or whether something is infinite: a padded batch of finite numbers says no.
                return False
            if func is softmax_backward:
                return self._softmax_backward(func, args, kwargs)
            made = func(*args, **(kwargs or {}))
            if isinstance(made, torch.Tensor):
                self._count(func, made)
            elif isinstance(made, (tuple, list)):
                for tensor in tensors(torch, made):
                    self._count(func, tensor)
            return made

        def _softmax_backward(self, func: Any, args: Any, kwargs: Any) -> Any:
            """CUDA's kernel multiplies gradient and result into a tensor of its own first (``tmp``, ATen/native/cuda/SoftMax.cu)."""
            held = ledger.hold(args[0].numel() * args[0].element_size(), "activations")
            made = func(*args, **(kwargs or {}))
            self._count(func, made)
            ledger.drop(held)
            return made

        def _count(self, func: Any, tensor: Any) -> None:
            if not ledger.is_live(tensor):
                origin = (str(func), tuple(tensor.shape), str(tensor.dtype), where()) if ledger.logged else None
                ledger.take(tensor, term(func, tensor), origin)

    def _sums(args: Any) -> bool:
        one, other = args[0], args[1]
        return (
            isinstance(one, torch.Tensor)
            and isinstance(other, torch.Tensor)
            and one.shape == other.shape
            and one.dtype == other.dtype
            and one.dim() > 0
            and uses(one.untyped_storage()._cdata) <= 2
        )

    return Mode()
