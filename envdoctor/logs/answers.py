"""What releases contain, asked of an error's statement: the one place where the atlas is joined.

Without an atlas there is no answer, and the finding says what the error says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.answers import owner_of
from envdoctor.atlas.masks import write
from envdoctor.atlas.missing import split
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import holds, neighbours, places
from envdoctor.atlas.volume import DamagedAtlasError, Volume
from envdoctor.atlas.words import good_specifiers, since
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.asked import ARGUMENT, ATTRIBUTE, MODULE, NAME, Asked, has_it_always, symbol_of
from envdoctor.logs.callables_named import OF_PYTHON, classes_called, classes_of, functions_called
from envdoctor.logs.callers import Caller, caller_of, takers
from envdoctor.logs.calls_refused import fit_call, judge_never_taken
from envdoctor.logs.composite_configs import judge_composite
from envdoctor.logs.coupled import held_by, with_all_of_callers, with_all_that_is_taken, within_required
from envdoctor.logs.early_states import judge_early
from envdoctor.logs.error_classes import with_releases_of_class
from envdoctor.logs.everyday_names import is_of_a_snapshot
from envdoctor.logs.fitting import Fitting
from envdoctor.logs.forward_calls import judge_forward
from envdoctor.logs.good_releases import absent_everywhere, before_it_came, certain, likely_place, older_or_between, on_both_sides
from envdoctor.logs.guessed_owners import derived_from, makers_of, makers_stated, members_given, methods_of, modules_of, named_after
from envdoctor.logs.hollow_packages import judge_without_cuda
from envdoctor.logs.lacking_settings import judge_lacking
from envdoctor.logs.loaded_objects import judge_loaded, judge_older_module, judge_set_later
from envdoctor.logs.members import judge_member, judge_passed
from envdoctor.logs.not_found import judge_mixed, other_owner, tell_another
from envdoctor.logs.old_arguments import judge_old_name, of_loaded_class
from envdoctor.logs.older_releases import judge_before, judge_older
from envdoctor.logs.other_classes import judge_own_reader, judge_sibling
from envdoctor.logs.overridden_methods import called_from_outside, judge_override
from envdoctor.logs.owners_anywhere import classes_anywhere, left_by_stated, methods_anywhere, takers_of
from envdoctor.logs.plain_objects import judge_output
from envdoctor.logs.renames import change_of_code, instead, respelled
from envdoctor.logs.sayings import home_of, judge_saying, name_author, tell_sayings
from envdoctor.logs.statements import (
    MissingArguments,
    MissingAttribute,
    MissingMember,
    MissingModule,
    MissingName,
    RefusedKeyword,
    Statement,
    TooManyArguments,
)
from envdoctor.logs.syntax_nodes import judge_node
from envdoctor.logs.tested_pins import of_torch
from envdoctor.logs.through_subclasses import asked_through
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.who_is_shown import callers_meant, order_pins, stays_with
from envdoctor.records import replace
from envdoctor.world.import_names import package_of

TWINS = ("pytorch-lightning", "lightning")
# Two that are released for each other: neither moves alone. https://github.com/unslothai/unsloth/issues/2003
_MOVES_WITH = {"unsloth-zoo": "unsloth", "pydantic-core": "pydantic"}
# Whose names every script uses by itself: np.bool.
_EVERYBODYS = frozenset(("numpy", "torch", "pandas"))


def answer(statement: Statement, failure: Failure, facts: Facts) -> Hit | None:
    """The finding of what a statement comes to by the contents of releases; None where they do not tell."""
    try:
        if isinstance(statement, MissingMember):
            known = judge_node(statement, failure) or judge_set_later(statement, facts) or judge_older_module(statement)
            known = known or judge_output(statement, failure)
            if known is not None:
                return known
        if isinstance(statement, MissingAttribute) and (built := judge_without_cuda(statement, failure, facts)) is not None:
            return built
        if isinstance(statement, RefusedKeyword):
            if (old := judge_old_name(statement)) is not None:
                return old
            statement = of_loaded_class(statement, failure)
        asked = _asked(statement, failure, facts)
        if asked is None and isinstance(statement, (RefusedKeyword, MissingArguments, TooManyArguments)):
            fitting = fit_call(statement, failure, facts)
            asked = None if fitting is None else _of_fitting(fitting)
        if asked is None and isinstance(statement, RefusedKeyword) and (never := judge_never_taken(statement, failure, facts)) is not None:
            return never
        if asked is None and isinstance(statement, (RefusedKeyword, MissingArguments)):
            other = judge_forward(statement, failure) or judge_override(statement, failure)
            if other is not None:
                return other
        if asked is None:
            return judge_older(statement, failure, facts)
        if isinstance(statement, MissingMember) and (loaded := judge_loaded(asked, failure, facts)) is not None:
            return loaded
        if isinstance(statement, MissingMember) and has_it_always(asked):
            return None
        return _with_class(_hit(asked, failure, facts), statement, failure)
    except DamagedAtlasError:
        return None


def _with_class(hit: Hit | None, statement: Statement, failure: Failure) -> Hit | None:
    """The finding, also of the one package that has the class, where that is made of another package's."""
    if hit is None or not isinstance(statement, MissingMember):
        return hit
    owners = (owner_of(one) for one in classes_called(statement.cls, failure))
    named = dict.fromkeys(bound.volume.name for bound in owners if bound is not None)
    return replace(hit, packages=tuple(dict.fromkeys((*named, *hit.packages)))) if len(named) == 1 else hit


