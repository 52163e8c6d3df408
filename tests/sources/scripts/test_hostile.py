"""Scripts that nobody wrote to be run: never a crash, never a hang."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected
from envdoctor.facts.vocabulary import term
from envdoctor.files.text import plain
from envdoctor.sources.scripts.script import SCRIPT_LIMIT, collect_script

from .situations import notebook
from .test_script import QLORA

_SECONDS = 10

HOSTILE = {
    "brackets": "x = " + "(" * 5000 + ")" * 5000,
    "operators": "x = " + "+".join(["1"] * 20_000),
    "signs": "x = " + "-" * 20_000 + "1",
    "attributes": "x = a" + ".b" * 20_000,
    "calls": "f" + "()" * 5000,
    "elif": "if a:\n pass\n" + "".join(f"elif a{n}:\n  f(x)\n" for n in range(900)),
    "bases": "class A0: pass\n"
    + "".join(f"class A{n}({','.join(f'A{base}' for base in range(max(0, n - 40), n))}): pass\n" for n in range(1, 300))
    + "A299()\n",
    "one name": "x = x + 1\nf(x)\n" * 3000,
    "arguments": "import transformers as t\n" + "".join(f"a{n} = t.TrainingArguments('o')\na{n}.fp16 = True\n" for n in range(1500)),
    "conditions": "".join(" " * n + f"if v{n}:\n" for n in range(90)) + (" " * 91 + "f(1)\n") * 5000,
    "trainings": "from transformers import Trainer\n" + "trainer.train()\n" * 4000 + "m.generate()\n" * 4000,
    "nul": "x = 1\0\n",
    "control": "\x1b[2J\x07 = 1\n",
    "text": "x = '" + "a" * 200_000 + "'\nfrom peft import LoraConfig\nLoraConfig(target_modules=x)\n",
    "number": "from peft import LoraConfig\nLoraConfig(r=" + "9" * 4000 + ", lora_alpha=1e999)\n",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_script(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.py"
    path.write_text(HOSTILE[name], encoding="utf-8")
    begin = time.process_time()
    _is_sound(collect_script(path))
    assert time.process_time() - begin < _SECONDS


def test_a_hostile_notebook(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook(*(["é = 1\n" * 50] * 100), *HOSTILE.values()), encoding="utf-8")
    begin = time.process_time()
    _is_sound(collect_script(path))
    assert time.process_time() - begin < _SECONDS


def test_a_script_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    with path.open("wb") as stream:
        stream.truncate(SCRIPT_LIMIT + 1)
    with pytest.raises(EnvdoctorError, match="more than the"):
        collect_script(path)


def test_a_folder_and_a_pipe(tmp_path: Path) -> None:
    import os

    (tmp_path / "a.py").mkdir()
    os.mkfifo(tmp_path / "b.py")
    for name in ("a.py", "b.py"):
        with pytest.raises(EnvdoctorError):
            collect_script(tmp_path / name)


def _is_sound(found: Collected) -> None:
    for fact in found.facts:
        assert term(fact.name) is not None
        assert fact.origin.line is None or fact.origin.line >= 1
    for skip in found.skips:
        assert skip.why == plain(skip.why)
        assert skip.what == plain(skip.what, 5000)


def _mutations(text: str) -> st.SearchStrategy[str]:
    """A script with a few of its lines dropped, doubled, moved, or cut."""
    rows = text.splitlines(keepends=True)

    def apply(edits: list[tuple[int, str, int]]) -> str:
        made = list(rows)
        for place, kind, other in edits:
            here = place % max(len(made), 1)
            if kind == "drop" and made:
                del made[here]
            elif kind == "double" and made:
                made.insert(here, made[here])
            elif kind == "move" and made:
                made.insert(other % len(made), made.pop(here))
            elif made:
                made[here] = made[here][: other % (len(made[here]) + 1)]
        return "".join(made)

    edit = st.tuples(st.integers(0, 200), st.sampled_from(["drop", "double", "move", "cut"]), st.integers(0, 200))
    return st.lists(edit, min_size=1, max_size=6).map(apply)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(_mutations(QLORA.replace("\n    ", "\n")), st.text(max_size=80)))
def test_any_script_yields_facts_or_skips(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.py"
    path.write_text(text, encoding="utf-8", errors="surrogateescape" if text.isprintable() else "replace")
    _is_sound(collect_script(path))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10) | st.sampled_from(["code", "!pip install peft==0.4", "import torch"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["cells", "source", "input", "cell_type", "worksheets", "x"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.builds(lambda cells: {"cells": cells}, st.lists(_JSON, max_size=5)) | _JSON)
def test_any_json_as_a_notebook(tmp_path: Path, document: object) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(document), encoding="utf-8")
    _is_sound(collect_script(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 64), st.integers(1, 256), st.sampled_from(["float16", "bfloat16", "float32"]), st.booleans(), st.integers(0, 5))
def test_what_is_written_is_what_is_stated(tmp_path: Path, batch: int, rank: int, dtype: str, fp16: bool, blank: int) -> None:
    lines = [
        *[""] * blank,
        "import torch, transformers, peft",
        f"B = {batch}",
        f"transformers.AutoModel.from_pretrained('a/b', torch_dtype=torch.{dtype})",
        f"peft.LoraConfig(r={rank})",
        f"transformers.TrainingArguments('out', per_device_train_batch_size=B, fp16={fp16})",
    ]
    path = tmp_path / "a.py"
    path.write_text("\n".join(lines), encoding="utf-8")
    stated = {fact.name: (fact.value, fact.origin.line) for fact in collect_script(path).facts}
    assert stated["plan.load_dtype"] == (dtype, blank + 3)
    assert stated["plan.lora_r"] == (rank, blank + 4)
    assert stated["plan.batch_size"] == (batch, blank + 5)
    assert stated["plan.fp16"] == (fp16, blank + 5)
