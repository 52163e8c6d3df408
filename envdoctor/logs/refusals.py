"""What an installer's refusal comes to: the contradiction in one sentence, with the pins that the text itself proposes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.histories import satisfiable
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.logs.installed_otherwise import TORCH_FOR_PYTHON, advise, judge_passed_over
from envdoctor.logs.installer_rules import CONTRADICT, LEFT, NO_FILE, REFUSES_PYTHON, UNSATISFIABLE
from envdoctor.logs.overlapping import judge_overlapping
from envdoctor.logs.own_pins import loosen, too_tight
from envdoctor.logs.pythons import python_within, take_python
from envdoctor.logs.refusal import Asked, Refusal, Unavailable
from envdoctor.logs.refused_otherwise import OTHERWISE, judge_anywhere, judge_no_package, judge_not_filled_in, judge_together, judge_tried
from envdoctor.logs.same_release import judge_same_release
from envdoctor.logs.specifiers import admits
from envdoctor.logs.whose_index import judge_list
from envdoctor.records import replace
from envdoctor.world.dependencies import dependencies, versions
from envdoctor.world.releases import Release, exists, release_texts, releases
from envdoctor.world.torch_builds import releases_listed
from envdoctor.world.torch_builds import variants as builds_of

_OF_PYTORCH = ("torch", "torchvision", "torchaudio")
_LAST_FOR_INTEL_MACS = "2.2.2"  # https://github.com/pytorch/pytorch/issues/127870
# So many releases of one package that end alike are no accident.
_SEVERAL = 3


def _named(*packages: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, packages)))


def judge_refusal(refusal: Refusal, facts: Facts) -> Iterator[Hit]:
    """What an installer's text comes to: requirements that are unmet, what nothing fits, and two statements that contradict each other."""
    # Who runs into it first has a release that does not go; what is absent may not be asked for, and what nobody tracks least of all.
    if (between := _to_and_fro(refusal)) is not None:
        yield between
    for one, have in sorted(refusal.left, key=lambda pair: (not releases(translated(pair[0].by)), not pair[1])):
        yield _left(one, have)
    for missing in refusal.unavailable:
        hit = _unavailable(missing, refusal, facts)
        if hit is not None:
            yield hit
    common = _wanted_by_all(refusal, facts)
    contradiction = _contradiction(refusal.asked) if common is None else None
    if common is not None:
        yield common
    elif contradiction is None and (same := judge_same_release(refusal, translated)) is not None:
        yield same
    elif contradiction is not None:
        yield contradiction
    elif refusal.tool == "pip" and (over := judge_passed_over(refusal.asked)) is not None:
        yield over
    elif refusal.tool and refusal.asked and not refusal.left and not refusal.unavailable:
        yield judge_overlapping(refusal, translated) or judge_together(refusal, translated)


def _to_and_fro(refusal: Refusal) -> Hit | None:
    """Two requirements that pip broke in turn, each when the other was met: no release satisfies both."""
    for one, have in refusal.left:
        for other, there in refusal.left:
            met = have != there and admits(one.specifier, there) and admits(other.specifier, have)
            if one.name == other.name and have and there and met:
                return _contradiction((one, other))
    return None


def _left(one: Asked, have: str) -> Hit:
    there = f"{one.name} {have} is installed" if have else f"{one.name} is not"
    detail = f"{one.words()}, and {there}"
    pins = ((one.name, one.specifier),) if one.specifier else ()
    return Hit(LEFT, True, (), detail=detail, packages=_named(one.by, one.name), pins=pins, edge=f"{one.by}:{one.name}")


