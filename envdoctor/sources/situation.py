"""All that the sources say of one situation, merged: the most specific source wins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import STARTED, Collected, Defect, Fact, Facts, Origin, Skip
from envdoctor.facts.histories import satisfiable
from envdoctor.facts.united import unite
from envdoctor.facts.values import shown
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.facts.vocabulary import ADDING_UP
from envdoctor.records import dataclass

# Later wins. A default of a file format is the weakest word: anybody's statement replaces it.
RANKS = (
    "default", "image", "requirements", "lock", "script", "plan", "model", "hardware", "installed", "log", "profile", "facts file",
    "--target", "--set",
)  # fmt: skip
# Scripts, notebooks and launchers install too.
_DECLARED = tuple(RANKS.index(rank) for rank in ("requirements", "lock", "script", "plan"))
_STACK = (RANKS.index("installed"), RANKS.index("facts file"))
_OF_AN_IMAGES_TORCH = ("cuda", "cudnn")
# Said of the machine that a run is meant for, in the project's settings or for this run.
_MACHINE = (RANKS.index("profile"), RANKS.index("--target"))

REFUSES_PYTHON = "project-refuses-python"
_MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py")
_PREFERENCES = frozenset(("dpo", "kto", "orpo", "ppo", "grpo"))
_ADAPTED = frozenset(("lora", "qlora", "dora"))


@dataclass(frozen=True, slots=True)
class Situation:
    """Merged facts (not derived ones), and what was wrong with or left out of the sources."""

    facts: Facts
    defects: tuple[Defect, ...]
    skips: tuple[Skip, ...]


def merge(parts: Iterable[tuple[str, Collected]], *, closed: bool, may_be_empty: bool = False) -> Situation:
    """Merge what sources of the named ranks say.

    Two sources that contradict each other are a defect of its own (``sources-disagree``); ``--set`` is
    meant to overrule and contradicts nobody, as are ``--target`` beside a facts file and a facts file beside the
    project's profile; and facts stated beside a log correct what was read from its text.

    Raises:
        EnvdoctorError: neither a package nor a model fact was read, and the error text of a log is not there to go by.
    """
    parts = list(parts)
    said = sorted(((_rank(rank, fact), fact) for rank, fact in _of_the_run(parts)), key=lambda pair: pair[0])
    facts: dict[str, Fact] = {}
    spoken: dict[str, int] = {}
    elsewhere: dict[str, list[tuple[Fact, Fact]]] = {}
    replaced: set[Origin] = set()
    together: dict[str, list[Fact]] = {}
    defects = [defect for _, found in parts for defect in found.defects]
    for rank, fact in said:
        before = facts.get(fact.name)
        if before is not None and rank in _MACHINE and _says_more(before, fact):
            continue
        if before is not None and rank == RANKS.index("hardware") and _takes_some(before, fact):
            continue
        if before is not None and fact.name in ADDING_UP and rank < RANKS.index("facts file"):
            together.setdefault(fact.name, [before]).append(fact)
            continue
        if fact.name in together:
            before = unite(together.pop(fact.name))
        if before is not None and fact.name == "python":
            defects += _refused_python(before, fact)
            if isinstance(before.value, Exact) and isinstance(fact.value, Ranged) and _is_of_a_project(fact):
                continue  # which Python there is says more than which are meant
        overruled = _overruled(spoken.get(fact.name, 0), rank) or _is_another_name(fact, rank)
        if before is not None and not overruled and contradict(before, fact) and not _is_said_otherwise(fact.name, facts):
            defects.append(_disagreement(before, fact))
            if fact.name == "packages.torch":
                replaced.add(before.origin)
            if rank in _STACK and spoken[fact.name] in _DECLARED and fact.name.startswith("packages."):
                elsewhere.setdefault(before.origin.source, []).append((before, fact))
        facts[fact.name] = fact
        spoken[fact.name] = rank
    facts.update((name, unite(some)) for name, some in together.items())
    # The CUDA and the cuDNN of an image are those of the torch that it has, and nothing of another one.
    facts = {name: fact for name, fact in facts.items() if name not in _OF_AN_IMAGES_TORCH or fact.origin not in replaced}
    if elsewhere:
        from envdoctor.sources.replaced import goes_with

        declared = [fact for rank, fact in said if rank in _DECLARED]
        whole = closed or RANKS.index("installed") in {spoken[fact.name] for pairs in elsewhere.values() for _, fact in pairs}
        facts = {
            name: fact
            for name, fact in facts.items()
            if not (spoken[name] in _DECLARED and goes_with(fact, elsewhere, declared, facts, whole=whole))
        }
    if not may_be_empty and not any(name.startswith(("packages.", "model.")) for name in facts):
        skipped = "; ".join(f"{skip.what}: {skip.why}" for _, found in parts for skip in found.skips)
        raise EnvdoctorError(
            "the situation",
            found=f"no fact about a package or a model{f' ({skipped})' if skipped else ''}",
            expected="an environment, a model, a requirements file or a facts file",
            next_step="--python PATH names the environment to examine, --facts FILE states one",
        )
    skips = tuple(skip for _, found in parts for skip in found.skips)
    return Situation(Facts(facts, closed), tuple(defects), skips)


def _of_the_run(parts: Sequence[tuple[str, Collected]]) -> list[tuple[str, Fact]]:
    """All that is said, without the run that an image starts by itself where another one is named beside it."""
    said = [(rank, fact) for rank, found in parts for fact in found.facts]
    named = any(rank != "image" and fact.name.startswith(("plan.", "model.")) for rank, fact in said)
    return [
        (rank, fact) for rank, fact in said if not (named and rank == "image" and fact.origin.source.startswith((STARTED, "default of")))
    ]


def _refused_python(*two: Fact) -> list[Defect]:
    """A project that says it does not run on the Python that another source states."""
    project = next((one for one in two if isinstance(one.value, Ranged) and _is_of_a_project(one)), None)
    there = next((one for one in two if one is not project and isinstance(one.value, Exact | Ranged)), None)
    if project is None or there is None or _is_of_a_project(there):
        return []
    stated = str(there.value)
    # 3.10 may be any of its patches.
    asked = stated if isinstance(there.value, Ranged) else f"=={stated}{'' if stated.count('.') > 1 else '.*'}"
    if satisfiable(f"{project.value},{asked}", ()):
        return []
    detail = f"the project requires Python {project.value}, and {there.origin.source} has {stated}: no installer takes it there"
    return [Defect(REFUSES_PYTHON, detail, project.origin.file, project.origin.line)]


def _is_of_a_project(fact: Fact) -> bool:
    return fact.origin.file is not None and fact.origin.file.endswith(_MANIFESTS)


def _overruled(weaker: int, stronger: int) -> bool:
    """Whether the stronger source is there to correct the weaker one, and says nothing against it."""
    profile, stated, told = RANKS.index("profile"), RANKS.index("facts file"), RANKS.index("--target")
    by_hand = (stronger == stated and weaker == profile) or (stronger == told and weaker == stated)
    return by_hand or stronger == RANKS.index("--set") or weaker in (0, RANKS.index("log"))


def _takes_some(before: Fact, fact: Fact) -> bool:
    """Whether a run is told to use so many GPUs of those that the machine has."""
    used, there = before.value, fact.value
    return fact.name == "gpu.count" and isinstance(used, int) and isinstance(there, int) and 0 < used <= there


def _is_another_name(fact: Fact, rank: int) -> bool:
    """Whether a model that is given by itself says what it is called.

    A plan names the repository that it was written for; the organisation may have moved, or the model be one of its own.
    """
    return fact.name == "model.id" and rank >= RANKS.index("model")


def _says_more(before: Fact, fact: Fact) -> bool:
    """Whether a version that was read (3.11.7) is one of those that a machine is said to have (3.11)."""
    one, other = before.value, fact.value
    return isinstance(one, Exact) and isinstance(other, Exact) and one.text.startswith(f"{other.text}.")


def _rank(rank: str, fact: Fact) -> int:
    return 0 if fact.origin.source.startswith("default of") else RANKS.index(rank)


def contradict(one: Fact, other: Fact) -> bool:
    """Whether two statements of one fact cannot both hold; a range that is stated after a release takes nothing back."""
    a, b = one.value, other.value
    if isinstance(a, Ranged) and isinstance(b, Exact):
        return version_condition(a.text).relation(b) is False
    if isinstance(a, Exact) and isinstance(b, Exact):
        public = (a.text.partition("+")[0], b.text.partition("+")[0])
        return a.key != b.key or (a.key is None and public[0] != public[1])
    return not isinstance(b, Ranged) and a != b and one.origin.source != other.origin.source and not _go_together(one, other)


def _is_said_otherwise(name: str, facts: Mapping[str, Fact]) -> bool:
    """Whether a run that somebody calls 4-bit or 8-bit asks for it in a configuration, and not by the argument of that name."""
    configured = facts.get("plan.quantization_config")
    return name in ("plan.load_in_4bit", "plan.load_in_8bit") and configured is not None and configured.value is True


def _go_together(one: Fact, other: Fact) -> bool:
    """Whether two values hold at once: a repository that has moved, one process whose layers are placed by itself, PPO with adapters."""
    if one.name == "model.id":
        return isinstance(one.value, str) and isinstance(other.value, str) and _last_part(one.value) == _last_part(other.value)
    if one.name in ADDING_UP:
        return True
    if one.name == "plan.method":
        # One word says how the weights are changed, the other what for; a script's LoRA over weights that it loads in 4 bits is QLoRA.
        both = {one.value, other.value}
        return both == {"lora", "qlora"} or (both & _PREFERENCES != set() and both & _ADAPTED != set())
    return one.name == "plan.distributed" and {one.value, other.value} == {"none", "device_map"}


def _last_part(identity: str) -> str:
    return identity.lower().rpartition("/")[2]


def _disagreement(weaker: Fact, stronger: Fact) -> Defect:
    name = stronger.name.removeprefix("packages.")
    detail = (
        f"{name}: {weaker.origin.source} says {shown(weaker.value)}, {stronger.origin.source} says {shown(stronger.value)}; "
        f"the latter was taken"
    )
    packages = (name,) if stronger.name.startswith("packages.") else ()
    return Defect("sources-disagree", detail, weaker.origin.file, weaker.origin.line, packages)


def states_packages(collected: Collected) -> bool:
    """Whether the source says anything about packages: then the installed stack need not be asked."""
    return any(fact.name.startswith("packages.") for fact in collected.facts)


def model_path(collected: Collected, beside: Path | None) -> Path | None:
    """The local snapshot that a facts file names; a relative path is relative to that file."""
    for fact in collected.facts:
        if fact.name == "model.path" and isinstance(fact.value, str):
            path = Path(fact.value)
            return path if path.is_absolute() or beside is None else beside / path
    return None
