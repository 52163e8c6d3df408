"""Packages whose released builds have no kernels for the GPU that is stated: it is a note, since one may have them and not use them."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hardware import capability_of
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.world.releases import release_texts
from envdoctor.world.wheels_for_gpus import Unserved, unserved_gpus

RULE = "no-kernels-for-this-gpu"

_PACKAGE = "packages."


def kernels_for_gpu(facts: Facts) -> tuple[Hit, ...]:
    """Every stated release that does not serve the GPU, where no script shows that it is not loaded."""
    capability = capability_of(facts)
    return () if capability is None else tuple(_hits(facts, capability))


def _hits(facts: Facts, capability: str) -> Iterator[Hit]:
    unused = facts.value(NOT_LOADED)
    for name, rows in unserved_gpus().items():
        value = facts.value(f"{_PACKAGE}{name}")
        if not isinstance(value, Exact) or "+" in value.text or (isinstance(unused, tuple) and name in unused):
            continue
        row = next((row for row in rows if _holds(row, value, capability)), None)
        if row is not None:
            yield _hit(facts, name, value, capability, row)


def _holds(row: Unserved, release: Exact, capability: str) -> bool:
    return version_condition(row.capabilities).admits(exact(capability)) and (
        not row.releases or version_condition(row.releases).admits(release)
    )


def _hit(facts: Facts, name: str, release: Exact, capability: str, row: Unserved) -> Hit:
    place, gpu = facts[f"{_PACKAGE}{name}"].origin, facts.text("gpu.name") or "the GPU"
    said = f"{name} {release} has {row.missing} for {gpu} (compute capability {capability})"
    return Hit(
        RULE,
        True,
        ((f"{_PACKAGE}{name}", f"{row.missing} for it"), ("gpu.compute_capability", row.capabilities)),
        detail=said,
        packages=(name,),
        pins=tuple((name, way) for way in _ways(name, release, capability)),
        file=place.file,
        line=place.line,
        yields=True,
        edge=name,
        headline=said,
    )


def _ways(name: str, release: Exact, capability: str) -> Iterator[str]:
    """The nearest release after this one, and the nearest before it, that no row shuts out."""
    rows = unserved_gpus()[name]
    serves = [text for text in release_texts(name) if not any(_holds(row, exact(text), capability) for row in rows)]
    later = next((text for text in serves if version_condition(f">{release.text}").admits(exact(text))), None)
    before = next((text for text in reversed(serves) if version_condition(f"<{release.text}").admits(exact(text))), None)
    yield from (f"=={text}" for text in (later, before) if text is not None)


CHECKS = (kernels_for_gpu,)
