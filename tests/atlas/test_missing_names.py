"""What a release does not have, told from what its source shows: nothing is missing that it gives in another way."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.atlas.masks import write
from envdoctor.atlas.missing import missing
from envdoctor.atlas.shelf import open_package
from tests.atlas.wheels import atlas_of

BOLT = {
    "1.0": {"bolt/__init__.py": "", "bolt/rec.py": "def make(): pass\ndef old(): pass\n"},
    "2.0": {"bolt/__init__.py": "from bolt import _rec as rec\n", "bolt/_rec.py": "def make(): pass\n"},
    "3.0": {"bolt/__init__.py": "", "bolt/_rec.py": "def make(): pass\n"},
}
NUMPY = {
    "1.24.4": {"numpy/__init__.py": "", "numpy/core.py": "def kept(): pass\n"},
    "1.26.4": {"numpy/__init__.py": "", "numpy/core.py": "def kept(): pass\n", "numpy/dtypes.py": "__all__ = []\n"},
}


def gone(package: str, name: str, *, imported: bool = False) -> str:
    bound = open_package(package)
    assert bound is not None
    return write(missing(bound.volume, name, imported=imported), bound.volume.releases)


def test_a_module_that_became_a_name_of_its_parent_still_gives_what_is_asked_of_it(tmp_path: Path) -> None:
    with atlas_of(tmp_path, {"bolt": BOLT}):
        assert gone("bolt", "bolt.rec.make") == "3.0-"
        assert gone("bolt", "bolt.rec:make", imported=True) == "2.0-"


@pytest.mark.parametrize(("name", "releases"), [("numpy.dtypes.StringDType", "1.24.4"), ("numpy.dtypes:StringDType", "1.24.4")])
def test_what_compiled_code_puts_into_a_module_is_missing_where_the_module_is(tmp_path: Path, name: str, releases: str) -> None:
    with atlas_of(tmp_path, {"numpy": NUMPY}):
        assert gone("numpy", name, imported=":" in name) == releases
