"""Whether the weight files of a snapshot are one whole save: the index against the headers, and what lies beside them."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterator, Mapping

from envdoctor.coherence.arithmetic import FLOATS
from envdoctor.coherence.families import PACKED
from envdoctor.engine.defaults import ASK_FOR_A_DTYPE
from envdoctor.facts.fact import Defect, Facts
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.files.paths import real_path
from envdoctor.files.text import plain
from envdoctor.sources.model.safetensors_header import BITS, Header, Tensor
from envdoctor.sources.model.snapshot import Snapshot, table_of, text_config

_INDEX = "model.safetensors.index.json"
_SHARD = re.compile(r"model-(\d{5})-of-(\d{5})\.safetensors")
_UNFINISHED = (".incomplete", ".aria2", ".part", ".partial", ".crdownload", ".safetensors.tmp", ".bin.tmp")
_DOWNLOADS = os.path.join(".cache", "huggingface", "download")
_MOST_ENTRIES = 4096
_MOST_HOLES = 256


def index_and_headers(snapshot: Snapshot, _facts: Facts) -> Iterator[Defect]:
    """Tensors that the index does not know, and an index that counts other bytes than the headers."""
    weights = snapshot.weights
    if weights.index is None:
        return
    known = weights.weight_map.keys()
    extra = {
        file: [*filter(lambda name: name not in known, h.tensors)] for file, h in weights.headers.items() if not h.tensors.keys() <= known
    }
    if extra:
        file, names = next(iter(extra.items()))
        more = f", and so do {len(extra) - 1} more files" if len(extra) > 1 else ""
        detail = f"{plain(file)} holds {_listed(names)}, which the index does not name{more}"
        yield Defect("snapshot-tensor-not-in-index", detail, snapshot.directory.place(file))
    stated = table_of(weights.index).get("metadata")
    size = stated.get("total_size") if isinstance(stated, dict) else None
    held = sum(count * BITS[dtype] for dtype, count in weights.elements.items()) // 8
    if weights.whole and isinstance(size, int | float) and abs(size - held) > held / 100:
        detail = f"total_size is {size} and the headers of its files count {held} bytes of tensors"
        line = weights.index.line_of("total_size")
        yield Defect("snapshot-index-total-size", detail, snapshot.directory.place(weights.file), line)


def other_saves(snapshot: Snapshot, _facts: Facts) -> Iterator[Defect]:
    """Weights of another save beside those that transformers loads: other loaders take them for the model."""
    names, used = snapshot.directory.names, set(snapshot.weights.files)
    if snapshot.weights.format != "safetensors" or not used:
        return
    stale = sorted(name for name in names if _SHARD.fullmatch(name) and name not in used)
    if stale:
        detail = f"{len(stale)} files such as {stale[-1]} belong to another save than {plain(snapshot.weights.file)}"
        yield Defect("snapshot-weights-of-another-save", detail, snapshot.directory.place(stale[-1]))
    elif used == {"model.safetensors"} and _INDEX in names:
        shards = table_of(snapshot.document(_INDEX)).get("weight_map")
        if isinstance(shards, dict) and set(map(str, shards.values())) != used:
            detail = f"{_INDEX} names other files than model.safetensors, which is loaded: one of the two is of another save"
            yield Defect("snapshot-weights-of-another-save", detail, snapshot.directory.place(_INDEX))


def repeated_and_empty(snapshot: Snapshot, _facts: Facts) -> Iterator[Defect]:
    """Tensors that stand more than once, and tensors without elements."""
    weights, directory = snapshot.weights, snapshot.directory
    for file, header in weights.headers.items():
        if header.repeated:
            detail = f"the header names {_listed(header.repeated)} more than once; the last one counts"
            yield Defect("snapshot-tensor-repeated", detail, directory.place(file))
    repeated = weights.repeated
    if repeated:
        name, files = next(iter(repeated.items()))
        more = f", and {len(repeated) - 1} more tensors are in several files" if len(repeated) > 1 else ""
        detail = f"{plain(name)} is in {' and in '.join(plain(file) for file in files[:3])}{more}"
        yield Defect("snapshot-tensor-repeated", detail, directory.place(files[-1]))
    for file, header in weights.headers.items():
        empty = _empty(header)
        if empty:
            detail = f"{_listed(empty)} {'has' if len(empty) == 1 else 'have'} no elements"
            yield Defect("snapshot-tensor-empty", detail, directory.place(file))


def _loads_as_said(facts: Facts) -> bool:
    """Whether what config.json says decides: the plan asks for auto, or nobody asks and transformers 5 goes by it.

    A dtype that is asked for by its name is meant. LLaMA-Factory, axolotl and ms-swift ask for one by name.
    """
    unused = facts.value(NOT_LOADED)
    if isinstance(unused, tuple) and "model" in unused:
        return False
    asked, release = facts.get("plan.load_dtype"), facts.value("packages.transformers")
    if asked is not None and not asked.origin.source.startswith("default of"):
        return asked.value == "auto" or asked.origin.source.endswith("auto, as the model is stored")
    if facts.text("plan.trainer") in ASK_FOR_A_DTYPE or _is_loaded_by_trl(facts):
        return False
    return isinstance(release, (Exact, Ranged)) and version_condition(">=5").relation(release) is True


def _is_loaded_by_trl(facts: Facts) -> bool:
    """Whether a trainer of TRL's is given the name of the model: from 0.27.0 on it asks for float32 by itself (create_model_from_path of
    trl/trainer/utils.py; 0.26.2 asks for auto)."""
    release = facts.value("packages.trl")
    if facts.text("plan.trainer") != "trl" or "plan.load_dtype_argument" in facts or not isinstance(release, (Exact, Ranged)):
        return False
    return version_condition(">=0.27.0").relation(release) is True


def dtypes(snapshot: Snapshot, facts: Facts) -> Iterator[Defect]:
    """What the weights are stored as, against what config.json says, and kinds of tensor that are stored in two ways.

    What config.json says costs nothing where the plan loads another dtype.
    """
    outer = table_of(snapshot.config)
    inner = text_config(outer)
    if any(table.get(key) for table in (inner, outer) for key in ("quantization_config", "quantization_bit", "compression_config")):
        return
    stored = {dtype: count for dtype, count in snapshot.weights.elements.items() if count}
    floats = {dtype: count for dtype, count in stored.items() if dtype in FLOATS}
    if sum(floats.values()) * 100 < sum(stored.values()) * 99 or not floats:
        return
    most, count = max(floats.items(), key=lambda item: item[1])
    told = [table[key] for table in (outer, inner) for key in ("dtype", "torch_dtype") if key in table]
    said = told[0] if told and isinstance(told[0], str) else ""
    named = said.removeprefix("torch.")
    costly = _COSTLY.get((most, named)) if _loads_as_said(facts) else None
    if costly is not None and count * 10 >= sum(floats.values()) * 9:
        key = "dtype" if "dtype" in outer else "torch_dtype"
        detail = f"config.json says {plain(said)} and the weights are stored as {_NAMES[most]}: {costly}"
        yield Defect("snapshot-dtype-not-of-config", detail, snapshot.directory.place("config.json"), snapshot.config.line_of(key))
    if len(floats) > 1:
        yield from mixed(snapshot.weights.tensors, snapshot.directory.place(snapshot.weights.file))


def downloads(snapshot: Snapshot, _facts: Facts) -> Iterator[Defect]:
    """Traces of downloads that have not ended."""
    directory = snapshot.directory
    for name in sorted(directory.names):
        suffix = next((suffix for suffix in _UNFINISHED if name.endswith(suffix)), None)
        target = name if suffix is None else name.removesuffix(".tmp" if suffix.endswith(".tmp") else suffix)
        # aria2 removes its file when the download ends; others rename theirs, and leave one that was begun again elsewhere.
        if suffix is not None and (suffix == ".aria2" or target not in directory.names):
            state = "is not complete" if target in directory.names else "is not there"
            detail = f"{plain(name)} is of a download that has not ended: {plain(target)} {state}"
            yield Defect("snapshot-download-unfinished", detail, directory.place(name))
    waiting = _waiting(snapshot)
    if waiting:
        detail = f"{len(waiting)} downloads into this directory have not ended: {_listed(waiting)}"
        yield Defect("snapshot-download-unfinished", detail, directory.place(_DOWNLOADS))


def holes(snapshot: Snapshot, _facts: Facts) -> Iterator[Defect]:
    """Files of which a sixteenth or more was never written: it reads as zeros."""
    found: dict[str, tuple[int, int]] = {}
    for file, header in snapshot.weights.headers.items():
        path = snapshot.directory.locate(file)
        if path is None or not hasattr(os, "SEEK_HOLE"):
            continue
        try:
            unwritten, size = _unwritten(path)
        except OSError as error:
            snapshot.directory.skip(file, f"not searched for holes: {error.strerror or type(error).__name__}")
            continue
        if unwritten and unwritten * 16 >= size - 8 - header.length:
            found[file] = unwritten, size
    if found:
        file, (unwritten, size) = next(iter(found.items()))
        more = f"; {len(found) - 1} more files have such holes" if len(found) > 1 else ""
        detail = f"{unwritten} of the {size} bytes of {plain(file)} were never written to the disk and read as zeros{more}"
        yield Defect("snapshot-weights-unwritten", detail, snapshot.directory.place(file))


CHECKS = (index_and_headers, other_saves, repeated_and_empty, dtypes, downloads, holes)

_NAMES = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}
_TWICE = "dtype='auto', the default since transformers 5, loads them as float32, in twice the memory"
_COSTLY: Mapping[tuple[str, str], str] = {
    ("F16", "float32"): _TWICE,
    ("BF16", "float32"): _TWICE,
    ("BF16", "float16"): "dtype='auto', the default since transformers 5, loads them as float16, which ends at 65504",
}


def _empty(header: Header) -> list[str]:
    """Weights of which a dimension is 0; quantizers keep empty tensors under names of their own."""
    if all(0 not in shape for _, shape in {id(tensor): tensor for tensor in header.tensors.values()}.values()):
        return []
    # What ZeRO-3 leaves of a parameter of any name (A_log, query_tokens) is of the shape (0,).
    packed = any(name.endswith(PACKED) for name in header.tensors)
    empty = [
        name
        for name, tensor in header.tensors.items()
        if 0 in tensor.shape and (name.endswith((".weight", ".bias")) or (not packed and tensor.shape == (0,) and tensor.dtype in FLOATS))
    ]
    # A GPTQ layer without a bias may keep an empty one beside its g_idx.
    return [name for name in empty if f"{name.removesuffix('.bias')}.g_idx" not in header.tensors]


def mixed(tensors: Mapping[str, Tensor], place: str) -> Iterator[Defect]:
    """Kinds of matrix that are stored in one dtype in some layers and in another in others."""
    number = re.compile(r"\.\d+\.")
    found: dict[str, dict[str, str]] = {}
    for name, tensor in tensors.items():
        if len(tensor.shape) > 1 and tensor.dtype in FLOATS:
            found.setdefault(number.sub(".N.", name), {}).setdefault(tensor.dtype, name)
    several = [by_dtype for by_dtype in found.values() if len(by_dtype) > 1]
    if several:
        shown = ", ".join(f"{plain(name)} as {_NAMES[dtype]}" for dtype, name in several[0].items())
        more = f", and {len(several) - 1} more kinds of tensor" if len(several) > 1 else ""
        yield Defect("snapshot-dtypes-mixed", f"stored in several ways: {shown}{more}", place)


def _waiting(snapshot: Snapshot) -> list[str]:
    """Files that huggingface_hub has begun to download into a local directory and that are not there.

    It keeps them as HASH.ETAG.incomplete (NAME.ETAG.incomplete before 0.26), HASH that of the name of its metadata file:
    _local_folder.py of huggingface_hub.
    """
    directory = snapshot.directory
    entries: list[str] = []
    try:
        with os.scandir(os.path.join(str(real_path(directory.path)), _DOWNLOADS)) as found:
            for entry in found:
                entries.append(entry.name)
                if len(entries) >= _MOST_ENTRIES:
                    directory.skip(_DOWNLOADS, f"more than {_MOST_ENTRIES} entries: the rest was not read")
                    break
    except OSError:
        return []
    begun = sorted(name for name in entries if ".incomplete" in name)
    known = {*directory.names, *snapshot.weights.files, *(name.removesuffix(".metadata") for name in entries if name.endswith(".metadata"))}
    hashed = {_hashed(file): file for file in known} if begun else {}
    waiting = []
    for name in begun:
        stems = (name[:end] for end, letter in enumerate(name) if letter == ".")
        file = next((file for stem in stems if (file := hashed.get(stem, stem)) in known), None)
        if file is None or file not in directory.names:
            waiting.append(name if file is None else file)
    return list(dict.fromkeys(waiting))


def _hashed(file: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha1(f"{file}.metadata".encode(), usedforsecurity=False).digest()).decode()


def _unwritten(path: str) -> tuple[int, int]:
    """Bytes of holes in a file, and its size. A file system that keeps no account of holes has none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        unwritten = position = 0
        for _ in range(_MOST_HOLES):
            begin = os.lseek(descriptor, position, os.SEEK_HOLE)
            if begin >= size:
                break
            try:
                position = os.lseek(descriptor, begin, os.SEEK_DATA)
            except OSError:
                # Nothing but a hole from here to the end.
                position = size
            unwritten += position - begin
            if position >= size:
                break
        return unwritten, size
    finally:
        os.close(descriptor)


def _listed(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(plain(name, 80) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
