"""Which packages say what an error says: since which release, in which function, under which condition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.atlas.masks import fill, write, write_unread
from envdoctor.atlas.messages import Message, is_whole, plain
from envdoctor.atlas.shelf import open_messages, open_package, speaking_packages
from envdoctor.atlas.stack import holds, places
from envdoctor.atlas.volume import DamagedAtlasError
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact
from envdoctor.logs.callables_named import OFTEN
from envdoctor.logs.compiled_sentences import says_compiled
from envdoctor.logs.python_sentences import is_pythons
from envdoctor.logs.quoted_commands import told_to_do, with_command
from envdoctor.logs.torch_sentences import LIBRARIES, says_torch
from envdoctor.logs.tracebacks import Failure, read_failures
from envdoctor.records import dataclass, replace
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed, release_texts

# A text this long is nobody else's: it needs no frame to be known by.
_TELLING = 40
_LONGEST = 1200
_MOST, _MOST_SAID, _NAMED_AT_MOST = 3, 400, 4
SAID = "error-said-by-package"
# Findings about an error's own words.
TOLD_OF_RUNS = ("error-of-the-run", "error-of-what-was-given")
_GONE = re.compile(r"\b(?:has been|have been|was|were) (?:re)?moved|no longer|not supported anymore|has been renamed", re.IGNORECASE)
# What torch says is of what it was given: the finding is the caller's. What these functions say is the text of another error.
_OF_OTHERS = frozenset(("torch",))
_OF_THE_MOST = 0.4
_PASSED_ON = frozenset(("__getattr__", "_get_module"))
# So much of a text is nobody else's, also where no frame tells who raised it.
_CERTAIN = 40
# What so many packages say is a way of speaking; where it is the whole of a message a few more may.
_ANYBODYS, _ANYBODYS_WHOLE = 5, 8
# And so much of one that two packages have, of which one took it from the other.
_COPIED = 80
# A message that is one from its first word to its last is told by this much of it; one whose class nobody wrote down by this much.
_WHOLE, _WHOLE_OF_NO_CLASS = 10, 25
# A finding names the author of a sentence that no more than two packages say. Who is asked for a file wrote no sentence.
_AUTHORS = 3
_ASKED = frozenset(("huggingface-hub",))
# Of so short a sentence that several packages say, nobody knows whose it is without a frame.
_SHORT_SENTENCE = 22
# What carries the same code under its own name, in the same releases.
_CARRIED_BY = {"pytorch-lightning": ("lightning",)}
# The class of an inner part is what users know the outer one by.
_WHOSE = {"pydantic-core": "pydantic", "safetensors-rust": "safetensors"}
# Of compiled code nobody knows of which class its error is.
_OF_ANY_CLASS = frozenset(("raise", ""))
# Python has one class by several names.
_SAME = {"EnvironmentError": "OSError", "IOError": "OSError"}
# C code that completes a message by what it is about and what came: numpy's "clipmode must be one of ... (got ...)".
_COMPLETED = re.compile(r"[a-z][\w ]{1,30} (must be .+) \(got .+\)")
# A line that makes the error it raises: whoever else has such words did not say them here.
_RAISES = re.compile(r"raise (?:\w+\.){0,4}[A-Z]\w+\(")
_COMPILED = re.compile(r"\.src\.")
# What a package says to who tests it, nobody meets in a run.
_TESTS = re.compile(r"\.(?:_?testing|tests?)(?:\.|$)")
# And so much of one that names its package.
_NAMED = 30
# Two messages of one function that begin otherwise for so many letters are two raises.
_BEGINNING = 24


@dataclass(frozen=True, slots=True)
class Saying:
    """A message, and the releases of its package that say it (``exact``: at the line of the innermost frame; ``here``: in its module).

    ``alike`` is how many letters of it the text shows; ``whole``: the text is this message, and nothing else.
    """

    message: Message
    releases: int
    exact: bool
    here: bool
    alike: int
    whole: bool = False


def sayings(failure: Failure, facts: Facts) -> list[Saying]:
    """Who says an error, the likeliest first; two packages that say the same are both there. What a stated release refutes is not."""
    words = plain(failure.message)[:_LONGEST]
    inner = _COMPLETED.fullmatch(words)
    framed = {package_of(name) for name in failure.packages}
    near = framed | (_words(failure) & set(speaking_packages()) - _OF_OTHERS)
    frame = next((frame for frame in reversed(failure.frames) if frame.package), None)
    found: list[tuple[tuple[bool, bool, bool, bool, bool, int], Saying]] = []
    for package in sorted(speaking_packages(), key=lambda name: name not in near):
        if package not in near and any(one.here for _, one in found):
            break  # said in the very module of the frame: nobody else was it
        book = open_messages(package)
        shown = book.shown(words) if book is not None else ()
        if inner is not None and book is not None:
            shown = (*shown, *(one for one in book.shown(inner[1]) if _COMPILED.search(one[1].module)))
        bound = open_package(package) if shown else None
        if bound is None:
            continue
        stated = facts.value(f"packages.{package}")
        known = package in near or isinstance(stated, Exact)
        where = places(bound.volume, stated.text) if isinstance(stated, Exact) else ()
        for alike, message in shown:
            if is_pythons(message.text):
                continue
            here = frame is not None and frame.module == message.module
            if (not here and _TESTS.search(message.module)) or message.module.endswith(LIBRARIES):
                continue
            at_line = message.releases(bound.volume.places, frame.line) if here and frame is not None and frame.line else 0
            releases = at_line or message.releases(bound.volume.places)
            of_kind = _is_of_kind(message, failure)
            whole = (
                of_kind
                and alike >= (_WHOLE if failure.kind else _WHOLE_OF_NO_CLASS)
                and (
                    is_whole(message.text, words)
                    or (inner is not None and message.text.startswith("must") and is_whole(message.text, inner[1]))
                )
            )
            if (known or alike >= _TELLING or whole) and not (where and not any(releases >> one & 1 for one in where)):
                rank = (here, package in framed, whole, package in near, of_kind, alike)
                found.append((rank, Saying(message, releases, bool(at_line), here, alike, whole)))
    if not found:
        return []
    most = max(rank[5] for rank, _ in found)
    # "Expected {}, got {}" is the whole of many messages; who wrote out more of one said it.
    found = [((*rank[:2], rank[2] and rank[5] >= most * _OF_THE_MOST, *rank[3:]), one) for rank, one in found]
    found.sort(key=lambda item: item[0], reverse=True)
    best = found[0][0]
    # Whoever is named in a message that several say as a whole need not be the one who says it.
    alike = 3 if best[2] else 4
    first = found[0][1].message.package
    # What one package says as a whole in other words at other places (a class for ``{}``) is said by the releases of all of them.
    said = [
        one
        for rank, one in found
        if rank[:alike] == best[:alike] and rank[5] >= best[5] * (0.5 if one.whole and one.message.package == first else 0.8)
    ]
    return begun_alike(said, words)[:_MOST_SAID]


def begun_alike(said: list[Saying], words: str) -> list[Saying]:
    """Without what the same function raises in words that begin otherwise, where one of its messages begins as the text does."""
    began = words[:_BEGINNING]
    alike = {(one.message.package, one.message.where) for one in said if plain(one.message.text).startswith(began)}
    return [
        one
        for one in said
        if (one.message.package, one.message.where) not in alike
        or "{" in one.message.text[:_BEGINNING]
        or plain(one.message.text).startswith(began)
    ]


def _is_of_kind(message: Message, failure: Failure) -> bool:
    """Whether an error is of the class that carries a message, as far as anybody wrote that down."""
    return (
        not failure.kind or message.kind in _OF_ANY_CLASS or _SAME.get(message.kind, message.kind) == _SAME.get(failure.kind, failure.kind)
    )


# What a sentence begins with that is about a class.
_SUBJECT = re.compile(r"^([A-Z][a-z]+(?:[A-Z][a-z]+){1,3}) (?:does|is|has|can|must|should)\b")


def judge_saying(failure: Failure, facts: Facts) -> Hit | None:
    """The finding that one package says an error, where that is certain: its module is the innermost frame's, or the text is long."""
    said = sayings(failure, facts)
    found = [
        one
        for one in said
        if _is_of_kind(one.message, failure)
        and one.message.package not in _OF_OTHERS
        and one.message.where.rpartition(".")[2] not in _PASSED_ON
    ]
    packages = {one.message.package for one in said}
    raised = package_of(failure.raised_in) if failure.raised_in else ""
    framed = bool(failure.frames)
    subject = _SUBJECT.match(failure.message)
    if not framed and subject is not None and package_of(subject[1].lower()) in listed() and package_of(subject[1].lower()) not in packages:
        return None  # the words of another package's, about a class that has its name: "TensorDict does not support ..."
    if framed and not raised and failure.frames[-1].text.lstrip().startswith("raise "):
        return None  # the project's own line raises it, in whosever words
    if not framed and not _OF_OTHERS.isdisjoint(packages):
        return None  # a sentence of torch's that others have copied
    if framed and not raised and len(packages) > 1:
        return None  # in the project's own lines, by words of several: whose object it was, nobody says
    named = bool(packages) and next(iter(packages)) in _words(failure)
    least = _NAMED if named else _CERTAIN
    if len(packages) > 1:
        least = _COPIED
    whole = bool(found) and found[0].whole
    enough = bool(found) and (whole or found[0].alike >= least)
    certain = any(one.here for one in found) or (enough and raised in ("", *packages))
    if whole and not framed and len(packages) >= _AUTHORS and found[0].alike < _SHORT_SENTENCE:
        return None
    if not found or not 0 < len(packages) < (_ANYBODYS_WHOLE if whole else _ANYBODYS) or not certain:
        return None
    spoken = {one.message.package for one in found}
    package = next((name for name in (raised, *OFTEN) if name in spoken), found[0].message.package)
    where = next(one.message for one in found if one.message.package == package)
    told = list(_sentences([one for one in said if one.message.package == package], facts))
    told += _sentences([one for one in said if one.message.package != package], facts)
    pins = tuple((package, one) for one in _before(package, [one for one in said if one.message.package == package], facts))
    edge = f"{package}:{where.module}:{where.where}"[:160]
    others = sorted(packages - {package}, key=_commonness)
    hit = Hit(
        SAID,
        True,
        (),
        detail="; ".join(told[:_NAMED_AT_MOST]),
        packages=_with_carriers((package, *others)[:_NAMED_AT_MOST]),
        pins=pins,
        edge=edge,
    )
    hit = with_command(hit, failure)
    to_do = told_to_do(failure.message) if not hit.advice else ""
    return replace(hit, advice=f"do what the message says: {to_do}") if to_do else hit