def _contradiction(asked: Sequence[Asked]) -> Hit | None:
    """The two statements about one package that no release satisfies together; the user's own line first."""
    by_name: dict[str, list[tuple[Asked, bool]]] = {}
    released = {one.by for one in asked if one.release}
    for one in (one for one in asked if one.specifier):
        # A project that is named without a release, and that nobody lists, is the user's own: so are its lines.
        own = not one.by or (one.by not in released and not releases(translated(one.by)))
        by_name.setdefault(translated(one.name), []).append((one, own))
    # That two packages of the field do not go together says more than what they ask of one that nobody tracks.
    for name, group in sorted(by_name.items(), key=lambda item: not releases(item[0])):
        for (one, own), (other, also) in combinations(sorted(group, key=lambda side: not side[1]), 2):
            if (one.by != other.by or not one.by) and not _go_together(name, one, other):
                return _clash(name, one, other, own=own, also=also)
    return None


def _wanted_by_all(refusal: Refusal, facts: Facts) -> Hit | None:
    """One requirement that every release of a package has, and for which each of them was refused: it is what has no file here."""
    wants = {(translated(one.name), one.specifier) for one in refusal.asked if one.by}
    sides = {(translated(one.by), one.release) for one in refusal.asked if one.by}
    if refusal.tool != "pip" or len(wants) != 1 or len(sides) < _SEVERAL or len({by for by, _ in sides}) != 1:
        return None
    (name, specifier), by = wants.pop(), next(iter(sides))[0]
    python = facts.value("python")
    here = f"Python {python}" if python is not None else "this Python"
    detail = (
        f"every release of {by} that pip tried wants {name}{specifier}, and for none of them it found one: {name} has no file for {here} "
        "and this platform on the index that was asked; take a Python (64 bit) for which it has wheels"
    )
    return Hit(NO_FILE, True, (), detail=detail, packages=_named(name, by, "python"), edge=f"{by}:{name}")


def _clash(name: str, one: Asked, other: Asked, *, own: bool, also: bool) -> Hit:
    detail = f"{one.words()}, and {other.words()}: no release of {name} is both"
    lines = [(name, side.specifier) for side, moves in ((other, own), (one, own and also)) if moves]
    loosened = too_tight(name, one, other)
    if loosened is not None:
        # A project's own pin is taken off before what others have released moves.
        lines = [(name, loosened[1].specifier), *lines]
    pins = (*lines, *_ways_out(name, one, other))
    packages = _named(name if not one.by else translated(one.by), translated(other.by), name)
    return Hit(
        CONTRADICT,
        True,
        (),
        detail=detail,
        packages=packages,
        pins=pins,
        edge=f"{translated(other.by)}:{name}",
        advice=loosen(name, loosened),
    )


def _ways_out(name: str, one: Asked, other: Asked) -> Iterator[tuple[str, str]]:
    """The nearest releases of the two sides that ask for what the other one does: the older goes up, and then the newer down."""
    low, high = sorted((one, other), key=lambda side: _newest(name, side.specifier))
    for side, rival, up in ((low, high, True), (high, low, False)):
        release = side.release.removeprefix("==").partition("+")[0]
        known = versions(translated(side.by)) if side.by else ()
        if release in known:
            # What conda's package asks for, the wheel of that name may not.
            if not any(one.name == name for one in dependencies(translated(side.by), release) or ()):
                continue
            place = known.index(release)
            ways = known[place + 1 :] if up else known[:place][::-1]
        else:
            # A state before a release, or one that nobody listed: the releases on either side of it.
            ways = tuple(text for text in known if admits(f">{release}" if up else f"<{release}", text))[:: 1 if up else -1]
        for text in ways:
            asked = dependencies(translated(side.by), text)
            wants = [dependency for dependency in asked or () if dependency.name == name]
            if asked is not None and all(_go_together(name, Asked(name, dependency.specifier), rival) for dependency in wants):
                yield translated(side.by), f"=={text}"
                break


def _newest(name: str, specifier: str) -> int:
    """The place of the last release that a requirement admits."""
    return max((place for place, text in enumerate(release_texts(name)) if admits(specifier, text)), default=-1)


