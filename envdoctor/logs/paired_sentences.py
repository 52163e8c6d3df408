"""Sentences of packages that are released in pairs: one tells that the other is of another release."""

from __future__ import annotations

from envdoctor.logs.run_sentences import Sentence

PAIRED = (
    # DynamicCache came with transformers 4.36.0, whose generate hands it to Llama and Mistral; to the other models from 4.42 on.
    # https://github.com/InternLM/xtuner/issues/290, https://github.com/peijunallin/alphalora/issues/4
    Sentence(
        r"Cache only has 0 layers, attempted to access layer with index",
        "Code of a model reads the cache as a tuple (past_key_values[0][0]), and this transformers hands it an empty DynamicCache",
        "the code is the project's, a library's or the model's own, and was written for transformers before 4.36, or before 4.42 for most "
        "models but Llama and Mistral",
        "past_key_values.get_seq_length() in place of past_key_values[0][0].shape[2]; or an older transformers: 4.41, and 4.35 for code "
        "that is older than December 2023",
        "transformers",
        pins=(("transformers", "<4.42"), ("transformers", "<4.36")),
    ),
    # jax/_src/lib/__init__.py, check_jaxlib_version; https://github.com/octo-models/octo/issues/125. From 0.3 on both have the same
    # numbers, and of jaxlib the package index has nothing before 0.4.13.
    Sentence(
        r"jaxlib version (?P<lib>0\.(?:[3-9]|\d\d)\.\d{1,3}) is newer than and incompatible with jax version 0\."
        r"(?:[0-3]\.|4\.(?:\d|1[0-2])\b)",
        "jaxlib is of a later release than jax, and jax takes none that is later than itself",
        "one of the two was held back and the other was not; an older jaxlib is on the package index no more (it begins with 0.4.13)",
        "",
        "jax",
        pins=(("jax", r"==\g<lib>"),),
    ),
    Sentence(
        r"jaxlib version \d[\w.]{0,20} is newer than and incompatible with jax version (?P<jax>\d(?:[\w.]{0,20}\w)?)",
        "jaxlib is of a later release than jax, and jax takes none that is later than itself",
        "one of the two was held back and the other was not: take both of one release",
        "",
        "jaxlib",
        pins=(("jaxlib", r"<=\g<jax>"),),
    ),
    # diffusers/utils/deprecation_utils.py; https://github.com/modelscope/facechain/issues/508
    Sentence(
        r"The deprecation tuple \(['\"](?P<what>[\w.]{1,80})['\"], ['\"](?P<due>\d[\w.]{0,20})['\"].{0,600}"
        r"should be removed since diffusers' version",
        "What is called was to go from diffusers with this release, and the release stops there in place of a warning",
        "the message names what is called, and the release with which it was due; the releases before it only warn",
        "",
        "diffusers",
        pins=(("diffusers", r"<\g<due>"),),
    ),
)