def answer_member(statement: MissingMember, failure: Failure, facts: Facts) -> Hit | None:
    """The finding of an attribute that no release gives to its class."""
    try:
        known = judge_composite(statement, failure, facts) or judge_lacking(statement, failure)
        return known or judge_member(statement, failure, facts) or judge_passed(statement, failure, facts)
    except DamagedAtlasError:
        return None


def tell_message(failure: Failure, facts: Facts) -> Iterator[str]:
    """Since which release an error of these words can be raised, and under which condition; nothing where the atlas has no such message."""
    try:
        yield from tell_sayings(failure, facts)
    except DamagedAtlasError:
        return


def say(failure: Failure, facts: Facts) -> Hit | None:
    """The finding that a package says an error; None where the atlas cannot tell that for certain."""
    try:
        return judge_saying(failure, facts)
    except DamagedAtlasError:
        return None


def with_author(hit: Hit, failure: Failure, facts: Facts) -> Hit:
    """A finding about an error with the package that says it; as it was where the atlas cannot tell that."""
    try:
        hit = name_author(hit, failure, facts)
        home = home_of(failure)
        hit = hit if hit.packages or not home else replace(hit, packages=(home,))
        return with_releases_of_class(hit, failure, home)
    except DamagedAtlasError:
        return hit


def _asked(statement: Statement, failure: Failure, facts: Facts) -> Asked | None:
    if isinstance(statement, MissingName) and statement.module and not statement.circular:
        return symbol_of(f"{statement.module}:{statement.name}", NAME)
    if isinstance(statement, MissingName) and not statement.module:
        return _only(symbol_of(f"{one}:{statement.name}", NAME) for one in modules_of(statement, failure))
    if isinstance(statement, MissingModule) and not statement.shadowed and _left(statement.name):
        return symbol_of(statement.name, MODULE)
    if isinstance(statement, MissingModule) and "." in statement.name and statement.shadowed != statement.name.partition(".")[0]:
        return symbol_of(statement.name, MODULE)
    if isinstance(statement, MissingAttribute) and not statement.circular:
        return symbol_of(f"{statement.module}:{statement.name}", ATTRIBUTE)
    if isinstance(statement, MissingMember) and statement.cls not in OF_PYTHON:
        classes = _classes_meant(statement, failure, facts)
        return _first_only((symbol_of(f"{one}.{statement.name}", ATTRIBUTE) for one in found) for found in classes)
    if isinstance(statement, RefusedKeyword):
        functions = (called_from_outside(found, statement, failure) for found in _functions_meant(statement, failure, facts))
        through = _only(asked_through(statement, failure))
        return through or _first_only((symbol_of(f"{one}({statement.keyword})", ARGUMENT) for one in found) for found in functions)
    return None


