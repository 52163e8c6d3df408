"""Linear layers in four bits without bitsandbytes' kernels: what they keep, and what a product takes for a moment.

As bitsandbytes does it (``bitsandbytes/functional.py``, ``quantize_4bit``; ``autograd/_functions.py``, ``MatMul4Bit``): two weights
in a byte; one float32 absmax for 64 weights, or with double quantization one byte, a float32 for 256 of those, and a table of 256;
a table of 16; the whole weight is made in its former dtype for each product, forward and backward, and the input is not kept.
CPython 3.8+; torch comes as an argument.
"""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any

BLOCK, NESTED_BLOCK = 64, 256


def layer_class(torch: Any) -> Any:
    base: Any = torch.nn.Linear
    function: Any = torch.autograd.Function
    linear = torch.nn.functional.linear

    def whole(like: Any, layer: Any) -> Any:
        absmax = like.new_empty((layer.blocks,), dtype=torch.float32) if layer.double else None
        made = like.new_empty((layer.out_features, layer.in_features), dtype=layer.was)
        del absmax
        return made

    class Product(function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, inputs: Any, packed: Any, bias: Any, layer: Any) -> Any:
            ctx.layer = layer
            ctx.save_for_backward(packed)
            return linear(inputs, whole(inputs, layer).to(inputs.dtype), bias)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return torch.matmul(gradient, whole(gradient, ctx.layer).to(gradient.dtype)), None, None, None

    class Linear4bit(base):  # type: ignore[misc]
        def forward(self, inputs: Any) -> Any:
            bias = None if self.bias is None else self.bias.to(self.compute_dtype)
            return Product.apply(inputs.to(self.compute_dtype), self.weight, bias, self).to(inputs.dtype)

    return Linear4bit


def stand_in(layer: Any) -> None:
    """Let peft find a package with this class, so that it takes its own way with such layers."""
    package: Any = types.ModuleType("bitsandbytes")
    package.__spec__ = importlib.machinery.ModuleSpec("bitsandbytes", None)
    package.__version__ = "0.0"
    package.nn = types.ModuleType("bitsandbytes.nn")
    package.nn.Linear4bit = layer
    package.functional = types.ModuleType("bitsandbytes.functional")
    sys.modules.update({"bitsandbytes": package, "bitsandbytes.nn": package.nn, "bitsandbytes.functional": package.functional})


def quantize(torch: Any, model: Any, compute: Any, double: bool, ledger: Any) -> None:
    """Replace the linear layers but for the output layer, counting each weight as it comes to the GPU whole and is packed there."""
    made = layer_class(torch)
    stand_in(made)
    kept = model.get_output_embeddings()
    last = list(model.children())[-1]
    for layer in list(model.modules()):
        # As transformers does it (integrations/bitsandbytes.py): classes that are made of a linear layer too, and GPT-2's transposed one.
        transposed = type(layer).__name__ == "Conv1D"
        if not (isinstance(layer, torch.nn.Linear) or transposed) or layer is kept or layer is last:
            continue
        if transposed:
            layer.in_features, layer.out_features = layer.weight.shape
        layer.__class__ = made
        layer.was, layer.compute_dtype, layer.double = layer.weight.dtype, compute, double
        count = layer.weight.numel()
        layer.blocks = -(-count // BLOCK)
        whole = ledger.hold(count * layer.weight.element_size(), "other")
        weight = torch.nn.Parameter(torch.empty((-(-count // 2), 1), dtype=torch.uint8), requires_grad=False)
        weight.compress_statistics, weight.quant_type = double, "nf4"
        layer.weight = weight
        layer.state = [torch.empty(16), torch.empty((layer.blocks,), dtype=torch.uint8 if double else torch.float32)]
        if double:
            layer.state += [torch.empty(256), torch.empty(-(-layer.blocks // NESTED_BLOCK)), torch.empty(())]
        for tensor in (weight, *layer.state):
            ledger.take(tensor, "weights")
        ledger.drop(whole)
    model.is_loaded_in_4bit = True
    model.is_quantized = True


def upcast(torch: Any, model: Any, only_norms: bool) -> None:
    """What ``prepare_model_for_kbit_training`` of peft does: nothing is trained, and half precision becomes float32.

    ``only_norms``: what ``peft_module_casting_to_bf16`` of trl leaves of it.
    """
    known: dict[int, Any] = {}
    for module in model.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is None:
                continue
            parameter.requires_grad_(False)
            if parameter.dtype in (torch.float16, torch.bfloat16) and not (only_norms and parameter.dim() > 1):
                if id(parameter) not in known:
                    known[id(parameter)] = (parameter, torch.nn.Parameter(parameter.detach().to(torch.float32), requires_grad=False))
                module._parameters[name] = known[id(parameter)][1]
