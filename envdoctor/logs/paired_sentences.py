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
    # jax/_src/lib/__init__.py, check_jaxlib_version; https://github.com/octo-models/octo/issues/125
    Sentence(
        r"jaxlib version \d[\w.]{0,20} is newer than and incompatible with jax version (?P<jax>\d(?:[\w.]{0,20}\w)?)",
        "jaxlib is of a later release than jax, and jax takes none that is later than itself",
        "one of the two was held back and the other was not: take both of one release",
        "",
        "jaxlib",
        pins=(("jaxlib", r"<=\g<jax>"),),
    ),
)
