"""A table whose packages are read one by one has what it has when it is read whole."""

from __future__ import annotations

import json

import pytest

from envdoctor.world.table_rows import split_table
from envdoctor.world.tables import BUNDLED, NAMES, DamagedError, read_table

WHOLE = b'{\n "schema": 2,\n "as_of": "2026-11-21",\n "packages": {\n  "alpha": {"pre": "", "releases": [\n   "1.0 2024-01-01 -"]}\n }\n}\n'


@pytest.mark.parametrize("name", NAMES)
def test_the_bundled_tables_say_the_same_package_by_package(name: str) -> None:
    data = (BUNDLED / f"{name}.json").read_bytes()
    split = split_table(data)
    assert split is not None
    head, rows = split
    whole = json.loads(data)
    assert {**head, "packages": dict(rows)} == whole
    assert len(rows) == len(whole["packages"])


def test_a_table_in_another_form_is_read_whole() -> None:
    compact = json.dumps(json.loads(WHOLE)).encode()
    assert split_table(compact) is None
    assert dict(read_table(BUNDLED, compact).packages) == dict(read_table(BUNDLED, WHOLE).packages)


@pytest.mark.parametrize("cut", [60, len(WHOLE) - 4, len(WHOLE) - 6])
def test_a_table_that_was_cut_off_is_damaged(cut: int) -> None:
    with pytest.raises(DamagedError, match="no JSON"):
        read_table(BUNDLED, WHOLE[:cut])
