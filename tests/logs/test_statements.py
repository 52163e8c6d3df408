"""What messages state: names, modules, members, arguments; releases that they ask for; what the linker says."""

from __future__ import annotations

import pytest

from envdoctor.logs.demands import read_demands, read_wants
from envdoctor.logs.demangling import demangle
from envdoctor.logs.libraries import parse_absent, parse_floor, parse_undefined
from envdoctor.logs.statements import (
    MissingArguments,
    MissingAttribute,
    MissingMember,
    MissingModule,
    MissingName,
    RefusedKeyword,
    UndefinedName,
    UnknownModelType,
    parse_statement,
)
from envdoctor.logs.tracebacks import Failure, Frame


@pytest.mark.parametrize(
    ("kind", "message", "stated"),
    [
        (
            "ImportError",
            "cannot import name 'AdamW' from 'transformers' (/x/site-packages/transformers/__init__.py)",
            MissingName("AdamW", "transformers", "/x/site-packages/transformers/__init__.py"),
        ),
        ("ImportError", "cannot import name quantize_", MissingName("quantize_")),
        (
            "ImportError",
            "cannot import name 'x' from partially initialized module 'a.b' (most likely due to a circular import) (/p/a/b.py)",
            MissingName("x", "a.b", "/p/a/b.py", circular=True),
        ),
        ("ModuleNotFoundError", "No module named 'triton.ops'", MissingModule("triton.ops")),
        ("ModuleNotFoundError", "No module named 'triton. common'", MissingModule("triton.common")),
        (
            "ModuleNotFoundError",
            "No module named 'datasets.arrow'; 'datasets' is not a package",
            MissingModule("datasets.arrow", shadowed="datasets"),
        ),
        (
            "AttributeError",
            "module 'torch._dynamo' has no attribute 'mark_static_address'",
            MissingAttribute("torch._dynamo", "mark_static_address"),
        ),
        (
            "AttributeError",
            "'DynamicCache' object has no attribute 'get_max_length'. Did you mean: 'get_seq_length'?",
            MissingMember("DynamicCache", "get_max_length"),
        ),
        ("AttributeError", "type object 'TrainingArguments' has no attribute 'x'", MissingMember("TrainingArguments", "x")),
        (
            "TypeError",
            "LoraConfig.__init__() got an unexpected keyword argument 'eva_config'",
            RefusedKeyword("LoraConfig.__init__", "eva_config"),
        ),
        ("TypeError", "f() missing 2 required positional arguments: 'a' and 'b'", MissingArguments("f", ("a", "b"))),
        ("NameError", "name 'is_torch_version' is not defined", UndefinedName("is_torch_version")),
        ("KeyError", "'qwen3_next'", UnknownModelType("qwen3_next")),
        ("KeyError", "'a column of mine'", None),
        (
            "ValueError",
            "The checkpoint you are trying to load has model type `gemma3` but Transformers does not recognize this architecture.",
            UnknownModelType("gemma3"),
        ),
        ("ValueError", "too many values to unpack (expected 2)", None),
    ],
)
def test_what_a_message_states(kind: str, message: str, stated: object) -> None:
    assert parse_statement(Failure(kind, message, 1)) == stated


@pytest.mark.parametrize(
    ("message", "demands"),
    [
        ("Please install bitsandbytes>=0.44.0", {"bitsandbytes": ">=0.44.0"}),
        ("make sure to have `bitsandbytes>=0.41.3` installed.", {"bitsandbytes": ">=0.41.3"}),
        (
            "tokenizers>=0.14,<0.15 is required for a normal functioning of this module, but found tokenizers==0.13.3.",
            {"tokenizers": ">=0.14,<0.15"},
        ),
        ("This version of unsloth requires Python version 3.10 or higher", {"python": ">=3.10"}),
        ("PEFT requires a minimum version of transformers 4.33", {"transformers": ">=4.33"}),
        (
            "Found an incompatible version of auto-gptq. Found version 0.4.2, but only versions above 0.5.0 are supported",
            {"auto-gptq": ">=0.5.0"},
        ),
        ("vllm version 0.8.0 is not supported. please install vllm 0.7.3", {"vllm": "==0.7.3"}),
        ("FlashAttention only supports Ampere GPUs or newer.", {"gpu.compute_capability": ">=8.0"}),
        (
            "Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla V100 GPU has compute capability 7.0.",
            {"gpu.compute_capability": ">=8.0"},
        ),
        ("`np.NaN` was removed in the NumPy 2.0 release. Use `np.nan` instead.", {"numpy": "<2.0"}),
        ("`device` is deprecated and will be removed in transformers 5.0", {}),
        (
            "flashinfer-cubin version (0.6.8.post1) does not match flashinfer version (0.6.10). Please install the same version of both.",
            {"flashinfer-python": "==0.6.8.post1"},
        ),
        ("Expected is_sm90 || is_sm8x || is_sm75 to be true, but got false.", {"gpu.compute_capability": ">=7.5"}),
        ("your generated code is out of date and must be regenerated with protoc >= 3.19.0.", {"protobuf": "<3.21"}),
        ("Downgrade the protobuf package to 3.20.x or lower.", {"protobuf": "<3.21"}),
        ("Please use pip<24.1 if you need to use this version.", {"pip": "<24.1"}),
        ("transformers 4.40.0, torch 2.1.0", {}),
        ("Loading checkpoint shards: 2 of 3, step 1.5", {}),
    ],
)
def test_what_a_message_asks_for(message: str, demands: dict[str, str]) -> None:
    assert {one.package: one.specifier for one in read_demands(message)} == demands


