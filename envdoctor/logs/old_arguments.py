"""Arguments that had another name before the first release that was read, and those that from_pretrained hands on to a model's class.

https://github.com/ThilinaRajapakse/simpletransformers/issues/866, https://github.com/salesforce/CodeRL/issues/61
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.asked import ARGUMENT
from envdoctor.logs.statements import RefusedKeyword
from envdoctor.logs.tracebacks import Failure
from envdoctor.records import replace

# transformers 3 took these with a warning, and no release from 4 on that was read takes them; of the latter two
# https://github.com/huggingface/transformers/pull/5671 tells.
_RENAMED = {
    "lm_labels": "labels", "masked_lm_labels": "labels", "decoder_past_key_value_states": "past_key_values",
    "decoder_cached_states": "past_key_values",
}  # fmt: skip
_LOADS = re.compile(r"\b(?P<cls>[A-Z]\w{4,80})\.from_pretrained\(")
_MAKES = re.compile(r"\bcls\(config\b")


def judge_old_name(statement: RefusedKeyword) -> Hit | None:
    """A keyword of transformers 3's models that 4 knows by another name alone."""
    new = _RENAMED.get(statement.keyword, "")
    if not new:
        return None
    return Hit(
        ARGUMENT,
        True,
        detail=f"{statement.keyword} is called {new} since transformers 3, and 4.0 no longer takes the old name",
        packages=("transformers",),
        pins=(("transformers", "<4.0.0"),),
        edge=f"transformers:forward({statement.keyword})",
        headline=f"The code calls a model of transformers with {statement.keyword}, as before transformers 4",
        advice=f"{new}=... in place of {statement.keyword}=...",
    )


def of_loaded_class(statement: RefusedKeyword, failure: Failure) -> RefusedKeyword:
    """The refused call with the class that a line loads, where Python tells ``__init__`` alone and from_pretrained handed it on."""
    if statement.function != "__init__" or not failure.frames or _MAKES.search(failure.frames[-1].text) is None:
        return statement
    loaded = [shown["cls"] for frame in failure.frames for shown in [_LOADS.search(frame.text)] if shown is not None]
    return replace(statement, function=f"{loaded[-1]}.__init__") if loaded and not loaded[-1].startswith("Auto") else statement
