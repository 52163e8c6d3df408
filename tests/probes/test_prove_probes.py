"""The command that runs probes in real environments: what it reads, what it says of what it saw, and the pages that it keeps."""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.probes.probe import Probe
from envdoctor.probes.registry import PROBES
from envdoctor.rules.ledger import subject
from envdoctor.uv.environments import Environment, NotBuiltError, describe

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = ROOT / "scripts"
DOCS = ROOT / "docs" / "probes"

sys.path.insert(0, str(SCRIPTS))
try:
    files: Any = importlib.import_module("probe_pair_files")
    pages: Any = importlib.import_module("probe_pages")
    prover: Any = importlib.import_module("prove_probes")
finally:
    sys.path.remove(str(SCRIPTS))

WHOLE = """
[[pair]]
rule = "peft-fp16-adapter-nan"
bad = ["peft==0.11.1"]
good = ["peft==0.12.0"]
extra = ["torch==2.13.0"]
python = "3.12"
expected = { good = "inconclusive" }
[pair.facts.plan]
method = "lora"
batch_size = 2
[pair.bad_facts]
plan.modules_to_save = ["lm_head"]
plan.batch_size = 4
[[pair]]
rule = ["sdpa-half", "sdpa-left"]
bad = ["transformers==4.48.0", "numpy<2"]
good = ["transformers>=4.50"]
gpu = true
"""


def written(directory: Path, text: str | bytes, name: str = "lora-step.toml") -> Path:
    path = directory / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_file_of_pairs_is_read(tmp_path: Path) -> None:
    first, second = files.read_pairs(written(tmp_path, WHOLE))
    assert first.stated() == {
        "probe": "lora-step",
        "rules": ["peft-fp16-adapter-nan"],
        "python": "3.12",
        "extra": ["torch==2.13.0"],
        "gpu": False,
        "bad": {
            "pins": ["peft==0.11.1"],
            "facts": {"plan.method": "lora", "plan.batch_size": 4, "plan.modules_to_save": ["lm_head"]},
            "expected": "confirmed",
        },
        "good": {"pins": ["peft==0.12.0"], "facts": {"plan.method": "lora", "plan.batch_size": 2}, "expected": "inconclusive"},
    }
    assert second.stated() == {
        "probe": "lora-step",
        "rules": ["sdpa-half", "sdpa-left"],
        "python": "3.11",
        "extra": [],
        "gpu": True,
        "bad": {"pins": ["transformers==4.48.0", "numpy<2"], "facts": {}, "expected": "confirmed"},
        "good": {"pins": ["transformers>=4.50"], "facts": {}, "expected": "refuted"},
    }


