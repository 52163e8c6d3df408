import pytest

from envdoctor.checks.hardware import (
    CHECKS,
    bf16_on_a_gpu_without_it,
    cpu_torch_beside_a_gpu,
    nvidia_driver_older_than_torch_cuda,
    torch_wheel_lacks_gpu_kernels,
)
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import exact
from envdoctor.sources.machine.hardware import derive_gpu


def situation(torch: object = None, gpu: str | None = None, transformers: object = None, **stated: object) -> Facts:
    """Facts as a person states them; a known GPU's name tells the rest."""
    raw = {"packages.torch": torch, "packages.transformers": transformers, "gpu.name": gpu}
    raw |= {name.replace("__", "."): value for name, value in stated.items()}
    facts = Facts().with_facts(Fact(name, parse_value(name, value), Origin("test")) for name, value in raw.items() if value is not None)
    known = derive_gpu(gpu, Origin("test")) if gpu else ()
    return facts.with_facts(fact for fact in known if fact.name not in facts)


def outcomes(hits: tuple[Hit, ...]) -> list[tuple[bool | None, tuple[str, ...]]]:
    return [(hit.outcome, hit.missing) for hit in hits]


def test_a_p100_under_the_cuda_12_8_build() -> None:
    facts = situation("2.8.0+cu128", "NVIDIA Tesla P100 16GB", os="linux", cuda="12.8")
    assert torch_wheel_lacks_gpu_kernels(facts) == (
        Hit(
            rule="torch-wheel-lacks-gpu-kernels",
            outcome=True,
            because=(
                ("packages.torch", "cu128: compiled for sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"),
                ("gpu.compute_capability", "6.0, which none of these serves"),
            ),
            missing=(),
            detail="torch 2.8.0+cu128 (cu128) is compiled for sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120; "
            "NVIDIA Tesla P100 16GB has compute capability 6.0, which none of these serves",
            packages=("torch",),
            pins=(("torch", "==2.8.0+cu126"), ("torch", "<2.8")),
        ),
    )


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (situation("2.5.1", "RTX 5090"), [(True, ())]),  # no build of 2.5 has it
        (situation("2.8.0", "RTX 5090", os="linux"), []),
        (situation("2.7", "NVIDIA RTX PRO 6000 Blackwell", cuda="12.8"), []),
        (situation("2.11.0", "V100", os="linux"), [(True, ())]),
        (situation("2.11.0", "V100"), [(None, ("cuda",))]),
        (situation("2.11.0", "V100", cuda="12.6"), []),
        (situation("2.11.0", "V100", cuda="12.2"), []),  # no build of 2.11: a toolkit, which decides nothing
        (situation("2.11.0", "V100", os="windows"), []),
        (situation("2.10.0", "V100", os="linux"), []),
        (situation("2.0.0", "RTX 4090", os="linux"), []),
        (situation(None, "RTX 5090", cuda="12.1"), [(None, ("packages.torch",))]),
        (situation(None, "Tesla P100", cuda="12.8"), [(None, ("packages.torch",))]),
        (situation(None, "V100", cuda="12.8"), []),
        (situation(None, "RTX 5090"), []),
        (situation(False, "RTX 5090", cuda="12.1"), []),
        (situation(">=2.0", "RTX 5090"), []),
        (situation("2.5.1", "some GPU"), []),
        (situation("2.5.1", "AMD MI50 (gfx906)"), []),
        (situation("2.5.1", "RTX 5090", accelerator="cpu"), []),
        (situation("2.5.1", "RTX 5090", gpu__count=0), []),
        (situation("2.3.0+cu999", "RTX 5090"), []),
        (situation("2.5.0a0+872d972e41.nv24.8", "Jetson Orin NX", os="linux"), []),
        (situation("2.8.0", "Jetson AGX Orin", os="linux"), []),  # a Jetson wheel may have no label
        (situation("2.11.0+cu126", "Jetson AGX Orin", machine="aarch64"), [(True, ())]),
        (situation("2.5.1", gpu__compute_capability="twelve"), []),
        (situation(gpu__compute_capability="12.0"), []),
    ],
)
def test_kernels_of_the_wheel(facts: Facts, found: list[tuple[bool | None, tuple[str, ...]]]) -> None:
    assert outcomes(torch_wheel_lacks_gpu_kernels(facts)) == found


