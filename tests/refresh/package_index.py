"""A package index in memory: pages, wheels and parts of them, and a note of all that was asked for."""

from __future__ import annotations

import io
import json
import re
import threading
import zipfile
from collections.abc import Mapping, Sequence

from envdoctor.refresh.index import Answer, NoAnswerError

INDEX = "https://index.example/simple"


def wheel_bytes(name: str, version: str, requires: Sequence[str] = (), *, files: int = 0, metadata: bytes | None = None) -> bytes:
    """A wheel, with so many other files in it; ``metadata`` in place of its own."""
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {line}" for line in requires),
        "",
        "It does.",
    ]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        folder = f"{name.replace('-', '_')}-{version}.dist-info"
        archive.writestr(f"{folder}/METADATA", "\n".join(lines).encode() if metadata is None else metadata)
        for number in range(files):
            archive.writestr(f"{name}/{'long' * 20}_{number}.py", "")
    return stream.getvalue()


class PackageIndex:
    """``put`` makes a release; ``get`` answers as a server does.

    ``broken`` addresses answer 503. Without ``ranges`` a server knows nothing of parts and sends the whole.
    """

    def __init__(self, *, ranges: bool = True) -> None:
        self.ranges = ranges
        self.pages: dict[str, list[dict[str, object]]] = {}
        self.files: dict[str, bytes] = {}
        self.broken: set[str] = set()
        self.asked: list[str] = []
        self._lock = threading.Lock()

    def put(
        self,
        name: str,
        version: str,
        requires: Sequence[str] = (),
        *,
        day: str = "2024-05-01",
        data: bytes | None = None,
        tag: str = "py3-none-any",
        **said: object,
    ) -> str:
        file = f"{name.replace('-', '_')}-{version}-{tag}.whl"
        address = f"https://files.example/{file}"
        self.files[address] = wheel_bytes(name, version, requires) if data is None else data
        page = self.pages.setdefault(name, [])
        page.append({"filename": file, "url": address, "upload-time": f"{day}T10:00:00Z", "requires-python": ">=3.8", **said})
        return address

    def get(self, address: str, headers: Mapping[str, str], most: int) -> Answer:
        with self._lock:
            self.asked.append(address)
        if address in self.broken:
            raise NoAnswerError("HTTP 503")
        page = re.fullmatch(rf"{INDEX}/([a-z0-9-]+)/", address)
        if page and page[1] in self.pages:
            return Answer(json.dumps({"meta": {"api-version": "1.1"}, "files": self.pages[page[1]]}).encode())
        data = self.files.get(address)
        if data is None:
            raise NoAnswerError("HTTP 404")
        wanted = re.fullmatch(r"bytes=([0-9]*)-([0-9]*)", headers.get("Range", ""))
        part = data
        if wanted and self.ranges:
            part = data[int(wanted[1]) : int(wanted[2]) + 1] if wanted[1] else data[-int(wanted[2]) :]
        if len(part) > most:
            raise NoAnswerError(f"more than {most} bytes")
        return Answer(part, len(data))
