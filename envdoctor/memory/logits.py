"""What the output layer and the loss take, in bytes for each token: at large vocabularies the real peak of a run.

transformers computes the loss in float32. Up to 4.45 the 16-bit logits are freed when they are upcast; from 4.46 on (``loss_function``,
transformers/loss/loss_utils.py) the caller holds them meanwhile; from 4.49 on the labels are shifted and no longer a copy of the logits.
The log-softmax keeps one float32 for each logit, and its backward has three.
"""

from __future__ import annotations

from envdoctor.memory import modeling, pieces
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.plan import Plan
from envdoctor.memory.stack import at_least
from envdoctor.memory.widths import Widths
from envdoctor.records import dataclass

# Until 4.49 these compute the loss in the dtype of the logits, with a shifted copy: modeling_*.py of the released wheels from 4.44.2 to
# 4.49.0; Qwen's own code does so at any time.
_NEVER_UPCAST = frozenset(
    ("gpt2", "gptj", "gpt_neox", "gpt_bigcode", "codegen", "bloom", "opt", "falcon", "mpt", "persimmon", "stablelm", "qwen")
)
# Models that see whose own loss was computed in the dtype of the logits (``CrossEntropyLoss()`` of the shifted logits, modeling_*.py of
# 4.46.3, 4.48.3, 4.49.0 and 4.50.3) until 4.52, which took up loss_function (4.52.4). PaliGemma's made them float32 at any time.
_SEEING = frozenset(("llava", "llava_next", "llava_onevision", "video_llava", "vipllava", "mistral3", "aya_vision", "got_ocr2"))
# ``self.lm_head(hidden_states).to(torch.float32)`` of modeling_gptj.py and modeling_codegen.py, 4.45.2 and 4.51.3; not in 5.24.0.
_RETURNS_FLOAT32 = frozenset(("gptj", "codegen"))
# num_output_chunks of torchtune/modules/loss/ce_chunked_output_loss.py, 0.6.1.
_CHUNKS = 8
# Models that took up loss_function later than 4.46, and in which release (read on the wheels of 4.46.0 to 4.49.0).
_LATER = {"mistral": "4.48", "granite": "4.48", "starcoder2": "4.47", "granitemoe": "4.49"}


@dataclass(frozen=True, slots=True)
class Loss:
    """Bytes for each token at the fullest point of the forward and of the backward of output layer and loss, with the last norm."""

    forward: float
    backward: float


def loss(architecture: Architecture, plan: Plan, width: Widths) -> Loss:
    """What one token costs between the last layer and the gradient that comes back into it: of a row with its answer alone scored, on
    the average of its tokens."""
    each = _loss(architecture, plan, width)
    part = min(1.0, (plan.scored + 1) / plan.tokens) if plan.scored else 1.0
    return Loss(each.forward * part, each.backward * part)


def _loss(architecture: Architecture, plan: Plan, width: Widths) -> Loss:
    if architecture.head != "causal":
        return Loss(0.0, 0.0)
    vocabulary, hidden = architecture.vocab, architecture.hidden
    last, again = last_norm(architecture, plan, width)
    computed = min(width.computed, 4)
    if architecture.softcap and not plan.liger and plan.method != "inference":
        # The tanh that caps the logits (Gemma 2) stays for its backward.
        last, again = last + computed * vocabulary, again + computed * vocabulary
    shifts = 0 if plan.rows == 1 else 1
    if plan.liger and plan.loss_rows:
        there, back = pieces.of_trl(architecture, plan, computed)
        return Loss(last + computed * hidden + there, again + computed * hidden + back)
    if plan.liger:
        return Loss(last + computed * hidden + pieces.piece(architecture, plan, computed), again + computed * hidden)
    if plan.method == "inference":
        return Loss(computed * vocabulary, 0.0)
    if plan.sharding == "megatron":
        # The 16-bit logits, and a float32 copy that becomes its own softmax and gradient in place (core/tensor_parallel/cross_entropy.py of
        # megatron-core 0.16.1); the gradient is cast for the product before it. Compiled (fusions/fused_cross_entropy.py), the backward
        # makes a float32 copy of the softmax beside that (in the code that torch 2.13.0's inductor writes for it; the forward makes none).
        copied = 4 if plan.fused_loss else 0
        return Loss((computed + 4) * vocabulary + last, (computed + 4 + copied) * vocabulary + again)
    if plan.litgpt:
        return _of_litgpt(plan, 4 * vocabulary, last, again, shifts)
    if not plan.upcast_loss and plan.autocast is None:
        # A loss outside of the model: logits, their shifted copy, the log-softmax; its backward has gradient and result beside that.
        return Loss((2 + shifts) * computed * vocabulary + last, 3 * computed * vocabulary + again)
    if not _upcasts(architecture, plan) and plan.autocast is None:
        # Logits, their shifted copy, the log-softmax; the first two are gone when its backward has gradient and result beside it.
        given = 4 if architecture.kind in _RETURNS_FLOAT32 else computed
        return Loss((2 + shifts) * given * vocabulary + last, 3 * given * vocabulary + again)
    upcast = 4 if computed < 4 else 0
    if not _upcasts(architecture, plan):
        # Autocast computes the cross entropy in float32: the shifted 16-bit logits are cast.
        return Loss(((1 + shifts) * computed + upcast + 4) * vocabulary + last, 12 * vocabulary + again)
    if plan.compiled_loss:
        # Upcast, shift and softmax become one kernel: the logits and their gradient, in float32 at most (torchtune's README, 60.0 to 51.0
        # GiB for Llama-3.2-3B at 8192 tokens).
        return Loss(8 * vocabulary + last, 8 * vocabulary + again)
    if plan.chunked_loss:
        return _in_chunks(vocabulary, computed, last, again)
    if plan.fused_loss:
        fused = _upcast_logits(architecture, plan, computed, upcast) - 4
        return Loss(fused * vocabulary + last, (computed + upcast) * vocabulary + again)
    return Loss(_upcast_logits(architecture, plan, computed, upcast) * vocabulary + last, 12 * vocabulary + again)


