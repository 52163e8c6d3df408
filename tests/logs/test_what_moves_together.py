"""Cures that move more than one package, or none: what a stated package requires, what the asking file takes besides, a model's engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

ASKS = "from vllm.lora.request import LoRARequest\nfrom vllm.sequence import MultiModalData\n"
LORA = {"vllm/__init__.py": "", "vllm/sequence.py": "class Sequence: pass\n", "vllm/lora/request.py": "class LoRARequest: pass\n"}
ATLAS = {
    "triton": {
        "3.4.0": {"triton/language/__init__.py": "def constexpr_function(): pass\n"},
        "3.5.0": {"triton/language/__init__.py": ""},
    },
    "torch": {
        "2.3.1": {"torch/__init__.py": "", "torch/library.py": ""},
        "2.4.0": {"torch/__init__.py": "", "torch/library.py": "def register_fake(): pass\n"},
        "2.5.0": {"torch/__init__.py": "", "torch/library.py": "def register_fake(): pass\n"},
    },
    "vllm": {
        "0.2.7": {"vllm/__init__.py": "", "vllm/sequence.py": "class Sequence: pass\n"},
        "0.3.3": LORA,
        "0.4.3": {**LORA, "vllm/sequence.py": "class MultiModalData: pass\n"},
        "0.6.3": LORA,
        "0.8.5.post1": {**LORA, "vllm/model_executor/models/qwen3_moe.py": "class Qwen3Moe: pass\n"},
    },
    "llamafactory": {"0.8.0": {"llamafactory/chat/vllm_engine.py": ASKS}},
}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), ATLAS) as atlas:
        yield atlas


def first_of(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, **stated: str) -> dict[str, Any]:
    facts = NOTHING + "[packages]\n" + "".join(f'{name} = "{release}"\n' for name, release in stated.items())
    return findings(capsys, tmp_path, log, facts if stated else NOTHING)[0]


def test_what_a_stated_package_requires_exactly_does_not_move_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "AttributeError: module 'triton.language' has no attribute 'constexpr_function'"
    told = first_of(capsys, tmp_path, log, torch="2.9.0+cu128", triton="3.5.0")
    assert "torch 2.9.0+cu128 requires triton==3.5.0, so that triton stays" in told["detail"]
    assert not any(fix.get("pins") for fix in told["fixes"])
    assert first_of(capsys, tmp_path, log, triton="3.5.0")["fixes"][0]["pins"] == {"triton": "==3.4.0"}


def test_of_the_releases_that_cure_it_those_are_offered_that_a_stated_package_admits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = "ImportError: cannot import name 'register_fake' from 'torch.library'"
    assert first_of(capsys, tmp_path, log, torch="2.3.1", torchvision="0.20.0")["fixes"][0]["pins"]["torch"] == "==2.5.0"


def test_the_offered_release_has_what_else_the_asking_file_takes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/c/LLaMA-Factory/src/llamafactory/chat/vllm_engine.py", line 1, in <module>\n'
        "    from vllm.lora.request import LoRARequest\nModuleNotFoundError: No module named 'vllm.lora'"
    )
    assert first_of(capsys, tmp_path, log)["fixes"][0]["pins"] == {"vllm": "==0.4.3"}


def test_an_engine_that_has_no_such_model_either_is_what_moves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "ValueError: The checkpoint you are trying to load has model type qwen3_moe but Transformers does not recognize this architecture."
    )
    told = first_of(capsys, tmp_path, log, vllm="0.6.3", transformers="4.46.0")
    assert told["packages"] == ["vllm"]
    assert told["fixes"][0]["pins"] == {"vllm": "==0.8.5.post1"}
    assert first_of(capsys, tmp_path, log, transformers="4.46.0")["packages"] == ["transformers"]


def test_a_release_that_goes_with_the_stated_one_is_not_among_the_accused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler'"
    told = first_of(capsys, tmp_path, log, torch="2.6.0+cu124")
    assert told["detail"].startswith("affected: triton, releases 0.4.1-2.3.1,3.3.0-\n")
    assert "triton-windows<3.3" in told["fixes"][0]["note"]