PAIR = '[[pair]]\nrule = "a-rule"\nbad = ["peft==1"]\ngood = ["peft==2"]\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "found nothing; expected tables [[pair]] and nothing else"),
        (b"\xff\xfe[[pair]]", "found bytes that are not UTF-8"),
        (b"[[pair]", "found no TOML"),
        (b"pair = " + b"[" * 100_000, "found no TOML"),
        (b"pair = 1", "found pair; expected tables [[pair]]"),
        (b"pair = [1]", "pair 1: found 1; expected a table"),
        (f'title = "x"\n{PAIR}', "found pair, title; expected tables [[pair]]"),
        (PAIR + "shows = 1", "pair 1: shows: found an unknown key; expected rule, bad, good"),
        (PAIR.replace('rule = "a-rule"', ""), "pair 1: rule: found nothing; expected the id of a rule"),
        (PAIR.replace('"a-rule"', '"A rule"'), "pair 1: rule: found 'A rule'; expected the id"),
        (PAIR.replace('"a-rule"', '"../../etc"'), "pair 1: rule: found '../../etc'"),
        (PAIR.replace('"a-rule"', "[]"), "pair 1: rule: found []"),
        (PAIR.replace('["peft==1"]', '"peft==1"'), "pair 1: bad: found 'peft==1'; expected a list of pins"),
        (PAIR.replace('["peft==1"]', '["peft"]'), "pair 1: bad: found 'peft'; expected a list of pins"),
        (PAIR.replace('["peft==2"]', '["--index-url=https://x.example"]'), "pair 1: good: found '--index-url="),
        (PAIR.replace('["peft==2"]', '["peft @ file:///etc/x.whl"]'), "pair 1: good: found 'peft @ file"),
        (PAIR.replace('["peft==2"]', "[]"), "pair 1: good: found []"),
        (PAIR + "extra = [1]", "pair 1: extra: found 1"),
        (PAIR + 'python = "--version"', "pair 1: python: found '--version'"),
        (PAIR + "python = 3.11", "pair 1: python: found 3.11; expected a Python version"),
        (PAIR + "gpu = 1", "pair 1: gpu: found 1; expected true or false"),
        (PAIR + "facts = 1", "pair 1: facts: found 1; expected a table of facts"),
        (PAIR + "facts.plan.metod = 1", "pair 1: facts: plan.metod: found 1; expected a fact of the vocabulary"),
        (PAIR + 'good_facts.plan.batch_size = "many"', "pair 1: good_facts: plan.batch_size: found 'many'"),
        (PAIR + 'facts.packages.peft = "0.1"', "pair 1: facts: packages.peft: found a package; expected packages as pins"),
        (PAIR + 'expected = "confirmed"', "pair 1: expected: found 'confirmed'; expected a table"),
        (PAIR + "expected.bad = 1", "pair 1: expected: found {'bad': 1}"),
        (PAIR + "expected.bad = []", "pair 1: expected: found {'bad': []}"),
        (PAIR + 'expected.ugly = "refuted"', "pair 1: expected: found {'ugly': 'refuted'}"),
        (PAIR + PAIR + "gpu = 0", "pair 2: gpu: found 0"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, text: str | bytes, told: str) -> None:
    with pytest.raises(EnvdoctorError) as error:
        files.read_pairs(written(tmp_path, text))
    assert told in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "lora-step.toml"))
    assert len(str(error.value)) < 1000


_leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_known = st.sampled_from(["peft==1", "a-rule", "confirmed", "3.11", "peft @ x"])
_names = st.sampled_from(["plan", "method", "bad", "good"]) | st.text()
_values = st.recursive(
    _leaves | _known, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3), max_leaves=6
)


@given(st.dictionaries(st.sampled_from(files._KEYS), _values))
def test_whatever_a_table_holds_it_is_a_pair_or_an_error(entry: dict[str, Any]) -> None:
    whole = {"rule": "a-rule", "bad": ["peft==1"], "good": ["peft==2"], **entry}
    with contextlib.suppress(EnvdoctorError):
        stated = files._pair("lora-step", whole, "here").stated()
        assert stated["bad"]["pins"] == whole["bad"]
        assert subject(stated) == subject(json.loads(json.dumps(stated)))


@pytest.mark.parametrize("path", sorted(files_path for files_path in (SCRIPTS / "probe_pairs").glob("*.toml")), ids=lambda path: path.stem)
def test_the_pairs_here_are_of_probes_and_rules_that_exist(path: Path) -> None:
    known = prover.probes()
    rules = {rule.stem for rule in (ROOT / "rules").glob("*/*.toml")}
    for pair in files.read_pairs(path):
        assert pair.probe in known
        assert set(pair.rules) <= rules


@pytest.mark.parametrize(("name", "page"), [("pairs", pages.pairs_page), ("healthy", pages.healthy_page)])
def test_the_pages_are_made_of_the_rows_beside_them(name: str, page: Any) -> None:
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == page(prover.kept(DOCS / f"{name}.json"))


def side(pin: str, verdict: str, **facts: object) -> dict[str, Any]:
    return {"pins": [pin], "facts": facts, "expected": verdict, "verdict": verdict, "seconds": 4.0, "reason": "r", "python": "3.11.7"}


