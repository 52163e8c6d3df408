"""A name that comes by a star import of the project's own is the module that the other file imports under it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from envdoctor.app.own_code import read_own
from envdoctor.sources.scripts.source import Source
from envdoctor.syntax.parsing import parse_python

SCRIPT = "from .imports import *\n\n\ndef f(x):\n    return np.asarray(x, dtype=np.float)\n\n\nf([1])\n"


@pytest.mark.parametrize(
    ("imports", "taken"),
    [
        ("import numpy as np\n", "numpy:float"),
        ("from .more import *\n", "numpy:float"),
        ("import jax.numpy as np\n", "jax.numpy:float"),
        ('import numpy as np\n__all__ = ["os"]\n', ""),
        ("try:\n    import numpy as np\nexcept ImportError:\n    np = None\n", ""),
    ],
)
def test_what_a_star_brings(tmp_path: Path, imports: str, taken: str) -> None:
    package = tmp_path / "kit"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "imports.py").write_text(imports, encoding="utf-8")
    (package / "more.py").write_text("import numpy as np\n", encoding="utf-8")
    script = package / "utils.py"
    script.write_text(SCRIPT, encoding="utf-8")
    module: ast.Module = parse_python(SCRIPT)
    names = {one.name.replace(".float", ":float") for one in read_own(Source(str(script), module.body, text=SCRIPT)).taken}
    assert {name for name in names if name.endswith(":float")} == ({taken} if taken else set())