def _classes_meant(statement: MissingMember, failure: Failure, facts: Facts) -> Iterator[Iterable[str]]:
    """The classes that may be meant, one way to guess them after the other: the last one looks into all packages."""
    if is_of_a_snapshot(statement.cls, map(package_of, failure.packages)):
        return
    for passed in (False, True):
        yield _nearest_owner(classes_called(statement.cls, failure, passed=passed), failure)
    yield named_after(statement, failure)
    yield derived_from(statement, failure)
    yield members_given(statement, failure)
    yield classes_anywhere(statement.cls, failure, facts)


def _functions_meant(statement: RefusedKeyword, failure: Failure, facts: Facts) -> Iterator[Iterable[str]]:
    """The functions that may be meant, as above."""
    owner = statement.function.replace(".<locals>", "").rpartition(".")[0].rpartition(".")[2]
    if is_of_a_snapshot(owner, map(package_of, failure.packages)):
        return
    for passed in (False, True):
        yield functions_called(statement.function, failure, passed=passed)
    yield makers_of(statement, failure)
    yield makers_stated(statement, failure, facts)
    yield methods_of(statement, failure)
    yield takers_of(statement, failure, facts)
    yield left_by_stated(statement, facts)
    yield methods_anywhere(statement.function, failure, facts)


def _left(module: str) -> bool:
    """Whether a package gave up a module at its top: whether it is not installed, or too new for it, the same release helps."""
    bound = owner_of(module) if "." not in module else None
    told = None if bound is None else look_up(module)
    return bound is not None and told is not None and bool(told.there) and told.gone >> (len(bound.volume.releases) - 1) & 1 == 1


def _nearest_owner(symbols: Iterable[str], failure: Failure) -> list[str]:
    """The classes of a name; where nothing says of which package, those of the one that most people use."""
    found = list(symbols)
    owners = [bound.volume.name if (bound := owner_of(one)) is not None else "" for one in found]
    return found if failure.packages else [one for one, owner in zip(found, owners, strict=True) if owner == owners[0]]


def _of_fitting(one: Fitting) -> Asked:
    return Asked(
        one.symbol.replace(":", "."), ARGUMENT, one.bound, one.there | one.maybe, one.gone, one.told, maybe=one.maybe, advice=one.advice
    )


def _first_only(tries: Iterable[Iterable[Asked | None]]) -> Asked | None:
    return next((one for found in tries if (one := _only(found)) is not None), None)


def _only(found: Iterable[Asked | None]) -> Asked | None:
    """The one thing that a name stands for: of two that differ nobody can tell which was meant."""
    known = [one for one in found if one is not None]
    names = {one.bound.volume.name for one in known}
    if names == set(TWINS):
        # One project under two names: what is told of one holds of the other.
        known = [one for one in known if one.bound.volume.name == TWINS[0]]
    alike = {(one.there, one.gone, one.bound.volume.name) for one in known}
    if len(alike) > 1 and len(names) == 1:
        # One name in several modules of a package, which moved it: it is gone where none of them has it.
        there = gone = 0
        for one in known:
            there, gone = there | one.there, gone | one.gone
        return replace(known[-1], there=there, gone=gone & ~there) if gone & ~there else None
    return known[0] if len(alike) == 1 else None


