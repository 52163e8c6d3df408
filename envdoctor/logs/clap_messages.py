"""What programs of Rust (uv, cargo, pixi, text-generation-launcher) print when they do not know a word of their command line.

clap prints no class of an error; which program it was stands in the line of usage below, or in the command above.
https://github.com/clap-rs/clap (clap_builder/src/error/format.rs)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.wording import named

COMMAND_LINE = "error-of-the-run"
_REFUSED = re.compile(
    r"^\W{0,3}error: (?:unexpected argument '(?P<option>[^'\n]{1,80})' found"
    r"|Found argument '(?P<old>[^'\n]{1,80})' which wasn't expected"
    r"|unrecognized subcommand '(?P<command>[^'\n]{1,60})'"
    r"|invalid value '(?P<value>[^'\n]{0,80})' for '(?P<of>--?[\w-]{1,60})[^'\n]{0,80}')"
)
_TIP = re.compile(
    r"^\s*tip: (?:a similar (?:argument|subcommand|value)|some similar (?:arguments|subcommands|values)) exists?: '(?P<like>[^'\n]{1,80})'"
)
_USAGE = re.compile(r"^\W{0,3}(?:Usage|USAGE):\s{1,8}(?P<program>[A-Za-z][\w-]{1,40})(?:\.exe)?(?: |$)")
_CALLED = re.compile(r"(?:^|[$>%#+!=]\s{0,3})(?P<program>uvx?|cargo|pixi|ruff|ty|maturin|text-generation-launcher)(?:\.exe)?\s")
_BEHIND, _ALIKE = 12, 0.85
# How each is brought to its newest release.
_RENEWED = {
    "uv": "uv self update (where pip installed it pip install -U uv, elsewhere brew upgrade uv or conda update uv), and the same again",
    "cargo": "rustup update stable, and the same again",
    "pixi": "pixi self-update, and the same again",
    "ruff": "pip install -U ruff, and the same again",
    "ty": "pip install -U ty, and the same again",
    "maturin": "pip install -U maturin, and the same again",
}
_OF_PROGRAM = {"uvx": "uv"}
# Options that one program alone has, where no line of usage was pasted.
_WHOSE = {"--torch-backend": "uv", "--no-sources-package": "uv", "--no-build-isolation-package": "uv"}


def judge_clap(lines: Sequence[tuple[int, str]], facts: Facts) -> tuple[Hit, int, str] | None:
    """The program that does not know an option, with what brings it to a release that does; None where no line says so."""
    found = next(((place, told) for place, (_, line) in enumerate(lines) if (told := _REFUSED.match(line)) is not None), None)
    if found is None:
        return None
    place, told = found
    number, line = lines[place]
    behind = [text for _, text in lines[place + 1 : place + 1 + _BEHIND]]
    program = next((usage["program"] for text in behind if (usage := _USAGE.match(text)) is not None), "")
    before = (text for _, text in reversed(lines[:place]))
    program = program or next((called["program"] for text in before if (called := _CALLED.search(text)) is not None), "")
    program = _OF_PROGRAM.get(program, program)
    like = next((tip["like"] for text in behind if (tip := _TIP.match(text)) is not None), "")
    what = told["option"] or told["old"] or told["command"] or told["of"]
    mistyped = bool(like) and SequenceMatcher(None, what, like).ratio() >= _ALIKE
    program = program or _WHOSE.get(what, "")
    who = program or "the program"
    stated = facts.value(f"packages.{program}")
    release = f" {stated.text}" if isinstance(stated, Exact) else ""
    asked = f"the value {told['value']} of {what}" if told["of"] else what
    if mistyped:
        headline, behind_it, advice = f"{who} has no {asked}: it is called {like}", "a letter more or less", f"{like} in place of {what}"
    else:
        headline = f"The {who}{release} that ran does not know {asked}" if program else f"The program that was called does not know {asked}"
        behind_it = "whoever wrote the command has another release of it: most often a later one, in which this came"
        renew = _RENEWED.get(program, f"the release of {who} for which the command was written, or the newest")
        advice = f"{renew}; {program or 'PROGRAM'} --version tells which ran, {program or 'PROGRAM'} --help what it takes"
    edge = f"{program or 'code'}:clap:{what}"[:120]
    hit = Hit(COMMAND_LINE, True, (), detail=behind_it, packages=named(program), edge=edge, headline=headline, advice=advice)
    return hit, number, line.strip()[:300]
