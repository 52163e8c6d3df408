"""What users of web UIs, demos and model repositories paste: a line or three, and the cause and cure that they are told first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.cli.run import run
from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

OWN = "error-of-own-code"
SCHEDULE = "TypeError: get_linear_schedule_with_warmup() got an unexpected keyword argument 'min_lr_rate'"
LISTED = (
    "ImportError: This modeling file requires the following packages that were not found in your environment: einops, "
    "transformers_stream_generator, tiktoken. Run `pip install einops transformers_stream_generator tiktoken`"
)
REPO = "HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '{}'. Use `repo_type` argument."
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
        pytest.param("AttributeError: module 'inspect' has no attribute 'cleandoc'", OWN, "rename it", id="a file inspect.py"),
        pytest.param("ImportError: cannot import name 'Queue' from 'queue' (/home/me/queue.py)", OWN, "rename it", id="a file queue.py"),
        pytest.param("ValueError: Unrecognised argument(s): encoding", "error-of-the-run", "Python 3.9", id="logging before 3.9"),
        pytest.param("AttributeError: module 'numpy' has no attribute 'typeDict'", "error-attribute-missing", "==1.23.5", id="typeDict"),
        pytest.param(REPO.format("Qwen/Qwen3-TTS/"), "error-hub-refuses", "Qwen/Qwen3-TTS, if it is meant", id="a / at the end"),
        pytest.param(REPO.format("pyannote\\segmentation"), "error-hub-refuses", "pyannote/segmentation, if", id="as Windows has it"),
        pytest.param("ModuleNotFoundError: No module named 'skvideo'", NOT_INSTALLED, "pip install scikit-video", id="another name"),
        pytest.param(SCHEDULE, "error-argument-refused",
                     "cosine_with_min_lr", id="an option of another schedule"),
        pytest.param("RuntimeError: only Tensors of floating point dtype can require gradients", "error-of-the-run", "is_floating_point",
                     id="whole numbers"),
        pytest.param(LISTED, NOT_INSTALLED, "install -U einops transformers-stream-generator tiktoken", id="a list"),
        pytest.param("ImportError: Please install `foo_bar`: pip install git+https://github.com/x/foo_bar.git", NOT_INSTALLED,
                     "pip install git+https://github.com/x/foo_bar.git", id="from a repository"),
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


DIFFUSERS = {"0.30.0": {"diffusers/__init__.py": "class AutoPipelineForText2Image: pass\nclass Other: pass\ndef is_available_now(): pass\n",
                        "diffusers/devices.py": "def has_a_device(): pass\n"}}  # fmt: skip


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("ImportError: cannot import name 'AutoPipeline' from 'diffusers'", "AutoPipelineForText2Image in place of AutoPipeline"),
        ("AttributeError: module 'diffusers' has no attribute 'is_avaliable_now'", "is_available_now in place of is_avaliable_now"),
        ("AttributeError: module 'diffusers' has no attribute 'has_a_device'", "diffusers.devices.has_a_device in place of"),
    ],
)
def test_a_name_of_no_release_is_told_by_what_is_there(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, said: str) -> None:
    with atlas_of(tmp_path, {"diffusers": DIFFUSERS}):
        first, *_ = findings(capsys, tmp_path, log)
    assert said in str(first["fixes"]), first
    assert not any(fix.get("pins") for fix in first["fixes"]), first


@pytest.mark.parametrize(("slow", "said"), [("", "use_fast=True"), ("class BloomTokenizer: pass\n", "==4.20.1")])
def test_a_tokenizer_that_is_fast_alone_is_no_older_release(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, slow: str, said: str
) -> None:
    releases = {f"4.{minor}.0": {"transformers/__init__.py": f"class BloomTokenizerFast: pass\n{slow}"} for minor in range(40, 47)}
    with atlas_of(tmp_path, {"transformers": releases}):
        first, *_ = findings(capsys, tmp_path, "ValueError: Tokenizer class BloomTokenizer does not exist or is not currently imported.")
    assert said in str(first["fixes"]), first


def test_code_for_pydantic_1_is_no_fault_of_deepspeeds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/v/site-packages/langchain/schema.py", line 59, in <module>\n'
        "    class Serializable(BaseModel):\npydantic.errors.PydanticUserError: If you use `@root_validator` with pre=False (the default) "
        "you MUST specify `skip_on_failure=True`."
    )
    told = findings(capsys, tmp_path, log)[0]
    assert told["packages"] == ["pydantic"]
    assert {"pydantic": "==1.10.27"} in [one.get("pins") for one in told["fixes"]]


def test_an_image_processor_of_another_model_is_not_qwens(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "ValueError: Unrecognized image processor in /models/my-llava. Should have a `image_processor_type` key in its "
        "preprocessor_config.json of config.json"
    )
    assert "qwen2-5-vl-image-processor-name" not in [one["rule"] for one in findings(capsys, tmp_path, log)]
