"""The one scrubber: what leaves a machine in a report names no path, token, host, address or user.

Written for texts that people paste in public. What looks like a secret goes, whatever it may be: a report that lacks a word can be asked
for, one that has a password in it cannot be taken back.
"""

from __future__ import annotations

import re

from envdoctor.facts.names import canonical
from envdoctor.records import dataclass, field
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

# Hosts that name nobody: where packages, models and code are published.
_PUBLIC = (
    "huggingface.co", "hf.co", "github.com", "raw.githubusercontent.com", "pypi.org", "files.pythonhosted.org", "download.pytorch.org",
    "pytorch.org", "docs.python.org", "python.org", "nvidia.com", "developer.nvidia.com", "docs.nvidia.com", "conda.anaconda.org",
    "anaconda.org", "modelscope.cn", "arxiv.org", "gcc.gnu.org", "peps.python.org", "packaging.python.org", "pip.pypa.io",
    "no-color.org",
)  # fmt: skip
_KEYS = re.compile(
    r"(?<![A-Za-z0-9_-])(?:hf_[A-Za-z0-9]{10,}|sk-(?:[A-Za-z]{2,10}-)?[A-Za-z0-9_-]{16,}|"
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|"
    r"pypi-[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,}|ya29\.[A-Za-z0-9_-]{20,}"
    r"|dop_v1_[a-f0-9]{40,}|r8_[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{20,}|gsk_[A-Za-z0-9]{20,}|wandb_v1_[A-Za-z0-9_-]{20,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,})?)"
)
_BLOCK = re.compile(r"-----BEGIN [A-Z ]{3,40}-----.*?(?:-----END [A-Z ]{3,40}-----|\Z)", re.DOTALL)
_NAMED = re.compile(
    r"(?P<name>\b[\w.-]{0,40}(?:password|passwd|pwd|secret|token|api[_-]?key|apikey|access[_-]?key|"
    r"credential|private[_-]?key|authorization)[\w.-]{0,20}['\"]?\s{0,3}[:=]\s{0,3}['\"]?)"
    r"(?:(?:Bearer|Basic|token)\s+)?(?P<value>[^\s'\",;]{3,})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}")
