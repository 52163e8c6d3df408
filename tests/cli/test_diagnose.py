"""diagnose: from what people paste to the rule that explains it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import Ran, run

PEFT_LOG = """\
[2026-01-01 10:00:00] INFO start
{'loss': 3.9112, 'grad_norm': 1.93, 'learning_rate': 5e-05, 'epoch': 0.01}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 4.9e-05, 'epoch': 0.02}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 4.8e-05, 'epoch': 0.03}
"""
REPORT = """\
### System Info

- `transformers` version: 4.42.0
- Platform: Linux-5.15.0-105-generic-x86_64-with-glibc2.35
- Python version: 3.10.14
- PyTorch version (GPU?): 2.3.1+cu121 (True)
- PEFT version: 0.14.0

### Reproduction

```
Traceback (most recent call last):
  File "/opt/venv/lib/python3.10/site-packages/peft/auto.py", line 32, in <module>
ImportError: cannot import name 'EncoderDecoderCache' from 'transformers' (/opt/venv/lib/python3.10/site-packages/transformers/__init__.py)
```
"""


@pytest.fixture
def diagnose(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("PATH", str(tmp_path))

    def ask(log: str, *words: str) -> Ran:
        file = tmp_path / "train.log"
        file.write_text(log, encoding="utf-8")
        return run(capsys, "diagnose", str(file), "--format", "json", *words)

    return ask


def test_a_pasted_report_states_its_own_versions(diagnose) -> None:  # type: ignore[no-untyped-def]
    ran = diagnose(REPORT)
    assert ran.status == 1
    first = ran.json["findings"][0]
    assert (first["rule"], first["status"]) == ("peft-encoder-decoder-cache-import", "matched")
    assert first["because"][0]["fact"] == "log"
    assert first["location"]["line"] == 14
    assert ran.json["facts"]["packages.peft"]["value"] == "0.14.0"
    assert ran.json["remedy"]["pins"] in ({"peft": "==0.13.2"}, {"transformers": "==4.43.0"})


def test_a_loss_curve_with_the_stack_beside_it(diagnose, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    facts = tmp_path / "facts.toml"
    facts.write_text('[packages]\npeft = "0.10.0"\ntransformers = "4.38.2"\ntorch = "2.2.2"\n', encoding="utf-8")
    ran = diagnose(PEFT_LOG, "--facts", str(facts))
    assert ran.json["findings"][0]["rule"] == "peft-fp16-adapter-nan"
    assert ran.json["findings"][0]["status"] == "matched"


def test_a_rule_whose_range_the_stated_versions_refute_is_not_told(diagnose) -> None:  # type: ignore[no-untyped-def]
    ran = diagnose(REPORT.replace("0.14.0", "0.13.2"))
    assert [finding["rule"] for finding in ran.json["findings"]] == ["error-name-missing"]
    only = ran.json["findings"][0]
    assert only["packages"] == ["transformers", "peft"]
    assert only["detail"] == ("transformers 4.42.0 has no EncoderDecoderCache in transformers; peft 0.13.2 imports it (peft/auto.py:32)")
    assert (only["confidence"], only["edge"]) == ("computed", "peft:transformers.EncoderDecoderCache")


def run_text(log: str, folder: Path) -> str:
    import contextlib
    import io

    from envdoctor.cli import main

    file = folder / "text.log"
    file.write_text(log, encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main(["diagnose", str(file)])
    return printed.getvalue()


def test_an_error_that_no_rule_knows_says_so_and_what_was_recognised(diagnose, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    log = (
        '  File "/x/site-packages/newpackage/core.py", line 3, in run\n'
        "TypeError: Thing.make() got an unexpected keyword argument 'frobnicate'\n"
    )
    ran = diagnose(log)
    assert (ran.status, [(one["rule"], one["status"]) for one in ran.json["findings"]]) == (0, [("error-raised-by-package", "possible")])
    text = " ".join(run_text(log, tmp_path).split())
    assert "nothing that is known explains this log" in text
    assert "Thing.make() does not take frobnicate" in text
    assert "raised in newpackage (newpackage/core.py:3, in run)" in text
    assert "versions not known: newpackage" in text


def test_a_log_that_is_not_there_and_one_that_is_utf_16(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, "diagnose", str(tmp_path / "none.log")).status == 2
    assert run(capsys, "diagnose", str(tmp_path)).status == 2
    wide = tmp_path / "wide.log"
    wide.write_text(REPORT, encoding="utf-16")
    assert "peft-encoder-decoder-cache-import" in run(capsys, "diagnose", str(wide)).out


def test_what_a_log_prints_never_reaches_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "hostile.log"
    log.write_bytes(b"\x1b]0;pwned\x07\x9b2J cannot import name 'EncoderDecoderCache' from 'transformers' \xff\xfe\x00\x1b[31m\n")
    ran = run(capsys, "diagnose", str(log))
    assert "has no EncoderDecoderCache" in " ".join(ran.out.split())
    assert not [character for character in ran.out + ran.err if character != "\n" and not character.isprintable()]


def test_words_that_any_program_prints_accuse_no_model(diagnose, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    log = "ValueError: too many values to unpack (expected 2)\n"
    facts = tmp_path / "facts.toml"
    facts.write_text('[packages]\ntransformers = "4.42.3"\n', encoding="utf-8")
    assert all(finding["status"] != "matched" for finding in diagnose(log, "--facts", str(facts)).json["findings"])
    facts.write_text('[packages]\ntransformers = "4.42.3"\n[model]\ntype = "chatglm"\n', encoding="utf-8")
    assert diagnose(log, "--facts", str(facts)).json["findings"][0]["rule"] == "chatglm-generate-cache-pair"


MOVED = """\
Traceback (most recent call last):
  File "/env/lib/python3.9/site-packages/transformers/trainer.py", line 507, in _move_model_to_device
    model = model.to(device)
