"""What expressions of a script are worth: constants, names, defaults of the command line; never a guess."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact
from envdoctor.sources.scripts.kinds import Known
from envdoctor.sources.scripts.outline import outline
from envdoctor.sources.scripts.script import collect_script
from envdoctor.sources.scripts.values import Evaluator

from .situations import write

HEAD = "from transformers import TrainingArguments\n"


def worth(text: str) -> Known | None:
    """The value of the argument of the last call of ``f``."""
    found = outline(ast.parse(text).body)
    site = next(site for site in reversed(found.calls) if isinstance(site.node, ast.Call) and ast.unparse(site.node.func) == "f")
    assert isinstance(site.node, ast.Call)
    return Evaluator(found).of(site.node.args[0], site.scope)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("f(1 + 2 * 3)", 7),
        ("f(-2 ** 3)", -8),
        ("f(7 // 2)", 3),
        ("f('a' + 'b')", "ab"),
        ("n = 7\nf(f'llama-{n}b')", "llama-7b"),
        ("f([1, 'x', None])", (1, "x", None)),
        ("f(not False)", True),
        ("c = {'model': {'name': 'a/b'}}\nf(c['model']['name'])", "a/b"),
        ("n = ['a/b', 'c/d']\nf(n[1])", "c/d"),
        ("f(1 if 2 > 1 else 3)", 1),
        ("f(None or 'x')", "x"),
        ("f(0 and g)", 0),
        ("f('a' in ['a', 'b'])", True),
        ("f(None is None)", True),
        ("import torch\nf(torch.bfloat16)", "torch.bfloat16"),
        ("import torch as t\nf(t.float16)", "torch.float16"),
        ("from torch import float16\nf(float16)", "torch.float16"),
        ("import torch\nf(getattr(torch, 'bfloat16'))", "torch.bfloat16"),
        ("x = 1\nx = 2\nf(x)", 2),
        ("x = y = 3\nf(x + y)", 6),
        ("x, y = 1, 2\nf(y)", 2),
        ("x = 1\ndef g():\n    f(x)", 1),
        ("x = 1\ndef g():\n    x = 2\n    f(x)", 2),
        ("class C:\n    r = 8\nf(C.r)", 8),
        ("class C:\n    r = 8\nc = C()\nf(c.r)", 8),
        ("class C:\n    r: int = 8\nc = C(r=4)\nf(c.r)", 4),
        ("if a:\n    x = 1\nelse:\n    x = 1\nf(x)", 1),
        ("DEBUG = False\nx = 1\nif DEBUG:\n    x = 2\nf(x)", 1),
    ],
)
def test_what_a_tree_shows(text: str, value: object) -> None:
    assert worth(text) == Known(value)


@pytest.mark.parametrize(
    "text",
    [
        "f(x)",
        "f(g())",
        "x = 1\nx += 1\nf(x)",
        "if a:\n    x = 1\nelse:\n    x = 2\nf(x)",
        "x = 1\nif a:\n    x = 2\nf(x)",
        "for x in [1]:\n    pass\nf(x)",
        "with a as x:\n    pass\nf(x)",
        "def g(x=1):\n    f(x)",
        "x = 1\ndef g():\n    global x\n    x = 2\nf(x)",
        "x = 1\nx = 2\ndef g():\n    f(x)",
        "f(1 / 0)",
        "f(10 ** 10 ** 10)",
        "f('a' * 1000000000)",
        "f(True if a else False)",
        "f(1 < 'a')",
        "x = x\nf(x)",
        "a = b\nb = a\nf(a)",
        "class C:\n    r = 8\nc = C()\nc.r = 16\nf(c.r)",
        "class C:\n    r = 8\nc = C(**k)\nf(c.r)",
        "try:\n    import torch\nexcept ImportError:\n    x = 1\nf(x.y)",
    ],
)
def test_what_a_tree_does_not_show(text: str) -> None:
    assert worth(text) is None


def test_doubling_does_not_run_away() -> None:
    lines = ["a0 = 1", *(f"a{i} = a{i - 1} + a{i - 1}" for i in range(1, 2000)), "f(a1999)"]
    assert worth("\n".join(lines)) is None


_LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


def _as_tuple(value: object) -> object:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


@given(_LITERALS)
def test_a_literal_is_worth_itself(value: object) -> None:
    assert worth(f"f({value!r})") == Known(_as_tuple(value))


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.sampled_from(["+", "-", "*", "//", "%", "/"]))
def test_arithmetic_is_pythons(a: int, b: int, operator: str) -> None:
    text = f"({a}) {operator} ({b})"
    known = worth(f"f({text})")
    try:
        expected = Known(eval(text))
    except ZeroDivisionError:
        assert known is None
    else:
        assert known == expected


# --- the command line ------------------------------------------------------------------------------


def _batch_size(folder: Path, text: str) -> Fact | None:
    path = write(folder, HEAD + text)
    return next((fact for fact in collect_script(path).facts if fact.name == "plan.batch_size"), None)


ARGPARSE = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--bs", "--train-batch-size", type=int, default=4)
args = parser.parse_args()
TrainingArguments("out", per_device_train_batch_size=args.bs)
"""


