"""What a line of code shows of a value, and what is certain of two parts whose releases nobody lists here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

SITE = "/opt/venv/lib/python3.10/site-packages"


def traceback(error: str, *frames: tuple[str, int, str, str]) -> str:
    lines = [f'  File "{path}", line {line}, in {function}\n    {code}' for path, line, function, code in frames]
    return "\n".join(("Traceback (most recent call last):", *lines, error))


def first_of(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str) -> dict[str, Any]:
    return findings(capsys, tmp_path, log)[0]


@pytest.mark.parametrize(
    ("code", "words", "advice"),
    [
        ("text = str(sample['text'])", "A row of the data has no field text", "rename its field to text"),
        ("weights = checkpoint['text']", "The file that is loaded has no text", "print the keys of checkpoint"),
        ("size = cfg.model['text']", "The settings have no text", "add text to them"),
        ("path = os.environ['text']", "The environment has no variable text", "export text=..."),
    ],
)
def test_a_key_is_of_what_its_dictionary_is_called(
    code: str, words: str, advice: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    inner = (f"{SITE}/torch/utils/data/_utils/fetch.py", 51, "fetch", "data = self.dataset[i]")
    log = traceback("KeyError: 'text'", inner, ("/srv/job/read.py", 44, "__getitem__", code))
    told = first_of(capsys, tmp_path, log)
    assert (told["rule"], told["packages"]) == ("error-of-own-code", [])
    assert words in str(told)
    assert advice in str(told["fixes"][0])


def test_a_key_of_nothing_that_has_a_telling_name_is_possible_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = traceback("KeyError: 'text'", ("/srv/job/read.py", 44, "f", "return table['text']"))
    assert first_of(capsys, tmp_path, log)["status"] == "possible"


@pytest.mark.parametrize(
    ("condition", "means", "status"),
    [
        ("assert torch.isnan(w).sum() == 0", "a value is no number", "matched"),
        ("assert os.path.exists(path)", "a file or a folder is not where it is looked for", "matched"),
        ("assert a == b", "A condition does not hold: a == b", "possible"),
    ],
)
def test_an_assertion_without_words_says_its_condition(
    condition: str, means: str, status: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = traceback("AssertionError", (f"{SITE}/awq/quantize/quantizer.py", 79, "pseudo_quantize_tensor", condition))
    told = first_of(capsys, tmp_path, log)
    assert (told["status"], told["packages"]) == (status, ["autoawq"])
    assert means in str(told)


def test_an_object_in_the_place_of_a_text_is_told_with_the_projects_own_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own = ("/srv/job/test.py", 14, "get", "llm = LLM(model=model, tokenizer=tokenizer)")
    inner = (f"{SITE}/vllm/entrypoints/llm.py", 240, "__init__", "mode = tokenizer_mode(tokenizer)")
    told = first_of(capsys, tmp_path, traceback("AttributeError: 'Qwen2Tokenizer' object has no attribute 'lower'", own, inner))
    assert told["status"] == "matched"
    assert "An object of class Qwen2Tokenizer is given where a text is wanted" in str(told)
    assert "LLM(model=model, tokenizer=tokenizer)" in str(told)


def test_an_attribute_of_lightning_that_cannot_be_set_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own = ("/srv/job/module.py", 51, "__init__", "self.hparams = hparams")
    inner = (f"{SITE}/torch/nn/modules/module.py", 1178, "__setattr__", "object.__setattr__(self, name, value)")
    module = "class LightningModule:\n    @property\n    def hparams(self):\n        return {}\n"
    with atlas_of(tmp_path, {"pytorch-lightning": {"1.9.0": {"pytorch_lightning/__init__.py": module}}}):
        told = first_of(capsys, tmp_path, traceback("AttributeError: can't set attribute", own, inner))
    assert (told["status"], told["packages"]) == ("possible", ["pytorch-lightning"])
    assert "save_hyperparameters" in str(told["fixes"][0])


def test_an_attribute_is_not_laid_on_a_package_for_a_class_that_has_nothing_to_do_with_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asks = (f"{SITE}/brouhaha/pipeline.py", 72, "__init__", "self._frames = self._segmentation.model.example_output.frames")
    inner = (f"{SITE}/torch/nn/modules/module.py", 1688, "__getattr__", "raise AttributeError(text)")
    told = first_of(
        capsys, tmp_path, traceback("AttributeError: 'CustomPyanNetModel' object has no attribute 'example_output'", asks, inner)
    )
    assert (told["status"], told["packages"]) == ("possible", ["brouhaha"])
    assert not any(fix.get("pins") for fix in told["fixes"])


@pytest.mark.parametrize(
    ("error", "frame", "words", "packages"),
    [
        (
            "TypeError: Speech2Text.__init__() got an unexpected keyword argument 'category_sym'",
            (f"{SITE}/espnet2/bin/s2t_inference.py", 707, "from_pretrained", "return Speech2Text(**kwargs)"),
            "Speech2Text.__init__() does not take category_sym, and is called otherwise",
            ["espnet2"],
        ),
        (
            "TypeError: ScaleCropImage.__init__() got an unexpected keyword argument 'names'",
            ("/srv/trainer/loader.py", 204, "_crop_modules", "scale_crop = ScaleCropImage(names=inputs)"),
            "who calls it and ScaleCropImage are of two states",
            [],
        ),
    ],
)
def test_of_a_call_between_parts_that_nobody_tracks_it_is_said_who_calls(
    error: str, frame: tuple[str, int, str, str], words: str, packages: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = first_of(capsys, tmp_path, traceback(error, frame))
    assert (told["status"], told["packages"]) == ("possible", packages)
    assert words in str(told)


def test_a_tokenizer_that_comes_with_a_model_sets_its_vocabulary_too_late(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    inner = (f"{SITE}/transformers/tokenization_utils.py", 366, "__init__", "self._add_tokens(self.all_special_tokens_extended)")
    asked = (f"{SITE}/transformers/tokenization_utils.py", 454, "_add_tokens", "current_vocab = self.get_vocab().copy()")
    told = first_of(capsys, tmp_path, traceback("AttributeError: 'CodeGen25Tokenizer' object has no attribute 'encoder'", inner, asked))
    assert told["fixes"][0]["pins"] == {"transformers": "==4.33.3"}


def test_code_that_comes_with_a_model_is_sent_to_the_release_that_its_configuration_names(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = "/root/.cache/huggingface/modules/transformers_modules/vl-7b/modeling_internlm2.py"
    log = traceback(
        "RuntimeError: The size of tensor a (1377) must match the size of tensor b (1376) at non-singleton dimension 3",
        (path, 820, "_prepare_decoder_attention_mask", "expanded_attn_mask + combined_attention_mask)"),
    )
    told = first_of(capsys, tmp_path, log)
    assert (told["status"], told["packages"]) == ("possible", ["transformers"])
    assert "transformers_version" in str(told["fixes"][0])


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: "
            "https://hf-mirror.com/black-forest-labs/FLUX.1-dev/resolve/main/model_index.json",
            "The hub refuses black-forest-labs/FLUX.1-dev to this token (401)",
        ),
        (
            "Updating origin\nfatal: could not read Username for 'https://huggingface.co/': No such device or address",
            "git asks for an account",
        ),
        (
            "ImportError: /x/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: cudaLaunchKernelExC, version libcudart.so.11.0",
            "An older libcudart.so.11.0 is found before the one that torch needs",
        ),
        (
            "pkg_resources.ContextualVersionConflict: (numpy 1.22.4 (/usr/lib/python3.10/site-packages), "
            "Requirement.parse('numpy<1.22,>=1.18'), {'numba'})",
            "numba asks for numpy",
        ),
        (
            "RuntimeError: Error(s) in loading state_dict for DoubleStreamBlockLoraProcessor:\n"
            "        size mismatch for qkv_lora1.down.weight: copying a param with shape torch.Size([16, 3072]) from checkpoint, "
            "the shape in current model is torch.Size([4, 3072]).",
            "the adapter has rank 16, and the model was given one of rank 4",
        ),
        (
            "unknown:0: unknown: block: [0,0,0], thread: [31,0,0] Assertion `index out of bounds: 0 <= tmp4 < 16000` failed.\n"
            "RuntimeError: CUDA error: device-side assert triggered",
            "An id is not below the number of rows of the embedding",
        ),
        (
            "    param = params_dict[name]\n            ~~~~~~~~~~~^^^^^^\nKeyError: 'layers.0.mlp.down_proj.weight'",
            "The checkpoint has a weight of a name that vLLM's model does not have",
        ),
        (
            "AttributeError: 'ESPnetASRModel' object has no attribute 'module'",
            "Code for several GPUs looks for the model behind .module",
        ),
    ],
)
def test_the_first_finding_says_what_it_was(log: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert words in str(first_of(capsys, tmp_path, log))


def test_the_release_in_the_path_of_an_egg_is_that_of_the_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "ImportError: cannot import name 'RobertaPreTrainedModel' from 'transformers.modeling_roberta' "
        "(/env/lib/python3.8/site-packages/transformers-2.8.0-py3.8.egg/transformers/modeling_roberta.py)"
    )
    assert "transformers 2.8.0 has no" in str(first_of(capsys, tmp_path, log))


def test_files_of_two_releases_are_to_be_removed_and_not_looked_up(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    frame = (f"{SITE}/paddle/distributed/passes/pipeline.py", 26, "<module>", "from ..pass_utils import forward_complete_op_role")
    error = (
        "ImportError: cannot import name 'forward_complete_op_role' from 'paddle.distributed.passes.pass_utils' "
        f"({SITE}/paddle/distributed/passes/pass_utils.py)"
    )
    told = first_of(capsys, tmp_path, traceback(error, frame))
    assert "The files of paddle are of two releases" in str(told)
    assert "pip uninstall" in str(told["fixes"][0])


SETUP = (
    "  Using cached cmake-3.12.0.tar.gz (27 kB)\n  error: subprocess-exited-with-error\n"
    "  python setup.py egg_info did not run successfully.\n"
    '    File "C:\\Temp\\pip-install-26d4m925\\cmake_8853a39e3a284505bac6450db1de9e9d\\setup.py", line 7, in <module>\n'
)


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (f"{SETUP}      from skbuild import setup\n  ModuleNotFoundError: No module named 'skbuild'", "which scikit-build brings"),
        (f"{SETUP}      import mesonic\n  ModuleNotFoundError: No module named 'mesonic'", "its build imports mesonic, which is not there"),
        (f"{SETUP}      setuptools.setup(\n  AttributeError: module 'setuptools' has no attribute 'setup'", "an empty or broken one"),
        (
            "error: subprocess-exited-with-error\n  Cargo, the Rust package manager, is not installed or is not on PATH.\n",
            "the build of a package failed: its source is Rust",
        ),
        (
            "  Using cached orjson-3.11.7-cp314-cp314-win_amd64.whl.metadata (43 kB)\n  Using cached pydantic_core-2.33.2.tar.gz (435 kB)\n"
            "  error: subprocess-exited-with-error",
            "it has no wheel of that release for Python 3.14",
        ),
    ],
)
def test_what_a_build_lacked_is_read_where_it_was_pasted(log: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, log)
    assert told["rule"] == "error-build-failed"
    assert words in str(told)


def test_the_frames_say_whose_configuration_refuses_a_key(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = (
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for DeepSpeedBF16Config\nloss_scale_window\n"
        "  Extra inputs are not permitted [type=extra_forbidden, input_value=100, input_type=int]"
    )
    frames = (
        (f"{SITE}/deepspeed/runtime/config_utils.py", 57, "__init__", "super().__init__(**data)"),
        (f"{SITE}/pydantic/main.py", 250, "__init__", "validated_self = self.__pydantic_validator__.validate_python(data)"),
    )
    assert first_of(capsys, tmp_path, traceback(error, *frames))["packages"] == ["deepspeed"]


def test_none_in_a_line_of_a_package_is_told_with_the_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    frame = (f"{SITE}/cellpose/io.py", 425, "load_images_labels", "if os.path.isfile(flow_names[0]):")
    told = first_of(capsys, tmp_path, traceback("TypeError: 'NoneType' object is not subscriptable", frame))
    assert (told["status"], told["packages"]) == ("possible", ["cellpose"])
    assert "flow_names[0]" in str(told)


@pytest.mark.parametrize(
    ("log", "rule", "words"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement wheel (from versions: none)\n"
            "ERROR: No matching distribution found for wheel",
            "error-no-distribution",
            "The installer reached no index",
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement pywin32>=223 (from pypiwin32) (from versions: none)\n"
            "ERROR: No matching distribution found for pywin32>=223",
            "error-no-distribution",
            "pywin32 is for Windows alone",
        ),
        (
            "  × No solution found when resolving dependencies:\n  ╰─▶ Because all versions of pyradamsa have no wheels with a matching "
            "platform tag (e.g., `macosx_26_0_arm64`) and you require pyradamsa,\n      we can conclude that your requirements are "
            "unsatisfiable.",
            "error-no-distribution",
            "a machine of a platform that its wheels are for",
        ),
        (
            "LibMambaUnsatisfiableError: Encountered problems while solving:\n- nothing provides requested zlib ==1.2.13 h5eee18b_0\n"
            "- nothing provides __unix needed by pysocks-1.7.1-pyha2e5f31_6",
            "error-no-distribution",
            "The environment file was exported with its builds",
        ),
        (
            "OSError: ctypes.util.find_library() did not manage to locate a library called 'sndfile'",
            "error-shared-library-missing",
            "apt-get install libsndfile1",
        ),
        (
            "ImportError: cannot import name 'App' from partially initialized module 'embedchain' (most likely due to a circular import)",
            "error-name-missing",
            "embedchain is imported while it is not finished",
        ),
    ],
)
def test_what_an_installer_or_a_system_lacks(log: str, rule: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, log)
    assert told["rule"] == rule
    assert words in str(told)
