"""``--target``: the machine that a run is meant for, where the check runs on another one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, NotUnderstood, Origin, Skip
from envdoctor.facts.vocabulary import term
from envdoctor.sources.stated.stated_value import stated_value, what_it_should_be
from envdoctor.world.gpus import find_gpu

FORM = "linux-x86_64,python=3.11,gpu=H100,driver=550"
# What people write for the facts of a machine; the facts' own names are understood as well.
_KEYS = {
    "python": "python",
    "os": "os",
    "machine": "machine",
    "arch": "machine",
    "gpu": "gpu.name",
    "gpus": "gpu.count",
    "gpu_memory": "gpu.memory_gib",
    "compute_capability": "gpu.compute_capability",
    "driver": "driver",
    "cuda": "cuda",
    "cudnn": "cudnn",
    "glibc": "glibc",
    "accelerator": "accelerator",
}
_SYSTEMS = {"linux": "linux", "windows": "windows", "win": "windows", "macos": "macos", "macosx": "macos", "darwin": "macos"}
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "arm64"}
_MANYLINUX = re.compile(r"manylinux_(\d{1,3})_(\d{1,3})_(\w{1,20})")
_WITHOUT_GPU = ("none", "no", "cpu")


def parse_target(text: str, place: str = "--target") -> Collected:
    """The facts of a profile on the command line: an operating system and machine, then ``NAME=VALUE``, apart by commas.

    Raises:
        EnvdoctorError: a platform or a name that is not known.
    """
    settings: dict[str, object] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = part.partition("=")
        if equals and name.strip() in settings:
            raise EnvdoctorError(place, found=f"{name.strip()} twice", expected=FORM, next_step="say it once")
        if equals:
            settings[name.strip()] = value.strip()
        elif "platform" in settings:
            raise EnvdoctorError(place, found=f"two platforms, the second {part!r}", expected=FORM, next_step="name one")
        else:
            settings["platform"] = part
    return target_facts(settings, place, Origin(place))


def target_facts(settings: Mapping[str, object], place: str, origin: Origin) -> Collected:
    """The facts of a profile as a table, as ``[tool.envdoctor.targets.NAME]`` has it.

    Raises:
        EnvdoctorError: a platform or a name that is not known, an empty profile.
    """
    facts: dict[str, Fact] = {}
    skips: list[Skip] = []
    for name, raw in settings.items():
        for fact, value in _statements(name, raw, place):
            read = stated_value(fact, value)
            known = term(fact)
            if known is not None and (expected := what_it_should_be(known, read)):
                raise EnvdoctorError(place, found=f"{name} = {raw}", expected=expected, next_step=f"for example {FORM}")
            if fact == "gpu.name" and find_gpu(str(value)) is None:
                skips.append(Skip(f"{fact} = {value}", "no GPU that is known: its memory and what it computes stay unknown"))
            if isinstance(read, NotUnderstood):
                skips.append(Skip(f"{fact} = {read.text}", f"not understood; kept as free text ({place})"))
            facts[fact] = Fact(fact, read, origin)
    if not facts:
        raise EnvdoctorError(place, found="nothing", expected=FORM, next_step="say what the machine is")
    return Collected(tuple(facts.values()), skips=tuple(skips))


def _statements(name: str, raw: object, place: str) -> Iterator[tuple[str, object]]:
    if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
        raise EnvdoctorError(place, found=f"{name} = {raw!r}", expected="a text or a number", next_step=f"for example {FORM}")
    if not str(raw).strip():
        raise EnvdoctorError(place, found=f"{name} without a value", expected=FORM, next_step="say what the machine has, or leave it out")
    if name == "platform":
        yield from _platform(str(raw), place)
        return
    fact = _KEYS.get(name, name if term(name) is not None and not name.startswith(("packages.", "plan.", "model.")) else None)
    if fact is None:
        close = get_close_matches(name, [*_KEYS, "platform"], n=1)
        expected = f"one of platform, {', '.join(_KEYS)}{f', perhaps {close[0]}' if close else ''}"
        raise EnvdoctorError(place, found=f"{name!r}", expected=expected, next_step=f"for example {FORM}")
    if fact == "gpu.name" and str(raw).lower() in _WITHOUT_GPU:
        yield "accelerator", "cpu"
        return
    counted = re.fullmatch(r"(\d{1,4})\s*x\s*(\S.*)|(\S.*?)\s*x\s*(\d{1,4})", str(raw)) if fact == "gpu.name" else None
    if counted:
        yield "gpu.count", int(counted[1] or counted[4])
        raw = counted[2] or counted[3]
    if _is_version(fact) and (isinstance(raw, float) or (fact == "python" and not isinstance(raw, str))):
        found = f"{name} = {raw!r}, a number"
        raise EnvdoctorError(place, found=found, expected=f'{name} = "{raw!r}"', next_step="put it in quotes: 3.10 would be 3.1")
    yield fact, str(raw) if fact != "gpu.count" else raw


def _is_version(fact: str) -> bool:
    known = term(fact)
    return known is not None and known.kind == "version"


def _platform(text: str, place: str) -> Iterator[tuple[str, object]]:
    wheel = _MANYLINUX.fullmatch(text)
    if wheel:
        text = f"linux-{wheel[3]}"
        yield "glibc", f"{wheel[1]}.{wheel[2]}"
    system, _, machine = text.lower().replace("_", "-", 1 if text.lower().startswith(("macos_", "win_", "linux_")) else 0).partition("-")
    if system not in _SYSTEMS or (machine and machine not in _MACHINES):
        raise EnvdoctorError(
            place,
            found=f"the platform {text!r}",
            expected="linux, windows or macos, then a machine: linux-x86_64, linux-aarch64, macos-arm64, manylinux_2_28_x86_64",
            next_step=f"for example {FORM}",
        )
    yield "os", _SYSTEMS[system]
    if machine:
        yield "machine", _MACHINES[machine]
