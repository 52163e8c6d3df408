"""What a plan asks for and nobody installed: known only where the list of packages is all that there is.

Who loads a package decides: a table of the settings, those that act on them, and the packages of which one must be there. An environment
without torch is not the one that the plan is for, and what it lacks says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import ABSENT, Exact, version_condition
from envdoctor.records import dataclass

PACKAGE, FRAMEWORK = "plan-package-missing", "plan-framework-missing"

_MOST_TRIED = 60
# transformers' Trainer runs under all of these, with its callbacks and optimizers.
_TRAINER = ("transformers", "trl", "llamafactory", "ms-swift")
_BITSANDBYTES_OPTIMIZERS = (
    "adamw_8bit", "adamw_bnb_8bit", "ademamix", "ademamix_8bit", "lion_8bit", "lion_32bit", "paged_adamw", "paged_adamw_32bit",
    "paged_adamw_8bit", "paged_ademamix_32bit", "paged_ademamix_8bit", "paged_lion_32bit", "paged_lion_8bit", "rmsprop_bnb",
    "rmsprop_bnb_8bit", "rmsprop_bnb_32bit",
)  # fmt: skip
_GALORE = ("galore_adamw", "galore_adamw_8bit", "galore_adafactor", "galore_adamw_layerwise")


@dataclass(frozen=True, slots=True)
class Need:
    """One setting, its values that ask, who acts on it (nobody named: everybody), and the packages of which one must be there."""

    fact: str
    values: tuple[object, ...]
    packages: tuple[str, ...]
    trainers: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


# Read in transformers 4.36.2, 4.46.3, 4.57.1 and 5.23.0 (trainer.py or trainer_optimizer.py, integrations/integration_utils.py,
# quantizers/quantizer_bnb_*.py), in accelerate (DeepSpeedPlugin) and in trl 0.15.2 to 1.16.0 (GRPOTrainer, also in server mode).
_NEEDS: tuple[Need, ...] = (
    # torchtune quantizes with torchao; what a served model is made of is nobody's here.
    Need("plan.quant", ("4bit", "8bit"), ("bitsandbytes",), unless=("torchtune",)),
    Need("plan.optimizer", _BITSANDBYTES_OPTIMIZERS, ("bitsandbytes",)),
    Need("plan.optimizer", _GALORE, ("galore-torch",), _TRAINER),
    Need("plan.optimizer", ("apollo_adamw", "apollo_adamw_layerwise"), ("apollo-torch",), _TRAINER),
    Need("plan.optimizer", ("lomo", "adalomo"), ("lomo-optim",), _TRAINER),
    Need("plan.optimizer", ("schedule_free_adamw", "schedule_free_sgd", "schedule_free_radam"), ("schedulefree",), _TRAINER),
    Need("plan.optimizer", ("stable_adamw",), ("torch-optimi",), _TRAINER),
    Need("plan.optimizer", ("grokadamw",), ("grokadamw",), _TRAINER),
    Need("plan.optimizer", ("adam_mini",), ("adam-mini",), ("llamafactory",)),
    Need("plan.report_to", ("wandb",), ("wandb",), _TRAINER),
    Need("plan.report_to", ("tensorboard",), ("tensorboard", "tensorboardx"), _TRAINER),
    Need("plan.report_to", ("mlflow",), ("mlflow", "mlflow-skinny"), _TRAINER),
    Need("plan.report_to", ("comet_ml",), ("comet-ml",), _TRAINER),
    Need("plan.report_to", ("clearml",), ("clearml",), _TRAINER),
    Need("plan.report_to", ("neptune",), ("neptune", "neptune-client"), _TRAINER),
    Need("plan.report_to", ("codecarbon",), ("codecarbon",), _TRAINER),
    Need("plan.report_to", ("swanlab",), ("swanlab",), _TRAINER),
    Need("plan.report_to", ("trackio",), ("trackio",), _TRAINER),
    Need("plan.deepspeed", (True,), ("deepspeed",), unless=("torchtune",)),
    Need("plan.distributed", ("zero1", "zero2", "zero3"), ("deepspeed",), unless=("torchtune",)),
    Need("plan.liger", (True,), ("liger-kernel",)),
    Need("plan.vllm", (True,), ("vllm",), ("trl",)),
    Need("plan.method", ("lora", "qlora", "dora", "rslora"), ("peft",), _TRAINER),
)  # fmt: skip
_FRAMEWORKS: tuple[Need, ...] = (
    Need("plan.trainer", ("transformers", "trl", "llamafactory", "ms-swift", "axolotl"), ("transformers",)),
    Need("plan.trainer", ("transformers", "trl"), ("accelerate",)),
    Need("plan.trainer", ("trl",), ("trl",)),
    Need("plan.trainer", ("llamafactory",), ("llamafactory", "llmtuner")),
    Need("plan.trainer", ("ms-swift",), ("ms-swift",)),
    Need("plan.trainer", ("axolotl",), ("axolotl",)),
    Need("plan.trainer", ("torchtune",), ("torchtune",)),
)


def asked_for(facts: Facts) -> tuple[Hit, ...]:
    """The packages that a plan needs and that are known to be absent, each once."""
    if facts.value("packages.torch") in (None, ABSENT):
        return ()
    found: dict[str, Hit] = {}
    for rule, needs in ((FRAMEWORK, _FRAMEWORKS), (PACKAGE, _NEEDS)):
        for need in needs:
            if _is_asked(need, facts) and all(facts.lacks(name) for name in need.packages):
                found.setdefault(need.packages[0], _hit(rule, need, facts))
    return tuple(found.values())


def _is_asked(need: Need, facts: Facts) -> bool:
    trainer = facts.text("plan.trainer")
    if (need.trainers and trainer not in need.trainers) or trainer in need.unless:
        return False
    # ChatGLM's own code quantizes by itself, and transformers only where it is given a configuration.
    if need.fact == "plan.quant" and facts.text("model.type") == "chatglm" and facts.value("plan.quantization_config") is not True:
        return False
    return any(True for _ in _asking(need, facts))


def _asking(need: Need, facts: Facts) -> Iterator[object]:
    value = facts.value(need.fact)
    return (one for one in (value if isinstance(value, tuple) else (value,)) if one in need.values and type(one) is type(need.values[0]))


def _hit(rule: str, need: Need, facts: Facts) -> Hit:
    package = need.packages[0]
    asked = ", ".join(str(one).lower() if isinstance(one, bool) else str(one) for one in _asking(need, facts))
    others = f" (nor {' or '.join(need.packages[1:])})" if need.packages[1:] else ""
    why = f"needs {package}"
    place = facts[need.fact].origin
    return Hit(
        rule,
        True,
        because=((need.fact, why),),
        detail=f"{need.fact} = {asked} {why}, and {package}{others} is not installed",
        packages=(package,),
        # A framework brings bounds of its own: it is not moved in beside a stack that was made for another environment.
        pins=() if rule == FRAMEWORK else tuple((package, f"=={release}") for release in _newest_fitting(package, facts)),
        file=place.file,
        line=place.line,
        yields=True,
        edge=package,
    )


def _newest_fitting(package: str, facts: Facts) -> Iterator[str]:
    """The newest release that requires nothing else of what is there; none of a package whose releases are not known."""
    from envdoctor.world.dependencies import dependencies
    from envdoctor.world.releases import releases

    python = facts.value("python")
    for release in [one for one in reversed(releases(package)) if not one.yanked][:_MOST_TRIED]:
        if isinstance(python, Exact) and release.requires_python and not version_condition(release.requires_python).admits(python):
            continue
        needs = dependencies(package, release.version) or ()
        there = ((facts.value(f"packages.{one.name}"), one) for one in needs if one.specifier and not one.marker)
        if all(not isinstance(value, Exact) or version_condition(one.specifier).admits(value) for value, one in there):
            yield release.version
            return


CHECKS = (asked_for,)
