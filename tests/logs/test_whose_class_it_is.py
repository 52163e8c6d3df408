"""Whose a class, a kernel or an import is: of Python's own syntax tree, of the class that was called, of the engine that ran."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

BASE = "class BlockContext:\n    def __init__(self, elem_id=None): pass\n"
OLD = "from .blocks import Blocks\n"
ATLAS = {
    "gradio": {
        "5.49.1": {
            "gradio/__init__.py": OLD,
            "gradio/blocks.py": BASE
            + "class Blocks(BlockContext):\n    def __init__(self, theme=None): pass\n    def launch(self): pass\n",
        },
        "6.0.2": {
            "gradio/__init__.py": OLD,
            "gradio/blocks.py": BASE
            + "class Blocks(BlockContext):\n    def __init__(self, **kwargs): pass\n    def launch(self, theme=None): pass\n",
        },
    },
    "transformers": {
        "4.47.1": {
            "transformers/__init__.py": "",
            "transformers/models/llama/modeling_llama.py": "class LlamaFlashAttention2: pass\n",
        },
        "4.48.2": {"transformers/__init__.py": "", "transformers/models/llama/modeling_llama.py": "class LlamaAttention: pass\n"},
    },
    "llamafactory": {
        "0.9.1": {"llamafactory/patch.py": "from transformers.models.llama.modeling_llama import LlamaFlashAttention2\n"},
        "0.9.2": {"llamafactory/patch.py": ""},
    },
    "torch": {"2.5.1": {"torch/__init__.py": "", "torch/jit/tree.py": "class ClassDef:\n    def __init__(self): self.name = 1\n"}},
}
MISSED = "ImportError: cannot import name 'LlamaFlashAttention2' from 'transformers.models.llama.modeling_llama'"
NO_FP8 = "ValueError(\"type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')\")"


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), ATLAS) as atlas:
        yield atlas


def test_an_argument_that_a_base_class_refuses_is_judged_with_the_class_that_was_called(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = "with gr.Blocks(theme=gr.themes.Soft()) as demo:\nTypeError: BlockContext.__init__() got an unexpected keyword argument 'theme'"
    told = findings(capsys, tmp_path, log, NOTHING + '[packages]\ngradio = "6.0.0"\n')[0]
    assert told["detail"].startswith("gradio.blocks.Blocks() of gradio 6.0.0 does not take theme (there in 5.49.1)")
    assert told["fixes"][0]["note"] == "pass theme= to .launch() of the object in place of Blocks()"


def test_a_node_of_pythons_syntax_tree_is_no_class_of_torch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "msg: \"attr = getattr(node, field)\" with error msg: AttributeError: 'ClassDef' object has no attribute 'type_params'"
    told = findings(capsys, tmp_path, log)[0]
    assert "torch" not in told["packages"]
    assert told["fixes"][0]["pins"] == {"gast": "==0.5.4"}
    written = "    name = node.type_params\nAttributeError: 'ClassDef' object has no attribute 'type_params'"
    log = f'Traceback (most recent call last):\n  File "/p/walk.py", line 3, in scan\n{written}'
    assert findings(capsys, tmp_path, log)[0]["fixes"][0]["note"].startswith("Python 3.12 or later")


def test_what_a_stated_package_imports_itself_is_not_told_of_a_models_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stated = NOTHING + '[packages]\ntransformers = "4.48.2"\nllamafactory = "0.9.2.dev0"\n'
    told = findings(capsys, tmp_path, MISSED, stated)[0]
    assert told["rule"] == "error-name-missing"
    assert "llamafactory 0.9.2.dev0 asks for it" in told["detail"]
    assert any("llamafactory" in (fix.get("pins") or {}) for fix in told["fixes"])
    told = findings(capsys, tmp_path, MISSED, NOTHING + '[packages]\ntransformers = "4.48.2"\n')[0]
    assert told["rule"] == "remote-code-llama-flash-attention-2"


@pytest.mark.parametrize(
    ("around", "owner"),
    [
        ("(Worker pid=1) ERROR [multiproc_executor.py:971] def _w8a8_block_scaled_mm(", "vllm"),
        ('  File "/v/site-packages/sglang/srt/layers/fp8.py", line 7, in run\n    kernel[grid](', "sglang"),
    ],
)
def test_a_kernel_that_computes_in_fp8_is_of_who_runs_it(
    around: str, owner: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = f"Traceback (most recent call last):\n{around}\ntriton.compiler.errors.CompilationError: at 1:0:\n^\n{NO_FP8}"
    (told,) = findings(capsys, tmp_path, log)
    assert told["packages"] == [owner, "triton"]
    assert not any(fix.get("pins") for fix in told["fixes"])
