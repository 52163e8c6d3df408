"""Reproductions in environments that take milliseconds to build: real interpreters, a library made by hand, no network."""

from __future__ import annotations

import json
import platform
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from envdoctor.facts.fact import Facts
from envdoctor.files.toml import parse_toml
from envdoctor.probes.verdict import Verdict
from envdoctor.rules.conditions import parse_condition
from envdoctor.rules.reproduction import misplaced, problems, reproduce, reproduction_of, without_places
from envdoctor.uv.command import uv_environ
from envdoctor.uv.environments import Environment, NotBuiltError, UvBuilder, describe
from envdoctor.world.releases import release_texts
from tests.cli.run import run
from tests.rule_files import CLAIM, REPRODUCTION, write_rule

BROKEN = 'raise ImportError("the library is broken")'
CONDITION = parse_condition({"packages": ["peft >=0.7, <0.12"]})


def install(home: Path, name: str, version: str, text: str) -> None:
    """Put a library of one module into an environment, with the metadata that installers leave."""
    packages = next(home.glob("lib/*/site-packages"), home / "Lib" / "site-packages")
    (packages / f"{name}.py").write_text(text, encoding="utf-8")
    (packages / f"{name}-{version}.dist-info").mkdir()
    (packages / f"{name}-{version}.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n", encoding="utf-8")


def interpreter_of(home: Path) -> Path:
    return home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


class HandMade:
    """Builds environments in which peft is what was said for its release."""

    def __init__(self, directory: Path, peft: Mapping[str, str]) -> None:
        self.directory = directory
        self.peft = peft

    def __call__(self, python: str, pins: Sequence[str], *, forced: bool = False, bare: Sequence[str] = ()) -> Environment:
        version = pins[0].partition("==")[2]
        home = self.directory / version
        if home.exists():
            return Environment(interpreter_of(home), platform.python_version(), {"peft": version})
        venv.create(home)
        install(home, "peft", version, dedent(self.peft[version]))
        return Environment(interpreter_of(home), platform.python_version(), {"peft": version})


def table(text: str = REPRODUCTION) -> dict[str, object]:
    found = parse_toml(text.encode(), "rule")["reproduction"]
    assert isinstance(found, dict)
    return found


def reproduced(tmp_path: Path, bad: str, good: str, text: str = REPRODUCTION) -> dict[str, object]:
    build = HandMade(tmp_path, {"0.11.1": bad, "0.12.0": good})
    return reproduce(table(text), build, condition=CONDITION, packages=("peft",), known=release_texts, date="2026-01-31")


def test_harm_in_the_bad_environment_alone_is_reproduced(tmp_path: Path) -> None:
    entry = reproduced(tmp_path, BROKEN, "")
    assert len(str(entry.pop("subject"))) == 16
    assert entry == {
        "date": "2026-01-31",
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "bad": {"pins": ["peft==0.11.1"], "installed": {"peft": "0.11.1"}, "seen": "ImportError: the library is broken"},
        "good": {"pins": ["peft==0.12.0"], "installed": {"peft": "0.12.0"}, "seen": "exit status 0"},
        "result": "reproduced",
    }


@pytest.mark.parametrize(
    ("bad", "good", "why"),
    [
        ("", "", "the bad environment does not show it: exit status 0"),
        ("raise OSError(5)", "", "the bad environment does not show it: exit status 1: OSError: 5"),
        (BROKEN, BROKEN, "the good environment shows it as well: ImportError: the library is broken"),
        (
            BROKEN,
            "import nothing_like_it",
            "the good environment fails otherwise: exit status 1: ModuleNotFoundError: No module named 'nothing_like_it'",
        ),
        (BROKEN, "raise SystemExit(3)", "the good environment fails otherwise: exit status 3"),
        (BROKEN, "print('the library is broken')", "the good environment shows it as well: the library is broken"),
    ],
)
def test_anything_else_is_not_reproduced(tmp_path: Path, bad: str, good: str, why: str) -> None:
    entry = reproduced(tmp_path, bad, good)
    assert (entry["result"], entry["why"]) == ("not reproduced", why)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_run_that_is_killed_has_still_shown_what_it_printed(tmp_path: Path) -> None:
    entry = reproduced(tmp_path, "import os; print('the library is broken', flush=True); os.kill(os.getpid(), 9)", "")
    assert entry["result"] == "reproduced"
    entry = reproduced(tmp_path / "again", "import os; os.kill(os.getpid(), 11)", "")
    assert entry["why"] == "the bad environment does not show it: exit status -11"


