"""The weight files of a snapshot, judged by names, sizes and headers; their data is never read."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

from envdoctor.facts.fact import Defect
from envdoctor.files.json_file import Document, JsonError, parse_json, parsed_bytes
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field
from envdoctor.sources.model.model_directory import ModelDirectory, is_lfs_pointer, pointer_size
from envdoctor.sources.model.safetensors_header import (
    MEMORY,
    Header,
    InvalidHeaderError,
    Tensor,
    TooLargeError,
    TruncatedError,
    header_of,
)

Format = Literal["safetensors", "pickle", "gguf", "none"]

_READ_BESIDES = (".model", ".json", "merges.txt", "vocab.txt", ".tiktoken", ".py", ".jinja", ".vocab")
# What a run notes of itself no library reads when it loads the model.
_OF_A_RUN = ("trainer_state.json", "_results.json")
# A pointer of git-lfs is a text of less than 1024 bytes (its specification).
_POINTER_LIMIT = 1024
_INDEX_LIMIT = 48 * 2**20
# What CPython takes for a name in a dictionary, for the dtype and shape of a tensor that no other tensor has, and for each of its sizes.
_NAME_BYTES, _SHAPE_BYTES, _SIZE_BYTES = 160, 180, 44

_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
# Layers that predict further tokens, which transformers does not build: a published index names some that no file holds
# (https://github.com/huggingface/huggingface_hub/issues/4725). The frequencies of rotary positions are computed anew.
_NOT_LOADED = re.compile(r"(?:^|\.)mtp\.|rotary_emb\.inv_freq$")
# The output layers that are the embedding where it is tied.
_HEAD = re.compile(r"(?:^|\.)(?:lm_head|embed_out)\.weight$")


@dataclass(slots=True)
class Weights:
    """What the weight files are. ``elements`` by dtype is complete only where ``whole``.

    ``file`` is the first of them or their index, ``headers`` are those of the safetensors files that could be read, ``index`` and
    ``weight_map`` (tensor to file) are there where an index names the files. ``files`` are all that would be loaded, read or not.
    ``memory`` is what headers and index may still take, in bytes.
    """

    format: Format
    file: str = ""
    elements: dict[str, int] = field(default_factory=dict)
    whole: bool = True
    headers: dict[str, Header] = field(default_factory=dict)
    index: Document | None = None
    weight_map: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    defects: list[Defect] = field(default_factory=list)
    memory: int = MEMORY
    _tensors: dict[str, Tensor] | None = None

    def add(self, name: str, header: Header) -> None:
        self.headers[name] = header
        self.memory -= _held_by(header)
        for dtype, count in header.elements.items():
            self.elements[dtype] = self.elements.get(dtype, 0) + count

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """All tensors of the headers that could be read; of one that is in several files the one that the index means."""
        if len(self.headers) == 1:
            return next(iter(self.headers.values())).tensors
        if self._tensors is None:
            merged: dict[str, Tensor] = {}
            for header in self.headers.values():
                merged.update(header.tensors)
            self._tensors = merged
            for name in self.repeated:
                meant = self.headers.get(self.weight_map.get(name, ""))
                if meant is not None and name in meant.tensors:
                    merged[name] = meant.tensors[name]
        return self._tensors

    @property
    def repeated(self) -> Mapping[str, list[str]]:
        """The files of each tensor that is in more than one."""
        found: dict[str, list[str]] = {}
        if len(self.tensors) == sum(len(header.tensors) for header in self.headers.values()):
            return found
        first: dict[str, str] = {}
        for file, header in self.headers.items():
            for name in header.tensors:
                if first.setdefault(name, file) != file:
                    found.setdefault(name, [first[name]]).append(file)
        return found


def _held_by(header: Header) -> int:
    """A bound on the bytes of memory that a header takes once it is read: names of four bytes a character, each shape its own."""
    tensors = {id(tensor): len(tensor.shape) for tensor in header.tensors.values()}
    letters = sum(map(len, header.tensors))
    shapes = _SHAPE_BYTES * len(tensors) + _SIZE_BYTES * sum(tensors.values())
    return _NAME_BYTES * len(header.tensors) + min(4 * letters, 4 * header.length) + shapes


def read_weights(directory: ModelDirectory, *, tied: bool = False) -> Weights:
    """The weights that transformers would load, in its order: one safetensors file, its index, then pickles.

    ``tied``: the output layer is the embedding, so that no file need hold it.
    """
    with _uncollected():
        weights = _read_weights(directory)
        if weights.index is not None:
            found = list(_misplaced(directory, weights, _HEAD if tied else None))
            weights.defects += found
            weights.whole = weights.whole and not found
        return weights


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without searching for cycles meanwhile: parsed JSON has none, and a search through all of it costs as much as parsing."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _read_weights(directory: ModelDirectory) -> Weights:
    names = directory.names
    if "model.safetensors" in names:
        return _read_files(directory, "safetensors", "model.safetensors", ["model.safetensors"])
    if "model.safetensors.index.json" in names:
        return _read_index(directory, "safetensors", "model.safetensors.index.json")
    shards = sorted(name for name in names if _SHARD.fullmatch(name))
    # Pickles that from_pretrained finds by their names are loaded in place of shards that nothing lists.
    if shards and names.isdisjoint(("pytorch_model.bin", "pytorch_model.bin.index.json")):
        weights = _read_files(directory, "safetensors", shards[0], shards)
        detail = f"{len(shards)} files such as {shards[0]} and no model.safetensors.index.json that tells which tensor is where"
        weights.defects.append(Defect("snapshot-index-invalid", detail, directory.place(shards[0])))
        return weights
    if "pytorch_model.bin" in names:
        return _read_files(directory, "pickle", "pytorch_model.bin", ["pytorch_model.bin"])
    if "pytorch_model.bin.index.json" in names:
        return _read_index(directory, "pickle", "pytorch_model.bin.index.json")
    other = sorted(name for name in names if name.endswith(".safetensors"))
    if other:
        directory.skip(other[0], "no name that from_pretrained loads by itself")
        return Weights("safetensors", other[0], whole=False)
    gguf = sorted(name for name in names if name.endswith(".gguf"))
    return Weights("gguf", gguf[0], whole=False) if gguf else Weights("none", whole=False)


def _read_index(directory: ModelDirectory, form: Format, index: str) -> Weights:
    data = directory.read(index, _INDEX_LIMIT)
    if data is None:
        return Weights(form, index, whole=False)
    if is_lfs_pointer(data):
        return Weights(form, index, whole=False, defects=[_pointers(directory, [index])])
    memory = parsed_bytes(data)
    if memory > MEMORY:
        directory.skip(index, f"{len(data)} bytes that would take too much memory")
        return Weights(form, index, whole=False)
    try:
        document = parse_json(data, None)
    except JsonError as error:
        detail = f"found {error.found} in column {error.column}; expected {error.expected}"
        return Weights(form, index, whole=False, defects=[Defect("snapshot-index-invalid", detail, directory.place(index), error.line)])
    weight_map = document.value.get("weight_map") if isinstance(document.value, dict) else None
    if not isinstance(weight_map, dict) or not weight_map or not all(type(shard) is str for shard in weight_map.values()):
        detail = "no weight_map that gives a file for each tensor"
        defect = Defect("snapshot-index-invalid", detail, directory.place(index), document.line_of("weight_map"))
        return Weights(form, index, whole=False, defects=[defect])
    outside = sorted(shard for shard in set(weight_map.values()) if not _inside(shard))
    inside = sorted(set(weight_map.values()) - set(outside))
    weights = _read_files(directory, form, index, inside, document, weight_map, MEMORY - memory)
    if outside:
        weights.whole = False
        detail = f"the index names a file outside the directory: {plain(outside[0])}"
        weights.defects.append(Defect("snapshot-index-invalid", detail, directory.place(index), _line_of_shard(document, outside[0])))
    return weights


def _inside(shard: str) -> bool:
    parts = shard.replace("\\", "/").split("/")
    return bool(shard) and "\0" not in shard and ".." not in parts and not os.path.isabs(shard) and ":" not in parts[0]


def _read_files(
    directory: ModelDirectory,
    form: Format,
    first: str,
    files: Iterable[str],
    index: Document | None = None,
    weight_map: Mapping[str, str] | None = None,
    memory: int = MEMORY,
) -> Weights:
    """Read each file's header; ``index`` and ``weight_map`` are given where an index names the files."""
    weights = Weights(form, first, index=index, weight_map=weight_map or {}, files=tuple(files), memory=memory)
    missing: list[str] = []
    pointers: list[str] = []
    for name in weights.files:
        skipped = len(directory.skips)
        path = directory.locate(name)
        if path is None:
            weights.whole = False
            if len(directory.skips) == skipped:
                missing.append(name)
            continue
        try:
            if _is_pointer(path):
                pointers.append(name)
            elif form == "safetensors":
                weights.add(name, header_of(path, weights.memory))
        except TooLargeError as error:
            directory.skip(name, f"{error}, beside the files before it")
            weights.whole = False
        except TruncatedError as error:
            weights.defects.append(Defect("snapshot-safetensors-truncated", str(error), directory.place(name)))
        except InvalidHeaderError as error:
            weights.defects.append(Defect("snapshot-safetensors-header-invalid", str(error), directory.place(name)))
        except OSError as error:
            directory.skip(name, error.strerror or type(error).__name__, lost=True)
            weights.whole = False
    if pointers:
        weights.defects.append(_pointers(directory, pointers))
    if missing:
        weights.defects.append(_missing(directory, first, weights.files, missing, index))
    weights.whole = weights.whole and not weights.defects and form == "safetensors"
    return weights


