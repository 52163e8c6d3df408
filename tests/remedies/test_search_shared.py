"""What one search keeps for the next one changes nothing that is found, and the first remedy is found without the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Outcomes, diagnose
from envdoctor.remedies.remedy import Remedy
from envdoctor.remedies.search import Problem, find_remedies
from envdoctor.rules.rule import Rule
from envdoctor.world.dependencies import Dependency
from envdoctor.world.releases import Release
from tests.remedies.universe import rule, stated

TEXTS = ("1.0", "1.1", "1.2", "1.3")
NAMES = ("alpha", "beta", "gamma")
SPECS = ("<1.1", "<1.3", ">=1.1", ">=1.2,<1.3", "==1.2.*", "~=1.1", "!=1.2")

packages = st.sampled_from(NAMES)
values = st.one_of(st.sampled_from(TEXTS), st.sampled_from((">=1.1", "<1.2", "")))
situations = st.dictionaries(packages.map("packages.{}".format), values, min_size=1)
accusations = st.lists(
    st.lists(st.builds("{} {}".format, packages, st.sampled_from(SPECS)), min_size=1, max_size=2), min_size=1, max_size=5
)
demands = st.dictionaries(
    st.tuples(packages, st.sampled_from(TEXTS)),
    st.lists(st.builds(Dependency, st.sampled_from((*NAMES, "omega")), st.sampled_from(SPECS)), max_size=2),
)


def known(package: str) -> Sequence[str]:
    return TEXTS if package in NAMES else ()


def releases(package: str) -> Sequence[Release]:
    return tuple(Release(text, f"2024-01-{place + 1:02}", False, None, True) for place, text in enumerate(known(package)))


@given(st.lists(situations, min_size=2, max_size=4), accusations, demands)
@settings(deadline=None)
def test_searches_of_one_run_find_what_each_finds_alone(
    several: Sequence[dict[str, str]], accused: Sequence[list[str]], required: dict[tuple[str, str], list[Dependency]]
) -> None:
    rules: tuple[Rule, ...] = tuple(rule(f"r{place}", {"packages": some}) for place, some in enumerate(accused))
    kept = Outcomes(known)

    def requires(name: str, version: str) -> Sequence[Dependency] | None:
        return required.get((name, version))

    for facts in several:
        problem = Problem(stated(facts), rules, (), known, releases=releases, requires=requires)
        findings = diagnose(derive(problem.stated), rules, known).findings
        alone: tuple[Remedy, ...] = find_remedies(problem, findings)
        assert find_remedies(replace(problem, outcomes=kept), findings) == alone
        assert find_remedies(problem, findings, alternatives=False) == alone[:1]