def test_a_system_library_that_is_too_old() -> None:
    file = "/x/lib/python3.10/site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so"
    one = parse_floor(f"ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by {file})")
    assert one is not None
    assert (one.name, one.version, one.by, one.library) == ("GLIBC", "2.32", "flash-attn", "libc.so.6")
    assert "RHEL 9" in one.since()
    runtime = parse_floor("/opt/conda/lib/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /x/site-packages/scipy/_m.so)")
    assert runtime is not None
    assert (runtime.by, runtime.since()) == ("scipy", "the libstdc++ of GCC 11.1 or later")


@pytest.mark.parametrize(
    ("symbol", "plain"),
    [
        ("_ZN3c104cuda9SetDeviceEi", "c10::cuda::SetDevice(int)"),
        (
            "_ZNK3c1010TensorImpl36is_contiguous_nondefault_policy_implENS_12MemoryFormatE",
            "c10::TensorImpl::is_contiguous_nondefault_policy_impl(c10::MemoryFormat) const",
        ),
        ("_ZN2at19UndefinedTensorImpl10_singletonE", "at::UndefinedTensorImpl::_singleton"),
        ("_ZN5torch3jit17parseSchemaOrNameERKSs", "torch::jit::parseSchemaOrName(std::string const&)"),
        (
            "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
            "c10::detail::torchCheckFail(char const*, char const*, unsigned int, "
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)",
        ),
        ("ncclMemFree", None),
        ("_Z", None),
        ("_ZN99999abc", None),
        ("_ZN" + "3abc" * 300, None),
        ("_Z1f" + "P" * 500 + "i", "f"),
    ],
)
def test_a_symbol_as_cpp_writes_it(symbol: str, plain: str | None) -> None:
    """The forms are those that ``c++filt`` prints."""
    assert demangle(symbol) == plain


def test_whose_a_missing_symbol_is() -> None:
    one = parse_undefined("ImportError: /x/site-packages/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi")
    assert one is not None
    assert (one.by, one.library, one.owner) == ("flash-attn", "libc10_cuda.so", "torch")
    nccl = parse_undefined("libtorch_cuda.so: undefined symbol: ncclMemFree")
    assert nccl is not None
    assert (nccl.by, nccl.library, nccl.owner) == ("torch", "libnccl.so.2", "nvidia-nccl")
    own = parse_undefined("/home/u/my_ops.so: undefined symbol: helper_of_mine")
    assert own is not None
    assert (own.by, own.library, own.owner) == ("", "", "")
    absent = parse_absent("OSError: libcudart.so.11.0: cannot open shared object file: No such file or directory")
    assert absent is not None
    assert absent.library == "libcudart.so.11.0"


def test_packages_that_a_message_tells_to_install() -> None:
    message = (
        "Using `load_in_8bit=True` requires Accelerate: `pip install accelerate` and bitsandbytes "
        "`pip install -i https://test.pypi.org/simple/ bitsandbytes`"
    )
    assert read_wants(message) == ("accelerate", "bitsandbytes")
    assert read_wants("I ran pip install accelerate") == ()


@pytest.mark.parametrize(
    ("path", "stated"),
    [
        (r"C:\venv\Lib\site-packages\transformers\models\auto\configuration_auto.py", UnknownModelType("gemma2")),
        ("/home/me/train.py", None),
    ],
)
def test_a_key_that_a_project_looks_up_in_a_table_of_its_own_is_no_model_type(path: str, stated: object) -> None:
    frames = (Frame(path, 7, "main", ""),)
    assert parse_statement(Failure("KeyError", "'gemma2'", 9, frames)) == stated
