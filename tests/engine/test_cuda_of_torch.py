"""The CUDA of a torch that has no label, as the runtime beside it says."""

from __future__ import annotations

import pytest

from envdoctor.engine.cuda_of_torch import cuda_beside
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import Exact, exact


def _exactly(version: str) -> Exact:
    found = exact(version)
    assert isinstance(found, Exact)
    return found


@pytest.mark.parametrize(
    ("torch", "package", "release", "cuda"),
    [
        ("2.8.0", "nvidia-cuda-runtime-cu12", "12.8.90", "12.8"),
        ("1.13.1", "nvidia-cuda-runtime-cu11", "11.7.99", "11.7"),
        ("2.11.0", "cuda-toolkit", "13.0.2", "13.0"),
        ("2.8.0", "nvidia-cuda-runtime-cu12", "12.6.77", None),
        ("2.8.0+cpu", "nvidia-cuda-runtime-cu12", "12.8.90", None),
        ("2.8.0", "nvidia-cublas-cu12", "12.8.4.1", None),
    ],
)
def test_the_runtime_that_only_this_torch_requires(torch: str, package: str, release: str, cuda: str | None) -> None:
    name = f"packages.{package}"
    facts = Facts({name: Fact(name, exact(release), Origin("pip freeze"))})
    found = cuda_beside(facts, _exactly(torch))
    assert (found[0] if found is not None else None) == cuda
