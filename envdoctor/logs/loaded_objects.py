"""An object that was pickled under one release of its package, and runs under another whose class has a field more."""

from __future__ import annotations

from envdoctor.atlas.masks import stretches
from envdoctor.atlas.stack import holds, places
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.asked import Asked
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import place_of

_WAYS = ("__getattr__", "__getattribute__")


def judge_loaded(asked: Asked, failure: Failure, facts: Facts) -> Hit | None:
    """The finding where the file of a class asks an object of that class for what its releases have from one on; None otherwise.

    https://github.com/openai/DALL-E/issues/75: the Upsample of a model that torch 1.10 pickled, under 1.11.
    """
    volume = asked.bound.volume
    module, cls, name = asked.symbol.rsplit(".", 2)
    frame = next((one for one in reversed(failure.frames) if one.function not in _WAYS), None)
    first = stretches(asked.there)[0][0] if asked.there else 0
    if frame is None or not first or not frame.path.replace("\\", "/").endswith(f"/{module.replace('.', '/')}.py"):
        return None
    stated = facts.value(f"packages.{volume.name}")
    if isinstance(stated, Exact) and not holds(asked.there, places(volume, stated.text)):
        return None
    return Hit(
        asked.family,
        True,
        detail=f"{place_of(frame)} asks an object of its own class {cls} for {name}, which the class has from {volume.releases[first]} on "
        "at the latest: the object was made by an earlier release, and was loaded as a whole from a file",
        packages=(volume.name,),
        pins=((volume.name, f"<={volume.releases[first - 1]}"),),
        edge=f"{volume.name}:{asked.symbol}",
        headline=f"An object of {volume.name} was pickled under an earlier release than the one that runs",
        advice="load the weights alone into a model that is made anew (load_state_dict); or give each loaded object the field, with the "
        f"value that {cls}.__init__ has for it: for m in model.modules(): if type(m).__name__ == '{cls}': m.{name} = ...",
    )
