"""Packages of the atlas as they are packed."""

from __future__ import annotations

import pytest

from envdoctor.atlas.binding import Bound, bind
from envdoctor.atlas.volume import DamagedAtlasError

TEXT = "package acme\ntop acme\nrelease 1.0 2024-01-01\nmodule acme 1.0\nn given\nmodule acme.more 1.0\nn other\n"


@pytest.mark.parametrize("dense", [False, True])
def test_a_package_reads_the_same_however_it_is_packed(dense: bool) -> None:
    data = bind([TEXT], dense=dense)
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
