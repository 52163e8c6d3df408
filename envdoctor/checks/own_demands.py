"""Releases that a user's own files refuse by themselves, by an assertion or an error that they raise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from envdoctor.atlas.outline import Outline, Said
from envdoctor.atlas.own_demands import DEMANDS, DISTRIBUTION
from envdoctor.atlas.stack import Stack
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Origin
from envdoctor.facts.names import canonical
from envdoctor.world.import_names import package_of

AT_IMPORT, WHEN_CALLED = "own-code-refuses-release", "own-code-refuses-release-when-called"
# Distributions that give the same module.
_SAME = {
    "mmcv": ("mmcv", "mmcv-full", "mmcv-lite"),
    "tensorflow": ("tensorflow", "tensorflow-gpu", "tensorflow-cpu"),
    "opencv-python": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
}


def demand_hits(outline: Outline, stack: Stack, origin: Callable[[int], Origin]) -> Iterator[Hit]:
    """One finding for each demand that a stated release does not meet."""
    for said in outline.said:
        # A function that asserts its Python mostly says under which one its caller comes to it.
        if said.kind != DEMANDS or (said.where and said.text == "python"):
            continue
        stated = [(name, stack.python if name == "python" else stack.releases.get(name, "")) for name in _packages(said.text)]
        there = [(name, release) for name, release in stated if release]
        # Of two that give the module nobody knows which one is imported.
        if there and all(_misses(said, *one) for one in there):
            yield _hit(said, *there[0], origin(said.line))


def _misses(said: Said, name: str, release: str) -> bool:
    return any(_fails(atom, release, python=name == "python") for atom in said.condition.split(","))


def _packages(module: str) -> tuple[str, ...]:
    if module.startswith(DISTRIBUTION):
        return (canonical(module.removeprefix(DISTRIBUTION)),)
    name = module if module == "python" else package_of(module)
    return _SAME.get(name, (name,))


def _fails(atom: str, release: str, *, python: bool) -> bool:
    """Whether a release surely misses what is asked, however its label is taken, and as text where it is compared as text."""
    from packaging.version import InvalidVersion, Version

    as_text, atom = atom.startswith('"'), atom.lstrip('"')
    if atom.startswith("^"):
        begins = atom[1:]
        return not f"{release}.".startswith(begins) and not begins.startswith(release)
    sign, number = (atom[:2], atom[2:]) if atom[1] == "=" else (atom[0], atom[1:])
    try:
        wanted, found = Version(number), [Version(release), Version(release.partition("+")[0])]
    except InvalidVersion:
        return False
    if python and len(release.split(".")) < len(number.split(".")) and number.startswith(f"{release}."):
        return False  # some patch release of it
    if sign in ("==", "!="):
        return (sign == "==") is all(one.public != wanted.public for one in found) and (sign == "==" or as_text)
    ways = [_holds(one, sign, wanted) for one in found] + ([_holds(release, sign, number)] if as_text else [])
    return not any(ways)


def _holds(one: object, sign: str, other: object) -> bool:
    told: dict[str, Callable[[], bool]] = {
        "<": lambda: one < other,  # type: ignore[operator]
        "<=": lambda: one <= other,  # type: ignore[operator]
        ">": lambda: one > other,  # type: ignore[operator]
        ">=": lambda: one >= other,  # type: ignore[operator]
    }
    return told[sign]()


def _hit(said: Said, name: str, release: str, place: Origin) -> Hit:
    atoms = [atom.lstrip('"') for atom in said.condition.split(",")]
    wanted = ",".join(f"=={atom[1:].rstrip('.')}.*" if atom.startswith("^") else atom for atom in atoms)
    fact = "python" if name == "python" else f"packages.{name}"
    when = f"when {said.where} is called" if said.where else "when it is run or imported"
    return Hit(
        WHEN_CALLED if said.where else AT_IMPORT,
        True,
        ((fact, f"not {wanted}"),),
        detail=f"it ends {when} unless {name}{wanted}, and {name} {release} is stated",
        packages=(name,),
        pins=() if name == "python" else ((name, wanted),),
        file=place.file,
        line=place.line,
        edge=f"{name}{wanted}",
        headline=f"This code refuses {name} {release} by itself",
        advice=f"run it with Python {wanted}" if name == "python" else "",
    )


__all__ = ["demand_hits"]
