"""``lock`` and ``verify`` as users type them."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from envdoctor.hashing import digest, pool
from envdoctor.probes.registry import PROBES
from envdoctor.rules.lint import lint_file
from envdoctor.rules.rulebook import shipped_rules
from envdoctor.snapshot import download as download_rules
from envdoctor.snapshot import meaning
from envdoctor.snapshot.manifest import outlined
from envdoctor.world.releases import release_texts
from tests.cli.run import Ran, run
from tests.snapshot.hub_server import Answer, hub, listing
from tests.snapshot.places import COMMIT, MODEL, download, hub_cache, write

RULES = (*meaning.RULES, *download_rules.RULES, "snapshot-lock-invalid", "snapshot-file-not-downloaded")
STACK = '[packages]\ntorch = "2.1.2"\ntransformers = "4.38.2"\npeft = "0.12.0"\n[gpu]\nmemory_gib = 16\n'


@pytest.fixture
def model(fixtures: Path, tmp_path: Path) -> Path:
    """A copy of the January files of chatglm3-6b."""
    return Path(shutil.copytree(fixtures / "chatglm3-6b", tmp_path / "model"))


@pytest.fixture
def stack(tmp_path: Path) -> list[str]:
    path = tmp_path / "stack.toml"
    path.write_text(STACK, encoding="utf-8")
    return ["--facts", str(path)]


def rules(ran: Ran) -> list[str]:
    return [finding["rule"] for finding in ran.json["findings"]]


def test_the_story_of_chatglm3(capsys: pytest.CaptureFixture[str], fixtures: Path, model: Path, stack: list[str]) -> None:
    """The files of January are locked with the plan that fits; those of February change one method, and the plan no longer fits."""
    lock = str(model / "envdoctor.lock")
    locked = run(capsys, "lock", str(model), str(fixtures / "plans" / "chatglm3-lora-gc.yaml"), *stack)
    assert locked == Ran(0, f"locked 15 files, 588.4 kB: {lock}\n200 tensors, 261,331 F16 parameters\n", "")
    assert run(capsys, "verify", str(model)).status == 0
    ran = run(capsys, "verify", str(fixtures / "chatglm3-6b-2024-02"), "--lock", lock)
    assert ran.status == 1
    words = " ".join(ran.out.split())
    assert (
        "modeling_chatglm.py: changed GLMTransformer.forward; new ChatGLMPreTrainedModel.gradient_checkpointing_enable; "
        "gone ChatGLMPreTrainedModel._set_gradient_checkpointing model.gc_support: set-hook -> no-op "
        "holds now: chatglm-gradient-checkpointing-no-op (Gradient checkpointing is silently not switched on by the ChatGLM model code) "
        "rules that ask for it: transformers-4-35-gradient-checkpointing-hook"
    ) in words
    assert "only code changed (1 of 15 files); weights, tokenizer, generation defaults and configuration are as they were" in words
    assert all(len(line) <= 80 or "https://" in line for line in ran.out.splitlines())


def test_text_and_json_are_one_report(capsys: pytest.CaptureFixture[str], fixtures: Path, model: Path, stack: list[str]) -> None:
    run(capsys, "lock", str(model), *stack)
    words = ["verify", str(fixtures / "chatglm3-6b-2024-02"), "--lock", str(model / "envdoctor.lock")]
    report = run(capsys, *words, "--format", "json")
    assert report.status == report.json["summary"]["exit_code"] == 1
    (finding,) = report.json["findings"]
    assert (finding["rule"], finding["severity"], finding["status"]) == ("snapshot-code-changed", "error", "matched")
    assert finding["location"] == {"file": str(fixtures / "chatglm3-6b-2024-02" / "modeling_chatglm.py"), "line": 105}
    assert report.json["facts"]["model.gc_support"]["value"] == "no-op"
    assert report.json["remedy"]["pins"] == {}
    assert report.json["recognised"][0].startswith("only code changed (1 of 15 files)")
    assert "diffs" not in report.json
    assert run(capsys, *words, "--fail-on", "never").status == 0


def test_a_diff_needs_the_old_text(capsys: pytest.CaptureFixture[str], fixtures: Path, model: Path, stack: list[str]) -> None:
    run(capsys, "lock", str(model), *stack)
    new = str(fixtures / "chatglm3-6b-2024-02")
    ran = run(capsys, "verify", new, "--lock", str(model / "envdoctor.lock"), "--diff")
    assert "the former text is not at hand: --against DIR" in " ".join(ran.out.split())
    ran = run(capsys, "verify", new, "--against", str(model), "--diff")
    assert "\n-    def _set_gradient_checkpointing(self, module, value=False):\n" in ran.out
    (diff,) = run(capsys, "verify", new, "--against", str(model), "--diff", "--format", "json").json["diffs"]
    assert diff["file"].endswith("modeling_chatglm.py")
    assert diff["diff"].startswith("--- a/modeling_chatglm.py\n+++ b/modeling_chatglm.py\n@@ ")
    assert diff["written"] is False


def test_what_a_lock_says_as_json(capsys: pytest.CaptureFixture[str], model: Path, stack: list[str]) -> None:
    (model / "elsewhere.bin").symlink_to("/etc/hostname")
    ran = run(capsys, "lock", str(model), *stack, "--format", "json")
    assert ran.json["files"] == 15
    assert ran.json["elements"] == {"F16": 261331}
    (skip,) = ran.json["skipped"]
    assert skip["what"] == str(model / "elsewhere.bin")
    assert "elsewhere.bin" in (model / "envdoctor.lock").read_text(encoding="utf-8").partition("[left_out]")[2]


@pytest.mark.parametrize("name", [".", "model", "model/", "./model", "../here/model"])
def test_however_the_model_is_named_its_facts_are_its_own(
    capsys: pytest.CaptureFixture[str], fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stack: list[str], name: str
) -> None:
    """Facts taken for stated ones would stay as they were, and no rule would be touched by a change."""
    here = tmp_path / "here"
    model = shutil.copytree(fixtures / "chatglm3-6b", here / "model")
    monkeypatch.chdir(model if name == "." else here)
    run(capsys, "lock", name, *stack, "--set", "model.dtype=bfloat16")
    text = (model / "envdoctor.lock").read_text(encoding="utf-8")
    facts, _, stated = text.partition("[facts]")[2].partition("[stack]")
    assert 'gc_support = "set-hook"' in facts
    assert "dtype = " not in facts.replace("config_dtype", "")
    assert [line for line in stated.splitlines() if "model." in line] == ['"model.dtype" = "bfloat16"']
    shutil.copy(fixtures / "chatglm3-6b-2024-02" / "modeling_chatglm.py", model)
    assert "model.gc_support: set-hook -> no-op" in run(capsys, "verify", name).out


@pytest.mark.parametrize("words", [["lock", ""], ["verify", ""], ["verify", "MODEL", "--against", ""]])
def test_an_empty_name_is_not_the_current_directory(
    capsys: pytest.CaptureFixture[str], model: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(model)
    ran = run(capsys, *[str(model) if word == "MODEL" else word for word in words])
    assert (ran.status, ran.out) == (2, "")
    assert "check the variable it came from" in ran.err
    assert not (model / "envdoctor.lock").exists()


def test_a_file_written_after_it_was_hashed_is_not_locked(
    capsys: pytest.CaptureFixture[str], model: Path, stack: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outline would be of another content than the digest."""

    def written_then_outlined(*arguments: Any) -> Any:
        (model / "config.json").write_text("{}", encoding="utf-8")
        return outlined(*arguments)

    monkeypatch.setattr("envdoctor.cli.lock.outlined", written_then_outlined)
    ran = run(capsys, "lock", str(model), *stack)
    assert ran.status == 2
    assert "config.json: found it was written or replaced while the directory was read" in ran.err
    assert not (model / "envdoctor.lock").exists()