def _hit(asked: Asked, failure: Failure, facts: Facts) -> Hit | None:
    volume = asked.bound.volume
    stated = facts.value(f"packages.{volume.name}")
    release, between = stated.text if isinstance(stated, Exact) else "", ""
    where = places(volume, release) if release else ()
    if holds(asked.maybe, where):
        return None
    if holds(asked.there, where):
        return _of_namesake(asked, failure, facts, where[-1]) or _another_ran(asked, failure, release, where[-1])
    if holds(asked.gone, where):
        place = where[-1]
        when = since(volume, asked.gone, place, asked.there)
    elif release and (early := judge_early(asked.symbol, asked.family, volume, release, asked.there, failure)) is not None:
        return early
    elif release:
        # The error itself says that this release, which was not read, is like the neighbour that lacks it.
        like = [one for one in neighbours(volume, release) if asked.gone >> one & 1] or before_it_came(asked, where)
        if not like and not _is_made_by_none(asked, where):
            return judge_before(asked.symbol, asked.family, volume, failure, facts) if asked.there & 1 else None
        # Or that its class, whose base gives names as it runs, does not give this one.
        place = like[-1] if like else where[-1]
        between = release if like else ""
        when = f"{'it fits' if asked.told else 'there'} in {write(asked.there, volume.releases)}"
    elif (other := judge_sibling(asked, failure, facts) or judge_own_reader(asked, failure)) is not None:
        return other
    else:
        place = likely_place(asked)
        when = f"{'it fits' if asked.told else 'there'} in {write(asked.there, volume.releases)}"
    if asked.family in (NAME, MODULE) and (mixed := judge_mixed(asked.symbol, asked.family, volume.name, release, failure)) is not None:
        return mixed
    caller = caller_of(failure, volume.name)
    taking, pins = takers(asked.symbol, caller, volume, asked.gone, place, facts)
    if asked.unsure:
        when = f"for certain there in {write(asked.there, volume.releases)}; the others make names as they run"
    if asked.maybe:
        when = f"gone in {write(asked.gone, volume.releases)}; the releases before make such names as they run"
        if asked.told:
            when = f"so in {write(asked.gone, volume.releases)}; what the releases before take is not shown by their source"
    if not asked.there:
        when = absent_everywhere(asked)
    likely = callers_meant(asked, failure, facts, everybodys=volume.name in _EVERYBODYS)
    suits = asked.there & with_all_that_is_taken(asked.symbol.partition("(")[0], caller, volume, facts)
    suits = suits or asked.there & with_all_of_callers([(one.package, one.asking) for one in likely], volume)
    good = _good(replace(asked, there=suits) if suits else asked, volume, place, unread=bool(between))
    good = within_required(volume.name, good, facts)
    held = held_by(volume.name, good, facts)
    if (held and release) or (volume.name == "triton" and not release):
        good = []  # one of two that are released for each other moves alone nowhere
    came = bool(good) and bool(asked.there >> (len(volume.releases) - 1) & 1) and not asked.told
    among = bool(likely) and likely[0].among
    pins = order_pins(tuple((volume.name, one) for one in good), pins, likely, came=came, stated=bool(release))
    if likely:
        who = " and ".join(one.words() for one in likely) + (", among others," if among else "")
        taking += f"; of what was read, {who} {'asks' if len(likely) == 1 else 'ask'} for it"
    beyond = bool(between) and not place  # of before the first release that was read: nobody knows where it was then
    there = "" if asked.told or asked.maybe or asked.unsure or beyond else instead(asked, place)
    detail = _told(asked, caller, facts, release, when) + taking + there
    moves_with = _MOVES_WITH.get(volume.name, "") if not release else ""
    if moves_with and facts.value(f"packages.{moves_with}") is None:
        pins, good = (), []
    meant = other_owner(asked.symbol) if not asked.there and asked.family == NAME and not beyond else ""
    if meant:
        pins = ()
        detail = f"{_told(asked, caller, facts, release, when)}; {meant.partition(':')[0].partition('.')[0]} has one"
    twin = TWINS[1] if volume.name == TWINS[0] and not release else ""
    if held:
        moves = f"{volume.name} stays, or both move" if release else "it moves with it"
        detail += f"; {' and '.join(f'{name} {asks}' for name, asks in held)}, so that {moves}"
    also = (*(name for name, _ in held), *(one.package for one in likely))
    packages = tuple(dict.fromkeys(name for name in (volume.name, caller.package, twin, *also) if name))
    because = tuple((f"packages.{name}", when if name == volume.name else "asks for it") for name in packages)
    edge = f"{caller.package or 'code'}:{asked.symbol}"
    everybodys = volume.name in _EVERYBODYS
    advice, by_hand = ("", "") if beyond else change_of_code(asked, place, caller.package, caller.where, everybodys=everybodys)
    if among and not by_hand:
        by_hand = stays_with(volume.name, likely)
    if volume.name == "triton" and not release and (bound := of_torch("triton", facts)) is not None:
        by_hand = by_hand or bound[1]
    if moves_with and not pins:
        advice = f"pip install --upgrade {moves_with} {volume.name}: the two are released for each other"
    if held and release and not pins and not advice:
        advice = f"a release of {caller.package or 'what asks for it'} that is for {volume.name} {release}, which {held[0][0]} requires"
    if not asked.there and advice and advice == respelled(asked.symbol):
        pins = ()  # it is misspelt, and no older release has it either
    if meant:
        advice, by_hand = f"from {meant.replace(':', ' import ')}", ""
    return Hit(asked.family, True, because, detail=detail, packages=packages, pins=pins, edge=edge, advice=advice, by_hand=by_hand)


