"""What an out-of-memory error of torch tells, from messages as torch prints them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.logs.out_of_memory import FOREIGN, FRAGMENTED, IN_USE, LARGER, ROOM, Account, OutOfMemory, account, fit_command
from envdoctor.logs.reading import read_log
from envdoctor.logs.unwrapping import plain_line
from envdoctor.rules.rulebook import load_rulebook

# torch up to 2.0, and since 2.1; numbers of public reports.
FULL = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 2; 23.64 GiB total capacity; 23.08 GiB "
    "already allocated; 704.00 KiB free; 23.08 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try "
    "setting max_split_size_mb"
)
FULL_SINCE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 44.53 GiB of which "
    "85.94 MiB is free. Including non-PyTorch memory, this process has 44.44 GiB memory in use. Of the allocated memory 44.05 GiB "
    "is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try "
    "setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)
OTHERS = (
    "CUDA out of memory. Tried to allocate 1.63 GiB (GPU 0; 44.56 GiB total capacity; 27.91 GiB already allocated; 565.31 MiB "
    "free; 27.93 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory"
)
OTHERS_SINCE = (
    "CUDA out of memory. Tried to allocate 500.00 MiB. GPU 0 has a total capacty of 79.15 GiB of which 100.25 MiB is free. "
    "Process 29153 has 60.00 GiB memory in use. Including non-PyTorch memory, this process has 19.05 GiB memory in use. Of the "
    "allocated memory 18.30 GiB is allocated by PyTorch, with 1.20 GiB allocated in private pools (e.g., CUDA Graphs), and 120.00 "
    "MiB is reserved by PyTorch but unallocated."
)
PIECES = (
    "CUDA out of memory. Tried to allocate 5.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free. Including "
    "non-PyTorch memory, this process has 78.05 GiB memory in use. Of the allocated memory 56.30 GiB is allocated by PyTorch, and "
    "21.00 GiB is reserved by PyTorch but unallocated."
)
HUGE = (
    "HIP out of memory. Tried to allocate 303.00 GiB (GPU 0; 191.98 GiB total capacity; 20.00 GiB already allocated; 170.00 GiB "
    "free; 20.20 GiB reserved in total by PyTorch)"
)
LIMITED = (
    "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 4.00 GiB of which 2.35 GiB is free. Of the "
    "allocated memory 825.15 MiB is allocated by PyTorch, and 24.85 MiB is reserved by PyTorch but unallocated."
)


LIMITED_BEFORE = (
    "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 23.69 GiB total capacity; 11.50 GiB already allocated; "
    "11.40 GiB free; 11.84 GiB allowed; 11.60 GiB reserved in total by PyTorch)"
)
# Up to torch 1.3 the last number is what is reserved without use.
CACHED = (
    "RuntimeError: CUDA out of memory. Tried to allocate 294.00 MiB (GPU 0; 7.79 GiB total capacity; 6.27 GiB already allocated; "
    "61.62 MiB free; 617.88 MiB cached)"
)
CACHED_PIECES = (
    "RuntimeError: CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; 10.92 GiB total capacity; 5.00 GiB already allocated; "
    "512.00 MiB free; 5.00 GiB cached)"
)
NPU = (
    "RuntimeError: NPU out of memory. Tried to allocate 386.00 MiB (NPU 2; 60.97 GiB total capacity; 59.57 GiB already allocated; "
    "59.57 GiB current active; 16.54 MiB free; 60.06 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory"
)
NPU_OTHERS = (
    "RuntimeError: NPU out of memory. Tried to allocate 22.00 MiB (NPU 0; 60.97 GiB total capacity; 10.24 GiB already allocated; "
    "10.24 GiB current active; 19.52 MiB free; 10.65 GiB reserved in total by PyTorch)"
)
XPU_FULL = (
    "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.11 GiB. Of the allocated "
    "memory 14.20 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated."
)
XPU_EMPTY = (
    "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 15.11 GiB. Of the allocated "
    "memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated."
)
CUT_SHORT = "CUDA out of memory. Tried to allocate 128.25 GiB. GPU 0 has a total capacity of 79.15 GiB of which 60.22 GiB is free."
ABSURD = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory."


def told(*lines: str) -> list[str]:
    reader = OutOfMemory()
    return [event for line in lines for event in reader.read(plain_line(line))]


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        (FULL, IN_USE), (FULL_SINCE, IN_USE), (CACHED, IN_USE), (NPU, IN_USE), (XPU_FULL, IN_USE),
        (OTHERS, FOREIGN), (OTHERS_SINCE, FOREIGN), (NPU_OTHERS, FOREIGN),
        (PIECES, FRAGMENTED), (CACHED_PIECES, FRAGMENTED),
        (HUGE, LARGER), (ABSURD, LARGER), (CUT_SHORT, LARGER),
        (LIMITED, ROOM), (LIMITED_BEFORE, ROOM),
    ],
)  # fmt: skip
def test_the_numbers_of_a_message_tell_which_it_is(message: str, verdict: str) -> None:
    assert told(message) == [verdict]
    assert told(f"[rank3]: {message}") == [verdict]


def test_what_a_message_does_not_tell_is_not_made_up() -> None:
    assert told(XPU_EMPTY) == []


def test_a_narrow_terminal_breaks_the_message() -> None:
    words = FULL.split()
    lines = [" ".join(words[at : at + 6]) for at in range(0, len(words), 6)]
    assert told(*lines) == [IN_USE]
    assert told(*(f"\u2502 {line} \u2502" for line in lines)) == [IN_USE]


def test_a_message_without_numbers_ends_by_itself() -> None:
    lines = ["CUDA out of memory. Tried to allocate 2.00 MiB", *["step"] * 20, FULL]
    assert told(*lines) == [IN_USE]


TRACEBACK = """Traceback (most recent call last):
  File "/work/run.py", line 3, in <module>
    trainer.train()
  File "/env/transformers/trainer.py", line 3666, in evaluation_loop
    preds_host = logits if preds_host is None else nested_concat(preds_host, logits, padding_index=-100)
  File "/env/transformers/trainer_pt_utils.py", line 125, in nested_concat
    return torch_pad_and_concatenate(tensors, new_tensors)"""


def test_where_the_program_was() -> None:
    events = told("step 1", *TRACEBACK.splitlines(), FULL)
    assert "gpu out of memory in nested_concat" in events
    assert "gpu out of memory at return torch_pad_and_concatenate(tensors, new_tensors)" in events
    assert events[-1] == IN_USE


def test_a_program_is_not_blamed_for_what_others_hold() -> None:
    assert told(*TRACEBACK.splitlines(), OTHERS) == [FOREIGN]


def test_an_error_without_numbers_still_has_a_place() -> None:
    assert "gpu out of memory in evaluation_loop" in told(*TRACEBACK.splitlines(), "RuntimeError: CUDA error: out of memory")


def test_of_a_deep_traceback_the_inner_part_is_kept() -> None:
    deep = [f'File "/a.py", line 1, in f{at}' for at in range(500)]
    assert told("Traceback (most recent call last):", *deep, FULL)[-2:] == ["gpu out of memory in f499", IN_USE]


def test_a_rich_traceback_is_read_as_well() -> None:
    events = told(
        "\u2502 /env/lib/python3.10/site-packages/transformers/trainer.py:1635 in train \u2502",
        "\u2502   1634 \u2502   \u2502   ) \u2502",
        "\u2502 \u2771 1635 \u2502   \u2502   return inner_training_loop( \u2502",
        FULL,
    )
    assert events == ["gpu out of memory in train", "gpu out of memory at return inner_training_loop(", IN_USE]


def test_whose_model_code_it_was() -> None:
    place = '  File "/root/.cache/huggingface/modules/transformers_modules/chatglm3-6b/modeling_chatglm.py", line 413, in forward'
    assert "gpu out of memory in the code of chatglm" in told("Traceback (most recent call last):", place, FULL)


def test_the_traceback_of_another_error_is_not_that_of_the_memory() -> None:
    assert told(*TRACEBACK.splitlines(), "ValueError: no", "Traceback (most recent call last):", FULL) == [IN_USE]
    assert told(*TRACEBACK.splitlines(), "RuntimeError: Sizes of tensors must match") == []


@pytest.mark.parametrize(
    ("log", "rule"),
    [
        (FULL, "gpu-memory-in-use"),
        (OTHERS, "gpu-memory-held-by-others"),
        (PIECES, "gpu-memory-fragmented"),
        (HUGE, "one-request-larger-than-the-gpu"),
        (f"{TRACEBACK}\n{FULL}", "trainer-evaluation-keeps-logits"),
    ],
)
def test_a_rule_of_the_shipped_ones_knows_the_log(log: str, rule: str) -> None:
    reading = read_log([log.encode()], load_rulebook().rules)
    assert rule in reading.shown


def test_the_command_that_computes_it_is_filled_with_what_is_known() -> None:
    short = account(plain_line(FULL))
    assert short is not None
    assert fit_command(short, None, None, None) == "envdoctor fit MODEL --plan PLAN --set gpu.memory_gib=23.64"
    named = fit_command(short, "zjunlp/OneKE", "NVIDIA GeForce RTX 3090", 3)
    assert named == "envdoctor fit zjunlp/OneKE --plan PLAN --gpu 'NVIDIA GeForce RTX 3090 x3' --set gpu.memory_gib=23.64"
    assert "--gpu" not in fit_command(short, None, "H100 80GB", 1)
    assert fit_command(None, None, "H100 80GB", 1).endswith("--plan PLAN --gpu 'H100 80GB'")
    assert fit_command(None, None, None, None) == "envdoctor fit MODEL --plan PLAN --gpu GPU"
    assert fit_command(short, "a model; rm", None, None).startswith("envdoctor fit 'a model; rm' --plan")


def test_which_card_is_too_small_is_kept_of_the_first_message_that_says_so() -> None:
    reader = OutOfMemory()
    for message in (OTHERS, PIECES, LIMITED, ABSURD):
        list(reader.read(plain_line(message)))
        assert reader.too_small is None
    for message in (FULL, FULL_SINCE):
        list(reader.read(plain_line(message)))
    assert reader.too_small == account(plain_line(FULL))


SIZES = st.floats(min_value=0, max_value=2**47)


@given(SIZES, SIZES, SIZES, SIZES, SIZES, st.none() | SIZES)
def test_fragmentation_is_told_only_where_what_is_idle_would_do(
    asked: float, total: float, free: float, allocated: float, idle: float, own: float | None
) -> None:
    verdict = Account(asked, total, free, allocated, idle, own).verdict()
    assert verdict in (ROOM, LARGER, FOREIGN, FRAGMENTED, IN_USE)
    if verdict == ROOM:
        assert free > asked
    if verdict == FRAGMENTED:
        assert idle >= asked
    if asked > total:
        assert verdict == LARGER


@given(st.text(max_size=400), st.text(max_size=400))
def test_text_around_a_message_changes_nothing(before: str, after: str) -> None:
    line = f"{before} {FULL} {after}".replace("\n", " ").replace("\r", " ")
    if "tried to allocate" not in plain_line(before):
        found = account(plain_line(line))
        assert found is not None
        assert found.verdict() == IN_USE


@given(st.lists(st.text(alphabet="filetracbk out of memory'\",.py:(1234567890)gib\u2771\u2502 ", max_size=120), max_size=60))
def test_no_text_breaks_it(lines: list[str]) -> None:
    told(*lines)
