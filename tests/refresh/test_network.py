"""The real index: what the bundled tables say is what it says today."""

from __future__ import annotations

from contextlib import closing

import pytest

from envdoctor.refresh.http import Connections
from envdoctor.refresh.index import environment_index
from envdoctor.refresh.refreshing import present, refresh
from envdoctor.refresh.tables import Tables


@pytest.mark.network
def test_the_bundled_tables_are_what_the_index_says() -> None:
    names = ["evaluate", "icetk", "optimum-quanto", "torchtune"]
    bundled = present(None)
    with closing(Connections()) as connections:
        after, outcomes = refresh(Tables(), names, "2026-12-01", environment_index(), connections.get)
    assert [one.failed for one in outcomes] == [""] * len(names)
    for name in names:
        told = {one.version: one for one in after.packages[name].releases}
        for release in bundled.packages[name].releases:
            assert (told[release.version].day, told[release.version].python) == (release.day, release.python)
        for version, lines in bundled.requires[name].items():
            assert set(after.requires[name][version]) == set(lines)
