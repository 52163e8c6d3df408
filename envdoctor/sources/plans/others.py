"""Files that people keep beside their plans, and the plans of tools that are not read: known by their marks, to be named."""

from __future__ import annotations

from collections.abc import Callable

from envdoctor.sources.plans.reader import Dialect, Table, word


def _has(*required: str, some: tuple[str, ...] = ()) -> Callable[[Table, frozenset[str]], bool]:
    """All of the one names, and, where there are others, at least one of these."""

    def recognises(_: Table, keys: frozenset[str]) -> bool:
        return keys.issuperset(required) and (not some or not keys.isdisjoint(some))

    return recognises


def _ray(table: Table, keys: frozenset[str]) -> bool:
    cluster = "cluster_name" in keys and not keys.isdisjoint(("provider", "max_workers", "head_node_type", "available_node_types"))
    return cluster or word(table.get("apiVersion") or "").startswith("ray.io/")


def _hydra(table: Table, keys: frozenset[str]) -> bool:
    return isinstance(table.get("defaults"), list) or "hydra" in keys


def _litgpt(table: Table, keys: frozenset[str]) -> bool:
    data = table.get("data")
    named = isinstance(data, dict) and word(data.get("class_path") or "").startswith("litgpt.")
    return named or keys.issuperset(("checkpoint_dir", "out_dir", "precision"))


def _llm_foundry(table: Table, keys: frozenset[str]) -> bool:
    model = table.get("model")
    named = isinstance(model, dict) and word(model.get("name") or "") in ("hf_causal_lm", "mpt_causal_lm", "hf_prefix_lm", "hf_t5")
    return named or keys.issuperset(("train_loader", "max_duration"))


def _unsloth(table: Table, _: frozenset[str]) -> bool:
    training, lora = table.get("training"), table.get("lora")
    return isinstance(training, dict) and isinstance(lora, dict) and "max_seq_length" in training


def _workflow(table: Table, keys: frozenset[str]) -> bool:
    # YAML reads the key `on` as true.
    return "jobs" in keys and ("on" in keys or True in table)


def _model_configuration(_: Table, keys: frozenset[str]) -> bool:
    return "architectures" in keys or keys.issuperset(("model_type", "transformers_version"))


def _trainer_state(_: Table, keys: frozenset[str]) -> bool:
    return keys.issuperset(("log_history", "global_step"))


def _other(name: str, recognises: Callable[[Table, frozenset[str]], bool]) -> Dialect:
    return Dialect(name, recognises)


# Files that have settings of a dialect that is read, and are no plans.
NO_PLANS: tuple[Dialect, ...] = (
    _other("the state of a trainer at a checkpoint, not a plan", _trainer_state),
    _other("the configuration of a model, not of a run (give the model's directory)", _model_configuration),
)

OTHERS: tuple[Dialect, ...] = (
    _other("a cluster or job of Ray", _ray),
    _other("a configuration of mergekit", _has("merge_method")),
    _other("a task of lm-evaluation-harness", _has("task", some=("dataset_path", "output_type", "doc_to_text", "doc_to_target"))),
    _other("a configuration of EasyEdit", _has("alg_name", some=("model_name", "layers", "num_steps"))),
    _other("a configuration of H2O LLM Studio", _has("llm_backbone")),
    _other("a configuration of llm-foundry", _llm_foundry),
    _other("a configuration of litgpt", _litgpt),
    _other("a configuration of Unsloth Studio", _unsloth),
    _other("a configuration of AutoTrain", _has("base_model", "project_name", some=("params", "backend"))),
    _other("a configuration of verl", _has("actor_rollout_ref")),
    _other("a configuration of NeMo", _has("trainer", "exp_manager")),
    _other("a configuration of Hydra", _hydra),
    _other("a PEFT adapter's configuration (give the adapter's directory)", _has("peft_type", "base_model_name_or_path")),
    _other("a Kubernetes object", _has("apiVersion", "kind")),
    _other("a CI workflow", _workflow),
    _other("a Compose file", _has("services", some=("version", "volumes", "networks", "name"))),
    _other("a pre-commit configuration", _has("repos")),
    _other("a documentation site's configuration", _has("site_name")),
)
