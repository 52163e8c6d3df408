"""A lock: what a snapshot was, as a TOML text that people and git read line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias, TypeVar

from envdoctor.errors import EnvdoctorError
from envdoctor.files.text import plain
from envdoctor.files.toml import parse_toml
from envdoctor.records import dataclass, field
from envdoctor.snapshot.manifest import Tensors
from envdoctor.snapshot.record import Record
from envdoctor.snapshot.tensors import Shard

FORMAT = 1
MOST_BYTES = 8 * 2**20

Stated: TypeAlias = "bool | int | float | str | tuple[str, ...]"
T = TypeVar("T")

_HEAD = """\
# What this snapshot was when it was locked. `envdoctor verify` compares with it, `envdoctor lock` writes it anew.
"""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_GIT = re.compile(r"[0-9a-f]{40}")
_SHORT = re.compile(r"[0-9a-f]{32}|")
_MARK = re.compile(rb'["\'\\]')
# The writer never makes more than one: in the name of a table, or in a number.
_MOST_DOTS = 8
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Lock:
    """``files`` by their names relative to the directory. ``facts``, ``stack`` and ``plan`` are values as a facts file states them:
    those of the model without ``model.``, packages and the machine by their full names, those of the plan without ``plan.``.
    """

    tool: str
    at: str
    files: Mapping[str, Record]
    tensors: Tensors = field(default_factory=Tensors)
    identity: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Stated] = field(default_factory=dict)
    stack: Mapping[str, Stated] = field(default_factory=dict)
    plan: Mapping[str, Stated] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(record.size for record in self.files.values())


def dump_lock(lock: Lock) -> str:
    """The text of a lock, always the same for the same lock: one line a file, one a field of its JSON files, one a function of its code."""
    return _HEAD + "\n".join(_lines(lock)) + "\n"


def _lines(lock: Lock) -> Iterator[str]:
    yield f"format = {FORMAT}"
    yield from _table("made", {"at": lock.at, "by": lock.tool})
    yield from _table("model", lock.identity)
    yield "\n[files]"
    for name in sorted(lock.files):
        yield f"{_key(name)} = {{ {', '.join(_file(lock.files[name]))} }}"
    if lock.tensors.count:
        whole = lock.tensors
        yield from _table("tensors", {"count": whole.count, "digest": whole.digest})
        yield from _table("tensors.elements", whole.elements)
        yield from _table("tensors.kinds", whole.kinds)
    for name in sorted(lock.files):
        fields = lock.files[name].fields
        if fields is not None:
            yield from _table(f"fields.{_key(name)}", fields)
    for name in sorted(lock.files):
        definitions = lock.files[name].definitions
        if definitions is not None:
            yield from _table(f"code.{_key(name)}", definitions)
    yield from _table("facts", lock.facts)
    yield from _table("stack", lock.stack)
    yield from _table("plan", lock.plan)
    yield from _table("left_out", lock.left_out)


def _table(name: str, values: Mapping[str, Stated]) -> Iterator[str]:
    # An empty table is written where it says more than its absence: the outline of `{}`.
    if values or name.startswith(("fields.", "code.")):
        yield f"\n[{name}]"
        for key in sorted(values):
            yield f"{_key(key)} = {_value(values[key])}"


def _file(record: Record) -> Iterator[str]:
    yield f"size = {record.size}"
    for key, digest in (("sha256", record.sha256), ("git", record.git_blob)):
        if digest is not None:
            yield f'{key} = "{digest}"'
    if record.shard is not None:
        shard = record.shard
        yield f'tensors = {shard.count}, tensors_digest = "{shard.tensors}", header = "{shard.header}"'
        if shard.elements:
            yield f"elements = {{ {', '.join(f'{_key(name)} = {shard.elements[name]}' for name in sorted(shard.elements))} }}"


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else _basic(text)


def _value(value: Stated) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    return _text(value)


def _text(text: str) -> str:
    return f"'{text}'" if '"' in text and "'" not in text and text.isprintable() else _basic(text)


def _basic(text: str) -> str:
    """A basic string, in which everything that a terminal would act on is an escape."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else _escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def parse_lock(data: bytes, place: str) -> Lock:
    """Read a lock. Tables that a later release may add are passed over.

    Raises:
        EnvdoctorError: no TOML, another format, a value of another kind than a lock has, or a name that leads out of the directory.
    """
    if len(data) > MOST_BYTES:
        raise EnvdoctorError(place, found=f"{len(data)} bytes", expected=f"a lock of at most {MOST_BYTES}", next_step=_AGAIN)
    for number, line in enumerate(data.split(b"\n"), start=1):
        found = _foreign(line)
        if found is not None:
            raise EnvdoctorError(f"{place}, line {number}", found=found, expected="a line of a lock", next_step=_AGAIN)
    return _Reader(parse_toml(data, place), place).lock()


def _foreign(line: bytes) -> str | None:
    """What in a line the writer never makes. TOML parsers take time with the square of the parts of a key, and a lock may come with
    a download; behind a text of several lines such a key can pass for quoted.
    """
    triple = b'"""' in line or b"'''" in line
    if not triple and line.count(b".") <= _MOST_DOTS:
        return None
    # By hand: a pattern for quoted texts takes a hundred times the memory of the text.
    quote, bare, escaped, dots = b"", 0, -1, 0
    for found in _MARK.finditer(line):
        mark, at = found[0], found.start()
        if not quote and mark != b"\\":
            if triple and 0 < at == bare:
                return "a text of several lines"
            dots += line.count(b".", bare, at)
            quote = mark
        elif mark == b"\\" and quote == b'"' and at != escaped:
            escaped = at + 1
        elif mark == quote and at != escaped:
            quote, bare = b"", at + 1
    dots += 0 if quote else line.count(b".", bare)
    return "a key of many parts" if dots > _MOST_DOTS else None


