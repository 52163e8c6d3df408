"""Settings that a command gives in the place of its plan's: ``llamafactory-cli train p.yaml key=value``, ``axolotl train p.yaml --key x``.

LLaMA-Factory merges them from 0.9.3 on (OmegaConf.from_cli in src/llamafactory/hparams/parser.py), torchtune with their paths of keys, and
axolotl replaces what its command line names (src/axolotl/cli/config.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from envdoctor.facts.fact import Origin
from envdoctor.files.text import plain
from envdoctor.sources.launches.flag_table import setting_of
from envdoctor.sources.launches.variables import Piece
from envdoctor.sources.plans.plan import Given

_SETTING = re.compile(r"([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*){0,4})=(.*)", re.DOTALL)


def given_by_words(path: Path, words: Sequence[Piece]) -> Given:
    """``key=value`` and ``key.below=value`` of a command in a script at a path."""
    given: dict[tuple[str, ...], tuple[object, Origin]] = {}
    for piece in words:
        found = _SETTING.fullmatch(piece.text)
        if found is not None:
            given[tuple(found[1].split("."))] = _value(Piece(found[2], piece.line, piece.known)), _place(path, piece.line)
    return given


def given_by_flags(path: Path, values: Mapping[str, Sequence[Piece]], lines: Mapping[str, int]) -> Given:
    """Flags of a command: a lone one is on, ``--no-key`` is off."""
    given: dict[tuple[str, ...], tuple[object, Origin]] = {}
    for name, pieces in values.items():
        if not name:
            continue
        key = name.replace("-", "_")
        lone = not pieces
        keys = tuple((key.removeprefix("no_") if lone else key).split("."))
        found = [_value(piece) for piece in pieces]
        value = not key.startswith("no_") if lone else found[0] if len(found) == 1 else found
        given[keys] = value, _place(path, lines[name])
    return given


def _value(piece: Piece) -> object:
    """As YAML reads it: null, and a list in brackets, beside what flags are."""
    text = piece.text.strip()
    if piece.known and text in ("null", "None", "~", ""):
        return None
    if piece.known and text.startswith("[") and text.endswith("]") and not {"[", "{"} & set(text[1:]):
        return [setting_of(Piece(item.strip().strip("'\""), piece.line)) for item in text[1:-1].split(",") if item.strip()]
    return setting_of(piece)


def _place(path: Path, line: int) -> Origin:
    place = plain(str(path), 4096)
    return Origin(place, place, line)