def _go_together(name: str, one: Asked, other: Asked) -> bool:
    # A local label makes no other release, and the package index lists none; nor does it list what a nightly index has.
    pins = {re.sub(r"\+[a-z0-9.]+$", "", side.specifier) for side in (one, other)}
    if len(pins) == 1 and next(iter(pins)).startswith("==") and "*" not in next(iter(pins)):
        return one.specifier == other.specifier or "+" not in one.specifier or "+" not in other.specifier
    sides = [one.specifier, other.specifier]
    both = ",".join(sides if all("+" in side for side in sides) else (re.sub(r"\+[a-z0-9.]+", "", side) for side in sides))
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
    if not one.name:
        return _unnamed(facts)
    name = translated(one.name)
    known = releases(name)
    python = one.python or str(facts.value("python") or "")
    wanted = f"{name}{one.specifier}"
    if one.why == "python":
        fitting = [release.version for release in known if not release.yanked and _runs(release.requires_python, python)]
        detail = f"{wanted} runs on Python {one.refused}, and this is Python {python}"
        pins = ((name, f"<={fitting[-1]}"),) if fitting and not one.specifier else ()
        return Hit(REFUSES_PYTHON, True, (), detail=detail, packages=_named(name), pins=pins, edge=name, advice=take_python(one.refused))
    if one.why == "no release" and one.refused:
        here = f"this is Python {python}" if python else "this Python is none of these"
        detail = f"every release of {wanted} that pip saw asks for Python {one.refused}, and {here}"
        advice = take_python(one.refused) or f"a Python {one.refused}"
        return Hit(REFUSES_PYTHON, True, (), detail=detail, packages=_named(name, "python"), edge=name, advice=advice)
    if one.why == "no package":
        return judge_no_package(one, known=bool(known))
    if (anywhere := judge_anywhere(one)) is not None:
        return anywhere
    if one.why == "tried":
        # What they depend on, or that somebody asks for both, says more.
        return None if refusal.asked else judge_tried(one, facts)
    if one.specifier.endswith("+"):
        return judge_not_filled_in(one)
    if (told := judge_list(name, one, refusal, facts)) is not None:
        return told
    if one.why == "withdrawn":
        return _withdrawn(one, refusal)
    if one.why == "no file":
        return _no_file(name, one.specifier.removeprefix("=="), facts)
    public, label, _ = one.specifier.partition("+")
    matching = [release for release in known if not one.specifier or admits(public, release.version)]
    if one.why == "no release" and known and not matching and one.specifier:
        detail = f"no release of {name} until {known[-1].date} satisfies {one.specifier}"
        return Hit(UNSATISFIABLE, True, (), detail=detail, packages=_named(name), pins=_nearest(one), edge=name)
    refused = [release for release in matching if python and not _runs(release.requires_python, python)]
    if matching and len(refused) == len(matching):
        asked = refused[-1].requires_python
        detail = f"{wanted} runs on Python {asked}, and this is Python {python}"
        near = _nearest(one)
        older = f'; or pip install "{near[0][0]}{near[0][1]}"' if near else ""
        minor = python_within(asked or "") or "3.X"
        advice = f"a Python {asked} for {wanted} (uv venv --python {minor}, conda create -n x python={minor}){older}"
        return Hit(REFUSES_PYTHON, True, (), detail=detail, packages=_named(name, "python"), pins=near, edge=name, advice=advice)
    if one.why == "no wheel" and refusal.tool == "uv" and refusal.index and name in _OF_PYTORCH and not label and public.startswith("=="):
        detail = (
            f"{wanted} is asked for at https://download.pytorch.org/whl/{refusal.index}, whose wheels are of {public[2:]}+{refusal.index}: "
            "some releases of uv take these for another release"
        )
        pins = ((name, f"{public}+{refusal.index}"),)
        return Hit(NO_FILE, True, (), detail=detail, packages=_named(name), pins=pins, edge=name)
    detail = _say_what_there_is(one, refusal, name, matching)
    advice = (OTHERWISE.get(name, "") if not one.offered else "") or advise(one, python, known=bool(known))
    if not advice and re.match(r"macosx|manylinux|linux|win|musllinux", one.tag):
        advice = "a machine of a platform that its wheels are for (the installer's hint names them), or a build from its repository"
    # What the index has begins behind what is asked for: its wheels for this Python do.
    only_newer = (
        bool(one.offered and matching and public.startswith("==")) and admits(f"<{one.offered[0]}", public.removeprefix("==")) is True
    )
    return Hit(
        NO_FILE,
        True,
        (),
        detail=detail,
        packages=_named(name, "python" if only_newer else ""),
        pins=_nearest(one),
        edge=name,
        advice=advice,
    )