@pytest.mark.large
def test_a_run_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envdoctor.rules.reproduction.SCRIPT_SECONDS", 1.5)
    entry = reproduced(tmp_path, "while True: pass", "")
    assert entry["why"] == "the bad environment does not show it: no result: timed out after 1.5 s while running the script"


def test_much_output_is_kept_to_its_end(tmp_path: Path) -> None:
    entry = reproduced(
        tmp_path, "print('x' * 3_000_000); print('\\x1b[31mhere the library is broken' + 'y' * 1000)", "print('z' * 3_000_000)"
    )
    assert entry["result"] == "reproduced"
    side = entry["bad"]
    assert isinstance(side, dict)
    assert side["seen"].startswith("here the library is brokenyyy")
    assert len(side["seen"]) == 300


def test_no_directory_of_the_machine_is_recorded(tmp_path: Path) -> None:
    entry = reproduced(tmp_path, "raise ImportError(f'the library is broken ({__file__})')", "")
    assert entry["bad"] == {
        "pins": ["peft==0.11.1"],
        "installed": {"peft": "0.11.1"},
        "seen": "ImportError: the library is broken (peft.py)",
    }
    assert "/" not in json.dumps(entry)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('File "/home/me/env/lib/python3.11/site-packages/peft/mapping.py", line 3', 'File "mapping.py", line 3'),
        ("see https://github.com/huggingface/peft/issues/1568", "see https://github.com/huggingface/peft/issues/1568"),
        ("a 1/2 of x/y and n/a", "a 1/2 of x/y and n/a"),
        (r"C:\Users\me\env\Lib\peft.py is broken", "peft.py is broken"),
        ("no such file: /tmp/x.bin", "no such file: x.bin"),
    ],
)
def test_of_a_path_its_last_part_stays(text: str, kept: str) -> None:
    assert without_places(text) == kept


def test_an_environment_outside_the_rule_shows_nothing_of_it(tmp_path: Path) -> None:
    class Newer(HandMade):
        def __call__(self, python: str, pins: Sequence[str], *, forced: bool = False, bare: Sequence[str] = ()) -> Environment:
            return super().__call__(python, ["peft==0.13.0"] if pins[0] == "peft<0.12" else pins)

    build = Newer(tmp_path, {"0.13.0": BROKEN, "0.12.0": ""})
    text = REPRODUCTION.replace("peft==0.11.1", "peft<0.12")
    entry = reproduce(table(text), build, condition=CONDITION, packages=("peft",), known=release_texts, date="2026-01-31")
    assert (entry["result"], entry["why"]) == ("not reproduced", "the bad environment is on the other side of the rule: peft 0.13.0")


def test_pins_that_both_sides_share(tmp_path: Path) -> None:
    asked = []

    class Asked(HandMade):
        def __call__(self, python: str, pins: Sequence[str], *, forced: bool = False, bare: Sequence[str] = ()) -> Environment:
            asked.append((python, *pins))
            return super().__call__(python, pins)

    text = REPRODUCTION + 'extra = ["setuptools<81"]\n'
    reproduce(
        table(text), Asked(tmp_path, {"0.11.1": BROKEN, "0.12.0": ""}), condition=None, packages=(), known=release_texts, date="2026-01-31"
    )
    assert asked == [("3.11", "peft==0.11.1", "setuptools<81"), ("3.11", "peft==0.12.0", "setuptools<81")]


