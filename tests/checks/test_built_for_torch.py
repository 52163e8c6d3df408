"""What was compiled for another torch than the one that is stated, by the projects' tables and by the labels of builds."""

from __future__ import annotations

import pytest

from envdoctor.checks.built_for_torch import FAILS, IDLE, built_for_torch
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value


def told(torch: str, **packages: str) -> list[tuple[str, str, tuple[tuple[str, str], ...]]]:
    stated = {"torch": torch, **{name.replace("_", "-"): text for name, text in packages.items()}}
    facts = {
        f"packages.{name}": Fact(f"packages.{name}", parse_value(f"packages.{name}", text), Origin("test")) for name, text in stated.items()
    }
    return [(hit.rule, hit.edge, hit.pins) for hit in built_for_torch(Facts(facts))]


@pytest.mark.parametrize(
    ("torch", "torchao", "way_back"),
    [("2.9.1+cu128", "0.17.0", "==0.15.0"), ("2.9.1+cu130", "0.16.0", "==0.15.0"), ("2.7.1+cu128", "0.15.0", "==0.12.0")],
)
def test_torchao_leaves_out_what_was_compiled_for_another_torch(torch: str, torchao: str, way_back: str) -> None:
    ((rule, package, pins),) = told(torch, torchao=torchao)
    assert (rule, package, pins[0]) == (IDLE, "torchao", ("torchao", way_back))
    assert pins[1][0] == "torch"


def test_of_no_torch_that_was_released_there_is_only_another_torchao() -> None:
    assert told("2.9.0", torchao="0.14.0") == [(IDLE, "torchao", (("torchao", "==0.14.1"),))]


@pytest.mark.parametrize(("release", "rule"), [("1.0.0", IDLE), ("1.1.0", FAILS), ("1.2.0", FAILS), ("1.4.2", FAILS)])
def test_fbgemm_raises_at_its_import_from_1_1_on(release: str, rule: str) -> None:
    """Executed with the CPU builds of fbgemm-gpu beside torch 2.13.0."""
    assert [one[:2] for one in told("2.13.0", fbgemm_gpu=release)] == [(rule, "fbgemm-gpu")]


def test_kernels_that_do_not_load_are_told_as_such() -> None:
    ((rule, package, pins),) = told("2.8.0", sgl_kernel="0.3.21")
    assert (rule, package) == (FAILS, "sgl-kernel")
    assert pins == (("sgl-kernel", ">=0.3.5,<=0.3.14.post1 || >=0.3.15,<=0.3.17.post1"), ("torch", ">=2.9,<2.10"))


@pytest.mark.parametrize(("release", "torch"), [("0.1.8", "2.2.1"), ("0.1.8", "2.0.1+cu118"), ("0.1.5", "2.2.0")])
def test_autoawq_had_its_kernels_with_it(release: str, torch: str) -> None:
    assert [one[:2] for one in told(torch, autoawq=release)] == [(FAILS, "autoawq")]
    assert told("2.1.2", autoawq=release) == told(torch, autoawq="0.2.3") == []


def test_its_kernels_are_left_out_since_they_are_a_package_of_their_own() -> None:
    assert [one[:2] for one in told("2.3.0", autoawq="0.2.4", autoawq_kernels="0.0.6")] == [(IDLE, "autoawq-kernels")]
    assert told("2.5.1", autoawq="0.2.7", autoawq_kernels="0.0.8") == []


@pytest.mark.parametrize(
    ("torch", "package", "release", "rule"),
    [
        ("2.6.0", "intel_extension_for_pytorch", "2.5.0", FAILS),
        ("2.1.0", "torch_npu", "2.2.0", FAILS),
        ("2.7.0", "triton_windows", "3.4.0.post20", IDLE),
        ("2.1.0", "mmcv", "2.0.1", IDLE),
        ("2.5.1", "mmcv", "2.2.0", IDLE),
    ],
)
def test_packages_that_follow_torch_and_declare_nothing(torch: str, package: str, release: str, rule: str) -> None:
    assert [one[:2] for one in told(torch, **{package: release})] == [(rule, package.replace("_", "-"))]


@pytest.mark.parametrize(
    ("torch", "package", "release"),
    [
        ("2.5.1", "intel_extension_for_pytorch", "2.5.0"),
        ("2.5.1", "intel_extension_for_pytorch", "2.6.10+xpu"),
        ("2.1.0", "torch_npu", "2.1.0.post12"),
        ("2.9.0", "triton_windows", "3.4.0.post20"),
        ("1.13.1+cu117", "mmcv", "2.0.1"),
        ("2.4.1", "mmcv", "2.2.0"),
    ],
)
def test_those_that_follow_it_as_they_should(torch: str, package: str, release: str) -> None:
    assert told(torch, **{package: release}) == []


@pytest.mark.parametrize(
    ("torch", "label", "wanted"),
    [
        ("2.1.0", "pt20cu118", ">=2.0,<2.1"),
        ("2.0.1", "pt113cu117", ">=1.13,<1.14"),
        ("2.3.0", "cu122torch2.2cxx11abifalse", ">=2.2,<2.3"),
        ("2.5.1", "torch240cu121", ">=2.4,<2.5"),
    ],
)
def test_a_label_that_names_another_torch_is_believed(torch: str, label: str, wanted: str) -> None:
    assert told(torch, torch_scatter=f"2.1.1+{label}") == [(FAILS, "torch-scatter", (("torch", wanted),))]


@pytest.mark.parametrize(
    ("torch", "packages"),
    [
        ("2.10.0", {"torchao": "0.16.0"}),
        ("2.12.0", {"torchao": "0.17.0"}),
        ("2.9.1", {"torchao": "0.19.0"}),
        ("2.9.1", {"torchao": "0.11.0"}),
        ("2.9.0a0+nv25.8", {"torchao": "0.17.0"}),
        ("2.9.1+custom", {"torchao": "0.17.0"}),
        ("2.9.1", {"torchao": "0.17.0+own"}),
        ("2.8.0", {"sgl_kernel": "0.3.16.post3"}),
        ("2.9.0", {"sgl_kernel": "0.3.16.post3"}),
        ("2.0.1", {"torch_scatter": "2.1.1+pt20cu118"}),
        ("2.10.0", {"natten": "0.21.0+torch210cu128"}),
        ("2.1.0", {"natten": "0.17.1+torch210cu121"}),
        ("2.1.0", {"flash_attn": "2.5.8+cu122"}),
    ],
)
def test_what_fits_and_what_is_not_known_is_let_be(torch: str, packages: dict[str, str]) -> None:
    assert told(torch, **packages) == []


def test_without_a_stated_torch_nothing_is_told() -> None:
    value = parse_value("packages.torchao", "0.17.0")
    assert built_for_torch(Facts({"packages.torchao": Fact("packages.torchao", value, Origin("test"))})) == ()
