"""Public revisions of models, recognised by the content of their files: a bundled table, never asked for at run time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from envdoctor.records import dataclass

_TABLE = Path(__file__).parent.parent / "data" / "revisions.json"
_SHORT = 8  # hexadecimal digits of a commit that are shown
_MOST_WORDS = 3  # things that are said of one file; the table has them gravest first


@dataclass(frozen=True, slots=True)
class FileDigest:
    """What is known of a file: size in bytes, sha256 and git blob id in lower-case hexadecimal, each None where it was not taken."""

    size: int | None = None
    sha256: str | None = None
    git_blob: str | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """One commit of a repository on the hub. ``id`` is the whole commit id where it was seen, else its first digits.

    ``date`` is the day of the commit (YYYY-MM-DD) where it is known; ``note`` says what changed, where that was read.
    ``sources`` are addresses.
    """

    repo: str
    number: int
    id: str
    date: str | None
    note: str | None
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A file with one content in one repository: ``revisions`` have exactly this content, in the order of the commits.

    ``possible`` are further revisions of which the table does not know whether they have it. ``breaks`` are ids of rules that this
    content can meet, ``transformers`` the releases that it was written for or that are not known to break it (a PEP 440 specifier), for
    the reasons in ``because``: ids of rules and addresses. ``inferred`` says why this content is taken for that of these revisions,
    where the hub's own history or manifest was not the source.
    """

    repo: str
    family: str
    name: str
    revisions: tuple[Revision, ...]
    possible: tuple[Revision, ...]
    breaks: tuple[str, ...]
    transformers: str | None
    because: tuple[str, ...]
    inferred: str | None
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Files that revisions of one repository hold together, with all the revisions that do."""

    repo: str
    revisions: tuple[Revision, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recognition:
    """What the files are, by content.

    ``files`` has what is known of every recognised file, by the name that it bears here; ``unknown`` the names of the others.
    ``consistent`` are the repositories with revisions that hold every recognised file. Where there is none, ``parts`` divides
    the recognised files among as few revisions as were found to explain them, oldest first.
    ``mixed`` says more: the repository that knows most of the files has no revision that is known or thought to hold those together.
    """

    files: Mapping[str, tuple[Known, ...]]
    unknown: tuple[str, ...]
    consistent: tuple[Part, ...]
    parts: tuple[Part, ...]
    mixed: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """The range of transformers releases that one file supports, and why."""

    file: str
    specifier: str
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Supported:
    """The releases that all recognised files support, as far as the table knows, and the files that set the bounds."""

    specifier: str
    limits: tuple[Limit, ...]


def recognise(files: Mapping[str, FileDigest]) -> Recognition:
    """What each file is and which revisions the files are together; names play no part in it."""
    found = {name: _knowns(files[name]) for name in sorted(files)}
    known = {name: knowns for name, knowns in found.items() if knowns}
    consistent = tuple(_consistent(known))
    unknown = tuple(name for name, knowns in found.items() if not knowns)
    if consistent:
        return Recognition(known, unknown, consistent, (), False)
    return Recognition(known, unknown, (), tuple(_divided(known)), _torn(known))


def supported_transformers(recognition: Recognition) -> Supported | None:
    """The transformers releases that the recognised code supports; None where the table gives no range for any file.

    A range speaks of loading, of training with gradient checkpointing and of generation alike.
    """
    limits = [Limit(name, known.transformers, known.because) for name, known in _chosen(recognition) if known.transformers]
    clauses = [(clause, limit) for limit in limits for clause in limit.specifier.split(",")]
    lowest = max((item for item in clauses if item[0].startswith(">=")), key=_version, default=None)
    highest = min((item for item in clauses if item[0].startswith("<")), key=_version, default=None)
    without = [item for item in clauses if item[0].startswith("!=") and (highest is None or _version(item) < _version(highest))]
    kept = [*([lowest] if lowest else ()), *without, *([highest] if highest else ())]
    if not kept:
        return None
    return Supported(",".join(dict.fromkeys(clause for clause, _ in kept)), tuple(dict.fromkeys(limit for _, limit in kept)))


def describe(recognition: Recognition) -> tuple[str, ...]:
    """What was recognised, in sentences: one a file that is code or unsettled, then what the files are together."""
    sentences = [_sentence(name, known) for name, known in _chosen(recognition) if known.breaks or known.transformers]
    if recognition.consistent:
        first, *others = recognition.consistent
        beside = f"; just as well {', '.join(part.repo for part in others)}" if others else ""
        sentences.append(f"{_counted(first.files)} {_span(first.repo, first.revisions)}{beside}")
    elif recognition.parts:
        settled = (
            "files of several origins" if len({part.repo for part in recognition.parts}) > 1 else "between the revisions that are known"
        )
        kind = "a mixed snapshot" if recognition.mixed else settled
        told = "; ".join(f"{', '.join(part.files)} of {_span(part.repo, part.revisions)}" for part in recognition.parts)
        sentences.append(f"{kind}: {told}")
    return tuple(sentences)


def repositories() -> tuple[str, ...]:
    """The repositories in the table, in its order."""
    return tuple(entry["repo"] for entry in _table()["repositories"])


def revisions(repo: str) -> tuple[Revision, ...]:
    """The revisions of a repository that the table lists, oldest first; none for a repository that is not in it."""
    entry = next((item for item in _table()["repositories"] if repo in (item["repo"], *item.get("also", ()))), None)
    return () if entry is None else _revisions(entry["repo"])


# A content in a repository: its entry, the name of the file there, the row.
_Row: TypeAlias = "tuple[Mapping[str, Any], str, Mapping[str, Any]]"


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(_TABLE.read_bytes())
    return table


@lru_cache(maxsize=1)
def _index() -> Mapping[str, list[_Row]]:
    index: dict[str, list[_Row]] = {}
    for entry in _table()["repositories"]:
        for name, rows in entry["files"].items():
            for row in rows:
                for digest in (row.get("sha256"), row.get("git")):
                    if digest is not None:
                        index.setdefault(digest, []).append((entry, name, row))
    return index


@lru_cache(maxsize=256)
def _revisions(repo: str) -> tuple[Revision, ...]:
    entry = next(item for item in _table()["repositories"] if item["repo"] == repo)
    return tuple(
        Revision(repo, number, row["id"], row.get("date"), row.get("note"), _addresses(row.get("sources", entry["sources"])))
        for number, row in enumerate(entry["revisions"])
    )


def _addresses(keys: Iterable[str]) -> tuple[str, ...]:
    sources = _table()["sources"]
    return tuple(sources[key]["url"] for key in keys)


def _knowns(digest: FileDigest) -> tuple[Known, ...]:
    rows = _index().get(digest.sha256 or "", []) or _index().get(digest.git_blob or "", [])
    return tuple(_known(*row) for row in rows if _agrees(digest, row[2]))


def _agrees(digest: FileDigest, row: Mapping[str, Any]) -> bool:
    pairs = ((digest.size, row.get("size")), (digest.sha256, row.get("sha256")), (digest.git_blob, row.get("git")))
    return all(here is None or there is None or here == there for here, there in pairs)


def _known(entry: Mapping[str, Any], name: str, row: Mapping[str, Any]) -> Known:
    content = _table()["contents"].get(row.get("sha256"), {})
    history = _revisions(entry["repo"])
    return Known(
        entry["repo"],
        entry["family"],
        name,
        tuple(_within(history, row["at"])),
        tuple(_within(history, row.get("maybe", ()))),
        tuple(content.get("breaks", ())),
        content.get("transformers"),
        tuple(content.get("because", ())),
        row.get("inferred", entry.get("inferred")),
        _addresses(row["sources"]),
    )


def _within(history: tuple[Revision, ...], runs: Iterable[Iterable[int]]) -> Iterator[Revision]:
    return chain.from_iterable(history[first : last + 1] for first, last in runs)


def _holders(knowns: Iterable[Known], *, possibly: bool = False) -> dict[str, set[int]]:
    """The revisions that have a content, by repository."""
    holders: dict[str, set[int]] = {}
    for known in knowns:
        numbers = holders.setdefault(known.repo, set())
        numbers.update(revision.number for revision in known.revisions)
        if possibly:
            numbers.update(revision.number for revision in known.possible)
    return holders


def _consistent(files: Mapping[str, tuple[Known, ...]]) -> Iterator[Part]:
    sure = [_holders(knowns) for knowns in files.values()]
    for repo in (name for name in repositories() if sure and all(name in holders for holders in sure)):
        if together := set.intersection(*(holders[repo] for holders in sure)):
            yield Part(repo, _numbered(repo, together), tuple(files))


def _torn(files: Mapping[str, tuple[Known, ...]]) -> bool:
    """Whether no repository that knows most of these files can have had, at one time, those that it knows."""
    held: dict[str, list[set[int]]] = {}
    for knowns in files.values():
        for repo, numbers in _holders(knowns, possibly=True).items():
            held.setdefault(repo, []).append(numbers)
    most = max(map(len, held.values()), default=0)
    return most > 0 and not any(set.intersection(*sets) for sets in held.values() if len(sets) == most)


def _divided(files: Mapping[str, tuple[Known, ...]]) -> list[Part]:
    """The files in as few parts as a greedy search finds, each held together by a revision; ties go to the repository that knows
    most of the files, then to the one first in the table."""
    left = {name: _holders(knowns) for name, knowns in files.items()}
    rank = {repo: (sum(repo in holders for holders in left.values()), -place) for place, repo in enumerate(repositories())}
    parts = []
    while left:
        held: dict[tuple[str, int], list[str]] = {}
        for name, holders in left.items():
            for repo, numbers in holders.items():
                for number in numbers:
                    held.setdefault((repo, number), []).append(name)
        repo, number = max(held, key=lambda at: (len(held[at]), rank[at[0]], at[1]))
        names = held[repo, number]
        together = set.intersection(*(left[name][repo] for name in names))
        parts.append(Part(repo, _numbered(repo, together), tuple(names)))
        left = {name: holders for name, holders in left.items() if name not in names}
    return sorted(parts, key=lambda part: (part.repo, part.revisions[0].number))


def _numbered(repo: str, numbers: set[int]) -> tuple[Revision, ...]:
    return tuple(revision for revision in _revisions(repo) if revision.number in numbers)


def _chosen(recognition: Recognition) -> Iterator[tuple[str, Known]]:
    """Each recognised file as what the set of files makes most likely."""
    repos = {name: part.repo for part in (*recognition.consistent[:1], *recognition.parts) for name in part.files}
    for name, knowns in recognition.files.items():
        yield name, next((known for known in knowns if known.repo == repos.get(name)), knowns[0])


def _sentence(name: str, known: Known) -> str:
    words = list(dict.fromkeys(text for rule, text in _table()["words"].items() if rule in known.breaks))
    renamed = f" (there {known.name})" if name.rpartition("/")[2] != known.name.rpartition("/")[2] else ""
    told = f": {'; '.join(words[:_MOST_WORDS])}" if words else ""
    return f"{name} is {_span(known.repo, known.revisions)}{renamed}{told}"


def _span(repo: str, held: tuple[Revision, ...]) -> str:
    """The revisions in words: the first and the last where they follow upon each other, else how many lie between."""
    first, last = held[0], held[-1]
    if first == last:
        return f"{repo} {first.id[:_SHORT]}{_dated(first, 'of')}"
    gaps = "" if last.number - first.number + 1 == len(held) else ", not all between"
    return f"{repo} {first.id[:_SHORT]} .. {last.id[:_SHORT]}{_dated(first, 'from')}{gaps}"


def _dated(revision: Revision, word: str) -> str:
    """The day of a commit, or that of the last one before it whose day is known."""
    if revision.date:
        return f" ({word} {revision.date})"
    earlier = [other.date for other in _revisions(revision.repo)[: revision.number] if other.date]
    return f" (after {earlier[-1]})" if earlier else ""


def _counted(files: tuple[str, ...]) -> str:
    return f"{files[0]} is of" if len(files) == 1 else f"all {len(files)} recognised files are of"


def _version(item: tuple[str, Limit]) -> tuple[int, ...]:
    return tuple(int(part) for part in item[0].lstrip("<>!=").split(".") if part != "*")


__all__ = [
    "FileDigest", "Known", "Limit", "Part", "Recognition", "Revision", "Supported", "describe", "recognise", "repositories", "revisions",
    "supported_transformers",
]  # fmt: skip
