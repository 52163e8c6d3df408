"""``envdoctor rules WORD``: what is known of a package, or has the words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

RULE = """
id = "{id}"
title = "{title}"
severity = "{severity}"
effect = "crash"
confidence = "cited"
symptoms = ["no attribute is_npu_available"]
details = "{details}"
[affected]
packages = ["{package} <2"]
[[fix]]
pin = "{package} >=2"
note = "newer"
[[evidence]]
url = "https://example.org/{id}"
kind = "issue"
says = "it does"
"""


@pytest.fixture
def own(tmp_path: Path) -> list[str]:
    rows = [
        ("zz-one", "zzpackage crashes", "error", "The loss becomes NaN.", "zzpackage"),
        ("zz-two", "zzpackage is slow", "warning", "Nothing of the loss.", "zzpackage"),
        ("zz-three", "another zzthing", "error", "It needs zzpackage, too.", "zzother"),
    ]
    for name, title, severity, details, package in rows:
        text = RULE.format(id=name, title=title, severity=severity, details=details, package=package)
        (tmp_path / f"{name}.toml").write_text(text)
    return ["--rules", str(tmp_path)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["zzpackage"], ["zz-one", "zz-two"]),
        (["ZZPackage"], ["zz-one", "zz-two"]),
        (["list", "zzpackage"], ["zz-one", "zz-two"]),
        (["zzpackage", "--severity", "error"], ["zz-one"]),
        (["zzpackage", "nan", "loss"], ["zz-one"]),
        (["zzthing"], ["zz-three"]),
        (["zzother", "is_npu_available"], ["zz-three"]),
    ],
)
def test_rules_are_found(capsys: pytest.CaptureFixture[str], own: list[str], words: list[str], found: list[str]) -> None:
    ran = run(capsys, "rules", *words, *own, "--format", "json")
    assert [row["id"] for row in ran.json["rules"]] == found
    text = run(capsys, "rules", *words, *own).out
    assert all(f" {name}  [" in text for name in found)
    assert text.endswith(f"{len(found)} rule{'' if len(found) == 1 else 's'}; envdoctor explain RULE shows one\n")


@pytest.mark.parametrize(
    ("words", "meant"), [(["lnt"], "`lint`"), (["zzpakage"], "`zzpackage`"), (["zzpackage", "zzthing"], ""), (["qqqqqqqqq"], "")]
)
def test_nothing_found_is_said_with_what_was_meant(
    capsys: pytest.CaptureFixture[str], own: list[str], words: list[str], meant: str
) -> None:
    ran = run(capsys, "rules", *words, *own)
    assert (ran.status, ran.out) == (2, "")
    assert (f"did you mean {meant}?" in ran.err) is bool(meant)


def test_all_of_one_severity(capsys: pytest.CaptureFixture[str], own: list[str]) -> None:
    rows = run(capsys, "rules", "--severity", "warning", *own, "--format", "json").json["rules"]
    assert {row["severity"] for row in rows} == {"warning"}
    assert "zz-two" in {row["id"] for row in rows}
