"""Errors of a project's own code, and sentences that people cut or mistype: what is told of them, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.logs.derived import derive_findings
from envdoctor.logs.last_resort import judge_at_last
from envdoctor.logs.places import owner_of
from envdoctor.logs.reading import read_log
from envdoctor.logs.statements import MissingMember, MissingName, RefusedKeyword, parse_statement
from tests.atlas.wheels import atlas_of

HEAD = "Traceback (most recent call last):\n"
OWN = '  File "/home/u/Proj/run.py", line 7, in main\n    go(1)\n'
PEFT = '  File "/x/site-packages/peft/peft_model.py", line 9, in forward\n    go()\n'


def told(text: str, **packages: str) -> list[tuple[str, tuple[str, ...], str]]:
    """Rule, packages and words of what is derived of a text, or of what is said at last."""
    facts = Facts({f"packages.{name}": Fact(f"packages.{name}", exact(version), Origin("test")) for name, version in packages.items()})
    reading = read_log([text.encode() + b"\n"], ())
    hits = [one.hit for one in derive_findings(reading, facts)] or [hit for hit, _, _ in judge_at_last(reading, facts)]
    return [(hit.rule, hit.packages, hit.said) for hit in hits]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (OWN + "NameError: name 'train_loadr' is not defined", "uses the name train_loadr, and nothing before that defines it"),
        (
            OWN + "TypeError: go() missing 1 required positional argument: 'b'",
            "go() needs b, and the project calls it otherwise; Proj/run.py:7, in main",
        ),
        (OWN + "TypeError: go() got an unexpected keyword argument 'rate'", "go() does not take rate"),
        (OWN + "KeyError: 'lr'", "It was raised in the project's own code; Proj/run.py:7, in main: `go(1)`"),
        (OWN + "ModuleNotFoundError: No module named 'helpers_of_ours'", "The Python that runs this finds no module helpers_of_ours"),
        (
            "  File \"/w/LLaVA/llava/train/mem.py\", line 1, in <module>\n    import llava.x\nModuleNotFoundError: No module named 'llava'",
            "Python does not look in /w/LLaVA",
        ),
        (
            OWN + "ImportError: cannot import name 'Foo' from 'our.data' (/home/u/Proj/our/data.py)",
            "our.data, a module of the project's own, has no Foo",
        ),
    ],
)
def test_what_failed_in_a_project_s_own_code_accuses_no_package(text: str, words: str) -> None:
    ((rule, packages, detail),) = told(HEAD + text)
    assert (rule, packages) == ("error-of-own-code", ())
    assert words in detail


@pytest.mark.parametrize(
    "text",
    [
        OWN + "torch.OutOfMemoryError: CUDA out of memory.",
        OWN + "ConnectionError: HTTPSConnectionPool(host='x', port=443)",
        OWN + PEFT + "KeyError: 'lr'",
        OWN + "KeyboardInterrupt",
        "KeyError: 'lr'",
    ],
)
def test_what_may_be_of_the_machine_or_of_a_package_is_not_laid_on_the_project(text: str) -> None:
    assert "error-of-own-code" not in [rule for rule, _, _ in told(HEAD + text)]


def test_a_name_of_a_package_that_a_file_does_not_import_is_told_with_the_package(tmp_path: Path) -> None:
    peft = {"0.5.0": {"peft/__init__.py": "class PeftModel: pass\n"}, "0.6.0": {"peft/__init__.py": "class LoraConfig: pass\n"}}
    with atlas_of(tmp_path, {"peft": peft}):
        ((rule, packages, detail),) = told(HEAD + OWN + "NameError: name 'LoraConfig' is not defined")
    assert (rule, packages) == ("error-name-undefined", ("peft",))
    assert "Proj/run.py:7, in main uses LoraConfig, which peft gives" in detail


def test_an_error_in_the_code_of_a_model_is_of_the_transformers_that_runs_it() -> None:
    frame = '  File "transformers_modules/Some-8B/configuration_some.py", line 51, in __init__\n    x = config["architectures"][0]\n'
    ((rule, packages, detail),) = told(HEAD + frame + "KeyError: 'architectures'")
    assert (rule, packages) == ("error-raised-by-package", ("transformers",))
    assert "the code that comes with the model" in detail


@pytest.mark.parametrize(
    ("message", "statement"),
    [
        ("AttributeError: DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'", MissingMember("DeepSpeedCPUAdam", "ds_opt_adam")),
        (
            "TypeError:Accelerator.init got an unexpected keyword argument 'dispatch batches'",
            RefusedKeyword("Accelerator.__init__", "dispatch_batches"),
        ),
        ("TypeError : init() got an unexpected keyword argument x_y", RefusedKeyword("__init__", "x_y")),
        ("`unexpected keyword argument tokenizer`", RefusedKeyword("", "tokenizer")),
        ("from a.b import c, log\nImportError: cannot import name 'log'", MissingName("log", "a.b")),
    ],
)
def test_a_sentence_is_read_as_people_copy_it(message: str, statement: object) -> None:
    (failure,) = read_log([message.encode() + b"\n"], ()).failures
    assert parse_statement(failure) == statement


def test_an_error_in_a_line_of_source_and_the_frame_of_half_a_line_are_read() -> None:
    (failure,) = read_log([b'if n == 9: raise RuntimeError("Unsloth: Failed to create it!")\n'], ()).failures
    assert (failure.kind, failure.message) == ("RuntimeError", "Unsloth: Failed to create it!")
    (cut,) = read_log([b'/trl/trainer/x.py", line 269, in __init__\n    super().__init__(\nTypeError: no\n'], ()).failures
    assert cut.packages == ("trl",)


def test_a_program_that_does_not_know_a_command_is_told_by_its_usage() -> None:
    text = "usage: litgpt [-h]\n          {chat,finetune} ...\nerror: argument x: invalid choice: 'finetune_lora' (choose from 'chat')"
    ((rule, packages, detail),) = told(text)
    assert (rule, packages) == ("error-configuration-refused", ("litgpt",))
    assert "does not know finetune_lora" in detail
    assert told(text.replace("litgpt", "train")) == []


def test_a_demand_that_is_met_is_said_to_be_and_a_package_that_was_collected_last_is_the_one_that_is_built() -> None:
    ((rule, packages, detail),) = told("ImportError: Using the `Trainer` with `PyTorch` requires `accelerate>=0.20.1`", accelerate="0.31.0")
    assert (rule, packages[0]) == ("error-demands-another-release", "accelerate")
    assert "accelerate 0.31.0 is stated, which is that" in detail
    build = (
        "Collecting flash-attn>=2.4.0 (from x[cuda])\n  Using cached flash_attn-2.6.1.tar.gz (2.6 MB)\n"
        "  Getting requirements to build wheel ... error\n  error: subprocess-exited-with-error\n"
    )
    ((rule, packages, detail),) = told(build)
    assert (rule, packages) == ("error-build-failed", ("flash-attn",))
    assert detail.startswith("the build of flash-attn 2.6.1 failed: ")


def test_what_every_release_of_a_package_wants_alike_is_what_has_no_file_here() -> None:
    text = (
        "ERROR: Cannot install trl==0.1.0, trl==0.2.0 and trl==0.2.1 because these package versions have conflicting dependencies.\n\n"
        "The conflict is caused by:\n    trl 0.2.1 depends on torch>=1.4.0\n    trl 0.2.0 depends on torch>=1.4.0\n"
        "    trl 0.1.0 depends on torch>=1.4.0\n"
    )
    ((rule, packages, _),) = told(text)
    assert (rule, packages) == ("error-no-distribution", ("torch", "trl", "python"))


def test_a_symbol_without_its_file_is_of_the_one_extension_that_is_stated() -> None:
    text = "undefined symbol: _ZN3c104cuda9SetDeviceEi"
    assert [packages for _, packages, _ in told(text, **{"flash-attn": "2.5.8", "torch": "2.2.0"})] == [("flash-attn", "torch")]
    assert [packages for _, packages, _ in told(text, **{"flash-attn": "2.5.8", "xformers": "0.0.20"})] == [("torch",)]


def test_a_checkout_is_known_however_deep_it_lies() -> None:
    assert owner_of("/lustre/fsw/u/x/Megatron-LM/megatron/training/training.py") == ("megatron", "megatron.training.training")
    assert owner_of("/data/dev/u/trl/trl/trainer/x.py") == ("trl", "trl.trainer.x")
    assert owner_of("/lustre/fsw/u/train.py") == ("", "")


def test_none_in_the_place_of_an_object_is_of_the_package_whose_object_it_would_be(tmp_path: Path) -> None:
    config = "class SFTConfig:\n    def __init__(self):\n        self.model_init_kwargs = None\n"
    with atlas_of(tmp_path, {"trl": {"0.9.0": {"trl/config.py": config}}}):
        ((rule, packages, detail),) = told("AttributeError: 'NoneType' object has no attribute 'model_init_kwargs'")
        ((_, nobody, _),) = told("AttributeError: 'NoneType' object has no attribute 'startswith'")
        assert nobody == ()
    assert (rule, packages) == ("error-attribute-missing", ("trl",))
    assert detail.startswith("there is None where trl has an object with model_init_kwargs (SFTConfig")


def test_what_the_trainer_hands_on_to_a_model_is_of_the_releases_that_do(tmp_path: Path) -> None:
    trainer = "class Trainer:\n    def compute_loss(self, model{}): pass\n"
    releases = {
        "4.45.0": {"transformers/trainer.py": trainer.format("")},
        "4.46.0": {"transformers/trainer.py": trainer.format(", num_items_in_batch=None")},
    }
    with atlas_of(tmp_path, {"transformers": releases}):
        ((rule, packages, detail),) = told("TypeError: forward() got an unexpected keyword argument 'num_items_in_batch'")
    assert (rule, packages) == ("error-argument-refused", ("transformers",))
    assert "which the Trainer of transformers 4.46.0- hands on to models" in detail


def test_the_import_of_a_module_that_was_cut_before_its_cause_is_nobody_s() -> None:
    assert told("RuntimeError: Failed to import transformers.training_args") == []


@pytest.mark.parametrize(
    ("text", "rule", "packages", "words"),
    [
        ("AttributeError: 'Namespace' object has no attribute 'use_mgpu'", "error-of-own-code", (), "add the option --use_mgpu"),
        ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", "error-shared-library-missing",
         ("opencv-python",), "apt-get install libgl1"),
        ("subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.", "error-of-the-run", (), "MAX_JOBS=2"),
        ("RuntimeError: The size of tensor a (4096) must match the size of tensor b (2048) at non-singleton dimension 2",
         "error-of-the-run", (), "max_position_embeddings"),
        ("ValueError: Must flatten tensors with uniform dtype but got a and b", "error-of-the-run", (), "one dtype"),
    ],
)  # fmt: skip
def test_a_line_that_says_enough_by_itself(text: str, rule: str, packages: tuple[str, ...], words: str) -> None:
    ((found, names, said),) = told(text)
    assert (found, names) == (rule, packages)
    assert words in said
