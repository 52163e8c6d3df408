"""Facts of this machine: its NVIDIA GPUs as nvidia-smi tells them, its system and C library; and of a GPU stated by hand."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence

from envdoctor.facts.fact import Collected, Fact, FactValue, Origin, Skip
from envdoctor.facts.versions import exact
from envdoctor.records import dataclass
from envdoctor.world.gpus import capability_key, find_gpu, parse_gpu, vendor

_FIELDS = "name,compute_cap,memory.total,driver_version"
_OLD_FIELDS = "name,memory.total,driver_version"  # compute_cap is not a field of drivers before about 510
_SECONDS = 10.0
_MOST_CHARACTERS = 64 * 1024
_ORIGIN = Origin("nvidia-smi")
_SYSTEMS = {"Linux": "linux", "Windows": "windows", "Darwin": "macos"}
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "arm64"}
_ACCELERATORS = {"nvidia": "cuda", "amd": "rocm", "apple": "mps", "huawei": "npu", "intel": "xpu", "none": "cpu"}


@dataclass(frozen=True, slots=True)
class SmiGpu:
    """One line of nvidia-smi; a field is None where it printed no value (``[N/A]``, ``ERR!``). Memory in MiB."""

    name: str | None
    compute_capability: str | None
    memory_mib: int | None
    driver: str | None


def collect_hardware() -> Collected:
    """The GPUs that a process started here would see, the operating system, the processor and the C library."""
    here = _collect_system()
    gpus = _collect_gpus(os.environ)
    return Collected(here.facts + gpus.facts, (), here.skips + gpus.skips)


def derive_gpu(name: str, origin: Origin) -> tuple[Fact, ...]:
    """What the name of a GPU, stated by hand, tells: vendor, accelerator, capability, memory and count.

    All facts carry the given origin. A name that is not known tells at most its vendor and its count.
    """
    gpu, count = find_gpu(name), parse_gpu(name)[1]
    maker = vendor(name)
    known: dict[str, FactValue] = {}
    if maker is not None:
        known["gpu.vendor"] = maker
        known["accelerator"] = _ACCELERATORS[maker]
    if gpu is not None and gpu.compute_capability is not None:
        known["gpu.compute_capability"] = exact(gpu.compute_capability)
    if gpu is not None and gpu.memory_gib is not None:
        known["gpu.memory_gib"] = gpu.memory_gib
    if count is not None:
        known["gpu.count"] = count
    return tuple(Fact(fact, value, origin) for fact, value in known.items())


def parse_smi(text: str) -> tuple[SmiGpu, ...]:
    """The GPUs in the CSV that nvidia-smi prints without header and units, with or without the capability.

    Lines of another form (messages, errors) are no GPUs.
    """
    gpus = []
    for line in text[:_MOST_CHARACTERS].splitlines():
        fields = [_printable(field) for field in line.split(",")]
        if len(fields) not in (3, 4):
            continue
        name, capability, memory, driver = fields if len(fields) == 4 else (fields[0], "", *fields[1:])
        gpus.append(
            SmiGpu(
                name=name if re.search(r"[A-Za-z]", name) and not re.fullmatch(r"\[.*\]|ERR!|N/A", name) else None,
                compute_capability=capability if capability_key(capability) else None,
                memory_mib=_mib(memory),
                driver=driver if re.fullmatch(r"\d{3,4}(\.\d{1,4}){0,3}", driver, flags=re.ASCII) else None,
            )
        )
    return tuple(gpus)


def gpu_facts(gpus: Sequence[SmiGpu], environment: Mapping[str, str]) -> Collected:
    """The facts of the GPUs that a run would use: of unequal ones the weakest, and a skip that says so.

    ``CUDA_VISIBLE_DEVICES`` limits the count. nvidia-smi numbers GPUs by their slot and CUDA the fastest
    first, so that of unequal GPUs an index tells which only with ``CUDA_DEVICE_ORDER=PCI_BUS_ID``.
    """
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    chosen = _chosen(visible, len(gpus))
    facts = [_fact("driver", exact(driver))] if (driver := next((gpu.driver for gpu in gpus if gpu.driver), None)) else []
    facts.append(_fact("gpu.count", len(chosen)))
    if not chosen:
        why = f"no GPU seen: CUDA_VISIBLE_DEVICES={_printable(visible or '')!r} hides the {len(gpus)} that nvidia-smi lists"
        return Collected(tuple(facts), (), (Skip("GPU", why),))
    by_slot = environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" and None not in chosen
    used = [gpus[index] for index in chosen if index is not None] if by_slot else list(gpus)
    weakest = _weakest(used, slices="MIG-" in (visible or ""))
    return Collected((*facts, _fact("gpu.vendor", "nvidia"), _fact("accelerator", "cuda"), *weakest.facts), (), weakest.skips)


def _weakest(gpus: Sequence[SmiGpu], *, slices: bool) -> Collected:
    """Name, capability and memory that all of the GPUs have at least; what one of them does not tell is left out."""
    facts, skips = [], []
    if len({(gpu.name, gpu.compute_capability, gpu.memory_mib) for gpu in gpus}) > 1:
        names = ", ".join(dict.fromkeys(gpu.name or "unnamed" for gpu in gpus))
        skips.append(Skip("GPU", f"unequal GPUs ({names}): the lowest capability and the smallest memory are taken for all"))
    ranked = sorted(gpus, key=lambda gpu: (capability_key(_capability(gpu) or "") or (99, 0), gpu.memory_mib or 0))
    if ranked[0].name is not None:
        facts.append(_fact("gpu.name", ranked[0].name))
    capability = _capability(ranked[0])
    if capability is not None and _capability(ranked[-1]) is not None:
        facts.append(_fact("gpu.compute_capability", exact(capability)))
    else:
        skips.append(Skip("GPU capability", "nvidia-smi prints none, and the name is not known"))
    memories = [gpu.memory_mib for gpu in gpus if gpu.memory_mib is not None]
    if slices:
        skips.append(Skip("GPU memory", "CUDA_VISIBLE_DEVICES names a MIG slice, whose memory nvidia-smi's list does not tell"))
    elif len(memories) == len(gpus):
        facts.append(_fact("gpu.memory_gib", round(min(memories) / 1024, 2)))
    else:
        skips.append(Skip("GPU memory", "nvidia-smi prints none (memory shared with the processor, or a GPU in error)"))
    return Collected(tuple(facts), (), tuple(skips))


def _chosen(visible: str | None, count: int) -> list[int | None]:
    """The slots that CUDA_VISIBLE_DEVICES leaves, as torch reads it: up to the first entry that is none; a repeated one leaves none.

    An entry by UUID is one GPU of a slot that is not known here.
    """
    if visible is None:
        return list(range(count))
    chosen: list[int | None] = []
    named: set[str] = set()
    for entry in (part.strip() for part in visible.split(",")):
        if entry in named:
            return []
        named.add(entry)
        if re.fullmatch(r"\d{1,4}", entry, flags=re.ASCII) and int(entry) < count:
            chosen.append(int(entry))
        elif entry.startswith(("GPU-", "MIG-")):
            chosen.append(None)
        else:
            break
    return chosen if "MIG-" in visible else chosen[:count]


def _capability(gpu: SmiGpu) -> str | None:
    if gpu.compute_capability is not None or gpu.name is None:
        return gpu.compute_capability
    found = find_gpu(gpu.name)
    return None if found is None else found.compute_capability


def _collect_gpus(environment: Mapping[str, str]) -> Collected:
    program = _find_program("nvidia-smi")
    if program is None:
        return Collected((), (), (Skip("GPU", "no GPU seen: no nvidia-smi on the PATH"),))
    text, why = _ask(program, _FIELDS)
    if "not a valid field" in text + why:
        text, why = _ask(program, _OLD_FIELDS)
    gpus = parse_smi(text)
    if not gpus:
        said = why or _printable(text.strip().partition("\n")[0]) or "nothing"
        return Collected((), (), (Skip("GPU", f"no GPU seen: nvidia-smi says: {said}"),))
    return gpu_facts(gpus, environment)


def _find_program(name: str) -> str | None:
    """The program of that name that a command here would run."""
    path = os.environ.get("PATH")
    if os.name == "nt" or path is None:
        # It imports three kinds of compression.
        import shutil

        return shutil.which(name)
    found = (os.path.join(directory, name) for directory in path.split(os.pathsep) if path)
    return next((one for one in found if os.access(one, os.X_OK) and not os.path.isdir(one)), None)


def _ask(program: str, fields: str) -> tuple[str, str]:
    """What nvidia-smi prints, and why it printed no list; one of the two is empty."""
    import subprocess

    command = [program, f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "", f"no answer within {_SECONDS:g} s"
    except OSError as error:
        return "", error.strerror or str(error)
    text = done.stdout[:_MOST_CHARACTERS].decode("utf-8", "replace")
    if done.returncode == 0:
        return text, ""
    message = (text + "\n" + done.stderr[:_MOST_CHARACTERS].decode("utf-8", "replace")).strip()
    return "", _printable(message.partition("\n")[0]) or f"exit status {done.returncode}"


def _collect_system() -> Collected:
    origin = Origin("this machine")
    facts, skips = [], []
    system, machine, library, version = _this_system()
    if system in _SYSTEMS:
        facts.append(Fact("os", _SYSTEMS[system], origin))
    else:
        skips.append(Skip("operating system", f"{system or 'an unnamed system'} is none of linux, windows, macos"))
    if machine.lower() in _MACHINES:
        facts.append(Fact("machine", _MACHINES[machine.lower()], origin))
    else:
        skips.append(Skip("processor", f"{machine or 'an unnamed architecture'} is none of x86_64, aarch64, arm64"))
    if library == "glibc" and re.fullmatch(r"\d+(\.\d+)+", version):
        facts.append(Fact("glibc", exact(version), origin))
    return Collected(tuple(facts), (), tuple(skips))


def _this_system() -> tuple[str, str, str, str]:
    """What the system and its processor are called, and its C library with the version; these are empty where it is not told."""
    name = "CS_GNU_LIBC_VERSION"
    if sys.platform != "win32" and name in os.confstr_names:
        library, _, version = (os.confstr(name) or "").partition(" ")
        if version:
            here = os.uname()
            return here.sysname, here.machine, library, version
    # It compiles many patterns when it is imported.
    import platform

    return platform.system(), platform.machine(), *platform.libc_ver()


def _fact(name: str, value: FactValue) -> Fact:
    return Fact(name, value, _ORIGIN)


def _mib(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,9}", text, flags=re.ASCII) and int(text) > 0 else None


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable()).strip()[:200]
