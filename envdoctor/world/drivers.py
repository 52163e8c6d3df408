"""Which NVIDIA driver runs programs built for which CUDA."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

_TABLE = Path(__file__).parent.parent / "data" / "drivers.json"


class _Floor(TypedDict):
    major: int
    linux: str
    windows: str


class _Toolkit(TypedDict):
    cuda: str
    linux: str
    windows: str | None


class _Table(TypedDict):
    floors: list[_Floor]
    toolkits: list[_Toolkit]


def driver_floor(cuda: str, os: str) -> str | None:
    """The oldest driver that runs programs of any minor version of this CUDA major (minor-version compatibility).

    ``os`` is ``linux`` or ``windows``. None for a CUDA, or a system, that the table does not list.
    """
    number = _numbers(cuda)
    if number is None:
        return None
    return next((_of(row, os) for row in _table()["floors"] if row["major"] == number[0]), None)


def toolkit_driver(cuda: str, os: str) -> str | None:
    """The driver that came with the first release of this toolkit; it also compiles that toolkit's PTX."""
    number = _numbers(cuda)
    if number is None or len(number) < 2:
        return None
    return next((_of(row, os) for row in _table()["toolkits"] if _numbers(row["cuda"]) == number[:2]), None)


@lru_cache(maxsize=1024)
def driver_runs(driver: str, cuda: str, os: str) -> bool | None:
    """Whether the driver runs programs built for this CUDA; None where the driver or the CUDA is not known.

    A newer driver runs every older CUDA. A number below 100 is no driver's: it is the CUDA version that
    nvidia-smi prints of a driver, and runs the CUDA of its own major and of older ones. Packages for forward
    compatibility (cuda-compat) are not looked at: with one, a data-centre GPU may run more than this says.
    """
    have, wants = _numbers(driver), _numbers(cuda)
    if have and wants and have[0] < 100:
        return have[0] >= wants[0]
    needs = [wanted for text in (driver_floor(cuda, os), toolkit_driver(cuda, os)) if text and (wanted := _numbers(text))]
    if not have or not needs:
        return None
    if any(have >= wanted for wanted in needs):
        return True
    # "525", as people name a series, may be 525.60.13 or 525.53.
    return None if any(wanted[: len(have)] == have for wanted in needs) else False


def _of(row: _Floor | _Toolkit, os: str) -> str | None:
    if os == "linux":
        return row["linux"]
    return row["windows"] if os == "windows" else None


@lru_cache(maxsize=1024)
def _numbers(text: str) -> tuple[int, ...] | None:
    text = text.strip()
    return tuple(int(part) for part in text.split(".")) if re.fullmatch(r"\d{1,6}(\.\d{1,6}){0,3}", text, flags=re.ASCII) else None


@lru_cache(maxsize=1)
def _table() -> _Table:
    table: _Table = json.loads(_TABLE.read_bytes())
    return table