def _with_carriers(packages: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for package in packages for one in (package, *_CARRIED_BY.get(package, ()))))


def _commonness(package: str) -> tuple[bool, int, str]:
    """Those first whose sentences people meet most."""
    return (package not in _OF_OTHERS, OFTEN.index(package) if package in OFTEN else len(OFTEN), package)


def name_author(hit: Hit, failure: Failure, facts: Facts) -> Hit:
    """A finding about an error, with the package whose sentence it is, where that is certain: the hub asks for no file."""
    raised = package_of(failure.raised_in) if failure.raised_in else ""
    said = [one for one in sayings(failure, facts) if one.message.package not in _OF_OTHERS and (one.whole or one.alike >= _CERTAIN)]
    said = [one for one in said if one.whole] or said
    authors = sorted({one.message.package for one in said}, key=_commonness)
    if hit.rule in TOLD_OF_RUNS and hit.packages and not failure.frames:
        # Whose words these are is known by the pattern, which may fit those of others too.
        own = [one for one in said if one.message.package == hit.packages[0]]
        return _with_sentence(hit, own, facts) if own else _with_torch(hit, failure, facts)
    # Of what many say it is told who of them is met most.
    several = len(authors) < _ANYBODYS and set(hit.packages) <= _ASKED and authors[:1] in [[one] for one in OFTEN] and bool(hit.packages)
    if not (0 < len(authors) < _AUTHORS or several) or raised not in ("", *authors):
        return _with_torch(hit, failure, facts)
    authors = [raised] if raised else authors[:_NAMED_AT_MOST]
    first = authors if set(hit.packages) <= _ASKED else ()
    hit = replace(hit, packages=_with_carriers((*first, *hit.packages, *authors)))
    for author in authors:
        hit = _with_sentence(hit, [one for one in said if one.message.package == author], facts)
    return hit


