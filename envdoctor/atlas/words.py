"""Breaks in words, and the releases under which they are none."""

from __future__ import annotations

from envdoctor.atlas.breaks import Break
from envdoctor.atlas.generated import is_generated
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.signatures import Call, plain_call, read_call
from envdoctor.atlas.takes import module_at
from envdoctor.atlas.volume import Volume


def since(volume: Volume, bad: int, place: int, there: int | None = None) -> str:
    """Since when something is gone, or from when on it is there: ``gone since 5.0.0``.

    ``there`` are the releases that are known to have it; without them all have it that are not ``bad``.
    """
    there = volume.all & ~bad if there is None else there
    bit = 1 << place
    if not bad & bit:
        return "which no release that was read has"
    there = there if there else volume.all & ~bad  # what made it in those is not shown: it may have been there
    before, after = there & (bit - 1), there >> (place + 1)
    last = before.bit_length() - 1
    gone = bad >> (last + 1)
    first = last + (gone & -gone).bit_length()
    if first == volume.standing and "+" in volume.releases[first]:
        return "which what is installed does not have"
    if before and first == last + 1:
        return f"gone since {_first_of(volume.releases[first], volume.releases[last])}"
    if after:
        return f"there from {volume.releases[place + (after & -after).bit_length()]} on"
    return f"gone by {volume.releases[first]}, last seen in {volume.releases[last]}" if before else "which no release that was read has"


def what(one: Break) -> str:
    """What is taken: ``imports HybridCache from transformers``, ``imports the module torch._six``, ``calls Trainer(tokenizer=)``."""
    module, colon, name = one.name.partition(":")
    if is_generated(one.name):
        by = read_call(one.call).keywords
        return f"was generated for protobuf {by[0]}" if by else "was generated for protobuf before 4"
    if one.call:
        return f"calls {(name or module)}({', '.join(plain_call(one.call).split(',')[1:])})"
    if colon and "." not in name:
        return f"imports {name} from {module}"
    return f"uses {one.name.replace(':', '.')}" if colon else f"imports {module}"


def good_specifiers(volume: Volume, bad: int, place: int) -> list[str]:
    """The releases without the fault as specifiers, the nearest first."""
    if volume.standing is not None and "+" in volume.releases[volume.standing]:
        return []  # of what was changed no release is a step back
    newest = len(volume.releases) - 1
    ways: list[tuple[int, str]] = []
    for first, last in stretches(volume.all & ~bad):
        parts = []
        if first > 0:
            parts.append(f">={volume.releases[first]}")
        if last < newest:
            parts.append(f"<{_first_of(volume.releases[last + 1], volume.releases[last])}")
        ways.append((min(abs(first - place), abs(last - place)), ",".join(parts)))
    return [specifier for _, specifier in sorted(ways) if specifier]


def _first_of(bad: str, good: str) -> str:
    """Where a fault may begin: of general libraries the last release of each minor was read, and it may have come with the first."""
    minor = bad.split(".")[:2]
    return bad if good.split(".")[:2] == minor or bad.split(".")[2:] in ([], ["0"]) or not minor[-1].isdigit() else ".".join(minor)


def witness(name: str, call: str, path: str = "") -> str:
    """The one line of Python that fails where a name is gone, or where a call of it is refused; ``path`` is the file that says so."""
    if path and is_generated(name):
        return f"import {module_at(path)}"
    module, colon, rest = name.partition(":")
    if call:
        return f"import inspect, {module}; inspect.signature({name.replace(':', '.')}).{_bound(read_call(call), method='.' in rest)}"
    if not colon:
        return f"import {module}"
    first, *more = rest.split(".")
    return f"from {module} import {first}" + (f"; {first}.{'.'.join(more)}" if more else "")


def _bound(call: Call, *, method: bool) -> str:
    """A call held against a signature; of a method the object itself may be counted or not, so that only names are."""
    values = [*(["None"] * (0 if method else call.count)), *(f"{keyword}=None" for keyword in call.keywords)]
    return f"bind{'_partial' if method or call.open else ''}({', '.join(values)})"
