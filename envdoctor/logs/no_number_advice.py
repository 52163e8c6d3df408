"""What to do about numbers that are none, by what is known of the type that the run computed in."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.facts.fact import Facts

# Who trains in bfloat16 has no overflow of float16: https://github.com/princeton-nlp/SimPO/issues/35
_WITH_BFLOAT16 = (
    "bfloat16 is stated already: count the labels that are not -100 in each row (a prompt as long as max_length leaves no answer: "
    "max_prompt_length below it); then a smaller learning rate; torch.autograd.set_detect_anomaly(True) for one step names the operation"
)
_OF_NO_TYPE = (
    "count the labels that are not -100 in each row (a prompt as long as max_length leaves no answer); "
    "torch.autograd.set_detect_anomaly(True) for one step names the operation; print(next(model.parameters()).dtype), as the text does not "
    "say in which type it ran: float16 ends at 65,504; then a smaller learning rate"
)
_HALF = re.compile(r"\b(?:fp16|[Ff]loat16|half|Half|GradScaler|loss.scale)\b")
_OF_TYPE = ("plan.load_dtype", "model.dtype")


def advise_no_number(lines: Iterable[tuple[int, str]], facts: Facts) -> str:
    """The advice; empty where float16 is in use, of which the rule itself tells."""
    if facts.value("plan.bf16") is True:
        return _WITH_BFLOAT16
    half = facts.value("plan.fp16") is True or any(facts.text(name) == "float16" for name in _OF_TYPE)
    return "" if half or any(_HALF.search(line) for _, line in lines) else _OF_NO_TYPE
