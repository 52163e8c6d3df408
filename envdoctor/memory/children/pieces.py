"""TRL's loss in pieces, as SFTTrainer computes it from 1.7 on (``_chunked_cross_entropy_loss`` of trl/trainer/sft_trainer.py, 1.7.1): the
decoder alone, and the logits of so many tokens at a time in a checkpointed function, up to 1.12 (``wide``) each time with a float32 copy of
the output layer.

CPython 3.8+; torch comes as an argument.
"""

from __future__ import annotations

import importlib
from typing import Any


def loss(torch: Any, base: Any, batch: dict[str, Any], rows: int, wide: bool) -> Any:
    """The mean loss of a batch; ``base`` is the language model, with adapters put into it."""
    functional = torch.nn.functional
    checkpoint = importlib.import_module("torch.utils.checkpoint").checkpoint
    given = {name: value for name, value in batch.items() if name != "labels"}
    hidden = base.base_model(use_cache=False, **given).last_hidden_state
    head = base.get_output_embeddings()
    cap = getattr(getattr(base.config, "text_config", base.config), "final_logit_softcapping", None)

    def of_piece(states: Any, weight: Any, bias: Any, wanted: Any) -> Any:
        logits = states.float() @ weight.float().t() if wide else (states @ weight.to(states.dtype).t()).float()
        if bias is not None:
            logits = logits + bias.float()
        if cap is not None:
            logits = cap * torch.tanh(logits / cap)
        likely = functional.log_softmax(logits, dim=-1)
        right = (logits.argmax(dim=-1) == wanted).sum().float()
        return functional.nll_loss(likely, wanted, reduction="sum"), right, -(likely.exp() * likely).sum(dim=-1).sum()

    shifted = hidden[..., :-1, :].reshape(-1, hidden.size(-1))
    labels = batch["labels"][..., 1:].reshape(-1)
    # What has a label is taken out, here all of it.
    shifted = shifted.index_select(0, torch.arange(shifted.size(0)))
    total = hidden.new_zeros((), dtype=torch.float32)
    for start in range(0, shifted.size(0), rows):
        end = start + rows
        part, _, _ = checkpoint(of_piece, shifted[start:end], head.weight, head.bias, labels[start:end], use_reentrant=False)
        total = total + part
    return total / shifted.size(0)
