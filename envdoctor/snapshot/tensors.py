"""The tensors of weight files, summed up so that a drift can name what became of them."""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Iterable, Mapping

from envdoctor.records import dataclass
from envdoctor.sources.model.safetensors_header import MAX_HEADER, Tensor

# A model has a few dozen kinds of tensors, however many layers; more than this is no list to read.
MOST_KINDS = 256
_PIECE = 2**20


@dataclass(frozen=True, slots=True)
class Shard:
    """One weight file without its values.

    ``header`` is the digest of its header as it stands, read without parsing; ``tensors`` is the digest over its sorted tensor
    names, dtypes and shapes, which a file written anew by another tool keeps. ``elements`` counts what is stored, by dtype in
    safetensors' own spelling.
    """

    header: str
    tensors: str
    count: int
    elements: Mapping[str, int]


def header_digest(path: str) -> str | None:
    """The digest of a safetensors header, its length included; None for a file that has none.

    Raises:
        OSError
    """
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        start = stream.read(8)
        if len(start) < 8:
            return None
        (length,) = struct.unpack("<Q", start)
        if not 0 < length <= MAX_HEADER:
            return None
        digest.update(start)
        while length > 0:
            piece = stream.read(min(length, _PIECE))
            if not piece:
                return None
            digest.update(piece)
            length -= len(piece)
    return digest.hexdigest()[:32]


def tensors_digest(tensors: Mapping[str, Tensor]) -> str:
    """One digest of names, dtypes and shapes: the same for the same tensors, however they are spread and ordered."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{json.dumps(name)} {tensor.dtype} {list(tensor.shape)}\n".encode())
    return digest.hexdigest()[:32]


def short_digest(data: bytes) -> str:
    """The first 128 bits of a SHA-256, as hex digits: what is compared and not looked up elsewhere."""
    return hashlib.sha256(data).hexdigest()[:32]


def kinds_of(tensors: Iterable[tuple[str, Tensor]]) -> dict[str, str]:
    """The tensors by their names with ``*`` for every number: the shape of a model on one page.

    ``{"layers.*.attn.q_proj.weight": "BF16 [4096, 4096] x32"}``; more than MOST_KINDS are counted under ``…``.
    """
    found: dict[str, Counter[str]] = {}
    for name, tensor in tensors:
        pattern = ".".join("*" if part.isdecimal() else part for part in name.split("."))
        found.setdefault(pattern, Counter())[f"{tensor.dtype} {list(tensor.shape)}"] += 1
    told = {name: _counted(found[name]) for name in sorted(found)[:MOST_KINDS]}
    if len(found) > MOST_KINDS:
        told["…"] = f"{len(found) - MOST_KINDS} more"
    return told


def _counted(counts: Counter[str]) -> str:
    shown = [f"{what} x{count}" if count > 1 else what for what, count in sorted(counts.items())[:4]]
    return ", ".join(shown) + (f" and {len(counts) - 4} more" if len(counts) > 4 else "")