def test_outlines_that_no_lock_could_hold_are_left_out(capsys: pytest.CaptureFixture[str], model: Path, stack: list[str]) -> None:
    (model / "long.json").write_text(json.dumps({"k" * 5_000_000: 1}), encoding="utf-8")
    ran = run(capsys, "lock", str(model), *stack, "--format", "json")
    assert ran.status == 0
    (skip,) = ran.json["skipped"]
    assert skip == {"what": str(model / "long.json"), "why": "its outline would take 5000049 characters: a change is seen, not told"}
    (model / "long.json").write_text("{}", encoding="utf-8")
    ran = run(capsys, "verify", str(model), "--format", "json")
    assert (ran.status, rules(ran)) == (1, ["snapshot-config-changed"])


def test_a_lock_that_is_none_is_not_needed_to_compare_with_something_else(
    capsys: pytest.CaptureFixture[str], fixtures: Path, model: Path
) -> None:
    (model / "envdoctor.lock").write_text("format = 0\n", encoding="utf-8")
    assert run(capsys, "verify", str(model)).status == 2
    ran = run(capsys, "verify", str(model), "--against", str(fixtures / "chatglm3-6b"), "--format", "json")
    assert ran.status == 0
    assert [skip["why"] for skip in ran.json["skipped"]] == ["no lock: found format = 0"]
    assert run(capsys, "verify", str(model), "--against", str(fixtures), "--lock", str(model / "envdoctor.lock")).status == 2


