"""What kind of file the training data is, by its name and first bytes, before anything reads it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from envdoctor.files.paths import is_file
from envdoctor.files.text import plain
from envdoctor.lengths.values import Refused
from envdoctor.sources.model.model_directory import is_lfs_pointer

EXPECTED = "JSON lines (.jsonl, .jsonl.gz), one JSON array (.json), Parquet, Arrow, or a directory that datasets saved"
_MAGIC = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "a file packed by zstd"),
    (b"BZh", "a file packed by bzip2"),
    (b"\xfd7zXZ\0", "a file packed by xz"),
    (b"SQLite format 3", "an SQLite database"),
)
_NAMES = {
    ".csv": "comma-separated values",
    ".tsv": "tab-separated values",
    ".txt": "plain text",
    ".xlsx": "a spreadsheet",
    ".yaml": "YAML",
    ".yml": "YAML",
    ".py": "Python code",
}
_PACKERS = {
    "a file packed by zstd": "zstd -d",
    "a file packed by bzip2": "bunzip2",
    "a file packed by xz": "unxz",
    "a zip archive": "unzip",
}
_READERS = {
    "comma-separated values": "csv",
    "tab-separated values": "csv",
    "plain text": "text",
}


def why_not(data: Path) -> Refused | None:
    """Why a file is none whose rows can be read, and what to do; None where there is nothing against it."""
    place = plain(str(data))
    try:
        # Without O_NONBLOCK a named pipe would be waited for.
        descriptor = os.open(data, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        found = (error.strerror or type(error).__name__) if isinstance(error, OSError) else "a name that no file can have"
        return Refused(place, found, EXPECTED, "check the path")
    try:
        status = os.fstat(descriptor)
        head = os.read(descriptor, 512) if stat.S_ISREG(status.st_mode) else b""
    except OSError as error:
        return Refused(place, error.strerror or type(error).__name__, EXPECTED, "check the path and the disk")
    finally:
        os.close(descriptor)
    if stat.S_ISDIR(status.st_mode):
        if any(is_file(data / name) for name in ("state.json", "dataset_dict.json")):
            return None
        return Refused(place, "a directory", EXPECTED, "give the file itself")
    if not stat.S_ISREG(status.st_mode):
        return Refused(place, "not a regular file", EXPECTED, "write the rows to a file first")
    if not head:
        return Refused(place, "an empty file", EXPECTED, "give the file that holds the rows")
    if is_lfs_pointer(head):
        return Refused(place, "a git-lfs pointer, not the file", EXPECTED, "git lfs pull")
    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None) or _NAMES.get(data.suffix.lower())
    return None if kind is None else Refused(place, kind, EXPECTED, _next_step(kind, data))


def _next_step(kind: str, data: Path) -> str:
    if kind in _PACKERS:
        return f"unpack it first: {_PACKERS[kind]} {plain(data.name)}"
    if kind in _READERS:
        name, more = plain(data.name), ", sep='\\t'" if kind == "tab-separated values" else ""
        call = f"load_dataset('{_READERS[kind]}', data_files='{name}', split='train'{more}).to_json('{plain(data.stem)}.jsonl')"
        return f'write it as JSON lines: python -c "from datasets import load_dataset; {call}"'
    return "write one JSON object on each line of a .jsonl file"
