"""One Python environment of an image while it is built: what commands put into it, one after the other."""

from __future__ import annotations

import re

from envdoctor.facts.fact import Collected, Defect, Fact, Skip
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Absent, Exact, PackageValue, Ranged, version_condition
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field, replace
from envdoctor.sources.declared.conda_channel import TORCH_OF_ITS_CHANNEL
from envdoctor.sources.docker.images import torch_of_vllm
from envdoctor.world.releases import release_texts, tracked

# Their releases name one release of torch each (Requires-Dist of their wheels), which an installer then puts in.
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_WITH_THEIR_TORCH = ("vllm", "xformers")


@dataclass(slots=True)
class Environment:
    """``installed`` says that a command, and not the base image, put a package in that the rules know.

    ``had_torch`` says that some torch was put in, whose CUDA is its own and not the system's.
    """

    packages: dict[str, Fact] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    wanted: dict[str, str] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    installed: bool = False
    had_torch: bool = False

    def copy(self) -> Environment:
        return replace(
            self,
            packages=dict(self.packages),
            facts=dict(self.facts),
            wanted=dict(self.wanted),
            defects=list(self.defects),
            skips=list(self.skips),
        )

    def take(self, other: Environment) -> None:
        """All that another environment holds, laid over this one."""
        self.packages.update(other.packages)
        self.facts.update(other.facts)
        self.wanted.update(other.wanted)
        self.defects += [defect for defect in other.defects if defect not in self.defects]
        self.skips += [skip for skip in other.skips if skip not in self.skips]
        self.installed = self.installed or other.installed
        self.had_torch = self.had_torch or other.had_torch

    def skip(self, what: str, why: str) -> None:
        self.skips.append(Skip(plain(what, 4096), plain(why)))

    def forget(self, name: str) -> None:
        """A package whose release is not known any more."""
        self.packages.pop(name, None)
        self.wanted.pop(name, None)
        if name == "torch":
            self.had_torch = True
            self._forget_cuda()

    def install(self, collected: Collected, *, upgrade: bool, no_deps: bool, certain: bool, place: str) -> bool:
        """What one command installs, by the rules of pip: what is there and satisfies it stays, unless an upgrade is asked for.

        The answer is whether any of it is a package that the rules know.
        """
        self.defects += collected.defects
        self.skips += collected.skips
        names = {fact.name.removeprefix("packages.") for fact in collected.facts if fact.name.startswith("packages.")}
        wanted = {canonical(found[0]): text for text in collected.wanted if (found := _NAME.match(text))}
        changed_torch = False
        self.had_torch = self.had_torch or "torch" in names
        for fact in collected.facts:
            name = fact.name.removeprefix("packages.")
            if name == fact.name or (not upgrade and self._satisfies(name, fact)):
                continue
            if not certain:
                self.skip(place, f"{name}: installed only under a condition that the Dockerfile does not decide")
                self.forget(name)
                continue
            changed_torch = changed_torch or name == "torch"
            self.packages[name] = fact
            self._replace(name)
            self.wanted[name] = wanted.get(name, "")
            self.installed = self.installed or name in tracked()
        if changed_torch:
            self._say(collected)
        if not no_deps and "torch" not in names:
            self._their_torch(names, place)
        return certain and not tracked().isdisjoint(names)

    def bring(self, fact: Fact) -> None:
        """Note packages that conda installed: no index of pip's is asked for a wheel of them."""
        self.facts["present"] = replace(fact, value=tuple(sorted({*self._brought(), *_names(fact)})))

    def _replace(self, name: str) -> None:
        """Note that pip put a package in the place of conda's."""
        rest = tuple(one for one in self._brought() if one != name and (name != "torch" or one != TORCH_OF_ITS_CHANNEL))
        if rest:
            self.facts["present"] = replace(self.facts["present"], value=rest)
        else:
            self.facts.pop("present", None)

    def _brought(self) -> tuple[str, ...]:
        return _names(self.facts["present"]) if "present" in self.facts else ()

    def _satisfies(self, name: str, fact: Fact) -> bool:
        before = self.packages.get(name)
        if before is None or not isinstance(before.value, (Exact, Ranged, Absent)):
            return False
        return satisfied(before.value, fact)

    def _say(self, collected: Collected) -> None:
        """The CUDA of a new torch is its own: of an earlier one, and of the system, it says nothing."""
        self._forget_cuda()
        for fact in collected.facts:
            if fact.name in ("cuda", "cudnn", "accelerator", "builds"):
                self.facts[fact.name] = fact

    def _forget_cuda(self) -> None:
        for name in ("cuda", "cudnn", "builds"):
            self.facts.pop(name, None)

    def _their_torch(self, names: set[str], place: str) -> None:
        torch = self.packages.get("torch")
        for name in _WITH_THEIR_TORCH:
            if torch is None or name not in names or name not in self.packages:
                continue
            value = self.packages[name].value
            wanted = torch_of_vllm(value.text) if name == "vllm" and isinstance(value, Exact) else None
            if wanted is not None and isinstance(torch.value, Exact) and version_condition(f"=={wanted}").admits(torch.value):
                continue
            if name == "xformers" and isinstance(value, Exact):
                continue
            self.skip(place, f"torch: {name} brings the release that it requires, which need not be the one that was there")
            self.forget("torch")
            torch = None


def _names(fact: Fact) -> tuple[str, ...]:
    return fact.value if isinstance(fact.value, tuple) else ()


def satisfied(value: PackageValue, wanted: Fact) -> bool:
    """Whether all that may be installed satisfies a later requirement."""
    if isinstance(wanted.value, Exact):
        text = f"=={wanted.value.text}"
    elif isinstance(wanted.value, Ranged):
        text = wanted.value.text
    else:
        return False
    name = wanted.name.removeprefix("packages.")
    return not text or version_condition(text).relation(value, release_texts(name)) is True
