"""Text from files made safe for a terminal."""

from __future__ import annotations

import unicodedata

# Controls, formats (bidirectional overrides among them), surrogates and private characters never reach a terminal.
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))


def printable(text: str, *, keep_newlines: bool = False) -> str:
    """The text with every character that a terminal would act on shown as an escape, ``\\x1b``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if (keep_newlines and c == "\n") or unicodedata.category(c) not in _UNSAFE else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