def _say_what_there_is(one: Unavailable, refusal: Refusal, name: str, matching: Sequence[Release]) -> str:
    """What the index has of a package for the installer that found nothing to install, as far as its words and the bundled list say."""
    wanted, known = f"{name}{one.specifier}", releases(name)
    public, label, index = one.specifier.partition("+")
    if not one.offered and name in _OF_PYTORCH and (told := _index_lacks(refusal.index, name, public)):
        detail = f"{wanted} was looked for at https://download.pytorch.org/whl/{refusal.index}, and {told}"
    elif label and re.fullmatch(r"cu\d{2,3}|cpu|rocm[\d.]+", index):
        detail = f"{wanted} is a build on PyTorch's own index: --extra-index-url https://download.pytorch.org/whl/{index}"
        if one.offered and matching and matching[0].version not in one.offered:
            detail += f"; and for this Python there is no {name} before {one.offered[0]}"
    elif one.offered:
        sides = f"{one.offered[0]} to {one.offered[-1]}" if len(one.offered) > 1 else one.offered[0]
        detail = f"{wanted} is asked for, and for this Python and platform the index has {name} {sides}"
        if (name, one.offered[-1]) == ("torch", _LAST_FOR_INTEL_MACS):
            detail += ", the last one for Macs with an Intel processor and for a Python that was made for one on a newer Mac"
    elif one.tag:
        detail = f"{wanted} has no file for this interpreter ({one.tag})"
    elif known:
        wheels = any(release.wheel for release in matching)
        kind = "no wheel of it is for this Python and platform" if wheels else "it is published as source alone, or for another platform"
        # `matching` has one: what no release satisfies was told before.
        since = f"; {matching[0].version} was published on {matching[0].date}, and an index that has it not yet, or a mirror, says so too"
        newer = since if matching[0].date and ">" in one.specifier else ""
        detail = f"{wanted} exists, and the installer found nothing to install: {kind}{newer}"
    else:
        detail = f"the installer found no release of {name} at all: another name, another index, or no file for this Python and platform"
    return detail


def _unnamed(facts: Facts) -> Hit:
    """uv's sentence about a package whose name was cut from it: the one that is stated, where there is one."""
    stated = [(name.removeprefix("packages."), facts.value(name)) for name in facts if name.startswith("packages.")]
    exact_ones = [(name, value.text) for name, value in stated if isinstance(value, Exact)]
    advice = "a Python for which the package has wheels (uv python pin 3.X, then uv sync); else a release that has them for this one"
    if len(exact_ones) == 1:
        return replace(_no_file(*exact_ones[0], facts), advice=advice)
    detail = "uv found a package that has neither a wheel nor sources for this Python and platform; its name was cut from the text"
    return Hit(NO_FILE, True, (), detail=detail, packages=(), edge="unnamed", advice=advice)


