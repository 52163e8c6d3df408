"""Whether a word that names a model is plainly a repository on the hub, not a folder of the machine at hand."""

from __future__ import annotations

import re

_BARE = r"[A-Za-z0-9][\w.-]{0,95}"
# What people call the folder above a model of their own.
_FOLDERS = frozenset(
    """
    base base_model base_models cache ckpt ckpts checkpoint checkpoints content data download downloads exp exps experiments home hf
    hf_models huggingface llm llms local logs merged mnt model model_path models my_model my_models opt out output outputs path path_to
    pretrain pretrained pretrained_model pretrained_models pretrained_weights project result results root run runs save saved
    saved_model saved_models saves tmp to train trained user users weights work workspace your your_model
    """.split()  # noqa: SIM905
)
_FILES = (".bin", ".ckpt", ".gguf", ".json", ".pt", ".pth", ".safetensors", ".yaml", ".yml")
_CHECKPOINT = r"(?:checkpoint|step|epoch|global_step)[-_]?[0-9]*"


def is_owned_name(text: str) -> bool:
    """Whether a text is ``owner/name`` as the hub has it: a path of two folders is told by what folders are called."""
    if not re.fullmatch(f"{_BARE}/{_BARE}", text, re.ASCII) or text.lower().endswith(_FILES):
        return False
    owner, _, name = text.partition("/")
    return owner.lower() not in _FOLDERS and re.fullmatch(_CHECKPOINT, name, re.IGNORECASE) is None


def glm_family(name: str) -> str | None:
    """The family that a repository or folder of ChatGLM or GLM-4 is called after; these alone are all of one ``model_type``."""
    last = name.replace("\\", "/").rstrip("/").lower().rpartition("/")[2]
    for fragment, family in (("chatglm3", "chatglm3"), ("chatglm2", "chatglm2"), ("chatglm-6b", "chatglm"), ("visualglm", "chatglm")):
        if fragment in last:
            return family
    if last == "glm-4":
        return "glm-4"
    own = not last.endswith("-hf") and "0414" not in last
    return "glm-4" if own and re.match(r"glm-4v?-9b|codegeex4-all-9b|longwriter-glm4-9b", last) else None


def glm_bits(name: str) -> str | None:
    """How the weights of a quantized repository of ChatGLM-6B or ChatGLM2-6B are stored, which its own quantization.py reads."""
    found = re.search(r"chatglm2?-6b-(int[48])(?:-qe)?/?$", name.lower())
    return f"chatglm-{found[1]}" if found is not None else None


def glm_type(name: str) -> str | None:
    """The type of a repository of GLM-4 that transformers has a class of its own for: ``-hf`` and the editions of April 2025."""
    last = name.replace("\\", "/").rstrip("/").lower().rpartition("/")[2]
    if not last.startswith("glm-4-") or "v-" in last:
        return None
    return "glm4" if "0414" in last else "glm" if last.endswith("-hf") else None


def may_be_on_the_hub(text: str) -> bool:
    """``owner/name``, or a name alone, which transformers asks the hub for where no folder is called so."""
    return is_owned_name(text) or (re.fullmatch(_BARE, text, re.ASCII) is not None and text.lower() not in _FOLDERS)
