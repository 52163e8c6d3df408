"""Python of unknown origin as a syntax tree: how much of one a source would make, and why one cannot be made."""

from __future__ import annotations

import ast
import sys
import warnings

# CPython 3.10 overflows its stack, and dies, on a chain of operators deeper than about 100,000.
SOURCE_LIMIT = 2**20 if sys.version_info >= (3, 11) else 200_000
# A node of a syntax tree takes some 600 bytes, and most begin or end with one of these; real files of 300 kB have 50,000.
_MOST_MARKS = 150_000
_MARKS = b",;:()[]{}<>=+-*/%&|^~.@\n"


class NoPythonError(ValueError):
    """What this interpreter cannot parse; ``line`` and ``column``, from 1, where it says them."""

    def __init__(self, found: str, line: int | None = None, column: int | None = None) -> None:
        self.found, self.line, self.column = found, line, column
        super().__init__(found if line is None else f"{found}, line {line}")


def marks(data: bytes) -> int:
    """A measure of the syntax tree that a source makes, whatever its size."""
    return len(data) - len(data.translate(None, _MARKS))


def too_dense(data: bytes, before: int = 0) -> bool:
    """Whether the syntax trees of a source, and of those parsed ``before`` (their marks together), would fill the memory."""
    return marks(data) + before > _MOST_MARKS


def parse_python(source: str | bytes) -> ast.Module:
    """The syntax tree of a source; of bytes, which a coding cookie may say how to read, where no text is given.

    Raises:
        NoPythonError: there is none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        raise NoPythonError(error.msg, error.lineno, error.offset) from None
    except (RecursionError, MemoryError):
        raise NoPythonError("nested too deeply") from None
    except (ValueError, LookupError) as error:
        raise NoPythonError(str(error)) from None


def python_text(data: bytes) -> str:
    """The text of a source, so that a coding cookie of the file chooses no codec.

    Raises:
        NoPythonError: it is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NoPythonError("no UTF-8 text") from None
