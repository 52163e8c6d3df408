"""A message joined to what is stated beside it: the card, the system, the releases, the file that is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import NOTHING, findings

T4 = 'gpu.name = "Tesla T4"\n'
FLASHINFER = "RuntimeError: FlashInfer requires GPUs with sm75 or higher"
DEEPSPEED = (
    "ValueError: When using DeepSpeed, `accelerate.prepare()` requires you to pass at least one of training or evaluation dataloaders with "
    "`batch_size` attribute returning an integer value"
)
NESTED = (
    "ValueError: Unable to create tensor, you should probably activate truncation and/or padding with 'padding=True' 'truncation=True' to "
    "have batched tensors with the same length. Perhaps your features (`{0}` in this case) have excessive nesting "
    "(inputs type `list` where "
    "type `int` is expected)."
)
HEADER = """\
/opt/conda/include/ATen/cuda/CUDAContext.h:6:10: fatal error: {0}: No such file or directory
compilation terminated.
ninja: build stopped: subcommand failed."""
SHORT_ROWS = """\
RuntimeError: Error(s) in loading state_dict for LlamaForCausalLM:
\tsize mismatch for model.embed_tokens.weight: copying a param with shape torch.Size([32000, 4096]) from checkpoint, the shape in current \
model is torch.Size([32003, 4096])."""
LORA_ON_WORDS = """\
size mismatch for llm.model.output.lora_B.default.weight: copying a param with shape torch.Size([92548, 512]) from checkpoint, the shape \
in current model is torch.Size([92554, 512])."""
LANGCHAIN = (
    "ImportError: Could not import sentence_transformers python package. Please install it with `pip install sentence_transformers`."
)


@pytest.mark.parametrize(
    ("log", "facts", "says"),
    [
        (
            "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute "
            "capability 7.5.",
            T4,
            "--dtype half",
        ),
        ("RuntimeError: Current CUDA Device does not support bfloat16. Please switch dtype to float16.", T4, "fp16=True"),
        (FLASHINFER, 'cuda = "12.8"\ngpu.name = "RTX 5070 Ti"\n', "CUDA 12.9 or later"),
        (FLASHINFER, 'gpu.name = "Tesla V100"\n', "another attention and sampler"),
        ("RuntimeError: Failed to dlopen libcuda.so", NOTHING, "/usr/lib/wsl/lib"),
        ("OSError: libcuda.so: cannot open shared object file: No such file or directory", NOTHING, "/usr/lib/wsl/lib"),
        (HEADER.format("curand_kernel.h"), NOTHING, "the whole toolkit of the CUDA that torch was built for"),
        (HEADER.format("cusparse.h"), NOTHING, "the whole toolkit of the CUDA that torch was built for"),
        (HEADER.format("nccl.h"), NOTHING, "libnccl-dev"),
        ("ImportError flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so undefined symbol", NOTHING, "--no-cache-dir"),
        ("undefined symbol in selective_scan_cuda.cpython-310-x86_64-linux-gnu.so", NOTHING, "install --no-cache-dir"),
        ("ImportError: Undefined symbol in libcusparse.so.12", 'packages.torch = "2.4.0"\n', "unset LD_LIBRARY_PATH"),
        ("ValueError: rope_scaling must contain keys {'factor', 'type'}", NOTHING, "mlx-lm>=0.16.1"),
        (DEEPSPEED, NOTHING, "accelerate config again and without DeepSpeed"),
        ("pyarrow.lib.ArrowInvalid: cannot mix struct and non-struct, non-null values", NOTHING, "map without batched=True"),
        ("ValueError: `FlatParameter` requires uniform dtype but got torch.bfloat16 and torch.float32", NOTHING, "load all in one dtype"),
        (NESTED.format("token_type_ids"), NOTHING, "return_token_type_ids=False"),
        (SHORT_ROWS, NOTHING, "the checkpoint that belongs to this configuration"),
        (LORA_ON_WORDS, NOTHING, "the release of transformers and the tokenizer that it was made with"),
        (LANGCHAIN, 'packages.sentence-transformers = "2.2.2"\n', "python -c 'import sentence_transformers'"),
        (
            "AttributeError: module 'wandb.proto.wandb_internal_pb2' has no attribute 'Result'",
            'packages.wandb = "0.16.6"\npackages.protobuf = "5.29.0"\n',
            "pip install -U wandb protobuf",
        ),
    ],
)
def test_the_first_cure_uses_what_the_message_and_the_statements_say(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, facts: str, says: str
) -> None:
    told = findings(capsys, tmp_path, log, facts)[0]
    assert says in told["fixes"][0]["note"]


def test_of_labels_the_collator_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, NESTED.format("labels"))
    assert told
    assert not any("return_token_type_ids" in str(one["fixes"]) for one in told)


def test_a_symbol_that_is_quoted_is_told_as_before(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ImportError: /x/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"
    assert "c10::cuda::SetDevice" in findings(capsys, tmp_path, log)[0]["detail"]
