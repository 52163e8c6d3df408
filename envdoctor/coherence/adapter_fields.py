"""Which release of peft knows which adapter, and which field of its configuration (data/adapter_fields.json)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.facts.versions import Exact, version_condition
from envdoctor.world.adapter_kinds import adapter_types

# From this release on peft leaves unknown fields out with a warning; before it passes them on, which is a TypeError (peft/config.py).
IGNORES_SINCE = "0.14.0"
# Before this one it takes over the fields that it has and says nothing of the others: 0.5.0 asks hasattr, 0.6.0 passes them on.
_REFUSES_SINCE = "0.6.0"
# Fields that decide how an adapter is begun, trained or described, and change nothing in one that is trained.
_WITHOUT_EFFECT = frozenset(
    (
        "auto_mapping", "corda_config", "ensure_weight_tying", "eva_config", "exclude_modules", "inference_mode", "init_lora_weights",
        "init_weights", "loftq_config", "lora_ga_config", "megatron_config", "megatron_core", "peft_version", "qalora_group_size",
        "revision", "runtime_config", "velora_config",
    )
)  # fmt: skip


def ignored(kind: str, table: Mapping[str, object], peft: Exact) -> Iterator[tuple[str, str]]:
    """Fields that this release leaves out although the adapter uses them, each with the first release that has it."""
    for key, entry in adapter_types().get(kind, {}).get("fields", {}).items():
        if key in table and key not in _WITHOUT_EFFECT and _before(peft, entry["first"]) and _used(table[key], entry.get("default")):
            yield key, entry["first"]


def refused(kind: str, table: Mapping[str, object], peft: Exact) -> Iterator[tuple[str, str | None]]:
    """Fields that this release refuses because peft dropped them (with the last release that has them), or never had them."""
    if not _before(peft, IGNORES_SINCE) or _before(peft, _REFUSES_SINCE) or kind not in adapter_types():
        return
    fields = adapter_types()[kind]["fields"]
    for key in table:
        last = fields[key].get("last") if key in fields else None
        if key not in fields or (last is not None and version_condition(f">{last}").admits(peft)):
            yield key, last


def _before(peft: Exact, release: str) -> bool:
    return version_condition(f"<{release}").admits(peft)


def _used(value: object, default: object) -> bool:
    return value != default and value not in (None, False, "", 0) and value != [] and value != {}
