"""One pasted line that does not say whose it is, or holds its own cure: the package that is behind it, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.logs.quoted_commands import told_to_do
from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

LACKS = (
    "ImportError: This modeling file requires the following packages that were not found in your environment: {0}. Run `pip install {0}`"
)
ADAPTER = "TypeError: LoraConfig.__init__() got an unexpected keyword argument '{}'"
CLASSES = "from transformers import PretrainedConfig\nclass Late: pass\nclass VoxKitConfig(PretrainedConfig): pass\n"
UTILS = "acme/_internal/_utils.py"
ATLAS = {
    "acme": {
        "1.0": {"acme/__init__.py": "", "acme/_internal/__init__.py": "", UTILS: ""},
        "2.0": {"acme/__init__.py": CLASSES, "acme/_internal/__init__.py": "", UTILS: "def deep_copy(): pass\n"},
    }
}
NAME = "ImportError: cannot import name '{}' from '{}'"
GELU = "TypeError: gelu() got an unexpected keyword argument 'approximate'"
CONFIG = "AttributeError: 'VoxTalkerConfig' object has no attribute '{}'"
INTERNAL = "SystemError: initialization of _internal failed without raising an exception"
HINT = "hint: This error likely indicates that `clip` depends on `pkg_resources`, but doesn't declare it as a build dependency."
CUDNN = "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}"
DIFFERENT = "Datei (Include) kann nicht geöffnet werden"
DUE = "ValueError: The deprecation tuple ('{}', '{}', 'x') should be removed since diffusers' version {} is >= {}"
JAX = "RuntimeError: jaxlib version {} is newer than and incompatible with jax version {}. Please update your jax and/or jaxlib packages."
SDK = "C:\\Python310\\include\\pyconfig.h(59): fatal error C1083: {}: {}: No such file or directory\n  ERROR: Failed building wheel for {}"
APART = (
    "  Downloading flash_attn-2.5.5.tar.gz (2.5 MB)\n  × python setup.py egg_info did not run successfully.\n"
    "      ModuleNotFoundError: No module named '{}'"
)
WITHIN = "$ pip install flash-attn --no-build-isolation\n" + APART.format("wheel")
FROM_PIP = (
    "PackagesNotFoundError: The following packages are not available from current channels:\nnlp=0.4.0=pypi_0\n  - timm==0.4.12=pypi_0"
)


@pytest.mark.parametrize(
    ("log", "stated", "says", "cure"),
    [
        pytest.param(CONFIG.format("pad_token_id"), "", "transformers 5 no longer", "4.57.6", id="5"),
        pytest.param(CONFIG.format("is_decoder"), "transformers = '5.0.0'", "5.0.0 gives it to",
                     "'is_decoder', False", id="another setting"),
        pytest.param(ADAPTER.format("loftq_config"), "", "saved by a newer peft", "'peft': '==0.9.0'", id="nearest"),
        pytest.param(ADAPTER.format("layer_replication"), "peft = '0.8.2'", "by a newer peft", "'peft': '==0.10.0'", id="stated peft"),
        pytest.param(INTERNAL, "", "numba", "1.23.5", id="numba"),
        pytest.param(INTERNAL, "numpy = '2.0.1'", "numba", "numba",
                     id="numba, numpy 2"),
        pytest.param("TypeError: Memory.__init__() got an unexpected keyword argument 'cachedir'", "", "joblib", "1.1.1", id="joblib"),
        pytest.param("TypeError: gelu(): argument 'approximate' must be str, not bool", "", "'tanh'", "approximate='tanh'", id="a text"),
        pytest.param(GELU, "torch = '2.1.0'", "of a project's", "newest", id="own"),
        pytest.param(GELU, "torch = '1.11.0'", "before 1.12", "1.12", id="old"),
        pytest.param(DUE.format("scale", "0.20.0", "0.21.4", "0.20.0"), "", "in place of a warning", "0.19.3", id="due"),
        pytest.param(JAX.format("0.3.22", "0.3.17"), "", "begins with 0.4.13", "0.3.22", id="jax goes up"),
        pytest.param(LACKS.format("bitsandbytes"), "", "lacks a module itself", "python -c 'import bitsandbytes'", id="its own import"),
        pytest.param(LACKS.format("einops"), "einops = '0.7.0'", "its own import failed", "python -c 'import einops'", id="stated"),
        pytest.param(LACKS.format("flash_attn").partition(": ")[2], "", "lacks a module itself", "use_flash_attention_2", id="cut"),
        pytest.param("numpy.dtype size changed", "", "numpy", "1.26.4", id="cut, dtype"),
        pytest.param("ValueError: numpy.ndarray size changed, may indicate binary incompatibility.", "", "hdbscan", "--no-build-isolation",
                     id="built anew"),
        pytest.param(CUDNN, "torch = '2.0.0'", "ctranslate2", "4.4.0", id="cuDNN"),
        pytest.param(SDK.format("Cannot open include file", "'io.h'", "pyworld"), "", "no Windows SDK", "Windows 10 or 11 SDK", id="SDK"),
        pytest.param(SDK.format(DIFFERENT, '"corecrt.h"', "TTS"), "", "Windows SDK", "coqui-tts", id="fork"),
        pytest.param(HINT, "", "a part of setuptools",
                     "setuptools<82", id="no distribution"),
        pytest.param(WITHIN, "", "environment lacks", "wheel", id="no isolation"),
        pytest.param(FROM_PIP, "", "pip had installed", "pip install nlp==0.4.0 timm==0.4.12", id="pypi_0"),
    ],
)  # fmt: skip
def test_who_is_behind_it_and_the_cure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, stated: str, says: str, cure: str
) -> None:
    told = findings(capsys, tmp_path, log, f"{NOTHING}[packages]\n{stated}\n" if stated else NOTHING)[0]
    assert says in str(told)
    assert cure in str(told["fixes"])


@pytest.mark.parametrize(
    ("log", "stated", "never"),
    [
        ("TypeError: softmax() got an unexpected keyword argument 'enable_gqa'", "torch = '2.1.0'", "varlen"),
        (CONFIG.format("pad_token_id"), "transformers = '4.46.0'", "transformers 5"),
        ("× python setup.py egg_info did not run successfully.\nModuleNotFoundError: No module named 'wheel'", "", "environment lacks"),
    ],
)
def test_nobody_else_is_accused(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, stated: str, never: str) -> None:
    assert never not in str(findings(capsys, tmp_path, log, f"{NOTHING}[packages]\n{stated}\n" if stated else NOTHING))


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("Failed to load the tokenizer. If it is LLaMA, use 'a/b' instead.", "If it is LLaMA, use 'a/b' instead."),
        ("The architecture does not support it. Please open an issue on GitHub.", ""),
        ("The sizes differ.", ""),
    ],
)
def test_what_a_message_says_to_do_is_lifted_out(message: str, wanted: str) -> None:
    assert told_to_do(message) == wanted


def test_an_index_has_no_distribution_for_a_part_of_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ERROR: No matching distribution found for pkg_resources"
    assert "a part of setuptools" in str(findings(capsys, tmp_path, log)[0]["fixes"])


@pytest.mark.parametrize(
    ("log", "stated", "says", "never"),
    [
        (NAME.format("deep_copy", "acme._internal._utils"), "", "are of two releases", "=="),
        (NAME.format("Late", "acme"), "acme = '2.0.dev0'", "the pip that lists 2.0.dev0", "acme 2.0.dev0 has no"),
        (CONFIG.replace("VoxTalker", "VoxKit").format("pad_token_id"), "", "transformers 5 no longer gives it", "two states"),
        (NAME.format("Late", "acme"), "acme = '1.0'", "acme 1.0 has no acme.Late", "main branch"),
    ],
)
def test_whose_files_are_mixed_and_which_state_ran(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, stated: str, says: str, never: str
) -> None:
    with atlas_of(tmp_path, ATLAS):
        told = str(findings(capsys, tmp_path, log, f"{NOTHING}[packages]\n{stated}\n" if stated else NOTHING)[0])
    assert says in told
    assert never not in told
