"""How the table of what releases require is made."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "refresh_dependencies.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("refresh_dependencies", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["refresh_dependencies"] = module
    spec.loader.exec_module(module)
    return module


SCRIPT_MODULE = load()


def packed(name: str, version: str, requires: list[str]) -> bytes:
    """As uv writes it: a msgpack array, whose tail is not read."""

    def text(value: str) -> bytes:
        data = value.encode()
        if len(data) < 32:
            return bytes([0xA0 | len(data)]) + data
        return b"\xd9" + bytes([len(data)]) + data if len(data) < 256 else b"\xda" + len(data).to_bytes(2, "big") + data

    size = bytes([0x90 | len(requires)]) if len(requires) < 16 else b"\xdc" + len(requires).to_bytes(2, "big")
    return b"\x96" + text(name) + text(version) + size + b"".join(map(text, requires)) + b"\xc0\x90\xc2"


@given(name=st.text(min_size=1, max_size=40), version=st.text(max_size=12), requires=st.lists(st.text(max_size=400), max_size=40))
def test_what_uv_keeps_of_a_wheel_is_read(name: str, version: str, requires: list[str]) -> None:
    found = SCRIPT_MODULE.read_cached(packed(name, version, requires))
    assert (found.name, found.version, found.requires) == (name, version, tuple(requires))


@pytest.mark.parametrize(
    "data", [b"", b"\x96", b"\x90", b"\xa4peft", b"\x96\xa4pef", b"\x93\xa1a\xa11\x92\xa1b", b"\x93\xa1a\xa11\xa1b", b"{}"]
)
def test_what_is_something_else_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not what uv keeps of a wheel's metadata"):
        SCRIPT_MODULE.read_cached(data)


@given(cut=st.integers(0, 200))
def test_what_was_cut_short_is_refused_where_a_requirement_is_missing(cut: int) -> None:
    whole = packed("peft", "0.14.0", ["numpy>=1.17", "torch>=1.13.0", "transformers", "accelerate>=0.21.0"])
    if cut < len(whole) - 3:
        with pytest.raises(ValueError, match="not what uv keeps"):
            SCRIPT_MODULE.read_cached(whole[:cut])
    else:
        assert len(SCRIPT_MODULE.read_cached(whole[:cut]).requires) == 4


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("tokenizers<0.20,>=0.19", ["tokenizers<0.20,>=0.19"]),
        ("Huggingface_Hub >=0.23.0", ["huggingface-hub>=0.23.0"]),
        ("fsspec[http]>=2023.1.0,<=2024.6.1", ["fsspec<=2024.6.1,>=2023.1.0"]),
        ("triton==3.1.0 ; sys_platform == 'linux'", ['triton==3.1.0 ; sys_platform == "linux"']),
        ("filelock", []),
        ("datasets!=2.5.0 ; extra == 'agents'", []),
        ("torch @ https://files.example/torch.whl", []),
        ("no requirement at all", []),
    ],
)
def test_what_is_kept_of_a_requirement(line: str, kept: list[str]) -> None:
    assert SCRIPT_MODULE.kept([line]) == kept


@pytest.mark.parametrize(
    ("requires_python", "first"),
    [(None, "3.10"), (">=3.8", "3.10"), (">=3.11", "3.12"), (">=3.7,<3.10", "3.8"), ("nonsense", "3.10"), ("<3", None)],
)
def test_the_pythons_to_try(requires_python: str | None, first: str | None) -> None:
    assert next(iter(SCRIPT_MODULE.pythons(requires_python)), None) == first


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 30).map(str)), unique=True), st.integers(1, 6))
def test_runs_hold_every_release_once_and_no_package_twice(wanted: list[tuple[str, str]], size: int) -> None:
    runs = list(SCRIPT_MODULE.batches(wanted, size))
    assert sorted(pin for run in runs for pin in run) == sorted(wanted)
    assert all(len({name for name, _ in run}) == len(run) <= size for run in runs)


def test_the_bundle_comes_back_as_it_was_written(tmp_path: Path) -> None:
    packages = {"a": {"1.0": ["b>=1"], "1.1": ["b>=1"], "2.0": ["b>=1", 'c<2 ; sys_platform == "linux"']}, "d": {"1": []}}
    path = tmp_path / "dependencies.json"
    path.write_text(SCRIPT_MODULE.render("2026-11-21", "2026-11-20", packages), encoding="utf-8")
    assert SCRIPT_MODULE.read_bundle(path) == packages
    assert json.loads(path.read_text(encoding="utf-8"))["releases_as_of"] == "2026-11-20"
    assert SCRIPT_MODULE.read_bundle(tmp_path / "none.json") == {}


def test_only_releases_that_are_not_in_the_bundle_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, str]] = []

    def ask(pins: list[tuple[str, str]], python: str, cache: Path) -> None:
        asked.extend(pins)
        for name, version in pins:
            folder = cache / "wheels-v8" / "pypi" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{version}.msgpack").write_bytes(packed(name, version, ["numpy>=1.17"]))

    monkeypatch.setattr(SCRIPT_MODULE, "ask", ask)
    output = tmp_path / "bundle.json"
    assert SCRIPT_MODULE.main(["peft", "--output", str(output), "--jobs", "1"]) == 0
    assert ("peft", "0.14.0") in asked
    bundle = SCRIPT_MODULE.read_bundle(output)
    assert bundle["peft"]["0.14.0"] == ["numpy>=1.17"]
    del bundle["peft"]["0.14.0"]
    output.write_text(SCRIPT_MODULE.render("2026-01-01", "2026-01-01", bundle), encoding="utf-8")
    asked.clear()
    assert SCRIPT_MODULE.main(["peft", "--output", str(output)]) == 0
    assert asked == [("peft", "0.14.0")]
    assert "1 of 1 releases read" in capsys.readouterr().out
