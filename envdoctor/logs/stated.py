"""What a log states of the environment that it is of: reports in it, what its errors tell, and what an installer was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.fact import Collected, Fact, NotUnderstood, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import parse_package
from envdoctor.logs.by_uv import read_chosen, read_python
from envdoctor.logs.reading import Reading
from envdoctor.logs.refusals import asked_facts
from envdoctor.logs.statements import parse_model_type
from envdoctor.records import replace
from envdoctor.sources.stated.env_reports import parse_env_report

# A frame of an installed egg or of an unpacked wheel says its version; so does a directory of metadata.
_IN_PATH = re.compile(
    r"[\\/](?P<name>[A-Za-z][A-Za-z0-9_.]{1,60})-(?P<version>\d{1,4}(?:\.\d{1,6}){1,4}(?:\.?(?:post|dev)\d{1,6})?)(?:-py3\.\d{1,2}[^\\/]{0,40}\.egg|\.dist-info)[\\/]"
)
# Where Python and its packages lie tells the system, but for folders that any Unix has.
_SYSTEMS = (
    (re.compile(r"[A-Za-z]:\\\\?[^\\/]"), "windows"),
    (re.compile(r"/(?:Users|opt/homebrew|Library/Frameworks)/"), "macos"),
    (re.compile(r"/(?:home|root)/|/usr/(?:local/)?lib/python3"), "linux"),
)
_INCOMPATIBLE_GPU = re.compile(
    r"(?P<gpu>(?:NVIDIA |Tesla |GeForce |Quadro )[\w .()-]{2,60}?) with CUDA capability sm_(?P<capability>\d{2,3}) is not compatible"
)
_TOO_OLD_DRIVER = re.compile(r"found version (?P<version>\d{4,5})\)")


def read_statements(reading: Reading, place: str) -> Collected:
    """All that a log states. A fact that a report states in words is taken before one that an error implies."""
    numbers = [one.number for one in reading.kept]
    found = parse_env_report("\n".join(one.text for one in reading.kept), place) or Collected()
    facts = [_at(fact, numbers) for fact in found.facts]
    known = {fact.name for fact in facts}
    for fact in (*_of_paths(reading, place), *_of_errors(reading, place), *_of_installers(reading, place)):
        if fact.name not in known:
            known.add(fact.name)
            facts.append(fact)
    return replace(found, facts=tuple(facts))


def _at(fact: Fact, numbers: list[int]) -> Fact:
    line = fact.origin.line
    if line is None or not 0 < line <= len(numbers) or numbers[line - 1] == line:
        return fact
    return replace(fact, origin=replace(fact.origin, line=numbers[line - 1]))


def _of_paths(reading: Reading, place: str) -> Iterator[Fact]:
    yield from _system(reading, place)
    for failure in reading.failures:
        # "cannot import name X from Y (/lib/python3.8/site-packages/Y-2.8.0-py3.8.egg/Y/z.py)" says it in the message.
        for path in (*(frame.path for frame in failure.frames), failure.message):
            found = _IN_PATH.search(path)
            if found is not None:
                yield from _fact(
                    f"packages.{found['name'].lower().replace('_', '-').replace('.', '-')}", f"=={found['version']}", place, failure.line
                )


def _system(reading: Reading, place: str) -> Iterator[Fact]:
    """The system that every frame of the errors lies on, where all agree."""
    paths = [(frame.path, failure.line) for failure in reading.failures for frame in failure.frames]
    told = [(system, line) for path, line in paths for pattern, system in _SYSTEMS if pattern.match(path)]
    if told and len({system for system, _ in told}) == 1:
        yield from _fact("os", told[0][0], place, told[0][1])


def _of_errors(reading: Reading, place: str) -> Iterator[Fact]:
    for failure in reading.failures:
        kind = parse_model_type(failure)
        if kind is not None:
            yield from _fact("model.type", kind.name, place, failure.line)
            # AutoConfig was left to its own list: no code of the model's was asked.
            yield Fact("model.remote_code", False, Origin(place, place, failure.line))
    if reading.too_small is not None:
        yield Fact("gpu.memory_gib", round(reading.too_small.total / 2**30, 2), Origin(place, place, None))
    for number, line in reading.lines:
        if "CUDA capability sm_" in line and (gpu := _INCOMPATIBLE_GPU.search(line)) is not None:
            yield from _fact("gpu.name", gpu["gpu"].strip(), place, number)
            yield from _fact("gpu.compute_capability", f"{gpu['capability'][:-1]}.{gpu['capability'][-1]}", place, number)


def _of_installers(reading: Reading, place: str) -> Iterator[Fact]:
    for one in () if reading.refusal is None else reading.refusal.unavailable:
        tag = re.search(r"\bcp3(\d{1,2})\b", one.tag)
        if one.python or tag:
            yield from _fact("python", one.python or f"3.{tag[1] if tag else ''}", place, reading.refusal.line if reading.refusal else None)
    if (python := read_python(reading.lines)) is not None:
        yield from _fact("python", python[0], place, python[1])
    for name, version, number in read_chosen(reading.lines):
        yield from _fact(f"packages.{name}", f"=={version}", place, number)
    for name, specifier in asked_facts(reading.refusal):
        if name != "python" and specifier:
            yield from _fact(f"packages.{name}", specifier, place, None if reading.refusal is None else reading.refusal.line)


def _fact(name: str, text: str, place: str, line: int | None) -> Iterator[Fact]:
    try:
        value = parse_package(text) if name.startswith("packages.") else parse_value(name, text)
    except ValueError:
        return
    if not isinstance(value, NotUnderstood):
        yield Fact(name, value, Origin(place, place, line))
