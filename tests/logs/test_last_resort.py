"""What is said of an error that nothing explains: who raised it, whose text it is, or what its numbers show."""

from __future__ import annotations

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.logs.derived import derive_findings
from envdoctor.logs.last_resort import judge_at_last, named_in
from envdoctor.logs.loading_keywords import judge_loading
from envdoctor.logs.reading import read_log
from envdoctor.logs.statements import RefusedKeyword
from envdoctor.logs.tracebacks import Failure


def told(text: str) -> list[tuple[str, tuple[str, ...]]]:
    reading = read_log([text.encode() + b"\n"], ())
    return [(hit.rule, hit.packages) for hit, _, _ in judge_at_last(reading, Facts({}))]


FRAMES = (
    'Traceback (most recent call last):\n  File "/x/site-packages/trl/trainer/sft_trainer.py", line 3, in train\n    go()\n'
    '  File "/x/site-packages/peft/peft_model.py", line 9, in forward\n    go()\n'
    '  File "/x/site-packages/torch/nn/modules/module.py", line 7, in _call_impl\n    return go()\n'
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (FRAMES + "KeyError: 3", [("error-raised-by-package", ("peft", "trl"))]),
        (FRAMES, [("error-raised-by-package", ("peft", "trl"))]),
        ("RuntimeError: Unsloth: The file 'llama.cpp/quantize' does not exist", [("error-raised-by-package", ("unsloth",))]),
        ("ValueError: mutable default <class 'timm.models.maxxvit.Cfg'> for field", [("error-raised-by-package", ("timm",))]),
        ("ValueError: expected torch.float32 and got torch.bfloat16", []),
        ("KeyError: 'trl.x' of 'peft.y'", []),
        (FRAMES + "KeyboardInterrupt", []),
        ("CUDA out of memory.", [("gpu-memory-exhausted", ())]),
        ("train loss: nan", [("loss-is-no-number", ())]),
        ("Loss is nan, stopping training", [("loss-is-no-number", ())]),
        ("loss: 0.31, financing the loss", []),
    ],
)
def test_who_raised_an_error_or_what_its_numbers_are(text: str, found: list[tuple[str, tuple[str, ...]]]) -> None:
    assert told(text) == found


def test_a_message_names_one_package_or_none() -> None:
    assert named_in("gfx1100 is invalid or not supported by Flash-Attention") == "flash-attn"
    assert named_in("Error invalid device function at line 107 in file /src/csrc/ops.hip") == "bitsandbytes"
    assert named_in("Failed to import transformers.x because of the following error (look up to see its traceback): no") == ""
    assert named_in("CUDA Error: no kernel image flash-attention/csrc/layer_norm/ln_fwd_kernels.cuh 236") == "flash-attn"
    assert named_in("/x/site-packages/vllm/_C.abi3.so: cannot be loaded") == "vllm"
    assert named_in("Error: it failed") == ""


def test_a_keyword_that_from_pretrained_hands_to_the_model_is_one_of_another_release() -> None:
    statement = RefusedKeyword("LlamaForCausalLM.__init__", "load_in_4bit")
    failure = Failure("TypeError", "", 1)
    hit = judge_loading(statement, failure, Facts({}))
    assert hit is not None
    assert hit.pins == (("transformers", ">=4.30.0,<5.0.0"),)
    stated = Facts({"packages.transformers": Fact("packages.transformers", exact("4.40.0"), Origin("a test"))})
    assert judge_loading(statement, failure, stated) is None
    assert judge_loading(RefusedKeyword("Thing.__init__", "dtype"), failure, Facts({})) is None


@pytest.mark.parametrize(
    ("message", "rule", "says"),
    [
        ("RuntimeError: an illegal memory access was encountered", "error-of-the-run", "CUDA_LAUNCH_BLOCKING=1"),
        ("RuntimeError: Trying to backward through the graph a second time", "error-of-the-run", "detach()"),
        (
            "NotImplementedError: The operator 'aten::angle' is not currently implemented for the MPS device. If you want this",
            "error-of-the-run",
            "PYTORCH_ENABLE_MPS_FALLBACK=1",
        ),
        ("ptxas fatal   : Unsupported .version 8.7; current version is '8.4'", "error-of-the-run", "TRITON_PTXAS_PATH"),
        ("ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'", "error-of-the-run", "TRITON_PTXAS_PATH"),
        ("OSError: foo/bar is not a local folder and is not a valid model identifier", "error-hub-refuses", "foo/bar is no folder here"),
        ("OSError: foo/bar does not appear to have a file named config.json.", "error-hub-refuses", "foo/bar has no config.json"),
    ],
)
def test_what_a_sentence_of_all_releases_means(message: str, rule: str, says: str) -> None:
    reading = read_log([f"{message}\n".encode()], ())
    (one,) = derive_findings(reading, Facts({}))
    assert one.hit.rule == rule
    assert says in one.hit.said


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (
            "ImportError: cannot import name 'Mapping' from 'collections' (/usr/lib/python3.10/collections/__init__.py)",
            "Python 3.10 removed",
        ),
        ("ModuleNotFoundError: No module named 'imp'", "Python 3.12 removed imp"),
        ("ImportError: cannot import name 'Self' from 'typing' (/usr/lib/python3.10/typing.py)", "typing.Self came with Python 3.11"),
    ],
)
def test_what_the_standard_library_has_not_is_of_another_python(message: str, says: str) -> None:
    reading = read_log([f"{message}\n".encode()], ())
    (one,) = derive_findings(reading, Facts({}))
    assert says in one.hit.said
    stated = Facts({"python": Fact("python", exact("3.9.1" if "removed" in says else "3.12.1"), Origin("a test"))})
    assert not any(says in found.hit.said for found in derive_findings(reading, stated))


def test_a_build_that_failed_names_its_package_where_nothing_says_why() -> None:
    reading = read_log([b"ERROR: Failed building wheel for llama-cpp-python\n"], ())
    (one,) = derive_findings(reading, Facts({}))
    assert one.hit.packages == ("llama-cpp-python",)


def test_an_error_that_is_handed_on_is_not_of_the_frames_that_import() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/x/site-packages/transformers/utils/import_utils.py", line 1284, in _get_module\n'
        "    raise RuntimeError(\nRuntimeError: Failed to import transformers.models.llama.modeling_llama because of the following error "
        "(look up to see its traceback):\n"
    )
    reading = read_log([(text + "[Errno 13] Permission denied: '/root/some.lock'\n").encode()], ())
    ((hit, _, _),) = judge_at_last(reading, Facts({}))
    assert "hands on an error of a module that it imports ([Errno 13] Permission denied" in hit.detail
    reading = read_log([(text + "libbitsandbytes_cpu.so: /x/site-packages/bitsandbytes/cextension.py is broken\n").encode()], ())
    ((hit, _, _),) = judge_at_last(reading, Facts({}))
    assert hit.packages == ("bitsandbytes",)


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("'eval_loss': nan", None),
        ("{'eval_loss': nan, 'epoch': 1.0}", True),
        ("{'loss': nan, 'epoch': 1.0}\n'eval_loss': nan", True),
    ],
)
def test_a_loss_of_an_evaluation_alone_lays_nothing_on_what_is_installed(text: str, sure: bool | None) -> None:
    (hit, _, _), *_ = judge_at_last(read_log([text.encode() + b"\n"], ()), Facts({}))
    assert (hit.rule, hit.outcome) == ("loss-is-no-number", sure)
