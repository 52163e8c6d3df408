"""Whether the torch build, the driver, the GPU and the plan's dtype fit each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.world.drivers import driver_floor, driver_runs
from envdoctor.world.gpus import capability_key
from envdoctor.world.torch_builds import TorchBuild, cuda_builds, releases_listed, runs_on, torch_build, variants

_FULL = frozenset(("full", "freeze", "pretrain"))
# Integrated GPUs of Jetson boards, whose processor is aarch64.
_JETSON = frozenset(("5.3", "6.2", "7.2", "8.7", "11.0"))


def torch_wheel_lacks_gpu_kernels(facts: Facts) -> tuple[Hit, ...]:
    """The torch build has neither code nor PTX for the GPU: the first kernel fails."""
    rule = "torch-wheel-lacks-gpu-kernels"
    capability = capability_of(facts)
    if capability is None:
        return ()
    torch = facts.value("packages.torch")
    if torch is None and not facts.closed:
        return _cuda_lacks_kernels(rule, facts, capability)
    if not isinstance(torch, Exact):
        return ()
    builds = [build for build in _builds(torch, facts) if build.cuda is not None]
    lacking = [build for build in builds if runs_on(build, capability) is False]
    if not lacking or (len(lacking) < len(builds) and not any(build.pypi_default for build in lacking)):
        return ()
    certain = len(lacking) == len(builds)
    listed = " ".join(dict.fromkeys(sm for build in lacking for sm in build.sm))
    label = " or ".join(build.variant for build in lacking)
    unserved = f"{capability}, which none of these serves"
    return (
        Hit(
            rule,
            True if certain else None,
            because=(("packages.torch", f"{label}: compiled for {listed}"), ("gpu.compute_capability", unserved)),
            missing=() if certain else ("cuda",),
            detail=f"torch {torch} ({label}) is compiled for {listed}; {_gpu(facts)} has compute capability {unserved}",
            packages=("torch",),
            pins=_cures(torch, facts),
        ),
    )


def torch_for_gpu(facts: Facts) -> tuple[tuple[str, str], ...]:
    """The releases of torch whose wheels have code for the GPU, as pins; for whoever states none."""
    return () if capability_of(facts) is None else _cures(None, facts)


def nvidia_driver_older_than_torch_cuda(facts: Facts) -> tuple[Hit, ...]:
    """The NVIDIA driver is older than the torch build's CUDA allows: torch sees no GPU."""
    rule = "nvidia-driver-older-than-torch-cuda"
    driver, torch, system = _version(facts, "driver"), facts.value("packages.torch"), facts.text("os")
    if driver is None or facts.text("gpu.vendor") not in (None, "nvidia"):
        return ()
    if torch is None and not facts.closed:
        return _cuda_outruns_driver(rule, facts, driver)
    if not isinstance(torch, Exact):
        return ()
    builds = [build for build in _builds(torch, facts) if build.cuda is not None]
    refused = [build for build in builds if _driver_runs(driver, build.cuda or "", system) is False]
    if not refused or (len(refused) < len(builds) and not any(build.pypi_default for build in refused)):
        return ()
    certain = len(builds) == 1
    build = next((build for build in refused if build.pypi_default), refused[0])
    floor = driver_floor(build.cuda or "", system or "linux")
    too_old = f"older than {floor}, the oldest for CUDA {build.cuda}"
    return (
        Hit(
            rule,
            True if certain else None,
            because=(("driver", too_old), ("packages.torch", f"built for CUDA {build.cuda}")),
            missing=() if certain else ("os", "cuda"),
            detail=f"torch {torch} is built for CUDA {build.cuda}, which needs driver {floor} or later; the driver is {driver}",
            packages=("torch",),
            pins=_cures(torch, facts),
        ),
    )


def cpu_torch_beside_a_gpu(facts: Facts) -> tuple[Hit, ...]:
    """A CPU build of torch on a machine with an NVIDIA GPU: the GPU stays unused, or the run is refused."""
    torch = facts.value("packages.torch")
    if not isinstance(torch, Exact) or facts.text("gpu.vendor") != "nvidia" or facts.value("gpu.count") == 0:
        return ()
    if facts.text("accelerator") == "cpu":
        return ()  # it is asked for: use_cpu of a plan, a build for it in an image
    build = torch_build(torch.text)
    certain = build is not None and build.cuda is None
    # On Windows the package index has the CPU build alone, but a version told by hand may have lost its label.
    if not certain and not (facts.text("os") == "windows" and "+" not in torch.text and _version(facts, "cuda") is None):
        return ()
    said = "a CPU build" if certain else "without a label: for Windows the package index has only the CPU build"
    is_cpu = "is a CPU build" if certain else "may be the CPU build, the only one that the package index has for Windows"
    return (
        Hit(
            "cpu-torch-beside-a-gpu",
            True if certain else None,
            because=(("packages.torch", said), ("gpu.vendor", "nvidia")),
            missing=() if certain else ("cuda",),
            detail=f"torch {torch} {is_cpu}; it cannot use {_gpu(facts)}",
            packages=("torch",),
            pins=tuple(pin for pin in _cures(torch, facts) if "+" in pin[1]),
        ),
    )


