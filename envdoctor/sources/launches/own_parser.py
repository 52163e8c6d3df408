"""Whether a script that is started has a parser of its own: its flags then are nobody else's arguments."""

from __future__ import annotations

import re
from pathlib import Path

from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.sources.launches.programs import Launch
from envdoctor.sources.plans.deepspeed import beside

_OWN_PARSER = re.compile(r"(?<![A-Za-z0-9_])ArgumentParser\(")
_PARSER_OF_DATACLASSES = re.compile(
    r"HfArgumentParser|TrlParser|H4ArgumentParser|parse_args_into_dataclasses|dataclasses\.fields|add_arguments\(|parse_known_args"
)
_FILLS = re.compile(r"\b(?:HfArgumentParser|TrlParser|H4ArgumentParser)\(|parse_args_into_dataclasses")
_ARGUMENTS = re.compile(r"\b(?:Seq2Seq)?TrainingArguments\b|\b(?:SFT|DPO|GRPO|KTO|ORPO|CPO|Reward|RLOO|GKD)Config\b")
_BY_TRL = re.compile(r"\b(?:TrlParser|H4ArgumentParser)\((?P<classes>[^)]{1,400})\)")
_OF_TRL = re.compile(r"\b(?:SFT|DPO|GRPO|KTO|ORPO|CPO|Reward|RLOO)Config\b")
_LIMIT = 2**20


def parses_by_itself(path: Path, launch: Launch) -> bool:
    """Whether the script or module that a launch in a file at a path starts makes a parser that no dataclass fills, where it lies there."""
    text = _text(path, launch)
    return _OWN_PARSER.search(text) is not None and _PARSER_OF_DATACLASSES.search(text) is None


def fills_arguments(path: Path, launch: Launch) -> bool:
    """Whether that script has its training arguments filled from the command line, so that its flags are theirs."""
    text = _text(path, launch)
    return _FILLS.search(text) is not None and _ARGUMENTS.search(text) is not None


def configuration_filled(path: Path, launch: Launch) -> str | None:
    """The one configuration of TRL that a parser of TRL in that script fills from a file and the command line."""
    found = _BY_TRL.search(_text(path, launch))
    named = {*_OF_TRL.findall(found["classes"])} if found is not None else set()
    return named.pop() if len(named) == 1 else None


def _text(path: Path, launch: Launch) -> str:
    named = launch.tool if launch.tool.endswith(".py") else f"{launch.tool.replace('.', '/')}.py" if launch.module else ""
    script = beside(path, named) if named else None
    try:
        return "" if script is None else read_bounded(script, _LIMIT).decode("utf-8", "replace")
    except UnreadableError:
        return ""
