"""What CUDA kernels keep and need where the CPU's differ: attention, dropout and softmax, put in the place of torch's own.

Flash and memory-efficient attention save query, key, value, output and one float32 per row of the scores, never the scores
(``aten/src/ATen/native/transformers/cuda``); dropout keeps a mask of one byte per element where the CPU keeps one of the input's
type; softmax of float16 asked for in float32 makes no float32 copy of its input. CPython 3.8+; torch comes as an argument.
"""

from __future__ import annotations

from typing import Any

_LARGEST_HEAD = 256


def attention(torch: Any) -> Any:
    """A function with the arguments of ``scaled_dot_product_attention`` that saves what CUDA's choice of kernel saves."""
    base: Any = torch.autograd.Function

    class Fused(base):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, query: Any, key: Any, value: Any, mask: Any) -> Any:
            rows, heads, tokens, _ = query.shape
            out = query.new_empty((rows, tokens, heads, value.shape[-1])).transpose(1, 2)
            sums = query.new_empty((rows, heads, tokens), dtype=torch.float32)
            ctx.save_for_backward(query, key, value, out, sums, *(() if mask is None else (mask,)))
            return out

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            query, key, value, _, sums = ctx.saved_tensors[:5]
            rows, heads, tokens, width = query.shape
            of_query = torch.empty_like(query)
            of_key, of_value = torch.empty_like(key), torch.empty_like(value)
            rounded, wide = -(-tokens // 128) * 128, -(-width // 32) * 32
            workspace = [torch.empty_like(sums)]
            if query.dtype != torch.float32:
                workspace.append(query.new_empty((rows, rounded, heads, wide), dtype=torch.float32))
            if key.shape[1] != heads:  # one gradient for each query head, then summed
                workspace += [key.new_empty((rows, key.shape[2], heads, width)) for _ in range(2)]
            del workspace
            return of_query, of_key, of_value, None

    def attend(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: Any = None,
        enable_gqa: bool = False,
    ) -> Any:
        if autocast_dtype(torch) is not None:
            query, key, value = (lowered(torch, tensor) for tensor in (query, key, value))
            attn_mask = lowered(torch, attn_mask)
        grouped = enable_gqa and key.shape[-3] != query.shape[-3]
        flash = query.dtype in (torch.float16, torch.bfloat16) and attn_mask is None
        # Fused kernels take as many key heads as query heads, or are told that there are fewer.
        fewer = not enable_gqa and query.dim() == 4 and key.shape[-3] != query.shape[-3]
        if query.dim() != 4 or query.shape[-1] > _LARGEST_HEAD or fewer or (grouped and not flash):
            return _by_matrices(torch, query, key, value, attn_mask, is_causal, scale, grouped)
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype)
        return Fused.apply(query, key, value, attn_mask)

    return attend


def _by_matrices(torch: Any, query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: Any, grouped: bool) -> Any:
    """The kernel of last resort, which keeps the scores. Autocast casts what it is given (``scaled_dot_product_attention`` is in
    AT_FORALL_LOWER_PRECISION_FP) and nothing inside of it, where 16 bits are made float32 from torch 2.5 on."""
    if grouped:
        times = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
    with torch.autocast("cpu", enabled=False):
        return torch.ops.aten._scaled_dot_product_attention_math(query, key, value, mask, 0.0, is_causal, None, scale=scale)[0]


def autocast_dtype(torch: Any) -> Any:
    """The dtype of a mixed-precision region that this runs in; None outside of one."""
    return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None


def lowered(torch: Any, tensor: Any) -> Any:
    if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float32:
        return tensor.to(autocast_dtype(torch))
    return tensor


def install(torch: Any) -> Any:
    """Put the stand-ins into torch; the attention function is returned. For the life of the process."""
    functional = torch.nn.functional
    attend = attention(torch)
    functional.scaled_dot_product_attention = attend
    softmax, dropout = functional.softmax, functional.dropout

    def keep_mask(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        if not training or p == 0.0:
            return dropout(input, p, training, inplace)
        return torch.native_dropout(input, p, True)[0]

    def in_one_kernel(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        if dtype == torch.float32 and input.dtype == torch.float16 and dim is not None:
            return torch._softmax(input, dim, True)
        return softmax(input, dim, _stacklevel, dtype)

    functional.dropout = keep_mask
    functional.softmax = in_one_kernel
    return attend
