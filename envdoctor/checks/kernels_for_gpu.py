"""Packages whose released builds have no kernels for the GPU that is stated: it is a note, since one may have them and not use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.checks.hardware import capability_of
from envdoctor.checks.hit import Hit
from envdoctor.checks.pythons import minors_of
from envdoctor.facts.fact import REQUIRED, Facts
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import release_texts
from envdoctor.world.wheel_pythons import SYSTEMS, wheels_of
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
        fact = facts.by_name.get(f"{_PACKAGE}{name}")
        if fact is None or (isinstance(unused, tuple) and name in unused):
            continue
        if isinstance(fact.value, Ranged) and not fact.origin.source.startswith(REQUIRED):
            value = _newest_of(name, fact.value, rows, capability)
        else:
            value = fact.value if isinstance(fact.value, Exact) and "+" not in fact.value.text else None
        row = None if value is None else next((row for row in rows if _holds(row, value, capability)), None)
        if value is not None and row is not None:
            yield _hit(facts, name, value, capability, row)


def _newest_of(name: str, asked: Ranged, rows: Sequence[Unserved], capability: str) -> Exact | None:
    """The newest release of a range, where the range leaves no release that serves the GPU."""
    wanted = version_condition(asked.text)
    admitted = [one for one in map(exact, release_texts(name)) if wanted.admits(one)]
    lost = bool(admitted) and all(any(_holds(row, one, capability) for row in rows) for one in admitted)
    return admitted[-1] if lost else None


def _holds(row: Unserved, release: Exact, capability: str) -> bool:
    return version_condition(row.capabilities).admits(exact(capability)) and (
        not row.releases or version_condition(row.releases).admits(release)
    )


def _hit(facts: Facts, name: str, release: Exact, capability: str, row: Unserved) -> Hit:
    place, gpu = facts[f"{_PACKAGE}{name}"].origin, facts.text("gpu.name") or "the GPU"
    of_gpu = f"{gpu} (compute capability {capability})"
    said = f"{name} {release} has {row.missing} for {of_gpu}"
    if isinstance(facts.value(f"{_PACKAGE}{name}"), Ranged):
        said = f"no release of {name} that the requirements admit serves {of_gpu}: {release} has {row.missing}"
    return Hit(
        RULE,
        True,
        ((f"{_PACKAGE}{name}", f"{row.missing} for it"), ("gpu.compute_capability", row.capabilities)),
        detail=said,
        packages=(name,),
        pins=tuple((name, way) for way in _ways(facts, name, release, capability)),
        file=place.file,
        line=place.line,
        yields=True,
        edge=name,
        headline=said,
    )


def _ways(facts: Facts, name: str, release: Exact, capability: str) -> Iterator[str]:
    """The nearest release after this one, and the nearest before it, that no row shuts out, nor the Python, nor a pin that requires it."""
    rows, minors, asked = unserved_gpus()[name], minors_of(facts), _asked_by_pins(facts, name, release)
    serves = [
        text
        for text in release_texts(name)
        if not any(_holds(row, exact(text), capability) for row in rows) and _is_to_be_had(name, text, minors) and _suits(asked, text)
    ]
    later = next((text for text in serves if version_condition(f">{release.text}").admits(exact(text))), None)
    before = next((text for text in reversed(serves) if version_condition(f"<{release.text}").admits(exact(text))), None)
    yield from (f"=={text}" for text in (later, before) if text is not None)


def _asked_by_pins(facts: Facts, name: str, release: Exact) -> tuple[str, ...]:
    """What the exact pins beside it require of a package, where they are content with the release that is there."""
    found = []
    for fact, one in facts.by_name.items():
        if fact.startswith(_PACKAGE) and isinstance(one.value, Exact):
            required = dependencies(fact.removeprefix(_PACKAGE), one.value.text.partition("+")[0]) or ()
            found += [other.specifier for other in required if other.name == name]
    return tuple(text for text in found if version_condition(text).admits(release))


def _suits(asked: tuple[str, ...], text: str) -> bool:
    return all(version_condition(one).admits(exact(text)) for one in asked)


def _is_to_be_had(name: str, text: str, minors: Sequence[int]) -> bool:
    wheels = wheels_of(name, text)
    return wheels is None or not minors or any(wheels.suit(minor, system) for minor in minors for system in SYSTEMS)


CHECKS = (kernels_for_gpu,)