def row(**changed: Any) -> dict[str, Any]:
    shown = {
        "probe": "lora-step",
        "rules": ["a-rule"],
        "python": "3.11",
        "extra": ["torch==2.13.0"],
        "date": "2026-01-02",
        "result": "shown",
    }
    return shown | {"bad": side("peft==1", "confirmed"), "good": side("peft==2", "refuted")} | changed


def test_the_page_of_pairs() -> None:
    planned = row(
        rules=["a-rule", "b-rule"],
        bad=side("peft==1", "confirmed", **{"plan.attn": "sdpa", "plan.batch_size": 2}),
        good=side("peft==1", "refuted", **{"plan.attn": "sdpa"}),
    )
    missed = row(probe="a-probe", result="not shown", good=side("peft==2", "inconclusive"), why="good: inconclusive: no | <GPU>")
    unbuilt = row(
        result="not built", bad={"pins": ["peft==1"], "facts": {}}, good={"pins": ["peft==2"], "facts": {}}, why="bad: no such release"
    )
    assert pages.pairs_page([row(), planned, unbuilt, missed]).partition("bytecode.\n")[2] == (
        """
## `a-probe`

| rule | bad -> verdict, s | good -> verdict, s | on both | date, Python |
|---|---|---|---|---|
| `a-rule` | `peft==1` -> **confirmed**, 4 | `peft==2` -> **inconclusive**, 4 | `torch==2.13.0` | 2026-01-02, 3.11.7 |

- not shown: `a-rule`: good: inconclusive: no \\| &lt;GPU>

## `lora-step`

| rule | bad -> verdict, s | good -> verdict, s | on both | date, Python |
|---|---|---|---|---|
| `a-rule` | `peft==1` -> **confirmed**, 4 | `peft==2` -> **refuted**, 4 | `torch==2.13.0` | 2026-01-02, 3.11.7 |
| `a-rule`, `b-rule` | `peft==1`, `plan.batch_size = 2` -> **confirmed**, 4 | `peft==1` -> **refuted**, 4 |"""
        """ `torch==2.13.0`, `plan.attn = "sdpa"` | 2026-01-02, 3.11.7 |
| `a-rule` | `peft==1` -> not built | `peft==2` -> not built | `torch==2.13.0` | 2026-01-02, 3.11 |

- not built: `a-rule`: bad: no such release
"""
    )


def verdict(said: str, **changed: Any) -> dict[str, Any]:
    found = {"stack": "old", "probe": "lora-step", "plan": "nothing stated", "python": "3.11.7", "seconds": 4.25, "date": "2026-01-02"}
    return found | {"installed": {"peft": "0.12.0", "torch": "2.13.0+cpu"}, "verdict": said, "reason": "losses stay finite"} | changed


def test_the_page_of_healthy_stacks_names_a_false_alarm() -> None:
    rows = [verdict("refuted"), verdict("inconclusive", probe="nccl", reason="no GPU"), verdict("confirmed", stack="newest")]
    page = pages.healthy_page(rows)
    assert "2 of 3 verdicts are what a healthy stack may get" in page
    assert page.partition("left out.\n")[2] == (
        """
## old

peft 0.12.0, torch 2.13.0+cpu; Python 3.11.7

| probe | plan | verdict | s | reason | date |
|---|---|---|---|---|---|
| `lora-step` | nothing stated | refuted | 4.25 | losses stay finite | 2026-01-02 |
| `nccl` | nothing stated | inconclusive | 4.25 | no GPU | 2026-01-02 |

## newest

peft 0.12.0, torch 2.13.0+cpu; Python 3.11.7

| probe | plan | verdict | s | reason | date |
|---|---|---|---|---|---|
| `lora-step` | nothing stated | **confirmed: a false alarm** | 4.25 | losses stay finite | 2026-01-02 |
"""
    )


