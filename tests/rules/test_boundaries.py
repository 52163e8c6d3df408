"""Claims about released wheels, on wheels made by hand."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from envdoctor.rules.boundaries import Boundary, Claim, UnreadableClaimError, boundaries_of, boundary_of, holds_in, is_boundary
from tests.cli.run import run
from tests.rule_files import CLAIM, write_rule

MODULE = '''
"""A module as libraries write them: definitions under conditions, re-exports, dataclasses."""
from __future__ import annotations
import os
from dataclasses import dataclass, field
from .other import helper as renamed, plain
try:
    import torch
except ImportError:
    torch = None
else:
    from .fast import fast_path
VERSION: str = "1.0"
LOW, HIGH = 1, 2
PATTERN = "\\d"

def call(model, adapter_name="default", *, mixed: bool = False, strict=None, **kwargs): ...
async def stream(a, /, b=-1): ...

class Plain:
    limit = 3
    class Inner:
        def deep(self, level=1): ...
    def method(self, key, value=(1, "a")): ...

class Made:
    def __init__(self, size, rate=0.1): ...

@dataclass
class Settings:
    name: str
    rate: float = 5e-5
    modules: list[str] = field(default_factory=list, metadata={"help": "which"})
    optim: str = field(default="adamw", metadata={"help": "optimizer"})
    constant = 1

if os.name == "nt":
    class Twice:
        def windows(self): ...
else:
    class Twice:
        def posix(self): ...
with open(os.devnull):
    def under_with(): ...
'''
METADATA = """Metadata-Version: 2.1
Name: library
Version: 1.0
Requires-Dist: numpy (<2.0,>=1.17)
Requires-Dist: torchvision
Requires-Dist: huggingface_hub>=0.17.0,<1.0
Requires-Dist: scipy; extra == "test"
Requires-Dist: tomli>=1.1; python_version < "3.11"
Requires-Dist: accelerate[testing]>=0.20
Requires-Dist: legacy (>=1.0.*)

