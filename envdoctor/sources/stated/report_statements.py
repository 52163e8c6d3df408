"""What a report says, by level of word, and the facts that follow where it contradicts itself or does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.fact import Fact, FactValue, NotUnderstood, Origin, Skip
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import ABSENT, Ranged, exact, final_key
from envdoctor.records import dataclass, field
from envdoctor.world.releases import release_texts

HINT, PROSE, REPORT = 1, 2, 3
_MOST_SAID = 50  # distinct statements kept of one fact


@dataclass(frozen=True, slots=True)
class Said:
    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class SaidGpu:
    level: int
    name: str
    line: int
    index: int | None = None
    count: int | None = None


@dataclass(slots=True)
class Statements:
    place: str
    said: dict[str, list[Said]] = field(default_factory=dict)
    absent: dict[str, int] = field(default_factory=dict)
    gpus: list[SaidGpu] = field(default_factory=list)
    memories: list[tuple[float, int]] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    cut: int = 0
    table: str = ""
    cpu_build: bool = False

    def say(self, name: str, level: int, text: str, line: int) -> None:
        """Keep a statement; a package's is kept only when its text is a version."""
        if name.startswith("packages.") and not is_version(text):
            return
        known = self.said.setdefault(name, [])
        if len(known) < _MOST_SAID and not any(said.level == level and said.text == text for said in known):
            known.append(Said(level, text, line))


def plausible(name: str, version: str) -> bool:
    major = int(version.partition(".")[0])
    if name == "python":
        return 2 <= major <= 3
    if name == "cuda":
        return 8 < major < 30
    if name == "driver":
        return 300 <= major <= 999
    if name == "glibc":
        return major == 2
    return name != "cudnn" or 4 < major < 20


def is_version(text: str) -> bool:
    try:
        exact(text)
    except ValueError:
        return False
    return True


def printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())[:100].strip()


def version_facts(reading: Statements) -> Iterator[Fact]:
    _settle_glibc(reading)
    _settle_cuda(reading)
    for name, line in reading.absent.items():
        if name not in reading.said:
            yield fact_of(reading, name, ABSENT, line)
    for name, said in reading.said.items():
        best = _best(reading, name, said)
        if best is None:
            continue
        value = _package_value(name.removeprefix("packages."), best.text) if name.startswith("packages.") else parse_value(name, best.text)
        if not isinstance(value, NotUnderstood):
            yield fact_of(reading, name, value, best.line)


def _settle_glibc(reading: Statements) -> None:
    """The glibc in ``platform.platform()`` is the system's from Python 3.9 on; 3.8 tells the one its own binary was linked with."""
    platform = reading.said.pop("platform's glibc", [])
    python = _best(Statements(reading.place), "python", reading.said.get("python", []))
    key = None if python is None else final_key(python.text)
    if "glibc" not in reading.said and platform and (key is None or key >= (3, 9)):
        reading.said["glibc"] = platform


def _settle_cuda(reading: Statements) -> None:
    """The label of the torch build tells its CUDA better than any toolkit; a build without CUDA has none."""
    torch = _best(Statements(reading.place), "packages.torch", reading.said.get("packages.torch", []))
    label = re.search(r"\+cu(\d{2,3})$", torch.text) if torch else None
    if torch and label:
        reading.said["cuda"] = [Said(REPORT, f"{label[1][:-1]}.{label[1][-1]}", torch.line)]
    elif reading.cpu_build or (torch and re.search(r"\+(?:cpu|rocm)", torch.text)):
        reading.said.pop("cuda", None)


def _best(reading: Statements, name: str, said: list[Said]) -> Said | None:
    """The statement of the highest level, in its most detailed form; None where prose contradicts itself."""
    if not said:
        return None
    level = max(statement.level for statement in said)
    top = [statement for statement in said if statement.level == level]
    best = top[0]
    for other in [*top, *(statement for statement in said if statement.level != level)]:
        if _more_detailed(other.text, best.text):
            best = Said(best.level, other.text, other.line)
    shown = name.removeprefix("packages.")
    for other in [*top, *(statement for statement in said if level == REPORT and statement.level == PROSE)]:
        if not _agree(other.text, best.text):
            if level == REPORT:
                why = f"line {best.line} says {printable(best.text)}, which was taken"
                reading.skips.append(Skip(f"{reading.place}:{other.line}", f"{shown} {printable(other.text)}: {why}"))
                break
            why = f"said to be {printable(best.text)} on line {best.line} and {printable(other.text)} on line {other.line}: not taken"
            reading.skips.append(Skip(shown, f"{why} ({reading.place})"))
            return None
    return best


def _agree(one: str, other: str) -> bool:
    if one == other:
        return True
    first, second = one.partition("+")[0], other.partition("+")[0]
    if first == second or f"{first}.".startswith(f"{second}.") or f"{second}.".startswith(f"{first}."):
        return True
    key = final_key(first)
    return key is not None and key == final_key(second)


def _more_detailed(text: str, than: str) -> bool:
    """Whether a statement says the same and more: ``2.5.1+cu121`` than ``2.5.1``, ``3.10.12`` than ``3.10``."""
    public, other = text.partition("+")[0], than.partition("+")[0]
    if public == other:
        return "+" in text and "+" not in than
    return "+" not in than and public.startswith(f"{other}.")


def _package_value(package: str, text: str) -> FactValue:
    """``transformers 4.40`` is what people write for any 4.40.x; a version that was released is that version."""
    public = text.partition("+")[0]
    if re.fullmatch(r"\d+\.\d+", public):
        known = release_texts(package)
        if public not in known and any(release.startswith(f"{public}.") for release in known):
            return Ranged(f"=={public}.*")
    return exact(text)


def fact_of(reading: Statements, name: str, value: FactValue, line: int) -> Fact:
    return Fact(name, value, Origin(reading.place, reading.place, line))
