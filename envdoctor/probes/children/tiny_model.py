"""A tiny random model of the architecture that a snapshot's config.json describes.

Sizes shrink to a few dozen; what decides which code runs (activations, norms, scalings, biases, kinds of layers) stays as it
is. Children load it from the file beside them; CPython 3.8+, the patient's packages come as arguments.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from typing import Any

HIDDEN, HEADS, HEAD_DIM, VOCABULARY, EXPERTS = 64, 4, 16, 256, 4
_TEXT_BYTES = 4 << 20
_CODE_FILES = 200
_LARGEST = 20_000_000

_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
_SIZES = (
    (HIDDEN, ("hidden_size", "n_embd", "d_model", "model_dim", "word_embed_proj_dim", "embedding_size", "hidden_size_per_layer_input")),
    (2 * HIDDEN, ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff", "intermediate_size_mlp")),
    (HIDDEN // 2, ("moe_intermediate_size", "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")),
    (HEADS, _HEADS),
    (HEAD_DIM, ("head_dim", "kv_channels", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "v_head_dim", "query_pre_attn_scalar")),
    (HEAD_DIM // 2, ("rotary_dim", "qk_rope_head_dim")),
    (HEAD_DIM + HEAD_DIM // 2, ("qk_head_dim",)),
    (VOCABULARY, ("vocab_size", "padded_vocab_size", "vocab_size_per_layer_input", "org_vocab_size")),
    (EXPERTS, ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")),
)
_AT_MOST = {
    1: ("n_shared_experts", "first_k_dense_replace", "topk_group", "num_nextn_predict_layers"),
    2: ("num_experts_per_tok", "moe_topk", "n_group", "moe_k"),
}
_LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers")
_KV_HEADS = ("num_key_value_heads", "multi_query_group_num", "num_kv_heads", "n_head_kv")
# Kernels for GPUs that some snapshots ask for; the architecture is the same without them.
_OFF = ("use_flash_attn", "use_flash_attention", "use_flash_rotary", "use_flash_rmsnorm", "use_cache_kernel", "use_cache_quantization")
_REMOVED = (
    *("quantization_config", "compression_config", "attn_implementation"),
    *("suppress_tokens", "begin_suppress_tokens", "forced_decoder_ids"),
)
_OTHER_MEDIA = ("text_config", "vision_config", "audio_config", "thinker_config", "llm_config", "language_config")
_RECURRENT = ("mamba_", "ssm_", "attn_layer_period")
_MODELS = ("AutoModelForCausalLM", "AutoModel", "AutoModelForSeq2SeqLM")


# What code of a snapshot, or the library under it, may raise; anything else ends the child with its name.
FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


class UntestableError(Exception):
    """Why no such model is built here; no fault."""


class Tiny:
    """The model, its class, the directory of its config and code, and how it is loaded again."""

    def __init__(self, model: Any, auto: Any, directory: str, remote: bool) -> None:
        self.model = model
        self.auto = auto
        self.directory = directory
        self.remote = remote

    @property
    def measured(self) -> dict[str, Any]:
        return {
            "code": "the snapshot's own" if self.remote else "transformers'",
            "class": type(self.model).__name__,
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
        }


def build(torch: Any, transformers: Any, params: dict[str, Any], layers: int, stage: Callable[[str], None]) -> Tiny:
    """The tiny model for ``params``: ``path`` or ``model_type``, ``remote``, ``attn``.

    Raises:
        UntestableError: the config describes no text model that can be shrunk.
    """
    stage("reading the config")
    remote = False
    directory = os.path.abspath("tiny")
    os.mkdir(directory)
    if params["path"] is None:
        mapping = transformers.models.auto.configuration_auto.CONFIG_MAPPING
        if params["model_type"] not in mapping:
            raise UntestableError("this transformers has no model of the type {}".format(params["model_type"]))
        full = transformers.AutoConfig.for_model(params["model_type"])
    else:
        remote = _copy(params["path"], directory, params["remote"])
        full = transformers.AutoConfig.from_pretrained(directory, trust_remote_code=remote)
    table = json.loads(full.to_json_string(use_diff=False))
    if remote:
        table["auto_map"] = _read(os.path.join(directory, "config.json"))["auto_map"]
    stage("shrinking the config")
    ids = _Ids()
    _write(os.path.join(directory, "config.json"), shrunk(table, layers, ids))
    generation = os.path.join(directory, "generation_config.json")
    if os.path.exists(generation):
        _write(generation, ids.of_table(_read(generation)))
    config = transformers.AutoConfig.from_pretrained(directory, trust_remote_code=remote)
    name = _auto_class(transformers, config, remote)
    stage("building the model")
    auto = getattr(transformers, name)
    asked = {} if params.get("attn") is None else {"attn_implementation": params["attn"]}
    model = auto.from_config(config, trust_remote_code=remote, **asked)
    if sum(parameter.numel() for parameter in model.parameters()) > _LARGEST:
        raise UntestableError("the sizes in its config do not shrink")
    if os.path.exists(generation):
        model.generation_config = transformers.GenerationConfig.from_pretrained(directory)
    _initialise(torch, model)
    return Tiny(model, auto, directory, remote)


def copy_code(tiny: Tiny, directory: str) -> None:
    """Put the code files beside a saved model, as its user has to."""
    if tiny.remote:
        for name in os.listdir(tiny.directory):
            if name.endswith(".py") and not os.path.exists(os.path.join(directory, name)):
                shutil.copyfile(os.path.join(tiny.directory, name), os.path.join(directory, name))


def versions(*packages: Any) -> dict[str, str]:
    import platform

    found = {package.__name__: str(package.__version__) for package in packages}
    found["python"] = platform.python_version()
    return found


def failure(error: BaseException, during: str) -> dict[str, Any]:
    """The error, the stage and the innermost line of the snapshot's code, else of all code, without the directory."""
    import linecache

    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    own = [frame for frame in frames if "transformers_modules" in frame[0]]
    name, number = (own or frames)[-1]
    line = f"{os.path.basename(name)}:{number}: {linecache.getline(name, number).strip()[:160]}"
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return {"during": during, "type": type(error).__name__, "message": str(error)[:2000], "line": line, "missing": missing}