def _no_file(name: str, version: str, facts: Facts) -> Hit:
    """A release that a lock names, and of which no file is for this Python and platform."""
    public, _, label = version.partition("+")
    python, system = facts.value("python"), str(facts.value("os") or "")
    known = [release for release in releases(name) if release.version == public]
    told, pins = [], []
    if known and known[0].requires_python:
        told.append(f"it asks for Python {known[0].requires_python}")
    if name == "torch":
        first = next((one for one, since in reversed(TORCH_FOR_PYTHON) if admits(f">={since}", public)), "")
        # The index has 2.5 for Python 3.13 on Linux alone.
        linux = " on Linux, 3.12 on Windows and macOS" if admits(">=2.5,<2.6", public) else ""
        told.append(f"its wheels go up to Python {first or '3.10'}{linux}")
        if admits(f">{_LAST_FOR_INTEL_MACS}", public):
            told.append(f"for Intel Macs {_LAST_FOR_INTEL_MACS} is the last")
            has_wheel = isinstance(python, Exact) and first and admits(f"<={first}", ".".join(python.text.split(".")[:2]))
            pins = [(name, f"=={_LAST_FOR_INTEL_MACS}")] if system == "macos" and has_wheel else []
    minor = _named_python(name, public) or "3.X"
    if label:
        told.append(f"+{label} is a build of PyTorch's own index, which has it for some platforms only (on a Mac none has a label)")
    known_for = "; ".join(told) or "the lock was written for another one"
    detail = f"{name} {version} is in the lock, and none of its files is for this Python and platform: {known_for}"
    return Hit(
        NO_FILE,
        True,
        (),
        detail=detail,
        packages=_named(name, "python"),
        pins=tuple(pins),
        edge=name,
        advice=f"the Python that the project names, for poetry too: poetry env use {minor}, then poetry install; else a release with a "
        "file for this platform: poetry lock after the requirement was changed",
    )


def _named_python(name: str, public: str) -> str:
    """A Python for which a release of torch has wheels on every system: the last but one of those that it has wheels for."""
    have = [minor for minor, since in TORCH_FOR_PYTHON if admits(f">={since}", public)] if name == "torch" else []
    return have[-2] if len(have) > 1 else have[-1] if have else ""


def _withdrawn(one: Unavailable, refusal: Refusal) -> Hit:
    """A release that its maintainers withdrew, and another package asks for: a resolver takes it for nobody but the user's own line."""
    name = translated(one.name)
    asker = next((side for side in refusal.asked if side.by and side.name == one.name and side.specifier == one.specifier), None)
    by = "" if asker is None else translated(asker.by)
    known = [release.version for release in releases(name) if not release.yanked]
    later = [version for version in known if admits(f">{one.specifier.removeprefix('==')}", version)]
    who = f"{asker.by} {asker.release.removeprefix('==')} asks for it".replace("  ", " ") if asker is not None else "it is asked for"
    detail = f"{name}{one.specifier} was withdrawn by its maintainers, and {who}: resolvers take it for the user's own line alone"
    pins = (*_ways_out(name, asker, Asked(name, f"!={one.specifier.removeprefix('==')}")),) if asker is not None else ()
    pins += ((name, f"=={later[0]}"),) if later else ()
    return Hit(NO_FILE, True, (), detail=detail, packages=_named(name, by), pins=pins, edge=name)


def _index_lacks(index: str, name: str, specifier: str) -> str:
    """What PyTorch's own index of a CUDA is known not to have: the index itself, or this release."""
    if not index.startswith("cu"):
        return ""
    known = {one: builds_of(one) for one in releases_listed()}
    if not any(index in labels for labels in known.values()):
        return f"no index {index} is known: {', '.join(dict.fromkeys(label for labels in known.values() for label in labels))} are"
    release = specifier.removeprefix("==")
    labels = builds_of(release) if name == "torch" else ()
    return f"torch {release} is built for {', '.join(labels)} and not for {index}" if labels and index not in labels else ""


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
    if refusal.tool in ("conda", "mamba"):
        # Its channels have releases of their own, which the package index never had.
        own = {name: spec for name, spec in own.items() if exists(name, spec.lstrip("=")) is not False}
    yield from own.items()
    seen: dict[str, set[str]] = {}
    for one in refusal.asked:
        if one.by:
            seen.setdefault(translated(one.by), set()).add(one.release)
    for name, found in seen.items():
        release = next(iter(found))
        if name not in own and len(found) == 1 and release.startswith("=="):
            yield name, release
