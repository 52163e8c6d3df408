"""What users of web UIs, demos and model repositories paste: a line or three, and the cause and cure that they are told first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run
from tests.logs.diagnosed import findings

NOT_INSTALLED = "error-package-not-installed"
REMOTE = "transformers_modules.THUDM.chatglm-6b.configuration_chatglm.ChatGLMConfig"
T5 = "transformers.models.t5.configuration_t5.T5Config"
AUTO = "ValueError: Unrecognized configuration class <class '{}'> for this kind of AutoModel: AutoModelForCausalLM."
DEFAULT = "ValueError: mutable default <class '{}'> for field ignore_patterns is not allowed: use default_factory"
SCRIPT = (
    "ValueError: The repository for openwebtext contains custom code which must be executed to correctly load the dataset. You can inspect "
    "the repository content at https://hf.co/datasets/openwebtext.\nPlease pass the argument `trust_remote_code=True` to allow custom code."
)
MULTIPART = 'RuntimeError: Form data requires "python-multipart" to be installed.'
PYAV = "ImportError: The `pyav` plugin is not installed.\nUse `pip install imageio[pyav]` to install it"


@pytest.mark.parametrize(
    ("log", "rule", "said"),
    [
        pytest.param(DEFAULT.format("list"), "error-of-the-run", "default_factory=list", id="a list is refused by every Python"),
        pytest.param(DEFAULT.format("numpy.ndarray"), "error-of-the-run", "in that class", id="an array is not numpy's field"),
        pytest.param(SCRIPT, "error-of-what-was-given", "load_dataset(..., trust_remote_code=True)", id="a data set's script"),
        pytest.param(MULTIPART, NOT_INSTALLED, "pip install python-multipart", id="a name that the program quotes"),
        pytest.param(PYAV, NOT_INSTALLED, "pip install imageio[pyav]", id="a command with an extra"),
        pytest.param("ImportError: Bark needs `foo-bar` to be installed. Run `pip install foo-bar`.", NOT_INSTALLED, "foo-bar",
                     id="a command for a package that nobody tracks"),
        pytest.param("ModuleNotFoundError: No module named 'tkinter'", NOT_INSTALLED, "install python3-tk", id="tkinter"),
        pytest.param("ModuleNotFoundError: No module named 'cleanfid'", NOT_INSTALLED, "pip install clean-fid", id="a dash"),
        pytest.param("AttributeError: module 'cv2.ximgproc' has no attribute 'thinning'", "error-attribute-missing", "opencv-contrib",
                     id="below one of OpenCV's extra modules"),
        pytest.param("ImportError: cannot import name 'LlavaQwenForCausalLM' from 'llava.model'", "error-name-missing", "prints the error",
                     id="an import that is hidden"),
        pytest.param("TypeError: event_trigger() got an unexpected keyword argument '_js'", "error-argument-refused", "js=...", id="_js"),
    ],
)  # fmt: skip
def test_the_first_answer_is_the_cause(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, rule: str, said: str) -> None:
    first, *_ = findings(capsys, tmp_path, log)
    told = " ".join(str(fix) for fix in first["fixes"])
    assert (first["rule"], first["status"], said in told) == (rule, "matched", True), first


@pytest.mark.parametrize(
    "log",
    [
        "ImportError: requests is required. Please install the requirements with pip install -r requirements.txt",
        "RuntimeError: Please install the latest drivers, they are missing.",
        "RuntimeError: an extension is missing, run pip install the way that the README says",
    ],
)
def test_prose_is_no_name_of_a_package(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str) -> None:
    assert not [one for one in findings(capsys, tmp_path, log) if one["rule"] == "error-package-not-installed"]


def test_a_class_of_transformers_is_no_import_that_is_hidden(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = findings(capsys, tmp_path, "ImportError: cannot import name 'LlavaForConditionalGeneration' from 'transformers'")
    assert not [one for one in found if "hidden" in str(one)]


@pytest.mark.parametrize("cls", ["ChatGLMTokenizer", "BaichuanTokenizer", "InternLMTokenizer"])
def test_a_tokenizer_of_a_snapshot_is_no_copy_in_a_package(capsys: pytest.CaptureFixture[str], tmp_path: Path, cls: str) -> None:
    found = findings(capsys, tmp_path, f"TypeError: {cls}._pad() got an unexpected keyword argument 'padding_side'")
    assert not [one for one in found if "diffusers" in one["packages"]]


@pytest.mark.parametrize(("cls", "said"), [(REMOTE, "auto_map"), (T5, "AutoModelForSeq2SeqLM.from_pretrained")])
def test_an_auto_class_is_told_by_the_configuration(capsys: pytest.CaptureFixture[str], tmp_path: Path, cls: str, said: str) -> None:
    pasted = tmp_path / "log.txt"
    pasted.write_text(AUTO.format(cls), encoding="utf-8")
    told = run(capsys, "diagnose", str(pasted), "--set", "os=linux", every_rule=True).out
    assert said in " ".join(told.split())
    assert "ImageTextToText" not in told
