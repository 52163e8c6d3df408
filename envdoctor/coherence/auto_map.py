"""Where the code of a snapshot comes from: its own directory, another repository, or nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Defect, Facts
from envdoctor.facts.uses import CODE_USES, FIXES_THE_COMMIT, list_meant
from envdoctor.files.text import plain
from envdoctor.sources.model.snapshot import Snapshot

_NAMES = ("config.json", "tokenizer_config.json", "preprocessor_config.json", "processor_config.json")
_MOST = 64


def code_elsewhere(snapshot: Snapshot, facts: Facts) -> Iterator[Defect]:
    """``owner/name--module.Class``: transformers runs the code of that repository, at its newest commit.

    A module of the same name in the directory is not used then: get_class_from_dynamic_module of transformers. Where nobody trusts it, and
    where a commit is asked for, nothing is fetched of which this would be true.
    """
    uses = facts.value(CODE_USES)
    if facts.value("plan.trust_remote_code") is False or (isinstance(uses, tuple) and list_meant(FIXES_THE_COMMIT, uses)):
        return
    for name in _NAMES:
        found: dict[str, list[str]] = {}
        for key, reference in _references(snapshot, name):
            repository, dashes, _ = reference.partition("--")
            if dashes:
                found.setdefault(repository, []).append(key)
        document = snapshot.document(name)
        for repository, keys in found.items():
            detail = f"auto_map takes the code for {_listed(keys)} from {plain(repository, 120)}, at whatever its newest commit is"
            line = None if document is None else document.line_of("auto_map")
            yield Defect("snapshot-code-elsewhere", detail, snapshot.directory.place(name), line)


def code_missing(snapshot: Snapshot, facts: Facts) -> Iterator[Hit]:
    """A module that auto_map names and the directory lacks; nobody misses it where transformers' own class is used."""
    trusted = True if facts.text("model.type") == "chatglm" else facts.value("plan.trust_remote_code")
    if trusted is False:
        return
    for name in _NAMES:
        lacking: dict[str, list[str]] = {}
        for key, reference in _references(snapshot, name):
            module, dot, _ = reference.rpartition(".")
            if "--" not in reference and dot and module.isidentifier() and f"{module}.py" not in snapshot.directory.names:
                lacking.setdefault(f"{module}.py", []).append(key)
        document = snapshot.document(name)
        for file, keys in lacking.items():
            detail = f"{plain(file, 120)}, which auto_map names for {_listed(keys)}, is not there"
            line = None if document is None else document.line_of("auto_map")
            yield Hit(
                "snapshot-remote-code-missing",
                True if trusted is True else None,
                because=(("model.remote_code", "auto_map names code"), ("plan.trust_remote_code", "it is run")),
                missing=() if trusted is True else ("plan.trust_remote_code",),
                detail=detail,
                file=snapshot.directory.place(name),
                line=line,
            )


CHECKS = (code_elsewhere, code_missing)


def _references(snapshot: Snapshot, name: str) -> Iterator[tuple[str, str]]:
    """The class references of a file's auto_map by key; a tokenizer has two of them, one of which may be null."""
    auto_map = snapshot.table(name).get("auto_map")
    if isinstance(auto_map, list):
        auto_map = {"AutoTokenizer": auto_map}
    if not isinstance(auto_map, dict):
        return
    for key, value in list(auto_map.items())[:_MOST]:
        for reference in value if isinstance(value, list) else [value]:
            if isinstance(reference, str):
                yield plain(key, 60), reference


def _listed(keys: list[str]) -> str:
    unique = list(dict.fromkeys(keys))
    shown = ", ".join(unique[:5])
    return shown if len(unique) <= 5 else f"{shown} and {len(unique) - 5} more"
