"""The child of ``extension-import`` with packages that really crash, hang and fail: what one does hides no other."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from envdoctor.probes.extension_import import PROBE, concerning, judge
from envdoctor.probes.runner import run_child

TORCH = "__version__ = '2.0.0'\nclass cuda:\n    @staticmethod\n    def is_available():\n        return False\n"
CRASH = "import ctypes\nctypes.string_at(0)\n"
PACKAGES = {
    "torch": TORCH,
    "torchvision": "raise RuntimeError('operator torchvision::nms does not exist') from OSError('libx.so: undefined symbol: y')\n",
    "torchaudio": CRASH,
    "torchtext": "import time\ntime.sleep(600)\n",
    "triton": "import os\nos.write(1, b'noise' * 100000)\n",
    "bitsandbytes": "import sys\nsys.exit('no')\n",
}


def measured(directory: Path, packages: dict[str, str], names: list[str], seconds_each: float = 20.0) -> dict[str, Any]:
    for name, source in packages.items():
        path = directory / (name if name.endswith(".py") else f"{name}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    params = {"extensions": names, "seconds": 60.0, "seconds_each": seconds_each}
    environ = {**os.environ, "PYTHONPATH": str(directory)}
    outcome = run_child(Path(sys.executable), PROBE.script, params, timeout=60.0, memory_bytes=None, environ=environ)
    assert outcome.measured is not None, outcome
    return dict(outcome.measured)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_each_package_is_judged_by_itself(tmp_path: Path) -> None:
    names = ["torchvision", "torchaudio", "triton", "bitsandbytes", "xformers"]
    seen = measured(tmp_path, PACKAGES, names)
    assert seen["versions"] == {"torch": "2.0.0"}
    assert seen["not_installed"] == ["xformers"]
    assert {name: concerning(seen, [name]) for name in names} == {
        "torchvision": (
            "confirmed",
            "torchvision fails on import: RuntimeError: operator torchvision::nms does not exist <- libx.so: undefined symbol: y",
        ),
        "torchaudio": ("confirmed", "torchaudio crashed on import: segmentation fault"),
        "triton": ("inconclusive", "triton imports; nothing of it was run: no GPU"),
        "bitsandbytes": ("inconclusive", "bitsandbytes fails on import, but not as a binary that does not fit: SystemExit: no"),
        "xformers": ("inconclusive", "not installed, not tested: xformers"),
    }
    assert judge(seen, {})[0] == "confirmed"


@pytest.mark.large
def test_a_package_that_hangs_is_ended(tmp_path: Path) -> None:
    seen = measured(tmp_path, PACKAGES, ["torchtext", "triton"], seconds_each=1.0)
    assert concerning(seen, ["torchtext"]) == ("inconclusive", "torchtext did not end in time on import")
    assert seen["extensions"]["triton"]["stage"] == "done"


def test_a_torch_that_does_not_import_is_no_fault_of_the_others(tmp_path: Path) -> None:
    packages = {**PACKAGES, "torch": "raise ImportError('libnccl.so.2: undefined symbol: ncclCommRegister')\n"}
    assert judge(measured(tmp_path, packages, ["torchvision"]), {}) == (
        "inconclusive",
        "torchvision was not tried: torch itself does not import: ImportError: libnccl.so.2: undefined symbol: ncclCommRegister",
    )


def test_what_was_installed_without_binaries_is_told(tmp_path: Path) -> None:
    packages = {"torch": TORCH, "deepspeed": "", "apex": "", "auto_gptq": ""}
    seen = measured(tmp_path, packages, ["deepspeed", "apex", "auto-gptq"])
    assert seen["not_installed"] == ["auto-gptq"]
    assert concerning(seen, ["apex"]) == (
        "inconclusive",
        "apex imports; nothing of it was run: it was installed without compiled extensions",
    )
    assert concerning(seen, ["deepspeed"])[1].startswith("deepspeed fails in its operation, but not as a binary that does not fit: Module")


BUILDER = """
class Builder:
    def load(self):
        LOAD
    def jit_load(self, verbose=True):
        import time
        time.sleep(600)
ALL_OPS = {'fused_adam': Builder(), 'async_io': Builder()}
"""


@pytest.mark.large
@pytest.mark.parametrize("module", ["all_ops.py", "__init__.py"])
@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ("return None", ("refuted", "deepspeed imports and loading fused_adam runs on cpu")),
        (
            "return self.jit_load()",
            (
                "inconclusive",
                "deepspeed imports; nothing of it was run: its operations were built for another accelerator, and would be compiled",
            ),
        ),
        (
            "raise RuntimeError('PyTorch version mismatch! DeepSpeed ops were compiled and installed with a different version than')",
            (
                "confirmed",
                "deepspeed fails in its operation: RuntimeError: PyTorch version mismatch! DeepSpeed ops were compiled and installed"
                " with a different version than",
            ),
        ),
    ],
)
def test_operations_of_deepspeed_are_loaded_and_never_compiled(tmp_path: Path, module: str, load: str, expected: tuple[str, str]) -> None:
    packages = {
        "torch": TORCH,
        "deepspeed/__init__.py": "",
        "deepspeed/git_version_info.py": "installed_ops = {'fused_adam': 1, 'async_io': False}\n",
        "deepspeed/ops/__init__.py": "",
        "deepspeed/ops/op_builder/__init__.py": "",
        f"deepspeed/ops/op_builder/{module}": BUILDER.replace("LOAD", load),
    }
    assert judge(measured(tmp_path, packages, ["deepspeed"]), {}) == expected


def test_a_flash_attn_without_its_function_is_not_accused(tmp_path: Path) -> None:
    packages = {"torch": TORCH.replace("return False", "return True"), "flash_attn": ""}
    assert judge(measured(tmp_path, packages, ["flash-attn"]), {}) == (
        "inconclusive",
        "flash-attn imports; nothing of it was run: before 2.0 it has no flash_attn_func, and without its compiled module neither",
    )