def bf16_on_a_gpu_without_it(facts: Facts) -> tuple[Hit, ...]:
    """bfloat16 is asked of an NVIDIA GPU before Ampere: refused, or emulated slowly, as the releases decide."""
    capability = capability_of(facts)
    asked = _bf16_asked(facts)
    if capability is None or not asked or (capability_key(capability) or (8, 0)) >= (8, 0):
        return ()
    trained = facts.value("plan.bf16") is True
    what = {
        True: "these releases refuse to train so (Your setup doesn't support bf16/gpu)",
        False: "torch emulates it, slower than float16",
        None: "with torch before 2.3 or transformers before 4.35 the trainer refuses it, later ones emulate it, slower than float16",
    }[_trainer_refuses(facts) if trained else False]
    load = "float32" if facts.text("plan.method") in _FULL else "float16"
    loads = any(name != "plan.bf16" for name, _ in asked)
    return (
        Hit(
            "bf16-on-a-gpu-without-it",
            True,
            because=(*asked, ("gpu.compute_capability", "below 8.0: no bfloat16 arithmetic in hardware")),
            detail=f"{_gpu(facts)} (compute capability {capability}) does not compute in bfloat16; {what}",
            packages=("torch", "transformers") if trained else ("torch",),
            plan=((("plan.bf16", False), ("plan.fp16", True)) if trained else ()) + ((("plan.load_dtype", load),) if loads else ()),
        ),
    )


def _bf16_asked(facts: Facts) -> tuple[tuple[str, str], ...]:
    asked = [("plan.bf16", "bfloat16 mixed precision")] if facts.value("plan.bf16") is True else []
    if facts.text("plan.load_dtype") == "bfloat16":
        asked.append(("plan.load_dtype", "weights in bfloat16"))
    elif facts.text("plan.load_dtype") == "auto" and (facts.text("model.config_dtype") or facts.text("model.dtype")) == "bfloat16":
        asked.append(("plan.load_dtype", "as stored, which is bfloat16"))
    return tuple(asked)


def _trainer_refuses(facts: Facts) -> bool | None:
    """Whether TrainingArguments(bf16=True) raises on such a GPU; None where the releases are not known.

    transformers before 4.35.0 asks for capability 8.0 itself; from 4.35.0 on it asks
    torch.cuda.is_bf16_supported(), which says no up to torch 2.2 and counts emulation from 2.3 on (read in the wheels).
    """
    old_transformers, old_torch = _within(facts, "transformers", "<4.35"), _within(facts, "torch", "<2.3")
    if old_transformers or old_torch:
        return True
    return None if old_transformers is None or old_torch is None else False


def _within(facts: Facts, package: str, spec: str) -> bool | None:
    release = facts.value(f"packages.{package}")
    return version_condition(spec).admits(release) if isinstance(release, Exact) else None


def _cuda_lacks_kernels(rule: str, facts: Facts, capability: str) -> tuple[Hit, ...]:
    """Without torch's version: no build of any listed release for the stated CUDA has code for the GPU."""
    cuda = _version(facts, "cuda")
    builds = cuda_builds(".".join(cuda.split(".")[:2]), _machine(facts)) if cuda else ()
    if not builds or any(runs_on(build, capability) is not False for build in builds):
        return ()
    words = f"no torch build for CUDA {builds[0].cuda} has code for compute capability {capability}"
    return (
        Hit(
            rule,
            None,
            because=(("cuda", words), ("gpu.compute_capability", capability)),
            missing=("packages.torch",),
            detail=f"{words} ({_gpu(facts)})",
            packages=("torch",),
            pins=_cures(None, facts),
        ),
    )


def _cuda_outruns_driver(rule: str, facts: Facts, driver: str) -> tuple[Hit, ...]:
    """Without torch's version: the stated CUDA, which may be torch's or a toolkit's, is more than the driver runs."""
    cuda = _version(facts, "cuda")
    if cuda is None or _driver_runs(driver, cuda, facts.text("os")) is not False:
        return ()
    floor = driver_floor(cuda, facts.text("os") or "linux")
    because = (("driver", f"older than {floor}, the oldest for CUDA {cuda}"), ("cuda", cuda))
    detail = f"a torch built for CUDA {cuda} needs driver {floor} or later; the driver is {driver}"
    return (Hit(rule, None, because=because, missing=("packages.torch",), detail=detail, packages=("torch",), pins=_cures(None, facts)),)