def _is_made_by_none(asked: Asked, where: tuple[int, ...]) -> bool:
    """Whether a release that was read may give a name as it runs, and by the error does not, where others write it down."""
    return (
        asked.family in (ATTRIBUTE, NAME) and not asked.told and len(where) == 1 and bool(asked.there) and not asked.there >> where[0] & 1
    )


def _good(asked: Asked, volume: Volume, place: int, *, unread: bool) -> list[str]:
    """Specifiers of the releases that cure it; ``unread`` says that the release which ran was not read."""
    if asked.open or (not asked.there and asked.family != NAME):
        # Of a module or an attribute that none of them has nobody knows that an older one had it.
        return []
    if not asked.there:
        return [] if unread and not place else older_or_between(asked)
    if unread or asked.unsure:
        return on_both_sides(asked.there, volume, place)
    return certain(asked.there, volume, place)


def _of_namesake(asked: Asked, failure: Failure, facts: Facts, place: int) -> Hit | None:
    """The same of a class with that name in another stated package, whose release lacks it: the stated release of the one has it, so that
    the object is of the other."""
    volume = asked.bound.volume
    dotted, parenthesis, keyword = asked.symbol.partition("(")
    owner, _, member = (f"{dotted}.", "", "") if parenthesis else dotted.rpartition(".")
    cls = owner.rstrip(".").rpartition(".")[2]
    if asked.family not in (ATTRIBUTE, ARGUMENT) or not cls[:1].isupper():
        return None
    for name in facts:
        other = name.removeprefix("packages.")
        bound = open_package(other) if name.startswith("packages.") and other != volume.name else None
        stated = facts.value(name)
        known = bound.volume if bound is not None else None
        where = places(known, stated.text) or neighbours(known, stated.text) if known is not None and isinstance(stated, Exact) else ()
        for symbol in classes_of(bound, cls) if bound is not None and where else ():
            found = symbol_of(f"{symbol}({keyword}" if parenthesis else f"{symbol}.{member}", asked.family)
            if found is None or known is None or holds(found.there, where):
                continue
            # Where its files do not tell, the error does: this object has none.
            found = replace(found, gone=known.all & ~found.there, maybe=0, unsure=True)
            if (hit := _hit(found, failure, facts)) is not None:
                # Who asks for it is of the package that has it, since the first release that does.
                back = ((volume.name, one) for one in good_specifiers(volume, asked.there, place))
                packages = tuple(dict.fromkeys((*hit.packages, volume.name)))
                return replace(hit, packages=packages, pins=tuple(dict.fromkeys((*hit.pins, *back))))
    return judge_sibling(asked, failure, facts)


def _another_ran(asked: Asked, failure: Failure, release: str, place: int) -> Hit | None:
    """That another release ran than the stated one, which has it; only where the very definition was read."""
    volume = asked.bound.volume
    module, first, _ = split(volume, asked.symbol.partition("(")[0])
    if asked.told or (asked.family != MODULE and (not first or volume.follow(module, first, place) is None)):
        return None
    return tell_another(asked.symbol, asked.family, volume, release, asked.gone, failure)


def _told(asked: Asked, caller: Caller, facts: Facts, release: str, when: str) -> str:
    package = asked.bound.volume.name
    if asked.told:
        return f"{package} {release}: {asked.told}; {when}" if release else f"{asked.told}; {when}"
    what = f"{package} {release}".strip()
    verb = "does not take" if asked.family == ARGUMENT else "has no"
    told = asked.symbol
    if asked.family == ARGUMENT:
        function, _, keyword = asked.symbol.rstrip(")").partition("(")
        return f"{function}() of {what} {verb} {keyword} ({when}); {caller.words(facts, package, 'passes')}"
    return f"{what} {verb} {told} ({when}); {caller.words(facts, package, 'asks for')}"
