"""How much a possible finding has to say, in five lines.

1. An open package is what an installer takes: the newest release of today, or of the day of the youngest release that is stated.
2. An unset setting is what it is by default, or usually (``Term.usual``).
3. A package of which nothing speaks, and that a run may do without, is not expected (``world/packages.py`` has which ones are).
4. A rule that holds of all this is likely; one that does not is weak, and is told only where hardly anything was stated.
5. Of two likely rules the one about fewer releases comes first, and what the stated releases themselves avert comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from envdoctor.engine.cuda_of_torch import cuda_of_index_build
from envdoctor.engine.likely_install import ELSEWHERE
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.published_models import likely_type
from envdoctor.facts.uses import ASKS_FOR_MPS, CODE_USES, does
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.facts.vocabulary import QUIET, USUAL
from envdoctor.records import dataclass
from envdoctor.rules.conditions import Condition, Known, Leaf, PackageIs, accused, evaluate, holds
from envdoctor.world.packages import ASKED_BY, BINDING, BOUND, CORE, GENERAL
from envdoctor.world.releases import as_of, day_of, release_texts, releases

_SPEAKING = tuple(dict.fromkeys(name for name, _ in ASKED_BY.values()))
_GUESS = Origin("guess")
_USUAL = {name: Fact(name, value, _GUESS) for name, value in USUAL.items()}
_OF_DEEPSPEED = ("plan.deepspeed", "plan.distributed")
_ASKED = ("packages.", "plan.", "model.", "gpu.count")  # no file that is not about the machine says how many there are
_SHARES = (0.05, 0.2, 0.5)
# A rule that waits for more than this many statements says nothing about the situation at hand.
_MOST_MISSING = 2
_HARDWARE = ("gpu.", "driver", "cuda", "glibc")


@dataclass(frozen=True, slots=True)
class Weight:
    """``likely``: what is not known would, by default, be such that the rule holds; ``blind``: it waits for a fact of the system of which
    nothing is expected. ``breadth`` counts from 0, a rule about few releases. ``averted``: what the stated releases themselves require of
    the packages that are not known rules it out, so that it befalls only who installs them one after the other."""

    likely: bool
    blind: bool
    breadth: int
    averted: bool = False


DECIDED = Weight(likely=True, blind=False, breadth=0)


def is_narrow(condition: Condition, facts: Facts, known: Known) -> bool:
    """Whether a range that holds is so narrow that being in it says something by itself."""
    return breadth(condition, facts, known) == 0


def background(facts: Facts) -> tuple[object, ...]:
    """All that `weigh` looks at beside the facts that a condition names."""
    elsewhere = tuple(sorted(name for name, fact in facts.items() if fact.origin.source == ELSEWHERE))
    required = (_required(name, facts) for name in BOUND)
    machine = (facts.text("os"), facts.value("gpu.count"), does(ASKS_FOR_MPS, facts.value(CODE_USES)))
    return (
        youngest(facts),
        elsewhere,
        machine,
        _likely_type(facts),
        _of_the_index(facts),
        _is_quantized(facts),
        *(facts.value(name) for name in _SPEAKING),
        *required,
    )


def weigh(condition: Condition, facts: Facts, known: Known, lacking: Sequence[str]) -> Weight:
    """How likely an undecided rule holds, and how much of a package's history it accuses."""
    packages = [name.removeprefix("packages.") for name in lacking if name.startswith("packages.")]
    told = _of_the_index(facts)
    unusual = [name for name in lacking if name not in USUAL and not name.startswith(_ASKED) and not (name == "cuda" and told)]
    general = len(packages) == 1 and packages[0] in GENERAL and _has_rare_partner(condition, facts, known)
    expected = not unusual and (general or all(_expected(name, facts) for name in packages))
    likely = expected and _holds_by_default(condition, facts, known, packages)
    bound = likely and any(_required(name, facts) for name in packages)
    averted = bound and not _holds_by_default(condition, facts, known, packages, bound=True)
    another_machine = not likely and any(name in USUAL and not name.startswith(_ASKED) for name in lacking)
    return Weight(likely, bool(unusual) or another_machine, breadth(condition, facts, known), averted)


def is_rare(package: str) -> bool:
    """Whether few runs have a package, so that one has it for a reason."""
    return package not in CORE and package not in GENERAL


