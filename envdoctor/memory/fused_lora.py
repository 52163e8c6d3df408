"""Adapters that a kernel computes together with the products beside which they stand: axolotl's and Unsloth's, which is their model.

Read in axolotl 0.8.0 to 0.19.0 (axolotl/kernels/lora.py) and unsloth 2026.10.9 (unsloth/kernels/fast_lora.py). ``LoRA_QKV`` and ``LoRA_O``
keep their input as it is and the adapters' matrices, ``LoRA_MLP`` its input, gate and up: no copy of an input in the adapter's dtype, no
product of the first matrix, and nothing of the activation, which is computed again in place of its gradient.
"""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.plan import Plan
from envdoctor.memory.stack import at_least
from envdoctor.memory.targets import tuned

# From which releases on what an adapter adds is added in the product's own memory (``out.addmm_`` of ``matmul_lora``), and no tensor as
# wide is made for it: not in axolotl 0.17.0 and Unsloth 2024.8, in 0.18.0 and 2025.3.19.
_IN_PLACE_IN_AXOLOTL, _IN_PLACE_IN_UNSLOTH = "0.18.0", "2025.3.19"
_GROUPS = {"qkv": ("query", "key", "value"), "o": ("output",), "mlp": ("gate", "up", "down")}


def roles(architecture: Architecture, plan: Plan) -> frozenset[str]:
    """The linear layers that such a kernel computes: those of a group all of which have an adapter of their own."""
    adapter = plan.adapter
    if not plan.lora_kernels or adapter is None or adapter.dora or plan.quant == "8bit":
        return frozenset()
    beside = {one.role for one in tuned(architecture, adapter.targets) if one.count == 1}
    found: set[str] = set()
    for name, group in _GROUPS.items():
        separate = beside.issuperset(group) and not (name == "mlp" and (architecture.experts or not architecture.gated))
        if name in plan.lora_kernels and separate:
            found.update(group)
    return frozenset(found)


def added_apart(plan: Plan) -> bool:
    """Whether what an adapter adds to a product is a tensor of its own for a moment."""
    if plan.unsloth:
        return not at_least(plan.stack.unsloth, _IN_PLACE_IN_UNSLOTH)
    return not at_least(plan.stack.axolotl, _IN_PLACE_IN_AXOLOTL)


def has(architecture: Architecture, plan: Plan, role: str) -> bool:
    """Whether a kernel computes the layer of this role."""
    return bool(plan.lora_kernels) and role in roles(architecture, plan)
