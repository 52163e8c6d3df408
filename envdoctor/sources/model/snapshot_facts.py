"""Facts from a model directory: its configuration files, the headers of its weights, its own code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from envdoctor.facts.fact import Collected, Defect, Fact, Skip
from envdoctor.files.json_file import Document
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field
from envdoctor.sources.model.model_directory import ModelDirectory
from envdoctor.sources.model.model_family import ROLE_STOP_IDS, Identity, family_of, is_chat
from envdoctor.sources.model.remote_code import read_remote_code
from envdoctor.sources.model.snapshot import Snapshot, read_snapshot, table_of, text_config
from envdoctor.sources.model.snapshot_more import more_facts
from envdoctor.sources.model.weights import Weights, read_pointers
from envdoctor.sources.stated.stated_value import stated_value
from envdoctor.syntax.parsing import SOURCE_LIMIT

_STORED = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8", "U8": "uint8",
    "F8_E4M3": "float8", "F8_E5M2": "float8", "F8_E8M0": "float8", "F8_E4M3FNUZ": "float8", "F8_E5M2FNUZ": "float8",
}  # fmt: skip
NOT_HASHED = Skip("weights", "weights not hashed; judged by size and headers")
_TEMPLATES = ("chat_template.jinja", "chat_template.json")
_MOST_EOS = 1024


def collect_snapshot(path: Path) -> Collected:
    """As ``snapshot_facts``, of a directory that is read for this alone."""
    return snapshot_facts(read_snapshot(path))


def snapshot_facts(snapshot: Snapshot) -> Collected:
    """All that a model directory tells without reading the weights' data.

    ``model.dtype`` is the dtype of at least nine tenths of the stored parameters, ``mixed`` where no dtype
    has as many. ``model.eos_ids`` are those of generation_config.json, else of config.json.
    ``model.role_stop_ids`` is only said of chat models whose role tokens are known.
    """
    return _Facts(snapshot).collect()


@dataclass(slots=True)
class _Facts:
    snapshot: Snapshot
    facts: list[Fact] = field(default_factory=list)

    @property
    def directory(self) -> ModelDirectory:
        return self.snapshot.directory

    def collect(self) -> Collected:
        snapshot, directory = self.snapshot, self.snapshot.directory
        config, generation, tokenizer, weights = snapshot.config, snapshot.generation, snapshot.tokenizer, snapshot.weights
        self.facts.append(directory.fact("model.path", plain(str(directory.path), 4096), "."))
        self._hub_identity()
        self._of_config(config)
        self._of_generation(config, generation)
        self._of_tokenizer(config, tokenizer)
        self._of_code(config, tokenizer)
        self._of_family(config, generation, tokenizer)
        self._of_weights(config, weights)
        self.facts += more_facts(snapshot)
        defects: list[Defect] = [*snapshot.defects, *weights.defects, *read_pointers(directory)]
        skips = directory.skips
        if weights.format != "none":
            skips = [*skips, NOT_HASHED]
        return Collected(tuple(self.facts), tuple(defects), tuple(skips))

    def _say(self, fact: str, raw: object, file: str, document: Document | None, key: str) -> None:
        """One fact from one key; null says nothing."""
        if raw is None:
            return
        line = None if document is None else document.line_of(key)
        self.facts.append(self.directory.fact(fact, stated_value(fact, raw), file, line))

    def _hub_identity(self) -> None:
        identity = self.directory.hub_identity()
        if identity is not None:
            self.facts.append(self.directory.fact("model.id", plain(identity[0]), "."))
            self.facts.append(self.directory.fact("model.revision", plain(identity[1]), "."))

    def _of_config(self, document: Document) -> None:
        config = table_of(document)
        inner = text_config(config)
        for fact, *keys in _CONFIG_FACTS:
            told = next(((key, table[key]) for table in (config, inner) for key in keys if table.get(key) is not None), None)
            if told is not None:
                self._say(fact, told[1], "config.json", document, told[0])
        architectures = config.get("architectures")
        if isinstance(architectures, list) and architectures and isinstance(architectures[0], str):
            self._say("model.architecture", architectures[0], "config.json", document, "architectures")
        tied = config.get("tie_word_embeddings", inner.get("tie_word_embeddings"))
        self._say("model.tied_embeddings", tied, "config.json", document, "tie_word_embeddings")
        self._quantization(document, config)
        key = "rope_parameters" if isinstance(config.get("rope_parameters"), dict) else "rope_scaling"
        scaling = config.get(key)
        rope_type = scaling.get("rope_type", scaling.get("type")) if isinstance(scaling, dict) else None
        partial = config.get("partial_rotary_factor", scaling.get("partial_rotary_factor") if isinstance(scaling, dict) else None)
        self._say("model.partial_rotary_factor", partial, "config.json", document, "partial_rotary_factor")
        self._say("model.rope_type", "default" if rope_type is None else rope_type, "config.json", document, key)
        older = config.get("rope_scaling")
        named = [one for one in ("rope_type", "type") if one in older] if isinstance(older, dict) else []
        self._say("model.rope_type_key", "both" if len(named) == 2 else (*named, "none")[0], "config.json", document, "rope_scaling")

    def _quantization(self, document: Document, config: Mapping[str, object]) -> None:
        quantization = config.get("quantization_config")
        if isinstance(quantization, dict):
            method = quantization.get("quant_method")
            if method is None and (quantization.get("load_in_4bit") or quantization.get("load_in_8bit")):
                method = "bitsandbytes"
            self._say("model.quant_method", method, "config.json", document, "quantization_config")
        elif type(config.get("quantization_bit")) is int and config["quantization_bit"]:
            # ChatGLM's own quantization.py, switched on by this key.
            self._say("model.quant_method", f"chatglm-int{config['quantization_bit']}", "config.json", document, "quantization_bit")

    def _of_generation(self, config: Document, generation: Document | None) -> None:
        ids = _eos_ids(config, generation)
        if ids:
            document, file = (generation, "generation_config.json") if generation and _eos_of(generation) else (config, "config.json")
            self.facts.append(self.directory.fact("model.eos_ids", ids, file, document.line_of("eos_token_id")))

    def _of_tokenizer(self, config: Document, tokenizer: Document | None) -> None:
        table = table_of(tokenizer)
        if table.get("tokenizer_class") is not None:
            self._say("model.tokenizer_class", table["tokenizer_class"], "tokenizer_config.json", tokenizer, "tokenizer_class")
        else:
            self._say("model.tokenizer_class", table_of(config).get("tokenizer_class"), "config.json", config, "tokenizer_class")
        template = next((name for name in _TEMPLATES if self.directory.locate(name) is not None), None)
        if table.get("chat_template"):
            self._say("model.has_chat_template", True, "tokenizer_config.json", tokenizer, "chat_template")
        elif template is not None:
            self._say("model.has_chat_template", True, template, None, "")
        elif tokenizer is not None:
            self._say("model.has_chat_template", False, "tokenizer_config.json", None, "")

    def _of_code(self, config: Document, tokenizer: Document | None) -> None:
        config_map = table_of(config).get("auto_map")
        tokenizer_map = table_of(tokenizer).get("auto_map")
        if config_map or not tokenizer_map:
            self._say("model.remote_code", bool(config_map), "config.json", config, "auto_map")
        else:
            self._say("model.remote_code", True, "tokenizer_config.json", tokenizer, "auto_map")
        own_config = isinstance(config_map, dict) and "AutoConfig" in config_map
        self._say("model.own_config", own_config, "config.json", config, "auto_map")
        own_tokenizer = self._own_tokenizer(config_map, tokenizer_map)
        self._say("model.tokenizer_remote_code", own_tokenizer, "tokenizer_config.json", tokenizer, "auto_map")
        if not own_tokenizer and isinstance(config_map, dict):
            # AutoTokenizer goes by tokenizer_config.json: what config.json says beside it is not asked.
            config_map = {kind: entry for kind, entry in config_map.items() if kind != "AutoTokenizer"}
        facts = read_remote_code(self.directory, config_map, tokenizer_map, special_tokens=self._names_special_tokens())
        if "num_hidden_layers" in table_of(config):
            facts = [fact for fact in facts if fact.name != "model.has_num_hidden_layers"]
            self._say("model.has_num_hidden_layers", True, "config.json", config, "num_hidden_layers")
        self.facts += facts

    def _names_special_tokens(self) -> bool:
        """Whether the tokenizer's files name a special token, or cannot be read."""
        files = [name for name in ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json") if name in self.directory.names]
        if any(self.snapshot.document(name) is None for name in files):
            return True
        tables = [self.snapshot.table(name) for name in files]
        return any(
            value for table in tables for key, value in table.items() if key.endswith(("_token", "_tokens", "_tokens_decoder"))
        ) or bool(self.snapshot.table("added_tokens.json"))

    def _own_tokenizer(self, config_map: object, tokenizer_map: object) -> bool:
        """Whether AutoTokenizer takes a class of the snapshot's own: tokenizer_config.json says so, or config.json where it names none."""
        if tokenizer_map:
            return not isinstance(tokenizer_map, dict) or "AutoTokenizer" in tokenizer_map
        named = self.snapshot.table("tokenizer_config.json").get("tokenizer_class")
        return named is None and isinstance(config_map, dict) and "AutoTokenizer" in config_map

    def _of_family(self, config: Document, generation: Document | None, tokenizer: Document | None) -> None:
        identity = self._identity(config, tokenizer)
        family = family_of(identity)
        if family is None:
            return
        self._say("model.family", family, "config.json", config, "model_type")
        stops = ROLE_STOP_IDS.get(family)
        ids = _eos_ids(config, generation)
        if stops is not None and ids and is_chat(identity):
            told = "present" if stops <= set(ids) else "missing"
            document, file = (generation, "generation_config.json") if generation and _eos_of(generation) else (config, "config.json")
            self._say("model.role_stop_ids", told, file, document, "eos_token_id")

    def _identity(self, config: Document, tokenizer: Document | None) -> Identity:
        table = table_of(tokenizer)
        hub = self.directory.hub_identity()
        names = [table_of(config).get("_name_or_path"), table.get("name_or_path"), None if hub is None else hub[0]]
        added = table.get("added_tokens_decoder")
        source = self._source("tokenization_chatglm.py") if isinstance(table.get("auto_map"), dict) else None
        return Identity(
            table_of(config),
            tuple(name.lower() for name in names if isinstance(name, str)),
            added if isinstance(added, dict) else {},
            source,
            begin.get("content") if isinstance(begin := table.get("bos_token"), dict) else begin,
            self._source("modeling_internlm2.py"),
        )

    def _source(self, name: str) -> str | None:
        data = self.directory.read(name, SOURCE_LIMIT) if name in self.directory.names else None
        return None if data is None else data.decode("utf-8", "replace")

    def _of_weights(self, config: Document, weights: Weights) -> None:
        directory = self.directory
        self._say("model.weights_format", weights.format, weights.file or ".", None, "")
        if not weights.elements:
            return
        total = sum(weights.elements.values())
        by_dtype: dict[str, int] = {}
        for stored, count in weights.elements.items():
            name = _STORED.get(stored, stored)
            by_dtype[name] = by_dtype.get(name, 0) + count
        most, count = max(by_dtype.items(), key=lambda item: item[1])
        if not total:
            return
        if most not in _STORED.values():
            directory.skip(weights.file, f"most weights are stored as {most}, packed or not numbers of a model: no dtype is said of them")
            return
        self.facts.append(directory.fact("model.dtype", most if count * 10 >= total * 9 else "mixed", weights.file))
        if any(fact.name == "model.quant_method" for fact in self.facts):
            directory.skip(weights.file, "quantized weights are packed: parameters were not counted")
        elif weights.whole:
            self.facts.append(directory.fact("model.parameters", total, weights.file))


# Fact and the keys that say it, first of those that are there; a text model inside another has them one level down.
_CONFIG_FACTS = (
    ("model.type", "model_type"),
    ("model.config_dtype", "dtype", "torch_dtype"),
    ("model.transformers_version", "transformers_version"),
    ("model.vocab_size", "vocab_size", "padded_vocab_size"),
    ("model.hidden_size", "hidden_size", "n_embd", "d_model"),
    ("model.num_hidden_layers", "num_hidden_layers", "num_layers", "n_layer"),
)


def _eos_of(document: Document | None) -> tuple[str, ...]:
    if document is None:
        return ()
    raw = table_of(document).get("eos_token_id", text_config(table_of(document)).get("eos_token_id"))
    ids = raw if isinstance(raw, list) else [raw]
    return tuple(str(item) for item in ids[:_MOST_EOS] if type(item) is int and -(2**63) < item < 2**63)


def _eos_ids(config: Document, generation: Document | None) -> tuple[str, ...]:
    """The ids of generation_config.json, which ``generate`` goes by; those of config.json where it names none."""
    return tuple(dict.fromkeys(_eos_of(generation) or _eos_of(config)))
