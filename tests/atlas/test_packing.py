"""Packages of the atlas as they are packed."""

from __future__ import annotations

import pytest

from envdoctor.atlas.binding import CLOSE, FAST, SLOW, SOLID, Bound, bind
from envdoctor.atlas.numbered import numbers_in, written
from envdoctor.atlas.takes import Takes
from envdoctor.atlas.volume import DamagedAtlasError

TEXT = "package acme\ntop acme\nrelease 1.0 2024-01-01\nmodule acme 1.0\nn given\nmodule acme.more 1.0\nn other\n"


@pytest.mark.parametrize("packing", [FAST, SOLID, CLOSE, SLOW])
def test_a_package_reads_the_same_however_it_is_packed(packing: str) -> None:
    data = bind([TEXT], packing)
    bound = Bound(data, "acme.atlas")
    assert bound.volume.releases == ("1.0",)
    assert bound.chunk("acme.more") == "module acme.more 1.0\nn other\n"
    cut = Bound(data[:-4], "acme.atlas")
    with pytest.raises(DamagedAtlasError, match=r"acme\.atlas"):
        cut.chunk("acme.more")


def test_a_function_whose_name_ends_like_a_part_of_the_file_is_not_taken_for_it() -> None:
    text = f"{TEXT}module acme.last 1.0\nf it_takes query\ntakes acme\nbad torch:gone 1.0\n"
    found = Bound(bind([text]), "acme.atlas").chunk("@@takes")
    assert found == "takes acme\nbad torch:gone 1.0\n"


def test_entries_that_share_lines_are_told_each_with_its_own_in_their_order() -> None:
    takes = (
        "takes acme\nbad numpy:float 1.24.4-\ntake 0 acme/__init__.py 3@1.0 -\n"
        "entry acme acme:given\n0 1.0\n+ numpy 1.0\n+ torch:nn 1.0 torch>=2\n"
        "entry acme.more\n0 1.0\n+ torch:nn 1.0 torch>=2\n? apex 1.0 acme/more.py:7\n"
    )
    told = Takes(Bound(bind([TEXT, takes]), "acme.atlas"))
    given, more = told.entry("acme:given"), told.entry("acme.more")
    assert given == told.entry("acme")
    assert given is not None
    assert more is not None
    assert [(one.kind, one.name, one.guard) for one in given] == [("take", "", ""), ("+", "numpy", ""), ("+", "torch:nn", "torch>=2")]
    assert [(one.kind, one.name, one.place) for one in more] == [("take", "", ""), ("+", "torch:nn", ""), ("?", "apex", "acme/more.py:7")]
    assert told.entry("acme.least") is None


def test_numbers_of_lines_are_read_as_they_were_written() -> None:
    for numbers in ([], [0], [3, 4, 5, 16], [0, 1, 3, 5, 6, 7, 4000]):
        assert list(numbers_in(written(numbers))) == numbers
