"""Sentences of packages that are released in pairs: one tells that the other is of another release."""

from __future__ import annotations

from envdoctor.logs.run_sentences import Sentence

PAIRED = (
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