@pytest.mark.parametrize(
    ("facts", "pins"),
    [
        (situation("2.7.0", "RTX 5090", os="linux"), [("torch", "==2.7.0+cu128"), ("torch", ">=2.8")]),
        (situation("2.5.1", "RTX 5090", os="linux"), [("torch", ">=2.8")]),
        (situation("2.5.1", "RTX 5090", os="linux", driver="535.104.05"), [("torch", ">=2.8,<2.11")]),
        (situation("2.5.1+cu121", "RTX 5090", os="windows"), []),
        (situation("2.0.0", "H100", os="linux"), [("torch", "==2.0.0+cu118"), ("torch", ">=2.1")]),
        (situation("1.10.1", "A100", os="linux"), [("torch", "==1.10.1+cu111"), ("torch", ">=1.13")]),
        (situation("2.15.0", "GTX 1080", os="linux"), [("torch", "<2.8")]),
        (situation("2.4.0", "Tesla K80", os="linux"), [("torch", "==2.4.0+cu118"), ("torch", "<2.1")]),
        (situation(None, "RTX 5090", cuda="12.1"), [("torch", ">=2.8")]),
        (situation(None, "Tesla P100", cuda="12.8"), [("torch", "<2.8")]),
        (situation(None, "V100", cuda="13.0", driver="470.182.03"), [("torch", "<2.1")]),
    ],
)
def test_the_cure_is_the_same_release_for_another_cuda_then_the_nearest_release(facts: Facts, pins: list[tuple[str, str]]) -> None:
    (hit,) = torch_wheel_lacks_gpu_kernels(facts)
    assert list(hit.pins) == pins


def test_following_an_exact_cure_clears_the_finding() -> None:
    for torch, gpu in (
        ("1.12.1", "RTX 3090"),
        ("2.7.0", "RTX 5090"),
        ("2.0.0", "H100"),
        ("2.8.0+cu128", "P100"),
        ("2.11.0", "V100"),
        ("2.13.0+cpu", "RTX 4090"),
    ):
        facts = situation(torch, gpu, os="linux")
        hits = [hit for check in CHECKS for hit in check(facts)]
        assert len(hits) == 1
        pin = next(spec for _, spec in hits[0].pins if spec.startswith("=="))
        cured = facts.with_facts([Fact("packages.torch", exact(pin.removeprefix("==")), Origin("cure"))])
        assert [hit for check in CHECKS for hit in check(cured)] == []


def test_a_driver_of_cuda_11_under_torch_for_cuda_12() -> None:
    (hit,) = nvidia_driver_older_than_torch_cuda(situation("2.1.0", os="linux", driver="470.182.03"))
    assert hit == Hit(
        rule="nvidia-driver-older-than-torch-cuda",
        outcome=True,
        because=(("driver", "older than 525.60.13, the oldest for CUDA 12.1"), ("packages.torch", "built for CUDA 12.1")),
        detail="torch 2.1.0 is built for CUDA 12.1, which needs driver 525.60.13 or later; the driver is 470.182.03",
        packages=("torch",),
        pins=(("torch", "==2.1.0+cu118"), ("torch", "<2.1")),
    )


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (situation("2.11.0", os="linux", driver="570.124.06"), [(True, ())]),
        (situation("2.11.0+cu126", os="linux", driver="570.124.06"), []),
        (situation("2.11.0+cu130", driver="570.124.06"), [(True, ())]),
        (situation("2.11.0", driver="570.124.06"), [(None, ("os", "cuda"))]),
        (situation("2.11.0", driver="570.124.06", os="windows"), []),
        (situation("2.11.0", driver="570.124.06", cuda="12.8"), []),
        (situation("2.11.0", os="linux", driver="580.65.06"), []),
        (situation("2.10.0", os="linux", driver="535.104.05"), []),
        (situation("2.13.0+cpu", os="linux", driver="470.182.03"), []),
        (situation("2.9.1+rocm6.3", os="linux", driver="470.182.03"), []),
        (situation("2.4.1+cu124", "RTX 4090", os="Windows 11", driver="561.17", cuda="12.4"), []),
        (situation("2.4.1+cu124", driver="526.50"), []),  # enough on Linux, not on Windows
        (situation("2.4.1+cu124", driver="526.50", os="windows"), [(True, ())]),
        (situation("2.11.0", os="linux"), []),
        (situation(None, os="linux", driver="470.182.03"), []),
        (situation("2.11.0", os="linux", driver="CUDA 11.0 level"), [(True, ())]),
        (situation("2.4.1", os="linux", driver="CUDA 12.2"), []),
        (situation(None, driver="CUDA 11.0 level", cuda="12.1"), [(None, ("packages.torch",))]),
        (situation(None, driver="535.104.05", cuda="12.8"), []),
        (situation(False, driver="470.182.03", cuda="12.8"), []),
        (situation("2.11.0", "AMD MI300X", os="linux", driver="470.182.03"), []),
    ],
)
def test_driver_and_cuda(facts: Facts, found: list[tuple[bool | None, tuple[str, ...]]]) -> None:
    assert outcomes(nvidia_driver_older_than_torch_cuda(facts)) == found


def test_a_cpu_build_beside_a_gpu() -> None:
    (hit,) = cpu_torch_beside_a_gpu(situation("2.13.0+cpu", "NVIDIA GeForce RTX 4090", os="linux"))
    assert cpu_torch_beside_a_gpu(situation("2.13.0+cpu", "NVIDIA GeForce RTX 4090", os="linux", accelerator="cpu")) == ()
    assert hit == Hit(
        rule="cpu-torch-beside-a-gpu",
        outcome=True,
        because=(("packages.torch", "a CPU build"), ("gpu.vendor", "nvidia")),
        detail="torch 2.13.0+cpu is a CPU build; it cannot use NVIDIA GeForce RTX 4090",
        packages=("torch",),
        pins=(("torch", "==2.13.0+cu130"),),
    )


