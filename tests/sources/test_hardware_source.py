import os
import platform
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Collected, Origin, Skip
from envdoctor.facts.values import shown
from envdoctor.facts.vocabulary import term
from envdoctor.sources.machine.hardware import SmiGpu, _find_program, _this_system, collect_hardware, derive_gpu, gpu_facts, parse_smi

L40S = SmiGpu("NVIDIA L40S", "8.9", 46068, "550.54.15")
T4 = SmiGpu("Tesla T4", "7.5", 15360, "550.54.15")


def _values(collected: Collected) -> dict[str, str]:
    for fact in collected.facts:
        assert term(fact.name) is not None
    return {fact.name: shown(fact.value) for fact in collected.facts}


def test_the_list_of_a_machine_with_two_gpus() -> None:
    text = "NVIDIA A100-SXM4-80GB, 8.0, 81920, 535.104.05\nNVIDIA A100-SXM4-80GB, 8.0, 81920, 535.104.05\n"
    assert parse_smi(text) == (SmiGpu("NVIDIA A100-SXM4-80GB", "8.0", 81920, "535.104.05"),) * 2


def test_a_list_without_capabilities_as_old_drivers_print_it() -> None:
    assert parse_smi("GeForce RTX 2080 Ti, 11019, 418.87.00\r\n") == (SmiGpu("GeForce RTX 2080 Ti", None, 11019, "418.87.00"),)


def test_unified_memory_and_a_gpu_in_error_leave_fields_unknown() -> None:
    text = (
        "NVIDIA GB10, 12.1, [N/A], 580.95.05\nERR!, [Unknown Error], ERR!, 580.95.05\nTesla T4, [Not Supported], [GPU requires reset], x\n"
    )
    assert parse_smi(text) == (
        SmiGpu("NVIDIA GB10", "12.1", None, "580.95.05"),
        SmiGpu(None, None, None, "580.95.05"),
        SmiGpu("Tesla T4", None, None, None),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "No devices were found\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver "
        "is installed and running.\n",
        'Field "compute_cap" is not a valid field to query.\n',
        "a,b,c,d,e,f\n",
    ],
)
def test_messages_are_no_gpus(text: str) -> None:
    assert parse_smi(text) == ()


def test_control_characters_and_endless_output_do_no_harm() -> None:
    (gpu,) = parse_smi("Tesla\x1b[31m T4\x00, 7.5, 15360, 535.1\n")
    assert gpu == SmiGpu("Tesla[31m T4", "7.5", 15360, "535.1")
    assert len(parse_smi("Tesla T4, 7.5, 15360, 535.1\n" * 100_000)) < 4000
    assert parse_smi("N" * 10_000 + "A, 7.5, -5, 99999999999\n") == (SmiGpu("N" * 200, "7.5", None, None),)


@given(st.text(max_size=400))
def test_any_output_is_read_without_an_error(text: str) -> None:
    for gpu in parse_smi(text):
        assert gpu.memory_mib is None or gpu.memory_mib > 0
        assert gpu.name is None or gpu.name.isprintable()
        gpu_facts([gpu], {"CUDA_VISIBLE_DEVICES": text})


def test_equal_gpus() -> None:
    collected = gpu_facts([L40S, L40S], {})
    assert _values(collected) == {
        "driver": "550.54.15",
        "gpu.count": "2",
        "gpu.vendor": "nvidia",
        "accelerator": "cuda",
        "gpu.name": "NVIDIA L40S",
        "gpu.compute_capability": "8.9",
        "gpu.memory_gib": "44.99",
    }
    assert collected.skips == ()
    assert {fact.origin for fact in collected.facts} == {Origin("nvidia-smi")}


def test_of_unequal_gpus_the_weakest_counts_and_it_is_said() -> None:
    collected = gpu_facts([L40S, T4], {})
    values = _values(collected)
    assert (values["gpu.name"], values["gpu.compute_capability"], values["gpu.memory_gib"], values["gpu.count"]) == (
        "Tesla T4",
        "7.5",
        "15.0",
        "2",
    )
    assert collected.skips == (
        Skip("GPU", "unequal GPUs (NVIDIA L40S, Tesla T4): the lowest capability and the smallest memory are taken for all"),
    )


