"""Since when something is gone, in words that hold: what was never there did not go."""

from __future__ import annotations

from typing import Any

import pytest

from envdoctor.atlas.signatures import read, read_call, refusal
from envdoctor.atlas.volume import Volume
from envdoctor.atlas.words import since
from tests.atlas.wheels import atlas_of

HEAD = "package acme\ntop acme\n" + "".join(f"release 1.{minor}.0\n" for minor in range(6))
# There, gone and unknown, the oldest release first.
STATES = {
    "++---": "gone since 1.2.0",
    "--?--": "gone since 1.3.0",
    "?-?-+": "there from 1.4.0 on",
    "+?---": "gone by 1.2.0, last seen in 1.0.0",
    "+-?--": "gone since 1.1.0",
    "??---": "gone since 1.2.0",
    "-----": "which no release that was read has",
    "+--++": "gone since 1.1.0",
}


@pytest.mark.parametrize("states", STATES)
def test_what_is_said_of_the_fourth_release_holds(states: str) -> None:
    volume = Volume(HEAD.replace("release 1.5.0\n", ""), lambda _: None)
    bad, there = (sum(1 << place for place, one in enumerate(states) if one == kind) for kind in "-+")
    asked = 2 if states in ("+--++",) else 3
    assert since(volume, bad, asked, there) == STATES[states]


def test_an_old_name_that_a_decorator_takes_stands_for_what_is_required() -> None:
    signature = read("config,inputs,mask,*-,embeds=")
    assert signature is not None
    assert refusal(signature, read_call("0,config=,embeds=,mask=")) is None
    assert refusal(signature, read_call("0,config=,mask=")) == "needs inputs"
    assert refusal(signature, read_call("0,embeds=,mask=")) == "needs config, inputs"


def test_a_name_of_a_package_that_a_module_had_once(tmp_path: Any) -> None:
    from envdoctor.atlas.answers import answer

    old = {"acme/__init__.py": "from .fetch import fetch\n", "acme/fetch.py": "def fetch(a, b): pass\n"}
    new = {"acme/__init__.py": "from ._fetch import fetch\n", "acme/_fetch.py": "def fetch(a): pass\n"}
    with atlas_of(tmp_path, {"acme": {"1.0": old, "2.0": new}}):
        found = answer("acme.fetch(a)")
        assert found is not None
        assert found.there >> 1 & 1
        gone = answer("acme.fetch(b)")
        assert gone is not None
        assert gone.gone >> 1 & 1
