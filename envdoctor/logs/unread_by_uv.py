"""Files that uv cannot read: a lock that was edited or merged by hand, a table of settings that is of a later uv.

Wordings: https://github.com/astral-sh/uv (crates/uv-resolver/src/lock/mod.rs, crates/uv-settings), and the toml crate's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.checks.hit import Hit
from envdoctor.logs.clap_messages import COMMAND_LINE

_HEAD = re.compile(
    r"^\W{0,3}(?P<how>error|warning|Caused by): Failed to parse:? `(?P<file>[^`\n]{0,200}?(?:uv\.lock|pyproject\.toml|uv\.toml))`"
)
_SCHEMA = re.compile(
    r"lockfile at `[^`\n]{1,200}` uses an unsupported schema version \((?P<there>v\d+), but only (?P<known>v\d+) is supported\)"
)
_FIELD = re.compile(r"Dependency `(?P<name>[^`\n]{1,80})` has missing `(?P<field>\w{3,20})` field but has more than one matching package")
_MERGE = re.compile(r"(?:<{7}|>{7})(?: |$)|^\s{0,6}\d{0,6} ?\| ={7}$")
_UNKNOWN = re.compile(r"unknown (?:field|variant) `(?P<name>[^`\n]{1,80})`")
_LINE = re.compile(r"TOML parse error at line (?P<line>\d{1,7})")
_CAUSES = 10
_RENEW = "uv self update (where pip installed it pip install -U uv), and the same again"
_ANEW = "take uv.lock from the last commit in which it was whole (git checkout COMMIT -- uv.lock); else delete it, uv lock, then uv sync"


def judge_unread(lines: Sequence[tuple[int, str]]) -> tuple[Hit, int, str] | None:
    """The file that uv does not read, with why; None where no line says so."""
    for place, (number, line) in enumerate(lines):
        if (schema := _SCHEMA.search(line)) is not None:
            headline = f"uv.lock was written by a later uv than ran: its form is {schema['there']}, and this one reads {schema['known']}"
            return _hit(headline, "", _RENEW, "schema"), number, line.strip()[:300]
        if (head := _HEAD.match(line)) is None:
            continue
        told = _tell(head["file"].replace("\\", "/").rpartition("/")[2], [text for _, text in lines[place + 1 : place + 1 + _CAUSES]])
        # A setting that uv passes over is no error; one that it does not know may be why another one follows.
        if head["how"] == "warning" and told.edge != "uv:unread:field":
            continue
        return told if head["how"] != "warning" else _possible(told), number, line.strip()[:300]
    return None


def _possible(hit: Hit) -> Hit:
    return Hit(hit.rule, None, (), detail=hit.detail, packages=hit.packages, edge=hit.edge, headline=hit.headline, advice=hit.advice)


def _tell(name: str, causes: Sequence[str]) -> Hit:
    text = "\n".join(causes)
    at = f" (line {found['line']} of it)" if (found := _LINE.search(text)) is not None else ""
    if any(_MERGE.search(cause) for cause in causes):
        anew = _ANEW if name == "uv.lock" else f"keep one of the two sides in {name}, and take the marks out"
        return _hit(
            f"A merge left its marks in {name}{at}", "both sides of a conflict stand in it between <<<<<<< and >>>>>>>", anew, "merge"
        )
    if (lacks := _FIELD.search(text)) is not None:
        why = f"{lacks['name']} stands in it in several releases, and who asks for it no longer says which: its {lacks['field']} is missing"
        return _hit(f"{name} was edited or merged by hand, and is no whole lock any more", why, _ANEW, "edited")
    if (unknown := _UNKNOWN.search(text)) is not None and name != "uv.lock":
        why = "a setting that came with a later uv, or a word that was mistyped"
        return _hit(f"The uv that ran does not know {unknown['name']} in {name}{at}", why, _RENEW, "field")
    if name == "uv.lock":
        why = "it was written by another uv, or edited or merged by hand"
        return _hit(f"uv cannot read its lock{at}", why, f"{_RENEW}; or {_ANEW}", "lock")
    return _hit(
        f"{name} is not of the form that uv reads{at}", "", f"what stands under that line names the place in {name}: mend it there", "form"
    )


def _hit(headline: str, why: str, advice: str, what: str) -> Hit:
    return Hit(COMMAND_LINE, True, (), detail=why, packages=("uv",), edge=f"uv:unread:{what}", headline=headline, advice=advice)
