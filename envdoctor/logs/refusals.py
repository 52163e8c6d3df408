"""What an installer's refusal comes to: the contradiction in one sentence, with the pins that the text itself proposes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.histories import satisfiable
from envdoctor.facts.versions import exact, version_condition
from envdoctor.logs.installers import Asked, Refusal, Unavailable
from envdoctor.logs.specifiers import admits
from envdoctor.world.releases import release_texts, releases

NO_FILE = "error-no-distribution"
CONTRADICT = "requirements-contradict"
LEFT = "declared-requirement-unmet"
REFUSES_PYTHON = "requirement-refuses-python"
UNSATISFIABLE = "requirement-unsatisfiable"
OF_INSTALLERS = frozenset((NO_FILE, CONTRADICT, LEFT, REFUSES_PYTHON, UNSATISFIABLE))


def _named(*packages: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, packages)))


def judge_refusal(refusal: Refusal, facts: Facts) -> Iterator[Hit]:
    """What an installer's text comes to: requirements that are unmet, what nothing fits, and two statements that contradict each other."""
    for one, have in refusal.left:
        yield _left(one, have)
    for missing in refusal.unavailable:
        hit = _unavailable(missing, refusal, facts)
        if hit is not None:
            yield hit
    contradiction = _contradiction(refusal.asked)
    if contradiction is not None:
        yield contradiction
    elif refusal.asked and not refusal.left and not refusal.unavailable:
        asked = (name for one in refusal.asked for name in (translated(one.name), translated(one.by)) if name not in ("", "python"))
        names = tuple(dict.fromkeys(asked))
        detail = (
            f"{refusal.tool} found no releases that go together for {'; '.join(dict.fromkeys(one.words() for one in refusal.asked[:4]))}"
        )
        yield Hit(CONTRADICT, True, (), detail=detail, packages=names[:4], edge=names[0] if names else "")


def _left(one: Asked, have: str) -> Hit:
    there = f"{one.name} {have} is installed" if have else f"{one.name} is not"
    detail = f"{one.words()}, and {there}"
    pins = ((one.name, one.specifier),) if one.specifier else ()
    return Hit(LEFT, True, (), detail=detail, packages=_named(one.by, one.name), pins=pins, edge=f"{one.by}:{one.name}")


def _contradiction(asked: Sequence[Asked]) -> Hit | None:
    """The two statements about one package that no release satisfies together; the user's own line first."""
    by_name: dict[str, list[Asked]] = {}
    for one in asked:
        if one.specifier:
            by_name.setdefault(translated(one.name), []).append(one)
    # That two packages of the field do not go together says more than what they ask of one that nobody tracks.
    for name, group in sorted(by_name.items(), key=lambda item: not releases(item[0])):
        ordered = sorted(group, key=lambda one: bool(one.by))
        for place, one in enumerate(ordered):
            for other in ordered[place + 1 :]:
                if (one.by != other.by or not one.by) and not _go_together(name, one, other):
                    return _clash(name, one, other)
    return None


def _clash(name: str, one: Asked, other: Asked) -> Hit:
    detail = f"{one.words()}, and {other.words()}: no release of {name} is both"
    pins = [] if one.by else [(name, other.specifier)]
    packages = _named(name if not one.by else translated(one.by), translated(other.by), name)
    return Hit(CONTRADICT, True, (), detail=detail, packages=packages, pins=tuple(pins), edge=f"{translated(other.by)}:{name}")


def _go_together(name: str, one: Asked, other: Asked) -> bool:
    both = f"{one.specifier},{other.specifier}"
    try:
        wanted = version_condition(both)
        known = release_texts(name)
        return any(wanted.admits(exact(text)) for text in known) if known else satisfiable(both, ())
    except ValueError:
        return True


def translated(name: str) -> str:
    """The package index's name of what conda calls otherwise."""
    return "torch" if name == "pytorch" else name