"""
FULL = """\
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 2; 23.64 GiB total capacity; 23.08 GiB already allocated; \
704.00 KiB free; 23.08 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb
"""


def _rules(ran: Ran) -> list[tuple[str, str]]:
    return [(finding["rule"], finding["status"]) for finding in ran.json["findings"] if finding["status"] == "matched"]


def test_the_numbers_of_an_out_of_memory_error_overrule_its_advice(diagnose) -> None:  # type: ignore[no-untyped-def]
    assert _rules(diagnose(FULL)) == [("gpu-memory-in-use", "matched")]
    assert _rules(diagnose(MOVED + FULL)) == [("weights-larger-than-one-gpu", "matched"), ("gpu-memory-in-use", "matched")]


def test_a_full_card_ends_with_the_command_that_says_what_fills_it(diagnose) -> None:  # type: ignore[no-untyped-def]
    words = ("--set", "gpu.name=RTX 3090 x3", "--set", "model.id=zjunlp/OneKE", "--format", "text")
    command = "envdoctor fit zjunlp/OneKE --plan PLAN --gpu 'RTX 3090 x3' --set gpu.memory_gib=23.64"
    assert diagnose(FULL, *words).out.endswith(f"which change makes the plan fit:\n  {command}\n")


def test_a_traceback_through_chatglm_names_what_its_code_may_lack(diagnose) -> None:  # type: ignore[no-untyped-def]
    place = (
        'Traceback (most recent call last):\n  File "/modules/transformers_modules/chatglm3-6b/modeling_chatglm.py", line 413, in forward\n'
    )
    told = [(finding["rule"], finding["status"]) for finding in diagnose(place + FULL).json["findings"]]
    assert told == [("gpu-memory-in-use", "matched"), ("chatglm-gradient-checkpointing-no-op", "possible")]


def test_numbers_leave_no_room_for_what_words_might_mean(diagnose) -> None:  # type: ignore[no-untyped-def]
    assert [finding["rule"] for finding in diagnose(FULL).json["findings"]] == ["gpu-memory-in-use"]
    told = diagnose("RuntimeError: CUDA error: out of memory\n").json["findings"]
    assert [(finding["rule"], finding["status"]) for finding in told] == [
        ("error-of-the-run", "matched"),
        ("plan-exceeds-gpu-memory", "possible"),
    ]


@pytest.mark.parametrize(
    ("log", "rule"),
    [
        (
            "RuntimeError: MPS backend out of memory (MPS allocated: 33.48 GB, other allocations: 2.45 GB, max allowed: 36.27 GB). Tried "
            "to allocate 600.15 MB on private pool.",
            "mps-memory-limit",
        ),
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
            "4009910272 bytes. Error code 12 (Cannot allocate memory)",
            "host-memory-refused",
        ),
        (
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
            "vllm-no-memory-for-the-cache",
        ),
        ("ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'", "nccl-on-a-full-gpu"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=11300781.0.", "host-memory-ended-the-run"),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", "cublas-handle-on-a-full-gpu"),
    ],
)
def test_memory_that_is_not_torchs_own(diagnose, log: str, rule: str) -> None:  # type: ignore[no-untyped-def]
    assert _rules(diagnose(log + "\n")) == [(rule, "matched")]


def test_an_error_without_numbers_has_its_command_too(diagnose) -> None:  # type: ignore[no-untyped-def]
    out = diagnose("RuntimeError: CUDA error: out of memory\n", "--format", "text").out
    assert out.endswith("which change makes the plan fit:\n  envdoctor fit MODEL --plan PLAN --gpu GPU\n")
    assert "    needs" not in out


def test_weights_that_are_known_to_fit_are_not_blamed(diagnose) -> None:  # type: ignore[no-untyped-def]
    words = ("--set", "model.parameters=1100000000", "--set", "gpu.memory_gib=23.64")
    assert _rules(diagnose(MOVED + FULL, *words)) == [("gpu-memory-in-use", "matched")]


def test_chatglm_is_not_blamed_for_the_memory_of_another_model(diagnose) -> None:  # type: ignore[no-untyped-def]
    model = ("--set", "model.type=chatglm", "--set", "model.gc_support=no-op", "--set", "plan.gradient_checkpointing=true")
    assert ("chatglm-gradient-checkpointing-no-op", "matched") not in _rules(diagnose(FULL))
    assert _rules(diagnose(FULL, *model))[0] == ("chatglm-gradient-checkpointing-no-op", "matched")


LOG_ONLY = """\
id         = "box-is-full"
title      = "The box is full"
severity   = "error"
effect     = "oom"
confidence = "cited"
log_only   = true
symptoms   = ["BoxError: the box of box_maker is full"]
details    = "It is."

