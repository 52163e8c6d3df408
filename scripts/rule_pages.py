"""The pages of the rules, which ``make_docs.py`` writes: one for each, an index by package and one by error text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from envdoctor.report.page import fix_line, when
from envdoctor.rules.rule import Rule
from envdoctor.rules.rulebook import load_rulebook

MADE = "<!-- written by scripts/make_docs.py from the rule files: do not edit -->"


def pages() -> dict[str, str]:
    """Every page by file name."""
    book = load_rulebook()
    rules = [book.whole(rule.id) for rule in book.rules if rule.withdrawn is None]
    return {f"{rule.id}.md": _page(rule) for rule in rules} | {"README.md": _by_package(rules), "by-error-text.md": _by_text(rules)}


def _page(rule: Rule) -> str:
    return "\n".join(_lines(rule)) + "\n"


def _lines(rule: Rule) -> Iterator[str]:
    yield from (MADE, "", f"# {rule.id}", "", f"**{_text(rule.title)}**", "")
    yield from (f"{rule.severity} · {rule.effect} · confidence: {rule.confidence}", "", "## What happens", "")
    for paragraph in rule.details.strip().split("\n\n"):
        yield from (paragraph.strip(), "")
    yield from ("## When", "")
    if rule.log_only:
        yield from ("Only where a log shows its text.", "")
    elif rule.check is not None:
        yield from (f"Decided by the check `{rule.check}`.", "")
    if rule.affected is not None:
        yield from (*(f"- `{line}`" for line in when(rule.affected)), "")
    if rule.error_when is not None:
        yield from (f"An error where {' and '.join(f'`{line}`' for line in when(rule.error_when))}.", "")
    yield from ("## Cures", "", *(f"- {_text(fix_line(fix))}" for fix in rule.fixes), "")
    if rule.symptoms:
        yield from ("## Looks like", "", "```text", *rule.symptoms, "```", "")
    if rule.probe is not None:
        yield from ("## Confirm it", "", f"`envdoctor probe {rule.probe}`", "")
    yield from ("## Evidence", "", *(f"- <{source.url}> ({source.kind}): {_text(source.says)}" for source in rule.evidence))


def _text(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")


def _by_package(rules: list[Rule]) -> str:
    by_package: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        for package in rule.packages or ("none: snapshot, plan or environment",):
            by_package[package].append(rule)
    lines = [MADE, "", "# The rules, by package", "", f"{len(rules)} rules. [By error text](by-error-text.md).", ""]
    for package in sorted(by_package):
        lines += [f"## {package}", ""]
        lines += [f"- [{rule.id}]({rule.id}.md) ({rule.severity}, {rule.confidence}): {_text(rule.title)}" for rule in by_package[package]]
        lines.append("")
    return "\n".join(lines)


def _by_text(rules: list[Rule]) -> str:
    rows = sorted({(_text(symptom), rule.id) for rule in rules for symptom in rule.symptoms}, key=lambda row: (row[0].lower(), *row))
    lines = [
        MADE,
        "",
        "# The rules, by error text",
        "",
        "[By package](README.md).",
        "",
        *(f"- `{text.replace('`', chr(39))}`: [{name}]({name}.md)" for text, name in rows),
    ]
    return "\n".join(lines) + "\n"
