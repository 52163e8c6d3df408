"""Which builds of vLLM before 0.9 are its makers': others with a CUDA in their label were compiled from source, against the torch at hand.

Its setup.py labels a build whose nvcc is not that of the wheels on PyPI. Beside these the installation pages name wheels for CUDA 11.8, and
12.1 (https://docs.vllm.ai/en/v0.6.3/getting_started/installation.html); nobody publishes one for 12.8, which recipes for newer cards build.
"""

from __future__ import annotations

from envdoctor.facts.versions import Exact, version_condition

_PUBLISHED = ("cu118", "cu121")


def is_built_from_source(release: Exact) -> bool:
    """Whether the label of a release of vLLM is of none of the wheels that its makers publish."""
    label = release.text.partition("+")[2]
    return bool(label) and label not in _PUBLISHED and version_condition("<0.9").admits(release)


__all__ = ["is_built_from_source"]
