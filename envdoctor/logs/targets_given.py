"""What an error says of the target_modules that LoRA was given, where they are no names of layers at all."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure

RUN = "error-of-the-run"
# The page of the message, which takes what it quotes for names of layers.
_PAGE = ("target-modules-not-found",)
_GIVEN = re.compile(r"Target modules (?P<given>\[.{0,400}?\]|\{.{0,400}?\}|set\(\)|\(.{0,400}?\)) not found in the base model")
_ITEMS = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_SEVERAL = 3


def judge_targets(failure: Failure) -> Hit | None:
    """Whether the list of names is empty, or is a text that was taken apart into its letters."""
    found = _GIVEN.search(failure.message)
    if found is None:
        return None
    items = [one or other for one, other in _ITEMS.findall(found["given"])]
    if not items and re.fullmatch(r"\W*(?:set)?\W*", found["given"]):
        # https://github.com/yangjianxin1/Firefly/issues/134: with an older transformers the search for bitsandbytes' layers found none.
        return Hit(
            RUN,
            True,
            detail=(
                "the script looked for the layers itself and found none: a search for bitsandbytes' classes (bnb.nn.Linear4bit) finds "
                "nothing where the model was not loaded quantised, or where this transformers left its layers as they were"
            ),
            packages=("peft",),
            edge="peft:no-target-modules",
            over=_PAGE,
            headline="LoRA's list of target_modules is empty",
            advice=(
                "print(model) shows the classes of the layers: the search has to look for those; where they should be quantised, see that "
                'load_in_4bit took effect, with a newer transformers; or LoraConfig(target_modules="all-linear")'
            ),
        )
    if len(items) >= _SEVERAL and all(len(one) == 1 for one in items):
        # https://github.com/huggingface/peft/issues/3232
        return Hit(
            RUN,
            True,
            detail=(
                "a set or a list was made of one text, in the script or in a peft that converts it (some releases did so for models with "
                "experts)"
            ),
            packages=("peft",),
            edge="peft:letters-for-target-modules",
            over=_PAGE,
            headline="The text that names LoRA's target_modules was taken apart into its letters",
            advice='pass a list of names, target_modules=["q_proj", "v_proj"], or all-linear; where a list was passed, a newer peft',
        )
    return None
