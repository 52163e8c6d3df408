"""A package index: the page of a project, and parts of its files.

The simple repository API: https://packaging.python.org/en/latest/specifications/simple-repository-api/
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Callable, Mapping

from envdoctor.records import dataclass
from envdoctor.sources.machine.metadata import read_bounded

DEFAULT_INDEX = "https://pypi.org/simple/"
ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
MAX_PAGE_BYTES = 64 * 2**20
TIMEOUT_S = 60
_MOST_PIP_BYTES = 1 << 20
_NAMES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")


class NoAnswerError(Exception):
    """No answer, or one that says no; the message says what was answered, and no address, which may hold a password."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server gave: the bytes asked for, and how many the whole file has, where it said so."""

    data: bytes
    whole: int | None = None


Get = Callable[[str, Mapping[str, str], int], Answer]
"""Ask for an address with headers and for so many bytes at most.

Raises:
    NoAnswerError: no answer, or more bytes than that.
"""


def configured_index(environ: Mapping[str, str]) -> str:
    """The index that the environment names, for uv or for pip; else the one of pip's configuration files; else PyPI."""
    for name in _NAMES:
        if environ.get(name, "").strip():
            return environ[name].strip()
    found = ""
    for path in _pip_files(environ):
        found = _in_pip_file(path) or found
    return found or DEFAULT_INDEX


def _pip_files(environ: Mapping[str, str]) -> list[str]:
    """pip's configuration files where it looks for them on Linux and macOS and on Windows; a later one counts for more.

    https://pip.pypa.io/en/stable/topics/configuration/
    """
    told = environ.get("PIP_CONFIG_FILE", "")
    if told == os.devnull:
        return []
    home = os.path.expanduser("~")
    name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    everybodys = os.path.join(environ.get("PROGRAMDATA", ""), "pip", name) if sys.platform == "win32" else "/etc/pip.conf"
    users = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    if sys.platform in ("win32", "darwin"):
        users = environ.get("APPDATA") or os.path.join(home, "Library", "Application Support")
    return [everybodys, os.path.join(home, ".pip", name), os.path.join(users, "pip", name), os.path.join(sys.prefix, name), told]


def _in_pip_file(path: str) -> str:
    """The index of a configuration file; empty where it names none, or is none."""
    reader = configparser.RawConfigParser(strict=False)
    try:
        data, _ = read_bounded(path, _MOST_PIP_BYTES)
        reader.read_string(data.decode("utf-8", "replace"))
    except (OSError, ValueError, configparser.Error):
        return ""
    found = [reader.get(section, key, fallback="") for section in ("install", "global") for key in ("index-url", "index_url")]
    return next((address.strip() for address in found if address.strip()), "")


def environment_index() -> str:
    """The index of this process's own environment."""
    return configured_index(os.environ)


def page_address(index: str, project: str) -> str:
    """Where the page of a project lies, by its normalised name."""
    return f"{index.rstrip('/')}/{project}/"


def project_page(index: str, project: str, get: Get) -> bytes:
    """A project's page, by its normalised name.

    Raises:
        NoAnswerError: the index cannot be asked, or has no such project.
    """
    return get(page_address(index, project), {"Accept": ACCEPT}, MAX_PAGE_BYTES).data