def test_a_chosen_slot_tells_which_of_unequal_gpus_only_in_slot_order() -> None:
    by_slot = gpu_facts([L40S, T4], {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert _values(by_slot)["gpu.name"] == "NVIDIA L40S"
    assert by_slot.skips == ()
    fastest_first = gpu_facts([L40S, T4], {"CUDA_VISIBLE_DEVICES": "0"})
    assert (_values(fastest_first)["gpu.name"], _values(fastest_first)["gpu.count"]) == ("Tesla T4", "1")


@pytest.mark.parametrize(
    ("visible", "count"),
    [
        ("0", 1), ("0,1", 2), (" 1 , 0", 2), ("0,9,1", 1), ("3", 1), ("4", 0), ("-1", 0), ("", 0), ("NoDevFiles", 0), ("0,-1,1", 1),
        ("0,0", 0),
        ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 1), ("GPU-89,GPU-45", 2), ("GPU-1,GPU-2,GPU-3,GPU-4,GPU-5", 4), ("\x00\n", 0),
    ],
)  # fmt: skip
def test_cuda_visible_devices_limits_the_count(visible: str, count: int) -> None:
    collected = gpu_facts([T4] * 4, {"CUDA_VISIBLE_DEVICES": visible})
    values = _values(collected)
    assert values["gpu.count"] == str(count)
    assert ("gpu.name" in values, "accelerator" in values, bool(collected.skips)) == (count > 0, count > 0, count == 0)
    if count == 0:
        assert "CUDA_VISIBLE_DEVICES" in collected.skips[0].why
        assert collected.skips[0].why.isprintable()


def test_a_mig_slice_leaves_the_memory_unknown() -> None:
    collected = gpu_facts([SmiGpu("NVIDIA A100-SXM4-40GB", "8.0", 40960, "535.1")], {"CUDA_VISIBLE_DEVICES": "MIG-1,MIG-2"})
    assert "gpu.memory_gib" not in _values(collected)
    assert _values(collected)["gpu.count"] == "2"
    assert [skip.what for skip in collected.skips] == ["GPU memory"]


def test_a_capability_that_is_not_printed_follows_from_a_known_name_only() -> None:
    known = gpu_facts([SmiGpu("Tesla V100-SXM2-32GB", None, 32480, "450.80.02")], {})
    assert _values(known)["gpu.compute_capability"] == "7.0"
    unknown = gpu_facts([SmiGpu("NVIDIA Graphics Device", None, None, "450.80.02"), T4], {})
    assert "gpu.compute_capability" not in _values(unknown)
    assert [skip.what for skip in unknown.skips] == ["GPU", "GPU capability", "GPU memory"]


def test_what_a_stated_name_tells() -> None:
    origin = Origin("facts.toml", "facts.toml", 7)
    facts = derive_gpu("8x NVIDIA A100-SXM4-80GB", origin)
    assert {fact.name: shown(fact.value) for fact in facts} == {
        "gpu.vendor": "nvidia",
        "accelerator": "cuda",
        "gpu.compute_capability": "8.0",
        "gpu.memory_gib": "80.0",
        "gpu.count": "8",
    }
    assert {fact.origin for fact in facts} == {origin}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("A100", {"gpu.vendor": "nvidia", "accelerator": "cuda", "gpu.compute_capability": "8.0"}),
        ("NVIDIA GeForce RTX 9090", {"gpu.vendor": "nvidia", "accelerator": "cuda"}),
        ("Apple M1 Max (MPS)", {"gpu.vendor": "apple", "accelerator": "mps"}),
        ("AMD MI50 (gfx906)", {"gpu.vendor": "amd", "accelerator": "rocm"}),
        ("Ascend 910B", {"gpu.vendor": "huawei", "accelerator": "npu"}),
        ("none (CPU)", {"gpu.vendor": "none", "accelerator": "cpu"}),
        ("Ampere", {}),
        ("4x something", {"gpu.count": "4"}),
    ],
)
def test_a_name_tells_no_more_than_is_known(name: str, expected: dict[str, str]) -> None:
    assert {fact.name: shown(fact.value) for fact in derive_gpu(name, Origin("x"))} == expected


def _smi(directory: Path, script: str) -> None:
    path = directory / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def only_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path


posix = pytest.mark.skipif(os.name != "posix", reason="the stand-in for nvidia-smi is a shell script")


def test_a_machine_without_nvidia_smi_says_so(only_path: Path) -> None:
    collected = collect_hardware()
    assert Skip("GPU", "no GPU seen: no nvidia-smi on the PATH") in collected.skips
    assert not any(fact.name.startswith("gpu.") for fact in collected.facts)


