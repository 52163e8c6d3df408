"""Node packs and extensions: what asks and what is asked are both on no index, and of different states."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import findings

PACK = """Traceback (most recent call last):
  File "C:\\AI\\ComfyUI\\nodes.py", line 1748, in load_custom_node
    module_spec.loader.exec_module(module)
  File "C:\\AI\\ComfyUI\\custom_nodes\\ComfyUI_Some\\__init__.py", line 99, in <module>
    """
EXTENSION = """Traceback (most recent call last):
  File "/home/me/stable-diffusion-webui/extensions/sd-some-locon/scripts/main.py", line 252, in inference
    return self.op(
  File "/home/me/stable-diffusion-webui/modules/sd_hijack_utils.py", line 25, in __call__
    if not self.__cond_func or self.__cond_func(self.__orig_func, *args, **kwargs):
TypeError: <lambda>() missing 1 required positional argument: 'bias'"""


@pytest.mark.parametrize(
    ("log", "packages", "words"),
    [
        (
            PACK + "_Sampler = comfy.samplers.Sampler\nAttributeError: module 'comfy.samplers' has no attribute 'Sampler'",
            ["comfyui", "comfyui-some"],
            "ComfyUI has no comfy.samplers.Sampler: the node pack ComfyUI_Some asks for it (ComfyUI_Some/__init__.py:99, in <module>)",
        ),
        (
            PACK + "calc = getattr(module, 'calc')\nAttributeError: module 'impact.special_samplers' has no attribute 'calc'",
            ["comfyui-some"],
            "its files, or what it hooks into, are of another state",
        ),
        (
            "Cannot import H:\\ComfyUI\\custom_nodes\\efficiency-nodes module for custom nodes: cannot import name 'wrap_model' from "
            "'comfy.samplers' (H:\\ComfyUI\\comfy\\samplers.py)",
            ["comfyui", "efficiency-nodes"],
            "ComfyUI has no comfy.samplers.wrap_model",
        ),
        (EXTENSION, ["sd-some-locon"], "the extension sd-some-locon is on the way to it; no cause is known"),
    ],
)
def test_who_loaded_it_and_who_was_asked_are_named(
    log: str, packages: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = findings(capsys, tmp_path, log)[0]
    assert first["packages"] == packages
    assert words in first["detail"]


def test_a_package_that_a_node_pack_imports_is_asked_of_the_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = PACK + "import torch._six\nModuleNotFoundError: No module named 'torch._six'"
    assert findings(capsys, tmp_path, log)[0]["packages"][0] == "torch"
