"""Keywords of an older release that a decorator still takes, in the signature of what it stands over."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.atlas.missing import refused
from envdoctor.atlas.reading import read_module
from envdoctor.atlas.shelf import open_package
from tests.atlas.wheels import atlas_of

SIGNATURES = {
    "@rename_parameter('3.9', 'old', 'new')\ndef f(a, new=None): pass": "a,new=,*-,old=",
    "@_api.rename_parameter('3.9', old='old', new='new')\ndef f(a, new=None): pass": "a,new=,*-,old=",
    "@deprecated_kwargs(old='new', older='new')\ndef f(a, new=None, **rest): pass": "a,new=,*-,old=,older=,**",
    "@deprecated_kwargs(**table)\ndef f(a): pass": "~",
    "@register_model()\n@handle_legacy_interface(weights=('old', W))\ndef f(*, weights=None, **rest): pass": "weights=,*-,old=,**",
    "@handle_legacy_interface(weights=W)\ndef f(*, weights=None): pass": "~",
    "@_preprocess_data(replace_names=['x'])\ndef f(x, *, data=None): pass": "x,*-,data=",
    "@_dispatchable\ndef f(g): pass": "g,*-,backend=",
    "@unheard_of\ndef f(g): pass": "~",
}


@pytest.mark.parametrize("text", SIGNATURES)
def test_a_signature_has_what_its_decorators_take(text: str) -> None:
    assert read_module(text, "acme", package=False).functions["f"] == SIGNATURES[text]


PLOT = """
from .axes import Axes
@_copy_docstring_and_deprecators(Axes.boxplot)
def boxplot(x, tick_labels=None, *, data=None): pass
"""
AXES = """
class Axes:
    @_preprocess_data()
    @rename_parameter("3.9", "labels", "tick_labels")
    def boxplot(self, x, tick_labels=None): pass
"""
LATER = AXES.replace('@rename_parameter("3.9", "labels", "tick_labels")', "")
LIB = {
    "1.0": {"acme/__init__.py": "", "acme/plot.py": PLOT, "acme/axes.py": AXES},
    "2.0": {
        "acme/__init__.py": "",
        "acme/plot.py": PLOT,
        "acme/axes.py": LATER,
    },
}


def test_a_function_takes_the_old_names_of_the_method_that_it_stands_for(tmp_path: Path) -> None:
    with atlas_of(tmp_path, {"acme": LIB}):
        bound = open_package("acme")
        assert bound is not None
        assert refused(bound.volume, "acme.plot.boxplot", "1,labels=") == 0b10
        assert refused(bound.volume, "acme.plot.boxplot", "1,tick_labels=,data=") == 0
        # No release takes it, and all of them show so.
        assert refused(bound.volume, "acme.plot.boxplot", "1,lables=") == 0b11
