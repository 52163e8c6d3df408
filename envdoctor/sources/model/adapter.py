"""An adapter directory as peft saves it: its configuration and the header of its weights."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Defect, Fact
from envdoctor.files.json_file import Document
from envdoctor.files.paths import exists, is_file
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field
from envdoctor.sources.model.merges import tokenizer_merges
from envdoctor.sources.model.model_directory import ModelDirectory, is_lfs_pointer
from envdoctor.sources.model.safetensors_header import Header, InvalidHeaderError, TooLargeError, TruncatedError, header_of
from envdoctor.sources.model.snapshot import required_object

CONFIG = "adapter_config.json"
WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
# What other libraries put beside a file of that name, and into it.
_OTHER_WEIGHTS = frozenset(("adapters.safetensors", "adapters.npz", "pytorch_adapter.bin", "adapter.safetensors"))
_OTHER_KEYS = frozenset(("fine_tune_type", "lora_parameters", "config_id", "model_class"))
_OF_A_MODEL = ("model", "pytorch_model", "consolidated", "tf_model", "flax_model")
# What a configuration beside an adapter says of the base as it lies elsewhere: nothing of how its weights are stored.
_OF_WEIGHTS = frozenset(
    ("model.path", "model.id", "model.weights_format", "model.dtype", "model.parameters", "model.adapter_fields", "model.quant_method",
     "model.adapter_vlm_layout")
)  # fmt: skip
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_MOST_FIELDS = 256
_SINCE_4_52 = "base_model.model.model.language_model."
_BEFORE_4_52 = "base_model.model.language_model.model."


@dataclass(slots=True)
class Adapter:
    """``weights`` is the file that peft would load, empty for none; ``header`` is there for a readable safetensors file."""

    directory: ModelDirectory
    config: Document
    weights: str = ""
    header: Header | None = None
    defects: list[Defect] = field(default_factory=list)

    @property
    def table(self) -> Mapping[str, object]:
        return self.config.value if isinstance(self.config.value, dict) else {}

    @property
    def kind(self) -> str:
        """peft_type, in capitals as peft writes it; empty where the file names none."""
        raw = self.table.get("peft_type")
        return raw if isinstance(raw, str) else ""

    @property
    def is_of_another_library(self) -> bool:
        """Whether a library that is not peft wrote it and calls its configuration the same: mlx-lm, mlx-vlm, AdapterHub's adapters."""
        theirs = not _OTHER_WEIGHTS.isdisjoint(self.directory.names) or not _OTHER_KEYS.isdisjoint(self.table)
        return theirs and not self.weights and not self.kind

    @property
    def base(self) -> str | None:
        """base_model_name_or_path: a hub id or a path, as it was called where the adapter was trained."""
        raw = self.table.get("base_model_name_or_path")
        return raw if isinstance(raw, str) and raw else None

    @property
    def base_is_hub_id(self) -> bool:
        return self.base is not None and _HUB_ID.fullmatch(self.base) is not None and not os.path.isdir(self.base)

    def defect(self, rule: str, detail: str, key: str = "") -> Defect:
        return Defect(rule, detail, self.directory.place(CONFIG), self.config.line_of(key) if key else None)


def is_adapter(path: Path) -> bool:
    """Whether a directory is an adapter alone: no weights of a model's own beside adapter_config.json.

    axolotl leaves the configuration of the base in every output_dir (save_initial_configs in train.py).
    """
    if not is_file(path / CONFIG):
        return False
    try:
        return not exists(path / "config.json") or not any(one.startswith(_OF_A_MODEL) for one in os.listdir(path))
    except OSError:
        return False


def read_adapter(path: Path) -> Adapter:
    """Read an adapter directory.

    Raises:
        EnvdoctorError: no directory, or no adapter_config.json in it that is a JSON object.
    """
    try:
        directory = ModelDirectory(path)
    except OSError as error:
        raise EnvdoctorError(
            plain(str(path)), found=error.strerror or type(error).__name__, expected="an adapter directory", next_step="check the path"
        ) from None
    return adapter_of(directory, _config(directory))