[affected]
packages = ["peft >=0.7"]

[[fix]]
code = "empty the box"

[[evidence]]
url  = "https://github.com/huggingface/peft/issues/1"
kind = "issue"
says = "It was full."

[[case]]
expect = "match"
facts  = { packages.peft = "==0.7.0" }

[[case]]
expect = "no-match"
facts  = { packages.peft = "==0.6.0" }

[[case]]
expect = "unknown"
facts  = { plan.method = "lora" }
"""


def test_a_rule_of_logs_speaks_where_the_text_is_shown_and_nowhere_else(
    diagnose: Callable[..., Ran], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "box-is-full.toml").write_text(LOG_ONLY, encoding="utf-8")
    for release, said in (("0.8.0", "matched"), ("0.6.0", "")):
        (tmp_path / "facts.toml").write_text(f'packages.peft = "{release}"\nplan.method = "lora"\n', encoding="utf-8")
        stack = ("--facts", str(tmp_path / "facts.toml"), "--rules", str(tmp_path / "rules"))
        by_log = diagnose("BoxError: the box of box_maker is full\n", *stack).json["findings"]
        assert [one["status"] for one in by_log if one["rule"] == "box-is-full"] == [said] * bool(said)
        by_facts = run(capsys, "check", *stack, "--strict", "--format", "json").json["findings"]
        assert "box-is-full" not in [one["rule"] for one in by_facts]
    page = run(capsys, "explain", "box-is-full", "--rules", str(tmp_path / "rules")).out
    assert "only where a log shows its text" in page
    assert "peft >=0.7" in page


def test_of_two_packages_at_odds_what_moved_goes_back_first_and_the_other_way_is_told(tmp_path: Path) -> None:
    text = run_text("TypeError: argument of type 'bool' is not iterable\n  gradio_client/utils.py: schema\n", tmp_path)
    assert '  fix: pip install "pydantic==2.10.6"\n   or: pip install "gradio==5.' in text


def test_torch_moves_last_and_what_is_first_known_of_nothing_stated_is_recent(tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/env/lib/python3.10/site-packages/deepspeed/runtime/utils.py", line 19, in <module>\n'
        "    from torch._six import inf\nModuleNotFoundError: No module named 'torch._six'\n"
    )
    first, then = (line for line in run_text(log, tmp_path).splitlines() if "pip install" in line and "To fix" not in line)
    assert "deepspeed==" in first
    assert "deepspeed==0.9.3" not in first
    assert "torch==1.13.1" in then
