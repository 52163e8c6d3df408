"""What the import of a module imports in its turn, within its own package."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from envdoctor.atlas.guards import NEVER, joined
from envdoctor.atlas.volume import Volume


def entry_modules(volume: Volume, name: str, place: int) -> list[str]:
    """The modules that an import of ``module`` or ``module:name`` loads first; of a name that modules hand on, all."""
    module, _, first = name.partition(":")
    found = [module]
    if first and first != "*":
        if volume.has_module(f"{module}.{first}") >> place & 1:
            found.append(f"{module}.{first}")
        else:
            _hand_on(volume, module, first, place, found)
    return found


def _hand_on(volume: Volume, module: str, name: str, place: int, found: list[str]) -> None:
    chunk = volume.chunk(module)
    for target, mask in () if chunk is None else chunk.lazy.get(name, {}).items():
        there, _, given = target.removeprefix("=").partition(":")
        if mask >> place & 1 and there not in found:
            found.append(there)
            _hand_on(volume, there, given or name, place, found)


def reach(volume: Volume, names: Iterable[str], place: int) -> dict[str, str]:
    """The modules of a release that an import loads, each with the condition under which it does: empty where always."""
    found: dict[str, str] = {}
    waiting: list[tuple[int, str, str]] = []
    for name in names:
        waiting += [(0, module, "") for module in entry_modules(volume, name, place)]
    heapify(waiting)
    while waiting:
        # The way with the fewest conditions first.
        weight, module, guard = heappop(waiting)
        if module in found:
            continue
        parent = module.rpartition(".")[0]
        if parent and parent not in found:
            heappush(waiting, (weight, parent, guard))
        found[module] = guard
        chunk = volume.chunk(module)
        if chunk is None:
            continue
        for target, condition, mask in chunk.imports:
            if mask >> place & 1:
                told = joined(guard, condition)
                if told != NEVER and "?" not in told.split(" & "):
                    for one in entry_modules(volume, target, place):
                        if one not in found:
                            heappush(waiting, (told.count("&") + bool(told), one, told))
    return found
