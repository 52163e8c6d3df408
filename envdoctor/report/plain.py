"""Text from files made safe for a terminal."""

from __future__ import annotations

import re

# Controls, formats (bidirectional overrides among them), surrogates and private characters never reach a terminal.
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))


def printable(text: str, *, keep_newlines: bool = False) -> str:
    """The text with every character that a terminal would act on shown as an escape, ``\\x1b``."""
    if text.isascii() and text.isprintable():
        return text
    import unicodedata  # only where a text is more than plain ASCII

    return "".join(c if (keep_newlines and c == "\n") or unicodedata.category(c) not in _UNSAFE else _escaped(c) for c in text)


def defuse(text: str, format_name: str) -> str:
    """The text of a format, so that a log of GitHub Actions takes none of its lines for a command.

    The runner obeys ``::name::`` at the beginning of a line, blanks before it or not, and ``##[name]`` anywhere in one
    (https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs). JSON, TOML and XML have escapes that change nothing.
    """
    if format_name in ("json", "sarif", "gitlab", "toml"):
        return text.replace("##[", "#\\u0023[")
    if format_name == "junit":
        return re.sub(r"^(\s*):(?=:)", r"\1&#58;", text.replace("##[", "#&#35;["), flags=re.MULTILINE)
    text = text.replace("##[", "## [")
    return text if format_name == "github" else re.sub(r"^(\s*):(?=:)", r"\1: ", text, flags=re.MULTILINE)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
