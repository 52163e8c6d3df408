"""What a target is, and what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, Origin, Skip
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.paths import exists, is_dir, is_file, is_link, why_missing
from envdoctor.records import dataclass, replace
from envdoctor.sources.declared.readers import NAMED, FileKind, find_reader
from envdoctor.sources.readers import READERS

if TYPE_CHECKING:
    from envdoctor.sources.declared.variant import Variant
    from envdoctor.sources.model.adapter import Adapter
    from envdoctor.sources.model.snapshot import Snapshot
    from envdoctor.world.installation import Installation

Kind: TypeAlias = "FileKind | Literal['model']"
# Files that only mean something beside the others of their model.
_OF_A_MODEL = frozenset(
    ("config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json", "special_tokens_map.json", "added_tokens.json",
     "preprocessor_config.json", "processor_config.json", "adapter_config.json", "chat_template.json", "configuration.json",
     "model.safetensors.index.json", "pytorch_model.bin.index.json", "quantize_config.json", "vocab.json")
)  # fmt: skip
_IDENTITY = ("model.type", "model.architecture", "model.family")
# Names by which people call a list of requirements, a conda environment or a Dockerfile.
_DECLARING = re.compile(
    r"[^/]*(?:requirements?|constraints?)[^/]*\.(?:txt|in|pip)|environment[^/]*\.ya?ml|(?:Dockerfile|Containerfile)(?:\.[^/]+)?",
    re.IGNORECASE,
)
_BLANK_BYTES = 4096
# What ends so is a file that is not there, and no repository of the hub.
_FILES = (".cfg", ".in", ".ipynb", ".json", ".lock", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True)
class Target:
    """One target as read: its kind decides whether the installed stack is still asked.

    ``others`` are the choices that it offers beside what is always there. ``folder`` is what a report calls the project that it is one
    of many files of.
    """

    text: str
    kind: Kind
    collected: Collected
    snapshot: Snapshot | None = None
    adapter: Adapter | None = None
    others: tuple[Variant, ...] = ()
    folder: str = ""

    @property
    def recognised(self) -> bool:
        """Whether it is of a known kind and nothing could be told of it: said, and no reason to refuse the run."""
        return self.kind != "model" and not self.collected.facts and bool(self.collected.skips or self.collected.defects)


def read_target(text: str, installation: Installation | None = None) -> Target:
    """Tell a target by what it is and read it; ``installation`` is what the markers of requirements are evaluated for.

    Raises:
        EnvdoctorError: no such path, a directory that is no model, a file of no known kind,
            or one that cannot be used at all.
    """
    path = Path(text)
    if is_dir(path):
        return _model(text, path)
    if is_file(path):
        return _read_file(path, text, installation)
    if exists(path) or is_link(path):
        raise EnvdoctorError(
            text, found="neither a file nor a directory", expected="a target that can be read", next_step="check what it links to"
        )
    if _HUB_ID.fullmatch(text) and path.suffix.lower() not in _FILES:
        return _from_hub_cache(text)
    raise EnvdoctorError(
        text,
        found=why_missing(path),
        expected="a model directory, a hub id, a requirements file or a training plan",
        next_step="check the path",
    )


def _read_file(path: Path, text: str, installation: Installation | None) -> Target:
    reader = find_reader(path, READERS)
    if reader is None:
        raise EnvdoctorError(
            text,
            found=f"a file of no known kind ({path.suffix or 'no suffix'})",
            expected="requirements, a manifest, a lock, a Dockerfile, a training plan or a training script",
            next_step="give facts as --facts FILE, a model as its directory; docs/inputs.md lists what is read",
        )
    if reader.kind == "plan" and path.name in _OF_A_MODEL:
        return Target(text, "plan", Collected(skips=(Skip(text, "a file of a model: give the model's directory", lost=True),)))
    first, *others = reader.read(path, installation)
    collected = first.collected
    if not collected.facts and not others and _is_blank(path):
        collected = replace(collected, skips=(Skip(text, "an empty file", lost=True),))
    return Target(text, reader.kind, collected, others=tuple(others))


def _is_blank(path: Path) -> bool:
    """Whether nothing but blanks is in a file."""
    try:
        return not read_bounded(path, _BLANK_BYTES).strip()
    except UnreadableError:
        return False


def is_named_for_us(text: str) -> bool:
    """Whether a file's name alone says that it declares packages."""
    name = Path(text).name
    return any(reader.named is not None and re.fullmatch(reader.named, name) for reader in NAMED) or bool(_DECLARING.fullmatch(name))


def _model(text: str, path: Path, *facts: Fact) -> Target:
    if is_file(path / "adapter_config.json"):
        from envdoctor.sources.model.adapter import adapter_facts, is_adapter, read_adapter

        if is_adapter(path):
            adapter = read_adapter(path)
            return Target(text, "model", adapter_facts(adapter), adapter=adapter)
    from envdoctor.sources.model.snapshot import read_snapshot
    from envdoctor.sources.model.snapshot_facts import snapshot_facts

    snapshot = read_snapshot(path)
    found = snapshot_facts(snapshot)
    if not any(fact.name in _IDENTITY for fact in found.facts):
        why = "its config.json names neither model_type nor architectures: which model it is, nobody can tell"
        found = replace(found, skips=(*found.skips, Skip(text, why, lost=True)))
    return Target(text, "model", replace(found, facts=(*facts, *found.facts)), snapshot)


def _from_hub_cache(identity: str) -> Target:
    """A hub id: what the local hub cache holds of it; the network is never asked."""
    from huggingface_hub import try_to_load_from_cache

    named = Fact("model.id", identity, Origin(identity))
    config = try_to_load_from_cache(identity, "config.json")
    if not isinstance(config, str):
        skip = Skip(identity, "not in the local hub cache; the network was not asked", lost=True)
        return Target(identity, "model", Collected((named,), skips=(skip,)))
    return _model(identity, Path(config).parent, named)
