"""Errors of a few words that one change of one package is behind, parts that went from a package, and what installers say in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import NOTHING, findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

TIED = """AttributeError: 'list' object has no attribute 'keys'
File "transformers/modeling_utils.py", line 2489, in get_expanded_tied_weights_keys"""
POSITIONS = """Error(s) in loading state_dict for SequenceTagger:
\tUnexpected key(s) in state_dict: "embeddings.model.embeddings.position_ids". """
NO_NAME = """  File "/home/me/p/training/data.py", line 271, in group_by_keys_nothrow
    fname, value = filesample["fname"], filesample["data"]
KeyError: 'fname'"""
UNBUILT = """---> 53         output = _C.ms_deform_attn_forward(
     54             value,

NameError: name '_C' is not defined"""
OWN_STDLIB = (
    "ImportError: /miniconda3/envs/x/lib/python3.6/site-packages/torch/lib/../../../.././libstdc++.so.6: version GLIBCXX_3.4.29 not found "
    "(required by .cache/torch_extensions/nvdiffrast_plugin/nvdiffrast_plugin.so)"
)
OF_SYSTEM = "ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /x/libtorch_python.so)"


@pytest.mark.parametrize(
    ("log", "headline", "advice"),
    [
        (TIED, "wants _tied_weights_keys as a dict", 'pip install "transformers<5"'),
        (POSITIONS, "does not keep with the weights since 4.31", "strict=False"),
        (NO_NAME, "an empty sample at the end of a shard", 'pip install "webdataset==0.2.86"'),
        (UNBUILT, "compiled part (_C)", "--no-build-isolation"),
        ("TypeError: load() takes 1 positional argument but 2 were given", "librosa.load() takes all but the path by name", "sr=RATE"),
        ("AttributeError: module 'webdataset' has no attribute 'Dataset'", "no Dataset since 0.2", 'pip install "webdataset==0.1.103"'),
        ("AttributeError: module 'cv2.dnn' has no attribute 'DictValue'", "Files of two OpenCVs", "pip uninstall -y opencv-python "),
        ("AttributeError: module 'clip' has no attribute 'load'", "not OpenAI's", "pip install git+https://github.com/openai/CLIP.git"),
        (
            "AttributeError: module 'torchvision.transforms.functional' has no attribute '_get_image_size'",
            "it is called get_image_size",
            "get_image_size in place of _get_image_size",
        ),
        (
            "AttributeError: '_OpNamespace' '_C' object has no attribute 'rms_norm'",
            "vLLM's compiled operators did not load",
            "import vllm._C",
        ),
        ("AttributeError: '_OpNamespace' object has no attribute 'lift_fresh'", "This torch is older than a package", "a later torch"),
        ("HIP error: invalid device function", "no kernels for the AMD GPU that it took", "HSA_OVERRIDE_GFX_VERSION"),
        ("Could not run 'torchcodec_ns::decode' with arguments from the 'CPU' backend.", "made for another torch", "datasets<4"),
        ("RuntimeError: Could not locate a supported Microsoft Visual C++ installation", "no C++ compiler", "Build Tools"),
    ],
)
def test_a_change_that_many_meet_is_told_by_its_words(
    log: str, headline: str, advice: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, log)
    assert headline in str(first)
    assert advice in str(first["fixes"])


@pytest.mark.parametrize(
    ("log", "facts"),
    [
        (POSITIONS, '[packages]\ntransformers = "4.30.2"\n'),
        ("TypeError: load() takes 1 positional argument but 2 were given", '[packages]\nlibrosa = "0.9.2"\n'),
        (POSITIONS + '\n\tMissing key(s) in state_dict: "head.weight".', NOTHING),
        ("AttributeError: 'list' object has no attribute 'keys'", NOTHING),
        (
            'Traceback (most recent call last):\n  File "run.py", line 3, in <module>\n    state = store.load("x")\n'
            "TypeError: load() takes 1 positional argument but 2 were given",
            NOTHING,
        ),
    ],
    ids=["an older release", "a release that takes it", "more keys than those", "the words alone", "another's load"],
)
def test_a_change_is_not_told_where_the_log_or_a_release_refutes_it(
    log: str, facts: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = [str(one) for one in findings(capsys, tmp_path, log, facts)]
    assert not [one for one in told if "4.31" in one or "librosa" in one or "_tied_weights_keys" in one]


def test_a_part_that_python_did_not_find_in_what_it_found_is_no_package_to_install(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stated = '[packages]\npaddlepaddle-gpu = "2.6.1"\nnemo-automodel = "25.11.0"\n'
    fluid, *_ = findings(capsys, tmp_path, "ModuleNotFoundError: No module named 'paddle.fluid'", stated)
    assert "The paddle that is there has no module paddle.fluid" in str(fluid)
    assert "2.5.2" in str(fluid["fixes"])
    moved, *_ = findings(capsys, tmp_path, "ModuleNotFoundError: No module named 'nemo_automodel._peft'", stated)
    assert moved["status"] == "matched"
    assert "nemo_automodel was found, and has no _peft" in moved["detail"]
    name, *_ = findings(capsys, tmp_path, "ImportError: cannot import name 'einsum' from 'paddle'", stated)
    assert "paddlepaddle-gpu 2.6.1 has no einsum" in str(name)


def test_a_saved_class_that_moved_is_asked_of_the_releases(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "AttributeError: Can't get attribute 'VisualTransformer' on <module 'open_clip.model' from '/e/site-packages/open_clip/model.py'>"
    first, *_ = findings(capsys, tmp_path, log)
    assert first["packages"][0] == "open-clip-torch"
    assert "VisualTransformer" in first["detail"]


def test_an_installer_is_understood_by_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bare, *_ = findings(capsys, tmp_path, "ERROR: Could not find a version that satisfies the requirement training==0.0.1")
    assert "found no release of training at all" in bare["detail"]
    conflict = "because these package versions have conflicting dependencies."
    tried, *_ = findings(capsys, tmp_path, f"ERROR: Cannot install piper-tts==1.1.0 and piper-tts==1.2.0 {conflict}")
    assert "No release of piper-tts can be installed" in str(tried)
    variable, *_ = findings(capsys, tmp_path, "ERROR: No matching distribution found for torch==2.1.2+${DEVICE}")
    assert "a variable in it that was not filled in" in str(variable)
    decord, *_ = findings(capsys, tmp_path, "ERROR: No matching distribution found for decord")
    assert "eva-decord" in str(decord["fixes"])


def test_an_old_runtime_of_the_compiler_is_not_advised_as_glibc_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own, *_ = findings(capsys, tmp_path, OWN_STDLIB)
    assert "of the conda environment is older" in own["detail"]
    assert "LD_PRELOAD" in str(own["fixes"])
    system, *_ = findings(capsys, tmp_path, OF_SYSTEM)
    assert "LD_LIBRARY_PATH=$CONDA_PREFIX/lib" in str(system["fixes"])
    assert "for GLIBC:" not in str(system["fixes"])


def test_where_torch_npu_is_stated_no_wheel_for_cuda_is_advised(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stated = '[packages]\ntorch = "2.2.0"\ntorch-npu = "2.2.0"\n'
    first, *_ = findings(capsys, tmp_path, "AssertionError: Torch not compiled with CUDA enabled", stated)
    assert "torch-npu-asked-for-cuda" in str(first)


def test_a_python_that_a_release_admits_comes_before_an_older_release(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ERROR: Could not find a version that satisfies the requirement kokoro==0.9.4 (from versions: 0.7.15, 0.7.16)"
    first, *_ = findings(capsys, tmp_path, log, 'python = "3.13"\n')
    assert str(first["fixes"]).index("a Python <3.13") < str(first["fixes"]).index("kokoro==0.7.16")


def test_a_warning_that_numpy_grew_accuses_nobody_and_the_bare_words_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    warned = (
        "RuntimeWarning: numpy.ufunc size changed, may indicate binary incompatibility. Expected 216 from C header, got 232 from PyObject"
    )
    assert not [one for one in findings(capsys, tmp_path, warned) if one["status"] == "matched"]
    first, *_ = findings(capsys, tmp_path, "train crashes with numpy.ndarray size changed, binary incompatibility")
    assert first["rule"] == "error-compiled-for-another-numpy"
