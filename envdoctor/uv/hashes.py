"""Hashes of a release's files, as the package index has them: asked for only where somebody allows the network."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.names import canonical
from envdoctor.files.text import plain
from envdoctor.uv.command import ask_uv, without_downloads

if TYPE_CHECKING:
    import subprocess

_HASH = re.compile(r"--hash=(sha(?:256|384|512):[0-9a-f]{64,128})\b")
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
_VERSION = re.compile(r"[A-Za-z0-9.+!_-]+", re.ASCII)
Run = Callable[[Sequence[str], str], "subprocess.CompletedProcess[str]"]
"""Asks uv: words, and the requirement on its standard input."""


def release_hashes(
    package: str, version: str, *, python: str | None = None, indexes: Sequence[str] = (), run: Run | None = None
) -> tuple[str, ...]:
    """The hashes (``sha256:<hex>``) of all files of a release, in the order in which the index tells them.

    ``python`` is the version that it is for (``3.10``), where that is not ours; ``indexes`` are asked before the default one. Nothing
    is built or installed.

    Raises:
        EnvdoctorError: no uv, no answer, no such release, or an index that tells no hashes.
    """
    place = plain(f"hashes of {package}=={version}")
    if _NAME.fullmatch(package) is None or _VERSION.fullmatch(version) is None:
        raise EnvdoctorError(place, found="no release", expected="a package's name and one version", next_step="check the pin")
    words = ["pip", "compile", "-", "--generate-hashes", "--no-deps", "--no-build", "--no-header", "--no-annotate"]
    words += ["--color", "never", "--quiet"]
    words += [] if python is None else ["--python-version", python]
    words += [word for index in indexes for word in ("--index", index)]
    done = (run or _uv)(words, f"{package}=={version}\n")
    if done.returncode:
        said = plain(" ".join(done.stderr.split()) or f"exit status {done.returncode} of uv", 1000)
        raise EnvdoctorError(
            place, found=said, expected="the release on the index", next_step="check the index, or take the hashes by hand"
        )
    named = _PINNED.search(done.stdout)
    hashes = tuple(dict.fromkeys(_HASH.findall(done.stdout)))
    if named is None or canonical(named[1]) != canonical(package) or not hashes:
        raise EnvdoctorError(place, found="no hashes", expected="an index that tells them", next_step="take the hashes by hand")
    return hashes


def _uv(words: Sequence[str], text: str) -> subprocess.CompletedProcess[str]:
    return ask_uv(words, text, without_downloads(os.environ), place="hashes", next_step="try again")


__all__ = ["release_hashes"]
