"""Scripts that were cut: what is whole is read, where it stands, and the report says that the rest was not."""

from __future__ import annotations

import ast
import textwrap
import time
from pathlib import Path

import pytest

from envdoctor.sources.scripts.excerpts import read_excerpt
from envdoctor.sources.scripts.script import collect_script

CUT_AT_ITS_END = """\
from datasets import load_metric

def train(args):
    if args.bf16:
        model.half()
    options = TrainingArguments(
        output_dir="out",
        evaluation_strategy="no",
        fp16=
"""
CUT_IN_THE_MIDDLE = """\
import torch

def main():
    model = load()

# ...
            seed=3,
        )
        model.train()
    else:
        from old import trainer
    torch.save(model, "a")
"""


def _read(text: str) -> tuple[str, tuple[int, ...]]:
    found = read_excerpt(text)
    assert found is not None
    return ast.unparse(found.tree), found.lost


def test_a_call_keeps_the_arguments_before_the_cut_and_says_that_there_are_more() -> None:
    text, lost = _read(CUT_AT_ITS_END)
    assert "options = TrainingArguments(output_dir='out', evaluation_strategy='no', **_cut_away)" in text
    # The line that the cut runs through is left out.
    assert "fp16" not in text
    assert lost == ()


def test_blocks_without_their_heads_stand_where_they_stood_and_an_else_without_its_if_is_tried() -> None:
    text, lost = _read(CUT_IN_THE_MIDDLE)
    assert lost == (8,)
    assert "    try:\n        from old import trainer\n    except Exception:\n        pass\n" in text
    found = read_excerpt(CUT_IN_THE_MIDDLE)
    assert found is not None
    places = {ast.unparse(node): node.lineno for node in ast.walk(found.tree) if isinstance(node, ast.stmt) and node.lineno}
    assert places["import torch"] == 1
    assert places["model.train()"] == 9
    assert places["from old import trainer"] == 11
    assert places["torch.save(model, 'a')"] == 12


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("print 'a'\nimport torch\nx = (\n", id="python 2"),
        pytest.param("Dear all,\n\nit fails with the newest release.\nimport torch\n", id="a letter"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_is_no_python_3_is_not_read_in_part(text: str) -> None:
    assert read_excerpt(text) is None


def test_a_script_cut_anywhere_gives_statements_of_its_own_lines_alone() -> None:
    whole = Path(__file__).read_text(encoding="utf-8")
    lines = whole.split("\n")
    for start in range(0, len(lines), 7):
        for end in range(start + 5, len(lines), 31):
            found = read_excerpt("\n".join(lines[start:end]))
            if found is None:
                continue
            for node in ast.walk(found.tree):
                if isinstance(node, ast.Name) and node.id not in ("_cut_away", "Exception"):
                    assert node.id in lines[start + node.lineno - 1]


def test_the_report_says_that_a_script_was_read_in_part(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent("""\
        from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
        model = AutoModelForCausalLM.from_pretrained("gpt2", load_in_4bit=True)
        trainer = Trainer(model=model, args=TrainingArguments("out", bf16=True,
        """),
        encoding="utf-8",
    )
    found = collect_script(script)
    values = {fact.name: fact.value for fact in found.facts}
    assert values["plan.load_in_4bit"] is True
    # Neither that it shows all it loads nor that it states a whole plan.
    assert "plan.script" not in values
    assert "plan.whole" not in values
    assert [(skip.why, skip.lost) for skip in found.skips][:1] == [
        ("no Python 3 that can be parsed: '(' was never closed; the statements that are whole were read", True)
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(\n" * 4999, id="brackets"),
        pytest.param("x = [\n" * 2000, id="lists"),
        pytest.param("def f(a,\n" * 1500, id="heads"),
        pytest.param('a = """\n' * 2001, id="quotes"),
        pytest.param("f(a,\n" * 4000 + "g(\n", id="calls"),
    ],
)
def test_a_file_of_nothing_but_beginnings_is_given_up_soon(text: str) -> None:
    begun = time.process_time()
    read_excerpt(text)
    assert time.process_time() - begun < 5
