"""Probes by name, and how a child's outcome becomes a verdict."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import ABSENT, PackageValue, parse_package
from envdoctor.probes.probe import Probe
from envdoctor.probes.registry import PROBES, about, probe_named, run_probe
from envdoctor.probes.verdict import Ruling, Verdict
from tests.probes.anything import like

posix_only = pytest.mark.skipif(os.name == "nt", reason="exit statuses are those of POSIX")
MEASURED = {
    "versions": {"python": "3.11.7", "torch": "2.13.0+cpu", "peft": "0.11.1"},
    "trainable_dtypes": {"float16": 8},
    "optimizer": "adamw_torch",
    "losses": [4.8, "nan", "nan"],
    "nonfinite_trainable": [8, 8],
    "nonzero_gradients": [4, 8],
    "skipped_steps": 0,
    "error": None,
}


def facts(**values: str | PackageValue) -> Facts:
    return Facts().with_facts(Fact(name.replace("_", "."), value, Origin("test")) for name, value in values.items())


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``lora-step`` with a script that reports MEASURED at once."""
    script = tmp_path / "script.py"
    script.write_text(f"def run(params, stage):\n    return {MEASURED!r}\n")
    monkeypatch.setitem(PROBES, "lora-step", dataclasses.replace(PROBES["lora-step"], script=script))
    return script


@pytest.mark.parametrize("probe", PROBES.values(), ids=lambda probe: probe.name)
def test_every_probe_has_its_child_and_a_bound(probe: Probe) -> None:
    assert PROBES[probe.name] is probe
    assert "def run(params" in probe.script.read_text(encoding="utf-8")
    assert 0 < probe.timeout <= 600
    assert probe.memory_bytes >= 1 << 30
    assert probe.shows
    assert probe.cost
    assert probe.needs


def test_a_name_that_is_none() -> None:
    with pytest.raises(EnvdoctorError, match=r"probe: found 'lora_step'; expected one of bf16-support, .*lora-step, .*; next: ") as caught:
        probe_named("lora_step")
    assert caught.value.place == "probe"


def test_a_plan_that_cannot_be_tested_starts_nothing() -> None:
    verdict = run_probe("lora-step", Path("/nowhere/python"), facts(plan_method="full"))
    assert verdict == Verdict("lora-step", "inconclusive", "plan.method is full: no LoRA adapter is trained")


def test_a_stated_situation_has_no_interpreter() -> None:
    verdict = run_probe("lora-step", None, facts())
    assert (verdict.verdict, verdict.reason) == ("inconclusive", "no interpreter to run it in: the packages are stated, not installed")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')", "no module named torch"),
        (
            "raise ImportError('libcudart.so.12: cannot open shared object file')",
            "import failed while importing torch: libcudart.so.12: cannot open shared object file",
        ),
        ("import numpy_missing", "no module named numpy_missing while importing torch"),
        ("import os; os.abort()", "killed by signal 6 (abort) while importing torch"),
        ("__version__ = '2.13.0'", "no module named transformers"),
    ],
)
@posix_only
def test_a_patient_whose_torch_does_not_import(tmp_path: Path, source: str, reason: str) -> None:
    (tmp_path / "torch.py").write_text(source)
    (tmp_path / "transformers.py").write_text("raise ModuleNotFoundError(\"No module named 'transformers'\", name='transformers')")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    verdict = run_probe("lora-step", Path(sys.executable), facts(), environ=environ)
    assert (verdict.verdict, verdict.reason, verdict.measured) == ("inconclusive", reason, {})
    assert verdict.seconds > 0


@posix_only
def test_a_measurement_is_judged(stand_in: Path) -> None:
    verdict = run_probe("lora-step", Path(sys.executable), facts(plan_method="lora"))
    assert verdict.verdict == "confirmed"
    assert verdict.reason.startswith(
        "trainable parameters are float16; after step 1 with adamw_torch 8 of 8 trainable tensors are not finite"
    )
    assert verdict.reason.endswith(" (assumed: a float16 base)")
    assert verdict.measured == MEASURED


