"""The rules at hand: found, read, and kept in a compiled form so that a run loads them in milliseconds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import adler32, crc32

from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.files.json_file import UnreadableError
from envdoctor.files.kept import state_of
from envdoctor.files.own import read_own
from envdoctor.files.paths import is_dir, is_file, real_path, why_missing
from envdoctor.files.text import plain
from envdoctor.files.toml import read_toml
from envdoctor.files.user_cache import cache_directory
from envdoctor.records import dataclass, field
from envdoctor.rules.awaited import patterns_of
from envdoctor.rules.outlines import Outlines
from envdoctor.rules.rule import Rule, parse_rule
from envdoctor.rules.stored import FORMAT, read_stored, store
from envdoctor.rules.tables import needs

# What a run does not need: the proof of a rule is read by `rules lint` alone.
_PROOF = ("case", "boundary", "reproduction")
_MOST_COMPILED = 64 * 2**20
_MOST_REMEMBERED = 4
_LAST: dict[str, dict[str, Any]] = {}
# What is read out of the rules when they are compiled.
_READING = tuple(os.path.join(os.path.dirname(__file__), *part) for part in (("awaited.py",), ("..", "facts", "old_spellings.py")))


@dataclass(frozen=True, slots=True)
class Rulebook:
    """All rules, ordered by id, with a digest of the files that they were read from.

    ``rules`` are outlines: what matching needs. A run tells of few rules, and only these are read in full.
    ``tables`` has every rule by its id.
    """

    rules: Outlines = field(compare=False)
    digest: str
    tables: Mapping[str, tuple[str, Mapping[str, Any]]]
    _whole: dict[str, Rule] = field(default_factory=dict, compare=False, repr=False)

    def find(self, name: str) -> Rule | None:
        """The rule of that id, in full; an alias keeps working."""
        known = name if name in self.tables else next((rule.id for rule in self.rules if name in rule.aliases), None)
        return None if known is None else self.whole(known)

    def knows(self, name: str) -> bool:
        """Whether this is the id of a rule, or was once: also of one that cannot hold here."""
        return name in self.tables or any(name in table.get("aliases", ()) for _, table in self.tables.values())

    def whole(self, name: str) -> Rule:
        """The rule of that id with its cures and its evidence."""
        found = self._whole.get(name)
        if found is None:
            place, table = self.tables[name]
            found = self._whole[name] = parse_rule(table, place)
        return found


def shipped_rules() -> Path:
    """The directory of the rules that come with envdoctor: inside the wheel, or beside the sources."""
    package = Path(__file__).parent.parent
    inside = package / "_rules"
    return inside if is_dir(inside) else package.parent / "rules"


def load_rulebook(extra: Iterable[Path] = (), *, absent: Callable[[str], bool] | None = None) -> Rulebook:
    """The shipped rules and those of other directories.

    ``absent`` tells packages (by their normalised names) that are known not to be there: rules that need one of them
    cannot hold, and are no part of ``rules``.

    Raises:
        EnvdoctorError: a rule file that cannot be read, with every error found in any of them;
            an id that two files claim.
    """
    absent_ones: set[str] = set()
    by_id: dict[str, tuple[str, Mapping[str, Any]]] = {}
    digests = []
    errors: list[EnvdoctorError] = []
    for directory in (shipped_rules(), *extra):
        try:
            found, cache = _compiled(directory)
        except SeveralErrors as several:
            errors.append(several)
            continue
        digests.append(found["digest"])
        before = len(errors)
        for place, table in found["rules"]:
            name = table.get("id")
            # Read in full once; what is kept of it is taken on trust.
            if cache is not None or not isinstance(name, str):
                try:
                    parse_rule(table, place)
                except EnvdoctorError as error:
                    errors.append(error)
                    continue
            if name in by_id:
                errors.append(_twice(place, name))
            elif absent is not None and any(absent(package) for package, _ in needs(table)):
                absent_ones.add(name)
            by_id[name] = (place, table)
        if cache is not None and len(errors) == before:
            _keep(cache, found)
    if errors:
        raise SeveralErrors([one for error in errors for one in getattr(error, "errors", (error,))])
    digest = digests[0] if len(digests) == 1 else _joined(digests)
    rules = Outlines([by_id[name] for name in sorted(by_id) if name not in absent_ones])
    return Rulebook(rules, f"sha256:{digest}", by_id)


def _joined(digests: Iterable[str]) -> str:
    import hashlib

    return hashlib.sha256("".join(digests).encode()).hexdigest()


def awaited_patterns(extra: Iterable[Path] = ()) -> Iterator[str]:
    """The patterns of a script's uses that the shipped rules and those of other directories wait for.

    Raises:
        EnvdoctorError: a rule file that cannot be read.
    """
    for directory in (shipped_rules(), *extra):
        yield from _compiled(directory)[0]["awaited"]


def reproductions_of(book: Rulebook, names: Iterable[str], extra: Iterable[Path] = ()) -> dict[str, Mapping[str, Any]]:
    """The ``[reproduction]`` of each of the rules that has one, as the wheel keeps it, else out of the rule's file."""
    kept = shipped_rules() / "reproductions.json"
    data = _read_shipped(kept) if is_file(kept) else None
    found = {} if data is None else {name: table for name, table in json.loads(data).items() if isinstance(table, dict)}
    homes = {directory.name: directory.parent for directory in (*extra, shipped_rules())}
    told: dict[str, Mapping[str, Any]] = {}
    for name in names:
        place = book.tables[name][0] if name in book.tables else ""
        path = homes.get(place.partition("/")[0], Path()) / place
        table = found.get(name) or (read_toml(path).get("reproduction") if place and is_file(path) else None)
        if isinstance(table, dict):
            told[name] = table
    return told