def _copy(source: str, directory: str, wanted: bool) -> bool:
    """Copy config, generation config and, where wanted and mapped, the code; whether the code is used."""
    table = _read(os.path.join(source, "config.json"))
    for name in _REMOVED:
        table.pop(name, None)
    mapped = table.get("auto_map") or {}
    remote = wanted and isinstance(mapped, dict) and any(name in mapped for name in _MODELS)
    if remote:
        files = sorted(name for name in os.listdir(source) if name.endswith(".py"))[:_CODE_FILES]
        for name in files:
            if os.path.getsize(os.path.join(source, name)) <= _TEXT_BYTES:
                shutil.copyfile(os.path.join(source, name), os.path.join(directory, name))
        table["auto_map"] = {name: _here(entry, directory) for name, entry in mapped.items() if isinstance(entry, str)}
    else:
        table.pop("auto_map", None)
    table.pop("_name_or_path", None)
    _write(os.path.join(directory, "config.json"), table)
    if os.path.exists(os.path.join(source, "generation_config.json")):
        _write(os.path.join(directory, "generation_config.json"), _read(os.path.join(source, "generation_config.json")))
    return remote


def _here(entry: str, directory: str) -> str:
    code = entry.rpartition("--")[2]
    if not os.path.exists(os.path.join(directory, code.partition(".")[0] + ".py")):
        raise UntestableError(f"its code ({entry}) is not in the snapshot")
    return code


