"""Floors that libraries keep in their own code, read from files as they are released."""

from __future__ import annotations

from pathlib import Path

from envdoctor.checks.hit import Hit
from envdoctor.checks.soft_minimums import soft_minimums
from envdoctor.engine.diagnosis import diagnose
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.sources.machine.interpreter import Installed
from envdoctor.sources.machine.site_packages import Distribution


def installed(site: Path, *packages: tuple[str, str | None, tuple[str, ...]]) -> Installed:
    distributions = tuple(
        Distribution(name, version, requires, site / f"{name.replace('-', '_')}-{version}.dist-info")
        for name, version, requires in packages
    )
    return Installed(".venv", "3.11.7", "cpython", "linux", "x86_64", (site,), distributions)


def write(site: Path, file: str, text: str) -> Path:
    path = site / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_companion_below_the_constant_of_a_library_is_named_with_file_and_line(tmp_path: Path) -> None:
    # As in transformers 5.0.0.
    path = write(
        tmp_path,
        "transformers/utils/import_utils.py",
        'import os\n\nACCELERATE_MIN_VERSION = "1.1.0"\nBITSANDBYTES_MIN_VERSION = "0.46.1"\nFSDP_MIN_VERSION = "1.12.0"\n',
    )
    found = soft_minimums(
        installed(
            tmp_path, ("transformers", "5.0.0", ()), ("accelerate", "1.1.0", ()), ("bitsandbytes", "0.45.0", ()), ("torch", "1.11", ())
        )
    )
    assert found == (
        Hit(
            "soft-minimum-unmet",
            True,
            because=(("packages.transformers", "BITSANDBYTES_MIN_VERSION = 0.46.1"), ("packages.bitsandbytes", "not >=0.46.1")),
            detail="transformers 5.0.0 asks for bitsandbytes>=0.46.1 when it uses it, and bitsandbytes 0.45.0 is installed",
            packages=("transformers", "bitsandbytes"),
            pins=(("bitsandbytes", ">=0.46.1"),),
            file=str(path),
            line=4,
            yields=True,
        ),
    )


def test_a_floor_inside_a_function_counts(tmp_path: Path) -> None:
    # As in peft 0.17.1.
    write(
        tmp_path,
        "peft/import_utils.py",
        'def is_auto_gptq_available():\n    if found():\n        AUTOGPTQ_MINIMUM_VERSION = packaging.version.parse("0.5.0")\n',
    )
    old, new = ("peft", "0.17.1", ()), ("auto-gptq", "0.4.2", ())
    [hit] = soft_minimums(installed(tmp_path, old, new))
    assert (hit.packages, hit.line) == (("peft", "auto-gptq"), 3)
    assert soft_minimums(installed(tmp_path, old, ("auto-gptq", "0.5.0", ()))) == ()


def test_a_library_whose_files_cannot_be_read_or_are_no_text_says_nothing(tmp_path: Path) -> None:
    stack = installed(tmp_path, ("transformers", "5.0.0", ()), ("peft", "0.1.0", ()), ("bitsandbytes", None, ()))
    assert soft_minimums(stack) == ()
    (tmp_path / "transformers/utils").mkdir(parents=True)
    (tmp_path / "transformers/utils/import_utils.py").write_bytes(b'\xff\xfe\x00BITSANDBYTES_MIN_VERSION = "0.46.1"\n' * 3)
    assert soft_minimums(stack) == ()


def test_an_extra_called_like_a_package_declares_the_range_for_it(tmp_path: Path) -> None:
    # As trl 0.24.0 declares; its tests' requirements are nobody else's.
    requires = (
        'vllm==0.10.2; extra == "vllm"',
        'deepspeed>=0.14.4; extra == "deepspeed"',
        'peft>=0.8.0; extra == "dev"',
        "datasets>=3.0.0",
    )
    stack = installed(tmp_path, ("trl", "0.24.0", requires), ("vllm", "0.11.0", ()), ("deepspeed", "0.16.0", ()), ("peft", "0.1.0", ()))
    [hit] = soft_minimums(stack)
    assert (hit.rule, hit.packages, hit.pins) == ("extra-requirement-unmet", ("trl", "vllm"), (("vllm", "==0.10.2"),))
    assert hit.detail == "trl 0.24.0 declares vllm==0.10.2 for its extra vllm, and vllm 0.11.0 is installed"


def test_a_floor_that_code_and_extra_both_state_is_told_once(tmp_path: Path) -> None:
    write(tmp_path, "transformers/utils/import_utils.py", 'ACCELERATE_MIN_VERSION = "1.1.0"\n')
    requires = ('accelerate>=1.1.0; extra == "accelerate"',)
    found = soft_minimums(installed(tmp_path, ("transformers", "5.0.0", requires), ("accelerate", "1.0.1", ())))
    assert [hit.rule for hit in found] == ["soft-minimum-unmet"]


def test_what_a_rule_says_of_the_same_packages_is_said_once(tmp_path: Path) -> None:
    """transformers 5.0.0 with peft 0.17.1: the rule names the class that is gone, the constant only the floor."""
    write(tmp_path, "transformers/integrations/peft.py", 'MIN_PEFT_VERSION = "0.18.0"\n')
    hits = soft_minimums(installed(tmp_path, ("transformers", "5.0.0", ()), ("peft", "0.17.1", ())))
    assert [hit.rule for hit in hits] == ["soft-minimum-unmet"]
    here = Origin("here")
    facts = Facts().with_facts([Fact("packages.transformers", exact("5.0.0"), here), Fact("packages.peft", exact("0.17.1"), here)])
    found = diagnose(facts, load_rulebook().rules, lambda name: (), hits=hits).findings
    assert any({"peft", "transformers"} <= set(finding.packages) and finding.status == "matched" for finding in found)
    assert "soft-minimum-unmet" not in {finding.rule.id for finding in found}