Requires-Dist: prose>=1.0
"""


def make_wheel(directory: Path, files: Mapping[str, str], *, name: str = "library", version: str = "1.0", metadata: str = METADATA) -> Path:
    path = directory / f"{name}-{version}-py3-none-any.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/_vendor/inner-1.0.dist-info/METADATA", "Requires-Dist: vendored\n")
        archive.writestr(f"{name}-{version}.dist-info/METADATA", metadata)
        for file, text in files.items():
            archive.writestr(file, text)
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {
        "library/__init__.py": "from .module import call\n",
        "library/module.py": MODULE,
        "library/empty.py": "",
        "library/broken.py": "def (:\n",
        "library/data.json": '{"max": 10}',
    }
    return make_wheel(tmp_path_factory.mktemp("wheel"), files)


def claim(kind: Claim, text: str) -> Boundary:
    return Boundary("library", "1.0", None, kind, text)


@pytest.mark.parametrize(
    "name",
    [
        "library.module:call",
        "library.module:stream",
        "library.module:Plain.method",
        "library.module:Plain.limit",
        "library.module:Plain.Inner.deep",
        "library.module:Settings.rate",
        "library.module:renamed",
        "library.module:plain",
        "library.module:torch",
        "library.module:fast_path",
        "library.module:VERSION",
        "library.module:HIGH",
        "library.module:Twice.windows",
        "library.module:Twice.posix",
        "library.module:under_with",
        "library:call",
    ],
)
def test_what_a_module_defines_or_imports_is_there(wheel: Path, name: str) -> None:
    assert holds_in(claim("has", name), wheel)


@pytest.mark.parametrize(
    "name",
    [
        "library.module:calls",
        "library.module:helper",
        "library.module:method",
        "library.module:Plain.deep",
        "library.module:call.model",
        "library.module:Twice.neither",
        "library.module.call:model",
        "library.empty:call",
        "other.module:call",
    ],
)
def test_what_it_does_not_define_is_not(wheel: Path, name: str) -> None:
    assert not holds_in(claim("has", name), wheel)


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("library.module:call(adapter_name)", True),
        ("library.module:call(mixed)", True),
        ("library.module:call(kwargs)", False),
        ("library.module:stream(a)", True),
        ("library.module:Plain.method(value)", True),
        ("library.module:Plain.Inner.deep(level)", True),
        ("library.module:Made(rate)", True),
        ("library.module:Made(speed)", False),
        ("library.module:Settings(modules)", True),
        ("library.module:Settings(constant)", False),
        ("library.module:VERSION(name)", False),
        ("library.module:nothing(name)", False),
    ],
)
def test_parameters_of_functions_classes_and_dataclasses(wheel: Path, text: str, there: bool) -> None:
    assert holds_in(claim("parameter", text), wheel) is there


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("library.module:call(adapter_name)='default'", True),
        ('library.module:call(adapter_name)="default"', True),
        ("library.module:call(mixed)=False", True),
        ("library.module:call(mixed)=True", False),
        ("library.module:call(strict)=None", True),
        ("library.module:call(model)=None", False),
        ("library.module:stream(b)=-1", True),
        ("library.module:Plain.method(value)=(1,'a')", True),
        ("library.module:Made(rate)=0.1", True),
        ("library.module:Settings(rate)=5e-5", True),
        ("library.module:Settings(name)=None", False),
        ("library.module:Settings(modules)=list", True),
        ("library.module:Settings(optim)='adamw'", True),
        ("library.module:Settings(optim)='adamw_torch_fused'", False),
    ],
)
def test_defaults_whatever_the_quotes(wheel: Path, text: str, there: bool) -> None:
    assert holds_in(claim("default", text), wheel) is there


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("numpy", True),
        ("numpy<2.0", True),
        ("numpy>=1.17,<2.0", True),
        ("numpy<2", True),
        ("numpy<1.26", False),
        ("huggingface-hub<1.0", True),
        ("torch", False),
        ("scipy", False),
        ("scipy; extra == 'test'", True),
        ("tomli", True),
        ("tomli>=1.1; python_version < '3.10'", False),
        ("accelerate>=0.20", True),
        ("accelerate[testing]", True),
        ("accelerate[torch]", False),
        ("prose", False),
        ("vendored", False),
    ],
)
def test_declared_requirements(wheel: Path, text: str, there: bool) -> None:
    assert holds_in(claim("requires", text), wheel) is there


def test_a_line_of_any_file(wheel: Path) -> None:
    assert holds_in(claim("contains", 'library/data.json: "max": 10'), wheel)
    assert not holds_in(claim("contains", 'library/data.json: "max": 11'), wheel)
    assert not holds_in(claim("contains", "library/none.json: max"), wheel)


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("has", "library.module", "expected module:name"),
        ("has", "library.module:call(model)", "expected module:name"),
        ("parameter", "library.module:call", "expected module:name"),
        ("parameter", "library.module:call(mixed)=False", "expected module:name"),
        ("default", "library.module:call(mixed)", "expected module:name"),
        ("default", "library.module:call(mixed)=yes please", "no Python expression"),
        ("requires", "numpy is needed", "expected a requirement"),
        ("contains", "library/data.json", "expected 'path/in/wheel.py: literal text'"),
        ("contains", "library/data.json:  ", "expected 'path/in/wheel.py: literal text'"),
        ("has", "library.broken:call", "library/broken.py: this interpreter cannot parse it"),
    ],
)
def test_a_claim_that_cannot_be_read_is_said(wheel: Path, kind: Claim, text: str, said: str) -> None:
    with pytest.raises(UnreadableClaimError, match=said.replace("(", r"\(")):
        holds_in(claim(kind, text), wheel)


def test_wheels_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "library-1.0-py3-none-any.whl").write_bytes(b"PK no archive")
    with pytest.raises(UnreadableClaimError, match=r"library-1.0-py3-none-any.whl: File is not a zip file"):
        holds_in(claim("has", "library:call"), tmp_path / "library-1.0-py3-none-any.whl")
    with zipfile.ZipFile(tmp_path / "bare.whl", "w") as archive:
        archive.writestr("library/__init__.py", "\0")
    with pytest.raises(UnreadableClaimError, match="no METADATA"):
        holds_in(claim("requires", "numpy"), tmp_path / "bare.whl")
    with pytest.raises(UnreadableClaimError, match=r"library/__init__.py"):
        holds_in(claim("has", "library:call"), tmp_path / "bare.whl")


def test_code_of_another_time_gives_no_warning(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {"library/__init__.py": 'PATTERN = "\\d"\nif 1 is 1: pass\n'})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert holds_in(claim("has", "library:PATTERN"), path)


def test_the_neighbour_lies_on_the_other_side_of_the_bound() -> None:
    known = ["0.9.0", "0.10.0", "0.11.0"]
    first = boundary_of({"package": "Library_X", "first": "0.10.0", "has": "a:b"})
    last = boundary_of({"package": "library-x", "last": "0.10.0", "has": "a:b"})
    assert (first.neighbour(known), last.neighbour(known)) == ("0.9.0", "0.11.0")
    assert str(first) == "library-x first 0.10.0: has a:b"
    assert str(last) == "library-x last 0.10.0: has a:b"
    assert boundary_of({"package": "x", "first": "0.9.0", "has": "a:b"}).neighbour(known) is None
    assert boundary_of({"package": "x", "last": "0.11.0", "has": "a:b"}).neighbour(known) is None
    with pytest.raises(UnreadableClaimError, match=r"x 0.8.0 is no published release"):
        boundary_of({"package": "x", "first": "0.8.0", "has": "a:b"}).neighbour(known)


@pytest.mark.parametrize(
    "item",
    [
        "peft",
        {"package": "peft", "has": "a:b"},
        {"package": "peft", "first": "1", "last": "2", "has": "a:b"},
        {"package": "peft", "first": "1"},
        {"package": "peft", "first": "1", "has": "a:b", "contains": "a: b"},
        {"first": "1", "has": "a:b"},
        {"package": "peft", "first": 1.0, "has": "a:b"},
        {"package": "peft", "first": "1", "has": ""},
        {"package": "peft", "first": "1", "has": "a:b", "note": "why"},
    ],
)
def test_tables_that_are_no_claim(item: object) -> None:
    assert not is_boundary(item)
    assert boundaries_of({"boundary": [item]}) == ()


def peft(directory: Path, version: str, text: str) -> None:
    make_wheel(directory, {"peft/mapping.py": text}, name="peft", version=version)


def test_verify_looks_at_both_sides(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule = write_rule(tmp_path, CLAIM, confidence="boundary")
    wheels = tmp_path / "wheels"
    peft(wheels, "0.12.0", "mended = True")
    peft(wheels / "peft-0.11.1", "0.11.1", "")
    ran = run(capsys, "rules", "verify", str(rule), "--wheels", str(wheels))
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "ok          library-broken: peft first 0.12.0: has peft.mapping:mended\n1 claims: 1 ok, 0 wrong, 0 not checked\n"
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize(
    ("claimed", "before", "why"),
    [("", "", "not true of 0.12.0"), ("mended = True", "def mended(): ...", "true of 0.11.1 as well")],
)
def test_verify_tells_what_no_longer_holds(capsys: pytest.CaptureFixture[str], tmp_path: Path, claimed: str, before: str, why: str) -> None:
    rule = write_rule(tmp_path, CLAIM)
    peft(tmp_path, "0.12.0", claimed)
    peft(tmp_path, "0.11.1", before)
    ran = run(capsys, "rules", "verify", str(rule), "--wheels", str(tmp_path), "--format", "json")
    assert ran.status == 1
    assert ran.json == {
        "schema_version": 1,
        "claims": [{"rule": "library-broken", "claim": "peft first 0.12.0: has peft.mapping:mended", "result": "wrong", "why": why}],
    }


def test_verify_of_a_release_that_never_was(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule = write_rule(tmp_path, CLAIM.replace("0.12.0", "0.12.77"))
    ran = run(capsys, "rules", "verify", str(rule), "--wheels", str(tmp_path))
    assert ran.status == 1
    assert "            peft 0.12.77 is no published release with a wheel\n" in ran.out


@pytest.mark.parametrize(
    ("claimed", "why"),
    [
        (CLAIM.replace("peft", "torch").replace("0.12.0", "2.6.0"), "wheels of torch are too large to be downloaded unasked (--large)"),
        (CLAIM.replace("peft", "no-such-package-here"), "the releases of no-such-package-here are not bundled"),
    ],
)
def test_verify_says_what_it_did_not_check(capsys: pytest.CaptureFixture[str], tmp_path: Path, claimed: str, why: str) -> None:
    rule = write_rule(tmp_path, claimed, confidence="boundary")
    ran = run(capsys, "rules", "verify", str(rule), "--wheels", str(tmp_path), "--record")
    assert ran.status == 0
    assert ran.out.splitlines()[0].startswith("not checked library-broken: ")
    assert ran.out.splitlines()[1] == f"            {why}"
    assert ran.out.splitlines()[2] == "library-broken: confidence is now cited"
    assert not list(tmp_path.glob("*.json"))


def test_verify_needs_the_network_and_a_rule(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, "rules", "verify", "--offline").status == 2
    ran = run(capsys, "rules", "verify", "no-such-rule")
    assert ran.status == 2
    assert ran.err == "envdoctor: no-such-rule: found no such file, directory or rule; expected a rule; next: envdoctor rules lists them\n"


@pytest.mark.network
def test_verify_on_the_real_releases(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    parameter = CLAIM.replace('has     = "peft.mapping:mended"', 'parameter = "peft.mapping:get_peft_model(autocast_adapter_dtype)"')
    rule = write_rule(tmp_path, parameter, CLAIM)
    ran = run(capsys, "rules", "verify", str(rule), "--wheels", str(tmp_path / "wheels"), "--format", "json")
    assert ran.status == 1
    assert [row["result"] for row in ran.json["claims"]] == ["ok", "wrong"]
    assert ran.json["claims"][1]["why"] == "not true of 0.12.0"
    assert len(list((tmp_path / "wheels").glob("*/*.whl"))) == 2
    again = run(capsys, "rules", "verify", str(rule), "--wheels", str(tmp_path / "wheels"), "--format", "json")
    assert again.json == ran.json


def test_a_record_is_a_ledger_and_the_confidence_earned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule = write_rule(tmp_path, CLAIM)
    before = rule.read_text(encoding="utf-8")
    peft(tmp_path, "0.12.0", "mended = True")
    peft(tmp_path, "0.11.1", "")
    assert run(capsys, "rules", "verify", str(rule), "--wheels", str(tmp_path), "--record").status == 0
    verified = json.loads((tmp_path / "library-broken.ledger.json").read_text(encoding="utf-8"))["verified"]
    assert verified.pop("date").count("-") == 2
    assert verified == {"claims": ["peft first 0.12.0: has peft.mapping:mended"], "result": "ok"}
    assert rule.read_text(encoding="utf-8") == before.replace('confidence = "cited"', 'confidence = "boundary"')
    assert run(capsys, "rules", "lint", str(rule)).status == 0

    peft(tmp_path, "0.12.0", "")
    assert run(capsys, "rules", "verify", str(rule), "--wheels", str(tmp_path), "--record").status == 1
    verified = json.loads((tmp_path / "library-broken.ledger.json").read_text(encoding="utf-8"))["verified"]
    assert verified["result"] == "wrong"
    assert verified["problems"] == ["peft first 0.12.0: has peft.mapping:mended: not true of 0.12.0"]
    assert rule.read_text(encoding="utf-8") == before
