"""Whether a set of pins can be installed: uv resolves the whole set with them, and what nobody can ask is said.

Nothing is installed or built. First everything else stays where it is; where that is refused, existing pins are only preferred, and
what moves is told.
"""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.errors import EnvdoctorError
from envdoctor.files.text import plain
from envdoctor.records import replace
from envdoctor.remedies.indexes import given_up, index_for
from envdoctor.remedies.metadata import metadata_agrees, withdrawn
from envdoctor.remedies.remedy import Remedy
from envdoctor.remedies.resolver import Accepts, Resolver, beside
from envdoctor.remedies.whole_set import WholeSet
from envdoctor.uv.asking import Run
from envdoctor.uv.command import uv_command

NO_UV = 'uv was not asked: it is not installed (pip install "llm-envdoctor[pins]")'
_LONGEST = 160


def prove(
    remedies: Sequence[Remedy], whole: WholeSet, *, offline: bool = False, run: Run | None = None, accepts: Accepts | None = None
) -> Remedy:
    """The first of the ranked remedies that installs, or the first as unfixable by pins with what was said against it."""
    return proven(remedies, whole, offline=offline, run=run, accepts=accepts)[0]


def proven(
    remedies: Sequence[Remedy], whole: WholeSet, *, offline: bool = False, run: Run | None = None, accepts: Accepts | None = None
) -> tuple[Remedy, ...]:
    """The remedies with the proven one first, then those that were not asked about, then the refused ones, each with its ``conflict``.

    One under which nothing else moves is taken before one that moves others. Where all are refused, the first is one without pins,
    which names all findings as unfixable. Remedies without pins come back as they are. Without uv, without an index that answers and
    with ``offline`` the bundled metadata is asked instead, and ``proof`` says so. ``run`` asks uv.
    """
    candidates = [one for one in remedies if one.pins or one.removes]
    if not candidates:
        return tuple(remedies)
    if offline:
        return _by_metadata(candidates, whole, "uv was not asked: --offline")
    try:
        if run is None:
            uv_command("--resolve")
    except EnvdoctorError:
        return _by_metadata(candidates, whole, NO_UV)
    try:
        return _by_uv(candidates, Resolver(whole, run), accepts)
    except EnvdoctorError as error:
        return _by_metadata(candidates, whole, f"uv could not be asked: {plain(error.found, _LONGEST)}")


def _by_metadata(candidates: Sequence[Remedy], whole: WholeSet, why: str) -> tuple[Remedy, ...]:
    kept, refused = [], []
    for remedy in candidates:
        told = withdrawn(remedy.pins)
        verdict = metadata_agrees(remedy.pins, whole.stated, remedy.removes)
        if told or verdict.verified == "refused":
            words = (verdict.proof, why)
            refused.append(replace(remedy, verified="none", conflict=told or verdict.conflict, proof=beside(words, remedy)))
            continue
        proof = beside((verdict.proof, why, *given_up(remedy.pins, whole.releases())), remedy)
        kept.append(replace(remedy, verified=verdict.verified, proof=proof, index=index_for(remedy.pins) or remedy.index))
    return (*(kept or [_unfixable(refused, f"what releases require speaks against every set of pins; {why}")]), *refused)


def _unfixable(refused: Sequence[Remedy], proof: str) -> Remedy:
    names = {name for remedy in refused for name in (*remedy.clears, *remedy.unfixable)}
    return Remedy({}, (), tuple(sorted(names)), proof=proof, conflict=refused[0].conflict, in_code=refused[0].in_code)


def _by_uv(candidates: Sequence[Remedy], asking: Resolver, accepts: Accepts | None) -> tuple[Remedy, ...]:
    conflicts: dict[int, str] = {}
    for relaxed in (False, True):
        for place, remedy in enumerate(candidates):
            if relaxed and not asking.can_relax(remedy):
                continue
            told = asking.judge(remedy, relaxed, accepts)
            if isinstance(told, str):
                conflicts[place] = told
                continue
            unasked = [one for other, one in enumerate(candidates) if other != place and other not in conflicts]
            refused = [replace(candidates[other], conflict=words) for other, words in conflicts.items() if other != place]
            return (told, *unasked, *refused)
    refused = [replace(remedy, conflict=conflicts[place]) for place, remedy in enumerate(candidates)]
    sets = "the set of pins" if len(refused) == 1 else f"each of the {len(refused)} sets of pins"
    return (_unfixable(refused, f"uv refuses {sets} for {asking.whole.where()}"), *refused)


__all__ = ["NO_UV", "Accepts", "WholeSet", "prove", "proven"]