def _builds(torch: Exact, facts: Facts) -> tuple[TorchBuild, ...]:
    """The builds that the version may be: one where its label, the CUDA fact or the system tells, none where nothing is known."""
    machine = _machine(facts)
    if "+" in torch.text:
        build = torch_build(torch.text, machine)
        return () if build is None else (build,)
    of_release = [torch_build(f"{torch.text}+{variant}", machine) for variant in variants(torch.text, machine)]
    known = tuple(build for build in of_release if build is not None)
    cuda = _version(facts, "cuda")
    if cuda is not None:
        return tuple(build for build in known if build.cuda == ".".join(cuda.split(".")[:2]))
    system = facts.text("os")
    if system == "linux":
        return tuple(build for build in known if build.pypi_default)
    return known if system is None else ()


def _cures(torch: Exact | None, facts: Facts) -> tuple[tuple[str, str], ...]:
    """Specifiers of torch that this GPU and driver run: the same release built for another CUDA, then the nearest release."""
    return _fitting(torch, _machine(facts), capability_of(facts), _version(facts, "driver"), facts.text("os"))


# A search for pins asks this of the same machine for one release after the other.
@lru_cache(maxsize=1024)
def _fitting(
    torch: Exact | None, machine: str, capability: str | None, driver: str | None, system: str | None
) -> tuple[tuple[str, str], ...]:
    def fits(build: TorchBuild | None) -> bool:
        if build is None or build.cuda is None or (capability is not None and runs_on(build, capability) is not True):
            return False
        return driver is None or _driver_runs(driver, build.cuda, system) is not False

    public = None if torch is None else torch.text.partition("+")[0]
    built = [] if public is None else [torch_build(f"{public}+{variant}", machine) for variant in variants(public, machine)]
    same = sorted((build for build in built if build is not None and fits(build)), key=lambda build: not build.pypi_default)
    pins = [("torch", f"=={public}+{build.variant}") for build in same[:1]]
    if system in (None, "linux") and machine == "x86_64":
        pins += [("torch", spec) for spec in _ranges(public, fits)]
    return tuple(pins)


def _ranges(public: str | None, fits: Callable[[TorchBuild | None], bool]) -> list[str]:
    """Runs of releases whose default wheel fits: the next above this release and the next below, or the newest of all."""
    listed = releases_listed()
    fitting = [fits(torch_build(release)) for release in listed]
    if public is None:
        starts = [place for place in reversed(range(len(listed))) if fitting[place]][:1]
    else:
        here = _number(public)
        starts = [place for place, release in enumerate(listed) if fitting[place] and _number(release) > here][:1]
        starts += [place for place, release in enumerate(listed) if fitting[place] and _number(release) < here][-1:]
    return list(dict.fromkeys(_run_around(start, listed, fitting) for start in starts))


def _run_around(start: int, listed: Sequence[str], fitting: Sequence[bool]) -> str:
    first = last = start
    while first > 0 and fitting[first - 1]:
        first -= 1
    while last + 1 < len(listed) and fitting[last + 1]:
        last += 1
    lower = [f">={listed[first]}"] if first > 0 else []
    return ",".join(lower + ([f"<{listed[last + 1]}"] if last + 1 < len(listed) else []))


def _number(version: str) -> list[int]:
    """The minor release as two numbers, for comparison."""
    return [int(part) for part in version.split(".")[:2] if part.isdigit()]


def _driver_runs(driver: str, cuda: str, system: str | None) -> bool | None:
    if system is not None:
        return driver_runs(driver, cuda, system)
    outcomes = {driver_runs(driver, cuda, name) for name in ("linux", "windows")}
    return outcomes.pop() if len(outcomes) == 1 else None


def _machine(facts: Facts) -> str:
    stated = facts.text("machine")
    if stated is not None:
        return "aarch64" if stated == "arm64" else stated
    return "aarch64" if _version(facts, "gpu.compute_capability") in _JETSON else "x86_64"


def capability_of(facts: Facts) -> str | None:
    """The CUDA compute capability, where an NVIDIA GPU computes."""
    if facts.text("gpu.vendor") not in (None, "nvidia") or facts.text("accelerator") not in (None, "cuda") or facts.value("gpu.count") == 0:
        return None
    text = _version(facts, "gpu.compute_capability")
    return text if text is not None and capability_key(text) is not None else None


def _version(facts: Facts, name: str) -> str | None:
    value = facts.value(name)
    return value.text if isinstance(value, Exact) else value if isinstance(value, str) else None


def _gpu(facts: Facts) -> str:
    return facts.text("gpu.name") or "the GPU"


CHECKS: tuple[Callable[[Facts], tuple[Hit, ...]], ...] = (
    torch_wheel_lacks_gpu_kernels,
    nvidia_driver_older_than_torch_cuda,
    cpu_torch_beside_a_gpu,
    bf16_on_a_gpu_without_it,
)
