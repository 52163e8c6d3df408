"""Names that anybody gives to a class or a function: that a package has one of that name says nothing of whose an error is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.atlas.shelf import open_package

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_EVERYDAY = """
agent all and apply args arguments attention audio backbone base batch block blocks build calculate checkpoint class classes
collate collator compute config configs conv convert create cross custom data dataloader dataset datasets decode decoder device
dict dim dims dir download embedding embeddings encode encoder env environment epoch epochs eval evaluate evaluation feature
features file files find fn for forward from func function gan generate generator get gpt handler head heads helper hidden id
ids image images in index init initialize input inputs label labels layer layers learning length linear list lit load loader
loaders loss lr lstm main make manager mask max metrics min mlp mode model models module multi my name net network new num of
one optimizer our output outputs params parse path pipeline plot position predict predictor prepare preprocess process processor
proj projection rate read res run sample sampler samples save scheduler self seq sequence set setup simple size split state step
test testing text the to token tokenizer tokens train trainer training transform transformer transforms type u update util utils
vae validate vgg video vision vit weights with wrapper write
"""
_WORDS = frozenset(_EVERYDAY.split())
# A word alone is what anybody calls a class, but for a long one.
_ALONE = re.compile(r"[A-Z]?[a-z]{1,9}")
_OWN = re.compile(r"(?:My|Custom|Our)[A-Z]\w*")


# Classes that repositories on the hub bring along as code of their own, and packages that have taken a copy of some of them.
_OF_SNAPSHOTS = re.compile(r"(?:ChatGLM|QWen|Bai[Cc]huan|InternLM|XVERSE|Xverse|Skywork|Aquila|MiniCPM|Orion|Tele[Cc]hat)[A-Z]\w*")
_WITH_COPIES = frozenset(("diffusers", "vllm", "sglang", "lmdeploy", "ms-swift", "ipex-llm", "megatron-core", "modelscope"))


def is_of_a_snapshot(name: str, near: Iterable[str]) -> bool:
    """Whether a class of this name is of the code of a snapshot: nothing that has a copy of it is ``near``, among the frames."""
    return bool(_OF_SNAPSHOTS.fullmatch(name)) and _WITH_COPIES.isdisjoint(near)


def is_everyday(name: str) -> bool:
    """Whether a name is made of words that everybody uses, and of nothing else: ``load_data``, ``image_size``, ``BatchSampler``."""
    parts = _PART.findall(name)
    return bool(parts) and all(part.lower() in _WORDS for part in parts)


def is_anybodys_class(name: str, package: str = "") -> bool:
    """Whether a class of this name is as likely one of the project's own; what a package gives at its top under two words is not."""
    if _ALONE.fullmatch(name) or _OWN.fullmatch(name):
        return True
    if not is_everyday(name):
        return False
    bound = open_package(package) if package else None
    return bound is None or not any(bound.volume.provides(top, name).there for top in bound.volume.tops)
