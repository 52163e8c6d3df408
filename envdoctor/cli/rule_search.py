"""Which rules have to do with some words: a package's name, or what a rule says."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.facts.names import canonical
from envdoctor.rules.rule import Rule
from envdoctor.rules.rulebook import Rulebook


def with_words(rules: Sequence[Rule], words: Sequence[str], book: Rulebook) -> list[Rule]:
    """The rules that have every word, whatever its case. The name of a package means those that are about it."""
    packages = {package for rule in book.rules for package in rule.packages}
    about = {canonical(word) for word in words} & packages
    others = [word.lower() for word in words if canonical(word) not in packages]
    found = [rule for rule in rules if all(package in rule.packages for package in about)]
    return [rule for rule in found if not others or _has_all(book.whole(rule.id), others)]


def _has_all(rule: Rule, words: Sequence[str]) -> bool:
    text = "\n".join((rule.id, rule.title, rule.details, *rule.symptoms, *(fix.note for fix in rule.fixes))).lower()
    return all(word in text for word in words)


__all__ = ["with_words"]