@posix
def test_nvidia_smi_is_asked_for_the_fields(only_path: Path) -> None:
    _smi(only_path, 'echo "$*" > "${0%/*}/asked"; echo "NVIDIA H100 80GB HBM3, 9.0, 81559, 550.54.15"')
    values = _values(collect_hardware())
    assert (values["gpu.name"], values["gpu.memory_gib"], values["driver"]) == ("NVIDIA H100 80GB HBM3", "79.65", "550.54.15")
    assert (only_path / "asked").read_text() == "--query-gpu=name,compute_cap,memory.total,driver_version --format=csv,noheader,nounits\n"


@posix
def test_an_old_driver_is_asked_again_without_the_capability(only_path: Path) -> None:
    _smi(
        only_path,
        'case "$1" in *compute_cap*) echo "Field \\"compute_cap\\" is not a valid field to query."; exit 2;; esac; '
        'echo "Tesla T4, 15109, 450.80.02"',
    )
    values = _values(collect_hardware())
    assert (values["gpu.compute_capability"], values["driver"]) == ("7.5", "450.80.02")


@posix
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'No devices were found'; exit 6", "no GPU seen: nvidia-smi says: No devices were found"),
        ("echo 'No devices were found'", "no GPU seen: nvidia-smi says: No devices were found"),
        ("printf 'driver\\033[31m mismatch\\n' >&2; exit 18", "no GPU seen: nvidia-smi says: driver[31m mismatch"),
        ("exit 9", "no GPU seen: nvidia-smi says: exit status 9"),
        ("true", "no GPU seen: nvidia-smi says: nothing"),
    ],
)
def test_what_nvidia_smi_says_instead_of_a_list_is_told(only_path: Path, script: str, why: str) -> None:
    _smi(only_path, script)
    collected = collect_hardware()
    assert Skip("GPU", why) in collected.skips
    assert not any(fact.name.startswith("gpu.") for fact in collected.facts)


@posix
def test_a_program_that_cannot_run_or_hangs_is_a_skip(only_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = only_path / "nvidia-smi"
    path.write_bytes(b"\x7fELF nothing")
    path.chmod(0o755)
    assert [skip for skip in collect_hardware().skips if skip.why.startswith("no GPU seen: nvidia-smi says: Exec format error")]
    monkeypatch.setattr("envdoctor.sources.machine.hardware._SECONDS", 0.2)
    _smi(only_path, "while :; do :; done")
    assert Skip("GPU", "no GPU seen: nvidia-smi says: no answer within 0.2 s") in collect_hardware().skips


@pytest.mark.parametrize(
    ("system", "machine", "facts", "skipped"),
    [
        ("Windows", "AMD64", {"os": "windows", "machine": "x86_64"}, []),
        ("Darwin", "arm64", {"os": "macos", "machine": "arm64"}, []),
        ("Linux", "aarch64", {"os": "linux", "machine": "aarch64"}, []),
        ("FreeBSD", "riscv64", {}, ["operating system", "processor"]),
    ],
)
def test_the_system_is_told_in_the_words_of_the_vocabulary(
    only_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, machine: str, facts: dict[str, str], skipped: list[str]
) -> None:
    monkeypatch.setattr("envdoctor.sources.machine.hardware._this_system", lambda: (system, machine, "", ""))
    collected = collect_hardware()
    assert _values(collected) == facts
    assert [skip.what for skip in collected.skips if skip.what != "GPU"] == skipped


def test_the_c_library_is_told_where_it_is_glibc(only_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envdoctor.sources.machine.hardware._this_system", lambda: ("Linux", "x86_64", "glibc", "2.31"))
    assert _values(collect_hardware())["glibc"] == "2.31"


def test_the_system_is_what_python_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told = (platform.system(), platform.machine(), *platform.libc_ver())
    assert _this_system() == told
    monkeypatch.setattr("os.confstr_names", {})
    assert _this_system() == told


def test_a_program_is_found_where_a_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, folder = (tmp_path / name for name in ("first", "second", "folder"))
    for directory in (first, second, folder / "nvidia-smi"):
        directory.mkdir(parents=True)
    (first / "nvidia-smi").write_text("not to be run")
    program = second / "nvidia-smi"
    program.write_text("#!/bin/sh")
    program.chmod(0o755)
    for path in (f"{tmp_path}/nowhere:{folder}:{first}:{second}", f"{first}::{folder}", ""):
        monkeypatch.setenv("PATH", path)
        assert _find_program("nvidia-smi") == shutil.which("nvidia-smi") == (str(program) if str(second) in path else None)
    monkeypatch.delenv("PATH")
    assert _find_program("sh") == shutil.which("sh")
