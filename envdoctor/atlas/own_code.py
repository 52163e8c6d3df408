"""A user's own code against the releases of a stack: names, modules, members and keywords that are not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from envdoctor.atlas.answers import definitions, new_keyword, new_places, symbol_of
from envdoctor.atlas.binding import Bound
from envdoctor.atlas.breaks import provider_of
from envdoctor.atlas.callables import MODULES_OF_TORCH, bases_outside, fields_of, is_member_of, members_of_modules, open_dataclass
from envdoctor.atlas.decisions import decide
from envdoctor.atlas.distributions import may_bring
from envdoctor.atlas.known_renames import known_rename
from envdoctor.atlas.missing import by_body, given_to, handed_on, missing, refused, refuses_at, signature_at, split
from envdoctor.atlas.objects import INSTEAD, class_of_result
from envdoctor.atlas.outline import Outline, Taken
from envdoctor.atlas.set_from_outside import drops_what_it_does_not_take, is_set_from_outside
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.signatures import read, read_call, refused_together
from envdoctor.atlas.stack import Stack, holds, standing
from envdoctor.atlas.volume import Volume
from envdoctor.facts.uses import WRAPPERS
from envdoctor.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Fault:
    """One name of a file that a stated release does not have, or one call that it refuses.

    ``keywords`` are those that it refuses (``named``); all of them, where it is something else. ``more`` are the other lines of it.
    ``by_body``: the signature takes the call, and the body of the function refuses it.
    ``bad`` are the releases of the provider with the fault, by the places of its volume, which is that of ``bound``; ``others``
    are those that lack something else that the file imports.
    """

    bound: Bound

    provider: str
    release: str
    name: str
    call: str
    line: int
    bad: int
    place: int
    keywords: tuple[str, ...] = ()
    more: tuple[int, ...] = ()
    moduleless: bool = False
    named: bool = False
    by_body: bool = False
    others: int = 0


Open = Callable[[str], Bound | None]
Known = dict[tuple[str, str], tuple[Fault, ...]]

_PYTHON, _SYSTEM = "3.12", "Linux"


def faults_of(
    outline: Outline, stack: Stack, opened: Open = open_package, known: Known | None = None, *, wrapped: bool = False
) -> Iterator[Fault]:
    """What a file takes from the packages of a stack and does not find there, each name once, with all of its lines.

    ``known`` is what other files of the same stack came to, by name and call. ``wrapped``: a module beside the file loads what wraps the
    trainers of trl.
    """
    known = {} if known is None else known
    taken: dict[tuple[str, str], list[Taken]] = {}
    for one in outline.taken:
        taken.setdefault((one.name, one.call), []).append(one)
    reckoned = {one.name.replace(":", ".") for one in outline.taken if not one.call and "?" in one.guard.split(" & ")}
    gone: dict[str, tuple[Fault, list[int]]] = {}
    calls: list[Fault] = []
    wrapped = wrapped or any(one.name.partition(":")[0].partition(".")[0] in WRAPPERS for one in outline.taken)
    for some in taken.values():
        let_through = [one for one in some if not _saved(one.guard, stack)]
        for fault in _faults_once(let_through[0], stack, opened, known) if let_through else ():
            if not fault.call and _is_imported(fault.name, let_through) and _reckoned(fault.name, reckoned):
                continue
            of_trl = wrapped and bool(fault.call) and "trl" in (fault.provider, let_through[0].name.partition(":")[0].partition(".")[0])
            # unsloth's configurations of trl take what a release of trl had, and drop it with a note (unsloth/models/rl_config_compat.py).
            if of_trl and (fault.name.endswith("Trainer") or (fault.named and fault.bad != fault.bound.volume.all)):
                continue
            over = [one for one in let_through if not (fault.moduleless and _saved(one.guard, stack, moduleless=True))]
            lines = list(dict.fromkeys(one.line for one in over))
            if lines and fault.call:
                calls.append(replace(fault, line=lines[0], more=tuple(lines[1:])))
            elif lines:  # what is imported, and what is then called, is one name that is not there
                gone.setdefault(fault.name, (fault, []))[1].extend(lines)
    # Of what is not there no attribute is.
    for name in [name for name in gone if any(name.replace(":", ".").startswith(f"{other.replace(':', '.')}.") for other in gone)]:
        del gone[name]
    names = (replace(fault, line=first, more=tuple(more)) for fault, lines in gone.values() for first, *more in [sorted(set(lines))])
    imported = [name for (name, call), some in taken.items() if not call and ":" in name and all(not one.guard for one in some)]
    for fault in sorted([*calls, *names], key=lambda fault: fault.line):
        yield replace(fault, others=_lacking_others(fault, imported, stack))


def _saved(guard: str, stack: Stack, *, moduleless: bool = False) -> bool:
    """Whether what stands under a guard is not reached, or its absence provided for; where nobody says on what, on what trains today."""
    if "python" in guard or "system:" in guard:
        stack = replace(stack, python=stack.python or _PYTHON, system=stack.system or _SYSTEM)
    return "?" in guard.split(" & ") or decide(guard.replace("*", "python"), stack, moduleless=moduleless) is False


def _is_imported(name: str, some: list[Taken]) -> bool:
    """Whether all of these use what an import elsewhere brought."""
    return all(one.call or "." in name.partition(":")[2] or ":" not in name for one in some)


def _reckoned(name: str, reckoned: set[str]) -> bool:
    """Whether a name, or what it is an attribute of, was imported where its absence is provided for."""
    parts = name.replace(":", ".").split(".")
    return any(".".join(parts[:end]) in reckoned for end in range(2, len(parts) + 1))


def _faults_once(taken: Taken, stack: Stack, opened: Open, known: Known) -> tuple[Fault, ...]:
    of = taken.name, taken.call
    if of not in known:
        known[of] = tuple(_faults(taken, stack, opened))
    return known[of]


def _faults(taken: Taken, stack: Stack, opened: Open) -> Iterator[Fault]:
    name = class_of_result(taken.name)
    if name is None:
        return
    taken = taken if name == taken.name else replace(taken, name=name)
    provider = provider_of(name, stack)
    bound = None if provider is None else opened(provider)
    if provider is None or bound is None:
        return
    volume, release = bound.volume, stack.releases[provider]
    where = standing(volume, release)
    if not where:
        return
    if is_set_from_outside(volume, taken.name) or (taken.call and drops_what_it_does_not_take(provider, release, taken.name)):
        return
    imported = not taken.call and ":" in taken.name
    gone = missing(volume, taken.name, imported=imported)
    bad, call = gone, ""
    alone: tuple[str, ...] = ()
    if not holds(gone, where):
        if not taken.call:
            yield from _of_outer(taken, volume, where, stack, opened)
            return
        bad = refused(volume, taken.name, taken.call) if refuses_at(volume, taken.name, taken.call, where) else 0
        call = taken.call
        if not holds(bad, where):
            bad, alone = _one_by_one(volume, taken, where)
        if not holds(bad, where):
            if len(where) == 1:
                yield from _of_base(taken, volume, where, stack, opened)
                yield from _of_outer(taken, volume, where, stack, opened)
            return
        # A release without the class takes the call as little: it is neither a way out nor what took it before.
        bad |= gone | _without_its_class(volume, taken.name, where)
    moduleless = not call and not holds(volume.has_module(taken.name.partition(":")[0]), where)
    if moduleless and may_bring(taken.name, stack):
        return
    refused_ones = alone or refused_keywords(volume, taken.name, call, where[-1])
    together = () if refused_ones else _refused_together(volume, taken.name, call, where[-1])
    keywords = refused_ones or together or (read_call(call).keywords if call else ())
    body = bool(call) and by_body(volume, taken.name, call, where[-1])
    yield Fault(
        bound, provider, release, taken.name, call, taken.line, bad, where[-1], keywords,
        moduleless=moduleless, named=bool(refused_ones or together), by_body=body,
    )  # fmt: skip


def _without_its_class(volume: Volume, name: str, where: tuple[int, ...]) -> int:
    """The releases that lack what a method is called of, where these have it."""
    module, first, rest = split(volume, name)
    lacking = missing(volume, f"{module}:{first}", imported=True) if first and rest else 0
    return 0 if holds(lacking, where) else lacking


def _lacking_others(fault: Fault, names: Iterable[str], stack: Stack) -> int:
    """The releases that lack something else that the file imports, and that the stated one has: they are no way out."""
    volume, lacking = fault.bound.volume, 0
    for name in names:
        if provider_of(name, stack) == fault.provider:
            mask = missing(volume, name, imported=True)
            lacking |= 0 if mask >> fault.place & 1 else mask
    return lacking


def _one_by_one(volume: Volume, taken: Taken, where: tuple[int, ...]) -> tuple[int, tuple[str, ...]]:
    """The keywords of a call that others took and these releases refuse, and who refuses them: no release may have taken all of a call.

    What no release took is none of them, and no other release cures it.
    """
    bad, keywords = 0, []
    for keyword in refused_keywords(volume, taken.name, taken.call, where[-1]):
        one = refused(volume, taken.name, f"0,{keyword}=,*")
        if holds(one, where):
            bad |= one
            keywords.append(keyword)
    return bad, tuple(keywords)


def _of_base(taken: Taken, volume: Volume, where: tuple[int, ...], stack: Stack, opened: Open) -> Iterator[Fault]:
    """A dataclass that derives from one of another package takes the fields of both: ``SFTConfig`` those of ``TrainingArguments``.

    What it had of its own in other releases is no matter of its base: no release of that one takes it.
    """
    module, first, rest = split(volume, taken.name)
    found = volume.follow(module, first, where[-1]) if first and not rest else None
    known = None if found is None else open_dataclass(volume, found[0], found[1], where[-1])
    if known is None or len(known[1]) != 1:
        return
    given = read_call(taken.call)
    passed = [one for one in given.keywords if one not in known[0]]
    went = [one for one in passed if _went(volume, module, first, one, where[-1])]
    others = [one for one in passed if one not in went]
    of_base = replace(taken, name=known[1][0], call=",".join(["0", *(f"{one}=" for one in others), "*"]))
    told = [*_faults(of_base, stack, opened)] if others else []
    yield from told
    # Of a call that is refused anyhow what no release took is told too: whoever takes one argument out meets the next one.
    never = [one for one in others if told or went if not fields_of(volume, module, first, one)[0]]
    yield from _fields_that_went(taken, of_base, went, never, volume, where[-1], stack, opened)


def _of_outer(taken: Taken, volume: Volume, where: tuple[int, ...], stack: Stack, opened: Open) -> Iterator[Fault]:
    """A member that a class has of its base in another package, and that is not there any more: ``SFTTrainer.prediction_loop``."""
    module, first, rest = split(volume, taken.name)
    found = volume.follow(module, first, where[-1]) if len(rest) == len(where) == 1 else None
    outer = None if found is None else bases_outside(volume, *found, where[-1])
    if outer is None or is_member_of(outer[0], rest[0], where[-1]):
        return
    bases = outer[1] - MODULES_OF_TORCH
    if len(bases) == 1 and (bases == outer[1] or rest[0] not in members_of_modules()):
        yield from _faults(replace(taken, name=f"{next(iter(bases))}.{rest[0]}"), stack, opened)


def _went(volume: Volume, module: str, name: str, field: str, place: int) -> bool:
    """Whether a class had a field of its own in other releases, and has it no more."""
    there, gone = fields_of(volume, module, name, field)
    return bool(there) and bool(gone >> place & 1)


def _fields_that_went(
    taken: Taken, of_base: Taken, went: list[str], never: list[str], volume: Volume, place: int, stack: Stack, opened: Open
) -> Iterator[Fault]:
    """The fields that the class had of its own in other releases, and that its base does not take: ``SFTConfig(max_seq_length=)``; behind
    them those that neither of them ever had."""
    provider, own = provider_of(of_base.name, stack), provider_of(taken.name, stack)
    base, bound = (None if one is None else opened(one) for one in (provider, own))
    where = () if provider is None or base is None else standing(base.volume, stack.releases[provider])
    if base is None or own is None or bound is None or not where:
        return
    module, first, _ = split(volume, taken.name)
    refused_ones = [one for one in (*went, *never) if refuses_at(base.volume, of_base.name, f"0,{one}=,*", where)]
    keywords: dict[int, list[str]] = {}
    for keyword in (one for one in refused_ones if one in went):
        keywords.setdefault(fields_of(volume, module, first, keyword)[1], []).append(keyword)
    for bad, ones in keywords.items():
        yield Fault(bound, own, stack.releases[own], taken.name, taken.call, taken.line, bad, place, tuple(ones), named=True)
    others = tuple(one for one in refused_ones if one in never and _never_had(base.volume, of_base.name, one))
    if others:
        yield Fault(bound, own, stack.releases[own], taken.name, taken.call, taken.line, volume.all, place, others, named=True)


def _never_had(volume: Volume, name: str, keyword: str) -> bool:
    """Whether no release took a keyword, for certain."""
    return symbol_of(volume, f"{name}({keyword})").gone == volume.all


def refused_keywords(volume: Volume, name: str, call: str, place: int) -> tuple[str, ...]:
    """The keywords of a call that a release does not take."""
    module, first, rest = split(volume, name)
    signature = read(signature_at(volume, module, first, rest[:1], place)) if call else None
    if signature is None:
        return ()
    given = read_call(call)
    taken = given_to(volume, signature, given, place)
    left = handed_on(volume, signature, taken, place)
    pairs = zip(given.keywords, taken.keywords, strict=True)
    return tuple(one for one, name in pairs if not signature.takes(name) or name in left)


def _refused_together(volume: Volume, name: str, call: str, place: int) -> tuple[str, ...]:
    """The parameters of a call that the body of the function refuses."""
    module, first, rest = split(volume, name)
    signature = read(signature_at(volume, module, first, rest[:1], place)) if call else None
    return () if signature is None else refused_together(signature, read_call(call))


def replacement(fault: Fault) -> str:
    """What to write instead, in words; empty where that is not known."""
    bound, volume = fault.bound, fault.bound.volume
    if fault.call:
        for keyword in fault.keywords:
            new = None if fault.by_body else _new_keyword(volume, fault, keyword)
            if new is not None:
                return f"write {new}= for {keyword}="
        return ""
    module, first, rest = split(volume, fault.name)
    if volume.name == "transformers" and len(rest) == 1 and "Tokenizer" in first:
        return INSTEAD.get(rest[0], "")
    if not first or rest or not _is_one(fault, module, first):
        return ""
    found = [one for one in new_places(bound, first, fault.place) if one != module]
    public = [one for one in found if not _is_private(one)]
    # The module that defines it, or a package above that: what another module imports for itself it may drop with any release. What is
    # defined where nobody is to look is handed on by those that are there for it.
    homes = {one: volume.follow(one, first, fault.place) for one in public}
    handing = [one for one, home in homes.items() if home is not None and (f"{home[0]}.".startswith(f"{one}.") or _is_private(home[0]))]
    return f"from {handing[0]} import {first}" if handing else ""


def _is_private(module: str) -> bool:
    """Whether a module is below one with an underscore, or in ``keras.src``, whose parts keras gives out elsewhere."""
    return any(part.startswith("_") for part in module.split(".")) or module.startswith("keras.src")


def _new_keyword(volume: Volume, fault: Fault, keyword: str) -> str | None:
    told = known_rename(volume, fault.name, keyword, fault.place)
    return new_keyword(volume, fault.name, keyword, fault.place) if told is None else told


def _is_one(fault: Fault, module: str, name: str) -> bool:
    """Whether one thing alone went by a name while it was there: of several, what another module has now is none of them."""
    volume = fault.bound.volume
    good = [place for place in range(fault.place) if not fault.bad >> place & 1 and volume.provides(module, name).there >> place & 1]
    return bool(good) and len(definitions(fault.bound, name, good[-1])) == 1


def _asked_of_package(name: str, stack: Stack) -> tuple[str, str] | None:
    """The import that ``transformers.pipeline`` comes to: a package that gives its names on request loads their modules then."""
    top, _, rest = name.partition(".")
    provider = provider_of(top, stack) if rest and ":" not in name else None
    bound = None if provider is None else open_package(provider)
    chunk = None if bound is None else bound.volume.chunk(top)
    first = rest.partition(".")[0]
    return None if provider is None or chunk is None or first not in chunk.lazy else (provider, f"{top}:{first}")


def calls_of(outline: Outline, stack: Stack, *, wrapped: bool = False) -> tuple[tuple[str, int], ...]:
    """What a file calls of the stack's packages, with its line; nothing of trl where something puts classes of its own in their place."""
    wrapped = wrapped or any(one.name.partition(":")[0].partition(".")[0] in WRAPPERS for one in outline.taken)
    found = (one for one in outline.taken if one.call and not _saved(one.guard, stack))
    return tuple((one.name, one.line) for one in found if not (wrapped and one.name.startswith(("trl:", "trl."))))


def imports_of(outline: Outline, stack: Stack) -> tuple[tuple[str, str], ...]:
    """What a file imports of the stack's packages when it is loaded or run: package and ``module:name``."""
    found: dict[tuple[str, str], None] = {}
    for taken in outline.taken:
        if _saved(taken.guard, stack):
            continue
        if (asked := _asked_of_package(taken.name, stack)) is not None:
            found[asked] = None
        if not taken.call and (":" in taken.name or not taken.where):
            provider = provider_of(taken.name, stack)
            module, colon, name = taken.name.partition(":")
            if provider is not None and "." not in name:
                found[provider, taken.name if colon else module] = None
    return tuple(found)
