"""Which cures that are pins leave a package outside of what another one declares, beside the releases of the rule's own match cases.

``python scripts/compare_cures.py`` prints one line for every cure and case. The nearest release that a pin admits is taken, as a
remedy would begin, on Linux with Python 3.11; what was unmet before the cure is not told. A reader decides whether anybody has such a
stack.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.files.toml import read_toml
from envdoctor.rules.lint import match_cases
from envdoctor.rules.rule import Fix, Rule, parse_rule
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import releases

RULES = Path(__file__).parent.parent / "rules"
_LINUX = {
    "python_version": "3.11", "python_full_version": "3.11.7", "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix",
    "platform_machine": "x86_64", "extra": "",
}  # fmt: skip


def unmet(rule: Rule, cases: list[tuple[int, Facts]]) -> Iterator[str]:
    """One line for every cure after which a release of a case, or of the cure, lies outside a declared range."""
    for fix in rule.fixes:
        for number, facts in cases if fix.pins else ():
            before = {
                name.removeprefix("packages."): value.text
                for name in facts
                if name.startswith("packages.") and isinstance(value := facts.value(name), Exact)
            }
            after = cured(fix, before)
            pins = ", ".join(f"{name} {spec}" for name, spec in fix.pins.items())
            for line in sorted(set(_outside(after)) - set(_outside(before))):
                yield f"{rule.id}: after {pins}, in case {number}, {line}"


def cured(fix: Fix, stated: Mapping[str, str]) -> dict[str, str]:
    """The releases after a cure: what its pins admit stays, the rest moves to the nearest release that they do."""
    moved = dict(stated)
    for package, spec in fix.pins.items():
        wanted = version_condition(spec)
        if package in stated and wanted.admits(exact(stated[package])):
            continue
        listed = [one for one in releases(package) if not one.yanked or one.version == stated.get(package)]
        place = next((index for index, one in enumerate(listed) if one.version == stated.get(package)), 0)
        admitted = [(abs(index - place), one.version) for index, one in enumerate(listed) if wanted.admits(exact(one.version))]
        if admitted:
            moved[package] = min(admitted, key=lambda one: one[0])[1]
    return moved


def _outside(stack: Mapping[str, str]) -> Iterator[str]:
    for package, release in stack.items():
        for one in dependencies(package, release) or ():
            if one.name not in stack or (one.marker and not Marker(one.marker).evaluate(_LINUX)):
                continue
            if not SpecifierSet(one.specifier).contains(stack[one.name], prereleases=True):
                yield f"{package} {release} requires {one.name} {one.specifier} and finds {stack[one.name]}"


def main() -> int:
    """Print the lines; the status is 0, since a reader decides what they mean."""
    for path in sorted(RULES.rglob("*.toml")):
        table = read_toml(path)
        rule = parse_rule(table, str(path))
        if rule.affected is not None and rule.withdrawn is None:
            sys.stdout.writelines(f"{line}\n" for line in unmet(rule, match_cases(table, path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
