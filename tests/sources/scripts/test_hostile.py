"""Scripts that nobody wrote to be run: never a crash, never a hang."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected
from envdoctor.facts.vocabulary import term
from envdoctor.files.text import plain
from envdoctor.sources.scripts.script import SCRIPT_LIMIT, collect_script
from tests.steps import IN_PROPORTION, growth

from .situations import notebook
from .test_script import QLORA

# Scripts that grow by what is repeated, and how often it is where steps are counted.
LONG: dict[str, tuple[Callable[[int], str], int]] = {
    "operators": (lambda n: "x = " + "+".join(["1"] * n), 300),
    "signs": (lambda n: "x = " + "-" * n + "1", 300),
    "attributes": (lambda n: "x = a" + ".b" * n, 500),
    "calls": (lambda n: "f" + "()" * n, 300),
    "elif": (lambda n: "if a:\n pass\n" + "".join(f"elif a{k}:\n  f(x)\n" for k in range(n)), 50),
    "bases": (
        lambda n: (
            "class A0: pass\n"
            + "".join(f"class A{k}({','.join(f'A{base}' for base in range(max(0, k - 20), k))}): pass\n" for k in range(1, n))
            + f"A{n - 1}()\n"
        ),
        60,
    ),
    "one name": (lambda n: "x = x + 1\nf(x)\n" * n, 100),
    "arguments": (
        lambda n: "import transformers as t\n" + "".join(f"a{k} = t.TrainingArguments('o')\na{k}.fp16 = True\n" for k in range(n)),
        50,
    ),
    "conditions": (lambda n: "".join(" " * k + f"if v{k}:\n" for k in range(90)) + (" " * 91 + "f(1)\n") * n, 200),
    "trainings": (lambda n: "from transformers import Trainer\n" + "trainer.train()\n" * n + "m.generate()\n" * n, 50),
}
HOSTILE = {
    "brackets": "x = " + "(" * 5000 + ")" * 5000,
    **{name: text(4 * size) for name, (text, size) in LONG.items()},
    **{name: LONG[name][0](20_000) for name in ("operators", "signs", "attributes", "calls")},
    "nul": "x = 1\0\n",
    "control": "\x1b[2J\x07 = 1\n",
    "text": "x = '" + "a" * 200_000 + "'\nfrom peft import LoraConfig\nLoraConfig(target_modules=x)\n",
    "number": "from peft import LoraConfig\nLoraConfig(r=" + "9" * 4000 + ", lora_alpha=1e999)\n",
}


@pytest.mark.large
@pytest.mark.parametrize("name", LONG)
def test_a_long_script_takes_steps_in_proportion(tmp_path: Path, name: str) -> None:
    text, size = LONG[name]

    def reading(repeats: int) -> Callable[[], object]:
        path = tmp_path / "a.py"
        path.write_text(text(repeats), encoding="utf-8")
        return lambda: collect_script(path)

    assert growth(reading, size) < IN_PROPORTION


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_script(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.py"
    path.write_text(HOSTILE[name], encoding="utf-8")
    _is_sound(collect_script(path))


@pytest.mark.large
def test_a_hostile_notebook(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook(*(["é = 1\n" * 50] * 100), *HOSTILE.values()), encoding="utf-8")
    _is_sound(collect_script(path))


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
