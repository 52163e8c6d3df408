"""What is read of a script is let go of at once: of a thousand files the collector would have the most to do."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from envdoctor.sources.scripts.script import read_script

SCRIPT = """
import transformers
if transformers.__version__ < "5":
    kwargs = {"tokenizer": None}
def train(model, flag=False):
    if flag:
        return transformers.Trainer(model)
    trainer = transformers.Trainer(model, **kwargs)
    try:
        return trainer.train()
    except TypeError:
        pass
class Own(transformers.Trainer):
    rate = 0.1
    def step(self):
        return [one.rate for one in self.items]
"""


@pytest.mark.large
def test_a_script_leaves_nothing_to_the_collector(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    read_script(path)  # what is made once stays
    gc.collect()
    gc.disable()
    try:
        assert read_script(path)[0].facts
        assert gc.collect() == 0
    finally:
        gc.enable()