def shrunk(table: dict[str, Any], layers: int, ids: _Ids) -> dict[str, Any]:
    """The table with small sizes.

    Raises:
        UntestableError: it has parts for other media, an encoder and a decoder, recurrent layers, or no attention heads.
    """
    if any(isinstance(table.get(name), dict) for name in _OTHER_MEDIA):
        raise UntestableError("it has parts for other media than text")
    if table.get("is_encoder_decoder") is True:
        raise UntestableError("it has an encoder and a decoder")
    if any(name.startswith(_RECURRENT) for name in table):
        raise UntestableError("it has recurrent layers beside attention")
    heads = next((table[name] for name in _HEADS if _is_size(table.get(name))), None)
    if heads is None:
        raise UntestableError("its config does not say how many attention heads it has")
    kept = {name: value for name, value in table.items() if not name.startswith("_") and name not in _REMOVED}
    count = next((table[name] for name in _LAYERS if _is_size(table.get(name))), None)
    per_layer = [value for value in kept.values() if isinstance(value, list) and len(value) == count and count > 1]
    chosen = _layers_kept(per_layer, layers, count)
    found = {}
    for name, value in kept.items():
        if isinstance(value, list) and len(value) == count and count > 1:
            found[name] = [value[place] for place in chosen]
        else:
            found[name] = _value(name, value, layers, heads)
    # With latent attention head_dim is the part of a head that is rotated.
    if "qk_rope_head_dim" in found and table.get("head_dim") == table["qk_rope_head_dim"]:
        found["head_dim"] = found["qk_rope_head_dim"]
    return ids.of_table(found)


def _value(name: str, value: Any, layers: int, heads: int) -> Any:
    if isinstance(value, dict) and name in ("rope_scaling", "rope_parameters"):
        return {key: _rotary(key, inner) for key, inner in value.items()}
    if "dropout" in name or name.endswith("_pdrop") or name == "layerdrop":
        return 0.0 if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    if name in ("torch_dtype", "dtype"):
        return "float32"
    if name in _OFF or name in ("fp16", "bf16", "fp32"):
        return False
    if not _is_size(value):
        return value
    if name in _LAYERS:
        return layers
    if name in _KV_HEADS:
        return HEADS if value == heads else 1 if value == 1 else HEADS // 2
    for size, names in _SIZES:
        if name in names:
            return size
    for most, names in _AT_MOST.items():
        if name in names:
            return min(value, most)
    return value


def _rotary(name: str, value: Any) -> Any:
    """Factors are one for each pair of rotated dimensions; the sections of a multimodal embedding add up to them."""
    pairs = HEAD_DIM // 2
    if isinstance(value, dict):
        return {key: _rotary(key, inner) for key, inner in value.items()}
    if name in ("short_factor", "long_factor") and isinstance(value, list):
        return value[:pairs]
    if name == "mrope_section":
        return [pairs - 2 * (pairs // 3), pairs // 3, pairs // 3]
    return value


def _layers_kept(per_layer: list[list[Any]], layers: int, count: Any) -> list[int]:
    """The first layers, and among them one of another kind where there is one."""
    if not _is_size(count):
        return []
    places = list(range(min(layers, count)))
    other = next((place for place in range(1, count) if any(values[place] != values[0] for values in per_layer)), None)
    if other is not None and other not in places:
        places[-1] = other
    return places + [places[-1]] * (layers - len(places))


class _Ids:
    """Token ids that fit the small vocabulary; equal ones stay equal, others stay apart."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def of_table(self, table: dict[str, Any]) -> dict[str, Any]:
        return {name: self._of(value) if name.endswith(("_token_id", "_token_index")) else value for name, value in table.items()}

    def _of(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._of(inner) for inner in value]
        if not _is_size(value) or value < VOCABULARY // 2:
            return value
        return self.known.setdefault(value, VOCABULARY - 1 - len(self.known) % (VOCABULARY // 2))


def _auto_class(transformers: Any, config: Any, remote: bool) -> str:
    if remote:
        return next(name for name in _MODELS if name in config.auto_map)
    names = transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if config.model_type not in names:
        raise UntestableError(f"transformers has no causal language model of the type {config.model_type}")
    return "AutoModelForCausalLM"


def _initialise(torch: Any, model: Any) -> None:
    """Small random matrices, norms of one and biases of zero, whatever the model's own code leaves in memory."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.05, generator=generator)
            elif name.endswith("bias"):
                parameter.zero_()
            else:
                parameter.fill_(1.0)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _read(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as stream:
        text = stream.read(_TEXT_BYTES + 1)
    if len(text) > _TEXT_BYTES:
        raise UntestableError(f"{os.path.basename(path)} is larger than {_TEXT_BYTES >> 20} MiB")
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise UntestableError(f"{os.path.basename(path)} is not a JSON object")
    return table


def _write(path: str, table: dict[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(table, stream)
