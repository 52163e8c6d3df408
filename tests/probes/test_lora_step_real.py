"""``lora-step`` in real environments: torch, transformers and peft installed and run on the CPU.

``ENVDOCTOR_PROBE_CACHE`` may name a directory in which the environments are kept between runs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.facts.versions import exact
from envdoctor.probes import lora_step
from envdoctor.probes.registry import PROBES, run_probe
from envdoctor.probes.runner import run_child
from envdoctor.probes.verdict import Verdict

pytestmark = pytest.mark.probe

BAD, GOOD = "0.11.1", "0.12.0"
STACK = ("torch==2.13.0", "transformers==4.46.3")
LORA: dict[str, FactValue] = {
    "plan.method": "lora",
    "plan.load_dtype": "float16",
    "plan.optimizer": "adamw_torch",
    "plan.optimizer_eps": 1e-8,
}


def uv() -> list[str]:
    if importlib.util.find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    program = shutil.which("uv")
    if program is None:
        pytest.fail("uv is needed to build the environments: install the dev extra")
    return [program]


def build(pins: tuple[str, ...], directory: Path) -> Path:
    """The interpreter of an environment with these pins; one that is there already is used again."""
    name = hashlib.sha256("\n".join((sys.version, *pins)).encode()).hexdigest()[:16]
    home = directory / name
    interpreter = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    finished = home / "finished"
    if not finished.exists():
        # uv has names of its own for what pip reads.
        links = os.environ.get("PIP_FIND_LINKS")
        environ = os.environ if links is None else {"UV_FIND_LINKS": ",".join(links.split()), **os.environ}
        shutil.rmtree(home, ignore_errors=True)
        for command in (
            ["venv", "--quiet", "--python", sys.executable, str(home)],
            ["pip", "install", "--quiet", "--python", str(interpreter), *pins],
        ):
            done = subprocess.run([*uv(), *command], env=environ, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        finished.touch()
    return interpreter


@pytest.fixture(scope="session")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    kept = os.environ.get("ENVDOCTOR_PROBE_CACHE")
    directory = Path(kept).expanduser().absolute() if kept else tmp_path_factory.mktemp("environments")
    return lambda peft: build((*STACK, f"peft=={peft}"), directory)


def examine(interpreter: Path, peft: str, stated: dict[str, FactValue]) -> Verdict:
    facts = {"packages.torch": exact("2.13.0"), "packages.transformers": exact("4.46.3"), "packages.peft": exact(peft), **stated}
    return run_probe("lora-step", interpreter, Facts().with_facts(Fact(name, value, Origin("test")) for name, value in facts.items()))


def test_a_bad_peft_is_confirmed(patient: Callable[[str], Path]) -> None:
    verdict = examine(patient(BAD), BAD, LORA)
    assert verdict.verdict == "confirmed", verdict
    assert (
        verdict.reason
        == "trainable parameters are float16; after step 1 with adamw_torch 8 of 8 trainable tensors are not finite and the loss is nan"
    )
    assert verdict.measured["trainable_dtypes"] == {"float16": 8}
    assert verdict.measured["nonfinite_trainable"] == [8, 8]
    losses = verdict.measured["losses"]
    assert isinstance(losses, list)
    assert 4 < losses[0] < 6
    assert losses[1:] == ["nan", "nan"]


def test_a_good_peft_is_refuted_and_twice_the_same(patient: Callable[[str], Path]) -> None:
    first, second = (examine(patient(GOOD), GOOD, LORA) for _ in range(2))
    assert first.verdict == "refuted", first
    assert first.reason == "trainable parameters are float32; losses and trainable parameters stay finite through 2 steps with adamw_torch"
    assert first.measured["trainable_dtypes"] == {"float32": 8}
    assert first.measured["nonfinite_trainable"] == [0, 0]
    assert first.measured["nonzero_gradients"] == [4, 8]
    losses = first.measured["losses"]
    assert isinstance(losses, list)
    assert 6 > losses[0] > losses[1] > losses[2] > 4
    assert second.measured == first.measured


CASES: list[tuple[str, dict[str, FactValue], str, str]] = [
    (
        BAD,
        {"plan.fp16": True},
        "confirmed",
        "trainable parameters are float16; the gradient scaler refuses them: Attempting to unscale FP16 gradients.",
    ),
    (GOOD, {"plan.fp16": True}, "refuted", "trainable parameters are float32; "),
    (GOOD, {"plan.autocast_adapter_dtype": False}, "confirmed", "trainable parameters are float16; after step 1 "),
    (
        BAD,
        {"plan.autocast_adapter_dtype": False},
        "inconclusive",
        "TypeError while applying the adapter: get_peft_model() got an unexpected keyword argument 'autocast_adapter_dtype'",
    ),
    (GOOD, {"plan.modules_to_save": ("lm_head",)}, "confirmed", "trainable parameters are float16 and float32; after step 1 "),
    (GOOD, {"plan.modules_to_save": ("embed_tokens",)}, "confirmed", "trainable parameters are float16 and float32; after step 1 "),
    (BAD, {"plan.optimizer_eps": 1e-6}, "refuted", "trainable parameters are float16; losses and trainable parameters stay finite"),
    (
        BAD,
        {"plan.optimizer": "adamw_torch_fused"},
        "refuted",
        "trainable parameters are float16; losses and trainable parameters stay finite",
    ),
    (BAD, {"plan.optimizer": "adafactor"}, "refuted", "trainable parameters are float16; losses and trainable parameters stay finite"),
    (BAD, {"plan.optimizer": "sgd"}, "refuted", "trainable parameters are float16; losses and trainable parameters stay finite"),
    (BAD, {"plan.load_dtype": "bfloat16"}, "refuted", "trainable parameters are bfloat16; losses and trainable parameters stay finite"),
    (BAD, {"plan.load_dtype": "float32"}, "refuted", "trainable parameters are float32; losses and trainable parameters stay finite"),
    (BAD, {"plan.method": "rslora"}, "confirmed", "trainable parameters are float16; after step 1 "),
    (BAD, {"plan.method": "dora"}, "confirmed", "trainable parameters are float16; after step 1 "),
    (GOOD, {"plan.method": "dora"}, "refuted", "trainable parameters are float32; "),
]


@pytest.mark.parametrize(
    ("peft", "changed", "ruling", "reason"), CASES, ids=[f"{peft}-{'-'.join(map(str, changed.values()))}" for peft, changed, *_ in CASES]
)
def test_what_the_plan_changes(patient: Callable[[str], Path], peft: str, changed: dict[str, FactValue], ruling: str, reason: str) -> None:
    verdict = examine(patient(peft), peft, {**LORA, **changed})
    assert verdict.verdict == ruling, verdict
    assert verdict.reason.startswith(reason), verdict


def test_the_default_optimizer_is_the_trainers(patient: Callable[[str], Path]) -> None:
    verdict = examine(patient(BAD), BAD, {"plan.method": "lora", "plan.load_dtype": "float16"})
    assert (verdict.verdict, verdict.measured["optimizer"]) == ("confirmed", "adamw_torch")


def test_a_dtype_without_kernels_on_the_cpu_is_inconclusive(patient: Callable[[str], Path]) -> None:
    """No release of torch that runs here lacks the float16 kernels; those of float8 are lacking in the same words."""
    params = {**PARAMETERS, "dtype": "float8_e4m3fn"}
    probe = PROBES["lora-step"]
    outcome = run_child(patient(BAD), probe.script, params, timeout=probe.timeout, memory_bytes=probe.memory_bytes)
    assert outcome.measured is not None, outcome
    ruling, reason = lora_step.judge(outcome.measured, params)
    assert ruling == "inconclusive"
    assert reason.startswith("not testable on this CPU (forward: ")
    assert "not implemented for 'Float8_e4m3fn'" in reason
    assert "); trainable parameters are float8_e4m3fn" in reason


_parameters = lora_step.parameters(Facts())
assert not isinstance(_parameters, str)
PARAMETERS = _parameters


@pytest.mark.parametrize(("peft", "status", "verdict"), [(BAD, "confirmed", "confirmed"), (GOOD, None, "refuted")])
def test_check_joins_the_verdict_to_the_finding(
    patient: Callable[[str], Path], fixtures: Path, capsys: pytest.CaptureFixture[str], peft: str, status: str | None, verdict: str
) -> None:
    """The main job in a real environment: the installed stack, a snapshot, a plan, and the probe."""
    from tests.cli.run import run

    model, plan = str(fixtures / "chatglm3-6b"), str(fixtures / "plans" / "chatglm3-lora.yaml")
    prefix = patient(peft).parent.parent
    report = run(capsys, "check", model, plan, "--python", str(prefix), "--probe", "all", "--format", "json").json
    found = {finding["rule"]: finding for finding in report["findings"]}
    assert report["probes"][0]["verdict"] == verdict
    if status is None:
        assert "peft-fp16-adapter-nan" not in found
    else:
        assert found["peft-fp16-adapter-nan"]["status"] == status
        assert found["peft-fp16-adapter-nan"]["probe"]["measured"]["trainable_dtypes"] == {"float16": 8}