# A word as long and as mixed as this is no word: a key, a digest, a session.
_OPAQUE = re.compile(
    r"(?<![A-Za-z0-9+])(?=[A-Za-z0-9+]{0,200}\d)(?=[A-Za-z0-9+]{0,200}[A-Za-z])[A-Za-z0-9+]{28,}={0,2}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9+/])(?=[A-Za-z+/]{0,60}\d)(?=[a-z0-9+/]{0,60}[A-Z])(?=[A-Z0-9+/]{0,60}[a-z])[A-Za-z0-9+/]{36,}={0,2}(?![A-Za-z0-9/])"
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})*")
_URL = re.compile(r"\b(?P<scheme>[a-z][a-z0-9+.-]{1,20})://(?P<rest>[^\s'\"<>)\]]+)", re.IGNORECASE)
_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\d.]*\d)")
_IPV6 = re.compile(
    r"(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{0,4}(?![\w:])|(?<![\w:])(?:[0-9a-f]{1,4}:){1,6}:(?:[0-9a-f"
    r"]{1,4}:?){1,6}(?![\w:])|(?<![\w:])::1(?!\w)",
    re.IGNORECASE,
)
_MAC = re.compile(r"\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b", re.IGNORECASE)
_HOST = re.compile(
    r"(?<![\w.@/-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}(?:local|lan|internal|"
    r"intra|corp|home|cluster|private|localdomain|svc|net|com|org|io|ai|edu|gov|dev|cloud|"
    r"cn|de|fr|uk|eu|co|in|jp|ru|ch|us)(?![\w-]|\.\w)(?::\d{1,5})?",
    re.IGNORECASE,
)
_AWS_HOST = re.compile(r"\bip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b")
_INSTALLED = re.compile(r"(?:[A-Za-z]:)?[^\s'\"<>|:]{0,400}?[\\/](site-packages|dist-packages)[\\/]")
_WINDOWS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:[\\/](?:[^\s'\"<>|]| (?=[^\s'\"<>|]{1,60}[\\/]))+|\\\\[\w.$-]{1,63}\\[^\s'\"<>|]+")
_POSIX = re.compile(r"(?<![\w.<>/-])(?:~[\w.-]{0,64}|\.{1,2}|)/(?!/)[^\s'\"<>|:,;)\]]{1,}")
# A file of a project by its relative path; of a published package it is the same for everybody.
_RELATIVE = re.compile(
    r"(?<![\w.<>/@-])(?P<top>[\w-][\w.-]{0,80})(?:[\\/][\w.-]{1,100}){1,20}\.(?:py|ipynb|"
    r"jsonl?|ya?ml|toml|txt|log|csv|tsv|parquet|sh|md|bin|pt|pth"
    r"|safetensors|gguf|arrow|cfg|ini|env|pem|key)\b"
)
_HOME_WORD = re.compile(r"(?<![\w.-])(?:\$HOME|%USERPROFILE%|\$\{HOME\})[^\s'\"<>|:,;)\]]*")
_COMMON = frozenset(
    ("root", "user", "users", "ubuntu", "admin", "home", "runner", "jovyan", "colab", "test", "python", "model", "train", "localhost")
)
_LEAST = 3


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of this machine and must not leave it: names of its user and of itself, and values that are secret."""

    names: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=())


def scrub(text: str, known: Known | None = None) -> str:
    """The text without paths, tokens, hosts, addresses and names of users; what was taken out is said by its kind in angle brackets.

    Of an installed file the part below site-packages stays: it is the same for everybody.
    """
    known = known or Known()
    for secret in sorted(known.secrets, key=len, reverse=True):
        if len(secret) >= _LEAST:
            text = text.replace(secret, "<secret>")
    text = _BLOCK.sub("<secret>", text)
    text = _KEYS.sub("<secret>", text)
    text = _NAMED.sub(lambda found: f"{found['name']}<secret>", text)
    text = _BEARER.sub(lambda found: f"{found[1]} <secret>", text)
    text = _URL.sub(_scrub_url, text)
    text = _MAIL.sub("<address>", text)
    text = _INSTALLED.sub(lambda found: f"<path>/{found[1]}/", text)
    text = _WINDOWS.sub("<path>", text)
    text = _HOME_WORD.sub("<path>", text)
    text = _POSIX.sub("<path>", text)
    text = _RELATIVE.sub(lambda found: found[0] if package_of(found["top"]) in listed() else "<path>", text)
    text = _MAC.sub("<address>", text)
    text = _IPV6.sub("<address>", text)
    text = _IPV4.sub(_scrub_number, text)
    text = _AWS_HOST.sub("<host>", text)
    text = _HOST.sub(_scrub_host, text)
    text = _OPAQUE.sub("<secret>", text)
    for name in sorted({one for one in known.names if len(one) >= _LEAST and one.lower() not in _COMMON}, key=len, reverse=True):
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", "<name>", text, flags=re.IGNORECASE)
    return text


def _scrub_url(found: re.Match[str]) -> str:
    host = found["rest"].partition("/")[0].partition("?")[0]
    name = host.rpartition("@")[2].partition(":")[0].lower()
    if found["scheme"].lower() in ("http", "https") and "@" not in host and _is_public(name):
        return f"{found['scheme']}://{found['rest'].partition('?')[0]}"
    return "<address>"


def _scrub_host(found: re.Match[str]) -> str:
    return found[0] if _is_public(found[0].partition(":")[0].lower()) else "<host>"


def _scrub_number(found: re.Match[str]) -> str:
    """Four numbers are an address, unless one is too large for it: a driver or a build (12.1.0.105) has such, and a version before it."""
    numbers = found[0].partition(":")[0].split(".")
    before = re.search(r"([A-Za-z][\w.-]{0,60}) ?(?:[=<>!~]=|[<>]|,|and)? ?$", found.string[max(0, found.start() - 70) : found.start()])
    if before is not None and canonical(before[1]) in listed():
        return found[0]
    return "<address>" if all(int(number) <= 255 for number in numbers) else found[0]


def _is_public(name: str) -> bool:
    return any(name == host or name.endswith(f".{host}") for host in _PUBLIC)
