"""Text of unknown origin, made fit to print."""

from __future__ import annotations


def plain(text: str, limit: int = 200) -> str:
    """Text that is safe to print: one line, no control characters or lone surrogates, at most ``limit`` characters."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