@pytest.mark.parametrize(
    ("said", "reason", "fine"),
    [("refuted", "", True), ("inconclusive", "no GPU", True), ("inconclusive", " ", False), ("confirmed", "no GPU", False)],
)
def test_what_a_healthy_stack_may_get(said: str, reason: str, fine: bool) -> None:
    assert pages.healthy(verdict(said, reason=reason)) is fine


def cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) - 1


@given(st.text(max_size=40))
def test_no_text_breaks_a_table_or_a_line(text: str) -> None:
    page = pages.healthy_page([verdict("refuted", reason=text)])
    assert [cells(line) for line in page.splitlines() if line.startswith("|")] == [6, 6, 6]
    page = pages.pairs_page([row(rules=[text], extra=[text], bad=side(text, "confirmed", **{"model.id": text}))])
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert [cells(line) for line in lines] == [5, 5, 5]
    assert lines[-1].count("`") % 2 == 0


def test_no_page_names_a_directory_of_this_machine() -> None:
    page = pages.healthy_page([verdict("inconclusive", reason="no file /home/someone/envs/lib/x.so")])
    assert "no file x.so" in page
    assert "someone" not in page
    measured = {"error": {"message": "\x1b[1mno file /home/someone/x.so"}, "files": ["/home/someone/a.bin", 2, None], "loss": 0.5}
    assert prover.placeless(measured) == {"error": {"message": "no file x.so"}, "files": ["a.bin", 2, None], "loss": 0.5}


def test_rows_of_probes_that_were_not_run_stay() -> None:
    before = [row(date="old"), row(probe="other", date="old"), row(probe="gone")]
    now = [row(date="new"), row(date="new", rules=["b-rule"])]
    told = prover.merged(before, now, ["lora-step", "other"])
    assert [(r["probe"], r["rules"], r["date"]) for r in told] == [
        ("lora-step", ["a-rule"], "new"),
        ("lora-step", ["b-rule"], "new"),
        ("other", ["a-rule"], "old"),
    ]


def test_stacks_stay_in_their_order() -> None:
    rows = [verdict("refuted", stack=stack, pins=list(prover.STACKS[stack])) for stack in ("newest", "old", "middle")]
    assert [r["stack"] for r in prover.merged(rows[:2], [], ["lora-step"])] == ["old", "newest"]
    assert [r["stack"] for r in prover.merged([], rows, ["lora-step"])] == ["old", "middle", "newest"]


def test_a_stack_that_was_not_run_stays_unless_its_pins_have_changed() -> None:
    old, newest = (list(prover.STACKS[stack]) for stack in ("old", "newest"))
    now = [verdict("refuted", stack="old", pins=old, date="new")]
    before = [verdict("confirmed", stack="old", pins=old), verdict("refuted", stack="newest", pins=newest)]
    kept = [(r["stack"], r["date"]) for r in prover.merged(before, now, ["lora-step"])]
    assert kept == [("old", "new"), ("newest", "2026-01-02")]
    before = [verdict("refuted", stack="newest", pins=["transformers==1"])]
    assert [r["stack"] for r in prover.merged(before, now, ["lora-step"])] == ["old"]


CHILD = """
def run(params, stage):
    return {"versions": {}, "ill": params["ill"]}
"""


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[str]:
    """A probe that finds the fault where the plan states more than one row."""
    script = tmp_path / "toy.py"
    script.write_text(CHILD, encoding="utf-8")
    PROBES["toy"] = Probe(
        name="toy",
        shows="a toy",
        needs=(),
        cost="nothing",
        script=script,
        parameters=lambda facts: {"ill": facts.value("plan.batch_size") != 1} if "plan.batch_size" in facts else "no batch size",
        judge=lambda measured, params: ("confirmed" if measured["ill"] else "refuted", f"read {script}"),
        timeout=60,
        memory_bytes=1 << 30,
    )
    yield "toy"
    del PROBES["toy"]


def here(python: str, pins: Any) -> Environment:
    return describe(Path(sys.executable))


