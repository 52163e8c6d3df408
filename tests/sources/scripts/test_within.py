"""A load in the block of a ``with`` says in which context it stands."""

from __future__ import annotations

from pathlib import Path

from envdoctor.sources.scripts.script import collect_script

SCRIPT = """
from accelerate import init_empty_weights
from transformers import AutoModelForCausalLM, AutoConfig
with init_empty_weights():
    if True:
        model = AutoModelForCausalLM.from_pretrained("one")
    other = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("one"))
AutoModelForCausalLM.from_pretrained("two")
"""


def test_where_a_model_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(SCRIPT)
    uses = next(fact.value for fact in collect_script(tmp_path / "s.py").facts if fact.name == "plan.code_uses")
    assert isinstance(uses, tuple)
    loads = [use for use in map(str, uses) if use.startswith("transformers.AutoModelForCausalLM.from_pretrained(")]
    assert loads == [
        "transformers.AutoModelForCausalLM.from_pretrained(0=one, within=accelerate.init_empty_weights)",
        "transformers.AutoModelForCausalLM.from_pretrained(0=two)",
    ]