def test_a_lock_is_written_anew(capsys: pytest.CaptureFixture[str], model: Path, stack: list[str]) -> None:
    run(capsys, "lock", str(model), *stack)
    (model / "config.json").write_bytes((model / "config.json").read_bytes().replace(b"8192", b"4096"))
    ran = run(capsys, "verify", str(model), "--format", "json")
    assert rules(ran) == ["snapshot-config-changed"]
    assert ran.json["findings"][0]["detail"] == "config.json: seq_length: 8192 -> 4096"
    run(capsys, "lock", str(model), *stack)
    assert run(capsys, "verify", str(model)).status == 0


def test_a_model_that_is_none_any_more_is_still_compared(capsys: pytest.CaptureFixture[str], model: Path, stack: list[str]) -> None:
    run(capsys, "lock", str(model), *stack)
    (model / "config.json").unlink()
    ran = run(capsys, "verify", str(model), "--format", "json")
    assert (ran.status, rules(ran)) == (1, ["snapshot-file-missing"])
    assert any("no facts of the model" in skip["why"] for skip in ran.json["skipped"])


def test_notes_alone_are_no_failure(capsys: pytest.CaptureFixture[str], model: Path, stack: list[str]) -> None:
    run(capsys, "lock", str(model), *stack)
    with (model / "modeling_chatglm.py").open("ab") as file:
        file.write(b"\n# a remark\n")
    write(model, {"further.dat": b"1"})
    ran = run(capsys, "verify", str(model), "--format", "json")
    assert (ran.status, sorted(rules(ran))) == (0, ["snapshot-file-extra", "snapshot-file-reformatted"])
    assert run(capsys, "verify", str(model), "--fail-on", "note").status == 1


# --- the hub's cache -----------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_ENDPOINT", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "hub"


