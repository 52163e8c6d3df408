"""What OpenMMLab's packages assert of mmcv and of each other when they are imported."""

from __future__ import annotations

import pytest

from envdoctor.checks.asserted_at_import import asserted_at_import
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.vocabulary import NOT_LOADED


def told(*unused: str, **packages: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    facts = [Fact(f"packages.{name}", parse_value(f"packages.{name}", text), Origin("test")) for name, text in packages.items()]
    idle = [Fact(NOT_LOADED, unused, Origin("train.py"))] if unused else []
    return [(hit.headline, hit.pins) for hit in asserted_at_import(Facts().with_facts([*facts, *idle]))]


def test_an_mmcv_outside_the_asserted_range_is_refused() -> None:
    assert told(mmdet="3.3.0", mmcv="2.2.0") == [("mmdet 3.3.0 refuses mmcv 2.2.0 when it is imported", (("mmcv", ">=2.0.0rc4,<2.2.0"),))]


def test_the_releases_that_admit_it_are_another_way_out() -> None:
    ((_, pins),) = told(mmsegmentation="1.0.0", mmcv="2.1.0")
    assert pins == (("mmcv", ">=2.0.0rc4,<2.1.0"), ("mmsegmentation", "==1.2.0 || ==1.2.1 || ==1.2.2"))


def test_mmcv_full_is_mmcv_too() -> None:
    assert [headline for headline, _ in told(**{"mmdet": "2.25.0", "mmcv-full": "1.7.0"})] == [
        "mmdet 2.25.0 refuses mmcv-full 1.7.0 when it is imported"
    ]


def test_a_package_that_is_called_otherwise_than_its_module() -> None:
    assert told(mmdet3d="1.0.0rc4", mmsegmentation="1.2.2")


@pytest.mark.parametrize(
    "packages",
    [{"mmdet": "3.3.0", "mmcv": "2.1.0"}, {"mmdet": "3.3.0"}, {"mmdet": "3.3.0", "mmcv": ">=2.2"}, {"mmdet": "9.9.9", "mmcv": "2.2.0"}],
)
def test_what_is_admitted_or_not_known_is_let_be(packages: dict[str, str]) -> None:
    assert told(**packages) == []


def test_what_a_script_does_not_load_is_let_be() -> None:
    assert told("mmdet", mmdet="3.3.0", mmcv="2.2.0") == []


@pytest.mark.parametrize(
    ("jax", "jaxlib", "told"),
    [
        ("0.4.20", "0.3.25", True), ("0.4.20", "0.4.21", True), ("0.4.20", "0.4.14", False), ("0.4.20", "0.4.20+cuda12.cudnn89", False),
        ("0.4.28", "0.4.26", True), ("0.4.28", "0.4.27", False),
    ],
)  # fmt: skip
def test_jax_has_its_own_floor_of_jaxlib_and_takes_none_newer_than_itself(jax: str, jaxlib: str, told: bool) -> None:
    versions = {"packages.jax": jax, "packages.jaxlib": jaxlib}
    facts = Facts({name: Fact(name, parse_value(name, text), Origin("test")) for name, text in versions.items()})
    assert bool(asserted_at_import(facts)) is told
