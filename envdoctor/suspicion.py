"""How much a possible finding has to say where the versions that would decide it are not known.

Nobody states a whole stack. What was left out is most likely what an installer takes: the newest release of today, or the newest of
the days of the youngest release that was stated. A rule that holds under neither is a weak suspicion, and so is one about a package that
a training run may well do without and of which nothing speaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from envdoctor.conditions import Condition, Known, PackageIs, accused, evaluate, holds
from envdoctor.facts import Fact, Facts, FactValue, Origin
from envdoctor.releases import as_of, release_texts, releases
from envdoctor.versions import Exact, Ranged, exact, version_condition

# What a run of transformers practically always has.
_CORE = frozenset(
    (
        "accelerate", "datasets", "fsspec", "huggingface-hub", "numpy", "packaging", "peft", "pyarrow", "safetensors", "tokenizers",
        "torch", "transformers",
    )
)  # fmt: skip
# A fact of the plan that speaks of a package.
_HINTS = {
    "bitsandbytes": ("plan.quant", ("4bit", "8bit")),
    "deepspeed": ("plan.distributed", ("zero1", "zero2", "zero3")),
    "flash-attn": ("plan.attn", ("flash_attention_2", "flash_attention_3")),
    "xformers": ("plan.attn", ("xformers",)),
    "auto-gptq": ("plan.quant", ("gptq",)),
    "optimum": ("plan.quant", ("gptq",)),
    "autoawq": ("plan.quant", ("awq",)),
    "trl": ("plan.method", ("dpo", "ppo", "grpo", "kto", "orpo")),
    "vllm": ("plan.vllm", (True,)),
}
_SPEAKING = tuple(dict.fromkeys(name for name, _ in _HINTS.values()))
# What a machine that trains, and a plan, practically always are. Of other facts of a system nothing is expected.
_USUAL: dict[str, FactValue] = {
    "os": "linux", "machine": "x86_64", "accelerator": "cuda", "gpu.vendor": "nvidia",
    "plan.distributed": "none", "plan.gradient_accumulation": 1, "plan.offload": "none", "plan.quant": "none",
    "plan.compile": False, "plan.deepspeed": False, "plan.liger": False, "plan.neftune": False, "plan.packing": False, "plan.resume": False,
    "plan.stream": False, "plan.vllm": False,
}  # fmt: skip
_ASKED = ("packages.", "plan.", "model.")
_SHARES = (0.05, 0.2, 0.5)


@dataclass(frozen=True, slots=True)
class Weight:
    """``likely``: what is not known would, by default, be such that the rule holds; ``blind``: it waits for a fact of the system of which
    nothing is expected. ``breadth`` counts from 0, a rule about few releases."""

    likely: bool
    blind: bool
    breadth: int


DECIDED = Weight(likely=True, blind=False, breadth=0)


def is_narrow(condition: Condition, facts: Facts, known: Known) -> bool:
    """Whether a range that holds is so narrow that being in it says something by itself."""
    return breadth(condition, facts, known) == 0


def background(facts: Facts) -> tuple[object, ...]:
    """All that `weigh` looks at beside the facts that a condition names."""
    return (youngest(facts), _is_quantized(facts), *(facts.value(name) for name in _SPEAKING))


def weigh(condition: Condition, facts: Facts, known: Known, lacking: Sequence[str]) -> Weight:
    """How likely an undecided rule holds, and how much of a package's history it accuses."""
    packages = [name.removeprefix("packages.") for name in lacking if name.startswith("packages.")]
    unusual = [name for name in lacking if name not in _USUAL and not name.startswith(_ASKED)]
    expected = not unusual and all(_expected(name, facts) for name in packages)
    likely = expected and _holds_by_default(condition, facts, known, packages)
    another_machine = not likely and any(name in _USUAL and not name.startswith(_ASKED) for name in lacking)
    return Weight(likely, bool(unusual) or another_machine, breadth(condition, facts, known))


def _expected(package: str, facts: Facts) -> bool:
    if package in _CORE or f"packages.{package}" in facts:
        return True
    name, values = _HINTS.get(package, ("", ()))
    return facts.value(name) in values if name else False


def _holds_by_default(condition: Condition, facts: Facts, known: Known, packages: Sequence[str]) -> bool:
    quantized = _is_quantized(facts)
    usual = [
        Fact(name, value, Origin("guess"))
        for name, value in _USUAL.items()
        if name not in facts and not (quantized and name == "plan.quant")
    ]
    for recent in (True, False):
        day = None if recent else youngest(facts)
        guesses = usual + [
            Fact(f"packages.{name}", guess, Origin("guess")) for name in packages if (guess := _newest(name, facts, day)) is not None
        ]
        if evaluate(condition, facts.with_facts(guesses), known) is not False:
            return True
    return False


def _is_quantized(facts: Facts) -> bool:
    return isinstance(facts.value("packages.bitsandbytes"), Exact)


def youngest(facts: Facts) -> str:
    """The day of the youngest release that is stated, ``YYYY-MM-DD``; the first of days when none is known."""
    days = [""]
    for name, fact in facts.items():
        if name.startswith("packages.") and isinstance(fact.value, Exact):
            days.append(_day(name.removeprefix("packages."), fact.value.text.partition("+")[0], as_of()))
    return max(days)


# What is kept below is told apart by the day up to which releases are known.
@lru_cache(maxsize=4096)
def _day(package: str, version: str, until: str) -> str:
    return max((release.date or "" for release in releases(package) if release.version == version), default="")


def _newest(package: str, facts: Facts, day: str | None) -> Exact | None:
    value = facts.value(f"packages.{package}")
    admits = version_condition(value.text) if isinstance(value, Ranged) and value.text else None
    for release in reversed(releases(package)):
        in_time = day is None or (release.date is not None and release.date <= day)
        if in_time and not release.yanked and (admits is None or admits.admits(exact(release.version))):
            return exact(release.version)
    return None


def breadth(condition: Condition, facts: Facts, known: Known) -> int:
    """In which of four classes of share the narrowest held range lies, of all releases of its package."""
    shares = [1.0]
    for leaf in accused(condition):
        if isinstance(leaf, PackageIs) and leaf.version.text and holds(leaf, facts, known):
            shares.append(_share(leaf.package, leaf.version.text, as_of()))
    return sum(min(shares) > bound for bound in _SHARES)


@lru_cache(maxsize=4096)
def _share(package: str, text: str, until: str) -> float:
    wanted, listed = version_condition(text), _listed(package, until)
    return sum(map(wanted.admits, listed)) / len(listed) if listed else 1.0


@lru_cache(maxsize=256)
def _listed(package: str, until: str) -> tuple[Exact, ...]:
    return tuple(map(exact, release_texts(package)))
