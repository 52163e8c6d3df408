"""CUDA's mixed precision on a fake CPU: the CPU's own autocast, with CUDA's list of what is computed in float32 put into it.

The list is ``AT_FORALL_FP32`` and ``AT_FORALL_FP32_SET_OPT_DTYPE`` of ``aten/src/ATen/autocast_mode.h``; what runs in the lower
precision is the same on both but for attention, which ``kernels.py`` casts itself. The cache of cast weights is shared code.
CPython 3.8+; torch comes as an argument.
"""

from __future__ import annotations

from typing import Any

# By overload, as far as models of language use them.
_FLOAT32 = (
    *("exp", "log", "log1p", "reciprocal", "rsqrt", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus", "layer_norm"),
    *("native_layer_norm", "rms_norm", "group_norm", "nll_loss", "nll_loss2d", "kl_div", "l1_loss", "mse_loss", "logsumexp"),
    *("binary_cross_entropy_with_logits", "smooth_l1_loss"),
)
_FLOAT32_UNLESS_ASKED = ("softmax.int", "log_softmax.int", "prod", "prod.dim_int", "cumprod", "cumsum", "sum", "sum.dim_IntList")


def install(torch: Any) -> Any:
    """Register the list; the library is returned, and what it holds is gone when it is."""
    library = torch.library.Library("aten", "IMPL")
    guard = torch._C._ExcludeDispatchKeyGuard
    key = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

    def widened(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(torch.float32) if value.dtype in (torch.float16, torch.bfloat16) else value
        return value

    def in_float32(operation: Any) -> Any:
        def compute(*args: Any, **kwargs: Any) -> Any:
            with guard(key):
                return operation(*(widened(arg) for arg in args), **{name: widened(value) for name, value in kwargs.items()})

        return compute

    def asked_for_float32(operation: Any) -> Any:
        def compute(*args: Any, **kwargs: Any) -> Any:
            with guard(key):
                if not args[0].is_floating_point() or kwargs.get("dtype") is not None or any(isinstance(arg, torch.dtype) for arg in args):
                    return operation(*args, **kwargs)
                if operation._schema.name in ("aten::softmax", "aten::log_softmax"):
                    one_kernel = torch._softmax if operation._schema.name == "aten::softmax" else torch._log_softmax
                    if args[0].dtype == torch.float16:
                        return one_kernel(args[0], args[1], True)
                    args = args[:2]
                return operation(*args, **{**kwargs, "dtype": torch.float32})

        return compute

    for names, policy in ((_FLOAT32, in_float32), (_FLOAT32_UNLESS_ASKED, asked_for_float32)):
        for name in names:
            packet, _, overload = name.partition(".")
            operation = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
            if operation is not None and not torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, "AutocastCPU"):
                library.impl(name, policy(operation), "AutocastCPU")
    # Libraries ask for the state of CUDA's autocast.
    torch.is_autocast_enabled = lambda *_: torch.is_autocast_cpu_enabled()
    torch.get_autocast_gpu_dtype = torch.get_autocast_cpu_dtype
    _for_both(torch)
    return library


def _for_both(torch: Any) -> None:
    """A region for CUDA that a model opens or leaves (``torch.cuda.amp.autocast(enabled=False)``) is one of the CPU that plays it."""
    region = torch.amp.autocast_mode.autocast
    make = region.__init__

    def play(self: Any, device_type: str, *args: Any, **options: Any) -> None:
        make(self, "cpu" if device_type == "cuda" else device_type, *args, **options)

    region.__init__ = play