def others_who_say(failure: Failure, facts: Facts) -> list[str]:
    """The packages besides torch that say an error."""
    return [name for name in dict.fromkeys(one.message.package for one in sayings(failure, facts)) if name not in _OF_OTHERS]


def _with_sentence(hit: Hit, said: Sequence[Saying], facts: Facts) -> Hit:
    return replace(hit, detail="; ".join(filter(None, (hit.detail, next(iter(_sentences(said, facts)))))))


def _with_torch(hit: Hit, failure: Failure, facts: Facts) -> Hit:
    """A finding of nobody, or of torch, with torch's releases that say its sentence, where nobody tells whose call it was; or with whose
    compiled code puts such sentences together."""
    torch = says_torch(failure, facts) if not failure.frames and hit.packages in ((), ("torch",)) else None
    if torch is None:
        compiled = says_compiled(failure)
        if compiled is None or hit.packages not in ((), (compiled.package,)):
            return hit
        return replace(hit, packages=(compiled.package,), detail="; ".join(filter(None, (hit.detail, compiled.words()))))
    return replace(hit, packages=("torch",), detail="; ".join(filter(None, (hit.detail, torch.words()))))


def author_of(text: str) -> str:
    """The one package whose sentence a line is from its first word to its last; empty where that is none, or several."""
    failure = next(iter(read_failures([(1, text.strip())])), None) or Failure("", text.strip(), 1)
    try:
        authors = {one.message.package for one in sayings(failure, Facts({})) if one.whole} - _OF_OTHERS
    except DamagedAtlasError:
        return ""
    return authors.pop() if len(authors) == 1 else next((name for name in OFTEN if name in authors), "") if len(authors) < _AUTHORS else ""


