"""What `diagnose` works out of an error that no rule wrote down: builds, keys, models' classes, attributes, installers' lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

# What the tests of keys, attributes and calls ask: releases of packages by their real names, with as much in them as is asked for.
TRANSFORMERS = {
    "4.16.0": {
        "transformers/__init__.py": "from .args import TrainingArguments\n",
        "transformers/args.py": "from dataclasses import dataclass\n@dataclass\nclass TrainingArguments:\n    output_dir: str\n",
        "transformers/trainer.py": "x = 1\n",
        "transformers/models/llama/modeling_llama.py": "class LlamaAttention:\n    def forward(self, hidden): pass\n",
    },
    "4.57.1": {
        "transformers/__init__.py": "from .args import TrainingArguments\n",
        "transformers/args.py": "from dataclasses import dataclass\n@dataclass\nclass TrainingArguments:\n    output_dir: str\n"
        "    trackio_space_id: str = 'x'\n    eval_strategy: str = 'no'\n",
        "transformers/trainer.py": "x = 1\n",
        "transformers/models/llama/modeling_llama.py": "class LlamaAttention:\n    def forward(self, hidden, padding_mask=None): pass\n",
        "transformers/cache_utils.py": "class Cache:\n    def get_usable_length(self, new): pass\n",
    },
}
TRL = {
    "0.29.1": {
        "trl/__init__.py": "from .config import GRPOConfig\n",
        "trl/config.py": "from dataclasses import dataclass\nfrom transformers import TrainingArguments\n@dataclass\n"
        "class GRPOConfig(TrainingArguments):\n    beta: float = 0.1\n",
    }
}
LLAMAFACTORY = {
    "0.8.3": {"llamafactory/args.py": "from dataclasses import dataclass\n@dataclass\nclass ModelArguments:\n    name: str = 'x'\n"},
    "0.9.0": {
        "llamafactory/args.py": "from dataclasses import dataclass\n@dataclass\nclass ModelArguments:\n    name: str = 'x'\n"
        "    enable_liger_kernel: bool = False\n"
    },
}
DIFFUSERS = {
    "0.24.0": {
        "diffusers/lora.py": "class LoRACompatibleLinear:\n    def set_lora_layer(self, layer): pass\n",
        "diffusers/kolors.py": "class PaintedTokenizer:\n    def encode(self, text): pass\n",
    }
}
LIGHTNING = {
    "1.9.5": {"pytorch_lightning/__init__.py": "class Trainer:\n    def __init__(self, gpus=None, devices=None): pass\n"},
    "2.0.0": {"pytorch_lightning/__init__.py": "class Trainer:\n    def __init__(self, devices=None): pass\n"},
}
FIELD_INFO = "class FieldInfo:\n    default: int = 1\n"
PYDANTIC = {
    "1.10.27": {"pydantic/fields.py": FIELD_INFO + "class ModelField:\n    def __init__(self):\n        self.field_info = 1\n"},
    "2.0.3": {"pydantic/fields.py": FIELD_INFO},
    "2.1.1": {"pydantic/fields.py": FIELD_INFO},
}
ATLAS = {
    "pydantic": PYDANTIC,
    "transformers": TRANSFORMERS,
    "trl": TRL,
    "llamafactory": LLAMAFACTORY,
    "diffusers": DIFFUSERS,
    "pytorch-lightning": LIGHTNING,
}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), ATLAS) as atlas:
        yield atlas


BUILD = """Collecting flash-attn
  Preparing metadata (setup.py) ... error
  error: subprocess-exited-with-error

  x python setup.py egg_info did not run successfully.
      Traceback (most recent call last):
        File "/tmp/pip-install-w0t4m6bg/flash-attn_dd5249eef157468ca99bc87f7d5b30c3/setup.py", line 133, in <module>
          CUDAExtension(
"""
UV = """ModuleNotFoundError: No module named 'torch'

hint: This error likely indicates that `flash-attn@2.8.1` depends on `torch`, but doesn't declare it as a build dependency.
"""
CONFLICT = """ERROR: Cannot install huggingface_hub==1.12.0 and transformers because these package versions have conflicting dependencies.

The conflict is caused by:
    The user requested huggingface_hub==1.12.0
    datasets 4.8.4 depends on huggingface-hub<2.0 and >=0.25.0
    transformers 4.51.3 depends on huggingface-hub<1.0 and >=0.30.0
"""
NO_FILE = (
    "error: Distribution `triton==2.1.0 @ registry+https://pypi.org/simple` can't be installed because it doesn't have a source "
    "distribution or wheel for the current platform"
)


@pytest.mark.parametrize(
    ("log", "facts", "package", "words"),
    [
        # builds: whose it is, and what it lacked
        (BUILD + "      OSError: CUDA_HOME environment variable is not set.", "", "flash-attn", "there is no CUDA toolkit (nvcc)"),
        (
            BUILD + "      ModuleNotFoundError: No module named 'torch'",
            "",
            "flash-attn",
            "its build imports torch, which an isolated build does not see",
        ),
        (UV, "", "flash-attn", "the build of flash-attn 2.8.1 failed: "),
        # keys that a later release has
        (
            "ValueError: Some keys are not used by the HfArgumentParser: ['enable_liger_kernel']",
            "",
            "llamafactory",
            "does not take enable_liger_kernel: it is in 0.9.0-",
        ),
        # tokenizers and models
        (
            "ValueError: Tokenizer class GemmaTokenizer does not exist or is not currently imported.",
            "",
            "transformers",
            "knows the tokenizer class GemmaTokenizer in >=4.38",
        ),
        (
            "ValueError: Tokenizer class InternLM2Tokenizer does not exist or is not currently imported.",
            "",
            "transformers",
            "trust_remote_code=True",
        ),
        # an installer's sentences each on a line of its own
        (CONFLICT, "", "transformers", "huggingface-hub==1.12.0 is asked for, and transformers 4.51.3 requires huggingface-hub<1.0"),
        (NO_FILE, "", "triton", "triton==2.1.0 has no file for this interpreter"),
        # demands in other words
        ("AssertionError: Please install mmcv>=(1, 3, 13, 0, 0, 0), <(1, 7, 0, 0, 0, 0).", "", "mmcv", "mmcv>=1.3.13,<1.7"),
        (
            "ValueError: we now require users to upgrade torch to at least v2.6 in order to use the function.",
            "",
            "torch",
            "asks for torch>=2.6",
        ),
        ("RuntimeError: Please install triton==2.0.0.dev20221202", "", "triton", "triton==2.0.0.dev20221202"),
        # whose a compiled file is
        (
            "ImportError: /opt/lib/python3.10/site-packages/fused_layer_norm_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: "
            "_ZN3c104cuda9SetDeviceEi",
            "",
            "apex",
            "apex was built against another release",
        ),
        (
            "ImportError: /home/u/miniconda3/envs/x/bin/../lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by "
            "/home/u/miniconda3/envs/x/lib/python3.11/site-packages/KTransformersOps.cpython-311-x86_64-linux-gnu.so)",
            "",
            "libstdcxx-ng",
            "of the conda environment is older",
        ),
        ("ImportError: libcudart.so.12: cannot open shared object file: No such file or directory", "", "torch", "it is of CUDA 12"),
        (
            "from awq import AutoAWQForCausalLM\nImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
            "",
            "autoawq",
            "autoawq needs libcudart.so.12",
        ),
        (
            "ValueError: You current version of `autoawq` does not support it, please upgrade `autoawq` package to at least 0.1.8.",
            "",
            "autoawq",
            "asks for autoawq>=0.1.8",
        ),
        (
            "ImportError: cannot import name 'lora' from partially initialized module 'peft.tuners' (most likely due to a circular import)",
            "",
            "peft",
            "files of several releases in one folder",
        ),
        (
            "ImportError: cannot import name 'load_dataset' from partially initialized module 'datasets' (most likely due to a circular "
            "import) (/home/u/project/datasets.py)",
            "",
            "datasets",
            "datasets.py of your own has its name",
        ),
        ("TypeError: causal_conv1d_fwd(): incompatible function arguments.", "", "causal-conv1d", "takes other arguments"),
        # attributes: of a class of a package, and of another package's than the object's
        (
            "AttributeError: 'Linear' object has no attribute 'set_lora_layer'",
            "",
            "diffusers",
            "diffusers makes plain Linear layers where peft is installed",
        ),
        # a field of the class that another package's is made of
        (
            "TypeError: GRPOConfig.__init__() got an unexpected keyword argument 'trackio_space_id'",
            '[packages]\ntransformers = "4.56.2"\ntrl = "0.29.1"\n',
            "transformers",
            "GRPOConfig of trl is made of transformers.TrainingArguments, which has no trackio_space_id",
        ),
        # forward, which every module has
        (
            "TypeError: forward() got an unexpected keyword argument 'padding_mask'",
            "",
            "transformers",
            "takes padding_mask in transformers",
        ),
        # who reads an attribute that its own class has was handed somebody else's
        (
            "/usr/lib/python3.10/dist-packages/transformers/utils/notebook.py in on_train_begin(self, args, state, control, **kwargs)\n"
            "    294     def on_train_begin(self, args, state, control, **kwargs):\n"
            '--> 295         self.first_column = "Epoch" if args.eval_strategy == IntervalStrategy.EPOCH else "Step"\n\n'
            "AttributeError: 'TrainingArguments' object has no attribute 'eval_strategy'",
            "",
            "transformers",
            "the object is of a class TrainingArguments of another package",
        ),
        # whose it is, though many import it
        ("ModuleNotFoundError: No module named 'pkg_resources'", "", "setuptools", "there is no module pkg_resources"),
        (
            "ImportError: cannot import name 'GPT2Tokenizer' from partially initialized module 'transformers' (most likely due to a "
            "circular import)",
            "",
            "transformers",
            "a file or folder of your own called transformers",
        ),
        # one project under two names
        (
            "import pytorch_lightning as pl\ntrainer = pl.Trainer(gpus=1)\nTypeError: __init__() got an unexpected keyword argument 'gpus'",
            "",
            "pytorch-lightning",
            "does not take gpus",
        ),
    ],
)
def test_the_first_finding_names_the_package_and_what_is_wrong(
    log: str, facts: str, package: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = findings(capsys, tmp_path, log, facts)[0]
    assert package in first["packages"]
    assert words in first["detail"]


def test_what_is_older_than_the_first_release_that_was_read_is_pinned_before_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = findings(capsys, tmp_path, "ImportError: cannot import name '_model_unwrap' from 'transformers.trainer'")[0]
    assert "of the releases that were read none has it, from 4.16.0 on" in first["detail"]
    assert [fix["pins"] for fix in first["fixes"] if fix.get("pins")] == [{"transformers": "==4.15.0"}]


def test_a_gpu_that_torch_has_no_code_for_is_told_with_the_release_that_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation."
    first = findings(capsys, tmp_path, log)[0]
    assert first["rule"] == "torch-wheel-lacks-gpu-kernels"
    assert any(fix.get("pins") for fix in first["fixes"])


@pytest.mark.parametrize(
    ("stated", "pins"), [("0.8.5", [{"pytorch-lightning": "==1.9.5"}]), ("1.9.5", []), ("2.0.0", [])], ids=["older", "first", "last"]
)
def test_what_is_older_than_all_releases_that_were_read_goes_up_to_the_first_of_them(
    stated: str, pins: list[dict[str, str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = "AttributeError: module 'pytorch_lightning' has no attribute 'Trainer'"
    told = findings(capsys, tmp_path, log, f'[packages]\npytorch-lightning = "{stated}"\n')
    assert [fix["pins"] for one in told for fix in one["fixes"] if fix.get("pins")] == pins


FORWARD = (
    'Traceback (most recent call last):\n  File "/x/site-packages/transformers/models/llama/modeling_llama.py", line 402, in forward\n'
    "    kv_seq_len += past_key_value.get_usable_length(kv_seq_len, self.layer_idx)\n"
)


@pytest.mark.parametrize(
    ("log", "package", "words", "pin"),
    [
        # pydantic 2 has another class where pydantic 1 had the one with this attribute
        ("AttributeError: 'FieldInfo' object has no attribute 'field_info'", "pydantic", "of ModelField", "==1.10.27"),
        # what was a tuple became an object of a class
        (
            FORWARD + "AttributeError: 'list' object has no attribute 'get_usable_length'",
            "transformers",
            "from 4.57.1 on wants an object with get_usable_length",
            "==4.16.0",
        ),
    ],
)
def test_what_came_in_the_place_of_something_else_is_told_with_the_releases_before(
    log: str, package: str, words: str, pin: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = findings(capsys, tmp_path, log)[0]
    assert first["packages"][0] == package
    assert words in first["detail"]
    assert first["fixes"][0]["pins"] == {package: pin}


@pytest.mark.parametrize(
    ("log", "facts", "words"),
    [
        ("ValueError: bf16 mixed precision requires PyTorch >= 1.10 and a supported device.", "", "a GPU before Ampere"),
        ("bf16 mixed precision requires PyTorch >= 1.10 and a supported device.", "", "a GPU before Ampere"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_89'", "", "11.8 for 8.9 and 9.0"),
        ("TypeError: 'type' object is not subscriptable", 'python = "3.8"\n', "needs 3.9"),
        ("TypeError: 'type' object is not subscriptable", 'python = "3.10"\n', ""),
        # Python's own sentence, which a package raises of its own
        ("TypeError: __init__() got an unexpected keyword argument 'cachedirs'", "", ""),
    ],
)
def test_what_a_sentence_of_the_run_means(log: str, facts: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, log, facts)
    assert [one["rule"] for one in told] == (["error-of-the-run"] if words else [])
    assert not told or words in told[0]["detail"]


@pytest.mark.parametrize(
    ("line", "facts", "pin"),
    [
        ("module compiled against API version 0x10 but this version of numpy is 0xf", "", "==1.26.4"),
        ("module compiled against ABI version 0x1000009 but this version of numpy is 0x2000000", "", "==1.26.4"),
        (
            "numpy.ndarray size changed, may indicate binary incompatibility. Expected 88 from C header, got 80 from PyObject",
            "",
            "==1.26.4",
        ),
        ("module compiled against API version 0x10 but this version of numpy is 0x10", "", None),
        ("module compiled against API version 0x10 but this version of numpy is 0xf", '[packages]\nnumpy = "1.24.4"\n', None),
    ],
)
def test_a_module_that_was_compiled_for_another_numpy(
    line: str, facts: str, pin: str | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = [one for one in findings(capsys, tmp_path, f"RuntimeError: {line}", facts) if one["rule"] == "error-compiled-for-another-numpy"]
    assert [one["fixes"][0]["pins"] for one in told] == ([] if pin is None else [{"numpy": pin}])


@pytest.mark.parametrize(
    "log",
    [
        "AttributeError: 'DeepSpeedZeroOptimizer_Stage3' object has no attribute 'train'",
        "TypeError: forward() got an unexpected keyword argument 'my_own_argument'",
    ],
)
def test_what_nobody_can_tell_is_left_alone(log: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert findings(capsys, tmp_path, log) == []


def test_a_method_of_a_tokenizer_that_comes_with_models_is_not_that_of_the_package_that_took_one_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = "TypeError: ChatGLMTokenizer._pad() got an unexpected keyword argument 'padding_side'"
    assert next(one["rule"] for one in findings(capsys, tmp_path, log)) == "chatglm-tokenizer-pad-padding-side"


def test_that_an_attribute_cannot_be_set_is_said_by_python_and_nobody_else(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert findings(capsys, tmp_path, "AttributeError: can't set attribute 'eos_token'") == []


def test_a_class_that_comes_with_models_is_not_laid_on_the_package_that_took_one_of_it_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = "AttributeError: 'PaintedTokenizer' object has no attribute 'special_vocabulary'"
    assert [(one["rule"], one["status"]) for one in findings(capsys, tmp_path, log)] == [("error-raised-by-package", "possible")]
    told = findings(capsys, tmp_path, log, '[packages]\ndiffusers = "0.24.0"\n')
    assert [(one["rule"], one["packages"]) for one in told] == [("error-attribute-missing", ["diffusers"])]


def test_who_says_a_text_is_told_behind_what_a_rule_may_know_of_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "ValueError: Due to a serious vulnerability issue in `torch.load`, even with `weights_only=True`, we now require users to upgrade "
        "torch to at least v2.6 in order to use the function."
    )
    rules = [one["rule"] for one in findings(capsys, tmp_path, log)]
    assert rules[0] == "error-demands-another-release"


def test_a_key_of_transformers_is_told_with_its_new_name_and_one_of_several_programs_accuses_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fields(*names: str) -> str:
        return "from dataclasses import dataclass\n@dataclass\nclass TrainingArguments:\n" + "".join(
            f"    {name}: str = ''\n" for name in names
        )

    ours = "transformers/__init__.py", "from .training_args import TrainingArguments\n"
    transformers = {
        release: {ours[0]: ours[1], "transformers/training_args.py": fields("output_dir", *names)}
        for release, names in {
            "1.0": ("evaluation_strategy",),
            "1.1": ("evaluation_strategy", "eval_strategy"),
            "2.0": ("eval_strategy",),
        }.items()
    }
    shared = {
        name: {release: {f"{top}/__init__.py": fields("model", *names)} for release, names in {"1.0": (), "2.0": ("packing",)}.items()}
        for name, top in {"trl": "trl", "ms-swift": "swift"}.items()
    }
    said = "ValueError: Some specified arguments are not used by the HfArgumentParser: {}"
    with atlas_of(tmp_path, {"transformers": transformers, **shared}):
        old, *_ = findings(capsys, tmp_path, said.format("['--evaluation_strategy', 'steps']"))
        several, *_ = findings(capsys, tmp_path, said.format("['packing']"))
    assert old["packages"] == ["transformers"]
    assert old["fixes"][0]["note"] == "write eval_strategy for evaluation_strategy"
    assert several["status"] == "possible"
    assert all(one["kind"] != "pin" for one in several["fixes"])
    assert set(several["packages"]) == {"ms-swift", "trl"}


@pytest.mark.parametrize(
    ("library", "told"),
    [
        ("torch/lib/libtorch_cpu.so", (["torch"], [{"torch": "==2.6.0"}])),
        # torch is there, and it is not torch that fails
        ("tokenizers/tokenizers.abi3.so", (["tokenizers"], [])),
    ],
)
def test_a_system_that_is_too_old_is_told_of_the_file_that_asks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, library: str, told: tuple[list[str], list[dict[str, str]]]
) -> None:
    log = f"ImportError: /lib64/libc.so.6: version `GLIBC_2.28' not found (required by /opt/venv/lib/python3.10/site-packages/{library})"
    (found,) = findings(capsys, tmp_path, f"torch==2.8.0\n{log}")
    pins = [fix["pins"] for fix in found["fixes"] if fix["kind"] == "pin"]
    assert (found["rule"], found["packages"], pins) == ("error-system-library-too-old", *told)
