"""Which package index has a build: PyTorch's own indexes, one for each label, and those that requirements files name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.paths import absolute, real_path
from envdoctor.files.toml import read_toml
from envdoctor.sources.declared.requirement_options import Option, UnknownOptionError, options_of, split_options
from envdoctor.sources.declared.requirement_text import logical_lines, read_text
from envdoctor.world.torch_builds import variants

# https://pytorch.org/get-started/previous-versions/ names one index a label.
PYTORCH = "https://download.pytorch.org/whl/"
BUILT_APART = ("torch", "torchvision", "torchaudio")
_LABEL = re.compile(r"cpu|cu[0-9]{2,3}|rocm[0-9]+(?:\.[0-9]+)*|xpu", re.ASCII)
_INDEXES = ("index-url", "extra-index-url", "find-links")
_MOST_FILES = 50
_LARGEST = 4 * 2**20
_ADDRESS = re.compile(r"https?://[^\s\"'\\]+")
_PYPI = re.compile(r"//pypi\.(?:org|python\.org)/simple/?$")
_SPELLED = re.compile(
    r"(?:(?<![\w-])(?P<option>--extra-index-url|--index-url|--default-index|--index|-i|--find-links|-f)|(?<!\w)(?:PIP|UV)_\w*INDEX(?:_URL)?)"
    r"[\s=\"',]{1,8}(?P<address>https?://[^\s\"'\\,;]+)"
)


def label_of(package: str, version: str) -> str:
    """The label of one of PyTorch's builds, ``2.4.1+cu118`` -> ``cu118``; empty for any other package or label."""
    label = version.partition("+")[2]
    return label if package in BUILT_APART and _LABEL.fullmatch(label) else ""


def index_of(label: str) -> str:
    """The index that PyTorch keeps for a label."""
    return f"{PYTORCH}{label}"


def has_build(package: str, version: str) -> bool | None:
    """Whether torch was released in this build (``2.4.1+cu118``), as far as the bundled table tells; None where it does not."""
    public, _, label = version.partition("+")
    if package != "torch" or not label.startswith("cu"):
        return True if label == "cpu" else None
    listed = variants(public)
    return label in listed if listed else None


def index_line(label: str) -> str:
    """PyTorch's index for a label, as a line of a requirements file."""
    return f"--extra-index-url {index_of(label)}"


def index_for(pins: Mapping[str, str]) -> str:
    """The index that the pins (``==2.4.1+cu118`` by package) need beside the default one; empty where they need none."""
    labels = [label for name, pin in pins.items() if (label := label_of(name, pin))]
    return index_of(labels[0]) if labels else ""


def given_up(pins: Mapping[str, str], before: Mapping[str, str]) -> Iterator[str]:
    """The builds that are given up, in words: a release that was never made for the CUDA of the current one."""
    for name, pin in pins.items():
        label = label_of(name, before.get(name, ""))
        if name == "torch" and label and not label_of(name, pin):
            yield f"torch {pin[2:]} has no {label} build: the default one is taken"


def index_lines(path: Path) -> tuple[str, ...]:
    """The options of a requirements file, and of those that it includes, which say where packages come from, as lines of such a file.

    A directory of wheels is told by its own place. A file that cannot be read says nothing here. An address with an environment
    variable in it is left out: what that holds may be a secret, and the file may be anybody's.
    """
    return tuple(dict.fromkeys(_lines(path, set())))


def declared_indexes(path: Path, kind: str) -> tuple[str, ...]:
    """What a file of any kind that declares packages says of where they come from, as lines of a requirements file.

    Beside a requirements file, no other says of which package an index is the only one: each is asked beside the default one, and the
    default one by its own address is not named.
    """
    if kind == "image" or path.suffix in (".yml", ".yaml"):
        found = _spelled(path)
    elif path.name in ("pyproject.toml", "Pipfile"):
        found = _tabled(path)
    else:
        return index_lines(path)
    usable = (line for line in found if line.isprintable() and "$" not in line and not _PYPI.search(line))
    return tuple(dict.fromkeys(usable))


def _text(path: Path) -> str:
    try:
        return read_bounded(path, _LARGEST).decode("utf-8", "replace")
    except UnreadableError:
        return ""


def _spelled(path: Path) -> Iterator[str]:
    """The options of install commands, and the variables that stand for them."""
    for line in _text(path).splitlines():
        if not line.lstrip().startswith("#"):
            for found in _SPELLED.finditer(line):
                if found["option"] == "-f" and "curl" in line:
                    continue
                option = "find-links" if found["option"] in ("--find-links", "-f") else "extra-index-url"
                yield f"--{option} {found['address']}"


def _tabled(path: Path) -> Iterator[str]:
    try:
        table: object = read_toml(path)
    except EnvdoctorError:
        return
    for keys in (("tool", "uv", "index"), ("tool", "poetry", "source"), ("tool", "pdm", "source"), ("source",)):
        for row in _each(_under(table, *keys)):
            address = row.get("url") if isinstance(row, dict) else None
            if isinstance(address, str) and _ADDRESS.fullmatch(address):
                yield f"--extra-index-url {address}"
    for tool in (("tool", "uv"), ("tool", "uv", "pip")):
        for option, key in (("extra-index-url", "index-url"), ("extra-index-url", "extra-index-url"), ("find-links", "find-links")):
            yield from (f"--{option} {one}" for one in _each(_under(table, *tool, key)) if isinstance(one, str) and _ADDRESS.fullmatch(one))


def _under(table: object, *keys: str) -> object:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table


def _each(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _lines(path: Path, seen: set[str]) -> Iterator[str]:
    identity = str(real_path(path))
    if identity in seen or len(seen) >= _MOST_FILES:
        return
    seen.add(identity)
    try:
        source = read_text(path)
    except EnvdoctorError:
        return
    for line in logical_lines(source):
        for option in _options(line.text):
            if option.name == "requirement" and "://" not in option.value and "\0" not in option.value:
                yield from _lines(path.parent / option.value, seen)
            elif option.name == "no-index":
                yield "--no-index"
            elif option.name in _INDEXES and option.value.isprintable():
                address = _address(option, path)
                if address:
                    yield f"--{option.name} {address}"


def _options(text: str) -> tuple[Option, ...]:
    requirement, rest = split_options(text)
    if requirement:
        return ()
    try:
        return tuple(options_of(rest))
    except UnknownOptionError:
        return ()


def _address(option: Option, path: Path) -> str:
    """A URL as it stands; a path as a URL, where there is something."""
    if not option.value or "${" in option.value or any(map(str.isspace, option.value)):
        return ""
    if "://" in option.value:
        return option.value
    place = absolute(path.parent / option.value)
    return Path(place).as_uri() if os.path.exists(place) else ""


def blamed(said: str, lines: Iterable[str]) -> tuple[str, ...]:
    """Of lines that name indexes, those whose address stands in words about one that does not answer."""
    return tuple(line for line in lines if (bare := _bare(line)) and bare in said)


def _bare(line: str) -> str:
    """The address without its scheme, and without the user and token, which nobody repeats."""
    return line.partition("://")[2].rpartition("@")[2].rstrip("/")


__all__ = [
    "BUILT_APART", "PYTORCH", "blamed", "declared_indexes", "given_up", "has_build", "index_for", "index_line", "index_lines", "index_of",
    "label_of",
]  # fmt: skip
