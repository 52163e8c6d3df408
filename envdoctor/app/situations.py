"""From a request to its situations: which sources are asked, and which are not.

Targets given together describe one situation. Where one offers a choice (an extra, a stage, a fork of a lock), each choice is a
situation of its own beside the first; with ``each`` every file is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.app.brought import say_what_is_brought, say_what_is_required
from envdoctor.app.gathered import Gathered
from envdoctor.app.loads import say_what_is_not_loaded, tell_that_no_template_is_rendered, tell_that_nothing_trains
from envdoctor.app.one_python import read_for_one_python
from envdoctor.app.other_choices import set_aside_pins
from envdoctor.app.request import Request
from envdoctor.app.stack import Stack, find_interpreter, read_stack
from envdoctor.app.targets import (
    DECLARING,
    declares,
    find_model_of,
    group_targets,
    list_choices,
    read_targets,
    resolve_targets,
    say_emptiness,
)
from envdoctor.app.wrappers import say_what_is_wrapped
from envdoctor.engine.defaults import derive
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, Facts, Origin, Skip
from envdoctor.facts.uses import CODE_USES
from envdoctor.facts.versions import ABSENT, Exact
from envdoctor.facts.vocabulary import WHOLE
from envdoctor.records import replace
from envdoctor.rules.calls import keep_awaited, list_awaited
from envdoctor.sources.situation import merge, model_path, states_packages
from envdoctor.sources.stated.statements import collect_facts_file, collect_facts_text, collect_settings

if TYPE_CHECKING:
    from envdoctor.sources.targets import Target
    from envdoctor.world.installation import Installation

# Of more targets than these the rest is counted in the report's first line.
_MOST_NAMED = 20
_OF_MARKERS = ("python", "os", "machine")


def gather(request: Request, log: Collected | None = None) -> Gathered:
    """The one situation of a request, without the choices that its targets offer; ``log`` is what a diagnosed log states.

    Stated packages replace the installed stack entirely: then nothing is read from this machine. Packages that
    a target states do so too, unless the environment is named.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    return next(_situations(request, log))