PLANNED = PAIR + "good_facts.plan.batch_size = 1\nbad_facts.plan.batch_size = 2\n"


def test_both_sides_are_run_with_their_facts(toy: str, tmp_path: Path) -> None:
    pair = files.read_pairs(written(tmp_path, PLANNED, "toy.toml"))[0]
    told = prover.prove(pair, here, gpu=None)
    assert told["result"] == "shown"
    assert {side: (told[side]["verdict"], told[side]["reason"]) for side in ("bad", "good")} == {
        "bad": ("confirmed", "read toy.py"),
        "good": ("refuted", "read toy.py"),
    }
    assert prover.stale([pair], [told]) == []
    assert json.loads(json.dumps(told)) == told


@pytest.mark.large
def test_a_side_that_says_something_else_is_told(toy: str, tmp_path: Path) -> None:
    pair = files.read_pairs(written(tmp_path, PLANNED.replace("batch_size = 1", "batch_size = 3"), "toy.toml"))[0]
    told = prover.prove(pair, here, gpu=None)
    assert (told["result"], told["why"]) == ("not shown", "good: confirmed, expected refuted: read toy.py")
    assert prover.stale([pair], [told]) == ["toy: peft==1: not shown"]
    unplanned = files.read_pairs(written(tmp_path, PAIR, "toy.toml"))[0]
    told = prover.prove(unplanned, here, gpu=None)
    assert told["why"] == "bad: inconclusive, expected confirmed: no batch size; good: inconclusive, expected refuted: no batch size"
    assert prover.stale([pair], [told]) == ["toy: peft==1: never run"]


def test_a_pair_that_cannot_be_run_is_told(toy: str, tmp_path: Path) -> None:
    def refuse(python: str, pins: Any) -> Environment:
        raise NotBuiltError("uv pip: no version of peft in /home/someone/wheels")

    pair = files.read_pairs(written(tmp_path, PAIR, "toy.toml"))[0]
    told = prover.prove(pair, refuse, gpu=None)
    assert (told["result"], told["why"]) == ("not built", "bad: uv pip: no version of peft in wheels")
    pair = files.read_pairs(written(tmp_path, PAIR + "gpu = true", "toy.toml"))[0]
    told = prover.prove(pair, refuse, gpu=None)
    assert (told["result"], told["why"]) == ("not run", "it needs a GPU, and none is here")


def test_a_pair_for_a_gpu_names_the_one_it_ran_on(toy: str, tmp_path: Path) -> None:
    pair = files.read_pairs(written(tmp_path, "[[pair]]\ngpu = true" + PLANNED.removeprefix("[[pair]]"), "toy.toml"))[0]
    told = prover.prove(pair, here, gpu="NVIDIA H100")
    assert (told["result"], told["device"]) == ("shown", "NVIDIA H100")
    assert prover.stale([pair], [told]) == []


def test_a_plan_that_changes_nothing_is_run_once(toy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = {
        "none": {},
        "one": {"plan.batch_size": 1},
        "the same": {"plan.batch_size": 1, "plan.attn": "sdpa"},
        "two": {"plan.batch_size": 2},
    }
    monkeypatch.setattr(prover, "PLANS", plans)
    rows = list(prover.examine("old", ["pytest>=1"], [toy], here))
    assert [(row["plan"], row["verdict"], row["reason"], pages.healthy(row)) for row in rows] == [
        ("none", "inconclusive", "no batch size", True),
        ("one", "refuted", "read toy.py", True),
        ("two", "confirmed", "read toy.py", False),
    ]
    assert rows[0]["installed"] == {"pytest": pytest.__version__}


def test_the_probes_are_those_of_the_registry_and_of_every_module() -> None:
    known = prover.probes()
    assert "lora-step" in known
    modules = {path.stem for path in (ROOT / "envdoctor" / "probes").glob("*.py") if "\nPROBE = " in path.read_text(encoding="utf-8")}
    assert {name.replace("-", "_") for name in known} >= modules
