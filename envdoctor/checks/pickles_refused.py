"""A torch beside which transformers reads no pickled weights: it matters where the weights are, or a run is resumed, and few state that.

A note, for who states the two by hand or is about to install them; where the format or a resumed run is stated, a rule decides.
"""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.facts.vocabulary import NOT_LOADED

RULE = "pickled-weights-refused"

_TORCH, _TRANSFORMERS = "packages.torch", "packages.transformers"
# The release that brought check_torch_load_is_safe, and the torch that it asks for (transformers-torch-load-needs-2-6 has the sources).
_GUARDED, _UNSAFE = version_condition(">=4.52"), version_condition("<2.6")
_DECIDED = ("transformers-torch-load-needs-2-6", "transformers-4-51-resume-torch-before-2-6")


def pickles_refused(facts: Facts) -> tuple[Hit, ...]:
    """The two releases, where neither the format of the weights nor what a script loads speaks against it."""
    torch, transformers, unused = facts.value(_TORCH), facts.value(_TRANSFORMERS), facts.value(NOT_LOADED)
    if facts.closed or not isinstance(torch, Exact) or not isinstance(transformers, Exact) or torch.key is None:
        return ()
    spared = facts.value("model.weights_format") is not None or (isinstance(unused, tuple) and "model" in unused)
    public = exact(torch.text.partition("+")[0])
    if spared or not _UNSAFE.admits(public) or not _GUARDED.admits(transformers):
        return ()
    place = facts[_TORCH].origin
    return (
        Hit(
            RULE,
            True,
            ((_TORCH, "before 2.6"), (_TRANSFORMERS, "4.52 or later")),
            detail=f"transformers {transformers} refuses torch.load with torch {torch}: no pytorch_model.bin, no resumed optimizer",
            packages=("torch", "transformers"),
            pins=(("torch", ">=2.6"), ("transformers", "<4.52")),
            file=place.file,
            line=place.line,
            unless=_DECIDED,
        ),
    )


CHECKS = (pickles_refused,)
