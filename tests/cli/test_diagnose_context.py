"""diagnose beside a model, a plan and files; the environment of the traceback; and the block that `report` prints."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import Ran, run

ROOT = Path(__file__).parent.parent.parent
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 14.53 GiB of which "
    "85.94 MiB is free. Including non-PyTorch memory, this process has 14.44 GiB memory in use. Of the allocated memory 14.05 GiB "
    "is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.\n"
)
IMPORT = """\
Traceback (most recent call last):
  File "{prefix}/lib/python3.{minor}/site-packages/peft/auto.py", line 2, in <module>
    from transformers import EncoderDecoderCache
ImportError: cannot import name 'EncoderDecoderCache' from 'transformers' ({prefix}/lib/python3.{minor}/site-packages/transformers/x.py)
"""


@pytest.fixture
def diagnose(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    monkeypatch.setenv("PATH", str(tmp_path))

    def ask(log: str, *words: str) -> Ran:
        file = tmp_path / "train.log"
        file.write_text(log, encoding="utf-8")
        return run(capsys, "diagnose", str(file), *words)

    return ask


def test_out_of_memory_with_model_and_plan_is_computed(diagnose: Callable[..., Ran]) -> None:
    model = str(ROOT / "fixtures" / "llama-2-7b-hf")
    ran = diagnose(OOM, model, "--set", "plan.method=full", "--set", "plan.batch_size=4")
    assert "fit of this plan: " in ran.out
    assert "14.5 GiB usable" in " ".join(ran.out.split())
    assert "fit of this plan" not in diagnose(OOM).out


def test_requirements_beside_a_log_state_versions(diagnose: Callable[..., Ran], tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("peft==0.14.0\ntransformers==4.42.0\n", encoding="utf-8")
    ran = diagnose(IMPORT.format(prefix="/nowhere", minor=10), str(requirements), "--format", "json")
    assert ran.json["findings"][0]["rule"] == "peft-encoder-decoder-cache-import"
    assert ran.json["findings"][0]["status"] == "matched"


@pytest.mark.parametrize(("line", "read"), [("from transformers import EncoderDecoderCache", True), ("import os", False)])
def test_the_environment_of_the_traceback_is_read_where_its_lines_still_stand(
    diagnose: Callable[..., Ran], tmp_path: Path, line: str, *, read: bool
) -> None:
    prefix = tmp_path / "venv"
    packages = prefix / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    (packages / "peft").mkdir(parents=True)
    (packages / "peft" / "auto.py").write_text(f"import sys\n{line}\n", encoding="utf-8")
    for name, version in (("peft", "0.14.0"), ("transformers", "4.42.0"), ("torch", "2.3.1")):
        (packages / f"{name}-{version}.dist-info").mkdir()
        (packages / f"{name}-{version}.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(sys.executable)
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.10.14\n")
    ran = diagnose(IMPORT.format(prefix=prefix, minor=sys.version_info[1]), "--format", "json")
    assert ("packages.peft" in ran.json["facts"]) is read
    if read:
        assert ran.json["facts"]["packages.peft"]["value"] == "0.14.0"


def test_on_a_terminal_it_says_that_it_waits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(b"all is well\n")))
    assert "paste the log" in run(capsys, "diagnose").err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"all is well\n")))
    assert run(capsys, "diagnose").err == ""


def test_the_block_for_an_issue_has_versions_and_findings_and_no_secret(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HF_TOKEN", "plain-but-secret")
    monkeypatch.setenv("USER", "mallory")
    facts = tmp_path / "facts.toml"
    facts.write_text(
        'python = "3.10"\n[packages]\npeft = "0.14.0"\ntransformers = "4.42.0"\nacme-private = "1.0"\n'
        '[model]\nid = "/home/mallory/models/x"\ntype = "llama"\n[plan]\nmethod = "lora"\n',
        encoding="utf-8",
    )
    log = tmp_path / "train.log"
    log.write_text(IMPORT.format(prefix="/home/mallory/venv", minor=10) + "token is plain-but-secret\n", encoding="utf-8")
    ran = run(capsys, "report", "--log", str(log), "--facts", str(facts))
    assert ran.status == 0
    for wanted in (
        "peft==0.14.0",
        "transformers==4.42.0",
        "1 other package",
        "- plan: method = lora",
        "peft-encoder-decoder-cache-import",
        "a local model",
    ):
        assert wanted in ran.out
    for secret in ("mallory", "plain-but-secret", "acme", "/home", str(tmp_path)):
        assert secret not in ran.out
    alone = run(capsys, "report", "--facts", str(facts)).out
    assert "peft==0.14.0" in alone
    assert "mallory" not in alone
