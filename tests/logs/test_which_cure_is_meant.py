"""Whose argument, whose file and whose cache an error is about, and the cure that goes with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.world.successors import successor
from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

SITE = "/opt/venv/lib/python3.10/site-packages"
ARGUMENTS = {
    "transformers": {
        "4.57.6": {
            "transformers/__init__.py": "from .training_args import TrainingArguments\n"
            "from .training_args_seq2seq import Seq2SeqTrainingArguments\n",
            "transformers/training_args.py": "class TrainingArguments:\n    def __init__(self, output_dir): ...\n",
            "transformers/training_args_seq2seq.py": "class Seq2SeqTrainingArguments:\n"
            "    def __init__(self, predict_with_generate): ...\n",
        }
    }
}


HELPER = "def is_flash_attn_greater_or_equal_2_10(): pass\n"
ASKS = "from transformers.utils import is_flash_attn_greater_or_equal_2_10\n"
# The helper went for one release, and verl asks for it since 0.6.
TWO_SIDES = {
    "transformers": {
        release: {"transformers/__init__.py": "", "transformers/utils/__init__.py": text}
        for release, text in (("4.46.3", ""), ("5.3.0", HELPER), ("5.4.0", ""), ("5.5.0", HELPER))
    },
    "verl": {
        release: {"verl/__init__.py": "", "verl/model.py": text} for release, text in (("0.5.0", ""), ("0.6.1", ASKS), ("0.7.0", ASKS))
    },
}
FROM_VERL = """\
  File "/opt/venv/lib/python3.10/site-packages/verl/model.py", line 1, in <module>
    from transformers.utils import is_flash_attn_greater_or_equal_2_10
