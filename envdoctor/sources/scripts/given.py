"""What a command gives a setting of the script that it starts, as the script's own parser makes it a value."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.sources.scripts.kinds import Known
from envdoctor.sources.scripts.namespaces import Default

# Flags by their names with underscores; "" for one that stands alone.
Given = Mapping[str, str]
_YES, _NO = ("true", "yes", "1", "t", "y"), ("false", "no", "0", "f", "n")


def given_to(default: Default, given: Given) -> str | None:
    """The text that a setting is given; None where the command does not name it."""
    return given.get(default.setting.lstrip("-").replace("-", "_"))


def read_given(default: Default, text: str) -> Known | None:
    """The value that the text is for this setting; None for a type that is not known, or that refuses it."""
    kind = default.kind
    try:
        if kind == "flag":
            return Known(not default.implied) if not text else None
        if kind == "bool":
            word = text.lower()
            return Known(True) if not word or word in _YES else Known(False) if word in _NO else None
        if kind == "int":
            return Known(int(text))
        if kind == "float":
            return Known(float(text))
    except ValueError:
        return None
    return Known(text) if kind == "str" and text else None
