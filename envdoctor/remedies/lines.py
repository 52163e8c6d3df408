"""Which release of a line is taken where an error says that a later one is wanted, and what has to move with torch.

The lowest release that no longer raises is the smallest step, and the least mended one: the last of its line has its faults mended and
takes the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.remedies.candidates import nearest_first
from envdoctor.world.dependencies import dependencies, versions
from envdoctor.world.releases import releases
from envdoctor.world.torch_builds import variant_cuda, variants

# Of these a line is the major release: gradio 3 was mended in 3.50.2, and never in 3.16.
_BY_MAJOR = frozenset(("gradio",))
# So many days before the newest, and among the first sixth of all, is a release that hardly anybody has less than.
_ANCIENT, _EARLY = 3 * 365, 6
_OF_TORCH = ("torchvision", "torchaudio")


def later_in_line(package: str, spec: str, first: Exact, facts: Facts) -> Exact:
    """The last release of the line of ``first`` that is wanted, where the way goes up; of what came long ago and of which nothing is
    stated, the last of its major."""
    stated = facts.value(f"packages.{package}")
    if isinstance(stated, Exact) and not version_condition(f">{stated.text.partition('+')[0]}").admits(first):
        return first
    if isinstance(stated, Exact) and not _is_final(stated):
        return first  # a state between releases goes to the next of them
    ancient = not isinstance(stated, Exact) and is_ancient(package, first)
    parts = 1 if package in _BY_MAJOR or ancient else 2
    same = [one for one in nearest_first(package, version_condition(spec), facts) if _line(one, parts) == _line(first, parts)]
    return max((first, *(one for one in same if _is_final(one))), key=_numbers)


def covers(pins: Mapping[str, str], others: Mapping[str, str]) -> bool:
    """Whether pins are others again, with a later release of the same line or with what goes along."""
    return all(
        name in pins and _line(exact(pins[name].removeprefix("==")), _parts(name)) == _line(exact(pin.removeprefix("==")), _parts(name))
        for name, pin in others.items()
    )


def is_ancient(package: str, release: Exact) -> bool:
    """Whether a release came years before the newest one of its package."""
    known = [one for one in releases(package) if one.date]
    place = next((place for place, one in enumerate(known) if one.version == release.text), len(known))
    if place * _EARLY >= len(known):
        return False
    return (date.fromisoformat(known[-1].date or "") - date.fromisoformat(known[place].date or "")).days > _ANCIENT


def with_companions(pins: Mapping[str, str], facts: Facts) -> dict[str, str]:
    """The pins with what belongs to torch: the build for the stated CUDA or GPU on Windows, where the package index has that for the CPU,
    and the torchvision and torchaudio of the same day."""
    told = dict(pins)
    public, _, label = told.get("torch", "").removeprefix("==").partition("+")
    if not public:
        return told
    windows = facts.text("os") == "windows"
    if windows and not label and (facts.value("cuda") is not None or facts.text("gpu.vendor") == "nvidia" or facts.text("gpu.name")):
        label = _label_for(public, facts)
    for name in _OF_TORCH:
        there = isinstance(facts.value(f"packages.{name}"), Exact) or (windows and bool(label) and name == "torchvision")
        release = _made_for(name, public) if there and name not in told else ""
        if release:
            told[name] = f"=={release}+{label}" if label else f"=={release}"
    if label:
        told["torch"] = f"=={public}+{label}"
    return told


def _label_for(public: str, facts: Facts) -> str:
    """The build of a release for the stated CUDA, else for its newest."""
    known = [one for one in variants(public) if variant_cuda(one) is not None]
    cuda = facts.value("cuda")
    wanted = ".".join(cuda.text.split(".")[:2]) if isinstance(cuda, Exact) else ""
    return next((one for one in known if variant_cuda(one) == wanted), max(known, key=_of_label, default=""))


def _of_label(label: str) -> tuple[int, ...]:
    return tuple(int(part) for part in (variant_cuda(label) or "0").split("."))


def _made_for(name: str, torch: str) -> str:
    """The release of torchvision or torchaudio that requires a torch."""
    for text in versions(name):
        if any(one.name == "torch" and one.specifier == f"=={torch}" for one in dependencies(name, text) or ()):
            return text
    return ""


def _is_final(release: Exact) -> bool:
    return all(part.isdigit() for part in release.text.partition("+")[0].replace("post", "").split(".") if part)


def _parts(package: str) -> int:
    return 1 if package in _BY_MAJOR else 2


def _line(release: Exact, parts: int) -> tuple[str, ...]:
    return tuple(release.text.split(".")[:parts])


def _numbers(release: Exact) -> tuple[int, ...]:
    return tuple(int("".join(letter for letter in part if letter.isdigit()) or 0) for part in release.text.partition("+")[0].split("."))
