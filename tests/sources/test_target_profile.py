"""``--target``: the machine that a run is meant for."""

from __future__ import annotations

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Origin
from envdoctor.facts.values import shown
from envdoctor.sources.stated.target_profile import parse_target, target_facts


def said(text: str) -> dict[str, str]:
    return {fact.name: shown(fact.value) for fact in parse_target(text).facts}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "linux-x86_64,python=3.11,gpu=H100,driver=550",
            {"os": "linux", "machine": "x86_64", "python": "3.11", "gpu.name": "H100", "driver": "550"},
        ),
        ("linux", {"os": "linux"}),
        ("Linux-amd64", {"os": "linux", "machine": "x86_64"}),
        ("manylinux_2_28_aarch64", {"glibc": "2.28", "os": "linux", "machine": "aarch64"}),
        ("macos-arm64", {"os": "macos", "machine": "arm64"}),
        ("win-x86_64", {"os": "windows", "machine": "x86_64"}),
        ("gpu=8xA100", {"gpu.count": "8", "gpu.name": "A100"}),
        ("gpu=RTX 3090 x3", {"gpu.count": "3", "gpu.name": "RTX 3090"}),
        ("linux-x86_64, gpu=none", {"os": "linux", "machine": "x86_64", "accelerator": "cpu"}),
        ("cuda=12.4,gpu.memory_gib=40,gpus=2", {"cuda": "12.4", "gpu.memory_gib": "40.0", "gpu.count": "2"}),
    ],
)
def test_what_people_write(text: str, facts: dict[str, str]) -> None:
    assert said(text) == facts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("solaris-sparc", "the platform 'solaris-sparc'"),
        ("linux-sparc", "the platform 'linux-sparc'"),
        ("linux,windows", "two platforms, the second 'windows'"),
        ("pyhton=3.11", "'pyhton'; expected one of platform, python"),
        ("packages.torch=2.5", "'packages.torch'"),
        ("", "nothing"),
        (",,", "nothing"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, found: str) -> None:
    with pytest.raises(EnvdoctorError) as raised:
        parse_target(text)
    assert f"--target: found {found}" in str(raised.value)


def test_a_profile_in_a_table_has_its_place() -> None:
    origin = Origin("envdoctor.toml: targets.a", "envdoctor.toml")
    found = target_facts({"platform": "linux-x86_64", "gpus": 4, "driver": "550"}, "envdoctor.toml: targets.a", origin)
    assert {fact.name: fact.value if isinstance(fact.value, int) else shown(fact.value) for fact in found.facts} == {
        "os": "linux", "machine": "x86_64", "gpu.count": 4, "driver": "550",
    }  # fmt: skip
    assert {fact.origin for fact in found.facts} == {origin}
    with pytest.raises(EnvdoctorError, match="a number"):
        target_facts({"python": 3.10}, "envdoctor.toml: targets.a", origin)


def test_a_value_without_a_meaning_is_said() -> None:
    found = parse_target("driver=newest")
    assert [(skip.what, "not understood" in skip.why) for skip in found.skips] == [("driver = newest", True)]