def adapter_of(directory: ModelDirectory, config: Document) -> Adapter:
    """The adapter of a directory whose adapter_config.json is read already."""
    adapter = Adapter(directory, config)
    for name in WEIGHTS:
        path = directory.locate(name) if name in directory.names else None
        if path is not None:
            adapter.weights = name
            _read_weights(adapter, name, path)
            break
    return adapter


def collect_adapter(path: Path) -> Collected:
    """As ``adapter_facts``, of a directory that is read for this alone."""
    return adapter_facts(read_adapter(path))


def adapter_facts(adapter: Adapter) -> Collected:
    """What an adapter says of the model that it is put on, and of itself."""
    facts = list(own_facts(adapter))
    if adapter.base_is_hub_id:
        line = adapter.config.line_of("base_model_name_or_path")
        facts.append(adapter.directory.fact("model.id", plain(adapter.base or ""), CONFIG, line))
    facts += _of_base(adapter)
    return Collected(tuple(facts), tuple(adapter.defects), tuple(adapter.directory.skips))


def _of_base(adapter: Adapter) -> Iterator[Fact]:
    """What the base's own configuration says, where a framework left it beside the adapter."""
    if "config.json" not in adapter.directory.names:
        return
    from envdoctor.sources.model.snapshot import read_snapshot
    from envdoctor.sources.model.snapshot_facts import snapshot_facts

    try:
        beside = snapshot_facts(read_snapshot(adapter.directory.path)).facts
    except EnvdoctorError:
        return
    yield from (fact for fact in beside if fact.name not in _OF_WEIGHTS)


def own_facts(adapter: Adapter) -> Iterator[Fact]:
    """The facts about the adapter alone."""
    fields = tuple(plain(key, 60) for key in list(adapter.table)[:_MOST_FIELDS])
    if fields and not adapter.is_of_another_library:
        yield adapter.directory.fact("model.adapter_fields", fields, CONFIG, 1)
    layout = vlm_layout(adapter)
    if layout is not None:
        yield adapter.directory.fact("model.adapter_vlm_layout", layout, adapter.weights)
    if "config.json" not in adapter.directory.names:
        yield from tokenizer_merges(adapter.directory)  # trainers save the tokenizer beside the adapter


def vlm_layout(adapter: Adapter) -> str | None:
    """Before or since transformers 4.52, by where the tensors' names have the language model; None where they do not tell.

    Qwen2-VL had its language model directly below ``model`` before, as a model of text alone has it: its vision tower tells.
    """
    names = () if adapter.header is None else adapter.header.tensors
    if any(name.startswith(_SINCE_4_52) for name in names):
        return "since-4.52"
    if any(name.startswith(_BEFORE_4_52) for name in names):
        return "before-4.52"
    seen = any(name.startswith("base_model.model.visual.") for name in names)
    return "before-4.52" if seen and any(name.startswith("base_model.model.model.layers.") for name in names) else None


def _read_weights(adapter: Adapter, name: str, path: str) -> None:
    directory = adapter.directory
    place = directory.place(name)
    try:
        with open(path, "rb") as stream:
            if is_lfs_pointer(stream.read(64)):
                adapter.defects.append(Defect("snapshot-lfs-pointer", f"{name} is the pointer that git-lfs leaves", place))
                return
        if name.endswith(".safetensors"):
            adapter.header = header_of(path)
        elif os.stat(path).st_size == 0:
            adapter.defects.append(Defect("snapshot-adapter-empty", f"{name} has 0 bytes", place))
    except TooLargeError as error:
        directory.skip(name, str(error))
    except TruncatedError as error:
        adapter.defects.append(Defect("snapshot-safetensors-truncated", str(error), place))
    except InvalidHeaderError as error:
        adapter.defects.append(Defect("snapshot-safetensors-header-invalid", str(error), place))
    except OSError as error:
        directory.skip(name, error.strerror or type(error).__name__, lost=True)


def _config(directory: ModelDirectory) -> Document:
    place = directory.place(CONFIG)
    data = directory.read(CONFIG)
    if data is None:
        why = next((skip.why for skip in directory.skips if skip.what == place), "no adapter_config.json in the directory")
        raise EnvdoctorError(
            place, found=why, expected="the file that peft saves beside the weights", next_step="give the adapter's directory"
        )
    return required_object(directory, CONFIG, data, next_step="save the adapter again")