def _is_pointer(path: str) -> bool:
    if os.stat(path).st_size >= _POINTER_LIMIT:
        return False
    with open(path, "rb") as stream:
        return is_lfs_pointer(stream.read(64))


def _pointers(directory: ModelDirectory, names: list[str]) -> Defect:
    path = directory.locate(names[0])
    size = None
    if path is not None:
        with open(path, "rb") as stream:
            size = pointer_size(stream.read(_POINTER_LIMIT))
    stands_for = "" if size is None else f", for a file of {size} bytes"
    others = "" if len(names) == 1 else f"; so are {_listed(names[1:])}"
    detail = f"{plain(names[0])} is the pointer that git-lfs leaves{stands_for}{others}"
    return Defect("snapshot-lfs-pointer", detail, directory.place(names[0]))


def _missing(directory: ModelDirectory, first: str, files: Sequence[str], missing: list[str], index: Document | None) -> Defect:
    if index is None:
        detail = f"{plain(missing[0])} is a link to nothing: it was not downloaded"
        return Defect("snapshot-shard-missing", detail, directory.place(missing[0]))
    be = "is" if len(missing) == 1 else "are"
    detail = f"{len(missing)} of {len(files)} files that the index names {be} not there: {_listed(missing)}"
    return Defect("snapshot-shard-missing", detail, directory.place(first), _line_of_shard(index, missing[0]))