@pytest.mark.parametrize(
    ("stated", "other"),
    [
        ("0.11.1", None),
        ("0.11.1.0", None),
        (">=0.7,<0.12", None),
        ("0.12.0", "the interpreter has peft 0.11.1, the situation states 0.12.0"),
        (">=0.12", "the interpreter has peft 0.11.1, the situation states >=0.12"),
        ("0.11.1.dev0", "the interpreter has peft 0.11.1, the situation states 0.11.1.dev0"),
        (None, "the interpreter has peft 0.11.1, the situation states not installed"),
    ],
)
@posix_only
def test_a_verdict_is_only_about_the_stack_stated(stand_in: Path, stated: str | None, other: str | None) -> None:
    situation = facts(packages_peft=ABSENT if stated is None else parse_package(stated), packages_torch=parse_package("2.13.0+cu126"))
    verdict = run_probe("lora-step", Path(sys.executable), situation)
    assert verdict.verdict == ("confirmed" if other is None else "inconclusive")
    assert other in (None, verdict.reason)
    assert verdict.measured == MEASURED


@posix_only
def test_versions_that_are_none_decide_nothing(stand_in: Path) -> None:
    stand_in.write_text(f"def run(params, stage):\n    return {MEASURED | {'versions': {'peft': 'local build'}}!r}\n")
    assert run_probe("lora-step", Path(sys.executable), facts()).verdict == "confirmed"
    assert run_probe("lora-step", Path(sys.executable), facts(packages_peft=parse_package("0.11.1"))).verdict == "inconclusive"


def test_the_list_of_probes_costs_no_machinery() -> None:
    code = "import sys, envdoctor.probes.registry; print([m for m in ('envdoctor.probes.runner', 'tempfile', 'torch') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def verdict(probe: str, ruling: Ruling, **measured: object) -> Verdict:
    return Verdict(probe, ruling, "as seen", measured)


def test_a_step_that_failed_for_another_reason_confirms_no_rule() -> None:
    """``same-architecture`` stops at the first error, whichever that is."""
    failed = verdict("same-architecture", "confirmed", error={"message": "'ChatGLMConfig' object has no attribute 'max_length'"})
    assert about(failed, ("transformers",), ["has no attribute 'max_length'"]) == failed
    other = about(failed, ("transformers",), ["standardize_cache_format"])
    assert (other.verdict, other.reason) == ("inconclusive", "another fault was met first: as seen")


def test_a_broken_extension_says_nothing_of_another() -> None:
    broken = {"state": "failed", "version": "2.8.0", "error": "ImportError: undefined symbol: _ZN3c10", "fault": "undefined symbol"}
    seen = verdict("extension-import", "confirmed", extensions={"flash-attn": broken})
    assert about(seen, ("torchvision", "torch"), []).verdict == "inconclusive"


@pytest.mark.parametrize("ruling", ["confirmed", "refuted", "inconclusive"])
def test_other_probes_are_about_every_rule_that_names_them(ruling: Ruling) -> None:
    assert about(verdict("lora-step", ruling), ("peft",), []) == verdict("lora-step", ruling)


NOT_ON = {"saved_bytes": [1000, 1000], "moved": [8, 8], "error": None}
CUT_OFF = {"error": {"during": "a step with checkpointing: backward", "message": "element 0 of tensors does not require grad and more"}}
CUT_OFF_IN_SILENCE = {"saved_bytes": [1000, 200], "moved": [8, 2], "error": None}
CUTS = ("element 0 of tensors does not require grad and does not have a grad_fn",)


@pytest.mark.parametrize(
    ("measured", "symptoms", "ruling"),
    [
        (NOT_ON, CUTS, "inconclusive"),
        (NOT_ON, ("CUDA out of memory",), "confirmed"),
        (NOT_ON, (), "confirmed"),
        (CUT_OFF, CUTS, "confirmed"),
        (CUT_OFF, (), "inconclusive"),
        (CUT_OFF_IN_SILENCE, CUTS, "confirmed"),
        (CUT_OFF_IN_SILENCE, ("CUDA out of memory",), "inconclusive"),
        ({"error": {"message": "got an unexpected keyword argument 'enable'"}}, ("CUDA out of memory",), "inconclusive"),
        ({"error": {"message": "got an unexpected keyword argument 'enable'"}}, ("unexpected keyword argument 'enable'",), "confirmed"),
    ],
)
def test_checkpointing_that_is_not_on_cuts_nothing_off(measured: dict[str, object], symptoms: tuple[str, ...], ruling: Ruling) -> None:
    assert about(verdict("checkpointing", "confirmed", **measured), (), symptoms).verdict == ruling
    healthy = verdict("checkpointing", "refuted", **measured)
    assert about(healthy, (), symptoms) == healthy


