"""Who compares what is installed when it is imported: there an unmet requirement is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.checks.refused_at_import import refused_by
from envdoctor.checks.requirements import declared
from envdoctor.checks.stated_together import stated_together
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.sources.machine.interpreter import Installed, marker_environment
from envdoctor.sources.machine.site_packages import Distribution


def _said(**releases: str) -> dict[tuple[str, ...], str]:
    facts = {f"packages.{name.replace('_', '-')}": exact(release) for name, release in releases.items()}
    hits = stated_together(Facts({name: Fact(name, value, Origin("stated")) for name, value in facts.items()}))
    return {hit.packages: hit.rule for hit in hits}


def test_pydantic_takes_one_release_of_its_core_since_2_12() -> None:
    pair = ("pydantic", "pydantic-core")
    assert _said(pydantic="2.14.3", pydantic_core="2.50.1") == {pair: "package-refuses-at-import"}
    assert _said(pydantic="2.11.10", pydantic_core="2.41.5") == {pair: "declared-requirement-unmet"}
    assert _said(pydantic="2.12.5", pydantic_core="2.41.5") == {}


@pytest.mark.parametrize(
    ("numba", "package", "found", "specifier", "refused"),
    [
        ("0.67.0", "numpy", "1.21.6", "<2.6,>=1.22", True),
        ("0.60.0", "numpy", "2.1.3", "<2.1,>=1.22", True),
        ("0.53.1", "numpy", "2.1.3", "<2.1,>=1.22", False),
        ("0.56.2", "numpy", "1.24.4", "<1.24,>=1.18", True),
        ("0.67.0", "llvmlite", "0.43.0", "<0.50,>=0.49.0dev0", True),
        ("0.60.0", "llvmlite", "0.49.0", "<0.44,>=0.43.0dev0", False),
        ("0.60.0", "scipy", "0.9", ">=1.0", False),
    ],
)
def test_numba_asks_for_a_range_of_numpy_and_for_the_least_llvmlite(
    numba: str, package: str, found: str, specifier: str, refused: bool
) -> None:
    assert refused_by("numba", exact(numba), package, exact(found), specifier) is refused


@pytest.mark.parametrize(
    ("name", "release", "package", "found", "specifier", "refused"),
    [
        ("pandas", "3.0.6", "numpy", "1.25.2", ">=1.26.0", True),
        ("pandas", "2.1.4", "numpy", "2.0.2", "<2,>=1.22.4", False),
        ("datasets", "2.13.2", "pyarrow", "7.0.0", ">=8.0.0", True),
        ("datasets", "2.14.7", "pyarrow", "7.0.0", ">=8.0.0", False),
        ("jax", "0.8.3", "jaxlib", "0.9.0", "<=0.8.3,>=0.8.2", True),
        ("wandb", "0.19.5", "protobuf", "6.30.2", "!=5.28.0,<6,>=3.19.0", True),
        ("wandb", "0.19.5", "protobuf", "3.15.0", "!=5.28.0,<6,>=3.19.0", False),
        ("wandb", "0.19.5", "protobuf", "5.28.0", "!=5.28.0,<6,>=3.19.0", False),
        ("wandb", "0.31.0", "protobuf", "4.22.5", "!=5.28.0,!=5.29.0,<8,>=5", True),
        ("wandb", "0.31.0", "protobuf", "8.0.0", "!=5.28.0,!=5.29.0,<8,>=5", True),
        ("wandb", "0.31.0", "protobuf", "5.28.0", "!=5.28.0,!=5.29.0,<8,>=5", False),
        ("wandb", "0.28.2", "protobuf", "4.22.5", "!=5.28.0,!=5.29.0,<8,>=5", False),
        ("onnx", "1.23.2", "protobuf", "5.29.6", ">=6.31.1", True),
        ("onnx", "1.23.2", "protobuf", "7.36.2", ">=6.31.1", False),
        ("onnx", "1.22.0", "protobuf", "3.20.3", ">=4.25.1", False),
    ],
)
def test_who_refuses_a_release_that_is_too_old_or_too_new_for_it(
    name: str, release: str, package: str, found: str, specifier: str, refused: bool
) -> None:
    assert refused_by(name, exact(release), package, exact(found), specifier) is refused


def _installed(*packages: tuple[str, str, str]) -> dict[tuple[str, ...], str]:
    distributions = tuple(
        Distribution(name, version, tuple(requires.split()), Path(f"{name}.dist-info")) for name, version, requires in packages
    )
    environment = Installed(".venv", "3.9.18", "cpython", "linux", "x86_64", (), distributions)
    return {hit.packages: hit.rule for hit in declared(environment, marker_environment(environment))}


def test_gradio_2_compares_all_that_it_requires_and_all_that_these_require_in_their_turn() -> None:
    assert _said(gradio="3.0.8", requests="2.27.1", charset_normalizer="3.0.1") == {
        ("requests", "charset-normalizer"): "package-refuses-at-import"
    }
    assert _said(gradio="3.0.24", requests="2.27.1", charset_normalizer="3.0.1") == {
        ("requests", "charset-normalizer"): "declared-requirement-unmet"
    }
    rest = [("requests", "2.27.1", "charset-normalizer~=2.0.0"), ("charset-normalizer", "3.0.1", "")]
    other = [("pandas", "2.2.3", "numpy tzdata"), ("numpy", "1.26.4", ""), ("datasets", "2.0.0", "dill<0.3"), ("dill", "0.3.4", "")]
    assert _installed(("gradio", "3.0.8", "requests pandas"), *rest, *other) == {
        ("requests", "charset-normalizer"): "package-refuses-at-import",
        ("pandas", "tzdata"): "package-refuses-at-import",
        ("datasets", "dill"): "declared-requirement-unmet",
    }
    assert set(_installed(("gradio", "3.1.0", "requests pandas"), *rest, *other).values()) == {
        "declared-requirement-unmet",
        "declared-requirement-missing",
    }