def _misplaced(directory: ModelDirectory, weights: Weights, spared: re.Pattern[str] | None) -> Iterable[Defect]:
    assert weights.index is not None
    lacking: dict[str, list[str]] = {}
    # transformers loads whatever the files hold: one that stands in another file is found there.
    held = {tensor for header in weights.headers.values() for tensor in header.tensors}
    for tensor, shard in weights.weight_map.items():
        is_missed = shard in weights.headers and tensor not in held and _NOT_LOADED.search(tensor) is None
        if is_missed and (spared is None or spared.search(tensor) is None):
            lacking.setdefault(shard, []).append(tensor)
    for shard, tensors in lacking.items():
        detail = f"{plain(shard)} does not hold {_listed(tensors)}, which the index places there"
        yield Defect("snapshot-tensor-not-in-shard", detail, directory.place(weights.file), weights.index.line_of(tensors[0]))


def _line_of_shard(index: Document, shard: str) -> int | None:
    position = index.text.find(f'"{shard}"')
    return None if position < 0 else index.text.count("\n", 0, position) + 1


def _listed(names: list[str]) -> str:
    shown = ", ".join(plain(name, 80) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def read_pointers(directory: ModelDirectory) -> list[Defect]:
    """Other files than weights that are pointers of git-lfs, such as tokenizer.model."""
    found = []
    for name in sorted(directory.names):
        if name in _INDEXES or not name.endswith(_READ_BESIDES) or name.endswith(_OF_A_RUN):
            continue
        path = os.path.join(directory.path, name)
        try:
            if os.path.isfile(path) and not os.path.islink(path) and _is_pointer(path):
                found.append(name)
        except OSError:
            # Whoever reads the file says why it cannot be read.
            continue
    return [_pointers(directory, found)] if found else []
