"""TOML, from the standard library where it has it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from envdoctor.errors import EnvdoctorError

MOST_BYTES = 16 * 2**20


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a table.

    Raises:
        EnvdoctorError: unreadable, larger than 16 MiB, not UTF-8 or not TOML; the place has the line.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise EnvdoctorError(
            str(path), found=error.strerror or str(error), expected="a readable TOML file", next_step="check the path"
        ) from error
    if len(data) > MOST_BYTES:
        raise EnvdoctorError(str(path), found="more than 16 MiB", expected="a TOML file of statements", next_step="check the path")
    return parse_toml(data, str(path))


def parse_toml(data: bytes, place: str) -> dict[str, Any]:
    """A TOML text as a table.

    Raises:
        EnvdoctorError: not UTF-8 or not TOML; the place has the line.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise EnvdoctorError(
            f"{place}, line {line}", found="bytes that are not UTF-8", expected="TOML in UTF-8", next_step="save it as UTF-8"
        ) from error
    return parse_toml_text(text, place)


def parse_toml_text(text: str, place: str) -> dict[str, Any]:
    """A TOML text that was decoded, as a table.

    Raises:
        EnvdoctorError: not TOML; the place has the line.
    """
    # Imported here: most runs read no TOML.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a ValueError that is no TOMLDecodeError: a number of more than 4300 digits
        told = re.search(r"at line (\d+)", str(error))
        where = f"{place}, line {told[1]}" if told else place
        raise EnvdoctorError(where, found=f"no TOML: {error}", expected="valid TOML", next_step="mend the line named") from error
    return table