def home_of(failure: Failure) -> str:
    """The package of the error's class, where its module was printed; empty for a class of Python itself, or of nobody known."""
    top = failure.home.partition(".")[0]
    package = package_of(top) if top else ""
    return _WHOSE.get(package, package) if package in listed() and package not in _OF_OTHERS else ""


def _words(failure: Failure) -> set[str]:
    return {canonical(word) for word in re.findall(r"[A-Za-z][\w-]{2,40}", failure.message[:_LONGEST])}


def _before(package: str, said: Sequence[Saying], facts: Facts) -> Sequence[str]:
    """The releases that still had what a message says is gone."""
    bound = open_package(package)
    if bound is None or not any(_GONE.search(one.message.text) for one in said):
        return ()
    mask = 0
    for one in said:
        mask |= one.message.releases(bound.volume.places)
    stated = facts.value(f"packages.{package}")
    where = places(bound.volume, stated.text) if isinstance(stated, Exact) else ()
    first = next((place for place in range(len(bound.volume.releases)) if mask >> place & 1), 0)
    # Of the releases between the last that was read without it and the first with it nobody knows.
    return (f"<={bound.volume.releases[first - 1]}",) if first and not (where and min(where) < first) else ()


def tell_sayings(failure: Failure, facts: Facts) -> Iterator[str]:
    """The same in sentences, one for each function that says it; of what a line of a package raises itself, that package's alone."""
    said = sayings(failure, facts)
    last = failure.frames[-1] if failure.frames else None
    if last is not None and last.package and _RAISES.match(last.text):
        raised = package_of(last.package)
        said = [one for one in said if raised in _with_carriers((one.message.package,))]
    yield from _sentences(said, facts)


def _sentences(said: Sequence[Saying], facts: Facts) -> Iterator[str]:
    by_package: dict[str, list[Saying]] = {}
    for one in said:
        by_package.setdefault(one.message.package, []).append(one)
    for package, found in list(by_package.items())[:_MOST]:
        bound = open_package(package)
        assert bound is not None
        mask = known = 0
        spots: dict[str, str] = {}
        for one in found:
            mask |= one.releases
            known |= one.message.known(bound.volume.places)
            place = f"{one.message.module}:{one.message.where}" if one.message.where else one.message.module
            spots[place] = spots.get(place) or one.message.condition
        mask = fill(mask, known) if not any(one.exact for one in found) else mask
        stated = facts.value(f"packages.{package}")
        at = places(bound.volume, stated.text) if isinstance(stated, Exact) else ()
        among = f", {stated.text} among them" if isinstance(stated, Exact) and holds(mask, at) else ""
        (place, condition), *others = spots.items()
        why = f", where {condition}" if condition else ""
        more = f", and in {others[0][0] if len(others) == 1 else f'{len(others)} other places'}" if others else ""
        spans = write_unread(mask, bound.volume.releases, release_texts(package))
        yield f"{package} says this in {place}{why}{more}; releases {spans}{among}"
    placed = [one for one in said if one.exact]
    if placed and (bound := open_package(placed[0].message.package)) is not None:
        mask = 0
        for one in placed:
            mask |= one.releases if one.message.package == bound.volume.name else 0
        if mask != bound.volume.all:
            yield f"this traceback is of {bound.volume.name} {write(mask, bound.volume.releases)}: there this stands in that line"
