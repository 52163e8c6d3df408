"""Methods of models that import peft where they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.app import loads
from envdoctor.cli import main


@pytest.mark.parametrize(
    ("call", "told"), [("m.load_adapter('x/y')", True), ("m.add_adapter(config)", True), ("m.generate()", False), ("m.adapter()", False)]
)
def test_a_model_that_loads_an_adapter_imports_peft(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: str, told: bool) -> None:
    followed: list[tuple[str, ...]] = []
    monkeypatch.setattr(loads, "_not_loaded", followed.append)
    monkeypatch.chdir(tmp_path)
    Path("requirements.txt").write_text("transformers==4.51.3\npeft==0.18.0\n")
    Path("t.py").write_text(f"from transformers import AutoModelForCausalLM\nm = AutoModelForCausalLM.from_pretrained('a/b')\n{call}\n")
    main(["check", "requirements.txt", "t.py", "--offline", "--format", "json"])
    assert ["peft" in names for names in followed] == [told]