def _unavailable(one: Unavailable, refusal: Refusal, facts: Facts) -> Hit | None:
    name = translated(one.name)
    known = releases(name)
    python = one.python or str(facts.value("python") or "")
    wanted = f"{name}{one.specifier}"
    if one.why == "python":
        fitting = [release.version for release in known if not release.yanked and _runs(release.requires_python, python)]
        detail = f"{wanted} runs on Python {one.refused}, and this is Python {python}"
        pins = ((name, f"<={fitting[-1]}"),) if fitting and not one.specifier else ()
        return Hit(REFUSES_PYTHON, True, (), detail=detail, packages=_named(name), pins=pins, edge=name)
    if one.why == "no package":
        return None
    public, label, index = one.specifier.partition("+")
    matching = [release for release in known if not one.specifier or admits(public, release.version)]
    if one.why == "no release" and known and not matching and one.specifier:
        detail = f"no release of {name} until {known[-1].date} satisfies {one.specifier}"
        return Hit(UNSATISFIABLE, True, (), detail=detail, packages=_named(name), pins=_nearest(one), edge=name)
    refused = [release for release in matching if python and not _runs(release.requires_python, python)]
    if matching and len(refused) == len(matching):
        detail = f"{wanted} runs on Python {refused[-1].requires_python}, and this is Python {python}"
        return Hit(REFUSES_PYTHON, True, (), detail=detail, packages=_named(name), pins=_nearest(one), edge=name)
    if label and re.fullmatch(r"cu\d{2,3}|cpu|rocm[\d.]+", index):
        detail = f"{wanted} is a build on PyTorch's own index: --extra-index-url https://download.pytorch.org/whl/{index}"
        if one.offered and matching and matching[0].version not in one.offered:
            detail += f"; and for this Python there is no {name} before {one.offered[0]}"
    elif one.offered:
        sides = f"{one.offered[0]} to {one.offered[-1]}" if len(one.offered) > 1 else one.offered[0]
        detail = f"{wanted} is asked for, and for this Python and platform the index has {name} {sides}"
    elif one.tag:
        detail = f"{wanted} has no file for this interpreter ({one.tag})"
    elif known:
        wheels = any(release.wheel for release in matching)
        kind = "no wheel of it is for this Python and platform" if wheels else "it is published as source alone, or for another platform"
        detail = f"{wanted} exists, and the installer found nothing to install: {kind}"
    else:
        detail = f"the installer found no release of {name} at all: another name, another index, or no file for this Python and platform"
    return Hit(NO_FILE, True, (), detail=detail, packages=_named(name), pins=_nearest(one), edge=name)


def _nearest(one: Unavailable) -> tuple[tuple[str, str], ...]:
    """The release next to the one that was asked for, among those that the installer saw."""
    pinned = re.fullmatch(r"===?([0-9][\w.+!-]*?)(?:\.\*)?", one.specifier)
    if not one.offered or pinned is None:
        return ()
    finals = [text for text in one.offered if re.fullmatch(r"\d+(?:\.\d+)*(?:\.post\d+)?", text)]
    if re.search(r"\d(?:\.?dev|rc|a|b)\d", pinned[1]):
        finals = list(one.offered)  # a state before a release was asked for: the next one is as near to it
    above = [text for text in finals if admits(f">{pinned[1].partition('+')[0]}", text)]
    return ((one.name, f"=={above[0] if above else finals[-1]}"),) if finals else ()


def _runs(requires_python: str | None, python: str) -> bool:
    if not requires_python or not python:
        return True
    return admits("".join(requires_python.split()), python if python.count(".") > 1 else f"{python}.99") is not False


def asked_facts(refusal: Refusal | None) -> Iterable[tuple[str, str]]:
    """What an installer was asked for, as package and specifier: the user's lines, and releases of which it saw only one."""
    if refusal is None:
        return
    own = {translated(one.name): one.specifier for one in reversed(refusal.asked) if not one.by}
    yield from own.items()
    seen: dict[str, set[str]] = {}
    for one in refusal.asked:
        if one.by:
            seen.setdefault(translated(one.by), set()).add(one.release)
    for name, found in seen.items():
        release = next(iter(found))
        if name not in own and len(found) == 1 and release.startswith("=="):
            yield name, release
