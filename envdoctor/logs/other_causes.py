"""Symptoms that a log shows, and whose rule they do not mean: code at which an error of any line ended, a module of another place."""

from __future__ import annotations

import re

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import ABSENT
from envdoctor.logs.callers import asker_of
from envdoctor.logs.likely_callers import asks_for
from envdoctor.logs.own_code import innermost_own
from envdoctor.logs.reading import Reading
from envdoctor.logs.signatures import Shown
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.unwrapping import plain_line
from envdoctor.rules.conditions import accused
from envdoctor.rules.rule import Rule
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

# What ends a run at whichever line it just is: full memory, a kernel that failed earlier, a full disk, somebody who stops it.
_AT_ANY_LINE = re.compile(
    r"OutOfMemory|out of memory|^MemoryError|^KeyboardInterrupt|^SystemExit|CUDA error: (?:an illegal|unspecified|device-side|misaligned|"
    r"uncorrectable|the launch timed out)|No space left on device|received signal|DataLoader worker|NCCL (?:error|timeout)|Watchdog"
)
_FROM_NOWHERE = re.compile(r"cannot import name '?[\w.]+'? from '?[\w.]+'? \(unknown location\)")


# Words of CUDA's that any compiled package may end in: whose they are, its frames say.
_OF_ANY_EXTENSION = "no kernel image is available"
_COMPUTES = frozenset(("torch", "transformers", "accelerate", "peft", "trl"))
_INSTALLED = re.compile(r"^\s*Successfully (?:built|installed) ")
# What these libraries say of the files of a model, in words that nothing else of theirs is said in.
_OF_FILES = frozenset(
    ("snapshot-adapter-beside-model", "snapshot-adapter-config-invalid", "snapshot-index-invalid", "snapshot-pad-id-out-of-range",
     "snapshot-tensor-not-in-shard", "snapshot-token-id-out-of-range")
)  # fmt: skip
_MISSED = re.compile(r"cannot import name '?(?P<name>\w+)'? from '?(?P<module>transformers[\w.]*)'?")
_NO_ATTRIBUTE = re.compile(r"object '?[\w.]{0,80}'? ?has no attribute '\w+'|' object has no attribute '\w+'")
_READERS = frozenset(("transformers", "peft", "safetensors"))
_NO_MEMBER = re.compile(r"module '(?P<module>\w+)(?:\.\w+)*' has no attribute '(?P<name>\w+)'")


def means_another(rule: Rule, seen: Shown, reading: Reading, stated: Facts) -> bool:
    """Whether the line that shows a symptom is of another error than the symptom's."""
    if _FROM_NOWHERE.search(seen.text) and "unknown location" not in seen.symptom:
        # The package's folder is there without its files, or a folder of the project's own has its name.
        return True
    if _is_of_installed_code(rule, seen, reading, stated) or _is_asked_by_own_line(rule, seen, reading, stated):
        return True
    if rule.effect == "blocked" and any(number > seen.line and _INSTALLED.match(line) for number, line in reading.lines):
        return True
    if _OF_ANY_EXTENSION in seen.symptom and rule.packages and (last := _raised_at(seen, reading)) is not None:
        by = next((package_of(name) for name in last.packages if name not in _COMPUTES), "")
        return bool(by) and by not in rule.packages
    symptom = plain_line(seen.symptom)
    ended = [one for one in reading.failures if _passes(one, symptom)]
    return bool(ended) and all(_AT_ANY_LINE.search(one.told) is not None for one in ended)


def _is_of_installed_code(rule: Rule, seen: Shown, reading: Reading, stated: Facts) -> bool:
    """Whether a page about code that comes with a model knows a name that an installed package itself imports: a stated one, or
    one in whose file it failed."""
    about = rule.affected is not None and any(leaf.fact == "model.remote_code" for leaf in accused(rule.affected))
    if about and (_is_asked_by_a_package(seen, reading) or _is_of_its_own_package(seen, reading)):
        return True
    missed = _MISSED.search(seen.text) if about else None
    if missed is None or any("transformers_modules" in line for _, line in reading.lines):
        return False
    symbol = f"{missed['module']}.{missed['name']}"
    last = _raised_at(seen, reading)
    framed = [package_of(name) for name in (last.packages if last is not None else ())]
    there = [name.removeprefix("packages.") for name in stated if name.startswith("packages.") and stated.value(name) != ABSENT]
    asked = (name for name in dict.fromkeys((*framed, *there)) if name not in _READERS)
    return any(asks_for(name, symbol, stated) for name in asked)


def _is_asked_by_a_package(seen: Shown, reading: Reading) -> bool:
    """Whether the line that asks for an attribute is an installed package's own, which is neither the model's code nor its reader."""
    last = _raised_at(seen, reading) if _NO_ATTRIBUTE.search(seen.text) else None
    asker = asker_of(last) if last is not None else None
    if last is None or asker is None or "site-packages" not in asker.path.replace("dist-packages", "site-packages"):
        return False
    by = package_of(asker.package) if asker.package else ""
    return bool(by) and by not in ("transformers", "torch", "transformers-modules")


def _is_of_its_own_package(seen: Shown, reading: Reading) -> bool:
    """Whether a class without an attribute is loaded by an installed package that nobody lists: its own code."""
    last = _raised_at(seen, reading) if _NO_ATTRIBUTE.search(seen.text) else None
    framed = [name for name in (last.packages if last is not None else ()) if name != "transformers_modules"]
    return last is not None and "transformers_modules" not in last.packages and any(package_of(name) not in listed() for name in framed)


def _is_asked_by_own_line(rule: Rule, seen: Shown, reading: Reading, stated: Facts) -> bool:
    """Whether the project's own line asks a module for the very name that a page says another package to ask it for, which is not there."""
    found = _NO_MEMBER.search(seen.text)
    last = _raised_at(seen, reading) if found is not None else None
    own = innermost_own(last) if last is not None else None
    if found is None or last is None or own is None or f"{found['module']}.{found['name']}" not in own.text:
        return False
    askers = {name for name in rule.packages if name != package_of(found["module"])}
    framed = {package_of(name) for name in last.packages}
    return bool(askers) and not any(name in framed or f"packages.{name}" in stated for name in askers)


def is_of_a_namesake(seen: Shown, edges: frozenset[str]) -> bool:
    """Whether the name that a symptom misses was looked for in a file of the project's own that bears the package's name."""
    return any(f"'{name.rpartition('.')[2]}' from '{name.rpartition('.')[0]}'" in seen.text for name in edges)


def is_told_of_files(rule: Rule, seen: Shown, reading: Reading) -> bool:
    """Whether a library that reads a model's files ended in words that tell which fault these have."""
    last = _raised_at(seen, reading) if rule.id in _OF_FILES else None
    return last is not None and not _READERS.isdisjoint(last.packages)


def _raised_at(seen: Shown, reading: Reading) -> Failure | None:
    """The error that ends in a symptom."""
    symptom = plain_line(seen.symptom)
    return next((one for one in reading.failures if symptom in plain_line(one.told)), None)


def _passes(failure: Failure, symptom: str) -> bool:
    """Whether a traceback leads over a line of code that is a symptom, and does not end in its words."""
    if symptom in plain_line(failure.told):
        return False
    return any(symptom in plain_line(frame.text) or symptom == plain_line(f"in {frame.function}") for frame in failure.frames)
