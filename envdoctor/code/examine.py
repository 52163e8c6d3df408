"""A snapshot's code against the library that will run it: every finding with its file and line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from envdoctor.checks.hit import Hit
from envdoctor.code.context import context_of, unique
from envdoctor.code.history import History, load_history
from envdoctor.code.imports import missing_imports
from envdoctor.code.library import InstalledLibrary, Library
from envdoctor.code.members import missing_members
from envdoctor.code.overrides import overrides
from envdoctor.code.pinned import PinnedLibrary
from envdoctor.code.remote import RemoteCode
from envdoctor.facts.fact import Facts
from envdoctor.files.paths import is_file
from envdoctor.sources.model.model_directory import ModelDirectory

GATE = "remote-code-gate-minor-only"
_MODELS = ("AutoModelForCausalLM", "AutoModel", "AutoModelForSeq2SeqLM", "AutoModelForImageTextToText", "AutoModelForVision2Seq")


def entries_of(*auto_maps: object, models: bool = True) -> tuple[str, ...]:
    """The ``module.Class`` names of the auto_map tables; classes for other tasks only where there is none for language modelling.

    Without ``models`` those that a tokenizer's or a configuration's load takes.
    """
    found: dict[str, None] = {}
    for auto_map in auto_maps:
        table = {"AutoTokenizer": auto_map} if isinstance(auto_map, list) else auto_map
        if not isinstance(table, Mapping):
            continue
        language = any(kind in _MODELS for kind in table)
        for kind, value in table.items():
            if str(kind).startswith("AutoModel") and not models:
                continue
            if language and str(kind).startswith("AutoModel") and kind not in _MODELS:
                continue
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, str) and "." in item:
                    found[item] = None
    return tuple(found)


def library_for(
    release: str | None, site_dirs: Sequence[Path] = (), releases: Mapping[str, str] | None = None, cache: Path | None = None
) -> InstalledLibrary | PinnedLibrary | None:
    """The transformers to compare with: as installed in site directories, else as the bundled table knows the release.

    ``release`` is the one version that is known, ``releases`` those of all packages in the site directories. None where
    nothing is known of either.
    """
    if release is not None and any(is_file(root / "transformers" / "__init__.py") for root in site_dirs):
        return InstalledLibrary(site_dirs, {**(releases or {}), "transformers": release}, cache)
    pinned = None if release is None else PinnedLibrary(release, load_history())
    return pinned if pinned is not None and pinned.known() else None


def examine(
    directory: ModelDirectory,
    entries: Sequence[str],
    library: Library,
    settings: Mapping[str, object] | None = None,
    facts: Facts | None = None,
    history: History | None = None,
) -> tuple[Hit, ...]:
    """What of the snapshot's code the library will refuse.

    ``entries`` are those of ``entries_of``; ``settings`` is config.json; ``facts`` tell whether the run generates,
    tokenizes and recomputes activations. What cannot be read is a skip of the directory, what cannot be told from the
    source of both sides is not reported.
    """
    code = RemoteCode(directory, entries, library.releases)
    told = load_history() if history is None else history
    context = context_of(code, entries, library, told, settings or {}, Facts() if facts is None else facts)

    def found() -> Iterator[Hit]:
        yield from missing_imports(context)
        yield from missing_members(context)
        yield from overrides(context)
        for module in code.modules.values():
            for line, package, number in module.minor_gates:
                words = f"only the second number of the release is compared: {package} {context.release} is taken for one before 4.{number}"
                yield context.hit(GATE, module, line, f"{package}.__version__", words)

    return tuple(unique(found()))
