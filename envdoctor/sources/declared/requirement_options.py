"""The options of a requirements file, as pip reads them: on lines of their own, or behind a requirement."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.records import dataclass

_VALUES = (
    "index-url", "extra-index-url", "find-links", "no-binary", "only-binary", "trusted-host", "use-feature", "hash", "config-settings",
    "all-releases", "only-final", "requirement", "constraint", "editable",
)  # fmt: skip
_FLAGS = ("no-index", "prefer-binary", "require-hashes", "no-require-hashes", "pre")
_ALIASES = {"pypi-url": "index-url", "config-setting": "config-settings"}
_SHORT = {"i": "index-url", "f": "find-links", "r": "requirement", "c": "constraint", "e": "editable", "C": "config-settings"}
# Options of earlier releases of pip.
_REMOVED_VALUES = ("global-option", "install-option", "build-option", "allow-external", "allow-unverified")
_REMOVED_FLAGS = ("always-unzip", "process-dependency-links", "use-wheel", "no-use-wheel", "allow-all-external", "no-allow-external")
_LONG = (*_VALUES, *_FLAGS, *_ALIASES, *_REMOVED_VALUES, *_REMOVED_FLAGS)
_OPTION = re.compile(r"(?:^|\s)-")


class UnknownOptionError(Exception):
    """An option that no requirements file has; the text is the option as written."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option by its long name, with its value if it takes one. ``removed``: pip refuses it today."""

    name: str
    value: str = ""
    removed: bool = False


def split_options(line: str) -> tuple[str, str]:
    """A logical line's requirement and its options; one of them may be empty."""
    if "-" not in line:
        return line, ""
    found = _OPTION.search(line)
    return (line, "") if found is None else (line[: found.start()].strip(), line[found.start() :].strip())


def options_of(text: str) -> Iterator[Option]:
    """The options of a line in order.

    Raises:
        UnknownOptionError: one is none of a requirements file.
    """
    split = _words(text)
    for place in range(len(split) - 2, 1, -1):
        if split[place] == "@" and split[place - 2] in ("-e", "--editable"):  # "-e name @ URL": uv takes it, pip with quotes
            split[place - 1 : place + 2] = [" ".join(split[place - 1 : place + 2])]
    words = iter(split)
    for word in words:
        if not word.startswith("-"):
            continue
        name, attached = _named(word)
        takes_value = name in _VALUES or name in _REMOVED_VALUES
        value = attached if attached is not None else next(words, "") if takes_value else ""
        if name in ("requirement", "constraint", "editable") and not value:
            raise UnknownOptionError(f"{word} without a value")
        yield Option(name, value, name in _REMOVED_VALUES or name in _REMOVED_FLAGS)


def _named(word: str) -> tuple[str, str | None]:
    """The long name of an option and the value that is written with it: ``-rbase.txt``, ``--hash=...``, ``--req base.txt``."""
    if not word.startswith("--"):
        name = _SHORT.get(word[1:2])
        if name is None:
            raise UnknownOptionError(word)
        return name, word[2:] or None
    written, equals, value = word[2:].partition("=")
    close = [name for name in _LONG if name.startswith(written)] if written else []
    name = written if written in _LONG else close[0] if len(close) == 1 else None
    if name is None:
        raise UnknownOptionError(f"--{written}")
    return _ALIASES.get(name, name), value if equals else None


def _words(text: str) -> list[str]:
    """The words of an option string, as a shell splits them."""
    if not any(character in text for character in "'\"\\"):
        return text.split()
    import shlex

    try:
        return shlex.split(text)
    except ValueError:
        raise UnknownOptionError(text) from None
