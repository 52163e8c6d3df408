"""Facts of a machine with a GPU as nvidia-smi tells them, and measurements whose shape nobody promised."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, FactValue, NotUnderstood, Origin
from envdoctor.facts.vocabulary import TERMS

H100: dict[str, Any] = {"index": 0, "visible": 1, "name": "NVIDIA H100 80GB HBM3", "capability": "9.0", "memory_gib": 79.6, "cuda": "12.4"}
ON_H100 = "on NVIDIA H100 80GB HBM3 (capability 9.0)"

text = st.text("ab.\0é☃\u202e", max_size=8)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)
values: st.SearchStrategy[FactValue] = (
    st.booleans() | st.integers() | st.floats() | text | st.lists(text, max_size=3).map(tuple) | st.just(NotUnderstood("?"))
)
situations = st.dictionaries(
    st.sampled_from([term.name for term in TERMS if term.name.startswith(("plan.", "model.", "gpu.", "accelerator"))]), values, max_size=6
)


def bent(measured: Any) -> st.SearchStrategy[Any]:
    """A measurement in which anything may have become anything."""
    if isinstance(measured, dict):
        return anything | st.fixed_dictionaries({}, optional={key: bent(value) for key, value in measured.items()})
    if isinstance(measured, list):
        return anything | st.lists(st.one_of(*map(bent, measured)), max_size=3) if measured else anything
    return anything | st.just(measured)


def stated(**named: FactValue) -> Facts:
    """Facts by hand; ``plan__attn`` is ``plan.attn``."""
    return Facts().with_facts(Fact(name.replace("__", ".", 1), value, Origin("--set")) for name, value in named.items())


def with_gpu(**named: FactValue) -> Facts:
    """The same on a machine whose nvidia-smi lists an H100."""
    smi: dict[str, FactValue] = {"accelerator": "cuda", "gpu.name": "NVIDIA H100 80GB HBM3", "gpu.count": 1}
    return Facts().with_facts(Fact(name, value, Origin("nvidia-smi")) for name, value in smi.items()).with_facts(stated(**named).values())
