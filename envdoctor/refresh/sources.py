"""What a release that came as a source archive only requires: setuptools wrote it into the archive when it was made.

It stands in *.egg-info/requires.txt, as setup.py gave it on its maintainer's machine; other builders write it into PKG-INFO.
https://setuptools.pypa.io/en/latest/deprecated/python_eggs.html#requires-txt
"""

from __future__ import annotations

import io
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator

from envdoctor.refresh.index import Get
from envdoctor.refresh.pages import File
from envdoctor.refresh.wheels import UnreadableError, kept
from envdoctor.sources.machine.metadata import HEADER_LIMIT, parse_headers

# What came before is not in the atlas either, and an installer would hardly build it today.
SINCE = "2022-01-01"
# Their setup.py asks what is installed where it runs, and pins by that.
_AS_BUILT_THERE = ("axolotl-",)
_MOST_BYTES = 16 * 2**20
_SUFFIX = ".tar.gz"
_REQUIRES = re.compile(r"(?:[^/]+/){1,3}[^/]+\.egg-info/requires\.txt")
_HEADERS = re.compile(r"[^/]+/PKG-INFO")


def source_archives(files: Iterable[File]) -> tuple[File, ...]:
    """The source archive of a release that is young enough to be asked; nothing for one that has none."""
    found = [file for file in files if file.name.endswith(_SUFFIX) and file.address and (file.uploaded or "") >= SINCE]
    return tuple(file for file in found[:1] if not file.name.startswith(_AS_BUILT_THERE))


def is_source(file: File) -> bool:
    """Whether a file is a source archive that is read here."""
    return file.name.endswith(_SUFFIX)


def required_by_source(file: File, get: Get) -> list[str]:
    """What a source archive requires, as it is kept in the table.

    Raises:
        NoAnswerError: the index does not give it.
        UnreadableError: it does not say, or cannot be read.
    """
    data = get(file.address.partition("#")[0], {}, _MOST_BYTES).data
    texts = dict(_members(data))
    listed = next((text for name, text in texts.items() if _REQUIRES.fullmatch(name)), None)
    if listed is not None:
        return kept(from_requires_txt(listed.decode("utf-8", "replace")))
    headers = next((text for name, text in texts.items() if _HEADERS.fullmatch(name)), b"")
    requires = parse_headers(headers).requires
    if not requires:
        raise UnreadableError("it does not say what it requires")
    return kept(requires)


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
            for item in tar:
                if item.isfile() and (_REQUIRES.fullmatch(item.name) or _HEADERS.fullmatch(item.name)):
                    stream = tar.extractfile(item)
                    if stream is not None:
                        yield item.name, stream.read(HEADER_LIMIT)
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        raise UnreadableError(f"no source archive: {error}") from error


def from_requires_txt(text: str) -> Iterator[str]:
    """The lines of a requires.txt as Requires-Dist lines: ``[extra:marker]`` stands over those of an extra, under a marker."""
    extra = marker = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("[") and line.endswith("]"):
            extra, _, marker = line[1:-1].partition(":")
            continue
        requirement, _, own = line.partition(";")
        conditions = [f"({one.strip()})" for one in (own, marker) if one.strip()]
        if extra:
            conditions.append(f'extra == "{extra}"')
        yield requirement.strip() + (f" ; {' and '.join(conditions)}" if conditions else "")


__all__ = ["SINCE", "from_requires_txt", "is_source", "required_by_source", "source_archives"]