ImportError: cannot import name 'is_flash_attn_greater_or_equal_2_10' from 'transformers.utils'"""
# One of a series, in which it came.
CAME = {
    "transformers": {
        release: {"transformers/__init__.py": "", "transformers/utils/__init__.py": text}
        for release, text in (("4.46.3", ""), ("4.47.0", HELPER), ("4.47.1", HELPER), ("4.57.6", HELPER))
    }
}


def first(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, facts: str = 'os = "linux"\n') -> tuple[str, str, list[str]]:
    told = findings(capsys, tmp_path, log, facts)[0]
    return f"{told['rule']} {told['status']}", told["detail"], [str(one.get("pins") or one["note"]) for one in told["fixes"]]


@pytest.mark.parametrize(
    ("log", "fix"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement torch==2.1.2+cu118 (from versions: 2.6.0, 2.7.0)",
            'pip install "torch==2.1.2+cu118" --extra-index-url https://download.pytorch.org/whl/cu118; under a Python for which 2.1.2 has '
            "wheels",
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement dataclasses==0.8 (from versions: 0.1, 0.6)",
            "leave dataclasses out of the requirements: Python has it itself since 3.7",
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement imagenetv2-pytorch (from versions: none)",
            "look whether anything imports it (grep -rn imagenetv2_pytorch .): a line that was written by mistake is left out; else the "
            "name that its page on pypi.org has, the index or the git+https address that the project names, or another Python",
        ),
    ],
)
def test_what_an_installer_does_not_find_is_found_otherwise(log: str, fix: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule, _, told = first(capsys, tmp_path, log)
    assert (rule, told[0]) == ("error-no-distribution matched", fix)


def test_bounds_that_agree_on_releases_with_old_metadata_are_no_contradiction(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "ERROR: Cannot install -r requirements.txt and fairseq because these package versions have conflicting "
        "dependencies.\n"
        "The conflict is caused by:\n    fairseq 0.12.2 depends on omegaconf<2.1\n"
        "    hydra-core 1.0.7 depends on omegaconf<2.1 and >=2.0.5\n"
    )
    told = findings(capsys, tmp_path, log)[0]
    assert told["packages"] == ["pip", "omegaconf", "fairseq", "hydra-core"]
    assert told["detail"].startswith("This pip passes over the releases of omegaconf that are asked for")
    assert told["fixes"][0]["note"] == 'pip install "pip<24.1", then the same again; or uv pip install, which reads what is meant'


@pytest.mark.parametrize(
    ("facts", "detail"),
    [
        ('os = "linux"\n', "This torch has no NCCL, which is asked for: it is in torch's CUDA builds for Linux alone"),
        ('os = "macos"\n', "This torch has no NCCL, which is asked for: torch for macOS is made without it"),
    ],
)
def test_a_torch_without_nccl_is_of_no_system_that_nobody_named(
    facts: str, detail: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rule, told, fixes = first(capsys, tmp_path, "RuntimeError: Distributed package doesn't have NCCL built in", facts)
    assert rule == "error-of-the-run matched"
    assert told.startswith(detail)
    assert fixes[0].startswith("init_process_group(backend='gloo')")


def test_code_that_reads_a_cache_as_a_tuple_is_older_than_the_cache(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        f'Traceback (most recent call last):\n  File "/srv/job/modeling.py", line 16, in prepare\n'
        "    past = past_key_values[0][0].shape[2]\n"
        f'  File "{SITE}/transformers/cache_utils.py", line 314, in __getitem__\n    raise KeyError(text)\n'
        "KeyError: 'Cache only has 0 layers, attempted to access layer with index 0'"
    )
    _, told, fixes = first(capsys, tmp_path, log)
    assert told.startswith("Code of a model reads the cache as a tuple (past_key_values[0][0]), and this transformers hands it an empty")
    assert fixes[1:] == ["{'transformers': '==4.41.2'}", "{'transformers': '==4.35.2'}"]


def test_a_column_that_the_trainer_dropped_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        f'Traceback (most recent call last):\n  File "{SITE}/transformers/trainer.py", line 1899, in train\n'
        "    for step, inputs in enumerate(x):\n"
        f'  File "{SITE}/torch/utils/data/_utils/fetch.py", line 61, in fetch\n    return self.collate_fn(data)\n'
        '  File "/srv/job/finetune.py", line 28, in data_collator\n    seq_len = feature["seq_len"]\nKeyError: \'seq_len\''
    )
    rule, _, fixes = first(capsys, tmp_path, log)
    assert rule == "error-of-own-code matched"
    assert fixes == ["remove_unused_columns=False in TrainingArguments; where seq_len is missing in the data itself, it is added there"]


def test_an_argument_of_a_class_that_is_made_of_this_one_means_that_class(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'predict_with_generate'"
    with atlas_of(tmp_path, ARGUMENTS):
        _, _, fixes = first(capsys, tmp_path, log, 'os = "linux"\npackages = { transformers = "4.57.6" }\n')
    assert fixes[0] == "Seq2SeqTrainingArguments in place of TrainingArguments: it has predict_with_generate"


@pytest.mark.parametrize(
    "log",
    [
        "TypeError: XLMRobertaModel.__init__() got an unexpected keyword argument 'use_auth_token'",
        "TypeError: Pipeline.from_pretrained() got an unexpected keyword argument 'use_auth_token'",
    ],
)
def test_use_auth_token_is_called_token(log: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule, _, fixes = first(capsys, tmp_path, log)
    assert (rule, fixes[0]) == ("error-argument-refused matched", "token=... in place of use_auth_token=...")


def test_a_bare_logging_dir_is_accelerates(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, told, fixes = first(capsys, tmp_path, "TypeError: __init__() got an unexpected keyword argument 'logging_dir'")
    assert told.startswith("Accelerator() takes no logging_dir from accelerate 0.20 on")
    assert "{'accelerate': '==0.19.0'}" in fixes


def test_none_in_a_membership_test_is_no_package_s(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule, told, _ = first(capsys, tmp_path, "TypeError: argument of type 'NoneType' is not iterable")
    assert rule == "error-of-what-was-given possible"
    assert told.startswith("The code works on None, where a value should have come")


def test_the_index_of_a_build_helps_nobody_whose_python_is_too_new_for_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ERROR: Could not find a version that satisfies the requirement torch==1.11.0+cu113 (from versions: none)"
    _, _, fixes = first(capsys, tmp_path, log, 'os = "linux"\npython = "3.11"\n')
    assert fixes[0] == (
        "a Python up to 3.10 (conda create -n x python=3.10), for which torch 1.11.0 has wheels, and there "
        'pip install "torch==1.11.0+cu113" --extra-index-url https://download.pytorch.org/whl/cu113'
    )


def test_lightnings_gpus_are_devices(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old = "class Trainer:\n    def __init__(self, gpus=None, devices=None, accelerator=None): ...\n"
    new = "class Trainer:\n    def __init__(self, *, devices=None, accelerator=None): ...\n"
    package = {
        release: {"pytorch_lightning/__init__.py": "from .trainer.trainer import Trainer\n", "pytorch_lightning/trainer/trainer.py": text}
        for release, text in (("1.9.5", old), ("2.0.0", new))
    }
    with atlas_of(tmp_path, {"pytorch-lightning": package}):
        _, _, fixes = first(capsys, tmp_path, "pytorch_lightning: Trainer.__init__() got an unexpected keyword argument 'gpus'")
    assert fixes[:2] == ['accelerator="gpu", devices=... in place of gpus=...', "{'pytorch-lightning': '==1.9.5'}"]


def test_cannot_with_a_capital_is_the_same_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    package = {"diffusers": {"0.34.0": {"diffusers/utils.py": "def load_dict_into(): ...\n"}, "0.35.0": {"diffusers/utils.py": "a = 1\n"}}}
    with atlas_of(tmp_path, package):
        _, told, fixes = first(capsys, tmp_path, "Cannot import name 'load_dict_into' from 'diffusers.utils'")
    assert told.startswith("diffusers has no diffusers.utils.load_dict_into (there in 0.34.0)")
    assert fixes[0] == "{'diffusers': '==0.34.0'}"


def test_a_line_that_imports_says_the_module_of_the_error_behind_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    jax = {
        "0.4.23": {"jax/__init__.py": "from jax import linear_util\n", "jax/linear_util.py": "a = 1\n"},
        "0.4.24": {"jax/__init__.py": "a = 1\n", "jax/extend/__init__.py": "from jax.extend import linear_util\n", "jax/b.py": "b = 1\n"},
    }
    with atlas_of(tmp_path, {"jax": jax}):
        _, told, fixes = first(capsys, tmp_path, "from jax import linear_util as lu ImportError: cannot import name 'linear_util'")
    assert told.startswith("jax has no jax.linear_util (there in 0.4.23)")
    assert fixes[:2] == ["from jax.extend import linear_util", "{'jax': '==0.4.23'}"]


@pytest.mark.parametrize(
    ("keyword", "told"),
    [
        ("num_processes", 'accelerator="cpu", devices=... in place of num_processes=...'),
        ("auto_select_gpus", "devices=find_usable_cuda_devices(...) of pytorch_lightning.accelerators in place of auto_select_gpus=..."),
    ],
)
def test_what_lightning_says_to_write_in_place_of_an_argument(keyword: str, told: str) -> None:
    """By the warnings of 1.9.5: devices="auto" would take every GPU, where auto_select_gpus looked for free ones."""
    assert successor(f"pytorch_lightning.Trainer({keyword})") == told


def test_what_is_asked_moves_before_who_asks_goes_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with atlas_of(tmp_path, TWO_SIDES):
        _, _, fixes = first(capsys, tmp_path, FROM_VERL)
    assert fixes[0] == "{'transformers': '==5.3.0'}"
    assert fixes[2] == "{'verl': '==0.5.0'}"


def test_the_nearest_series_that_has_a_name_is_offered(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with atlas_of(tmp_path, CAME):
        _, _, fixes = first(capsys, tmp_path, FROM_VERL.splitlines()[-1])
    assert fixes[0] == "{'transformers': '==4.47.1'}"
