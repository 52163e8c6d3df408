"""What the page of a project says: its files, and the releases that they make."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html.parser import HTMLParser
from urllib.parse import urljoin

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from envdoctor.files.text import plain
from envdoctor.records import dataclass
from envdoctor.refresh.tables import Listed, Package

_SDIST_SUFFIXES = (".tar.gz", ".zip", ".tar.bz2", ".tgz")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MOST_REQUIRED = 200
_MOST_REASON = 300


@dataclass(frozen=True, slots=True)
class File:
    """One file of a project page; ``uploaded`` is a day (YYYY-MM-DD) where the index tells it.

    ``address`` is where it lies; ``metadata`` is said of a wheel whose metadata lies beside it (PEP 658); ``size`` is in bytes, 0 where it
    is not told. ``reason`` is why it was yanked, on one line; empty where nobody says.
    """

    name: str
    uploaded: str | None = None
    yanked: bool = False
    requires_python: str | None = None
    address: str = ""
    metadata: bool = False
    size: int = 0
    reason: str = ""


def parse_page(page: bytes, address: str = "") -> list[File]:
    """The files of a project page, in either form of the simple repository API (PEP 691, PEP 503).

    Raises:
        ValueError: the page is neither.
    """
    text = page.decode("utf-8")
    return _parse_json(text, address) if text.lstrip().startswith("{") else _parse_html(text, address)


def _parse_json(text: str, address: str) -> list[File]:
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("a JSON page that is too deep") from None
    match content:
        case {"files": [*files]}:
            pass
        case _:
            raise ValueError("a JSON page without a list of files")
    return [_of_json(file, address) for file in files if isinstance(file, dict) and isinstance(file.get("filename"), str)]


def _of_json(file: Mapping[str, object], address: str) -> File:
    url = file.get("url")
    return File(
        name=str(file["filename"]),
        uploaded=_day(file.get("upload-time")),
        yanked=file.get("yanked", False) is not False,
        requires_python=_python(file.get("requires-python")),
        address=urljoin(address, url) if isinstance(url, str) else "",
        metadata=bool(file.get("core-metadata") or file.get("dist-info-metadata")),
        size=size if isinstance(size := file.get("size"), int) and 0 < size < 1 << 40 else 0,
        reason=_reason(file.get("yanked")),
    )


def _reason(value: object) -> str:
    return plain(" ".join(value.split()), _MOST_REASON) if isinstance(value, str) else ""


def _day(value: object) -> str | None:
    found = _DAY.match(value) if isinstance(value, str) else None
    return found[0] if found else None


def _python(value: object) -> str | None:
    """What a release says of Python; None where it says nothing, or nothing that can be read."""
    if not isinstance(value, str) or len(value) > _MOST_REQUIRED:
        return None
    try:
        SpecifierSet(value)
    except InvalidSpecifier:
        return None
    return value.strip() or None


def _parse_html(text: str, address: str) -> list[File]:
    if "<html" not in text[:1024].lower():
        raise ValueError("neither a JSON nor an HTML page")
    reader = _Anchors(address)
    reader.feed(text)
    reader.close()
    return reader.files


class _Anchors(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self.files: list[File] = []
        self._address = address
        self._open: Mapping[str, str | None] | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._open, self._text = dict(attrs), ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag != "a" or self._open is None:
            return
        said = self._open
        self.files.append(
            File(
                name=self._text.strip(),
                # No standard has an upload time on an HTML page; some indexes give it all the same.
                uploaded=_day(said.get("data-upload-time")),
                yanked="data-yanked" in said,
                reason=_reason(said.get("data-yanked")),
                requires_python=_python(said.get("data-requires-python")),
                address=urljoin(self._address, said.get("href") or ""),
                metadata="data-core-metadata" in said or "data-dist-info-metadata" in said,
            )
        )
        self._open = None


def version_of(file: str, project: str) -> Version | None:
    """The version that a wheel's or a source archive's name states; None for files of any other kind."""
    if file.endswith(".whl"):
        parts = file.removesuffix(".whl").split("-")
        if len(parts) not in (5, 6) or canonicalize_name(parts[0]) != project:
            return None
        text = parts[1]
    else:
        stem = next((file.removesuffix(suffix) for suffix in _SDIST_SUFFIXES if file.endswith(suffix)), None)
        if stem is None:
            return None
        # Old archives keep the dashes and dots of the project's name, and a version may hold a dash too.
        name = re.match("[-_.]+".join(re.escape(part) for part in project.split("-")) + "-", stem, re.IGNORECASE)
        if name is None:
            return None
        text = stem[name.end() :]
    try:
        return Version(text)
    except InvalidVersion:
        return None


def by_version(files: Iterable[File], project: str) -> dict[Version, list[File]]:
    """The files of each release, oldest version first."""
    found: dict[Version, list[File]] = {}
    for file in files:
        version = version_of(file.name, project)
        if version is not None:
            found.setdefault(version, []).append(file)
    return {version: found[version] for version in sorted(found)}


def package(releases: Mapping[Version, Sequence[File]]) -> Package:
    """What the files come to. A release is as old as its first file; yanked where all of them are."""
    return Package(
        tuple(_listed(version, files) for version, files in releases.items() if not version.is_prerelease),
        tuple(str(version) for version in releases if version.is_prerelease),
    )


def _listed(version: Version, files: Sequence[File]) -> Listed:
    marks = []
    yanked = all(file.yanked for file in files)
    if yanked:
        marks.append("yanked")
    if not any(file.name.endswith(".whl") for file in files):
        marks.append("no-wheel")
    return Listed(
        str(version),
        min((file.uploaded for file in files if file.uploaded), default=None),
        next((file.requires_python for file in files if file.requires_python), None),
        tuple(marks),
        next((file.reason for file in files if file.reason), "") if yanked else "",
    )


def wheels(files: Iterable[File]) -> tuple[File, ...]:
    """The wheels whose metadata speaks for a release: for any platform, else for Linux on x86-64, of each Python 3, newest first.

    A wheel that is built for one Python may require other releases than that for the next. Where none names a Python 3 it is one
    that names another.
    """
    found = sorted((file for file in files if file.name.endswith(".whl") and file.address), key=_preference, reverse=True)
    alike = [file for file in found if _preference(file)[:2] == _preference(found[0])[:2]]
    of_python = {_preference(file)[2]: file for file in reversed(alike) if _preference(file)[2]}
    return tuple(reversed(of_python.values())) or tuple(found[:1])


def _preference(file: File) -> tuple[bool, bool, int]:
    python, _, platform = file.name.removesuffix(".whl").split("-")[-3:]
    numbers = [int(tag[3:]) for tag in python.split(".") if tag.startswith(("cp3", "py3")) and tag[3:].isdecimal()]
    return platform == "any", "linux" in platform and "x86_64" in platform, max(numbers, default=0)
