"""What pairs of probed stacks show of the rules that they name, and what is written beside these."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.files.toml import read_toml
from envdoctor.probes.registry import PROBES
from envdoctor.rules.ledger import Ledger, accusation, ledger_path, read_ledger, subject, write_ledger
from envdoctor.rules.lint import lint_confidence
from tests.rule_files import write_rule

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = ROOT / "scripts"

sys.path.insert(0, str(SCRIPTS))
try:
    ledgers: Any = importlib.import_module("probe_ledgers")
    files: Any = importlib.import_module("probe_pair_files")
    prover: Any = importlib.import_module("prove_probes")
finally:
    sys.path.remove(str(SCRIPTS))

KEPT = prover.kept(prover.DOCS / "pairs.json")


def side(verdict: str, facts: dict[str, object] | None = None, **installed: str) -> dict[str, Any]:
    return {
        "pins": [f"{name}=={version}" for name, version in installed.items()],
        "facts": facts or {},
        "expected": verdict,
        "python": "3.11.7",
        "installed": installed,
        "verdict": verdict,
        "reason": f"it is {verdict}",
        "seconds": 2.25,
        "measured": {"versions": installed},
    }


def row(**changed: Any) -> dict[str, Any]:
    """A pair about the rule of `write_rule`, which accuses peft from 0.7 to before 0.12."""
    shown = {
        "subject": "0123456789abcdef",
        "probe": "lora-step",
        "rules": ["library-broken"],
        "extra": ["numpy<2"],
        "gpu": False,
        "date": "2026-01-31",
        "platform": "Linux x86_64",
        "result": "shown",
        "bad": side("confirmed", {"plan.method": "lora"}, peft="0.11.1"),
        "good": side("refuted", peft="0.12.0"),
    }
    return shown | changed


def of(rule: Path, *rows: dict[str, Any]) -> Any:
    return ledgers.change(rule, rows, ROOT)


def test_a_pair_that_the_rule_agrees_with_is_kept_beside_it(tmp_path: Path) -> None:
    rule = write_rule(tmp_path)
    assert ledgers.record(of(rule, row())) == "library-broken: cited -> reproduced"
    assert json.loads(ledger_path(rule).read_text(encoding="utf-8")) == {
        "probed": {
            "subject": accusation(read_toml(rule)),
            "probe": "lora-step",
            "date": "2026-01-31",
            "python": "3.11.7",
            "platform": "Linux x86_64",
            "seconds": 4.5,
            "result": "shown",
            "bad": {
                "pins": ["peft==0.11.1", "numpy<2"],
                "facts": {"plan.method": "lora"},
                "installed": {"peft": "0.11.1"},
                "seen": "lora-step: confirmed: it is confirmed",
            },
            "good": {
                "pins": ["peft==0.12.0", "numpy<2"],
                "facts": {},
                "installed": {"peft": "0.12.0"},
                "seen": "lora-step: refuted: it is refuted",
            },
        }
    }
    assert lint_confidence(rule) == []
    before = rule.read_bytes(), ledger_path(rule).read_bytes()
    assert ledgers.record(of(rule, row())) == "library-broken: reproduced"
    assert (rule.read_bytes(), ledger_path(rule).read_bytes()) == before


DISAGREEMENTS: list[tuple[str, dict[str, Any]]] = [
    ("lora-step: good: the rule holds there", {"good": side("refuted", peft="0.11.0")}),
    ("lora-step: bad: the rule does not hold there", {"bad": side("confirmed", peft="0.12.0")}),
    ("lora-step: good: whether the rule holds cannot be told: state packages.peft", {"good": side("refuted", numpy="1.26.4")}),
    ("lora-step: bad: of this rule the probe says inconclusive, not confirmed: ", {"bad": side("inconclusive", peft="0.11.1")}),
    ("lora-step: good: of this rule the probe says inconclusive, not refuted: ", {"good": side("inconclusive", peft="0.12.0")}),
    # An experiment that can meet many faults, and met one that is not of this rule's symptoms.
    ("same-architecture: bad: of this rule the probe says inconclusive, not confirmed: ", {"probe": "same-architecture"}),
]


@pytest.mark.parametrize(("objection", "changed"), DISAGREEMENTS, ids=[objection for objection, _ in DISAGREEMENTS])
def test_a_pair_that_the_rule_disagrees_with_counts_for_nothing(tmp_path: Path, objection: str, changed: dict[str, Any]) -> None:
    rule = write_rule(tmp_path)
    told = of(rule, row(**changed))
    assert (told.level, told.ledger.probed) == ("cited", None)
    assert len(told.objections) == 1
    assert told.objections[0].startswith(objection)
    # Another pair may still count.
    assert of(rule, row(**changed), row(subject="other")).level == "reproduced"


def test_a_pair_that_was_not_shown_outweighs_one_that_was(tmp_path: Path) -> None:
    rule = write_rule(tmp_path)
    ledgers.record(of(rule, row()))
    missed = row(result="not shown", bad=side("refuted", peft="0.8.2"), why="bad: refuted, expected confirmed: it is refuted")
    assert ledgers.record(of(rule, row(), missed)) == "library-broken: reproduced -> cited"
    probed = read_ledger(rule).probed
    assert probed is not None
    assert (probed["result"], probed["why"]) == ("not shown", missed["why"])
    # Of another stack than the rule's it says nothing.
    elsewhere = row(result="not shown", bad=side("refuted", peft="0.13.0"), why="bad: refuted")
    assert ledgers.record(of(rule, row(), elsewhere)) == "library-broken: cited -> reproduced"


@pytest.mark.parametrize("result", ["not run", "not built"])
def test_what_was_not_run_leaves_the_ledger(tmp_path: Path, result: str) -> None:
    rule = write_rule(tmp_path)
    ledgers.record(of(rule, row()))
    bare = {"pins": ["peft==0.11.1"], "facts": {}, "expected": "confirmed"}
    told = of(rule, row(result=result, bad=bare, good=bare, why="it needs a GPU"))
    assert told.ledger == told.before
    assert told.ledger.probed is not None


def test_a_gpu_is_named_and_counts_as_one(tmp_path: Path) -> None:
    rule = write_rule(tmp_path)
    rule.write_text(rule.read_text(encoding="utf-8").replace("[affected]\n", '[affected]\naccelerator = "cuda"\n'), encoding="utf-8")
    assert of(rule, row()).objections == ("lora-step: bad: whether the rule holds cannot be told: state accelerator",)
    assert ledgers.record(of(rule, row(gpu=True, device="NVIDIA H100 80GB HBM3"))) == "library-broken: cited -> reproduced-gpu"
    assert (read_ledger(rule).probed or {})["gpu"] == "NVIDIA H100 80GB HBM3"


def test_an_entry_goes_with_its_pair_and_with_its_condition(tmp_path: Path) -> None:
    rule = write_rule(tmp_path)
    ledgers.record(of(rule, row()))
    rule.write_text(rule.read_text(encoding="utf-8").replace("<0.12", "<0.12.1"), encoding="utf-8")
    assert [str(error).partition("; expected ")[0] for error in lint_confidence(rule)] == [f"{rule}: confidence: found 'reproduced'"]
    assert [ledgers.record(told) for told in ledgers.changes({rule.stem: rule}, [row()], ROOT)] == ["library-broken: reproduced -> cited"]
    assert read_ledger(rule).probed is None
    write_ledger(rule, Ledger(probed={"result": "shown"}))
    assert [told.ledger.probed for told in ledgers.changes({rule.stem: rule}, [], ROOT)] == [None]


def test_only_rules_of_the_probes_named(tmp_path: Path) -> None:
    rules = {"library-broken": write_rule(tmp_path)}
    named = [[told.path for told in ledgers.changes(rules, [row()], ROOT, probes)] for probes in ([], ["lora-step"], ["save-load"])]
    assert named == [[rules["library-broken"]], [rules["library-broken"]], []]


def test_ledgers_are_recorded_and_compared_by_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rule = write_rule(tmp_path)
    path = tmp_path / "lora-step.toml"
    path.write_text('[[pair]]\nrule = "library-broken"\nbad = ["peft==0.11.1"]\ngood = ["peft==0.12.0"]\n', encoding="utf-8")
    stated = files.read_pairs(path)[0].stated()
    kept = [row(**{**stated, **{key: {**row()[key], **stated[key]} for key in ("bad", "good")}}, subject=subject(stated))]
    (tmp_path / "pairs.json").write_text(json.dumps([*kept, row(subject="of a pair that is gone", result="not shown")]), encoding="utf-8")
    for name, place in {"PAIRS": tmp_path, "DOCS": tmp_path, "RULES": tmp_path / "rules"}.items():
        monkeypatch.setattr(prover, name, place)
    (tmp_path / "rules").mkdir()
    rule = rule.rename(tmp_path / "rules" / rule.name)

    def ask(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["prove_probes.py", *words])
        return prover.main(), capsys.readouterr().out

    assert ask("--check") == (1, "library-broken: its ledger is of other results\nrun python scripts/prove_probes.py --record\n")
    assert ask("--record", "lora-step") == (0, "library-broken: cited -> reproduced\n")
    assert ask("--check") == (0, "docs/probes/pairs.md and the ledgers are of these pairs\n")
    assert read_toml(rule)["confidence"] == "reproduced"


def test_shipped_ledgers_are_what_the_results_make_of_them() -> None:
    told = list(prover._changes([], prover.probes()))
    assert prover.unrecorded(told) == []
    assert sum(change.ledger.probed is not None for change in told) > 20


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept['probe']} {' '.join(kept['bad']['pins'])} {kept['rules'][0]}")
def test_what_a_probe_does_of_itself_changes_nothing_of_what_it_runs(kept: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    probe = prover.consented(PROBES[kept["probe"]])
    for name in ("bad", "good"):
        if "installed" in kept[name]:
            told = probe.parameters(ledgers.stack(kept, name, ROOT))
            monkeypatch.setattr(ledgers, "DOES", {})
            assert told == probe.parameters(ledgers.stack(kept, name, ROOT))
            monkeypatch.undo()


VERSIONS = st.sampled_from(["0.6.2", "0.7.0", "0.11.1", "0.12.0", "0.21.2"])


@given(VERSIONS, VERSIONS, st.sampled_from(["confirmed", "refuted", "inconclusive"]), st.sampled_from(["shown", "not shown", "not run"]))
def test_a_rule_is_reproduced_only_by_what_confirms_it(
    tmp_path_factory: pytest.TempPathFactory, bad: str, good: str, said: str, result: str
) -> None:
    rule = write_rule(tmp_path_factory.getbasetemp())
    told = of(rule, row(bad=side(said, peft=bad), good=side("refuted", peft=good), result=result))
    accused = ("0.7.0", "0.11.1")
    proves = bad in accused and good not in accused and said == "confirmed" and result == "shown"
    assert told.level == ("reproduced" if proves else "cited")
