"""Outlines of library modules, kept between runs."""

from __future__ import annotations

import json
import os
import tempfile
from hashlib import sha256
from pathlib import Path

from envdoctor.code.shape import DamagedError, ModuleShape, pack, unpack
from envdoctor.files.json_file import UnreadableError
from envdoctor.files.own import read_own

_FORMAT = 1
_LIMIT = 32 * 2**20


class Shelf:
    """A file of the user's cache directory: outlines by path, each good for one size and modification time.

    It may be deleted, damaged, or written by another process at any time: what is not as it was stored counts as absent,
    and a file that cannot be written is not.
    """

    def __init__(self, directory: Path | None, label: str) -> None:
        self._path = None if directory is None else directory / f"code-{sha256(label.encode()).hexdigest()[:16]}.json"
        self._stored: dict[str, object] = {}
        self._changed = False
        if self._path is not None:
            self._stored = _load(self._path, label)
        self._label = label

    def get(self, path: str, status: os.stat_result) -> ModuleShape | None:
        row = self._stored.get(path)
        if not isinstance(row, list) or len(row) != 3 or row[:2] != [status.st_size, status.st_mtime_ns]:
            return None
        try:
            return unpack(row[2])
        except DamagedError:
            return None

    def put(self, path: str, status: os.stat_result, shape: ModuleShape) -> None:
        self._stored[path] = [status.st_size, status.st_mtime_ns, pack(shape)]
        self._changed = True

    def texts(self, key: str) -> list[str] | None:
        """A list of texts that was stored under a key of its own."""
        row = self._stored.get(key)
        return row if isinstance(row, list) and all(isinstance(item, str) for item in row) else None

    def put_texts(self, key: str, values: list[str]) -> None:
        self._stored[key] = values
        self._changed = True

    def save(self) -> None:
        """Write what is new, whole or not at all."""
        if self._path is None or not self._changed:
            return
        self._changed = False
        text = json.dumps({"format": _FORMAT, "label": self._label, "modules": self._stored}, ensure_ascii=True, separators=(",", ":"))
        written = ""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._path.parent, suffix=".part", delete=False, encoding="ascii") as stream:
                written = stream.name
                stream.write(text)
            os.replace(written, self._path)
        except OSError:
            if written and os.path.exists(written):
                os.unlink(written)


def _load(path: Path, label: str) -> dict[str, object]:
    try:
        data = json.loads(read_own(path, _LIMIT))
    except (UnreadableError, ValueError, RecursionError):
        return {}
    if not isinstance(data, dict) or data.get("format") != _FORMAT or data.get("label") != label:
        return {}
    modules = data.get("modules")
    return modules if isinstance(modules, dict) else {}
