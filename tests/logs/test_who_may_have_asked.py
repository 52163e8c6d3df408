"""Who asked for what is missing where no frame says so, and releases that have all that is asked for, not the missing name alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

TAKES = "from openai.types import ActionFind, Content\n"
CAUGHT = "try:\n    from triton.ops.matmul import matmul\nexcept ModuleNotFoundError:\n    matmul = None\n"
ATLAS = {
    "openai": {
        "1.91.0": {"openai/types.py": "class Query: pass\n"},
        "1.92.3": {"openai/types.py": "class ActionFind: pass\n"},
        "1.99.9": {"openai/types.py": "class ActionFind: pass\nclass Content: pass\n"},
    },
    "triton": {
        "3.1.0": {"triton/__init__.py": "", "triton/ops/matmul.py": "def matmul(): pass\n"},
        "3.2.0": {"triton/__init__.py": ""},
    },
    "bitsandbytes": {
        "0.45.0": {"bitsandbytes/__init__.py": "from triton.ops.matmul import matmul\n"},
        "0.45.5": {
            "bitsandbytes/__init__.py": "try:\n    from triton.ops.matmul import matmul\nexcept ModuleNotFoundError:\n    matmul = None\n"
        },
    },
    "vllm": {
        "0.10.0": {"vllm/__init__.py": ""},
        "0.10.2": {"vllm/__init__.py": TAKES, "vllm/ray/__init__.py": "", "vllm/utils.py": "import ray\n"},
    },
    "ray": {version: {"ray/__init__.py": "def init(): pass\ndef is_initialized(): pass\n"} for version in ("2.0.0", "2.40.0")},
    "trl": {
        "0.28.0": {"trl/__init__.py": "", "trl/trainer/__init__.py": "class ORPOTrainer: pass\nclass SFTTrainer: pass\n"},
        "1.0.0": {"trl/__init__.py": "", "trl/trainer/__init__.py": "class SFTTrainer: pass\n"},
    },
    "torch": {
        "2.5.1": {"torch/__init__.py": "", "torch/library.py": ""},
        "2.6.0": {"torch/__init__.py": "", "torch/library.py": "def wrap_triton(): pass\n"},
    },
}
CACHE = "/content/unsloth_compiled_cache/UnslothSFTTrainer.py"


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), ATLAS) as atlas:
        yield atlas


def first_of(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, **stated: str) -> dict[str, Any]:
    facts = NOTHING + "[packages]\n" + "".join(f'{name.replace("_", "-")} = "{release}"\n' for name, release in stated.items())
    return findings(capsys, tmp_path, log, facts if stated else NOTHING)[0]


def traceback(line: str, error: str, path: str = "/srv/nodes/echo.py") -> str:
    return f'Traceback (most recent call last):\n  File "{path}", line 11, in <module>\n    {line}\n{error}'


def test_a_release_that_is_offered_has_what_else_a_likely_caller_imports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, "ImportError: cannot import name 'ActionFind' from 'openai.types'")
    assert "vllm 0.10.2" in told["detail"]
    assert told["fixes"][0]["pins"] == {"openai": "==1.99.9"}


def test_behind_an_import_of_another_package_who_takes_it_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = "ModuleNotFoundError: No module named 'triton.ops'"
    told = first_of(capsys, tmp_path, traceback("from diffusers import DDIMScheduler", error), torch="2.6.0+cu124")
    assert "bitsandbytes 0.45.0 asks for it" in told["detail"]
    assert told["fixes"][0]["pins"].keys() == {"bitsandbytes"}
    own = first_of(capsys, tmp_path, traceback("import triton.ops", error), torch="2.6.0+cu124")
    assert "bitsandbytes" not in str(own["fixes"])


@pytest.mark.parametrize(
    ("line", "release"),
    [("from trl.trainer import ORPOTrainer", "==0.28.0"), ("from trl.trainer import SFTTrainer", "==1.")],
)
def test_what_is_not_there_is_installed_with_what_the_line_imports(
    line: str, release: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = first_of(capsys, tmp_path, f"{line}\nModuleNotFoundError: No module named 'trl'", liger_kernel="0.5.0")
    assert told["fixes"][0]["pins"]["trl"].startswith(release)


def test_triton_is_the_one_that_torch_requires(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = "ModuleNotFoundError: No module named 'triton'"
    assert first_of(capsys, tmp_path, error, torch="2.6.0+cu124")["fixes"][0]["pins"] == {"triton": "==3.2.0"}
    unknown = first_of(capsys, tmp_path, error)
    assert not any(fix.get("pins") for fix in unknown["fixes"])
    assert "that the torch which is there requires" in unknown["fixes"][0]["note"]


def test_torch_moves_with_what_is_built_for_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = "AttributeError: module 'torch.library' has no attribute 'wrap_triton'"
    told = first_of(capsys, tmp_path, error, torch="2.5.1", torchvision="0.20.1", torchaudio="2.5.1")
    assert told["fixes"][0]["pins"] == {"torch": "==2.6.0", "torchvision": "==0.21.0", "torchaudio": "==2.6.0"}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("from trl.trainer.sft_trainer import BaseTrainer", "ImportError: cannot import name 'BaseTrainer' from 'trl.trainer.sft_trainer'"),
        ("self._prepare(a, b)", "TypeError: _UnslothSFTTrainer._prepare() takes 2 positional arguments but 3 were given"),
        ("x = self.padding_free", "AttributeError: 'UnslothSFTTrainer' object has no attribute 'padding_free'"),
    ],
)
def test_what_unsloth_wrote_is_unsloths(line: str, error: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, traceback(line, error, CACHE), trl="0.15.2", unsloth="2025.3.7")
    assert told["packages"][0] == "unsloth"
    assert "unsloth unsloth_zoo" in str(told["fixes"][0])
    assert not any("trl" in (fix.get("pins") or {}) for fix in told["fixes"])


def test_a_module_without_what_each_release_has_is_another_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, "AttributeError: module 'ray' has no attribute 'init'")
    assert "is not the package ray" in told["detail"]
    assert "ray.__path__" in str(told["fixes"])


def test_a_debuggers_order_is_that_of_a_traceback_and_the_folder_in_the_way_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        "Exception has occurred: AttributeError       (note: execution is paused)\n"
        "module 'ray' has no attribute 'is_initialized'\n  File \"/v/site-packages/vllm/utils.py\", line 2872, in is_in_ray_actor\n"
        '    return (ray.is_initialized()\n  File "/v/site-packages/vllm/engine/arg_utils.py", line 1067, in create_engine_config\n'
        "    if is_in_ray_actor():"
    )
    told = first_of(capsys, tmp_path, log, vllm="0.10.2")
    assert told["packages"] == ["ray", "vllm"]
    assert "a folder vllm/ray of its own" in told["detail"]
