"""Processors of images and videos that transformers leaves out of its lists where a package is not installed, and says nothing of it."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.demanded import NOT_INSTALLED
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure

# transformers/models/auto/image_processing_auto.py and video_processing_auto.py of 5.12.1.
_HIDDEN = re.compile(r"Unrecognized (?P<kind>image|video) processor in |Could not find image processor class\. Available backends: ")
_FORMS = {
    "image": "each image processor is written for torchvision, and many for Pillow as well",
    "video": "each video processor is written for torchvision",
}
_FILES = {"image": "preprocessor_config.json", "video": "video_preprocessor_config.json"}


def judge_processor(failure: Failure, facts: Facts) -> Hit | None:
    """No processor for a model: https://github.com/huggingface/transformers/issues/46726; None beside a stated torchvision."""
    shown = _HIDDEN.search(failure.message)
    transformers, torchvision = facts.value("packages.transformers"), facts.value("packages.torchvision")
    if shown is None or isinstance(torchvision, Exact) or (isinstance(transformers, Exact) and not admits(">=5.0.0", transformers)):
        return None
    kind = shown["kind"] or "image"
    return Hit(
        NOT_INSTALLED,
        True,
        detail=f"{_FORMS[kind]}, and a class whose package is not installed counts as none, without a word; a folder without "
        f"{_FILES[kind]}, or a model that takes no {kind}, ends in the same words",
        packages=("torchvision", "transformers"),
        edge=f"transformers:{kind}-processor",
        headline=f"transformers finds no {kind} processor for this model: most likely torchvision is not installed",
        advice="torchvision of the torch that is there: pip install torchvision (python -c 'import torch, torchvision' shows whether the "
        f"two go together); where it is there, {_FILES[kind]} from the original model",
    )
