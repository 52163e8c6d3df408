"""An adapter against the release of peft that reads it, its own weights, and the model that it is put on."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

from envdoctor.checks.hit import Hit
from envdoctor.coherence.adapter_fields import IGNORES_SINCE, ignored, refused
from envdoctor.coherence.embeddings import adapter_tokens
from envdoctor.coherence.weights import mixed
from envdoctor.facts.fact import Defect, Facts
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.files.paths import real_path
from envdoctor.files.text import plain
from envdoctor.sources.model.adapter import CONFIG, Adapter
from envdoctor.sources.model.safetensors_header import Tensor
from envdoctor.sources.model.snapshot import Snapshot
from envdoctor.world.adapter_kinds import is_kind, releases_of

_LORA = ("LORA", "ADALORA")
_SIDE = re.compile(r"\.lora_([AB])(?:\.[\w-]+)?\.weight")
_PREFIX = "base_model.model."
_FLOATS = frozenset(("F64", "F32", "F16", "BF16"))
_NUMBER = re.compile(r"\.\d+\.")


def configuration(adapter: Adapter, base: Snapshot | None, facts: Facts) -> Iterator[Defect]:
    """Values with which no release of peft makes the adapter."""
    rule = "snapshot-adapter-config-invalid"
    if not adapter.kind:
        yield adapter.defect(rule, "peft_type is missing: peft cannot tell what kind of adapter this is")
        return
    if adapter.kind != "LORA":
        return
    rank = adapter.table.get("r", 8)
    if type(rank) is not int or rank <= 0:
        yield adapter.defect(rule, f"r is {_shown(rank)}; it has to be a positive whole number", "r")
    if "lora_alpha" in adapter.table and not isinstance(adapter.table["lora_alpha"], (int, float)):
        yield adapter.defect(rule, f"lora_alpha is {_shown(adapter.table['lora_alpha'])}; it has to be a number", "lora_alpha")


def weights(adapter: Adapter, base: Snapshot | None, facts: Facts) -> Iterator[Defect]:
    """No weights, or weights without a value in them."""
    if not adapter.weights:
        if not any(skip.what.endswith(("adapter_model.safetensors", "adapter_model.bin")) for skip in adapter.directory.skips):
            detail = "neither adapter_model.safetensors nor adapter_model.bin lies beside adapter_config.json"
            yield adapter.defect("snapshot-adapter-weights-missing", detail)
        return
    if adapter.header is None:
        return
    tensors = adapter.header.tensors
    own = [name for name in tensors if "lora_" in name] if adapter.kind in _LORA else list(tensors)
    hollow = [name for name in own if 0 in tensors[name].shape]
    if not own:
        detail = f"{adapter.weights} holds no tensor of the adapter ({len(tensors)} in all): the adapter would change nothing"
    elif hollow:
        detail = f"{len(hollow)} of {len(own)} tensors have no elements, such as {plain(hollow[0], 120)}"
    else:
        return
    yield Defect("snapshot-adapter-empty", detail, adapter.directory.place(adapter.weights))


def rank(adapter: Adapter, base: Snapshot | None, facts: Facts) -> Iterator[Defect]:
    """The matrices have another rank than the configuration: peft makes the one and cannot load the other."""
    table = adapter.table
    stated, pattern = table.get("r", 8), table.get("rank_pattern")
    special = any(table.get(key) for key in ("target_parameters", "enable_lora", "use_qalora", "use_bdlora", "megatron_config"))
    if adapter.kind != "LORA" or type(stated) is not int or special:
        return
    allowed = {stated, *(value for value in (pattern.values() if isinstance(pattern, dict) else ()) if type(value) is int)}
    for module, side, tensor in _matrices(adapter):
        if 0 in tensor.shape:
            return
        found = tensor.shape[0] if side == "A" else tensor.shape[1]
        if found not in allowed:
            detail = f"r is {stated}, and {plain(module, 120)} has matrices of rank {found}"
            yield adapter.defect("snapshot-adapter-rank-differs", detail, "r")
            return


def base_path(adapter: Adapter, base: Snapshot | None, facts: Facts) -> Iterator[Defect]:
    """The base is named by a path of the machine on which the adapter was trained."""
    named = adapter.base
    if base is not None or named is None or adapter.base_is_hub_id or os.path.isdir(named):
        return
    if named.startswith(("/", "./", "../", "~")) or re.match(r"[A-Za-z]:[\\/]", named):
        detail = f"base_model_name_or_path is {plain(named, 120)}, and no such directory is here"
        yield adapter.defect("snapshot-adapter-base-missing", detail, "base_model_name_or_path")


def other_base(adapter: Adapter, base: Snapshot | None, facts: Facts) -> Iterator[Defect]:
    """The matrices do not fit the weights of the model that is given beside the adapter."""
    if base is None or adapter.kind != "LORA" or not base.weights.whole or base.weights.format != "safetensors":
        return
    held = {name: tensor for header in base.weights.headers.values() for name, tensor in header.tensors.items()}
    if adapter.table.get("target_parameters") or not held or any(name.endswith((".qweight", ".quant_state", ".absmax")) for name in held):
        return
    shapes = {_NUMBER.sub(".#.", name) for name in held}
    leaves = {name.removesuffix(".weight").rpartition(".")[2] for name in held}
    unknown: set[str] = set()
    for module, side, tensor in _matrices(adapter):
        name = f"{module}.weight"
        weight = held.get(name)
        if weight is None:
            if _NUMBER.sub(".#.", name) in shapes:
                yield _other(adapter, base, f"{plain(module, 120)}, a layer that the model does not have")
                return
            unknown.add(module.rpartition(".")[2])
            continue
        length = tensor.shape[1] if side == "A" else tensor.shape[0]
        if weight.dtype in _FLOATS and len(weight.shape) == 2 and length not in weight.shape:
            size = " x ".join(map(str, weight.shape))
            yield _other(adapter, base, f"{plain(module, 120)}: lora_{side} is made for {length}, and the model's matrix is {size}")
            return
    if unknown and not unknown & leaves:
        yield _other(adapter, base, f"modules that the model does not have: {plain(', '.join(sorted(unknown)[:5]), 120)}")


def known_to_peft(adapter: Adapter, base: Snapshot | None, facts: Facts) -> Iterator[Hit]:
    """The adapter's type and fields against the release of peft."""
    peft = facts.value("packages.peft")
    if not isinstance(peft, Exact) or not is_kind(adapter.kind):
        return
    first, last = releases_of(adapter.kind)
    gone = last is not None and version_condition(f">{last}").admits(peft)
    if gone or version_condition(f"<{first}").admits(peft):
        span = f"peft has {adapter.kind} up to {last}" if gone else f"peft has {adapter.kind} from {first} on"
        pin = f">={first},<={last}" if gone else f">={first}"
        yield _hit("snapshot-adapter-type-unknown", adapter, span, "peft_type", pin)
        return
    if version_condition(f">={IGNORES_SINCE}").admits(peft):
        left_out = list(ignored(adapter.kind, adapter.table, peft))
        if left_out:
            key, since = left_out[0]
            names = ", ".join(name for name, _ in left_out[:5])
            newest = max((release for _, release in left_out), key=_release)
            detail = f"{names}: peft {peft} has no such field and leaves it out; it came with {since}"
            yield _hit("snapshot-adapter-field-ignored", adapter, detail, key, f">={newest}")
        return
    for key, had in refused(adapter.kind, adapter.table, peft):
        why = f"peft had it up to {had}" if had else "no release of peft has it for this kind of adapter"
        yield _hit("snapshot-adapter-config-refused", adapter, f"{plain(key, 60)}: {why}, and {peft} refuses it", key, f">={IGNORES_SINCE}")
        return