def _twice(place: str, name: str) -> EnvdoctorError:
    return EnvdoctorError(f"{place}: id", found=f"{name!r}, which another rule has", expected="an id of its own", next_step="rename it")


def rule_files(directory: Path, *, may_be_empty: bool = False) -> list[Path]:
    """Every rule file below the directory, in a stable order.

    Raises:
        EnvdoctorError: no such directory, one that cannot be read, or no rule file in it.
    """
    place, expected, next_step = plain(str(directory), 4096), "a directory of rule files", "check the path"
    if not is_dir(directory):
        raise EnvdoctorError(place, found=why_missing(directory), expected=expected, next_step=next_step)

    def refuse(error: OSError) -> None:
        found = (error.strerror or type(error).__name__).lower()
        raise EnvdoctorError(plain(error.filename or place, 4096), found=found, expected=expected, next_step=next_step) from error

    walk = os.walk(directory, onerror=refuse)
    found = [path for folder, _, names in walk for name in names if name.endswith(".toml") and not is_dir(path := Path(folder, name))]
    if not found and not may_be_empty:
        raise EnvdoctorError(place, found="no rule file", expected=expected, next_step=next_step)
    return sorted(found, key=lambda path: path.relative_to(directory).as_posix())


def compile_rules(directory: Path) -> dict[str, Any]:
    """The rule files of a directory as one table, without their proofs: what the cache and the wheel keep.

    The confidence of a rule is what its ledger shows of what it claims.

    Raises:
        SeveralErrors: with every file that cannot be read as TOML, and every ledger that cannot be read.
    """
    import hashlib

    from envdoctor.rules.ledger import proven  # only where rules are compiled: a run mostly finds them so

    digest = hashlib.sha256()
    tables: list[tuple[str, dict[str, Any]]] = []
    errors = []
    for path in rule_files(directory):
        name = path.relative_to(directory).as_posix()
        try:
            table = read_toml(path)
            confidence = proven(table, path)
        except EnvdoctorError as error:
            errors.append(error)
            continue
        digest.update(
            f"{name}\0".encode("utf-8", "surrogateescape") + path.read_bytes() + f"\0{confidence}\0".encode("utf-8", "surrogateescape")
        )
        kept = {key: value for key, value in table.items() if key not in _PROOF}
        tables.append((f"{directory.name}/{name}", kept | {"confidence": confidence} if "confidence" in kept else kept))
    if errors:
        raise SeveralErrors(errors)
    awaited = list(dict.fromkeys(pattern for _, table in tables for pattern in patterns_of(table)))
    return {"digest": digest.hexdigest(), "rules": tables, "awaited": awaited}


def _compiled(directory: Path) -> tuple[dict[str, Any], Path | None]:
    """The compiled rules of a directory; and where to keep them, when they were compiled just now."""
    # The wheel carries the shipped rules compiled. A pack of somebody's is compiled outside itself: its TOML is what counts.
    built = directory / "compiled.json"
    if directory == shipped_rules() and is_file(built):
        label = f"{built} {state_of(str(built))}"
        found = _LAST.get(label) or _read_stored(_read_shipped(built))
        if found is not None:
            _remember(label, found)
            return found, None
    cache = cache_directory() / f"rules-{_stamp(directory)}.json"
    found = _LAST.get(str(cache)) or _read_stored(_read_kept(cache))
    if found is None:
        return compile_rules(directory), cache
    _remember(str(cache), found)
    return found, None


def _remember(label: str, found: dict[str, Any]) -> None:
    """What was loaded last: a run asks for the rules, and for what they wait for in a script."""
    if label not in _LAST:
        if len(_LAST) >= _MOST_REMEMBERED:
            _LAST.clear()
        _LAST[label] = found


def _read_shipped(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _read_kept(path: Path) -> bytes | None:
    try:
        return read_own(path, _MOST_COMPILED)
    except UnreadableError:
        return None


def _read_stored(data: bytes | None) -> dict[str, Any] | None:
    return None if data is None else read_stored(data)


def _keep(cache: Path, compiled: dict[str, Any]) -> None:
    """Keep the compiled form for the next run; a cache that cannot be written only costs time."""
    part = cache.with_name(f"{cache.name}.{os.getpid()}")
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(store(compiled))
        part.replace(cache)
        for old in sorted(cache.parent.glob("rules-*.json"), key=lambda path: path.stat().st_mtime)[:-8]:
            old.unlink(missing_ok=True)
    except OSError:
        return


def _stamp(directory: Path) -> str:
    """Changes whenever a rule file or a ledger is added, removed, renamed or written."""
    made_by = [state_of(file) for file in _READING]
    text = "".join((f"{FORMAT}{made_by}{real_path(directory)}", *sorted(_stats(directory)))).encode("utf-8", "surrogateescape")
    # It tells one writing of the user's own files from the next: no cryptography, whose import costs as much as all the rest of this.
    return f"{crc32(text):08x}{adler32(text):08x}{len(text) & 0xFFFFFFFF:08x}"


def _stats(directory: Path) -> Iterator[str]:
    pending = [str(directory)]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except (OSError, ValueError) as error:
            found = getattr(error, "strerror", None) or "a name that no file can have"
            raise EnvdoctorError(
                plain(str(directory), 4096), found=found.lower(), expected="a directory of rule files", next_step="check the path"
            ) from error
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.name.endswith((".toml", ".ledger.json")):
                yield f"{entry.path}\0{_state(entry)}\n"


def _state(entry: os.DirEntry[str]) -> str:
    try:
        stat = entry.stat()
    except OSError as error:  # a dangling link: reading it tells the user
        return str(error.strerror)
    return f"{stat.st_size}\0{stat.st_mtime_ns}"
