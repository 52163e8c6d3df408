"""Bounds that a message tells in words, beside the release that it found: too old for what it wants, or too new for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.names import canonical
from envdoctor.sources.stated.report_words import package_name
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

_Q = r"['\"`*\u2018\u2019]{0,3}"
_NAME = r"[A-Za-z][A-Za-z0-9]{0,30}(?:[-_.][A-Za-z0-9]{1,30}){0,4}"
_NUMBER = r"v?\d{1,4}(?:\.\d{1,8}){1,4}(?:\.?(?:post|dev|rc|a|b)\d{0,10})?"
_LESS = r"(?:is |was )?(?:which is )?(?:less|lower|older|earlier|smaller|below)(?: than)?"
_WANTED = r"(?:the )?(?:minimum |lowest |oldest )?(?:required |supported )?(?:minimum )?(?:version|release)?(?: of| is|:)? ?"
# "flashinfer_python is installed with version 0.6.3, which is less than the minimum required version 0.6.4" (sglang/srt/utils/common.py);
# "torchao version 0.5.0 is lower than the minimum required version 0.7.0", "The installed version of peft (0.4.0) is below the required
# 0.5.0"
_TOO_OLD = re.compile(
    rf"(?:version of )?{_Q}(?<![\w./-])(?P<name>{_NAME}){_Q},?(?: is installed with| is at| has)?(?: the)?(?: version| release)? "
    rf"?[(=]{{0,3}}{_Q}{_NUMBER}{_Q}\)?,? {_LESS} {_WANTED}{_Q}\(?{_Q}(?P<number>{_NUMBER})",
    re.IGNORECASE,
)
# "Numba needs NumPy 2.1 or less. Got NumPy 2.2." (numba/__init__.py)
_OR_LESS = re.compile(
    rf"(?:needs|requires?|supports(?: only)?|works with) {_Q}(?P<name>{_NAME}){_Q}(?: version)? {_Q}v?"
    rf"(?P<start>\d{{1,4}}\.)(?P<last>\d{{1,4}}){_Q}(?:\.x)? or (?:less|lower|earlier|older|below)\b",
    re.IGNORECASE,
)
_UPGRADE = re.compile(
    rf"\b(?:please |try |consider |must |should |need to )+(?:try )?(?:upgrad(?:e|ing)|updat(?:e|ing)) "
    rf"(?:your |the )?(?:installed )?(?:version of )?(?P<quote>[`'\"]?)(?P<name>{_NAME})(?P=quote)"
    r"(?= (?:version|package|library|to (?:the |its )?(?:latest|newest|a (?:newer|later|more recent)))"
    r"|[`'\"]|[.,;!)]|$)",
    re.IGNORECASE,
)
_UNKNOWN_KEYS = re.compile(r"unknown keys \(\[(?P<keys>'\w{2,60}'(?:, ?'\w{2,60}'){0,20})\]\)")
# Words that stand before "version" and are no package's name.
_NO_PACKAGE = frozenset(
    ("driver", "cuda", "compiler", "kernel", "gcc", "nvcc", "glibc", "python", "your", "installed", "version", "the", "it")
)


def read_bounds(message: str) -> Iterator[tuple[str, str, str]]:
    """The packages of which a message says that their release is too old or too new, with the range that it wants and its words."""
    for found in _TOO_OLD.finditer(message):
        if (name := package_said(found["name"])) is not None:
            yield name, f">={found['number'].lstrip('v')}", found[0]
    for found in _OR_LESS.finditer(message):
        if (name := package_said(found["name"])) is not None:
            yield name, f"<{found['start']}{int(found['last']) + 1}", found[0]


def read_upgrade(message: str) -> str | None:
    """The package that a message says to upgrade without a number."""
    for found in _UPGRADE.finditer(message):
        name = package_name(found["name"])
        if name is not None and name not in ("pip", "python") and canonical(found["name"]) not in _NO_PACKAGE:
            return name
    return None


def read_unknown_keys(message: str) -> tuple[str, ...]:
    """The keys of a file of settings that a program does not know: ``unknown keys (['enable_cpu_affinity'])``."""
    found = _UNKNOWN_KEYS.search(message)
    return tuple(re.findall(r"\w+", found["keys"])) if found is not None else ()


def package_said(word: str) -> str | None:
    """The package that a word of a message names; None where it may be another thing."""
    name = package_name(word) or (owner if (owner := package_of(word)) in listed() else None)
    if name is None and re.search(r"[-_]", word):
        name = canonical(word)  # a name with a dash between its words is nobody's English
    return None if name is None or canonical(word) in _NO_PACKAGE else name
