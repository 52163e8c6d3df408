"""What a message asks to be raised without a number, and who may be raised in place of what it wants lower."""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.shelf import open_package
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, final_key
from envdoctor.logs.demanded import DEMAND
from envdoctor.logs.newest import newest_for
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.worded_bounds import package_said, read_unknown_keys, read_upgrade
from envdoctor.records import replace
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import release_texts

# Whose fields the keys of a file are: accelerate/commands/config/config_args.py
_FIELDS = {"accelerate": "accelerate.commands.config.config_args:ClusterConfig"}
# "Numba needs NumPy 2.1 or less. Got NumPy 2.2."
_GOT = re.compile(
    r"(?P<asker>[A-Za-z][\w-]{1,40}) (?:needs|requires) (?P<name>[A-Za-z][\w-]{1,40}) \S{1,20} or (?:less|lower|earlier|older)\b.{0,20}"
    r"\b(?:[Gg]ot|[Ff]ound|[Yy]ou have) (?:[A-Za-z][\w-]{1,40} )?v?(?P<number>\d+(?:\.\d+){1,3})"
)
# What says the same for all releases, without the numbers of the log.
_OF_ALL = {"numba": ("numba-older-than-numpy",)}


def judge_upgrade(failure: Failure, facts: Facts) -> Hit | None:
    """A package that a message says to upgrade; with the keys of a file that it does not know, the releases that know them."""
    name = read_upgrade(failure.message)
    newest = newest_for(name, facts) if name is not None else ()
    stated = facts.value(f"packages.{name}")
    if name is None or not newest or (isinstance(stated, Exact) and f"=={stated.text}" == newest[0][1]):
        return None
    there = f", and {name} {stated} is stated" if isinstance(stated, Exact) else ""
    keys = read_unknown_keys(failure.message)
    since = _first_with(name, keys)
    detail = f"the message asks for a later {name}{there}"
    by_hand = ""
    if keys:
        what = " and ".join(keys)
        came = f", which {name} has from {since} on" if since else ""
        detail = f"the file was written by a later {name} than the one that reads it{there}: it has {what}{came}"
        by_hand = f"take {what} out of the file, or write the file anew with the release that is there"
    return Hit(
        DEMAND,
        True,
        ((f"packages.{name}", "too old for it"),),
        detail=detail,
        packages=(name,),
        pins=((name, f">={since}"), *newest) if since else newest,
        edge=f"message:{name}:later",
        by_hand=by_hand,
    )


def _first_with(package: str, keys: tuple[str, ...]) -> str:
    """The first release from which on a class of settings has all these fields; empty where nobody knows."""
    bound, cls = open_package(package), _FIELDS.get(package)
    if bound is None or cls is None or not keys:
        return ""
    there = bound.volume.all
    for key in keys:
        told = look_up(f"{cls}.{key}")
        there &= told.there if told is not None else 0
    newest = stretches(there)
    return bound.volume.releases[newest[-1][0]] if newest and there >> (len(bound.volume.releases) - 1) & 1 else ""


def with_follower(hit: Hit, failure: Failure, facts: Facts) -> Hit:
    """The demand for an older package, with the releases of who asks that take the one that was found: the other way round."""
    told = _GOT.search(failure.message)
    asker = package_said(told["asker"].lower()) if told is not None else None
    provider = package_said(told["name"]) if told is not None else None
    if hit.rule != DEMAND or told is None or asker is None or provider is None or provider not in hit.packages:
        return hit
    stated = facts.value(f"packages.{asker}")
    after = [one for one in release_texts(asker) if not isinstance(stated, Exact) or admits(f">{stated.text}", one)]
    finals = [one for one in after if final_key(one) is not None]
    # Releases of before such a bound was known name none, and do not run with it either.
    too_old = [one for one in finals if not _admits(asker, one, provider, told["number"])]
    takes = finals[finals.index(too_old[-1]) + 1 :] if too_old else finals
    pins = ((asker, f">={takes[0]}"),) if takes else ()
    detail = hit.detail.replace("the message asks", f"{asker} asks", 1)
    return replace(
        hit, detail=detail, packages=tuple(dict.fromkeys((*hit.packages, asker))), pins=(*hit.pins, *pins), over=_OF_ALL.get(asker, ())
    )


def _admits(asker: str, release: str, provider: str, number: str) -> bool:
    asked = [one.specifier for one in dependencies(asker, release) or () if one.name == provider]
    return bool(asked) and all(admits(spec, number) for spec in asked if spec)
