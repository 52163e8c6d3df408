"""Classes of another file of the project that are made as a package's class is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from envdoctor.app.own_classes import with_own_classes
from envdoctor.app.project_code import Project
from envdoctor.atlas.instances import in_one_step

HANDED = "super().__init__(*args, **kwargs)"
ROWS = {
    "Plain": ("Trainer", "def compute_loss(self, model, inputs):", "return 0"),
    "Handing": ("Trainer", "def __init__(self, *args, **kwargs):", HANDED, "self.x = 1"),
    "Taking": ("Trainer", "def __init__(self, *args, **kwargs):", "kwargs.pop('tokenizer')", HANDED),
    "Own": ("Trainer", "def __init__(self, tokenizer):", "super().__init__()"),
    "Alone": ("object", "def x(self):", "return 0"),
}


@pytest.mark.parametrize(("name", "follows"), [("Plain", True), ("Handing", True), ("Taking", False), ("Own", False), ("Alone", False)])
def test_a_class_that_adds_nothing_is_called_as_its_base(tmp_path: Path, name: str, follows: bool) -> None:
    package = tmp_path / "own"
    package.mkdir()
    (package / "__init__.py").write_text("")
    base, head, *rows = ROWS[name]
    lines = [f"class {name}({base}):", f"    {head}", *(f"        {row}" for row in rows)]
    (package / "parts.py").write_text("\n".join(("from transformers import Trainer", *lines, "")))
    text = f"from own.parts import {name}, helper\nt = {name}(model=1, tokenizer=2)\n"
    (tmp_path / "train.py").write_text(text)
    body = with_own_classes(tmp_path / "train.py", ast.parse(text).body, text, Project())
    in_one_step(body, text)
    called = ast.unparse(body[-1])
    assert called == (f"t = _base_of_{name}(model=1, tokenizer=2)" if follows else f"t = {name}(model=1, tokenizer=2)")
    assert "helper" in ast.unparse(ast.Module(body, []))


def test_what_is_not_called_stays_an_import(tmp_path: Path) -> None:
    text = "from own.parts import Plain\nlist_of = [Plain]\n"
    body = ast.parse(text).body
    assert with_own_classes(tmp_path / "train.py", body, text, Project()) == body