def _has_rare_partner(condition: Condition, facts: Facts, known: Known) -> bool:
    """Whether a rule accuses a package that is there and that few runs have: what it says of another one is then worth telling."""
    held = (leaf for leaf in accused(condition) if isinstance(leaf, PackageIs) and is_rare(leaf.package))
    return any(leaf.fact in facts and holds(leaf, facts, known) for leaf in held)


def _expected(package: str, facts: Facts) -> bool:
    if package in CORE or f"packages.{package}" in facts:
        return True
    name, values = ASKED_BY.get(package, ("", ()))
    return facts.value(name) in values if name else False


def _required(package: str, facts: Facts) -> tuple[str, ...]:
    """What the stated releases require, on every system, of a package of which nothing is stated."""
    if package not in BOUND or facts.closed or f"packages.{package}" in facts:
        return ()
    from envdoctor.world.dependencies import dependencies

    found: dict[str, None] = {}
    for name in BINDING:
        value = facts.value(f"packages.{name}")
        told = dependencies(name, value.text.partition("+")[0]) if isinstance(value, Exact) else None
        found |= dict.fromkeys(one.specifier for one in told or () if one.name == package and not one.marker)
    return tuple(found)


def _holds_by_default(condition: Condition, facts: Facts, known: Known, packages: Sequence[str], *, bound: bool = False) -> bool:
    # Who installs a package for it may well do it.
    unusual = (*(("plan.quant",) if _is_quantized(facts) else ()), *(_OF_DEEPSPEED if _is_there("deepspeed", facts) else ()))
    # No GPU of NVIDIA's is in a Mac that is sold, nor has torch a build for one.
    on_mac = facts.text("os") == "macos" or does(ASKS_FOR_MPS, facts.value(CODE_USES))
    unusual = (*unusual, "accelerator") if on_mac else unusual
    count = facts.value("gpu.count")
    # Of several GPUs nobody leaves all but one idle.
    unusual = (*unusual, "plan.distributed") if isinstance(count, int) and count > 1 else unusual
    usual = [fact for name, fact in _USUAL.items() if name not in facts.by_name and name not in unusual]
    usual += (*_likely_type(facts), *_of_the_index(facts))
    open_ = [name for name in packages if not _is_elsewhere(name, facts)]
    recent = [(name, _newest(name, facts, None, bound=bound)) for name in open_]
    if evaluate(condition, facts.with_facts((*usual, *_guessed(recent))), known) is not False:
        return True
    day = youngest(facts) if open_ else ""
    older = [(name, _newest(name, facts, day, bound=bound)) for name in open_]
    return older != recent and evaluate(condition, facts.with_facts((*usual, *_guessed(older))), known) is not False


def _likely_type(facts: Facts) -> tuple[Fact, ...]:
    """The type of a model that somebody has published under a name that has another's in it."""
    name = facts.text("model.id") if "model.type" not in facts.by_name else None
    kind = likely_type(name) if name is not None else None
    return (Fact("model.type", kind, _GUESS),) if kind is not None else ()


def _of_the_index(facts: Facts) -> tuple[Fact, ...]:
    """The CUDA of a torch that is pinned without a label: the package index has one build of it for Linux."""
    torch = facts.value("packages.torch")
    elsewhere = facts.text("os") in ("windows", "macos") or facts.text("accelerator") in ("cpu", "mps", "rocm", "npu", "xpu")
    if "cuda" in facts or elsewhere or not isinstance(torch, Exact):
        return ()
    cuda = cuda_of_index_build(torch)
    return (Fact("cuda", exact(cuda), _GUESS),) if cuda is not None else ()


def _guessed(releases_: Iterable[tuple[str, Exact | None]]) -> Iterator[Fact]:
    return (Fact(f"packages.{name}", release, _GUESS) for name, release in releases_ if release is not None)


def _is_elsewhere(package: str, facts: Facts) -> bool:
    """Whether a package comes from a repository or a URL: it may well be newer than any release."""
    fact = facts.by_name.get(f"packages.{package}")
    return fact is not None and fact.origin.source == ELSEWHERE


def _is_there(package: str, facts: Facts) -> bool:
    return isinstance(facts.value(f"packages.{package}"), (Exact, Ranged))


