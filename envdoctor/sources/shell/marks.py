"""Values that nobody can tell from the text alone: an ARG without a default, the output of a command.

Such a value is carried along inside the expanded text between two marks, so that whatever is made of it is known not to be known.
"""

from __future__ import annotations

import re

# Private-use characters: they are taken out of a text before it is read.
_OPEN, _CLOSE, _BLANK = "\ue000", "\ue001", "\ue002"
_MARKS = str.maketrans({_OPEN: "\ufffd", _CLOSE: "\ufffd", _BLANK: "\ufffd"})
_MARKS_OFF = str.maketrans({_OPEN: "$", _CLOSE: None, _BLANK: " "})
# Such a value in a text: nothing in it means anything to a shell.
MARKED = f"{_OPEN}[^{_CLOSE}]*{_CLOSE}?"
OPENING = _OPEN
_SPACE = re.compile(r"[ \t\r\n]+")
_LONGEST_NAMED = 60


def without_marks(text: str) -> str:
    """Text in which no character can be taken for a mark of ours."""
    return text.translate(_MARKS)


def unknown(name: str) -> str:
    """The mark of a value that is not known; ``name`` is how the file calls it."""
    named = _SPACE.sub(_BLANK, name[:_LONGEST_NAMED].translate(_MARKS_OFF))
    return f"{_OPEN}{named}{_CLOSE}"


def is_known(text: str) -> bool:
    return _OPEN not in text


def shown(text: str) -> str:
    """Text as the file would write it: what is not known under its name."""
    return text.replace(_OPEN, "$").replace(_CLOSE, "").replace(_BLANK, " ")
