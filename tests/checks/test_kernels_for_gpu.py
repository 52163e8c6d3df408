"""Packages whose released builds have no kernels for a GPU."""

from __future__ import annotations

import pytest

from envdoctor.checks.kernels_for_gpu import kernels_for_gpu
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.vocabulary import NOT_LOADED


def told(capability: str, *unused: str, **packages: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    texts = {f"packages.{name.replace('_', '-')}": text for name, text in packages.items()} | {"gpu.compute_capability": capability}
    facts = [Fact(name, parse_value(name, text), Origin("test")) for name, text in texts.items()]
    idle = [Fact(NOT_LOADED, unused, Origin("train.py"))] if unused else []
    return [(hit.headline, hit.pins) for hit in kernels_for_gpu(Facts().with_facts([*facts, *idle]))]


@pytest.mark.parametrize(
    ("capability", "package", "release", "missing"),
    [
        ("6.1", "vllm", "0.8.4", "no kernels"),
        ("7.0", "flash_attn", "2.7.4.post1", "no kernels"),
        ("12.0", "flash_attn", "2.7.4.post1", "in its ready-made wheels no kernels"),
        ("7.5", "flash_attn", "1.0.9", "no backward kernels for head dimensions above 64"),
        ("8.6", "flash_attn", "0.2.8", "no backward kernels for head dimensions above 64"),
        ("7.0", "xformers", "0.0.31", "no kernels"),
        ("6.1", "bitsandbytes", "0.40.1", "no 4-bit kernels"),
    ],
)
def test_a_gpu_that_a_release_does_not_serve(capability: str, package: str, release: str, missing: str) -> None:
    name = package.replace("_", "-")
    ((headline, _),) = told(capability, **{package: release})
    assert headline == f"{name} {release} has {missing} for the GPU (compute capability {capability})"


@pytest.mark.parametrize(
    ("capability", "package", "asked"), [("7.5", "flash_attn", ""), ("6.1", "vllm", ">=0.6"), ("7.0", "xformers", ">=0.0.31")]
)
def test_a_range_that_leaves_no_release_for_the_gpu(capability: str, package: str, asked: str) -> None:
    ((headline, _),) = told(capability, **{package: asked})
    assert headline.startswith(f"no release of {package.replace('_', '-')} that the requirements admit serves the GPU")


def test_the_nearest_releases_that_serve_it_are_ways_out() -> None:
    assert told("8.6", flash_attn="0.2.8")[0][1] == (("flash-attn", "==2.0.0.post1"),)
    assert told("7.0", xformers="0.0.31")[0][1] == (("xformers", "==0.0.30"),)
    assert told("6.1", vllm="0.8.4")[0][1] == ()


@pytest.mark.parametrize(
    ("capability", "packages"),
    [
        ("8.0", {"vllm": "0.8.4", "flash_attn": "2.7.4.post1", "xformers": "0.0.31", "triton": "3.2.0"}),
        ("12.0", {"flash_attn": "2.8.3"}),
        ("8.0", {"flash_attn": "1.0.9"}),
        ("7.0", {"vllm": "0.8.4", "xformers": "0.0.30"}),
        ("6.1", {"bitsandbytes": "0.41.0"}),
        ("7.0", {"flash_attn": "2.7.4+own"}),
        ("7.0", {"xformers": ">=0.0.20"}),
        ("12.0", {"flash_attn": ">=2.5"}),
        ("7.5", {"flash_attn": ">=99"}),
    ],
)
def test_what_serves_it_or_may_is_let_be(capability: str, packages: dict[str, str]) -> None:
    assert told(capability, **packages) == []


def test_what_a_script_does_not_load_is_let_be() -> None:
    assert told("6.1", "vllm", vllm="0.8.4") == []
