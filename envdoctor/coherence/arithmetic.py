"""Whether config.json describes the weights that lie beside it: the shapes of their tensors, and how many layers there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from envdoctor.coherence.families import Known, dimensions, foreign_prefix, kinds, recognise
from envdoctor.coherence.layouts import KEYS
from envdoctor.facts.fact import Defect, Facts
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field
from envdoctor.sources.model.safetensors_header import Tensor
from envdoctor.sources.model.snapshot import Snapshot, table_of

FLOATS = frozenset(("F16", "BF16", "F32", "F64"))
# Absent tensors are counted up to here: a number in config.json may be anything.
_MOST_ABSENT = 10_000


def shapes_and_layers(snapshot: Snapshot, _facts: Facts) -> Iterable[Defect]:
    """The tensors that are not shaped as config.json says, those that it promises and that are absent, and layers too many."""
    known = recognise(snapshot)
    if known is None:
        prefix = foreign_prefix(snapshot)
        if prefix is not None:
            told = table_of(snapshot.config).get("model_type")
            detail = f"every tensor is called {prefix}…, and a {plain(str(told))} has none of that name: transformers loads none of them"
            yield Defect("snapshot-tensors-missing", detail, snapshot.directory.place(snapshot.weights.file))
        return
    compared = _compare(known, snapshot.weights.tensors)
    if compared.wrong:
        yield _misshapen(snapshot, known, compared)
    if not snapshot.weights.whole or known.layers is None or not compared.layers:
        return
    if compared.absent or len(compared.layers) < known.layers:
        yield _absent(snapshot, known, compared)
    more = _beyond(known, snapshot.weights.tensors)
    if more:
        detail = f"config.json counts {known.layers} layers and there are weights for {known.layers + more}: the last {more} are left out"
        yield _defect(snapshot, "snapshot-layers-beyond-config", detail, known.family.count)


CHECKS = (shapes_and_layers,)


@dataclass(slots=True)
class _Compared:
    """Wrong tensors by kind (the first, the shape that it should have, how many), names of absent ones, numbers of the layers."""

    layers: list[int]
    wrong: dict[str, tuple[Tensor, tuple[str, ...], int]] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)


def _compare(known: Known, tensors: Mapping[str, Tensor]) -> _Compared:
    lengths = dimensions(known)
    compared = _Compared([number for number in range(min(known.layers or 0, len(tensors))) if _has_layer(known, tensors, number)])
    right: dict[tuple[str, ...], tuple[int | None, ...]] = {}
    # config.json may count any number of experts; of a model that is whole, never as many names are expected as this.
    most = 2 * len(tensors) + _MOST_ABSENT
    for name, kind, shape, always in islice(_expected(known, tensors, compared.layers, lengths.get("experts", 0)), most):
        tensor = tensors.get(name)
        if tensor is None:
            if always and not known.packed:
                compared.absent.append(name)
                if len(compared.absent) >= _MOST_ABSENT:
                    break
            continue
        wanted = right.get(shape)
        if wanted is None:
            wanted = right[shape] = tuple(map(lengths.get, shape))
        if tensor.shape != wanted and not _may_be(tensor, wanted, known, shape):
            first, _, count = compared.wrong.get(kind, (tensor, shape, 0))
            compared.wrong[kind] = first, shape, count + 1
    return compared


def _may_be(tensor: Tensor, wanted: tuple[int | None, ...], known: Known, shape: tuple[str, ...]) -> bool:
    """Whether a shape that is not the wanted one is none to judge: a dimension is not known, or the values are packed."""
    if tensor.dtype not in FLOATS or 0 in tensor.shape or (known.packed and len(shape) > 1):
        return True
    return len(wanted) == len(tensor.shape) and all(b is None or a == b for a, b in zip(tensor.shape, wanted, strict=True))


def _expected(
    known: Known, tensors: Mapping[str, Tensor], layers: list[int], experts: int
) -> Iterator[tuple[str, str, tuple[str, ...], bool]]:
    """Name, kind, shape, and whether it must be there, of the tensors of these layers.

    Experts may also be stored as one tensor for all: they are looked for where a layer has the first of them.
    """
    tied = known.config.get("tie_word_embeddings", known.family.tied) is True and known.head in tensors
    yield known.embedding, known.family.embedding, ("vocabulary", known.family.width), not tied
    if known.family.norm:
        yield known.root + known.family.norm, known.family.norm, ("hidden",), True
    layer, expert = kinds(known.family.layer), kinds(known.family.expert)
    for number in layers:
        at = f"{known.root}{known.family.layers}{number}."
        for kind, shape, always in layer:
            yield at + kind, kind, shape, always
        if not expert or at + expert[0][0].replace("{}", "0") not in tensors:
            continue
        for kind, shape, always in expert:
            before, _, after = (at + kind).partition("{}")
            for which in range(experts):
                yield f"{before}{which}{after}", kind, shape, always


def _has_layer(known: Known, tensors: Mapping[str, Tensor], number: int) -> bool:
    at = f"{known.root}{known.family.layers}{number}."
    return any(at + kind in tensors for kind, _, _ in kinds(known.family.layer))


def _misshapen(snapshot: Snapshot, known: Known, compared: _Compared) -> Defect:
    lengths = dimensions(known)
    told: list[str] = []
    keys: list[str] = []
    for kind, (tensor, shape, count) in compared.wrong.items():
        wanted = [lengths.get(dimension) for dimension in shape]
        where = f" ({count} of them)" if count > 1 else ""
        told.append(f"{kind.replace('{}', 'N')}{where} is {_shown(tensor.shape)}, config.json makes it {_shown(wanted)}")
        wrong = [name for a, b, name in zip(tensor.shape, wanted, shape, strict=False) if b is not None and a != b]
        keys += [key for name in wrong for key in KEYS.get(name, ()) if known.number(key)]
    key = max(dict.fromkeys(keys), key=keys.count, default="")
    more = f"; and {len(told) - 3} more kinds of tensor" if len(told) > 3 else ""
    return _defect(snapshot, "snapshot-shape-not-of-config", "; ".join(told[:3]) + more, key)


def _shown(shape: Iterable[int | None]) -> str:
    return f"[{', '.join('?' if length is None else str(length) for length in shape)}]"


def _absent(snapshot: Snapshot, known: Known, compared: _Compared) -> Defect:
    told: list[str] = []
    lacking = (known.layers or 0) - len(compared.layers)
    if lacking:
        there = set(compared.layers)
        first = next(number for number in range(len(there) + 1) if number not in there)
        told.append(f"config.json counts {known.layers} layers and {lacking} of them have no weights, layer {first} is the first")
    if compared.absent:
        names = ", ".join(plain(name, 80) for name in compared.absent[:3])
        more = f" and {len(compared.absent) - 3} more" if len(compared.absent) > 3 else ""
        told.append(f"a {known.kind} has {names}{more}, which no file holds")
    return _defect(snapshot, "snapshot-tensors-missing", "; ".join(told), known.family.count if lacking else "")


def _beyond(known: Known, tensors: Mapping[str, Tensor]) -> int:
    """How many layers follow the last one of the model, where that is not normal."""
    if known.family.beyond or known.layers is None or any("nextn" in key or "mtp" in key for key in known.config):
        return 0
    more = 0
    while _has_layer(known, tensors, known.layers + more):
        more += 1
    return more


def _defect(snapshot: Snapshot, rule: str, detail: str, key: str) -> Defect:
    return Defect(rule, detail, snapshot.directory.place("config.json"), snapshot.config.line_of(key) if key else None)