def test_an_intact_snapshot_needs_no_lock_and_no_network(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    snapshot = hub_cache(cache, MODEL, listed=True)
    for name in (str(snapshot), "org/model"):
        ran = run(capsys, "verify", name, "--offline")
        assert (ran.status, ran.err) == (0, "")
        assert f"8 files are those of the hub cache of org/model at {COMMIT[:12]}" in " ".join(ran.out.split())
    before = {path: path.lstat().st_mtime_ns for path in cache.rglob("*")}
    (snapshot / "model.safetensors").write_bytes(b"x" * len(MODEL["model.safetensors"]))
    ran = run(capsys, "verify", "org/model", "--format", "json")
    assert (ran.status, rules(ran)) == (1, ["snapshot-blob-corrupt"])
    assert set(before) == set(cache.rglob("*"))


def test_a_lock_of_a_snapshot_in_the_cache_lies_elsewhere(
    capsys: pytest.CaptureFixture[str], cache: Path, tmp_path: Path, stack: list[str]
) -> None:
    hub_cache(cache, MODEL)
    before = sorted(cache.rglob("*"))
    ran = run(capsys, "lock", "org/model", *stack)
    assert ran.status == 2
    assert "nothing is ever written" in ran.err
    assert "--lock FILE" in ran.err
    lock = str(tmp_path / "my.lock")
    assert run(capsys, "lock", "org/model", *stack, "--lock", lock).status == 0
    text = Path(lock).read_text(encoding="utf-8")
    assert f'[model]\nid = "org/model"\nrevision = "{COMMIT}"\n' in text
    assert run(capsys, "verify", "org/model", "--lock", lock).status == 0
    assert sorted(cache.rglob("*")) == before
    assert run(capsys, "verify", "org/model", "--revision", "v2").status == 2


def test_an_incomplete_download(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    snapshot = hub_cache(cache, MODEL)
    (snapshot / "model.safetensors").resolve().unlink()
    ran = run(capsys, "verify", "org/model", "--format", "json")
    assert (ran.status, rules(ran)) == (1, ["snapshot-download-incomplete"])


# --- against the hub -----------------------------------------------------------------------------


def test_against_the_hub(capsys: pytest.CaptureFixture[str], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(path: str) -> Answer:
        asked.append(path.partition("?")[0])
        return 200, {"Content-Type": "application/json"}, listing({**MODEL, "modeling_x.py": b"newer"})

    hub_cache(cache, MODEL)
    with hub(answer) as endpoint:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        ran = run(capsys, "verify", "org/model", "--against", "hub", "--format", "json")
        assert (ran.status, rules(ran)) == (1, ["snapshot-code-changed"])
        directory = download(tmp_path / "there", MODEL)
        assert run(capsys, "verify", str(directory), "--against", "hub").err.startswith(
            "envdoctor: --against hub: found a directory that says"
        )
        assert run(capsys, "verify", str(directory), "--against", "hub", "--repo", "org/other", "--revision", "main").status == 1
    assert asked == [f"/api/models/org/model/revision/{COMMIT}", "/api/models/org/other/revision/main"]


def test_the_network_is_asked_only_where_it_is_named(
    capsys: pytest.CaptureFixture[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(path: str) -> Answer:
        asked.append(path)
        return 500, {}, b""

    hub_cache(cache, MODEL)
    with hub(answer) as endpoint:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        assert run(capsys, "verify", "org/model").status == 0
        ran = run(capsys, "verify", "org/model", "--against", "hub", "--offline")
        assert (ran.status, asked) == (2, [])
        assert "--offline" in ran.err
        ran = run(capsys, "verify", "org/model", "--against", "hub", "--format", "json")
    assert (ran.status, len(asked)) == (2, 1)
    assert ran.json["error"]["found"] == "HTTP status 500"


def test_public_revisions_are_recognised_on_both_sides(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blob id of chatglm3-6b's model file of February 2024, as the table of revisions has it."""
    february = {"rfilename": "modeling_chatglm.py", "size": 55883, "blobId": "1adc3125e3a61c73518a57383e2a8d7d6740c9ca"}
    body = json.dumps({"id": "zai-org/chatglm3-6b", "sha": COMMIT, "siblings": [february]}).encode()
    directory = write(tmp_path / "model", {"modeling_chatglm.py": b"pass\n"})
    with hub(lambda path: (200, {"Content-Type": "application/json"}, body)) as endpoint:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        ran = run(capsys, "verify", str(directory), "--against", "hub", "--repo", "zai-org/chatglm3-6b", "--format", "json")
    assert rules(ran) == ["snapshot-code-changed"]
    assert any(line.startswith("before: ") and "chatglm3-6b" in line for line in ran.json["recognised"])


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["verify", "absent"], "no model directory, and no such snapshot"),
        (["verify", "org/absent"], "no model directory, and no such snapshot"),
        (["verify", "file"], "a file"),
        (["verify", "empty"], "no envdoctor.lock, and nothing that a download wrote down"),
        (["verify", "empty", "--lock", "absent.lock"], "No such file or directory"),
        (["verify", "empty", "--lock", "file"], "no TOML"),
        (["verify", "empty", "--lock", "empty"], "a directory"),
        (["verify", "empty", "--against", "absent"], "No such file or directory"),
        (["lock", "empty"], "a directory that is no model: it has no config.json"),
        (["lock", "empty", "--lock", "absent/x.lock"], "no such directory"),
        (["lock", "empty", "--lock", "empty"], "a directory"),
        (["lock"], "the following arguments are required: MODEL"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    capsys: pytest.CaptureFixture[str], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], found: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("no lock", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ran = run(capsys, *words)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert f"found {found}" in ran.err
    assert sorted(os.listdir(tmp_path)) == ["empty", "file"]


def test_a_file_that_changes_while_it_is_locked_is_reported_and_nothing_written(
    capsys: pytest.CaptureFixture[str], model: Path, stack: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = digest.digest_file

    def meanwhile(path: str, **options: object) -> digest.Digest:
        if path.endswith("config.json"):
            with open(path, "ab") as file:
                file.write(b" ")
        return real(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "digest_file", meanwhile)
    ran = run(capsys, "lock", str(model), *stack)
    assert ran.status == 2
    assert ran.err.count("\n") == 2  # config.json and tokenizer_config.json
    assert f"{model / 'config.json'}: found" in ran.err
    assert "nothing was written" in ran.err
    assert not (model / "envdoctor.lock").exists()


def test_a_bar_is_for_terminals_only(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """On a pipe nothing is said, and nothing is loaded to say it."""
    code = (
        "import sys\nfrom envdoctor.cli.progress import hashing\n"
        "with hashing(10**12) as progress:\n    assert progress is None\nassert 'rich.progress' not in sys.modules\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_bar_on_a_terminal_has_rate_and_time_left() -> None:
    import pty

    master, slave = pty.openpty()
    code = "from envdoctor.cli.progress import hashing\nwith hashing(10**9) as progress:\n    progress(10**8); progress(4 * 10**8)\n"
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    ran = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=slave, check=False, env=environment)
    os.close(slave)
    parts = []
    with suppress(OSError):  # the end of what was written to a terminal that is gone; one reading may give a part of it
        while part := os.read(master, 65536):
            parts.append(part)
    shown = b"".join(parts).decode()
    os.close(master)
    assert (ran.returncode, ran.stdout) == (0, b"")
    assert "hashing" in shown


# --- the rules -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_every_finding_has_its_page(rule: str) -> None:
    page = shipped_rules() / "snapshot" / f"{rule}.toml"
    assert lint_file(page, release_texts, probes=frozenset(PROBES), checks=frozenset(RULES)) == []


def test_json_of_a_report_is_valid_for_names_that_no_terminal_shows(
    capsys: pytest.CaptureFixture[str], model: Path, stack: list[str]
) -> None:
    write(model, {"evil\x1b[2J.py": b"x = 1\n"})
    run(capsys, "lock", str(model), *stack)
    write(model, {"evil\x1b[2J.py": b"x = 2\n"})
    text = run(capsys, "verify", str(model))
    assert "\x1b" not in text.out
    (finding,) = json.loads(run(capsys, "verify", str(model), "--format", "json").out)["findings"]
    assert finding["rule"] == "snapshot-code-changed"


@pytest.mark.large
def test_a_header_too_dense_to_sum_up_is_locked_by_its_digest(capsys: pytest.CaptureFixture[str], fixtures: Path, tmp_path: Path) -> None:
    """200,000 tensors in 11 MB of header: found by scripts/fuzz_snapshots.py."""
    model = tmp_path / "model"
    shutil.copytree(fixtures / "qwen2.5-0.5b-instruct", model)
    header = json.dumps({f"t{n}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for n in range(200_000)}, separators=(",", ":"))
    (model / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header.encode())
    ran = run(capsys, "lock", str(model), "--set", "packages.torch=2.5.1", "--format", "json")
    assert ran.status == 0
    assert any("would take too much memory: a change is seen, not told" in skip["why"] for skip in ran.json["skipped"])
    assert run(capsys, "verify", str(model)).status == 0