def test_a_default_of_argparse(tmp_path: Path) -> None:
    fact = _batch_size(tmp_path, ARGPARSE)
    assert fact is not None
    assert (fact.value, fact.origin.line, fact.origin.source) == (4, 4, f"default of --bs in {tmp_path}/train.py")


@pytest.mark.parametrize(
    "text",
    [
        ARGPARSE.replace(", default=4", ", required=True"),
        ARGPARSE.replace("TrainingArguments(", "args.bs = pick()\nTrainingArguments("),
        ARGPARSE.replace("args = ", "parser.set_defaults(bs=8)\nargs = "),
        ARGPARSE.replace("args = ", "other = argparse.ArgumentParser()\nargs = "),
        ARGPARSE.replace("args = ", "parser.add_argument('--bs', default=9)\nargs = "),
        ARGPARSE.replace("args = parser.parse_args()", "args = load()"),
    ],
)
def test_a_default_that_may_not_be_one(tmp_path: Path, text: str) -> None:
    assert _batch_size(tmp_path, text) is None


def test_settings_that_a_function_returns_and_another_takes(tmp_path: Path) -> None:
    text = """import argparse
def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=16)
    return parser.parse_args()
def run(args):
    TrainingArguments("out", per_device_train_batch_size=args.batch)
args = parse()
run(args)
"""
    fact = _batch_size(tmp_path, text)
    assert fact is not None
    assert fact.value == 16


def test_the_function_that_fire_calls(tmp_path: Path) -> None:
    text = """import fire
def train(micro: int = 4, total: int = 128):
    TrainingArguments("out", per_device_train_batch_size=micro)
fire.Fire(train)
"""
    fact = _batch_size(tmp_path, text)
    assert fact is not None
    assert (fact.value, fact.origin.source) == (4, f"default of --micro in {tmp_path}/train.py")
    called = _batch_size(tmp_path, text.replace("fire.Fire(train)", "train()"))
    assert called is not None
    assert (called.value, called.origin.source) == (4, f"{tmp_path}/train.py")
    assert _batch_size(tmp_path, text.replace("fire.Fire(train)", "start(train)")) is None


def test_a_dataclass_that_the_command_line_fills(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        from dataclasses import dataclass, field
        import transformers
        @dataclass
        class ModelArguments:
            model: str = field(default="facebook/opt-125m")
            targets: list = field(default_factory=lambda: ["q_proj"])
        @dataclass
        class Own(transformers.TrainingArguments):
            optim: str = field(default="adamw_torch")
            per_device_train_batch_size: int = 2
        parser = transformers.HfArgumentParser((ModelArguments, Own))
        model_args, training_args = parser.parse_args_into_dataclasses()
        transformers.AutoModel.from_pretrained(model_args.model)
        """,
    )
    found = collect_script(path)
    defaults = {fact.name: (fact.value, fact.origin.line) for fact in found.facts if fact.origin.source.startswith("default of --")}
    assert defaults == {
        "model.id": ("facebook/opt-125m", 5),
        "plan.optimizer": ("adamw_torch", 9),
        "plan.batch_size": (2, 10),
    }
    assert "plan.arguments" not in {fact.name for fact in found.facts}
    assert [skip.why for skip in found.skips] == ["the command line fills the training arguments: give its launcher or a plan file as well"]


def test_a_dataclass_that_the_script_fills_itself(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        from dataclasses import dataclass
        from transformers import TrainingArguments
        @dataclass
        class Own(TrainingArguments):
            optim: str = "sgd"
            fp16: bool = True
        Own(output_dir="out", fp16=False)
        """,
    )
    stated = {fact.name: fact.value for fact in collect_script(path).facts}
    assert (stated["plan.optimizer"], stated["plan.fp16"], stated["plan.batch_size"]) == ("sgd", False, 8)


@pytest.mark.parametrize("call", ["os.environ.get('MODEL', 'a/b')", "os.getenv('MODEL', 'a/b')"])
def test_the_default_of_a_variable_is_a_default(call: str) -> None:
    assert worth(f"import os\nf({call})") == Known("a/b", "MODEL", 2)


@pytest.mark.parametrize(
    "text",
    [
        "c = {'model': {'name': 'a/b'}}\nc['model']['name'] = given\nf(c['model']['name'])",
        "c = {'name': 'a/b'}\nc.update(given)\nf(c['name'])",
        "c = {'name': 'a/b'}\nf(c[given])",
        "n = ['a/b']\nn[0] = given\nf(n[0])",
        "import os\nf(os.environ.get('MODEL'))",
        "import os\nf(os.environ['MODEL'])",
    ],
)
def test_an_entry_that_may_be_another_is_not_known(text: str) -> None:
    assert worth(text) is None