_AGAIN = "write it anew with envdoctor lock"


@dataclass(frozen=True, slots=True)
class _Reader:
    tree: Mapping[str, object]
    place: str

    def lock(self) -> Lock:
        found = self.tree.get("format")
        if found != FORMAT or isinstance(found, bool):
            what = "no format" if found is None else f"format = {plain(repr(found), 40)}"
            raise EnvdoctorError(self.place, found=what, expected=f"a lock with format = {FORMAT}", next_step=_AGAIN)
        made = self.table(self.tree, "made")
        tensors = self.table(self.tree, "tensors")
        elements = self.table(tensors, "elements")
        fields, code = self.table(self.tree, "fields"), self.table(self.tree, "code")
        if "files" not in self.tree:
            raise self.wrong("files", None, "a table of files")
        files = self.table(self.tree, "files")
        return Lock(
            tool=self.get(made, "made", "by", str, ""),
            at=self.get(made, "made", "at", str, ""),
            files={self.name(name): self.record(name, files, fields, code) for name in files},
            tensors=Tensors(
                count=self.count(tensors, "tensors", "count"),
                digest=self.digest(tensors, "tensors", "digest", _SHORT) or "",
                elements={dtype: self.count(elements, "tensors.elements", dtype) for dtype in elements},
                kinds=self.texts(tensors, "kinds"),
            ),
            identity=self.texts(self.tree, "model"),
            facts=self.stated("facts"),
            stack=self.stated("stack"),
            plan=self.stated("plan"),
            left_out=self.texts(self.tree, "left_out"),
        )

    def record(self, name: str, files: Mapping[str, object], fields: Mapping[str, object], code: Mapping[str, object]) -> Record:
        line = self.table(files, name)
        where = f"files.{plain(name, 80)}"
        header = self.digest(line, where, "header", _SHORT)
        shard = None
        if header is not None:
            counts = self.table(line, "elements")
            shard = Shard(
                header,
                self.digest(line, where, "tensors_digest", _SHORT) or "",
                self.count(line, where, "tensors"),
                {dtype: self.count(counts, f"{where}.elements", dtype) for dtype in counts},
            )
        if "size" not in line:
            raise self.wrong(f"{where}.size", None, "a number of bytes")
        record = Record(
            size=self.count(line, where, "size"),
            sha256=self.digest(line, where, "sha256", _SHA256),
            git_blob=self.digest(line, where, "git", _GIT),
            shard=shard,
            fields=self.texts(fields, name) if name in fields else None,
            definitions=self.texts(code, name) if name in code else None,
        )
        if record.sha256 is None:
            raise self.wrong(f"{where}.sha256", None, "the digest that the content is compared with")
        return record

    def name(self, name: str) -> str:
        parts = name.split("/")
        if not name or "\0" in name or any(part in ("", ".", "..") for part in parts):
            raise self.wrong("files", name, "names relative to the directory, that do not lead out of it")
        return name

    def wrong(self, where: str, found: object, expected: str) -> EnvdoctorError:
        shown = "nothing" if found is None else plain(repr(found), 80)
        return EnvdoctorError(f"{self.place}: {where}", found=shown, expected=expected, next_step=_AGAIN)

    def table(self, tree: Mapping[str, object], key: str) -> Mapping[str, object]:
        value = tree.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(plain(key, 80), value, "a table")
        return value

    def get(self, tree: Mapping[str, object], where: str, key: str, kind: type[T], default: T) -> T:
        value = tree.get(key, default)
        if type(value) is not kind:
            raise self.wrong(f"{where}.{plain(key, 80)}", value, {str: "a text", int: "a whole number"}.get(kind, kind.__name__))
        return value

    def count(self, tree: Mapping[str, object], where: str, key: str) -> int:
        value = self.get(tree, where, key, int, 0)
        if not 0 <= value < 2**64:
            raise self.wrong(f"{where}.{plain(key, 80)}", value, "a number from 0 on")
        return value

    def digest(self, tree: Mapping[str, object], where: str, key: str, form: re.Pattern[str]) -> str | None:
        if key not in tree:
            return None
        value = self.get(tree, where, key, str, "")
        if not form.fullmatch(value):
            raise self.wrong(f"{where}.{key}", value, "a digest in lower-case hex digits")
        return value

    def texts(self, tree: Mapping[str, object], key: str) -> dict[str, str]:
        table = self.table(tree, key)
        return {name: self.get(table, plain(key, 80), name, str, "") for name in table}

    def stated(self, key: str) -> dict[str, Stated]:
        found: dict[str, Stated] = {}
        for name, value in self.table(self.tree, key).items():
            if isinstance(value, list) and all(type(item) is str for item in value):
                found[name] = tuple(value)
            elif isinstance(value, (bool, int, float, str)):
                found[name] = value
            else:
                raise self.wrong(f"{key}.{plain(name, 80)}", value, "a text, a number, true or false, or a list of texts")
        return found
