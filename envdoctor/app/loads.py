"""What the scripts of a situation do not load, told before all but what rules wait for is left out of their uses."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envdoctor.app.only_imports import names_no_template, only_imports
from envdoctor.app.trainers import MADE, RUN, loads_of_trainers
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.loaded_with import LoadedWith, with_what_is_loaded
from envdoctor.facts.uses import CODE_USES, is_variable, read_use
from envdoctor.facts.vocabulary import LOADED_WITH, NOT_LOADED, OF_TRANSFORMERS

if TYPE_CHECKING:
    from envdoctor.sources.targets import Target

_TEMPLATE = ".apply_chat_template"
# Methods of models and pipelines that import peft where they are called (transformers/integrations/peft.py, diffusers/loaders).
_ADAPTS = (".add_adapter", ".load_adapter", ".load_lora_weights")
_SHOWN, _TRAINER = "plan.script", "plan.trainer"
# They bring loops of their own, which are called by other names than a Trainer's.
_TRAINING = frozenset(
    ("adapters", "axolotl", "composer", "deepspeed", "fastai", "flair", "keras", "lightning", "litgpt", "llamafactory", "megatron",
     "mlx_lm", "openrlhf", "pytorch_lightning", "setfit", "simpletransformers", "spacy", "swift", "torchtune", "trl", "unsloth", "verl")
)  # fmt: skip
# By what it is kept.
_KEPT = "loads-"
_TRAINS = re.compile(r"[Tt]rain(?!ed)|backward|optim|schedule")
_RENDERS = "plan.apply_chat_template"
# Their code renders no template unasked; trl, unsloth and what answers do.
_RENDER_NOTHING = frozenset(
    ("", "?", "torch", "transformers", "peft", "datasets", "accelerate", "bitsandbytes", "tokenizers", "safetensors", "sentencepiece",
     "numpy", "pandas", "scipy", "sklearn", "evaluate", "huggingface_hub", "tqdm", "wandb", "tensorboard", "deepspeed", "torchvision",
     "torchaudio")
)  # fmt: skip
# They load the framework that they are of, or configure what loads more than the script.
_RUN_MORE = ("plan", "image")
# It runs its plan with models and loops of its own: what it never imports no plan of it loads. The other frameworks import nearly all.
_ALONE = {"torchtune": "torchtune"}


def say_what_is_not_loaded(facts: Facts, targets: Sequence[Target]) -> Facts:
    """The facts with the packages that no script leads to, where every script shows all that it loads; else without that one does."""
    if NOT_LOADED not in facts and _SHOWN not in facts and _only_serves(facts):
        return _with(facts, targets, ("vllm",), "vllm serves the model")
    scripts = [target for target in targets if target.kind == "script"]
    if any(all(fact.name != _SHOWN for fact in target.collected.facts) for target in scripts):
        return facts.without(_SHOWN) if _SHOWN in facts else facts
    module = _ALONE.get(facts.text("plan.trainer") or "")
    if module is not None and not scripts and _SHOWN not in facts and NOT_LOADED not in facts:
        return _with(facts, targets, (module,), "torchtune runs the plan")
    more = any(_uses_more(fact) for target in targets if target.kind in _RUN_MORE for fact in target.collected.facts)
    if facts.value(_SHOWN) is not True or NOT_LOADED in facts or more or any(target.kind == "plan" for target in targets):
        return facts
    uses = facts.value(CODE_USES)
    read = [read_use(str(use)) for use in uses] if isinstance(uses, tuple) else []
    names = dict.fromkeys(use.name for use in read if use.kind in ("name", "def") and not use.name.startswith("?"))
    if any(use.kind == "command" for use in read):
        return facts
    if any(use.name == f"?{_TEMPLATE}" for use in read):  # of a tokenizer, whose class from_pretrained does not show
        names[f"transformers.PreTrainedTokenizerBase{_TEMPLATE}"] = None
    if any(use.name.endswith(_ADAPTS) and use.name.partition(".")[0] in ("?", "diffusers", "transformers") for use in read):
        names["peft"] = None
    unused, some = loads_of_trainers(read)
    if scripts and all(only_imports(target.text) for target in scripts):
        unused = (*OF_TRANSFORMERS, MADE, RUN)  # a model is loaded, and a trainer made, by a call
    return _with(facts, targets, tuple(sorted(names)), "imports of the script", unused, some)


def tell_that_nothing_trains(facts: Facts) -> Fact | None:
    """That there is no trainer, where scripts show all that they load, and load nothing that trains."""
    unused, uses = facts.value(NOT_LOADED), facts.value(CODE_USES)
    if _TRAINER in facts or not isinstance(unused, tuple) or "trainer" not in unused or not isinstance(uses, tuple):
        return None
    names = [read_use(str(use)).name for use in uses]
    if any(name.partition(".")[0] in _TRAINING or _TRAINS.search(name) for name in names):
        return None
    return Fact(_TRAINER, "none", Origin("default of a script that trains nothing"))


def tell_that_no_template_is_rendered(facts: Facts, targets: Sequence[Target]) -> Fact | None:
    """That no chat template is asked for, where scripts show all that they load, name no template, and use nothing that renders one."""
    uses, scripts = facts.value(CODE_USES), [target.text for target in targets if target.kind == "script"]
    if _RENDERS in facts or facts.value(_SHOWN) is not True or not isinstance(uses, tuple) or not scripts:
        return None
    names = [read_use(str(use)).name for use in uses]
    tops = {name.partition(".")[0] for name in names}
    if not tops <= _RENDER_NOTHING or any(name.endswith("pipeline") for name in names) or not all(map(names_no_template, scripts)):
        return None
    return Fact(_RENDERS, False, Origin("default of a script that names no chat template"))


def _only_serves(facts: Facts) -> bool:
    """Whether all that a launcher or an image starts is vLLM, which brings models of its own."""
    uses = facts.value(CODE_USES)
    if not isinstance(uses, tuple) or "vllm" not in uses or any(name in facts for name in (_TRAINER, "plan.arguments")):
        return False
    return all(use == "vllm" or is_variable(str(use)) for use in uses)


def _uses_more(fact: Fact) -> bool:
    return fact.name == CODE_USES and not (isinstance(fact.value, tuple) and all(map(is_variable, fact.value)))


def _with(
    facts: Facts,
    targets: Sequence[Target],
    names: tuple[str, ...],
    why: str,
    unused: tuple[str, ...] = (),
    some: Sequence[LoadedWith] = (),
) -> Facts:
    """The facts with what these imports never lead to, of what is there, and with what of a trainer is ``unused``.

    What ``some`` releases load is told by those that are stated, and again by those of every remedy that is looked at.
    """
    found = _not_loaded(names)
    if found is None:
        return facts
    adapter = any(target.adapter is not None for target in targets)
    told = (one for one in found if one in OF_TRANSFORMERS or f"packages.{one}" in facts)
    if "trainer" in found:
        unused, some = (*unused, MADE, RUN), ()
    idle = tuple(dict.fromkeys((*(one for one in told if not adapter or one != "peft"), *unused)))
    later = [Fact(LOADED_WITH, tuple(map(str, some)), Origin(why))] if some else []
    return with_what_is_loaded(facts.with_facts([Fact(NOT_LOADED, idle, Origin(why)), *later]))


def _not_loaded(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """The same, kept while the atlas and what follows imports stay what they are: it looks at thousands of imports of others."""
    from envdoctor.atlas.shelf import files_of, package_names
    from envdoctor.checks.atlas import DECIDING
    from envdoctor.files.kept import keep, key, recall
    from envdoctor.files.user_cache import cache_directory
    from envdoctor.world import tables

    world = os.path.dirname(tables.__file__)
    of = key([_KEPT, *names], (*DECIDING, world, *tables.files_of("dependencies"), *files_of(sorted(package_names()))))
    before = recall(cache_directory(), of, _KEPT)
    told = None if before is None else before.get("told")
    if isinstance(told, list) and all(isinstance(one, str) for one in told):
        return tuple(told)
    from envdoctor.atlas.loaded import not_loaded

    found = not_loaded(names)
    if found is not None:
        keep(cache_directory(), of, {"told": list(found)}, {}, _KEPT)
    return found