def _in_chunks(vocabulary: int, computed: int, last: float, again: float) -> Loss:
    """``CEWithChunkedOutputLoss`` of torchtune 0.6.1: the logits are eight pieces of a row, and made float32 one after the other; the
    log-softmax of each is kept. The backward of a piece has two float32 of it beside all that."""
    piece = 4 / _CHUNKS
    return Loss((computed + 4 + piece) * vocabulary + last, (computed + 4 + 2 * piece) * vocabulary + again)


def _of_litgpt(plan: Plan, logits: int, last: float, again: float, shifts: int) -> Loss:
    """``chunked_cross_entropy`` of litgpt 0.5.0 and 0.5.13: a softmax of 128 tokens at a time.

    Fabric hands the logits out as float32, the default dtype (``convert_output`` of its precision plugins, lightning 2.2.1).
    finetune/lora.py makes them in pieces too, so that nothing is copied to be shifted and a gradient is that of one piece;
    finetune/full.py makes them at once, and their gradient is put together of its pieces.
    """
    if plan.method != "full":
        return Loss(2 * logits + last, 2 * logits + again)
    return Loss((2 + shifts) * logits + last, (3 + shifts) * logits + again)


def returned(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Bytes for each token of the logits that the model returns, which a loop that keeps its outputs holds: float32 where the model itself
    upcasts them."""
    if architecture.head != "causal" or plan.liger:
        return 0.0
    wide = _upcasts(architecture, plan) and not plan.compiled_loss and (architecture.remote or not _leaves_logits(architecture, plan))
    wide = wide or (architecture.kind in _RETURNS_FLOAT32 and not at_least(plan.stack.transformers, "5.0"))
    return (4 if wide else width.computed) * architecture.vocab


def handed_back(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Bytes for each token when the gradient of the output layer is made: the gradient of the logits in the dtype of that product, and
    what the last norm keeps. Liger's kernel makes both gradients chunk by chunk in the forward, and hands on that of its input."""
    if architecture.head != "causal":
        return 0.0
    _, again = last_norm(architecture, plan, width)
    return again + width.computed * (architecture.hidden if plan.liger else architecture.vocab)


def last_norm_backward(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Bytes for each token in the backward of the last norm, when all layers still keep what they have: an RMS norm is written in Python,
    and has its float32 input and five float32 gradients then; a fused one has its input and two gradients."""
    if plan.fused_norms or modeling.norm(architecture, plan) in ("layer", "layer in float32"):
        return 3.0 * width.stream * architecture.hidden
    return 6.0 * 4 * architecture.hidden


def _upcast_logits(architecture: Architecture, plan: Plan, computed: int, upcast: int) -> int:
    """Bytes for each logit at the fullest point of the forward, by release; a snapshot's own code does as transformers did at first.

    The shifted logits of a single row lie beside each other as they are: nothing is copied then.
    """
    shifted = 0 if plan.rows == 1 else 4
    if architecture.remote:
        return 8 + shifted
    if at_least(plan.stack.transformers, "4.49"):
        return computed + upcast + 4
    if _leaves_logits(architecture, plan):
        return computed + upcast + 4 + shifted
    return 8 + shifted


def _leaves_logits(architecture: Architecture, plan: Plan) -> bool:
    """Whether only the loss is computed in float32, and the model returns logits as they were."""
    return at_least(plan.stack.transformers, _LATER.get(architecture.kind, "4.46"))


def last_norm(architecture: Architecture, plan: Plan, width: Widths) -> tuple[float, float]:
    """The norm before the output layer, in the forward and in the backward: what it keeps, and what it hands on, which a trained output
    layer keeps too."""
    kept = architecture.hidden * (4 if architecture.norm == "rms" and not plan.fused_norms else width.stream)
    handed = width.stream * architecture.hidden
    return kept + handed, kept + (2 * handed if plan.method == "full" else 0)


def _upcasts(architecture: Architecture, plan: Plan) -> bool:
    if architecture.inside in _SEEING and not at_least(plan.stack.transformers, "4.52"):
        return False
    return architecture.kind not in _NEVER_UPCAST or (at_least(plan.stack.transformers, "4.49") and not architecture.remote)
