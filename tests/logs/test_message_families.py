"""Each family of messages by a message of its own, as threads quote them, with all that is said of it.

A block of ``families/*.txt`` is a message, then what kind of finding it is (and of which package), what the message means, what is
behind it and what to do.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envdoctor.logs import (
    build_messages,
    collective_messages,
    compiled_messages,
    device_messages,
    engine_messages,
    fetched_messages,
    framework_messages,
    installer_messages,
    rows_messages,
    saving_messages,
    sharding_messages,
    training_messages,
)
from envdoctor.logs.stated_message import StatedMessage
from envdoctor.logs.stated_values import judge_stated
from envdoctor.logs.tracebacks import Failure
from tests.cli.run import run
from tests.logs.diagnosed import findings

FOLDER = Path(__file__).parent / "families"
TABLES: dict[str, tuple[StatedMessage, ...]] = {
    "build": build_messages.BUILDS,
    "collective": collective_messages.COLLECTIVES,
    "compiled": compiled_messages.COMPILED,
    "device": device_messages.DEVICES,
    "engine": engine_messages.ENGINES,
    "fetched": fetched_messages.FETCHED,
    "framework": framework_messages.FRAMEWORKS,
    "installer": installer_messages.INSTALLERS,
    "rows": rows_messages.DATA,
    "saving": saving_messages.SAVING,
    "sharding": sharding_messages.SHARDING,
    "training": training_messages.TRAINING,
}
BLOCKS = [
    tuple(line.strip() for line in block.splitlines())
    for path in sorted(FOLDER.glob("*.txt"))
    for block in path.read_text(encoding="utf-8").strip().split("\n\n")
]
KINDS = {"error-of-the-run": "run", "error-of-what-was-given": "given"}


@pytest.mark.parametrize("block", BLOCKS, ids=[block[0][:60] for block in BLOCKS])
def test_a_message_is_told_with_its_cause_and_what_to_do(block: tuple[str, ...]) -> None:
    message, *told = block
    hit = judge_stated(Failure("", message, 1))
    assert hit is not None
    kind = f"{KINDS[hit.rule]}{'' if hit.outcome else ', possible'}{f': {hit.packages[0]}' if hit.packages else ''}"
    assert [kind, hit.headline, hit.detail or "-", hit.advice] == told


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_family_has_a_message(name: str) -> None:
    messages = [block[0] for block in BLOCKS]
    assert [one.means for one in TABLES[name] if not any(re.search(one.says, message) for message in messages)] == []


@pytest.mark.parametrize(
    "log",
    [
        "NCCL INFO Channel 00/02 : 0 1\nNCCL INFO Connected all rings",
        "{'loss': 1.2, 'grad_norm': 0.4, 'epoch': 0.1}\n100%|##########| 10/10",
        "Successfully installed torch-2.4.0\nINFO: Application startup complete.",
        "Downloading shards: 100%\nLoading checkpoint shards: 100%\nINFO Starting vLLM API server on http://0.0.0.0:8000",
        "-- Build files have been written to: /x/build\n[100%] Built target ext",
    ],
)
def test_what_a_run_prints_that_goes_well_is_let_be(log: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert findings(capsys, tmp_path, log) == []


@pytest.mark.parametrize(
    "line",
    [
        "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx1030_40.kdb Performance may degrade.",
        'Compiling the CUDA compiler identification source file "CMakeCUDACompilerId.cu" succeeded.',
        "-- Could NOT find NCCL (missing: NCCL_INCLUDE_DIR NCCL_LIBRARY)",
        "ASCEND_OPP_PATH=/usr/local/Ascend/ascend-toolkit/latest/opp",
        "INFO: pip is looking at multiple versions of torch to determine which version is compatible. This could take a while.",
        "NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct /dev/shm/nccl-abc12",
        "2/2 clients joined",
        "FileNotFoundError: the model '/data/best.pth' does not exist",
        "NameError: name 'lib' is not defined",
        "error: 'AT_DISPATCH_FLOATING_TYPES_AND_HALF' was not declared in this scope",
        'wandb: ERROR failed to upsert bucket: returned error 403 Forbidden: {"errors":[{"message":"permission denied"}]}',
        "click.UsageError: Missing parameters: input_file",
        "omegaconf.errors.ConfigKeyError: Key 'lr' is missing",
        "main.py: error: option --foo not recognized",
        "Attempted to load model.safetensors",
        "RuntimeError: the checkpoint appears to be corrupted",
        "NCCL WARN Call to ibv_modify_qp failed with error Connection timed out",
    ],
)
def test_a_line_that_only_looks_like_one_of_a_family_is_let_be(line: str) -> None:
    assert judge_stated(Failure("", line, 1)) is None


def test_the_whole_report_of_a_message_that_was_pasted_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.txt").write_text("RuntimeError: No backend type associated with device type cpu\n", encoding="utf-8")
    Path("facts.toml").write_text('os = "linux"\n', encoding="utf-8")
    told = run(capsys, "diagnose", "log.txt", "--facts", "facts.toml").out
    words = " ".join(line.strip(" |^") for line in told.splitlines())
    for part in (
        "error: The process group has no backend for tensors on cpu log.txt:1",
        "RuntimeError: No backend type associated with device type cpu",
        "NCCL serves CUDA alone; weights or states that were offloaded, or a tensor that was made there, are to be exchanged",
        "[error-of-the-run@torch:the-process-group-has-no-backend]",
        "fix: init_process_group('cpu:gloo,cuda:nccl'), or the tensors on the GPU  1 error, 0 warnings, 0 notes, 0 possible",
    ):
        assert part in words


def test_what_several_packages_say_is_laid_to_whose_words_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = "NotImplementedError: Loading a streaming dataset in parallel with `num_proc` is not implemented."
    (found,) = findings(capsys, tmp_path, said)
    assert (found["packages"], found["detail"]) == (["datasets"], "num_proc was given to a data set that is streamed")