def test_what_needs_a_gpu_is_not_run_without_one(tmp_path: Path) -> None:
    text = REPRODUCTION + "gpu = true\n"
    build = HandMade(tmp_path, {"0.11.1": BROKEN, "0.12.0": ""})
    with pytest.raises(NotBuiltError, match="it needs a GPU, and none is here"):
        reproduce(table(text), build, condition=None, packages=(), known=release_texts, date="2026-01-31")
    entry = reproduce(table(text), build, condition=None, packages=(), known=release_texts, date="2026-01-31", gpu="NVIDIA H100")
    assert (entry["result"], entry["gpu"]) == ("reproduced", "NVIDIA H100")


PROBED = """
[reproduction]
python = "3.11"
bad    = ["peft==0.11.1"]
good   = ["peft==0.12.0"]
probe  = "lora-step"
facts  = { plan.method = "lora", plan.load_dtype = "float16" }
"""


@pytest.mark.parametrize(
    ("verdicts", "result"),
    [
        (("confirmed", "refuted"), "reproduced"),
        (("confirmed", "inconclusive"), "not reproduced"),
        (("inconclusive", "refuted"), "not reproduced"),
        (("refuted", "refuted"), "not reproduced"),
        (("confirmed", "confirmed"), "not reproduced"),
    ],
)
def test_a_probe_confirms_in_the_bad_environment_and_refutes_in_the_good_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdicts: tuple[str, str], result: str
) -> None:
    def probe(name: str, interpreter: Path, facts: Facts, *, environ: Mapping[str, str], **_: object) -> Verdict:
        assert (name, facts.text("plan.load_dtype")) == ("lora-step", "float16")
        ruling = verdicts[str(facts.value("packages.peft")) != "0.11.1"]
        return Verdict(name, ruling, f"as {ruling} in {interpreter}")  # type: ignore[arg-type]

    monkeypatch.setattr("envdoctor.rules.reproduction.run_probe", probe)
    entry = reproduced(tmp_path, "", "", PROBED)
    assert entry["result"] == result
    assert isinstance(entry["bad"], dict)
    assert entry["bad"]["seen"] == f"lora-step: {verdicts[0]}: as {verdicts[0]} in {'python.exe' if sys.platform == 'win32' else 'python'}"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (("bad    = [", "worse = ["), "reproduction.worse"),
        (('"3.11"', '"snake"'), "reproduction.python"),
        (('["peft==0.11.1"]', "[]"), "reproduction.bad"),
        (('["peft==0.11.1"]', '"peft==0.11.1"'), "reproduction.bad"),
        (('["peft==0.12.0"]', '["peft"]'), "reproduction.good"),
        (('["peft==0.12.0"]', '["peft=0.12"]'), "reproduction.good"),
        (('run    = "import peft"', ""), "reproduction.run"),
        (('"the library is broken"', '"broken"'), "reproduction.shows"),
        (('shows  = "the', 'probe = "lora-step"\nshows = "the'), "reproduction"),
        (('shows  = "the', 'facts = {}\nshows = "the'), "reproduction.facts"),
        (('shows  = "the', 'gpu = "yes"\nshows = "the'), "reproduction.gpu"),
        (('shows  = "the', 'forced = "yes"\nshows = "the'), "reproduction.forced"),
        (('shows  = "the', 'bare = ["torch"]\nshows = "the'), "reproduction.bare"),
        (('shows  = "the', 'healthy = "pass"\nshows = "the'), "reproduction.healthy"),
    ],
)
def test_a_table_that_cannot_be_run_is_told_by_lint(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, change: tuple[str, str], key: str
) -> None:
    text = REPRODUCTION.replace(*change)
    assert text != REPRODUCTION
    assert key in {found for found, _, _ in problems(table(text))}
    rule = write_rule(tmp_path, text)
    ran = run(capsys, "rules", "lint", str(rule))
    assert ran.status == 2
    assert f"{rule}: {key}: found " in ran.err
    ran = run(capsys, "rules", "reproduce", str(rule))
    assert ran.status == 1
    assert ran.out.startswith("not run         library-broken\n")