def _is_quantized(facts: Facts) -> bool:
    return _is_there("bitsandbytes", facts)


def youngest(facts: Facts) -> str:
    """The day of the youngest release that is stated, ``YYYY-MM-DD``; the first of days when none is known."""
    days, until = [""], as_of()
    for name, fact in facts.by_name.items():
        if isinstance(fact.value, Exact) and name.startswith("packages."):
            days.append(_day(name.removeprefix("packages."), fact.value.text.partition("+")[0], until))
    return max(days)


# What is kept below is told apart by the day up to which releases are known.
@lru_cache(maxsize=4096)
def _day(package: str, version: str, until: str) -> str:
    return day_of(package, version) or ""


def _newest(package: str, facts: Facts, day: str | None, *, bound: bool) -> Exact | None:
    value = facts.value(f"packages.{package}")
    wanted = [version_condition(value.text)] if isinstance(value, Ranged) and value.text else []
    wanted += map(version_condition, _required(package, facts) if bound else ())
    for release in reversed(releases(package)):
        in_time = day is None or (release.date is not None and release.date <= day)
        if in_time and not release.yanked and all(one.admits(exact(release.version)) for one in wanted):
            return exact(release.version)
    return None


def breadth(condition: Condition, facts: Facts, known: Known) -> int:
    """In which of four classes of share the narrowest held range lies, of all releases of its package."""
    shares = [1.0]
    for leaf in accused(condition):
        if isinstance(leaf, PackageIs) and leaf.version.text and holds(leaf, facts, known):
            shares.append(_share(leaf.package, leaf.version.text, as_of()))
    return sum(min(shares) > bound for bound in _SHARES)


@lru_cache(maxsize=4096)
def _share(package: str, text: str, until: str) -> float:
    wanted, listed = version_condition(text), _listed(package, until)
    return sum(map(wanted.admits, listed)) / len(listed) if listed else 1.0


@lru_cache(maxsize=256)
def _listed(package: str, until: str) -> tuple[Exact, ...]:
    return tuple(map(exact, release_texts(package)))


def speaks(condition: Condition, facts: Facts, known: Known, lacking: Sequence[str]) -> bool:
    """Whether an undecided rule says something about this situation.

    It does when a version that it accuses is really there and it waits for few facts, but not for plan and hardware both; a
    rule about no version says nothing until a plan is known; a rule about a
    model says nothing while nothing is known of the model that it is about, and one about the wording of
    a call says nothing until a plan or a script tells it. To be in a narrow range of releases says enough by itself.
    """
    every = accused(condition)
    versions = accused_versions(condition)
    if versions and not any(leaf.fact in facts.by_name for leaf in versions):
        return False
    if _asks_too_much(facts, lacking) and not is_narrow(condition, facts, known):
        return False
    guessed = _likely_type(facts) if "model.type" in lacking else ()
    held = [leaf for leaf in every if holds(leaf, facts.with_facts(guessed) if guessed else facts, known)]
    if any(name.startswith("model.") for name in lacking) and not any(leaf.fact.startswith("model.") for leaf in held):
        return False
    if versions:
        return any(leaf in versions for leaf in held)
    return bool(held) and not any(name.startswith("plan.") for name in lacking)


def accused_versions(condition: Condition) -> list[Leaf]:
    """The packages in certain versions that a rule accuses: it says nothing where nothing is known of any of them."""
    # That a package is there at all says as much as a version, where few runs have it.
    return [leaf for leaf in accused(condition) if isinstance(leaf, PackageIs) and (leaf.version.text or is_rare(leaf.package))]


def _asks_too_much(facts: Facts, lacking: Sequence[str]) -> bool:
    """Whether a rule waits for more than somebody would state who was asked once."""
    if statements(lacking) > _MOST_MISSING or any(name in QUIET for name in lacking):
        return True
    if any(name.startswith("plan.") for name in lacking) and any(name.startswith(_HARDWARE) for name in lacking):
        return True
    return "plan.attn" in lacking and not any(name.startswith("plan.") for name in facts)


def statements(lacking: Sequence[str]) -> int:
    """How many statements are missing: a plan file states all facts of the plan together, a snapshot all of the model."""
    together = ("plan.", "model.")
    return sum(not name.startswith(together) for name in lacking) + sum(any(n.startswith(group) for n in lacking) for group in together)
