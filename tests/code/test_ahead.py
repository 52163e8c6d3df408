"""Many scripts, read by two processes: what is said is what one says, and where the second is lost the first reads all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import json, os, signal, sys
from pathlib import Path
from envdoctor.app import ahead
from envdoctor.app.own_code import Outlines
from envdoctor.app.targets import read_targets
from envdoctor.atlas.outline import pack
from envdoctor.sources.scripts import script
from envdoctor.sources.scripts.kept import rows_of
from envdoctor.sources.scripts.trees import handing_on

mode, *texts = sys.argv[1:]
ahead._LEAST_BYTES = 10**9 if mode == "alone" else 0
os.sched_getaffinity = lambda process: {0, 1}
here, whole, parsed = os.getpid(), script.open_source, []
def parse(path):
    if mode == "lost" and os.getpid() != here and path.name == "s3.py":
        os.kill(os.getpid(), signal.SIGKILL)
    parsed.append(str(path))
    return whole(path)
script.open_source = parse
outlines = Outlines()
with handing_on(outlines):
    targets = read_targets(texts, None, tolerant=True, each=True)
told = []
for one in targets:
    source = outlines.source(Path(one.text))
    row = None if source is None else [[str(source.origin(line)) for line in range(1, 9)], pack(outlines.outline(source))]
    told.append([one.text, rows_of(one.collected), row])
try:
    os.waitpid(-1, os.WNOHANG)
    left = "a process"
except ChildProcessError:
    left = ""
print(json.dumps([told, len(parsed), left]))
"""
SCRIPT = """
import transformers as t, numpy.linalg
from .beside import helper
from peft import LoraConfig, get_peft_model as g
trainer = t.Trainer(model=None, tokenizer=None, args=t.TrainingArguments("out", learning_rate={}))
"""
CELL = {"cell_type": "code", "source": ["import torch\n", "torch.arange(3)"], "metadata": {}, "outputs": []}


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    for number in range(9):
        (tmp_path / f"s{number}.py").write_text(SCRIPT.format(number))
    (tmp_path / "broken.py").write_text("import transformers\nprint 3\n")
    (tmp_path / "bytes.py").write_bytes(b"import peft\nname = '\xff'\n")
    (tmp_path / "cells.ipynb").write_text(json.dumps({"cells": [CELL, CELL], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    return [*(f"./s{number}.py" for number in range(9)), "broken.py", "bytes.py", "cells.ipynb", "absent.py"]


def told(mode: str, texts: list[str], folder: Path) -> tuple[object, int, str]:
    """What is read in a mode, how many files the first process parsed, and what it has left running."""
    environ = {"PYTHONPATH": str(Path(__file__).parent.parent.parent), "XDG_CACHE_HOME": str(folder / mode)}
    command = [sys.executable, "-c", CHILD, mode, *texts]
    shown = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert shown.returncode == 0, shown.stderr
    found, parsed, left = json.loads(shown.stdout)
    return found, parsed, left


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no copies of a process here")
def test_two_say_what_one_says(texts: list[str], tmp_path: Path) -> None:
    alone, parsed, _ = told("alone", texts, tmp_path)
    assert parsed == 12
    both, shared, left = told("both", texts, tmp_path)
    assert both == alone
    assert 4 <= shared <= 8
    assert not left


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no copies of a process here")
def test_what_a_lost_process_had_to_read_is_read(texts: list[str], tmp_path: Path) -> None:
    alone, parsed, _ = told("alone", texts, tmp_path)
    lost, read, left = told("lost", texts, tmp_path)
    assert lost == alone
    assert read > parsed / 2
    assert not left
