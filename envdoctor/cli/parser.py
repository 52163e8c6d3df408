"""What users type."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from envdoctor import __version__
from envdoctor.cli.snapshot_options import add_lock, add_verify
from envdoctor.errors import EnvdoctorError
from envdoctor.report import FORMATS

_EXAMPLES = """\
examples:
  envdoctor check requirements.txt lora.yaml   before anything is installed
  envdoctor diagnose train.log                 which known fault explains it
"""
_TARGETS = "model directory, hub id, requirements, manifest, lock, Dockerfile, training plan or script"


class _Help(argparse.HelpFormatter):
    """80 columns wherever it is printed, so that the page made from it does not depend on a terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80, max_help_position=28)


class _Overview(_Help, argparse.RawDescriptionHelpFormatter):
    """The examples stay in their lines."""


class _Parser(argparse.ArgumentParser):
    """Errors as every other bad input: place, found, expected, next step."""

    def __init__(self, **settings: Any) -> None:
        # argparse asks a formatter of its own for the width of the terminal at every argument.
        super().__init__(**{"formatter_class": _Help, **settings})

    def error(self, message: str) -> NoReturn:
        expected = f"the options that {self.prog} --help lists"
        raise EnvdoctorError("the command line", found=message, expected=expected, next_step=f"{self.prog} --help")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options of one run; ``run`` is the function of its command.

    Raises:
        EnvdoctorError: a command line that cannot be understood.
    """
    options = _built()[0].parse_args(list(words))
    options.run = _command(options.command)
    return options


def help_texts() -> dict[str, str]:
    """What ``--help`` prints, by command, at 80 columns: the documentation is made from it."""
    _, commands = _built()
    return {name: command.format_help() for name, command in commands.choices.items()}


def overview() -> str:
    """What ``envdoctor --help`` prints."""
    return _built()[0].format_help()


def _built() -> tuple[_Parser, argparse._SubParsersAction[_Parser]]:
    parser = _Parser(
        prog="envdoctor",
        description="A doctor for the environments in which people fine-tune language models.",
        epilog=_EXAMPLES,
        formatter_class=_Overview,
    )
    parser.add_argument("--version", action="version", version=f"envdoctor {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for add in (_check, _diagnose, _fix):
        add(commands)
    add_lock(commands, situation=_situation, output=_output)
    add_verify(commands, verdict=_verdict, output=lambda command: _output(command, FORMATS), extra_rules=_extra_rules)
    for add in (_fit, _probe, _explain, _rules, _facts):
        add(commands)
    for command in commands.choices.values():
        command.formatter_class = _Help
    return parser, commands


def _day(text: str) -> str:
    from datetime import date

    # Some Pythons know more forms of a day than others: these ten characters are all that is understood.
    try:
        return date.fromisoformat(text if len(text) == 10 and text[4] == text[7] == "-" else "").isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day such as 2024-03-01") from None


def _command(name: str) -> Callable[[argparse.Namespace], int]:
    from importlib import import_module

    run: Callable[[argparse.Namespace], int] = import_module(f"envdoctor.cli.{name}").run
    return run


def _check(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "check",
        help="the main job: which known-bad combination is this, why, and what cures it",
        description="Collect facts, match rules and checks, confirm with probes where asked, propose pins.",
    )
    command.add_argument("targets", metavar="TARGET", nargs="*", help=_TARGETS)
    _situation(command)
    command.add_argument(
        "--probe", choices=("auto", "off", "all"), default="off", help="confirm findings by a tiny training step (default: off)"
    )
    _machine(command)
    command.add_argument(
        "--resolve",
        action="store_true",
        help="ask uv what an installer would take of the requirements, and check all of it (needs the index)",
    )
    command.add_argument(
        "--as-of", metavar="DATE", type=_day, help="nothing after this day (YYYY-MM-DD) is known; with --resolve: what was taken then"
    )
    command.add_argument("--each", action="store_true", help="every file is a situation of its own (default: all targets together are one)")
    command.add_argument("--full", action="store_true", help="hash the weights of a model as well, whatever is known of them from before")
    _verdict(command)
    command.set_defaults(fail_on=None)  # the settings of the project say, else error
    _policy(command)
    _output(command, FORMATS)


def _diagnose(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "diagnose",
        help="a traceback, a training log or a pasted bug report: which rule explains it",
        description="Find the rule that explains an error, and whether its condition holds for the versions stated.",
    )
    command.add_argument("log", metavar="LOG", nargs="?", default="-", help="a file, or - for stdin (default)")
    _situation(command)
    command.add_argument(
        "--probe", choices=("auto", "off", "all"), default="off", help="confirm findings by a tiny training step (default: off)"
    )
    _verdict(command)
    _output(command, FORMATS)


def _fix(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "fix",
        help="the pins that clear all findings at once, as a diff; --write edits the file",
        description="Find the smallest change that clears all findings, show that it resolves, and print it as a diff of the files given: "
        "requirements, pyproject.toml, environment.yml, Dockerfile, or a training plan. For an installed environment: the command to run. "
        "Exit status 0 when nothing is left to fix after it.",
    )
    command.add_argument("targets", metavar="TARGET", nargs="*", help=_TARGETS)
    command.add_argument("--write", action="store_true", help="write the files, read them back and check them again; all of them or none")
    _situation(command)
    command.add_argument(
        "--probe", choices=("auto", "off", "all"), default="off", help="confirm findings by a tiny training step (default: off)"
    )
    _machine(command)
    command.add_argument("--as-of", metavar="DATE", type=_day, help="nothing after this day (YYYY-MM-DD) is known or proposed")
    command.add_argument("--each", action="store_true", help="every file is a situation of its own (default: all targets together are one)")
    _verdict(command)
    command.set_defaults(fail_on=None)
    _policy(command, writes=False)
    _output(command, FORMATS)


def _fit(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "fit",
        help="will this plan fit in this GPU's memory, and which change makes it fit",
        description="Estimate the memory of a training plan on one GPU at the peak of a step: for what, at which moment, whether it fits, "
        "and the smallest changes that make it fit. What nobody states is assumed, and listed. Exit status 1 when it does not fit.",
    )
    command.add_argument("model", metavar="MODEL", help="a model directory (a config.json is enough), or a hub id in the local hub cache")
    command.add_argument("--plan", metavar="FILE", help="the training plan or script")
    command.add_argument("--gpu", metavar="NAME", help='the card, and how many of them: "RTX 3090 x3" (default: those of this machine)')
    command.add_argument("--data", metavar="FILE", help="training data: the memory follows from the lengths of its rows")
    command.add_argument(
        "--exact", action="store_true", help="measure: run the model's code on fake tensors, without weights or GPU, in the patient's stack"
    )
    _situation(command)
    _output(command, ("text", "json", "html"))


def _probe(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "probe",
        help="run probe steps by name",
        description="Run probes in the patient's interpreter; without NAME all that fit the plan. Exit status 1 when one is confirmed.",
    )
    command.add_argument("names", metavar="NAME", nargs="*", help="a probe (see --list)")
    command.add_argument("--list", action="store_true", help="what each probe shows, needs and costs")
    command.add_argument(
        "--target", dest="targets", metavar="TARGET", action="append", default=[], help="a model directory or a training plan"
    )
    _situation(command)
    _output(command)


def _explain(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "explain", help="one rule with its evidence", description="Show a rule: when, why, what cures it, on what evidence."
    )
    command.add_argument("rule", metavar="RULE", help="the id of a rule (envdoctor rules lists them)")
    _extra_rules(command)
    _output(command)


def _rules(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "rules", help="the list of rules; `rules lint PATH` for rule authors", description="List, start, lint, verify or reproduce rules."
    )
    command.add_argument(
        "action",
        nargs="?",
        choices=("list", "new", "lint", "verify", "reproduce", "refresh"),
        default="list",
        help="list (default); new ID: the skeleton of a rule; lint: what is wrong with rule files; "
        "verify: check their claims on the released wheels (downloads them); "
        "reproduce: see their harm in a bad and in a good environment (builds both); "
        "refresh: ask the package index which releases there are today and what they require",
    )
    command.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="rule files, directories or ids (default: all rules; reproduce asks for --all); refresh: packages",
    )
    command.add_argument("--offline", action="store_true", help="no network at all")
    group = command.add_argument_group("verify and reproduce")
    group.add_argument(
        "--record", action="store_true", help="write what was seen beside the rule, and the confidence it has earned into it"
    )
    group.add_argument("--wheels", metavar="DIR", help="verify: wheels are looked for and kept there (default: in the cache)")
    group.add_argument("--large", action="store_true", help="verify: download wheels of hundreds of MB as well (torch, vllm)")
    group.add_argument("--all", action="store_true", help="reproduce: every rule that can be")
    group.add_argument("--keep", metavar="DIR", help="reproduce: build the environments there and keep them")
    _extra_rules(command)
    _output(command)


def _facts(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "facts",
        help="the facts as found; as TOML they are a facts file that can be given back",
        description="Show every fact of the situation with its origin.",
    )
    command.add_argument("targets", metavar="TARGET", nargs="*", help=_TARGETS)
    command.add_argument("--vocabulary", action="store_true", help="every fact that exists, with kind, unit and meaning")
    _machine(command)
    _situation(command)
    _output(command, formats=("text", "toml", "json"))


def _situation(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("the situation")
    group.add_argument(
        "--python", metavar="PATH", help="the patient: an interpreter, a venv or a conda prefix; its packages are read, not imported"
    )
    group.add_argument(
        "--root",
        metavar="DIR",
        help="an unpacked image filesystem: the patient lies in it (--python /opt/venv names which), nothing is run",
    )
    group.add_argument(
        "--facts",
        metavar="FILE",
        help="facts stated by hand (TOML), or what pip freeze, pip list, pip inspect, conda list or an env report prints (- for stdin); "
        "stated packages replace the installed stack",
    )
    group.add_argument("--set", metavar="NAME=VALUE", dest="settings", action="append", default=[], help="one fact; wins over all sources")
    group.add_argument(
        "--trust-remote-code", action="store_true", help="allow probes to execute files of the snapshot (nothing does without it)"
    )
    group.add_argument("--offline", action="store_true", help="no network at all")
    _extra_rules(command)


def _machine(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--target",
        metavar="PROFILE",
        dest="profile",
        help="the machine that the run is meant for, such as linux-x86_64,python=3.11,gpu=H100,driver=550, or the name of a profile in "
        "[tool.envdoctor.targets]; nothing is then read of this one",
    )


def _policy(command: argparse.ArgumentParser, *, writes: bool = True) -> None:
    group = command.add_argument_group("living with it")
    group.add_argument("--baseline", metavar="FILE", help="findings of this file do not count: only new ones fail")
    if writes:
        group.add_argument("--write-baseline", metavar="FILE", help="write the findings of today as a baseline")
    else:
        command.set_defaults(write_baseline=None)
    group.add_argument(
        "--config", metavar="FILE", help="settings (default: envdoctor.toml or [tool.envdoctor] of pyproject.toml, here or above)"
    )
    group.add_argument("--isolated", action="store_true", help="no settings file is read")


def _extra_rules(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--rules", metavar="DIR", dest="rule_directories", action="append", default=[], help="more rules, from a directory"
    )


def _verdict(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("exit status")
    group.add_argument(
        "--fail-on", choices=("error", "warning", "note", "never"), default="error", help="exit 1 from this severity on (default: error)"
    )
    group.add_argument("--strict", action="store_true", help="possible findings count as matched")
    group.add_argument("--allow-empty", action="store_true", help="do not exit 2 where a target is empty, unreadable or of no known tool")


def _output(command: argparse.ArgumentParser, formats: Sequence[str] = ("text", "json")) -> None:
    command.add_argument("--format", choices=formats, default="text", help="default: text")
    command.add_argument("--output", metavar="FILE", help="write there instead of to stdout")
