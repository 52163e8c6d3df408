"""Errors with several causes, and those whose words alone tell whose they are: what is certain is told, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.test_own_code import HEAD, told
from tests.logs.test_refused_runs import derive

OWN = '  File "/home/u/Proj/run.py", line 7, in main\n    {}\n'
GRADIO = '  File "/x/site-packages/gradio/route_utils.py", line 9, in call\n    get()\n'
BNB = "AttributeError: /x/site-packages/bitsandbytes/"
NO_META = "NotImplementedError: Cannot copy out of meta tensor; no data!"
DEEPSPEED = '  File "/x/site-packages/deepspeed/runtime/engine.py", line 9, in __init__\n    self.module.to(self.device)\n'
MODELS = "transformers.models"


@pytest.mark.parametrize(
    ("sizes", "guess"),
    [
        ("The expanded size of the tensor (1024) must match the existing size (512) at non-singleton dimension 1.", "names the operation"),
        (
            "The expanded size of the tensor (32001) must match the existing size (32000) at non-singleton dimension 0.  "
            "Target sizes: [32001, 4096].  Tensor sizes: [32000, 4096]",
            "vocabularies",
        ),
        (
            "The expanded size of the tensor (4097) must match the existing size (4096) at non-singleton dimension 3.  "
            "Target sizes: [1, 32, 4096, 4097].  Tensor sizes: [1, 1, 4096, 4096]",
            "attention and its mask",
        ),
    ],
)
def test_sizes_without_their_operation_have_several_causes(sizes: str, guess: str) -> None:
    (found,) = derive(f"RuntimeError: {sizes}")
    assert found.hit.outcome is None
    assert guess in found.hit.said


def test_a_function_that_a_patch_made_is_the_patch_s(tmp_path: Path) -> None:
    ours, theirs = "patch_SiglipEncoderLayer.<locals>.forward()", "replace_ours_attn_with_theirs.<locals>.forward()"
    with atlas_of(tmp_path, {"unsloth-zoo": {"2025.9.1": {"unsloth_zoo/patches.py": "def patch_SiglipEncoderLayer(): pass\n"}}}):
        ((_, packages, said),) = told(f"TypeError: {ours} got an unexpected keyword argument 'output_attentions'")
        ((_, nobody, where),) = told(f"TypeError: {theirs} takes 3 positional arguments but 4 were given")
    assert (packages, nobody) == (("unsloth-zoo",), ())
    assert "(unsloth_zoo.patches)" in said
    assert "grep -rn 'def replace_ours_attn_with_theirs'" in where


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("AttributeError: function 'cget_managed_ptr' not found", "found no CUDA and loaded its library for the CPU, or"),
        (f"{BNB}libbitsandbytes_cuda117_nocublaslt.so: undefined symbol: cigemmlt_8", "below compute capability 7.5"),
        (f"{BNB}libbitsandbytes_cuda124.so: undefined symbol: cquantize_blockwise_fp16_nf4", "unset BNB_CUDA_VERSION"),
        (
            "AttributeError: /x/site-packages/llama_cpp/lib/libllama.so: undefined symbol: llama_adapter_lora_init",
            "--no-deps llama-cpp-python",
        ),
    ],
)
def test_what_python_looks_up_in_a_library_is_of_no_linker(text: str, words: str) -> None:
    ((rule, _, said),) = told(text)
    assert rule == "error-symbol-undefined"
    assert words in said


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("AttributeError: 'NoneType' object has no attribute 'encoding'", None),
        (HEAD + OWN.format("enc = sys.stdout.encoding") + "AttributeError: 'NoneType' object has no attribute 'encoding'", True),
        (HEAD + OWN.format("sys.stderr.write(x)") + "AttributeError: 'NoneType' object has no attribute 'write'", True),
    ],
)
def test_none_is_the_console_s_where_the_code_says_so(text: str, outcome: bool | None) -> None:
    (found,) = derive(text)
    assert (found.hit.outcome, found.hit.edge) == (outcome, "code:the-program-has-no-console-to")


def test_another_none_is_no_console() -> None:
    found = derive(HEAD + OWN.format("ids = res.encoding.ids") + "AttributeError: 'NoneType' object has no attribute 'encoding'")
    assert all("console" not in one.hit.said for one in found)


@pytest.mark.parametrize(
    ("torch", "wheel"), [("2.9.0+cu130", "nvidia-nccl-cu13"), ("2.12.0", "nvidia-nccl-cu13"), ("2.8.0", "nvidia-nccl-cu12")]
)
def test_the_library_of_nccl_is_of_torch_s_cuda(torch: str, wheel: str) -> None:
    ((_, packages, _),) = told("ImportError: /x/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommResume", torch=torch)
    assert wheel in packages


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ImportError: cannot import name 'BertLayerNorm' from 'transformers.modeling_bert'", "torch.nn.LayerNorm in place of"),
        (f"ImportError: cannot import name 'BertLayerNorm' from '{MODELS}.bert.modeling_bert'", "torch.nn.LayerNorm in place of"),
        ("ImportError: cannot import name 'gelu' from 'transformers.modeling_bert'", "torch.nn.functional.gelu"),
        (f"ImportError: cannot import name '_CONFIG_FOR_DOC' from '{MODELS}.mixtral.modeling_mixtral'", "from 4.52.0 on"),
        (f"ImportError: cannot import name 'CLIP_INPUTS_DOCSTRING' from '{MODELS}.clip.modeling_clip'", "from 4.52.0 on"),
    ],
)
def test_names_that_the_contents_of_releases_leave_out(text: str, words: str) -> None:
    ((rule, packages, said),) = told(text)
    assert (rule, packages) == ("error-name-missing", ("transformers",))
    assert words in said


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("LookupError: <ContextVar name='request' at 0x7f1>", None),
        ("LookupError: <ContextVar name='renderable' at 0x7f1>", True),
        (HEAD + GRADIO + "LookupError: <ContextVar name='request' at 0x7f1>", True),
    ],
)
def test_a_context_variable_of_gradio_s(text: str, outcome: bool | None) -> None:
    (found,) = derive(text)
    assert (found.hit.outcome, found.hit.pins) == (outcome, (("gradio", "<5.43.0"),))


@pytest.mark.parametrize("text", [HEAD + DEEPSPEED + NO_META, f"{NO_META}\ndeepspeed --num_gpus 4 train.py --deepspeed ds.json"])
def test_deepspeed_is_given_no_cure_for_a_spread_model(text: str) -> None:
    (found,) = derive(text)
    assert found.hit.packages == ("deepspeed",)
    assert "without device_map" in found.hit.advice


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ValueError: Expected a torch.device with a specified index or an integer, but got:cuda", "'cuda:0'"),
        ("ValueError: Expected a torch.device with a specified index or an integer, but got:xpu", "given one without: xpu"),
        ("ValueError: Expected a cuda device, but got: cpu", "called with the device cpu"),
    ],
)
def test_a_device_that_torch_does_not_take(text: str, words: str) -> None:
    (found,) = derive(text)
    assert words in found.hit.said


@pytest.mark.parametrize(
    ("vllm", "words"), [("0.8.5", "VLLM_USE_V1=0 in the environment"), ("0.11.0", "brings nothing back"), ("0.12.0", "brings nothing back")]
)
def test_the_old_engine_is_offered_where_it_is(vllm: str, words: str) -> None:
    ((_, packages, said),) = told("AttributeError: 'AsyncLLM' object has no attribute 'engine'", vllm=vllm)
    assert packages == ("vllm",)
    assert words in said


@pytest.mark.parametrize(
    ("module", "cls", "words"),
    [
        ("t5gemma", "T5Gemma", "an encoder and a decoder"),
        ("gptsan_japanese", "GPTSanJapanese", "an encoder and a decoder"),
        ("qwen2_audio", "Qwen2Audio", "a model that hears"),
        ("llama", "Llama", "no model for LlamaConfig under"),
    ],
)
def test_what_is_listed_in_pairs_is_what_the_tables_have(module: str, cls: str, words: str) -> None:
    auto = "AutoModelForSeq2SeqLM" if cls == "Llama" else "AutoModelForCausalLM"
    config = f"{MODELS}.{module}.configuration_{module}.{cls}Config"
    ((_, _, said),) = told(f"ValueError: Unrecognized configuration class <class '{config}'> for this kind of AutoModel: {auto}.")
    assert words in said


def test_what_a_build_of_xformers_lacks_comes_before_it() -> None:
    text = (
        "Collecting xformers==0.0.22\n  Downloading xformers-0.0.22.tar.gz (3.9 MB)\n  error: subprocess-exited-with-error\n"
        "      ModuleNotFoundError: No module named 'torch'\nerror: metadata-generation-failed\n"
    )
    ((_, _, said),) = told(text)
    assert 'pip install "torch==2.0.1", for which xformers 0.0.22 was made, then pip install --no-build-isolation xformers==0.0.22' in said
