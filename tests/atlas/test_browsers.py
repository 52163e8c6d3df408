"""What a package does only where Python does not run in a browser."""

from __future__ import annotations

import pytest

from envdoctor.atlas.decisions import decide
from envdoctor.atlas.reading import read_module
from envdoctor.atlas.stack import Stack


@pytest.mark.parametrize(("test", "guard"), [("not wasm_utils.IS_WASM", "!system:Emscripten"), ("IS_WASM", "system:Emscripten")])
def test_an_import_that_a_browser_alone_leaves_out_happens_on_every_known_system(test: str, guard: str) -> None:
    source = f"from gradio import wasm_utils\nfrom gradio.wasm_utils import IS_WASM\nif {test}:\n    from acme import start\n"
    taken = read_module(source, "gradio", package=True).taken
    assert [one.guard for one in taken if one.name == "acme:start"] == [guard]
    happens = guard.startswith("!")
    assert decide(guard, Stack({}, system="Linux"), moduleless=False) is happens
    assert decide(guard, Stack({}), moduleless=False) is None
