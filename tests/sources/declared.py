"""What a reader of declared packages told, in a form that is short to write down."""

from __future__ import annotations

from pathlib import Path

from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation

LINUX = Installation(
    {
        "python_version": "3.11",
        "python_full_version": "3.11.7",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "os_name": "posix",
    }
)
WINDOWS = Installation(
    {**LINUX.stated, "sys_platform": "win32", "platform_system": "Windows", "platform_machine": "AMD64", "os_name": "nt"}
)

Told = dict[str, tuple[str, int | None]]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def told(variant: Variant) -> Told:
    """Every fact as value and line; packages by their bare names."""
    facts = variant.collected.facts
    return {fact.name.removeprefix("packages."): (_shown(str(fact.value)), fact.origin.line) for fact in facts}


def versions(variant: Variant) -> dict[str, str]:
    return {name: value for name, (value, _) in told(variant).items() if name != "python"}


def by_label(variants: tuple[Variant, ...]) -> dict[str, dict[str, str]]:
    """The packages of every variant; of all but the first only what the first does not state so."""
    first = versions(variants[0])
    rest = {each.label: {name: text for name, text in versions(each).items() if first.get(name) != text} for each in variants[1:]}
    return {variants[0].label: first, **rest}


def skips(variant: Variant, folder: Path) -> list[tuple[str, str]]:
    return [(skip.what.replace(f"{folder}/", ""), skip.why) for skip in variant.collected.skips]


def defects(variant: Variant) -> list[tuple[str, str, int | None]]:
    return [(defect.rule, defect.detail, defect.line) for defect in variant.collected.defects]


def _shown(value: str) -> str:
    return ",".join(sorted(value.split(","))) or "any"
