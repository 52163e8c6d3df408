"""What ``extension-import`` tries for facts, and what it makes of a measurement: without torch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import ABSENT, exact
from envdoctor.probes import extension_import
from envdoctor.probes.children import extension_import as child

RAN: dict[str, Any] = {
    "stage": "done",
    "error": None,
    "operation": "nms",
    "why": None,
    "device": "cpu",
    "status": 0,
    "timed_out": False,
}
LOADED = RAN | {"operation": None, "why": "no GPU"}
LIBRARY = "libc10_cuda.so: cannot open shared object file: No such file or directory"


def failed(message: str, *, kind: str = "ImportError", stage: str = "import", **changed: object) -> dict[str, Any]:
    return RAN | {"stage": stage, "operation": None, "error": {"type": kind, "message": message}} | changed


def measured(**extensions: object) -> dict[str, Any]:
    names = {name.replace("_", "-"): value for name, value in extensions.items()}
    return {"versions": {"torch": "2.13.0+cpu", "torchvision": "0.28.0"}, "extensions": names}


def test_both_sides_know_the_same_packages() -> None:
    assert set(child.MODULES) == set(extension_import.EXTENSIONS)


@pytest.mark.parametrize(
    ("seen", "ruling", "reason"),
    [
        (RAN, "refuted", "torchvision 0.28.0 imports and nms runs on cpu"),
        (LOADED, "inconclusive", "torchvision 0.28.0 imports; nothing of it was run: no GPU"),
        (
            failed(f"operator torchvision::nms does not exist <- {LIBRARY}", kind="RuntimeError"),
            "confirmed",
            f"torchvision 0.28.0 fails on import: RuntimeError: operator torchvision::nms does not exist <- {LIBRARY}",
        ),
        (
            failed("/a/_C.so: undefined symbol: _ZNK3c105Error4whatEv"),
            "confirmed",
            "torchvision 0.28.0 fails on import: ImportError: /a/_C.so: undefined symbol: _ZNK3c105Error4whatEv",
        ),
        (
            failed("/lib/libc.so.6: version `GLIBC_2.32' not found (required by /a/_C.so)"),
            "confirmed",
            "torchvision 0.28.0 fails on import: ImportError: /lib/libc.so.6: version `GLIBC_2.32' not found (required by /a/_C.so)",
        ),
        (
            failed("CUDA error: no kernel image is available for execution on the device", stage="operation", device="cuda"),
            "confirmed",
            "torchvision 0.28.0 fails in its operation: ImportError: CUDA error: no kernel image is available for execution on the device",
        ),
        (
            failed("libcuda.so.1: cannot open shared object file"),
            "inconclusive",
            "torchvision 0.28.0 needs the GPU's driver, which is not here: ImportError: libcuda.so.1: cannot open shared object file",
        ),
        (
            failed("libcuda.so.1: cannot open shared object file", device="cuda"),
            "confirmed",
            "torchvision 0.28.0 fails on import: ImportError: libcuda.so.1: cannot open shared object file",
        ),
        (
            failed("No module named 'setuptools'", kind="ModuleNotFoundError"),
            "inconclusive",
            "torchvision 0.28.0 fails on import, but not as a binary that does not fit: ModuleNotFoundError: No module named 'setuptools'",
        ),
        (
            failed("nms gave a wrong result", kind="ArithmeticError", stage="operation"),
            "inconclusive",
            "torchvision 0.28.0 fails in its operation, but not as a binary that does not fit: ArithmeticError: nms gave a wrong result",
        ),
        (RAN | {"stage": "import", "status": -4}, "confirmed", "torchvision 0.28.0 crashed on import: illegal instruction"),
        (RAN | {"stage": "operation", "status": -11}, "confirmed", "torchvision 0.28.0 crashed in its operation: segmentation fault"),
        (RAN | {"stage": "import", "status": -9}, "inconclusive", "torchvision 0.28.0 ended with status -9 on import"),
        (RAN | {"stage": "import", "status": -6}, "inconclusive", "torchvision 0.28.0 ended with status -6 on import"),
        (RAN | {"stage": "import", "status": -9, "timed_out": True}, "inconclusive", "torchvision 0.28.0 did not end in time on import"),
        (
            failed("libnccl.so.2: undefined symbol: x", stage="torch"),
            "inconclusive",
            "torchvision 0.28.0 was not tried: torch itself does not import: ImportError: libnccl.so.2: undefined symbol: x",
        ),
        (RAN | {"stage": "start", "status": 1}, "inconclusive", "torchvision 0.28.0 was not tried: torch itself does not import"),
        (RAN | {"status": True}, "inconclusive", "torchvision 0.28.0 was not measured"),
        (RAN | {"error": "boom"}, "inconclusive", "torchvision 0.28.0 was not measured"),
        (None, "inconclusive", "torchvision 0.28.0 was not tried: torch itself does not import"),
    ],
)
def test_judgement_of_one(seen: object, ruling: str, reason: str) -> None:
    assert extension_import.judge(measured(torchvision=seen), {}) == (ruling, reason)


@pytest.mark.parametrize(
    ("extensions", "ruling"),
    [
        ({"torchvision": RAN, "triton": LOADED}, "refuted"),
        ({"torchvision": RAN, "triton": failed("odd")}, "inconclusive"),
        ({"torchvision": RAN, "flash_attn": failed("undefined symbol: x")}, "confirmed"),
        ({"flash_attn": failed("undefined symbol: x"), "apex": failed("odd")}, "confirmed"),
        ({}, "inconclusive"),
    ],
)
def test_the_worst_decides_for_all(extensions: dict[str, Any], ruling: str) -> None:
    assert extension_import.judge(measured(**extensions), {})[0] == ruling


def test_a_fault_of_one_says_nothing_of_another() -> None:
    seen = measured(torchvision=RAN, flash_attn=failed("undefined symbol: x"), triton=LOADED)
    assert extension_import.concerning(seen, ["torchvision", "torch"])[0] == "refuted"
    assert extension_import.concerning(seen, ["flash-attn"])[0] == "confirmed"
    assert extension_import.concerning(seen, ["triton"]) == ("inconclusive", "triton imports; nothing of it was run: no GPU")
    assert extension_import.concerning(seen, ["xformers"]) == ("inconclusive", "not installed, not tested: xformers")
    assert extension_import.concerning(seen, ["peft"]) == ("inconclusive", "no extension of torch was asked for")


def test_a_long_message_keeps_what_the_loader_said() -> None:
    _, reason = extension_import.judge(measured(torchvision=failed(f"{'a' * 900} <- {'b' * 900} <- {LIBRARY}")), {})
    assert reason.endswith(f"{'a' * 200} ... <- {LIBRARY}")


text = st.text("ab.\0é☃", max_size=8)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)
one = st.fixed_dictionaries({}, optional={name: anything | st.just(value) for name, value in RAN.items()})


@given(anything | st.dictionaries(st.sampled_from(["torchvision", "triton", "x"]), one | anything), anything)
def test_any_measurement_gets_a_judgement(extensions: Any, versions: Any) -> None:
    ruling, reason = extension_import.judge({"extensions": extensions, "versions": versions}, {})
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


def facts(**packages: object) -> Facts:
    return Facts().with_facts(Fact(f"packages.{name}", value, Origin("test")) for name, value in packages.items())  # type: ignore[arg-type]


def test_what_is_tried() -> None:
    tried = extension_import.parameters(facts(torch=exact("2.4.1"), torchvision=ABSENT, triton=exact("3.0.0")))
    assert not isinstance(tried, str)
    assert tried["extensions"] == [name for name in extension_import.EXTENSIONS if name != "torchvision"]
    assert extension_import.parameters(facts(torch=ABSENT)) == "torch is not installed: nothing to load extensions into"
    none = extension_import.parameters(facts(**dict.fromkeys(extension_import.EXTENSIONS, ABSENT)))
    assert isinstance(none, str)
    assert none.startswith("none is installed of torchvision, torchaudio, ")
