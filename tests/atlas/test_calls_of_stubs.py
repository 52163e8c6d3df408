"""Calls whose signatures were hidden: of names that a stub hands on, and of dataclasses that write their own constructor."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.atlas.missing import refused
from envdoctor.atlas.shelf import open_package
from tests.atlas.wheels import atlas_of, forget


@pytest.mark.parametrize(
    ("name", "call", "wrong"),
    [
        ("librosa.util:pad_center", "2", True),
        ("librosa:resample", "3", True),
        ("librosa.feature:melspectrogram", "2", True),
        ("librosa:resample", "1,orig_sr=,target_sr=", False),
        ("librosa.util:normalize", "1,norm=", False),
        ("librosa.util:of_no_module", "2", False),
    ],
)
def test_what_librosa_hands_on_by_its_stubs_is_called_as_it_is_defined(
    monkeypatch: pytest.MonkeyPatch, name: str, call: str, wrong: bool
) -> None:
    monkeypatch.delenv("ENVDOCTOR_ATLAS")
    forget()
    bound = open_package("librosa")
    assert bound is not None
    bad = refused(bound.volume, name, call)
    assert [bool(bad >> bound.volume.places[release] & 1) for release in ("0.9.2", "0.10.2.post1")] == [False, wrong]
    forget()


CONFIG = "from dataclasses import dataclass\n@dataclass\nclass Config:\n    gone: int = 1\n    def __init__(self, steps=1): pass\n"
FIELDS = "from dataclasses import dataclass\n@dataclass\nclass Config:\n    steps: int = 1\n    early_stopping: bool = False\n"


def test_a_dataclass_that_writes_its_constructor_is_made_by_that(tmp_path: Path) -> None:
    with atlas_of(tmp_path, {"acme": {"1.0": {"acme/__init__.py": CONFIG}, "2.0": {"acme/__init__.py": FIELDS}}}):
        bound = open_package("acme")
        assert bound is not None
        assert [refused(bound.volume, "acme:Config", call) for call in ("0,steps=", "0,early_stopping=", "0,gone=")] == [0, 1, 3]