@pytest.mark.parametrize(
    ("facts", "found", "pins"),
    [
        (situation("2.13.0+cpu", "V100", os="linux"), [(True, ())], ["==2.13.0+cu126"]),
        (situation("2.13.0+cpu", "RTX 4090", os="linux", driver="535.104.05"), [(True, ())], ["==2.13.0+cu126"]),
        (situation("2.13.0+cpu", "V100", os="linux", driver="470.182.03"), [(True, ())], []),
        (situation("2.9.0.dev20250701+cpu", "RTX 4090"), [(True, ())], []),
        (situation("2.5.1", "RTX 4090", os="windows"), [(None, ("cuda",))], ["==2.5.1+cu124"]),
        (situation("2.5.1", "RTX 4090", os="windows", cuda="12.1"), [], []),
        (situation("2.5.1", "RTX 4090", os="linux"), [], []),
        (situation("2.5.1+cu121", "RTX 4090", os="windows"), [], []),
        (situation("2.13.0+cpu", os="linux"), [], []),
        (situation("2.13.0+cpu", "Apple M1 Max"), [], []),
        (situation("2.13.0+cpu", "none (CPU)"), [], []),
        (situation("2.13.0+cpu", "RTX 4090", gpu__count=0), [], []),
        (situation(None, "RTX 4090"), [], []),
    ],
)
def test_cpu_builds(facts: Facts, found: list[tuple[bool | None, tuple[str, ...]]], pins: list[str]) -> None:
    hits = cpu_torch_beside_a_gpu(facts)
    assert outcomes(hits) == found
    assert [spec for hit in hits for _, spec in hit.pins] == pins


REFUSED = "these releases refuse to train so"
EMULATED = "torch emulates it, slower than float16"
EITHER = "with torch before 2.3 or transformers before 4.35 the trainer refuses it"


@pytest.mark.parametrize(
    ("facts", "said", "plan"),
    [
        (situation("2.0.0", "8x Tesla V100 32GB", "4.28.0", plan__bf16=True), REFUSED, {"plan.bf16": False, "plan.fp16": True}),
        (situation("2.5.1", "Tesla T4", "4.34.1", plan__bf16=True), REFUSED, {"plan.bf16": False, "plan.fp16": True}),
        (situation("2.2.2", "Tesla T4", "4.46.3", plan__bf16=True), REFUSED, {"plan.bf16": False, "plan.fp16": True}),
        (situation("2.3.0", "Tesla T4", "4.35.0", plan__bf16=True), EMULATED, {"plan.bf16": False, "plan.fp16": True}),
        (situation(None, "Tesla T4", "4.46.3", plan__bf16=True), EITHER, {"plan.bf16": False, "plan.fp16": True}),
        (situation(None, "Tesla T4", plan__load_dtype="bf16"), EMULATED, {"plan.load_dtype": "float16"}),
        (situation(None, "Tesla T4", plan__load_dtype="bf16", plan__method="full"), EMULATED, {"plan.load_dtype": "float32"}),
        (situation(None, "Tesla T4", plan__load_dtype="auto", model__config_dtype="bfloat16"), EMULATED, {"plan.load_dtype": "float16"}),
    ],
)
def test_bfloat16_on_a_gpu_before_ampere(facts: Facts, said: str, plan: dict[str, object]) -> None:
    (hit,) = bf16_on_a_gpu_without_it(facts)
    assert hit.outcome is True
    assert said in hit.detail
    assert dict(hit.plan) == plan


@pytest.mark.parametrize(
    "facts",
    [
        situation("2.0.0", "A100", plan__bf16=True),
        situation("2.0.0", "V100", plan__bf16=False, plan__load_dtype="float16"),
        situation("2.0.0", "V100"),
        situation("2.0.0", "V100", plan__load_dtype="auto", model__dtype="float16"),
        situation("2.0.0", "unheard of", plan__bf16=True),
        situation("2.0.0", "Apple M1 Max (MPS)", plan__bf16=True),
        situation("2.0.0", "AMD MI50 (gfx906)", plan__bf16=True),
        situation("2.0.0", plan__bf16=True),
    ],
)
def test_bfloat16_elsewhere_is_no_finding(facts: Facts) -> None:
    assert bf16_on_a_gpu_without_it(facts) == ()


def test_knowing_nothing_finds_nothing() -> None:
    assert [hit for check in CHECKS for hit in check(Facts())] == []
    assert [hit for check in CHECKS for hit in check(Facts(closed=True))] == []


def test_every_fact_that_decided_is_there() -> None:
    unlabelled = situation(None, "P100", cuda="12.8", driver="470.1")
    for facts in (
        unlabelled,
        situation("2.8.0+cu128", "P100"),
        situation("2.11.0", driver="470.1"),
        situation("2.1.0+cpu", "T4", plan__bf16=True),
    ):
        hits = [hit for check in CHECKS for hit in check(facts)]
        assert hits
        assert all(name in facts for hit in hits for name, _ in hit.because)
