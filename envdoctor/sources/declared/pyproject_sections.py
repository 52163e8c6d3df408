"""What a ``pyproject.toml`` states, in whoever's words, gathered as requirements with lines: always, by extra, by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.facts.fact import Fact, Origin
from envdoctor.facts.names import canonical
from envdoctor.facts.values import parse_value
from envdoctor.records import dataclass, field
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.locks import kind_of
from envdoctor.sources.declared.package_index import cuda_of_index
from envdoctor.sources.declared.project_extras import Stated
from envdoctor.sources.declared.toml_document import TomlDocument, table_of, text_of

_MOST_ENTRIES = 20_000


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment of a tool's own: with the project and some of its extras and groups, or without it."""

    label: str
    requirements: list[Stated]
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    alone: bool = False


@dataclass(slots=True)
class Sections:
    """The requirements of one project. ``stated`` takes what cannot be read; names of extras and groups are as written."""

    document: TomlDocument
    stated: Declarations
    name: str = ""
    base: list[Stated] = field(default_factory=list)
    extras: dict[str, list[Stated]] = field(default_factory=dict)
    groups: dict[str, list[Stated]] = field(default_factory=dict)
    environments: list[Environment] = field(default_factory=list)
    constraints: list[Stated] = field(default_factory=list)
    overrides: dict[str, list[Stated]] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    sources: dict[str, list[tuple[Mapping[str, object], int | None]]] = field(default_factory=dict)
    indexes: dict[str, str] = field(default_factory=dict)
    # The requirements files that the build back end is told to take the dependencies from, by the extra that they are for.
    followed: list[tuple[str, str, int | None]] = field(default_factory=list)

    def table(self, *keys: str) -> Mapping[str, object]:
        """A table of the file, empty where it is not there; one that is something else is a defect."""
        value: object = self.document.table
        for place, key in enumerate(keys):
            value = table_of(value).get(key, {})
            if not isinstance(value, dict):
                self.wrong(value, "a table", *keys[: place + 1])
                return {}
        return table_of(value)

    def rows(self, *keys: str | int, owner: Mapping[str, object]) -> list[Stated]:
        """The requirements in a list of texts; ``owner`` is the table that holds it under the last key."""
        value = owner.get(str(keys[-1]), [])
        if not isinstance(value, list):
            self.wrong(value, "a list of requirements", *keys)
            return []
        found = []
        for place, item in enumerate(value[:_MOST_ENTRIES]):
            if isinstance(item, str):
                found.append(self.text(item, *keys, place))
            else:
                self.wrong(item, "a requirement as text", *keys, place)
        return found

    def text(self, text: str, *keys: str | int) -> Stated:
        return Stated(text, self.document.file, self.document.line(*keys))

    def read_indexes(self, *keys: str) -> None:
        """Named package indexes, ``[[tool.uv.index]]`` and ``[[tool.poetry.source]]``."""
        rows = self.table(*keys[:-1]).get(keys[-1])
        for row in rows if isinstance(rows, list) else []:
            self.indexes[text_of(table_of(row).get("name"))] = text_of(table_of(row).get("url"))

    def wrong(self, value: object, expected: str, *keys: str | int) -> None:
        """A value of a kind that it cannot be."""
        told = ".".join(str(key) for key in keys if isinstance(key, str))
        detail = f"{told}: found {kind_of(value)}, expected {expected}"
        self.stated.defect("requirement-malformed", detail, self.document.file, self.document.line(*keys))

    def skip(self, why: str, *keys: str | int) -> None:
        self.stated.skip(self.document.place(*keys), why)

    def source_of(self, name: str, choice: str) -> Stated | None:
        """The requirement that uv puts in a package's place, if it takes it from no index; ``choice`` is the extra or group asked for."""
        for row, line in self._sources(name, choice):
            text = direct_requirement(name, row)
            if text is not None:
                return Stated(text, self.document.file, line)
        return None

    def say_cuda(self, stated: Declarations, choice: str) -> None:
        """The CUDA of the torch that an index of PyTorch's holds, where torch is taken from it alone."""
        for row, line in self._sources("torch", choice):
            cuda = cuda_of_index(self.indexes.get(text_of(row.get("index")), ""))
            if cuda is not None and stated.installation.environment()["sys_platform"] != "darwin":
                stated.say(Fact("cuda", parse_value("cuda", cuda), Origin(self.document.file, self.document.file, line)))
                return

    def _sources(self, name: str, choice: str) -> Iterator[tuple[Mapping[str, object], int | None]]:
        for row, line in self.sources.get(canonical(name), ()):
            wanted = text_of(row.get("extra")) or text_of(row.get("group"))
            if wanted in ("", choice) and self.applies(text_of(row.get("marker"))):
                yield row, line

    def applies(self, marker: str) -> bool:
        """Whether a marker holds here; one that cannot be read does not."""
        from packaging.markers import Marker

        try:
            return not marker or self.stated.installation.applies(Marker(marker))
        except (ValueError, RecursionError):
            return False


def direct_requirement(name: str, table: Mapping[str, object]) -> str | None:
    """A package that a table takes from a repository, a URL or a path, in the words of PEP 508; None where it is taken from an index."""
    git, url = text_of(table.get("git")), text_of(table.get("url"))
    path = text_of(table.get("path")) or text_of(table.get("file")) or ("./" if table.get("workspace") is True else "")
    if git:
        revision = next((text for key in ("rev", "tag", "branch") if (text := text_of(table.get(key)))), "")
        address = f"{'' if git.startswith('git') else 'git+'}{git}{f'@{revision}' if revision else ''}"
    elif url:
        address = url
    elif path:
        address = path if "/" in path else f"./{path}"
    else:
        return None
    return f"{name} @ {address.strip().replace(' ', '%20')}"