PADDING = ("_pad() got an unexpected keyword argument 'padding_side'",)
CONSTRUCTED = ("'ChatGLMTokenizer' object has no attribute 'sp_tokenizer'",)
UNREAD = ("data did not match any variant of untagged enum ModelWrapper",)
NOT_CONSTRUCTED = {
    "failures": [
        {
            "during": "loading",
            "type": "TypeError",
            "message": "'property' object cannot be interpreted as an integer",
            "in_base_constructor": True,
        }
    ]
}
NOT_PADDED = {"class": "T", "failures": [{"during": "encoding", "type": "TypeError", "message": "T." + PADDING[0]}]}
NOT_STOPPED = {"class": "T", "failures": [], "padding": {"left": "left", "right": "right"}}


@pytest.mark.parametrize(
    ("measured", "symptoms", "ruling"),
    [
        (NOT_CONSTRUCTED, CONSTRUCTED, "confirmed"),
        (NOT_CONSTRUCTED, PADDING, "inconclusive"),
        (NOT_CONSTRUCTED, UNREAD, "inconclusive"),
        (NOT_PADDED, PADDING, "confirmed"),
        (NOT_PADDED, CONSTRUCTED, "inconclusive"),
        (NOT_STOPPED, PADDING, "refuted"),
        (NOT_STOPPED, UNREAD, "refuted"),
        ({**NOT_STOPPED, "padding": {"left": "neither"}}, PADDING, "inconclusive"),
        ({**NOT_STOPPED, "class": None}, UNREAD, "inconclusive"),
        (NOT_STOPPED, ("the answer never stops",), "confirmed"),
        (NOT_STOPPED, (), "confirmed"),
    ],
)
def test_a_tokenizer_has_the_fault_of_its_own_crash_only(measured: dict[str, object], symptoms: tuple[str, ...], ruling: Ruling) -> None:
    assert about(verdict("tokenizer", "confirmed", **measured), (), symptoms).verdict == ruling


SHARED = ("Some tensors share memory, this will lead to duplicate memory on disk",)


@pytest.mark.parametrize(
    ("found", "measured", "symptoms", "ruling"),
    [
        ("confirmed", {"error": {"message": SHARED[0]}}, SHARED, "confirmed"),
        ("confirmed", {"error": {"message": "No space left"}}, SHARED, "inconclusive"),
        ("confirmed", {"error": None, "saved_elements": 0}, SHARED, "inconclusive"),
        ("confirmed", {"error": None, "saved_elements": 0}, ("size mismatch",), "confirmed"),
        ("refuted", {"error": None, "biases_and_head": False}, SHARED, "inconclusive"),
        ("refuted", {"error": None, "biases_and_head": True}, SHARED, "refuted"),
        ("refuted", {"error": None, "biases_and_head": False}, (), "refuted"),
    ],
)
def test_an_adapter_saved_empty_is_not_one_of_shared_tensors(
    found: Ruling, measured: dict[str, object], symptoms: tuple[str, ...], ruling: Ruling
) -> None:
    assert about(verdict("save-load", found, **measured), (), symptoms).verdict == ruling


def test_a_type_error_is_found_by_its_type() -> None:
    failed = verdict("same-architecture", "confirmed", error={"type": "KeyError", "message": "'glm4'"})
    assert about(failed, (), ["KeyError: 'glm4'"]) == failed


SEEN = {
    "error": {"during": "a step", "type": "RuntimeError", "message": CUTS[0]},
    "moved": [8, 2],
    "saved_bytes": [10, 2],
    "biases_and_head": True,
    "extensions": {"torchvision": {"stage": "done", "status": 0}},
    "failures": [{"during": "loading", "type": "TypeError", "message": PADDING[0], "in_base_constructor": True}],
    "padding": {"left": "left", "right": "right"},
    "class": "T",
}


@given(
    st.sampled_from(sorted(PROBES)),
    st.sampled_from(["confirmed", "refuted", "inconclusive"]),
    like(SEEN),
    st.lists(st.sampled_from([*CUTS, *PADDING, *CONSTRUCTED, *UNREAD, *SHARED, "", "other"])),
)
def test_no_measurement_upsets_what_a_verdict_is_about(
    probe: str, ruling: Ruling, measured: dict[str, object], symptoms: list[str]
) -> None:
    found = about(Verdict(probe, ruling, "seen", measured), ["torch"], symptoms)
    assert found.probe == probe
    assert ruling != "inconclusive" or found.verdict == ruling