def dtypes(adapter: Adapter, base: Snapshot | None, facts: Facts) -> Iterator[Defect]:
    """Matrices that are stored in one dtype in some layers and in another in others."""
    if adapter.header is not None:
        yield from mixed(adapter.header.tensors, adapter.directory.place(adapter.weights))


def tokens(adapter: Adapter, base: Snapshot | None, facts: Facts) -> Iterator[Defect]:
    """The tokenizer that was saved with the adapter makes ids for which nothing has a row."""
    if base is not None and adapter.header is not None:
        yield from adapter_tokens(Snapshot(adapter.directory, adapter.config), base, adapter.header.tensors, adapter.weights, facts)


ADAPTER_CHECKS: tuple[Callable[[Adapter, Snapshot | None, Facts], Iterable[Defect | Hit]], ...] = (
    configuration, weights, rank, base_path, other_base, known_to_peft, dtypes, tokens,
)  # fmt: skip


def examine_adapter(adapter: Adapter, base: Snapshot | None, facts: Facts) -> Iterator[Defect | Hit]:
    """Every check of an adapter of peft's, beside the base model where one is given."""
    if adapter.is_of_another_library:
        return
    for check in ADAPTER_CHECKS:
        yield from check(adapter, base, facts)


def adapter_beside_a_model(snapshot: Snapshot, facts: Facts) -> Iterator[Defect]:
    """adapter_config.json in a directory with weights of its own: from_pretrained loads the adapter's base instead of them."""
    if facts.lacks("peft"):  # transformers looks for an adapter only where peft is there
        return
    document = snapshot.document(CONFIG) if snapshot.weights.headers else None
    if document is None or not isinstance(document.value, dict) or "peft_type" not in document.value:
        return
    named = document.value.get("base_model_name_or_path")
    if not isinstance(named, str) or str(real_path(named)) == str(real_path(snapshot.directory.path)):
        return
    detail = f"{CONFIG} makes from_pretrained load {plain(named, 120)} and not the weights that lie here"
    line = document.line_of("base_model_name_or_path")
    yield Defect("snapshot-adapter-beside-model", detail, snapshot.directory.place(CONFIG), line)


CHECKS = (adapter_beside_a_model,)


def _matrices(adapter: Adapter) -> Iterator[tuple[str, str, Tensor]]:
    """Module, side and tensor of each pair of LoRA matrices of linear layers."""
    for name, tensor in ({} if adapter.header is None else adapter.header.tensors).items():
        found = _SIDE.search(name)
        if found is not None and found.end() == len(name) and name.startswith(_PREFIX) and len(tensor.shape) == 2:
            yield name[len(_PREFIX) : found.start()], found[1], tensor


def _other(adapter: Adapter, base: Snapshot, what: str) -> Defect:
    return Defect("snapshot-adapter-other-base", f"the adapter has {what}", adapter.directory.place(adapter.weights))


def _hit(rule: str, adapter: Adapter, detail: str, key: str, pin: str) -> Hit:
    return Hit(
        rule,
        True,
        because=(("packages.peft", "reads the adapter"),),
        detail=detail,
        packages=("peft",),
        pins=(("peft", pin),),
        file=adapter.directory.place(CONFIG),
        line=adapter.config.line_of(key),
    )


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _shown(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        return "a number too large"
    return "null" if value is None else plain(str(value), 60)
