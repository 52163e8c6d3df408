"""What scripts that show all do with a Trainer of transformers, or with what derives from one: make it, and have it train."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envdoctor.facts.fact import Facts
from envdoctor.facts.uses import Use
from envdoctor.facts.versions import Exact, version_condition

MADE, RUN = "trainer-made", "trainer-run"
# They make a Trainer by functions of their own, or by a name that says nothing of one.
_MAKE = frozenset(
    ("adapters", "axolotl", "fastchat", "flair", "litgpt", "llamafactory", "lmflow", "openrlhf", "optimum", "setfit", "simpletransformers",
     "swift", "verl")
)  # fmt: skip
_RUN = frozenset(("train", "hyperparameter_search", "fit", "learn"))
# Up to trl 0.11 they are no Trainers of transformers, and make an Accelerator of their own.
_OWN = frozenset(("PPOTrainer", "DDPOTrainer", "AlignPropTrainer", "TextEnvironment"))
_DERIVED = version_condition(">=0.12")
# From these releases on their fit() makes a Trainer (sentence_transformers/fit_mixin.py, cross_encoder/fit_mixin.py).
_FITS = {
    "sentence_transformers.SentenceTransformer": version_condition(">=3.0"),
    "sentence_transformers.CrossEncoder": version_condition(">=4.0"),
}


def unused_of_trainers(uses: Iterable[Use], facts: Facts) -> Iterator[str]:
    """``trainer-made`` where the script makes no Trainer, ``trainer-run`` where it has none train."""
    listed = [use for use in uses if use.kind in ("name", "def")]
    elsewhere = any(use.name.partition(".")[0] in _MAKE for use in listed)
    made = elsewhere or any(_makes(use, facts) for use in listed)
    if not made:
        yield MADE
    if not made or not (elsewhere or any(use.name.rpartition(".")[2] in _RUN for use in listed)):
        yield RUN


def _makes(use: Use, facts: Facts) -> bool:
    owner, _, last = use.name.rpartition(".")
    if last == "fit" and (since := _FITS.get(owner)) is not None:
        release = facts.value("packages.sentence-transformers")
        return isinstance(release, Exact) and since.admits(release)
    if use.kind == "def":
        return owner.endswith("Trainer")  # a class of the script that derives from one
    if use.arguments is None or not last.endswith("Trainer") or owner == "?":
        return False
    trl = facts.value("packages.trl")
    of_its_own = use.name.partition(".")[0] == "trl" and last in _OWN
    return not of_its_own or (isinstance(trl, Exact) and _DERIVED.admits(trl))
