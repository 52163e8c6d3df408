"""What a released wheel requires, read out of it where it lies: the end of the archive is downloaded, and no more.

The format is https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from envdoctor.files.parts import Parts
from envdoctor.refresh.agreement import agreed
from envdoctor.refresh.index import Get, NoAnswerError
from envdoctor.refresh.pages import File
from envdoctor.sources.machine.metadata import HEADER_LIMIT, parse_headers

# Most wheels have their directory and their metadata in so many bytes at the end.
_TAIL_BYTES = 64 * 1024
# The directory of a wheel with 20,000 files has about 3 MB.
_MOST_BYTES = 32 * 2**20
_COMPRESSED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
_EXTRA = re.compile(r'extra == "([^"]+)"')
# Those with which a package is developed, tested and documented, and the sums of all others.
_NOT_FOR_USERS = re.compile(
    r"(?:.*-)?(?:all|full|dev|devel|develop|development|dev-.*|test|tests|testing|test-.*|tests-.*|doc|docs|docs-.*|lint|linting|quality|style|"
    r"bench|benchmark|benchmarks|build|ci|cli-test|check|cover|coverage|type|typing|types|mypy|release|examples?|tutorials?|modelcreation|"
    r"speed-.*|rtd|sphinx|format|formatting|packaging|nightly)"
)


class UnreadableError(Exception):
    """A wheel without metadata that can be read."""


class _Remote(Parts):
    """A file on a server; what was downloaded is kept."""

    def __init__(self, address: str, get: Get) -> None:
        self._address, self._get = address, get
        tail = get(address, {"Range": f"bytes=-{_TAIL_BYTES}"}, _MOST_BYTES)
        super().__init__(len(tail.data) if tail.whole is None else tail.whole)
        # A server that knows nothing of parts has sent the whole.
        self._parts = [(self.size - len(tail.data), tail.data)]
        self._spent = len(tail.data)

    def read(self, size: int | None = -1) -> bytes:
        end = self.end_of(size)
        if end <= self.at:
            return b""
        for start, part in self._parts:
            if start <= self.at and end <= start + len(part):
                data = part[self.at - start : end - start]
                self.at = end
                return data
        self._fetch(self.at, max(end, min(self.at + _TAIL_BYTES, self.size)))
        return self.read(end - self.at)

    def _fetch(self, start: int, end: int) -> None:
        if self._spent + end - start > _MOST_BYTES:
            raise UnreadableError(f"more than {_MOST_BYTES} bytes would have to be read")
        part = self._get(self._address, {"Range": f"bytes={start}-{end - 1}"}, _MOST_BYTES).data
        if len(part) != end - start:
            raise UnreadableError("the server gives other parts than it is asked for")
        self._spent += len(part)
        self._parts.append((start, part))


def required_by_all(files: Sequence[File], get: Get) -> list[str]:
    """What every wheel of a release requires, as it is kept in the table; ``files`` are those for each Python, newest first.

    The first and the last are read, and the others where these two differ. A wheel without metadata is left out: no installer takes it.

    Raises:
        NoAnswerError: the index does not give one of them.
        UnreadableError: none has metadata that can be read.
    """
    ends = list(_readable((files[0], *files[1:][-1:]), get))
    if not ends:
        raise UnreadableError("no wheel with metadata")
    if all(one == ends[0] for one in ends):
        return ends[0]
    return agreed([*ends, *_readable(files[1:-1], get)])


def _readable(files: Iterable[File], get: Get) -> Iterator[list[str]]:
    for file in files:
        try:
            yield requirements(file, get)
        except UnreadableError:
            continue


def requirements(file: File, get: Get) -> list[str]:
    """What a wheel requires, as it is kept in the table.

    Raises:
        NoAnswerError: the index does not give it.
        UnreadableError: it has no metadata that can be read.
    """
    address = file.address.partition("#")[0]
    beside = _beside(address, get) if file.metadata else None
    if beside is not None:
        return kept(parse_headers(beside).requires)
    try:
        with zipfile.ZipFile(_Remote(address, get)) as archive:
            found = [entry for entry in archive.infolist() if _METADATA.fullmatch(entry.filename) and entry.compress_type in _COMPRESSED]
            if not found:
                raise UnreadableError("no METADATA in it")
            with archive.open(found[0]) as stream:
                headers = stream.read(HEADER_LIMIT)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OverflowError, ValueError, RuntimeError) as error:
        raise UnreadableError(f"no wheel: {error}") from error
    return kept(parse_headers(headers).requires)


def _beside(address: str, get: Get) -> bytes | None:
    """The metadata that lies beside a wheel; some indexes promise it for files that have none."""
    try:
        return get(f"{address}.metadata", {}, HEADER_LIMIT).data
    except NoAnswerError:
        return None


def kept(requires: Iterable[str]) -> list[str]:
    """Requires-Dist lines as the table has them, each once: ``name[extras]specifier ; marker``, with the extra they belong to in front.

    One that cannot be read, or that is taken from a URL, requires nothing that is known. The extras for developing a package are left out.
    """
    found: dict[str, None] = {}
    for line in requires:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if requirement.url:
            continue
        asked = f"[{','.join(sorted(map(canonicalize_name, requirement.extras)))}]" if requirement.extras else ""
        text = f"{canonicalize_name(requirement.name)}{asked}{requirement.specifier}"
        marker = str(requirement.marker) if requirement.marker else ""
        for extra, rest in _by_extra(marker):
            if extra == canonicalize_name(extra) and _NOT_FOR_USERS.fullmatch(extra):
                continue
            found[f"[{extra}] " * bool(extra) + text + (f" ; {rest}" if rest else "")] = None
    return list(found)


def _by_extra(marker: str) -> list[tuple[str, str]]:
    """The extras that a marker names, each with what else it says: an empty one where it names none, nothing where it is tangled."""
    if "extra" not in marker:
        return [("", marker)]
    alternatives = _split(marker, " or ")
    if all(_EXTRA.fullmatch(one) for one in alternatives):
        return [(canonicalize_name(one[len('extra == "') : -1]), "") for one in alternatives]
    parts = _split(marker, " and ") if len(alternatives) == 1 else []
    extras = [part for part in parts if "extra" in part]
    rest = " and ".join(part for part in parts if "extra" not in part)
    if len(extras) != 1:
        return []
    inner = _split(extras[0][1:-1], " or ") if extras[0].startswith("(") else extras
    if not all(_EXTRA.fullmatch(one) for one in inner):
        return []
    return [(canonicalize_name(one[len('extra == "') : -1]), rest) for one in inner]


def _split(text: str, by: str) -> list[str]:
    """The parts of a marker between words that stand in no parentheses."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0 and text.startswith(by, at):
            parts.append(text[start:at])
            start = at = at + len(by)
        else:
            at += 1
    return [*parts, text[start:]]
