"""Sentences that compiled code puts together as it runs, from no text that a source or a library holds as a whole.

PyTorch's parser of arguments names the function and the position, serde the place in a JSON text, SentencePiece its own file. Each was
looked for in the compiled files of old and new releases and of some between: torch 1.10.2 to 2.10.0, numpy 1.21.6 to 2.3.5, tokenizers
0.11.2 to 0.22.1, sentencepiece 0.1.99 to 0.2.3.
"""

from __future__ import annotations

import re

from envdoctor.logs.tracebacks import Failure
from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class Compiled:
    """A sentence of the compiled code of ``package``, which its releases have from ``since`` on (empty: nobody looked), to ``until``."""

    says: re.Pattern[str]
    package: str
    since: str
    until: str = ""

    def words(self) -> str:
        return f"{self.package} says this in its compiled code{f'; releases {self.since}-{self.until}' if self.since else ''}"


_SENTENCES = (
    Compiled(re.compile(r"TypeError: (?:torch|_?Tensor(?:Base)?|torch\._C(?:\.\w+)*)\.\w+\(\) takes (?:no|exactly)\b"), "torch", "1.10.2"),
    Compiled(re.compile(r"TypeError: \w+\(\): argument '\w+' (?:\(position \d+\) )?must be .+, not .+"), "torch", "1.10.2"),
    Compiled(
        re.compile(r"TypeError: \w+\(\): incompatible (?:function|constructor) arguments\..*?\d\. (?:\(self: )?torch\._C\."),
        "torch",
        "1.10.2",
    ),
    Compiled(re.compile(r"TypeError: torch\._C\.\w+: No constructor defined!"), "torch", ""),
    Compiled(re.compile(r"RuntimeError: Invalid device string: '[^']*'$"), "torch", ""),
    Compiled(re.compile(r"TypeError: numpy\.\w+\(\) takes "), "numpy", "1.21.6"),
    Compiled(re.compile(r"ValueError: (?:assignment destination|output array|array) is read-only$"), "numpy", "1.21.6"),
    Compiled(re.compile(r"Exception: .+ at line \d+ column \d+$"), "tokenizers", "0.11.2"),
    Compiled(re.compile(r"TypeError: No constructor defined$"), "tokenizers", "0.13.3"),
    Compiled(re.compile(r"TypeError: Can't extract `str` to `Vec`?$"), "tokenizers", "0.13.3"),
    Compiled(re.compile(r"ValueError: expected tuple of length \d+, but got tuple of length \d+$"), "tokenizers", "0.13.3"),
    # How pyarrow's compute options refuse a word or a type.
    Compiled(re.compile(r'(?:Type|Value)Error: "[^"]*" is not a valid (?:tiebreaker|value set|sort order|null placement)$'), "pyarrow", ""),
    # SWIG made its bindings until pybind11 did.
    Compiled(re.compile(r"TypeError: in method '\w*(?:SentencePiece|MinLogLevel)\w*', argument"), "sentencepiece", "0.1.99", "0.2.1"),
    Compiled(re.compile(r"RuntimeError: Internal: src/\w+\.cc\(\d+\) \["), "sentencepiece", "0.1.99"),
    Compiled(re.compile(r"RuntimeError: Internal: could not parse ModelProto from "), "sentencepiece", "0.2.0"),
)  # fmt: skip


def says_compiled(failure: Failure) -> Compiled | None:
    """Whose compiled code put an error together; None where a frame tells whose it is, or nobody knows."""
    if failure.frames:
        return None
    return next((one for one in _SENTENCES if one.says.match(failure.told)), None)
