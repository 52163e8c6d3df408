"""Who compares what is installed with what it requires when it is imported, and refuses: elsewhere an unmet requirement may do no harm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from envdoctor.facts.versions import Exact, version_condition

BY_TRANSFORMERS = "transformers-refuses-at-import"
BY_ANOTHER = "package-refuses-at-import"

# transformers/dependency_versions_check.py compares these with its table when it is imported. Read in the wheels of 4.20.1, 4.30.2, 4.31.0,
# 4.32.0, 4.33.3, 4.34.1, 4.35.2, 4.36.2, 4.40.2, 4.46.3, 4.57.1, 5.0.0, 5.8.0 and 5.23.0.
_ALWAYS = frozenset(("tqdm", "regex", "packaging", "filelock", "numpy", "tokenizers"))
_SINCE_4_31 = frozenset(("huggingface-hub", "safetensors", "pyyaml"))
_BEFORE_5 = frozenset(("requests",))
# Where it is installed. From 4.36 on one that is too old counts as none: read in 4.31.0, 4.32.0, 4.32.1, 4.33.3, 4.34.0, 4.35.0, 4.35.2,
# 4.36.0 and nine later ones.
WHERE_INSTALLED = frozenset(("accelerate",))

# The releases that compare, by who is imported and what it compares. pydantic/version.py: read in 2.0.3 and 2.11.10, which do not, in
# 2.12.5 and 2.14.3. numba/__init__.py: 0.53.1, 0.56.4, 0.57.1, 0.60.0, 0.63.1 and 0.67.0; of llvmlite it asks for the least release
# alone, and 0.53.1 asks the same of numpy; 0.56.0 and 0.56.2 end in a SystemError beside numpy 1.24.4 and 1.25.2.
# pandas/compat/numpy/__init__.py and datasets/__init__.py: the last release of each minor since 2022; what they compare is the least that
# they declare for the oldest Python. jax/_src/lib/__init__.py: every fourth release since 2022. wandb/proto has a folder for each major
# release of protobuf that it takes, and gives nothing under a later one: the last release of each minor since 0.12.21.
# onnx/onnx_ml_pb2.py: every wheel since 1.17.0; from 1.23.0 on protoc had it compare.
_COMPARED = {
    ("pydantic", "pydantic-core"): ">=2.12",
    ("numba", "llvmlite"): ">=0.53.1",
    ("numba", "numpy"): ">=0.56",
    ("pandas", "numpy"): ">=1.4",
    ("datasets", "pyarrow"): ">=1.18,<2.14",
    ("jax", "jaxlib"): ">=0.3.1",
    ("wandb", "protobuf"): ">=0.12",
    ("onnx", "protobuf"): ">=1.23",
}
# From 0.30 on wandb has a folder for each major release of protobuf that it asks for, and for no older one: 0.28.2 and 0.29.0 ask for 5 and
# have one for 4, 0.30.0 and 0.31.0 have none.
_MAJORS = {("wandb", "protobuf"): ">=0.30"}
_AT_LEAST = frozenset(
    (
        ("numba", "llvmlite"),
        ("pandas", "numpy"),
        ("datasets", "pyarrow"),
        ("onnx", "protobuf"),
    )
)
_AT_MOST = frozenset((("wandb", "protobuf"),))

# ``pkg_resources.require("gradio")`` in gradio/__init__.py, which compares all that it requires in its turn: read in 2.9.4, 3.0.8, 3.0.14,
# 3.0.18, 3.0.20 and 3.0.22, which do it, in 3.0.24 and later ones, which do not.
_WALKS = {"gradio": "<3.0.23"}


def walked(releases: Mapping[str, Exact], requires: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """The packages whose requirements somebody compares, with those of all that these require, when it is imported."""
    waiting = [name for name, those in _WALKS.items() if name in releases and version_condition(those).admits(releases[name])]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in releases and name not in found:
            found.add(name)
            waiting += requires(name)
    return frozenset(found)


def refused_by_transformers(release: Exact, package: str) -> bool:
    """Whether a release of transformers compares a package when it is imported."""
    if package in _ALWAYS:
        return True
    if package in _SINCE_4_31:
        return version_condition(">=4.31").admits(release)
    if package in WHERE_INSTALLED:
        return version_condition(">=4.31,<4.36").admits(release)
    return package in _BEFORE_5 and version_condition("<5").admits(release)


def refused_by(name: str, release: Exact, package: str, found: Exact, specifier: str) -> bool:
    """Whether a release of another package refuses what was found, which the requirement that it declares does not admit."""
    compares = _COMPARED.get((name, package))
    if compares is None or not version_condition(compares).admits(release):
        return False
    majors = _MAJORS.get((name, package))
    least = next((clause.strip()[2:] for clause in specifier.split(",") if clause.strip().startswith(">=")), "")
    if majors is not None and least and version_condition(majors).admits(release):
        return not version_condition(specifier).admits(found) and not version_condition(f"=={least.partition('.')[0]}.*").admits(found)
    sign = ">" if (name, package) in _AT_LEAST else "<" if (name, package) in _AT_MOST else ""
    bound = ",".join(clause for clause in specifier.split(",") if clause.strip().startswith(sign))
    return bool(bound) and not version_condition(bound).admits(found)


__all__ = ["BY_ANOTHER", "BY_TRANSFORMERS", "WHERE_INSTALLED", "refused_by", "refused_by_transformers", "walked"]
