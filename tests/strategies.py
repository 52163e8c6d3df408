"""Random conditions and situations over a small vocabulary, in which they meet often."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.rules.conditions import All, AnyOf, Condition, Not, leaves, parse_condition

RELEASES: Mapping[str, tuple[str, ...]] = {
    "alpha": ("0.9", "1.0", "1.1", "1.1.1", "1.2", "2.0"),
    "beta": ("0.1", "0.2", "0.10"),
}


def known(package: str) -> tuple[str, ...]:
    """The releases of the packages that exist in these tests."""
    return RELEASES.get(package, ())


# What a person may state of each fact: understood, a range, absent, or free text that is not understood.
STATEMENTS: Mapping[str, tuple[object, ...]] = {
    "packages.alpha": ("0.9", "1.0", "1.1+cu118", "1.1.1", "1.2", "2.0", "2.1.dev1", ">=1.0", ">=1.0,<1.2", "<1.0", "*", False, "from git"),
    "packages.beta": ("0.1", "0.2", "0.10", ">=0.2", False),
    "python": ("3.9.18", "3.10.12", ">=3.9", "three"),
    "gpu.compute_capability": ("8.0", "9.0", "unknown"),
    "gpu.memory_gib": (24, 79.1, "much"),
    "model.type": ("chatglm", "llama", "ChatGLM"),
    "plan.batch_size": (1, 2, 8, "some"),
    "plan.fp16": (True, False, "maybe"),
    "plan.load_dtype": ("float16", "bfloat16", "auto", "half of it"),
    "plan.lora_targets": ([], ["q_proj"], ["q_proj", "v_proj"]),
    "plan.method": ("lora", "full", "adalora"),
}

COMPARISONS: tuple[Mapping[str, object], ...] = (
    {"packages": ["alpha"]},
    {"packages": ["alpha >=1.0, <1.2"]},
    {"packages": ["alpha ==1.1"]},
    {"packages": ["alpha <1.0 || ==2.0"]},
    {"packages": ["alpha !=1.1.1"]},
    {"packages": ["beta"]},
    {"packages": ["beta >=0.2"]},
    {"packages": ["beta ~=0.1"]},
    {"python": ">=3.10"},
    {"python": "<3.9"},
    {"gpu": {"compute_capability": ">=9.0"}},
    {"gpu": {"memory_gib": "<40"}},
    {"model": {"type": "chatglm"}},
    {"model": {"type": ["chat*", "qwen2"]}},
    {"plan": {"batch_size": ">1"}},
    {"plan": {"batch_size": [1, 8]}},
    {"plan": {"fp16": False}},
    {"plan": {"load_dtype": "float16"}},
    {"plan": {"load_dtype": ["float32", "bfloat16"]}},
    {"plan": {"lora_targets": ["v_proj"]}},
    {"plan": {"method": ["lora", "dora"]}},
)

conditions: st.SearchStrategy[Condition] = st.recursive(
    st.sampled_from(COMPARISONS).map(parse_condition),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: All(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
        inner.map(Not),
    ),
    max_leaves=8,
)


@st.composite
def situated(draw: st.DrawFn) -> tuple[Condition, Mapping[str, object]]:
    """A condition, and statements of facts that it looks at."""
    condition = draw(conditions)
    looked_at = dict.fromkeys(leaf.fact for leaf in leaves(condition))
    return condition, draw(st.fixed_dictionaries({}, optional={name: st.sampled_from(STATEMENTS[name]) for name in looked_at}))


statements: st.SearchStrategy[Mapping[str, object]] = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(values) for name, values in STATEMENTS.items()}
)


def facts_of(stated: Mapping[str, object], *, closed: bool = False) -> Facts:
    """Facts as a person would state them."""
    return Facts({name: Fact(name, parse_value(name, raw), Origin("test")) for name, raw in stated.items()}, closed)
