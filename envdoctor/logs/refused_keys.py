"""Keys and options that a trainer does not take: which of its releases have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from envdoctor.atlas.answers import new_keyword
from envdoctor.atlas.binding import Bound
from envdoctor.atlas.masks import stretches, write
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import holds, neighbours, places
from envdoctor.atlas.words import good_specifiers
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.import_names import package_of

CONFIG = "error-configuration-refused"

_PARSER = re.compile(r"(?:Some keys|Some specified arguments) are not used by the HfArgumentParser: \[(?P<keys>[^\]]{1,1500})\]")
_UNRECOGNIZED = re.compile(r"error: unrecognized arguments: (?P<keys>\S.{0,800})")
_PYDANTIC = re.compile(r"(?:^| )(?P<field>[a-z_][\w.]{1,80}) Extra inputs are not permitted")
_STRUCT = re.compile(r"Key '(?P<key>[\w.]{1,80})' (?:is )?not in (?:struct|'[\w.]{1,80}')")
_OPTION = re.compile(r"--(?P<name>[A-Za-z][\w-]{1,60})")
_WORD = re.compile(r"'(?P<name>[A-Za-z_]\w{1,60})'")
# Programs whose configuration is made of fields of dataclasses or pydantic's, those first that have the most of their own.
_TRAINERS = ("llamafactory", "axolotl", "ms-swift", "verl", "trl", "openrlhf", "transformers")
# The dataclass that the others' are made of; other classes of transformers are no configuration of a run.
_OF_TRANSFORMERS = "transformers.training_args"
# What belongs to nobody: a value, a flag of torchrun's.
_PASSED = frozenset(("local_rank", "local-rank"))
_FIELD = ("=", ":")
_MOST_KEYS = 6


def refused_keys(told: str) -> tuple[str, ...]:
    """The keys that an error refuses, as a configuration writes them."""
    found: list[str] = []
    if (parser := _PARSER.search(told)) is not None:
        text = parser["keys"]
        options = [one["name"] for one in _OPTION.finditer(text)]
        found = options or [one["name"] for one in _WORD.finditer(text)]
    elif (unknown := _UNRECOGNIZED.search(told)) is not None:
        found = [one["name"] for one in _OPTION.finditer(unknown["keys"])]
    elif (key := _STRUCT.search(told)) is not None:
        found = [key["key"].rpartition(".")[2]]
    else:
        found = [one["field"].rpartition(".")[2] for one in _PYDANTIC.finditer(told)]
    names = (one.replace("-", "_") for one in found if one not in _PASSED)
    return tuple(dict.fromkeys(names))[:_MOST_KEYS]


def judge_keys(failure: Failure, facts: Facts) -> Hit | None:
    """Which releases of a trainer have the keys that another one refused; None where that is nobody's, or several trainers'."""
    keys = refused_keys(failure.told)
    if not keys:
        return None
    near = [package_of(name) for name in failure.packages]
    if (common := _common(keys)) and "HfArgumentParser" in failure.told:
        return Hit(
            CONFIG,
            True,
            (),
            detail="the command that ran reads another kind of configuration, or was handed the file of another one",
            packages=(),
            edge="code:training-arguments",
            headline=f"{', '.join(common[:4])} {'is' if len(common) == 1 else 'are'} of TrainingArguments in every release of transformers",
            advice="the command that trains (llamafactory-cli train, swift sft), or a parser with TrainingArguments among its classes",
        )
    own = next((package_of(name) for name in failure.packages if package_of(name) not in ("pydantic", "pydantic-core")), "")
    if own and own not in _TRAINERS and "HfArgumentParser" not in failure.told and not _UNRECOGNIZED.search(failure.told):
        return None  # its frames say whose configuration it is
    stated = [name for name in _TRAINERS if isinstance(facts.value(f"packages.{name}"), Exact)]
    ways = [
        [name for name in _TRAINERS if name in near and name != "transformers"],
        [name for name in _TRAINERS if name in stated],
        # Where nobody says whose the configuration is, a key that all have of transformers is its.
        ["transformers"],
    ]
    for names in filter(None, ways):
        found = [hit for name in names if (hit := _of_trainer(name, keys, failure, facts)) is not None]
        if found:
            return found[0]
    found = [hit for name in _TRAINERS if (hit := _of_trainer(name, keys, failure, facts)) is not None]
    return _of_several(found) if len(found) > 1 else next(iter(found), None)


def _common(keys: Sequence[str]) -> list[str]:
    """The keys that TrainingArguments have in every release: whoever refuses them reads none."""
    bound = open_package("transformers")
    chunk = None if bound is None else bound.volume.chunk(_OF_TRANSFORMERS)
    sheet = None if chunk is None else chunk.classes.get("TrainingArguments")
    if bound is None or sheet is None:
        return []
    held = {key: sum(mask for value, mask in sheet.methods.get(key, {}).items() if value in _FIELD) for key in keys}
    return [key for key, mask in held.items() if mask == bound.volume.all]


def _of_several(found: Sequence[Hit]) -> Hit:
    """Keys that several programs came to take or dropped, where the text names none of them."""
    packages = tuple(name for hit in found for name in hit.packages)
    detail = f"which program refused it is not said; {'; '.join(hit.detail.partition(';')[0] for hit in found[:3])}"
    return Hit(
        CONFIG, None, missing=tuple(f"packages.{name}" for name in packages), detail=detail, packages=packages, edge="several:configuration"
    )


def _of_trainer(package: str, keys: Sequence[str], failure: Failure, facts: Facts) -> Hit | None:
    bound = open_package(package)
    if bound is None:
        return None
    volume = bound.volume
    masks = {key: mask for key in keys if (mask := _releases_with(bound, key)) and mask != volume.all}
    if not masks or 2 * len(masks) < len(keys):
        return None
    there = volume.all
    for mask in masks.values():
        there &= mask
    release = stated.text if isinstance(stated := facts.value(f"packages.{package}"), Exact) else ""
    where = places(volume, release) if release else ()
    if not there or holds(there, where):
        return None
    like = [one for one in (where or neighbours(volume, release) if release else ()) if not there >> one & 1]
    gone = volume.all & ~there
    place = like[-1] if like else stretches(gone)[-1][0]
    named = ", ".join(masks)
    has = f"{package} {release}".strip()
    detail = (
        f"{has} does not take {named}: {'it is' if len(masks) == 1 else 'they are'} in {write(there, volume.releases)}; the configuration "
        "was written for one of these"
    )
    pins = tuple((package, one) for one in good_specifiers(volume, gone, place))
    edge = f"{package}:{named}"[:120]
    return Hit(CONFIG, True, (), detail=detail, packages=(package,), pins=pins, edge=edge, advice=_renamed(bound, masks, place))


def _renamed(bound: Bound, keys: Iterable[str], place: int) -> str:
    """What the keys of transformers' arguments are called where they are refused; empty where that is not known of each."""
    if bound.volume.name != "transformers":
        return ""
    new = {key: new_keyword(bound.volume, "transformers:TrainingArguments", key, place) for key in keys}
    return ", ".join(f"write {one} for {key}" for key, one in new.items()) if all(new.values()) else ""


def _releases_with(bound: Bound, key: str) -> int:
    """The releases in which a class has a field of this name; where some class always has, those of the largest class that changed."""
    found: list[tuple[int, int]] = []
    for module, _ in bound.modules(f" m {key} "):
        if bound.volume.name == "transformers" and not module.startswith(_OF_TRANSFORMERS):
            continue
        chunk = bound.volume.chunk(module)
        for sheet in () if chunk is None else chunk.classes.values():
            mask = 0
            for value, held in sheet.methods.get(key, {}).items():
                mask |= held if value in _FIELD else 0
            if mask:
                found.append((mask, sheet.mask))
    union = 0
    for mask, _ in found:
        union |= mask
    if union != bound.volume.all:
        return union
    changed = [(whole.bit_count(), mask) for mask, whole in found if whole & ~mask]
    return max(changed)[1] if changed else union
