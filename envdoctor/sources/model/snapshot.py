"""A model directory, read once: its configuration files and the headers of its weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Defect
from envdoctor.files.json_file import CONFIG_LIMIT, Document, JsonError, parse_json, parsed_bytes
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field
from envdoctor.sources.model.model_directory import ModelDirectory, is_lfs_pointer
from envdoctor.sources.model.weights import Weights, read_weights

DOCUMENTS = 32 * 2**20
"""Bytes that the JSON files may take once parsed, by the bound of ``parsed_bytes``, beside what the headers of the weights leave over."""


@dataclass(slots=True)
class Snapshot:
    """The parsed files of one directory. ``defects`` and the directory's skips grow as more of them are asked for."""

    directory: ModelDirectory
    config: Document
    weights: Weights = field(default_factory=lambda: Weights("none"))
    defects: list[Defect] = field(default_factory=list)
    _documents: dict[str, Document | None] = field(default_factory=dict)
    _held: int = 0

    @property
    def generation(self) -> Document | None:
        return self.document("generation_config.json")

    @property
    def tokenizer(self) -> Document | None:
        return self.document("tokenizer_config.json")

    def document(self, name: str, limit: int = CONFIG_LIMIT) -> Document | None:
        """A file that holds a JSON object; None where it is absent, skipped, or no JSON object, which is a defect."""
        if name not in self._documents:
            self._documents[name] = self._read(name, limit)
        return self._documents[name]

    def table(self, name: str) -> Mapping[str, object]:
        """The object of a file; empty where there is none that could be read."""
        return table_of(self.document(name))

    def _read(self, name: str, limit: int) -> Document | None:
        data = self.directory.read(name, limit) if name in self.directory.names else None
        if data is None or is_lfs_pointer(data):
            return None
        needed = parsed_bytes(data)
        if needed + self._held > DOCUMENTS + self.weights.memory:
            self.directory.skip(name, f"{len(data)} bytes of JSON that would fill the memory once parsed")
            return None
        self._held += needed
        try:
            document = parse_json(data, None)
        except JsonError as error:
            detail = f"found {error.found} in column {error.column}; expected {error.expected}"
            self.defects.append(Defect("snapshot-json-invalid", detail, self.directory.place(name), error.line))
            return None
        if not isinstance(document.value, dict):
            detail = f"found a JSON {_kind(document.value)}; expected a JSON object"
            self.defects.append(Defect("snapshot-json-invalid", detail, self.directory.place(name), 1))
            return None
        if document.byte_order_mark:
            self.defects.append(_marked(self.directory, name))
        return document


def read_snapshot(path: Path) -> Snapshot:
    """Read a model directory: config.json, what there is of weights, and the rest when it is asked for.

    Raises:
        EnvdoctorError: no directory, no config.json in it, or one that cannot be read as a JSON object.
    """
    try:
        directory = ModelDirectory(path)
    except OSError as error:
        raise EnvdoctorError(
            plain(str(path)), found=error.strerror or type(error).__name__, expected="a model directory", next_step="check the path"
        ) from None
    config = _config(directory)
    snapshot = Snapshot(directory, config)
    snapshot._documents["config.json"] = config
    if config.byte_order_mark:
        snapshot.defects.append(_marked(directory, "config.json"))
    snapshot.weights = read_weights(directory, tied=_is_tied(table_of(config)))
    return snapshot


def _is_tied(config: Mapping[str, object]) -> bool:
    """Whether the output layer is said to be the embedding; of several kinds of input the model's own word counts first."""
    inner = text_config(config)
    return config.get("tie_word_embeddings", inner.get("tie_word_embeddings")) is True


def table_of(document: Document | None) -> Mapping[str, object]:
    """The object that a document holds; empty for none."""
    return document.value if document is not None and isinstance(document.value, dict) else {}


def text_config(config: Mapping[str, object]) -> Mapping[str, object]:
    """The configuration of the language model inside one of several kinds of input; empty where there is none."""
    for key in ("text_config", "llm_config"):
        table = config.get(key)
        if isinstance(table, dict):
            return table
    return {}


def _config(directory: ModelDirectory) -> Document:
    place = directory.place("config.json")
    data = directory.read("config.json")
    if data is None:
        why = next((skip.why for skip in directory.skips if skip.what == place), None)
        raise EnvdoctorError(
            plain(str(directory.path)) if why is None else place,
            found="a directory that is no model: it has no config.json" if why is None else why,
            expected="a directory with config.json, as save_pretrained writes it",
            next_step="give the directory of the snapshot itself; check also takes a project's folder, with scripts or requirements.txt"
            if why is None
            else "put a readable config.json there",
        )
    return required_object(directory, "config.json", data, next_step="download it again")


def required_object(directory: ModelDirectory, name: str, data: bytes, *, next_step: str) -> Document:
    """The JSON object of a file that its directory is nothing without.

    Raises:
        EnvdoctorError: no JSON object, or one that would fill the memory.
    """
    place = directory.place(name)
    if parsed_bytes(data) > 2 * DOCUMENTS:
        found = f"{len(data)} bytes of JSON that would fill the memory once parsed"
        raise EnvdoctorError(place, found=found, expected="a configuration", next_step=next_step)
    try:
        document = parse_json(data, None)
    except JsonError as error:
        pointer = is_lfs_pointer(data)
        raise EnvdoctorError(
            f"{place}, line {error.line}, column {error.column}",
            found="a git-lfs pointer, not the file" if pointer else error.found,
            expected=error.expected,
            next_step="git lfs pull" if pointer else f"correct the file, or {next_step}",
        ) from None
    if not isinstance(document.value, dict):
        raise EnvdoctorError(place, found=f"a JSON {_kind(document.value)}", expected="a JSON object", next_step=next_step)
    return document


def _marked(directory: ModelDirectory, name: str) -> Defect:
    detail = "the file begins with a byte order mark, which transformers' JSON reader refuses"
    return Defect("snapshot-json-invalid", detail, directory.place(name), 1)


def _kind(value: object) -> str:
    return {list: "list", str: "text", bool: "boolean", type(None): "null"}.get(type(value), "number")
