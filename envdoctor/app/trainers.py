"""What scripts that show all do with a Trainer of transformers, or with what derives from one: make it, and have it train."""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.facts.loaded_with import LoadedWith
from envdoctor.facts.uses import Use

MADE, RUN = "trainer-made", "trainer-run"
ANY_RELEASE = ""
# They make a Trainer by functions of their own, or by a name that says nothing of one.
_MAKE = frozenset(
    ("adapters", "axolotl", "fastchat", "flair", "litgpt", "llamafactory", "lmflow", "openrlhf", "optimum", "setfit", "simpletransformers",
     "swift", "verl")
)  # fmt: skip
_RUN = frozenset(("train", "hyperparameter_search", "fit", "learn"))
# Up to trl 0.11 they are no Trainers of transformers, and make an Accelerator of their own.
_OWN = frozenset(("PPOTrainer", "DDPOTrainer", "AlignPropTrainer", "TextEnvironment"))
_DERIVED = ">=0.12"
# From these releases on their fit() makes a Trainer (sentence_transformers/fit_mixin.py, cross_encoder/fit_mixin.py).
_FITS = {
    "sentence_transformers.SentenceTransformer": ">=3.0",
    "sentence_transformers.CrossEncoder": ">=4.0",
}


def loads_of_trainers(uses: Iterable[Use]) -> tuple[tuple[str, ...], tuple[LoadedWith, ...]]:
    """What the script never does, ``trainer-made`` or ``trainer-run``, and what it does with some releases of a package alone."""
    listed = [use for use in uses if use.kind in ("name", "def")]
    elsewhere = any(use.name.partition(".")[0] in _MAKE for use in listed)
    runs = elsewhere or any(use.name.rpartition(".")[2] in _RUN for use in listed)
    made = [(ANY_RELEASE, "")] if elsewhere else [by for use in listed if (by := _made_by(use)) is not None]
    if (ANY_RELEASE, "") in made:
        return (() if runs else (RUN,)), ()
    names = (MADE, RUN) if runs else (MADE,)
    return (MADE, RUN), tuple(LoadedWith(name, package, releases) for package, releases in dict.fromkeys(made) for name in names)


def _made_by(use: Use) -> tuple[str, str] | None:
    """The package, and its releases, with which a use makes a Trainer; ``ANY_RELEASE`` with whichever, None where it never does."""
    owner, _, last = use.name.rpartition(".")
    if last == "fit" and owner in _FITS:
        return "sentence-transformers", _FITS[owner]
    if use.kind == "def":
        return (ANY_RELEASE, "") if owner.endswith("Trainer") else None  # a class of the script that derives from one
    if use.arguments is None or not last.endswith("Trainer") or owner == "?":
        return None
    return ("trl", _DERIVED) if use.name.partition(".")[0] == "trl" and last in _OWN else (ANY_RELEASE, "")


__all__ = ["ANY_RELEASE", "MADE", "RUN", "loads_of_trainers"]