@pytest.mark.parametrize(
    "text", [PROBED.replace("lora-step", "no-such"), PROBED.replace("plan.method", "plan.metod"), PROBED.replace('"float16"', "16")]
)
def test_a_probe_and_its_facts_must_exist(text: str) -> None:
    assert [key for key, _, _ in problems(table(PROBED))] == []
    assert len(problems(table(text))) == 1


def test_pins_on_the_wrong_side_are_told() -> None:
    assert list(misplaced(CONDITION, reproduction_of(table()), release_texts)) == []
    swapped = REPRODUCTION.replace("0.11.1", "0.x").replace("0.12.0", "0.11.1").replace("0.x", "0.12.0")
    assert list(misplaced(CONDITION, reproduction_of(table(swapped)), release_texts)) == [
        ("reproduction.bad", "peft==0.12.0", "pins that the rule accuses"),
        ("reproduction.good", "peft==0.11.1", "pins under which the rule cannot match"),
    ]
    unsaid = REPRODUCTION.replace('["peft==0.12.0"]', '["torch==2.13.0"]')
    assert [key for key, _, _ in misplaced(CONDITION, reproduction_of(table(unsaid)), release_texts)] == ["reproduction.good"]


FAKE_UV = """
import json, sys, venv
from pathlib import Path
here = Path(__file__).parent
with open(here / "calls", "a") as calls:
    print(json.dumps(sys.argv[1:]), file=calls)
if sys.argv[1] == "venv":
    venv.create(sys.argv[-1])
else:
    home = Path(sys.argv[sys.argv.index("--python") + 1]).parent.parent
    for pin in (word for word in sys.argv[sys.argv.index("--python") + 2:] if "==" in word):
        name, _, version = pin.partition("==")
        source = here / f"{name}-{version}.py"
        if not source.exists():
            sys.exit(f"  x No solution found when resolving dependencies:\\n  ╰─▶ Because there is no version of {pin}")
        packages = next(home.glob("lib/*/site-packages"), home / "Lib" / "site-packages")
        (packages / f"{name}.py").write_text(source.read_text())
        (packages / f"{name}-{version}.dist-info").mkdir()
        (packages / f"{name}-{version}.dist-info" / "METADATA").write_text(f"Name: {name}\\nVersion: {version}\\n")
"""


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a program in place of uv: it installs the modules that lie beside it, and writes down its calls."""
    directory = tmp_path / "uv"
    directory.mkdir()
    (directory / "uv.py").write_text(FAKE_UV, encoding="utf-8")
    (directory / "peft-0.11.1.py").write_text(BROKEN, encoding="utf-8")
    (directory / "peft-0.12.0.py").write_text("", encoding="utf-8")
    monkeypatch.setattr("envdoctor.uv.command.uv_command", lambda place: [sys.executable, str(directory / "uv.py")])
    return directory


def calls(uv: Path) -> list[list[str]]:
    return [json.loads(line) for line in (uv / "calls").read_text(encoding="utf-8").splitlines()]


@pytest.mark.large
def test_reproduce_says_what_was_seen_and_writes_nothing_unasked(capsys: pytest.CaptureFixture[str], tmp_path: Path, uv: Path) -> None:
    rule = write_rule(tmp_path, REPRODUCTION)
    before = sorted(path.name for path in tmp_path.iterdir()), rule.read_bytes()
    ran = run(capsys, "rules", "reproduce", str(rule))
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "reproduced      library-broken",
        "  bad   peft==0.11.1",
        "        ImportError: the library is broken",
        "  good  peft==0.12.0",
        "        exit status 0",
        "1 rules: 1 reproduced, 0 not reproduced, 0 not run",
    ]
    assert (sorted(path.name for path in tmp_path.iterdir()), rule.read_bytes()) == before
    assert [call[:2] for call in calls(uv)] == [["venv", "--quiet"], ["pip", "install"]] * 2
    assert not any(Path(call[-1]).exists() for call in calls(uv) if call[0] == "venv")


@pytest.mark.large
def test_a_recorded_reproduction_is_what_the_rule_may_claim(capsys: pytest.CaptureFixture[str], tmp_path: Path, uv: Path) -> None:
    rule = write_rule(tmp_path, CLAIM, REPRODUCTION)
    ran = run(capsys, "rules", "reproduce", "library-broken", "--rules", str(tmp_path), "--record")
    assert ran.status == 0
    assert "  confidence is now reproduced\n" in ran.out
    assert 'confidence = "reproduced"   # earned, not chosen\n' in rule.read_text(encoding="utf-8")
    assert json.loads((tmp_path / "library-broken.ledger.json").read_text(encoding="utf-8"))["reproduced"]["result"] == "reproduced"
    assert run(capsys, "rules", "lint", str(rule)).status == 0

    (uv / "peft-0.11.1.py").write_text("", encoding="utf-8")
    ran = run(capsys, "rules", "reproduce", str(rule), "--record", "--format", "json")
    assert ran.status == 1
    assert ran.json["reproductions"][0]["rule"] == "library-broken"
    assert ran.json["reproductions"][0]["why"] == "the bad environment does not show it: exit status 0"
    assert 'confidence = "cited"   # earned, not chosen\n' in rule.read_text(encoding="utf-8")


def test_what_could_not_be_built_is_not_recorded(capsys: pytest.CaptureFixture[str], tmp_path: Path, uv: Path) -> None:
    (uv / "peft-0.12.0.py").unlink()
    rule = write_rule(tmp_path, REPRODUCTION)
    before = rule.read_bytes()
    ran = run(capsys, "rules", "reproduce", str(rule), "--record")
    assert ran.status == 1
    assert ran.out.splitlines() == [
        "not run         library-broken",
        "                uv pip: x No solution found when resolving dependencies: Because there is no version of peft==0.12.0",
        "1 rules: 0 reproduced, 0 not reproduced, 1 not run",
    ]
    assert rule.read_bytes() == before
    assert not (tmp_path / "library-broken.ledger.json").exists()


@pytest.mark.large
def test_environments_that_are_kept_are_used_again_unless_unfinished(tmp_path: Path, uv: Path) -> None:
    build = UvBuilder(tmp_path / "kept")
    first = build("3.11", ["peft==0.12.0"])
    assert build("3.11", ["peft==0.12.0"]) == first
    assert first.installed == {"peft": "0.12.0"}
    assert len(calls(uv)) == 2
    build("3.11", ["peft==0.11.1"])
    assert len(calls(uv)) == 4
    (first.interpreter.parent.parent / "finished").unlink()
    assert build("3.11", ["peft==0.12.0"]) == first
    assert len(calls(uv)) == 6


@pytest.mark.large
def test_pins_that_hold_against_what_packages_declare_and_packages_without_what_they_require(tmp_path: Path, uv: Path) -> None:
    build = UvBuilder(tmp_path / "kept")
    built = build("3.11", ["peft==0.12.0", "peft==0.11.1"], forced=True)
    told = calls(uv)[-1]
    overrides = Path(told[told.index("--override") + 1])
    assert overrides.read_text(encoding="utf-8") == "peft==0.12.0\npeft==0.11.1\n"
    bare = build("3.11", ["peft==0.12.0"], bare=["Peft"])
    assert calls(uv)[-1][:2] == ["pip", "install"]
    assert "--no-deps" in calls(uv)[-1]
    assert build("3.11", ["peft==0.12.0"]).interpreter not in (built.interpreter, bare.interpreter)


def test_the_script_without_the_fault_may_stand_for_other_pins(tmp_path: Path) -> None:
    text = REPRODUCTION.replace('good   = ["peft==0.12.0"]', 'healthy = "print(1)"')
    entry = reproduced(tmp_path, BROKEN, "", text)
    assert (entry["result"], entry["good"]) == (
        "reproduced",
        {"pins": ["peft==0.11.1"], "installed": {"peft": "0.11.1"}, "seen": "exit status 0"},
    )
    worse = reproduced(tmp_path / "again", BROKEN, "", text.replace("print(1)", "import peft"))
    assert worse["why"] == "the good environment shows it as well: ImportError: the library is broken"


def test_an_interpreter_that_does_not_answer(tmp_path: Path) -> None:
    with pytest.raises(NotBuiltError, match="the interpreter does not answer"):
        describe(tmp_path / "python")


def test_uv_is_told_where_pip_finds_wheels() -> None:
    told = uv_environ(
        {"PIP_FIND_LINKS": "/wheels https://example.org/links", "PIP_INDEX_URL": "https://example.org/simple", "VIRTUAL_ENV": "/venv"}
    )
    assert told["UV_FIND_LINKS"] == "/wheels,https://example.org/links"
    assert told["UV_DEFAULT_INDEX"] == "https://example.org/simple"
    assert "VIRTUAL_ENV" not in told
    assert uv_environ({"PIP_FIND_LINKS": "/wheels", "UV_FIND_LINKS": "/other"})["UV_FIND_LINKS"] == "/other"


def test_reproduce_of_everything_or_of_rules_that_can_be(capsys: pytest.CaptureFixture[str], tmp_path: Path, uv: Path) -> None:
    ran = run(capsys, "rules", "reproduce")
    assert (ran.status, "expected rules, or --all" in ran.err) == (2, True)
    assert run(capsys, "rules", "reproduce", "--all", "--offline").status == 2
    rule = write_rule(tmp_path)
    ran = run(capsys, "rules", "reproduce", str(rule))
    assert (ran.status, f"{rule}: found no [reproduction]" in ran.err) == (2, True)
    ran = run(capsys, "rules", "reproduce", str(tmp_path))
    assert (ran.status, ran.out) == (0, "0 rules: 0 reproduced, 0 not reproduced, 0 not run\n")


@pytest.mark.network
def test_reproduce_on_the_real_index(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule = tmp_path / "packaging-no-legacy-version.toml"
    rule.write_text(
        f"""
