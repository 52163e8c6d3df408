"""A file under the name of a requirements file that another tool printed or reads: it is one mistake, and not one for each line.

The forms are those of ``conda list --export`` (``name=version=build``), ``conda list --explicit`` (``@EXPLICIT``), ``conda list`` and
``pip list`` (columns), and ``conda env export`` (YAML): docs.conda.io/projects/conda/en/stable/commands/list.html, .../env/export.html.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envdoctor.sources.declared.requirement_text import LogicalLine

_NAME = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,100}"
_EXPORT = re.compile(rf"{_NAME}=[^=<>~!\s]{{1,100}}(?:=[^=\s]{{1,200}})?")
_QUOTED = re.compile(r"""(['"])[A-Za-z0-9][^'"]*\1,?""")
_COLUMNS = re.compile(rf"{_NAME}\s+v?\d[^\s=<>~!]{{0,100}}(?:\s+[^\s=<>~!]{{1,200}}){{0,2}}")
_YAML = re.compile(r"dependencies:")
_YAML_LINE = re.compile(r"(?:name|prefix):.*|(?:channels|dependencies|variables):|-\s+\S.*")
_HEADERS = re.compile(r"Package\s+Version(?:\s.*)?|-{3,}[-\s]*|Name\s+Version\s+Build.*")
_FEWEST = 3


def describe_foreign_list(lines: Sequence[LogicalLine]) -> tuple[int, str] | None:
    """The first line that pip refuses of a list that another tool wrote, and what the list is, in words; None for any other."""
    lines = [line for line in lines if line.text]
    if any(line.text == "@EXPLICIT" for line in lines):
        marked = next(line for line in lines if line.text == "@EXPLICIT")
        return marked.number, "conda list --explicit writes such a file: conda create --file reads it, and pip does not"
    if any(_YAML.fullmatch(line.text) for line in lines) and _are_nearly_all(lines, _YAML_LINE):
        return lines[0].number, "it is a conda environment file: conda env create --file reads it, and pip does not"
    for form, told in (
        (_EXPORT, "lines are of the form name=version=build of conda list --export: conda create --file reads them, and pip does not"),
        (_COLUMNS, "lines are the columns that pip list or conda list prints: pip freeze writes what pip reads"),
    ):
        those = [line for line in lines if form.fullmatch(line.text)]
        if len(those) >= _FEWEST and _are_nearly_all([line for line in lines if not _HEADERS.fullmatch(line.text)], form):
            return those[0].number, f"{len(those)} {told}"
    return None


def is_of_strings(lines: Sequence[LogicalLine]) -> bool:
    """Whether lines are strings of Python: a file that a setup.py reads by itself, strips and hands on, which nobody gives to pip."""
    lines = [line for line in lines if line.text]
    return len(lines) >= _FEWEST and _are_nearly_all(lines, _QUOTED)


def _are_nearly_all(lines: Sequence[LogicalLine], form: re.Pattern[str]) -> bool:
    return sum(bool(form.fullmatch(line.text)) for line in lines) * 10 >= len(lines) * 9
