"""The release that a tag of a package's own repository is: ``git+https://github.com/huggingface/peft@v0.17.0``.

Of these projects the tag of a release names the version that a build of it has; only releases that the index has count.
"""

from __future__ import annotations

import re

from envdoctor.facts.names import canonical
from envdoctor.world.releases import release_texts

_PACKAGES = {
    "axolotl-ai-cloud/axolotl": "axolotl", "dao-ailab/flash-attention": "flash-attn", "deepspeedai/deepspeed": "deepspeed",
    "eleutherai/lm-evaluation-harness": "lm-eval", "hiyouga/llama-factory": "llamafactory", "hiyouga/llamafactory": "llamafactory",
    "huggingface/accelerate": "accelerate", "huggingface/datasets": "datasets", "huggingface/diffusers": "diffusers",
    "huggingface/evaluate": "evaluate", "huggingface/huggingface_hub": "huggingface-hub", "huggingface/optimum": "optimum",
    "huggingface/peft": "peft", "huggingface/sentence-transformers": "sentence-transformers", "huggingface/transformers": "transformers",
    "huggingface/trl": "trl", "linkedin/liger-kernel": "liger-kernel", "microsoft/deepspeed": "deepspeed",
    "modelscope/ms-swift": "ms-swift", "modelscope/swift": "ms-swift", "openaccess-ai-collective/axolotl": "axolotl",
    "ukplab/sentence-transformers": "sentence-transformers",
    "vllm-project/vllm": "vllm",
}  # fmt: skip
_AT_A_TAG = re.compile(
    r"git\+(?:https|ssh)://(?:[^@/\s]+@)?github\.com/(?P<repository>[\w.-]{1,40}/[\w.-]{1,100}?)(?:\.git)?"
    r"@v?(?P<version>\d+(?:\.\d+){1,3}(?:\.post\d+)?)",
    re.ASCII | re.IGNORECASE,
)


def release_at_tag(url: str, name: str = "") -> tuple[str, str] | None:
    """The package and its release, where a URL names the tag of one in the repository that the package is made of.

    ``name`` is what the line calls it; another name is another package.
    """
    found = _AT_A_TAG.fullmatch(re.split(r"[#?]", url.strip(), maxsplit=1)[0])
    package = None if found is None else _PACKAGES.get(found["repository"].lower())
    if found is None or package is None or (name and canonical(name) != package) or found["version"] not in release_texts(package):
        return None
    return package, found["version"]
