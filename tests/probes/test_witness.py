"""``witness``: the line of Python that shows a computed finding, run where the packages are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from envdoctor.app.probing import run_probes
from envdoctor.app.watch import Watch
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.probes import witness
from envdoctor.probes.registry import about
from envdoctor.probes.verdict import Verdict
from tests.atlas.wheels import atlas_of
from tests.probes.anything import like

OLD, NEW = "class Old: pass\n", "class Kept: pass\n"
PACKAGES = {
    "acme": {"1.0": {"acme/__init__.py": OLD}, "2.0": {"acme/__init__.py": NEW}},
    "user": {"0.1": {"user/__init__.py": "from acme import Old\n"}},
}
LINE = "from acme import Old"


@pytest.fixture(scope="module", autouse=True)
def _atlas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with atlas_of(tmp_path_factory.mktemp("witness"), PACKAGES):
        yield


def facts(**releases: str) -> Facts:
    return Facts({f"packages.{name}": Fact(f"packages.{name}", exact(release), Origin("stated")) for name, release in releases.items()})


def told(stated: Facts) -> Verdict:
    return run_probes(["witness"], Path(sys.executable), stated, Watch(), trust=False)["witness"]


def installed(folder: Path, acme: str, version: str) -> dict[str, str]:
    for name, release, text in (("acme", version, acme), ("user", "0.1", "from acme import Old\n")):
        (folder / f"{name}.py").write_text(text)
        (folder / f"{name}-{release}.dist-info").mkdir()
        (folder / f"{name}-{release}.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n")
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.mark.parametrize(
    ("acme", "ruling", "said"),
    [
        (NEW, "confirmed", "from acme import Old: ImportError: cannot import name 'Old' from 'acme'"),
        (OLD, "refuted", "from acme import Old: runs without an error"),
        (
            "raise OSError('no disk')\n",
            "inconclusive",
            "from acme import Old: ends with status 1, but not for want of what it takes: OSError",
        ),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "inconclusive", "from acme import Old: ends with status -9"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_the_line_is_run_in_the_target_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, acme: str, ruling: str, said: str
) -> None:
    monkeypatch.setattr(os, "environ", installed(tmp_path, acme, "2.0"))
    verdict = told(facts(user="0.1", acme="2.0"))
    assert (verdict.verdict, verdict.reason[: len(said)]) == (ruling, said)
    assert about(verdict, ("user", "acme"), ()).verdict == ruling
    other = about(verdict, ("user", "other"), ())
    assert (other.verdict, other.reason) == (("inconclusive", "no line was run") if ruling != "inconclusive" else (ruling, verdict.reason))


def test_a_stack_of_which_nothing_is_computed_has_no_line_and_another_stack_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", installed(tmp_path, OLD, "1.0"))
    assert told(facts(user="0.1", acme="1.0")).reason.startswith("nothing is computed of these")
    verdict = told(facts(user="0.1", acme="2.0"))
    assert (verdict.verdict, verdict.reason) == ("inconclusive", "the interpreter has acme 1.0, the situation states 2.0")


def row(status: int, said: str = "", **more: object) -> dict[str, object]:
    return {"status": status, "timed_out": False, "said": said, **more}


@pytest.mark.parametrize(
    ("told", "ruling"),
    [
        (row(0), "refuted"),
        (row(1, "ModuleNotFoundError: No module named 'acme.late'"), "confirmed"),
        (row(1, "AttributeError: module 'acme' has no attribute 'Old'"), "confirmed"),
        (row(1, "TypeError: got an unexpected keyword argument 'b'"), "confirmed"),
        (row(1, "google.protobuf.runtime_version.VersionError: Detected incompatible Protobuf Gencode/Runtime versions"), "confirmed"),
        (row(1, "TypeError: Descriptors cannot be created directly."), "confirmed"),
        (row(1, "TypeError: 'NoneType' object is not callable"), "inconclusive"),
        (row(-11), "inconclusive"),
        (row(-9, timed_out=True), "inconclusive"),
        ({}, "inconclusive"),
    ],
)
def test_what_is_missing_confirms_and_any_other_end_decides_nothing(told: dict[str, object], ruling: str) -> None:
    assert witness.judge({"lines": {LINE: told}}, {})[0] == ruling
    # One that fails is enough, one that cannot be told is in doubt beside one that runs.
    assert witness.judge({"lines": {"import os": row(0), LINE: told}}, {})[0] == ruling


GOOD: dict[str, Any] = {"versions": {"acme": "2.0"}, "about": {LINE: ["acme", "user"]}, "lines": {LINE: row(0)}}


@given(like(GOOD))
def test_whatever_was_measured_is_judged(measured: dict[str, Any]) -> None:
    ruling, reason = witness.judge(measured, {})
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason
