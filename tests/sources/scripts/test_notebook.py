"""Notebooks: cells, the lines of the file that theirs stand on, magics, and what they install."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected
from envdoctor.facts.values import shown
from envdoctor.sources.scripts.notebook import read_cells
from envdoctor.sources.scripts.script import collect_script

from .situations import notebook, told, values


def _write(folder: Path, text: str) -> Path:
    path = folder / "train.ipynb"
    path.write_text(text, encoding="utf-8")
    return path


def _read(folder: Path, *cells: str) -> Collected:
    return collect_script(_write(folder, notebook(*cells)))


def test_a_fact_names_its_cell_and_the_line_of_the_file(tmp_path: Path) -> None:
    cells = (
        "import torch\nfrom transformers import AutoModel",
        "model = AutoModel.from_pretrained(\n    'a/b',\n    torch_dtype=torch.float16,\n)\n",
    )
    path = _write(tmp_path, notebook(*cells))
    fact = next(fact for fact in collect_script(path).facts if fact.name == "plan.load_dtype")
    assert fact.value == "float16"
    assert fact.origin.source == f"{path}, code cell 2, line 3"
    assert fact.origin.line is not None
    assert "torch_dtype=torch.float16" in path.read_text(encoding="utf-8").splitlines()[fact.origin.line - 1]


def test_a_name_of_one_cell_is_known_in_the_next(tmp_path: Path) -> None:
    found = _read(tmp_path, "r = 8", "from peft import LoraConfig", "LoraConfig(r=r * 2)")
    assert values(found)["plan.lora_r"] == 16


@pytest.mark.parametrize(
    ("cell", "trainer"),
    [
        ("!llamafactory-cli train lora.json", "llamafactory"),
        ("!GRADIO_SHARE=1 llamafactory-cli webui", "llamafactory"),
        ("!llamafactory-cli version", None),
        ("!CUDA_VISIBLE_DEVICES=0 swift sft --model a/b", "ms-swift"),
        ("!accelerate launch -m axolotl.cli.train lora.yml", "axolotl"),
        ("from llamafactory.chat import ChatModel\nmodel = ChatModel({'model_name_or_path': 'a/b'})", "llamafactory"),
    ],
)
def test_what_runs_a_plan_is_a_command(tmp_path: Path, cell: str, trainer: str | None) -> None:
    assert values(_read(tmp_path, cell)).get("plan.trainer") == trainer


def test_a_cell_that_is_no_python_does_not_hide_the_others(tmp_path: Path) -> None:
    path = _write(tmp_path, notebook("def f(:", "import os\nos.environ['HF_HUB_OFFLINE'] = '1'"))
    found = collect_script(path)
    assert values(found) == {"plan.offline": True}
    (skip,) = told(found, path)
    assert skip.startswith("train.ipynb, code cell 1, line 1: no Python 3 that can be parsed")


@pytest.mark.parametrize(
    "cell",
    [
        "%matplotlib inline\nLoraConfig(r=4)",
        "!nvidia-smi\nLoraConfig(r=4)",
        "%%time\nLoraConfig(r=4)",
        "%%capture out\n!pip install x\nLoraConfig(r=4)",
        "files = !ls -la\nLoraConfig(r=4)",
        "LoraConfig?\nLoraConfig(r=4)",
        "?LoraConfig\nLoraConfig(r=4)",
        "if True:\n    !ls \\\n      -la\n    LoraConfig(r=4)",
        "text = '''\n!not a magic\n%nor this\n'''\nLoraConfig(r=4)",
    ],
)
def test_magics(tmp_path: Path, cell: str) -> None:
    found = _read(tmp_path, "from peft import LoraConfig", cell)
    assert values(found)["plan.lora_r"] == 4
    assert not any("no Python" in skip.why for skip in found.skips)


def test_a_cell_that_writes_a_file_is_said(tmp_path: Path) -> None:
    path = _write(tmp_path, notebook("%%writefile train.py\nfrom peft import LoraConfig\nLoraConfig(r=4)"))
    found = collect_script(path)
    assert found.facts == ()
    assert told(found, path) == ["train.ipynb, code cell 1: a cell of %%writefile: no Python of the notebook's own"]


def test_text_cells_are_not_code(tmp_path: Path) -> None:
    path = _write(tmp_path, notebook("from peft import LoraConfig\nLoraConfig(r=4)", kind="markdown"))
    assert collect_script(path) == Collected()


def test_the_format_of_before_2015(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "input": ["import os\n", "os.environ['HF_HUB_OFFLINE'] = '1'"], "outputs": []}
    path = _write(tmp_path, json.dumps({"worksheets": [{"cells": [cell]}], "nbformat": 3}, indent=1))
    fact = next(fact for fact in collect_script(path).facts if fact.name == "plan.offline")
    assert fact.origin.line is not None
    assert "HF_HUB_OFFLINE" in path.read_text(encoding="utf-8").splitlines()[fact.origin.line - 1]


# --- installed packages ------------------------------------------------------------------------------


def _packages(found: Collected) -> dict[str, str]:
    return {fact.name.removeprefix("packages."): shown(fact.value) for fact in found.facts if fact.name.startswith("packages.")}


def test_what_a_notebook_installs(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        notebook(
            "!pip install -q -U 'transformers==4.41.2' 'peft>=0.10' --extra-index-url https://example.org/simple",
            "%pip install trl==0.9.6 \\\n  bitsandbytes==0.43.1 > /dev/null && echo done",
            "%%bash\npython -m pip install datasets==2.19.1 # the last that works\nuv pip install accelerate==0.30.1",
        ),
    )
    found = collect_script(path)
    assert _packages(found) == {
        "transformers": "4.41.2",
        "trl": "0.9.6",
        "bitsandbytes": "0.43.1",
        "datasets": "2.19.1",
        "accelerate": "0.30.1",
        "peft": ">=0.10",
    }
    lines = {fact.name: fact.origin.line for fact in found.facts}
    text = path.read_text(encoding="utf-8").splitlines()
    assert "trl==0.9.6" in text[(lines["packages.trl"] or 0) - 1]
    assert "datasets==2.19.1" in text[(lines["packages.datasets"] or 0) - 1]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("!{sys.executable} -m pip install peft==0.12.0", {"peft": "0.12.0"}),
        ("%pip install peft==0.12.0 -q --index-url $URL trl==0.9.6", {"peft": "0.12.0", "trl": "0.9.6"}),
        ("done = !pip install peft==0.12.0", {"peft": "0.12.0"}),
        ("!cd x && sudo pip3 install peft==0.12.0; uv add trl==0.9.6", {"peft": "0.12.0", "trl": "0.9.6"}),
        ("%%bash\nV=0.12.0\n\npip install -q \\\n  peft==$V", {"peft": "0.12.0"}),
        ("%%bash\nif [ -d x ]; then\n  pip install peft==0.12.0\nfi\npip install trl==0.9.6", {"trl": "0.9.6"}),
        ("!pip install https://example.org/peft-0.12.0-py3-none-any.whl", {"peft": "0.12.0"}),
        ("!pip uninstall -y peft", {}),
        ("!echo pip install peft==0.12.0", {}),
    ],
)
def test_one_install(tmp_path: Path, cell: str, expected: dict[str, str]) -> None:
    assert _packages(collect_script(_write(tmp_path, notebook(cell)))) == expected


def test_a_version_without_quotes_is_a_file_to_the_shell(tmp_path: Path) -> None:
    path = _write(tmp_path, notebook("!pip install peft>=0.10"))
    found = collect_script(path)
    assert _packages(found) == {"peft": ""}
    assert told(found, path) == [
        "train.ipynb, code cell 1, line 1: pip install ...>=0.10: without quotes the shell takes > for a redirection"
    ]


def test_installs_that_are_not_told(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        notebook(
            "!pip install transformers==4.41.2 -r requirements.txt torch=={version}",
            "!pip install transformers==4.46.0",
            "if COLAB:\n    !pip install trl==0.9.6",
            "!pip install git+https://github.com/huggingface/peft",
            "!pip list",
        ),
    )
    found = collect_script(path)
    assert _packages(found) == {}
    assert told(found, path) == [
        "train.ipynb, code cell 1, line 1: pip install -r requirements.txt: give that file as a target of its own",
        "train.ipynb, code cell 1, line 1: pip install torch=={version}: it names a variable",
        "train.ipynb, code cell 4, line 1: pip install git+https://github.com/huggingface/peft: a URL or path, its version is not known",
        "train.ipynb, code cell 1, line 1: transformers is asked for in different ways: "
        "transformers==4.41.2 on code cell 1, line 1, transformers==4.46.0 on code cell 2, line 1",
        "train.ipynb, code cell 3, line 2: trl is installed under a condition: trl==0.9.6 on code cell 3, line 2",
    ]


def test_an_environment_variable_of_a_magic(tmp_path: Path) -> None:
    assert values(_read(tmp_path, "%env HF_HUB_OFFLINE=1")) == {"plan.offline": True}


# --- bad notebooks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "method"),
    [
        ("!bash lora_finetune.sh", None),
        ("!tune run lora_finetune_single_device --config c.yaml", None),
        ("%%bash\ntorchrun x.py", None),
        ("!pip install deepspeed axolotl", "inference"),
        ("!nvidia-smi", "inference"),
    ],
)
def test_a_notebook_that_has_another_program_train_is_no_run_of_inference(tmp_path: Path, command: str, method: str | None) -> None:
    cells = ("from transformers import AutoModel\nmodel = AutoModel.from_pretrained('a/b')", command, "model.chat('x')")
    assert values(_read(tmp_path, *cells)).get("plan.method") == method


def test_broken_json_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError, match=r"train\.ipynb, line 2, column 3"):
        collect_script(_write(tmp_path, '{"cells": [],\n  nbformat: 4}'))


@pytest.mark.parametrize("text", ["[]", "{}", '{"cells": 3}', '"text"', "null"])
def test_json_that_is_no_notebook_is_a_skip(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path, text)
    assert told(collect_script(path), path) == ["train.ipynb: JSON without cells: no notebook"]


@pytest.mark.parametrize(
    "text",
    [
        '{"cells": [1, null, [], {"cell_type": "code"}, {"cell_type": "code", "source": 4}, {"cell_type": "code", "source": [1, "x"]}]}',
        '{"worksheets": [null, {"cells": {}}, {"cells": [{"cell_type": "code", "input": null}]}]}',
    ],
)
def test_cells_of_other_shapes(tmp_path: Path, text: str) -> None:
    assert collect_script(_write(tmp_path, text)).facts == ()


_CELLS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=6)


@given(_CELLS, st.sampled_from([None, 1, 2]), st.booleans())
def test_cells_come_back_with_the_lines_they_stand_on(cells: list[str], indent: int | None, ascii_only: bool) -> None:
    document = {
        "cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell.splitlines(keepends=True)} for cell in cells],
        "nbformat": 4,
    }
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    pieces = read_cells(text.encode("utf-8"), "x")
    assert pieces is not None
    assert [piece.text for piece in pieces] == cells
    of_file = text.split("\n")
    for piece, cell in zip(pieces, cells, strict=True):
        assert piece.lines is not None
        assert len(piece.lines) == len(piece.text.split("\n"))
        if indent is not None and not any(separator in cell for separator in "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"):
            for line, number in zip(cell.splitlines(keepends=True), piece.lines, strict=False):
                assert json.dumps(line, ensure_ascii=ascii_only) in of_file[number - 1]