id = "packaging-no-legacy-version"
title = "LegacyVersion is gone"
severity = "error"
effect = "crash"
confidence = "cited"
details = "Gone in 22.0."
[affected]
packages = ["packaging >=22"]
[[fix]]
pin = "packaging <22"
[[evidence]]
url = "https://packaging.pypa.io/en/stable/changelog.html"
kind = "release-notes"
says = "The class was removed."
[reproduction]
python = "{sys.version_info.major}.{sys.version_info.minor}"
bad = ["packaging==22.0"]
good = ["packaging==21.3"]
run = "from packaging.version import LegacyVersion"
shows = "cannot import name 'LegacyVersion'"
""",
        encoding="utf-8",
    )
    ran = run(capsys, "rules", "reproduce", str(rule), "--record", "--format", "json")
    assert ran.status == 0, ran.out
    entry = ran.json["reproductions"][0]
    assert entry["bad"]["installed"] == {"packaging": "22.0"}
    assert entry["bad"]["seen"] == "ImportError: cannot import name 'LegacyVersion' from 'packaging.version' (version.py)"
    assert entry["good"] == {"pins": ["packaging==21.3"], "installed": {"packaging": "21.3"}, "seen": "exit status 0"}
    assert 'confidence = "reproduced"' in rule.read_text(encoding="utf-8")
