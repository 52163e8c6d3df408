"""What pickles would import, found by picklescan without loading them.

A pickle is a program. picklescan (the optional extra ``scan``) lists what it imports; nothing is unpickled here, and of a
file only the pickles are read, not the tensors. A scan that finds nothing is no proof: published files get past it.
"""

from __future__ import annotations

import importlib
import io
import logging
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pickletools import genops
from typing import Any, BinaryIO

from envdoctor.files.text import plain
from envdoctor.records import dataclass, field
from envdoctor.sources.model.model_directory import is_lfs_pointer
from envdoctor.sources.model.snapshot import Snapshot

# picklescan keeps every operation in memory, a hundred times the pickle. One tensor takes about 150 bytes.
_PICKLE_LIMIT = 2**20
_DIRECTORY_LIMIT = 4 * 2**20
_MOST_PICKLES = 16
# A file of torch.save before 1.6: magic number, protocol, system, the object, the keys of its storages; then raw data.
_LEGACY_PICKLES = 5


@dataclass(slots=True)
class Imports:
    """The file in which each import was first seen; ``partly`` where something was not scanned to its end."""

    dangerous: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    partly: bool = False

    @property
    def seen_none(self) -> bool:
        return not (self.dangerous or self.unknown or self.partly)


@dataclass(frozen=True, slots=True)
class Picklescan:
    """picklescan.scanner of picklescan 0.0.35 to 1.0.5."""

    module: Any
    label: str

    def imports(self, pickle: bytes) -> Iterator[tuple[str, str, bool]]:
        """Module, name and whether it is known to be dangerous, of all that one pickle imports."""
        try:
            with _silent("picklescan"):
                result = self.module.scan_pickle_bytes(io.BytesIO(pickle), "", multiple_pickles=False)
        except (ValueError, LookupError, TypeError):
            yield "", "a name that cannot be told", True
            return
        for one in result.globals:
            yield str(one.module), str(one.name), one.safety is self.module.SafetyLevel.Dangerous


def picklescan() -> Picklescan | None:
    try:
        module = importlib.import_module("picklescan.scanner")
    except ImportError:
        return None
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Picklescan(module, f"picklescan {version('picklescan')}")
    except PackageNotFoundError:
        return Picklescan(module, "picklescan")


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """Keeps a library's log off the terminal."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def scan(snapshot: Snapshot, file: str, scanner: Picklescan, found: Imports) -> None:
    path = snapshot.directory.locate(file)
    try:
        pickles = [] if path is None else list(_pickles(path))
    except (OSError, _NotReadError, zipfile.BadZipFile) as error:
        snapshot.directory.skip(file, f"not scanned for imports: {getattr(error, 'strerror', None) or error}")
        found.partly = True
        return
    for pickle, whole in pickles:
        if not whole:
            snapshot.directory.skip(file, "a pickle in it was not scanned to its end: it is long, or no pickle")
            found.partly = True
        for module, name, dangerous in scanner.imports(pickle):
            if dangerous:
                found.dangerous.setdefault(f"{module}.{name}".removeprefix("."), file)
            elif not _is_of_tensors(module, name):
                found.unknown.setdefault(f"{module}.{name}", file)


def _is_of_tensors(module: str, name: str) -> bool:
    """Whether torch.load(weights_only=True) admits an import: torch/_weights_only_unpickler.py of 2.13."""
    if module == "torch._utils":
        return name.startswith("_rebuild_")
    if module in _TENSOR_MODULES and name.endswith(("Storage", "Tensor")):
        return True
    return name in _ADMITTED.get(module, ())


_TENSOR_MODULES = frozenset(("torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse", "torch.storage"))
_ADMITTED = {
    "_codecs": ("encode",),
    "builtins": ("bytearray", "complex", "set"),
    "collections": ("Counter", "OrderedDict"),
    "torch.nn.parameter": ("Parameter",),
    "torch._tensor": ("_rebuild_from_type_v2",),
    "torch.serialization": ("_get_layout",),
    "torch": (
        "Size", "device", "bool", "bfloat16", "float16", "float32", "float64", "complex32", "complex64", "complex128",
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e4m3fnuz",
        "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2", "qint8", "qint32", "quint8", "quint4x2",
        "quint2x4", "per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric",
    ),
}  # fmt: skip


class _NotReadError(Exception):
    """A file that is not read any further; the text says why."""


def _pickles(path: str) -> Iterator[tuple[bytes, bool]]:
    """The pickles of a file of torch.save, or of a plain pickle, and whether each was read to its end.

    Raises:
        OSError, _NotReadError, zipfile.BadZipFile
    """
    with open(path, "rb") as stream:
        if stream.read(4) == b"PK\x03\x04":
            yield from _in_zip(stream)
            return
        stream.seek(0)
        data = stream.read(_PICKLE_LIMIT)
    if not data or is_lfs_pointer(data):
        raise _NotReadError("a git-lfs pointer" if data else "it is empty")
    yield from _one_after_another(data, _LEGACY_PICKLES)


def _in_zip(stream: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    try:
        with zipfile.ZipFile(_Sparing(stream)) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename.endswith(".pkl")]
            if not any(entry.filename.endswith("data.pkl") for entry in entries):
                raise _NotReadError("an archive without data.pkl, which torch.load would look for")
            if len(entries) > _MOST_PICKLES:
                raise _NotReadError(f"{len(entries)} pickles in one archive")
            for entry in entries:
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise _NotReadError("a pickle in it is compressed as torch never does")
                with archive.open(entry) as member:
                    data = member.read(_PICKLE_LIMIT)
                yield from _one_after_another(data, 1)
    except (RuntimeError, NotImplementedError, ValueError, struct.error, EOFError) as error:
        raise _NotReadError(f"an archive that cannot be read: {plain(str(error), 80)}") from None


class _Sparing:
    """A file of which no more is read at once than a directory of an archive may need."""

    def __init__(self, stream: BinaryIO) -> None:
        self.seek, self.tell, self.seekable, self.close = stream.seek, stream.tell, stream.seekable, stream.close
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(_DIRECTORY_LIMIT + 1 if size < 0 else min(size, _DIRECTORY_LIMIT + 1))
        if len(data) > _DIRECTORY_LIMIT:
            raise _NotReadError(f"an archive whose directory has more than {_DIRECTORY_LIMIT} bytes")
        return data


def _one_after_another(data: bytes, most: int) -> Iterator[tuple[bytes, bool]]:
    """At most so many pickles from the start of the data, each with whether it ends in them."""
    stream = io.BytesIO(data)
    for _ in range(most):
        start = stream.tell()
        if start >= len(data):
            return
        try:
            for _operation in genops(stream):
                pass
        except (ValueError, struct.error, OverflowError, EOFError, LookupError):
            yield data[start:], False
            return
        yield data[start : stream.tell()], True
