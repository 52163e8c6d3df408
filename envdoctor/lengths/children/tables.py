"""Rows of Parquet and Arrow files, and of directories that ``datasets`` saved, by the pyarrow of the interpreter that reads them."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from typing import Any

ROWS_AT_ONCE = 1000
_MOST_STATE = 1 << 20
_MAGIC = ((b"PAR1", "a Parquet file"), (b"ARROW1", "an Arrow file"), (b"\xff\xff\xff\xff", "an Arrow stream"))


class NoTableError(Exception):
    """The table cannot be read: what was found, and what to do."""

    def __init__(self, found: str, next_step: str) -> None:
        super().__init__(found)
        self.found = found
        self.next_step = next_step


def kind_of(path: str) -> str:
    """What a file is that pyarrow reads, "a saved data set" for a directory of ``datasets``, and "" for anything else."""
    if os.path.isdir(path):
        return "a saved data set" if any(os.path.isfile(os.path.join(path, name)) for name in ("state.json", "dataset_dict.json")) else ""
    with open(path, "rb") as stream:
        head = stream.read(8)
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), "")


class Table:
    """Iterates over (number from 1, row, None); ``share`` says which part of the files has been read, 0 to 1."""

    def __init__(self, path: str) -> None:
        self.kind = kind_of(path)
        self.files = _files(path) if os.path.isdir(path) else [path]
        self.array = False
        self._done = 0

    def share(self) -> float:
        return self._done / max(1, len(self.files))

    def __iter__(self) -> Iterator[tuple[int, Any, None]]:
        try:
            pyarrow: Any = importlib.import_module("pyarrow")
            ipc: Any = importlib.import_module("pyarrow.ipc")
        except ImportError:
            step = "pip install pyarrow beside the tokenizer's library, or write the rows as JSON lines"
            raise NoTableError(f"{self.kind}, and no pyarrow to read it", step) from None
        number = 0
        for place, path in enumerate(self.files):
            self._done = place
            try:
                for batch in _batches(path, pyarrow, ipc):
                    for row in batch.to_pylist():
                        number += 1
                        yield number, row, None
            except (OSError, ValueError, KeyError, NotImplementedError) as error:
                found = f"{kind_of(path) or 'a file'} that pyarrow cannot read ({type(error).__name__}: {str(error)[:120]})"
                raise NoTableError(found, "download or write it again") from None


def _batches(path: str, pyarrow: Any, ipc: Any) -> Iterator[Any]:
    kind = kind_of(path)
    if kind == "a Parquet file":
        parquet: Any = importlib.import_module("pyarrow.parquet")
        yield from parquet.ParquetFile(path).iter_batches(batch_size=ROWS_AT_ONCE)
        return
    # Not mapped: the address space of this process is bounded.
    source = pyarrow.OSFile(path)
    reader = ipc.open_file(source) if kind == "an Arrow file" else ipc.open_stream(source)
    batches = (reader.get_batch(place) for place in range(reader.num_record_batches)) if kind == "an Arrow file" else reader
    for batch in batches:
        for first in range(0, batch.num_rows, ROWS_AT_ONCE):
            yield batch.slice(first, ROWS_AT_ONCE)


def _files(directory: str) -> list[str]:
    """The files of a saved data set in their order; of several splits those of ``train``, or of the first."""
    splits = _state(os.path.join(directory, "dataset_dict.json")).get("splits")
    if isinstance(splits, list) and splits:
        directory = os.path.join(directory, "train" if "train" in splits else os.path.basename(str(splits[0])))
    listed = _state(os.path.join(directory, "state.json")).get("_data_files")
    names = [str(one.get("filename")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    found = [os.path.join(directory, os.path.basename(name)) for name in names]
    missing = next((path for path in found if not os.path.isfile(path)), None)
    if missing is not None or not found:
        what = f"without {os.path.basename(missing)}" if missing else "that names no data file"
        raise NoTableError(f"a saved data set {what}", "save or download it again")
    return found


def _state(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as stream:
            told = json.loads(stream.read(_MOST_STATE))
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
