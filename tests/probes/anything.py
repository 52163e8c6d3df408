"""Values of every kind that a child may send, for laws that hold whatever it measured."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

text = st.text("ab.\0é☃\u202e", max_size=8)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)


def like(example: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Tables with the keys of an example, each value as there, of another kind, or a table like it."""
    return st.fixed_dictionaries(
        {},
        optional={
            key: st.just(value) | anything | (like(value) if isinstance(value, dict) else anything) for key, value in example.items()
        },
    )
