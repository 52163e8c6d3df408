"""The flags of a command as the settings of a plan."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from envdoctor.files.json_file import JsonError, parse_json
from envdoctor.sources.launches.variables import Piece
from envdoctor.sources.plans.plan_file import Unresolved
from envdoctor.sources.plans.training_arguments import FIELDS

_NUMBER = re.compile(r"[+-]?[0-9]{1,15}")
_REAL = re.compile(r"[+-]?(?:[0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})(?:[eE][+-]?[0-9]{1,3})?")


def table_of_flags(values: Mapping[str, Sequence[Piece]]) -> dict[object, object]:
    """Flags as settings: a lone flag is on, ``--no_x`` is off where x is TrainingArguments', several values are a list."""
    table: dict[object, object] = {}
    for name, pieces in values.items():
        if not name:
            continue
        key = name.replace("-", "_")
        negated = key.removeprefix("no_")
        if not pieces and negated != key and negated in FIELDS:
            table[negated] = False
        else:
            found = [setting_of(piece) for piece in pieces]
            table[key] = True if not found else found[0] if len(found) == 1 else found
    deepspeed = table.get("deepspeed")
    if deepspeed is True and isinstance(table.get("deepspeed_config"), str):
        # DeepSpeed's own two arguments.
        table["deepspeed"] = table["deepspeed_config"]
    elif deepspeed is True:
        del table["deepspeed"]
    return table


def setting_of(piece: Piece) -> object:
    if not piece.known:
        return Unresolved(piece.text)
    text = piece.text
    if text in ("True", "true", "TRUE", "False", "false", "FALSE"):
        return text.lower() == "true"
    if _NUMBER.fullmatch(text):
        return int(text)
    if _REAL.fullmatch(text):
        return float(text)
    if text.startswith("{"):
        try:
            return parse_json(text.encode("utf-8", "replace")).value
        except JsonError:
            return text
    return text
