"""``tokenizer`` in real environments: transformers before and after 4.34 and 4.45, no torch."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from envdoctor.probes import tokenizer
from envdoctor.probes.runner import run_child
from envdoctor.probes.verdict import Ruling
from tests.probes.test_lora_step_real import build

pytestmark = pytest.mark.probe

SNAPSHOTS = Path(__file__).parents[2] / "scripts" / "probe_pairs" / "snapshots"


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    kept = os.environ.get("ENVDOCTOR_PROBE_CACHE")
    directory = Path(kept).expanduser().absolute() if kept else tmp_path_factory.mktemp("environments")
    return lambda release: build((f"transformers=={release}", "numpy<2", "jinja2"), directory)


def examine(interpreter: Path, snapshot: Path, *, trust: bool, chat: bool = False) -> tuple[Ruling, str]:
    params = {"path": str(snapshot), "trust": trust, "suspects": [], "chat_model": chat}
    probe = tokenizer.PROBE
    outcome = run_child(interpreter, probe.script, params, timeout=probe.timeout, memory_bytes=probe.memory_bytes)
    assert outcome.measured is not None, outcome
    return tokenizer.judge(outcome.measured, params)


LEFT = "LettersTokenizer loads, encodes and pads on the left only; text comes back"
BOTH = "PreTrainedTokenizerFast loads, encodes and pads on both sides; text comes back"
NOT_YET = "the base constructor of this transformers asks for what the snapshot's class sets only after it"
SIDE = "LettersTokenizer._pad() got an unexpected keyword argument 'padding_side'"
UNREAD = "data did not match any variant of untagged enum ModelWrapper at line 81 column 2"


@pytest.mark.parametrize(
    ("release", "snapshot", "ruling", "reason"),
    [
        ("4.33.3", "attribute-after-super", "refuted", LEFT),
        (
            "4.34.1",
            "attribute-after-super",
            "confirmed",
            f"loading failed: AttributeError: 'LettersTokenizer' object has no attribute 'table': {NOT_YET}",
        ),
        ("4.44.2", "pad-without-side", "refuted", LEFT),
        (
            "4.45.2",
            "pad-without-side",
            "confirmed",
            f"encoding failed: TypeError: {SIDE}: its _pad does not take padding_side, which this transformers hands to it",
        ),
        (
            "4.44.2",
            "merges-as-pairs",
            "confirmed",
            f"loading failed: Exception: {UNREAD}: the installed tokenizers cannot read this tokenizer.json",
        ),
        ("4.45.2", "merges-as-pairs", "refuted", BOTH),
    ],
)
def test_both_sides_of_a_release(patient: Callable[[str], Path], release: str, snapshot: str, ruling: Ruling, reason: str) -> None:
    assert examine(patient(release), SNAPSHOTS / snapshot, trust=True) == (ruling, reason)


def test_without_consent_the_snapshots_code_is_not_run(patient: Callable[[str], Path], tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    for name in ("tokenizer_config.json", "vocabulary.json", "config.json"):
        (snapshot / name).write_bytes((SNAPSHOTS / "pad-without-side" / name).read_bytes())
    ran = tmp_path / "ran"
    (snapshot / "tokenization_letters.py").write_text(f"open({str(ran)!r}, 'w')\n")
    assert examine(patient("4.44.2"), snapshot, trust=False) == (
        "inconclusive",
        "the tokenizer is code of the snapshot's own, which is run only with --trust-remote-code",
    )
    assert not ran.exists()
    examine(patient("4.44.2"), snapshot, trust=True)
    assert ran.exists()


def test_a_healthy_snapshot_speaks_its_template(patient: Callable[[str], Path], fixtures: Path) -> None:
    assert examine(patient("4.45.2"), fixtures / "qwen2.5-0.5b-instruct", trust=False, chat=True) == (
        "refuted",
        "Qwen2TokenizerFast loads, encodes and pads on both sides; text comes back; 2 markers of the chat template are one id each;"
        " an answer ends with a token that stops generation",
    )
