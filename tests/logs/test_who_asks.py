"""Who asks for what is not there: not the line that only hands on, nor the object that looks for its own attribute."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.logs.callers import asker_of
from envdoctor.logs.statements import parse_statement
from envdoctor.logs.tracebacks import read_failures
from envdoctor.logs.unix_names import judge_unix
from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

SITE = "/opt/venv/lib/python3.10/site-packages"
# transformers gives every model of its own the attribute since 5.0.0, and asks each model for it.
GIVES = {
    "transformers": {
        "4.57.6": {"transformers/__init__.py": "", "transformers/modeling_utils.py": "class PreTrainedModel:\n    pass\n"},
        "5.0.0": {
            "transformers/__init__.py": "",
            "transformers/modeling_utils.py": "class PreTrainedModel:\n    def all_tied_weights_keys(self): ...\n",
        },
    }
}


def asked(text: str) -> str:
    (failure,) = read_failures(list(enumerate(text.splitlines(), 1)))
    asker = asker_of(failure)
    return asker.path.rpartition("/")[2].rpartition("\\")[2] if asker is not None else ""


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (
            f"{SITE}/peft/peft_model.py:1937: in forward\n    past = DynamicCache.from_legacy_cache(past)\n"
            "AttributeError: type object 'DynamicCache' has no attribute 'from_legacy_cache'",
            "peft_model.py",
        ),
        (
            "File C:\\env\\Lib\\site-packages\\transformers\\dynamic_module_utils.py:719, in resolve_trust_remote_code(model)\n"
            "    718 try:\n--> 719     signal.signal(signal.SIGALRM, f)\nAttributeError: module 'signal' has no attribute 'SIGALRM'",
            "dynamic_module_utils.py",
        ),
        (
            f"File {SITE}/diffusers/models/model_loading_utils.py:223, in load_model\n"
            f"File {SITE}/huggingface_hub/utils/_validators.py:114, in validate_hf_hub_args.<locals>._inner_fn(*args, **kwargs)\n"
            "TypeError: f() got an unexpected keyword argument 'dtype'",
            "model_loading_utils.py",
        ),
    ],
)
def test_the_line_that_asks_is_found_in_pytests_and_notebooks_frames(text: str, file: str) -> None:
    assert asked(text) == file


def test_what_a_package_asks_of_the_classes_of_others_since_a_release_is_told_with_the_release_before(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        f'Traceback (most recent call last):\n  File "{SITE}/enformer_pytorch/modeling.py", line 4, in load\n    from_pretrained(n)\n'
        f'  File "{SITE}/transformers/modeling_utils.py", line 47, in _move\n    keys = model.all_tied_weights_keys\n'
        f'  File "{SITE}/torch/nn/modules/module.py", line 19, in __getattr__\n    raise AttributeError(text)\n'
        "AttributeError: 'Enformer' object has no attribute 'all_tied_weights_keys'\n"
    )
    with atlas_of(tmp_path, GIVES):
        told = findings(capsys, tmp_path, log)[0]
    assert told["packages"] == ["transformers", "enformer-pytorch"]
    assert told["fixes"][0]["pins"] == {"transformers": "==4.57.6"}


@pytest.mark.parametrize(
    ("error", "system", "told"),
    [
        ("ModuleNotFoundError: No module named 'fcntl'", "", True),
        ("AttributeError: module 'os' has no attribute 'geteuid'", "windows", True),
        ("AttributeError: module 'os' has no attribute 'sched_getaffinity'", "macos", True),
        ("AttributeError: module 'os' has no attribute 'geteuid'", "macos", False),
        ("AttributeError: module 'signal' has no attribute 'SIGKILL'", "linux", False),
        ("AttributeError: module 'os' has no attribute 'frok'", "", False),
    ],
)
def test_what_python_lacks_on_a_system_is_told_where_that_may_be_the_system(error: str, system: str, told: bool) -> None:
    (failure,) = read_failures([(1, error)])
    facts = Facts({"os": Fact("os", system, Origin("test"))} if system else {})
    assert (judge_unix(parse_statement(failure), failure, facts) is not None) is told


def test_a_release_that_is_too_old_is_raised_before_the_line_is_written_otherwise(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    placed = "class Replicate: ...\n"
    torch = {
        "2.4.1": {
            "torch/__init__.py": "", "torch/distributed/tensor/__init__.py": "", "torch/distributed/_tensor/placement.py": placed,
            "torch/distributed/fsdp.py": "from torch.distributed._tensor.placement import Replicate\n",
        },
        "2.5.0": {"torch/__init__.py": "", "torch/distributed/tensor/__init__.py": placed},
    }  # fmt: skip
    with atlas_of(tmp_path, {"torch": torch}):
        told = findings(capsys, tmp_path, "torch==2.4.1\nImportError: cannot import name 'Replicate' from 'torch.distributed.tensor'")[0]
    assert told["fixes"][0]["pins"] == {"torch": "==2.5.1"}
    assert "torch.distributed.fsdp" not in str(told)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "---- TypeError Traceback (most recent call last) Cell In[10], line 1 ----> 1 Trainer( TypeError: Trainer.init() got an "
            "unexpected keyword argument 'processing_class'",
            "TypeError",
            "Trainer.init() got an unexpected keyword argument 'processing_class'",
        ),
        (
            "  Value error, The model type `own` is not known here [type=value_error, input_value=A()]",
            "ValueError",
            "The model type `own` is",
        ),
        ("Assertion failed, at least one of the two has to be given", "AssertionError", "at least one of the two has to be given"),
    ],
)
def test_an_error_in_one_line_and_in_pydantics_words_is_read(text: str, kind: str, message: str) -> None:
    (failure,) = read_failures([(1, text)])
    assert failure.kind == kind
    assert failure.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unsloth_compiled_cache/UnslothSFTTrainer.py says\nNameError: name 'tokenizer_call' is not defined", "unsloth"),
        ("in get_expanded_tied_weights_keys\nAttributeError: 'list' object has no attribute 'keys'", "_tied_weights_keys"),
        ("ModuleNotFoundError: No module named 'megatron.training'", "Megatron-LM"),
        (
            'Traceback (most recent call last):\n  File "dpo_train.py", line 8, in step\n    n = batch["chosen_labels"].shape[0]\n'
            "KeyError: 'chosen_labels'",
            "which no file has",
        ),
    ],
)
def test_what_is_nobodys_file_is_not_looked_for_there(text: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert words in str(findings(capsys, tmp_path, text)[0])


NEWER = {
    "transformers": {
        "4.50.3": {"transformers/__init__.py": ""},
        "4.51.0": {"transformers/__init__.py": "", "transformers/conf.py": "class QuailConfig:\n    def pad_token_id(self): ...\n"},
    },
    "trl": {"1.0.0": {"trl/__init__.py": "", "trl/model_config.py": "class SharedConfig:\n    def __init__(self, a): ...\n"}},
    "vllm": {"0.9.0": {"vllm/__init__.py": "", "vllm/config.py": "class SharedConfig:\n    pass\n"}},
}


@pytest.mark.parametrize(
    "error",
    [
        # Each release with the class has it: a release before the class came is no cause.
        "AttributeError: 'QuailConfig' object has no attribute 'pad_token_id'",
        # Two packages have a class of that name, and nothing says whose it is.
        "TypeError: SharedConfig.__init__() got an unexpected keyword argument 'task'",
    ],
)
def test_no_release_is_blamed_for_what_it_cannot_be(error: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with atlas_of(tmp_path, NEWER):
        told = findings(capsys, tmp_path, error)
    assert not any(fix.get("pins") for one in told for fix in one["fixes"])
    assert not any("trl" in one["packages"] for one in told if one["status"] == "matched")