def gather_all(request: Request) -> tuple[Gathered, ...]:
    """Every situation of a request: the choices that targets offer, and with ``each`` every file by itself.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    return tuple(_situations(request, None, choices=True))


def _situations(request: Request, log: Collected | None, *, choices: bool = False) -> Iterator[Gathered]:
    stated, place = _stated(request, log)
    if request.root is not None and states_packages(stated):
        raise EnvdoctorError(
            f"--root {request.root}", found=f"packages stated in {request.facts} as well", expected="one of both", next_step="leave one out"
        )
    asked = request.python is not None or request.root is not None
    named = None if not asked or states_packages(stated) else read_stack(request, log, optional=False)
    machine = () if request.machine is None else ((request.machine_from, request.machine),)
    by_hand = (("facts file", stated), *machine, ("--set", collect_settings(request.settings)))
    if request.against:
        from envdoctor.app.upgrade import collect_against

        by_hand = (*by_hand, ("--set", collect_against(request.against)))
    installation = _installation(named, by_hand)
    each = choices and request.each
    texts = list(dict.fromkeys(request.targets))
    targets = read_targets(texts, installation, tolerant=choices, each=each, beside=bool(stated.facts))
    targets = targets if each else read_for_one_python(targets, installation)
    model = model_path(stated, place) or (None if each else find_model_of(targets))
    if model is not None:
        targets += read_targets([str(model)], installation, tolerant=False, each=False)
    if request.resolve:
        with request.watch.waiting("asking uv what an installer would take"):
            targets = resolve_targets(targets, installation, request.as_of, apart=each)
    here: Stack | None = None
    for group in group_targets(targets) if each else (tuple(targets),):
        for label, chosen in list_choices(group) if choices else (("", group),):
            by_target = any(map(declares, chosen)) or (log is not None and states_packages(log))
            elsewhere = log is not None and request.facts is not None
            if states_packages(stated):
                stack = Stack(f"packages stated in {request.facts}", None, find_interpreter(request.python))
            elif named is not None:
                stack = named
            elif by_target:
                stack = Stack(_name_declared(chosen, log))
            elif elsewhere:
                stack = Stack(_name_declared((), log))
            else:
                # Asked for once: where many plans are checked, each is about the same environment.
                optional = bool(targets) or bool(request.settings) or log is not None
                by_words = (fact for rank, found in by_hand if rank == "--set" for fact in found.facts)
                here = here or read_stack(request, log, optional=optional, stated=(*stated.facts, *by_words))
                stack = replace(here, label=_name_declared((), log)) if here.installed is None and log is not None else here
            chosen = set_aside_pins(chosen, group, _list_stack(stack, stated))
            lenient = each or log is not None
            found = _gather(request, stack, chosen, (("log", log or Collected()), *by_hand), label, installation, lenient=lenient, log=log)
            yield replace(found, installation=installation)


def _list_stack(stack: Stack, stated: Collected) -> list[Collected]:
    """What says which packages are there, whatever files declare: an environment, which is complete, or facts by hand."""
    whole = [replace(found, closed=True) for _, found in stack.parts] if stack.installed is not None else []
    return [*whole, stated]


def _say_present(stack: Stack, stated: Sequence[tuple[str, Collected]]) -> list[tuple[str, Collected]]:
    """What is there already: an environment, or a listing of a whole one."""
    whole = [found for _, found in stack.parts] if stack.installed is not None else [found for _, found in stated if found.closed]
    rows = (fact for found in whole for fact in found.facts if fact.name.startswith("packages.") and fact.value != ABSENT)
    names = {fact.name.removeprefix("packages."): fact.origin.source for fact in rows}
    if not names:
        return []
    return [("installed", Collected((Fact("present", tuple(sorted(names)), Origin(min(names.values()))),)))]


def _gather(
    request: Request,
    stack: Stack,
    targets: Sequence[Target],
    stated: Sequence[tuple[str, Collected]],
    label: str,
    installation: Installation | None,
    *,
    lenient: bool,
    log: Collected | None,
) -> Gathered:
    parts: list[tuple[str, Collected]] = [(target.kind, say_emptiness(target)) for target in targets]
    parts += [*stack.parts, *stated, *_say_present(stack, stated)]
    closed = stack.installed is not None or any(found.closed for _, found in stated) or is_locked(targets, stated)
    known = any(target.recognised or target.kind in DECLARING for target in targets)
    # A machine is described, and nothing is known of what is installed there: the plan may still not suit it.
    described = bool(targets) and any(found.facts for _, found in stated)
    # A plan that somebody states may not suit itself, or the GPU stated beside it.
    described = described or any(fact.name.startswith("plan.") for _, found in stated for fact in found.facts)
    situation = merge(parts, closed=closed, may_be_empty=lenient or known or described)
    if log is None and stack.installed is None:
        situation = replace(situation, facts=say_what_is_required(situation.facts, targets, installation))
    situation = replace(situation, facts=say_what_is_brought(situation.facts, targets))
    if log is None:
        situation = replace(situation, facts=say_what_is_not_loaded(situation.facts, targets))
    untold = (tell_that_nothing_trains(situation.facts), tell_that_no_template_is_rendered(situation.facts, targets)) if log is None else ()
    if CODE_USES in situation.facts:
        situation = replace(situation, facts=say_what_is_wrapped(situation.facts, targets))
        situation = replace(situation, facts=keep_awaited(situation.facts, list_awaited(request.rule_directories)))
    if log is None and WHOLE not in situation.facts and _is_told_whole(situation.facts, targets):
        told = Fact(WHOLE, True, Origin("default of a plan"))
        situation = replace(situation, facts=situation.facts.with_facts([told]))
    situation = replace(situation, facts=situation.facts.with_facts(fact for fact in untold if fact is not None))
    others = list(dict.fromkeys(target.folder or target.text for target in targets if not declares(target)))
    if len(others) > _MOST_NAMED:
        others[_MOST_NAMED:] = [f"and {len(others) - _MOST_NAMED} more"]
    return Gathered(
        patient=", ".join([stack.label, *others]),
        interpreter=stack.interpreter,
        situation=situation,
        derived=derive(situation.facts),
        installed=None if request.against else stack.installed,  # what is installed declares what it does, not what would stand there
        has_plan=any(name.startswith("plan.") for name in situation.facts),
        trust=request.trust_remote_code,
        snapshots=tuple(target.snapshot for target in targets if target.snapshot is not None),
        adapters=tuple(target.adapter for target in targets if target.adapter is not None),
        label=label,
        targets=tuple(targets),
    )


def is_locked(targets: Sequence[Target], stated: Sequence[tuple[str, Collected]]) -> bool:
    """Whether a lock among the targets lists all that there is: a package stated beside it that it lacks was installed some other way."""
    locked = {fact.name for target in targets if target.collected.closed for fact in target.collected.facts}
    beside = (fact for _, found in stated for fact in found.facts if fact.name.startswith("packages.") and fact.value != ABSENT)
    return any(target.collected.closed for target in targets) and all(fact.name in locked for fact in beside)


def _is_told_whole(facts: Facts, targets: Sequence[Target]) -> bool:
    """Whether all of a plan was read: its reader says what runs it, or it is nothing but what was stated by hand."""
    if "plan.trainer" in facts:
        return True
    read = any(fact.name.startswith("plan.") for target in targets for fact in target.collected.facts)
    return not read and any(name.startswith("plan.") for name in facts)


def _name_declared(targets: Sequence[Target], log: Collected | None) -> str:
    """What the report calls a stack that nobody installed here."""
    declaring = [target.text for target in targets if declares(target)]
    if declaring:
        return f"packages of {', '.join(declaring)}"
    return "the environment that the log states" if log is not None and states_packages(log) else "an environment that is not known"


def _stated(request: Request, log: Collected | None) -> tuple[Collected, Path | None]:
    if request.facts is None:
        return Collected(), None
    if request.facts == "-":
        found, place, beside = collect_facts_text(request.read_stdin(), "<stdin>"), "--facts -", None
    else:
        path = Path(request.facts)
        found, place, beside = collect_facts_file(path), request.facts, path.parent
    if not found.facts and log is not None and request.facts != "-":
        # A log speaks for itself; the file says that it is not this machine's.
        return replace(found, skips=(*found.skips, Skip(request.facts, "states nothing"))), beside
    if not found.facts:
        # Whoever states the stack means no other: that of this machine must not be judged in its place.
        raise EnvdoctorError(
            place,
            found="no fact",
            expected="facts, or what pip freeze prints",
            next_step="check what was written there; leave --facts out to read this machine",
        )
    return found, beside


def _installation(stack: Stack | None, stated: Sequence[tuple[str, Collected]]) -> Installation | None:
    """What markers are evaluated for, where anybody says so; a reader that has no markers needs none."""
    parts = [*(stack.parts if stack else ()), *stated]
    about = [(rank, replace(found, facts=tuple(f for f in found.facts if f.name in _OF_MARKERS), skips=())) for rank, found in parts]
    said = merge(about, closed=False, may_be_empty=True).facts
    if not said:
        return None
    from envdoctor.world.installation import Installation

    python = said.value("python")
    installation = Installation().on(said.text("os"), said.text("machine"))
    return installation.with_python(python.text) if isinstance(python, Exact) else installation
