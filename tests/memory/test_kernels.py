"""The stand-ins for CUDA's kernels, without torch."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from envdoctor.memory.children.kernels import attention


def test_autocast_casts_what_the_attention_of_last_resort_is_given_and_nothing_inside_of_it() -> None:
    """The products of Falcon's scores are float32 from torch 2.5 on, under autocast too: half of what lives was missing."""
    region = [True]
    seen: list[bool] = []

    @contextmanager
    def autocast(_device: str, *, enabled: bool) -> Any:
        before, region[0] = region[0], enabled
        yield
        region[0] = before

    def by_matrices(query: Any, *_rest: Any, **_named: Any) -> tuple[Any]:
        seen.append(region[0])
        return (query,)

    torch = SimpleNamespace(
        autograd=SimpleNamespace(Function=object),
        autocast=autocast,
        is_autocast_cpu_enabled=lambda: region[0],
        get_autocast_cpu_dtype=lambda: "bfloat16",
        Tensor=int,
        float32="float32",
        float16="float16",
        bfloat16="bfloat16",
        ops=SimpleNamespace(aten=SimpleNamespace(_scaled_dot_product_attention_math=by_matrices)),
    )
    query, key = (SimpleNamespace(dtype="bfloat16", shape=(2, heads, 16, 64), dim=lambda: 4) for heads in (71, 1))
    assert attention(torch)(query, key, key) is query
    assert seen == [False]
    assert region == [True]
