"""What users type."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TypeAlias

from envdoctor import __version__
from envdoctor.cli.atlas_options import add_against, add_api, add_atlas
from envdoctor.cli.snapshot_options import add_lock, add_verify
from envdoctor.cli.words import Parser
from envdoctor.report import FORMATS

_TARGETS = "model directory, hub id, requirements, manifest, lock, Dockerfile, training plan or script"


class _Alone:
    """Stands in for argparse's table of commands where it is known which one is meant: the others need no parser."""

    def __init__(self) -> None:
        self.made: list[Parser] = []

    def add_parser(self, name: str, *, help: str, description: str) -> Parser:
        self.made.append(Parser(prog=f"envdoctor {name}", description=description))
        return self.made[0]


_Commands: TypeAlias = "argparse._SubParsersAction[Parser] | _Alone"


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options of one run; ``run`` is the function of its command.

    Raises:
        EnvdoctorError: a command line that cannot be understood.
    """
    options = _parse_alone(words)
    if options is None:
        parser, commands = whole_parser()
        options, unknown = parser.parse_known_args(list(words))
        if unknown:
            commands[options.command].refuse_unknown(unknown)
    options.run = _command(options.command)
    return options


def _parse_alone(words: Sequence[str]) -> argparse.Namespace | None:
    """The options of a command that comes first, as a parser of that command alone reads them.

    None where no command comes first, or where it leaves words over: what is wrong with them is told by the parser of all.
    """
    add = _COMMANDS.get(words[0]) if words else None
    if add is None:
        return None
    alone = _Alone()
    add(alone)
    options, left = alone.made[0].parse_known_args(list(words[1:]), argparse.Namespace(command=words[0]))
    return None if left else options


def help_texts() -> dict[str, str]:
    """What ``--help`` prints, by command, at 80 columns: the documentation is made from it."""
    return {name: command.format_help() for name, command in whole_parser()[1].items()}


def overview() -> str:
    """What ``envdoctor --help`` prints."""
    return whole_parser()[0].format_help()


def whole_parser() -> tuple[Parser, dict[str, Parser]]:
    """The parser of all commands, and that of each by its name."""
    parser = Parser(prog="envdoctor", description="A doctor for the environments in which people fine-tune language models.")
    parser.add_argument("-V", "--version", action="version", version=f"envdoctor {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for add in _COMMANDS.values():
        add(commands)
    return parser, dict(commands.choices)


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


def _check(commands: _Commands) -> None:
    command = commands.add_parser(
        "check",
        help="find known-broken combinations, with the evidence and the fix",
        description="Compare an environment, or what files declare, with what is known to break, and propose the change that fixes it.",
    )
    command.add_argument("targets", metavar="TARGET", nargs="*", help=_TARGETS)
    _situation(command)
    _judging(command)
    command.add_argument(
        "--resolve",
        action="store_true",
        help="ask uv what would be installed, and check all of it (needs the package index)",
    )
    command.add_argument("--as-of", metavar="DATE", type=_day, help="as if it were this day (YYYY-MM-DD): later releases are not known")
    command.add_argument("--each", action="store_true", help="check every file by itself (default: all targets together)")
    command.add_argument("--full", action="store_true", help="hash the weights of a model as well, even if nothing seems to have changed")
    _verdict(command)
    command.set_defaults(fail_on=None)  # the settings of the project say, else error
    _policy(command)
    _report(command)


def _diagnose(commands: _Commands) -> None:
    command = commands.add_parser(
        "diagnose",
        help="explain a traceback, a training log or a pasted bug report",
        description="Say what explains an error: rules that know its text, and what it states itself, held against the versions stated.",
    )
    command.add_argument("log", metavar="LOG", nargs="?", default="-", help="a file, or - for stdin (default)")
    command.add_argument("targets", metavar="TARGET", nargs="*", help=f"what the run was made of: {_TARGETS}")
    _situation(command)
    command.add_argument("--resolve", action="store_true", help="ask uv whether the joint pins install (needs the index)")
    command.add_argument(
        "--probe", choices=("auto", "off", "all"), default="off", help="confirm findings with a tiny training step (default: off)"
    )
    _verdict(command)
    _report(command)


def _issue_report(commands: _Commands) -> None:
    command = commands.add_parser(
        "report",
        help="a block to paste into an issue: versions, hardware, plan, findings; no paths, tokens, hosts or names",
        description="Print what an issue needs as Markdown: versions, hardware, plan, model and findings. Paths, tokens, hosts, addresses "
        "and names of users are taken out; packages that are on no public index are counted and not named. Read it before you paste it.",
    )
    command.add_argument("targets", metavar="TARGET", nargs="*", help=_TARGETS)
    command.add_argument("--log", metavar="LOG", help="a log or a traceback: its findings are told, and the versions that it states")
    _situation(command)
    command.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")
    command.set_defaults(format="text")


def _fix(commands: _Commands) -> None:
    command = commands.add_parser(
        "fix",
        help="the smallest change that fixes everything, as a diff; --write makes it",
        description="Find the smallest change that fixes all findings, show that it installs, and print it as a diff of the files given: "
        "requirements, pyproject.toml, environment.yml, Dockerfile, or a training plan. For an installed environment: the command to run. "
        "Exit status 0 when nothing is left to fix after it.",
    )
    command.add_argument("targets", metavar="TARGET", nargs="*", help=_TARGETS)
    command.add_argument("--write", action="store_true", help="write the files and check them again; all of them or none")
    command.add_argument("--prove", action="store_true", help="build the cured environment with uv and run there what shows each fault")
    _situation(command)
    _judging(command)
    command.add_argument("--as-of", metavar="DATE", type=_day, help="as if it were this day (YYYY-MM-DD): later releases are not proposed")
    command.add_argument("--each", action="store_true", help="check every file by itself (default: all targets together)")
    _verdict(command)
    command.set_defaults(fail_on=None)
    _policy(command, writes=False)
    _report(command)


def _fit(commands: _Commands) -> None:
    command = commands.add_parser(
        "fit",
        help="does this plan fit into the memory of this GPU, and what would make it fit",
        description="Estimate the memory of a training plan on one GPU at the peak of a step: for what, at which moment, whether it fits, "
        "and the smallest changes that make it fit. What nobody states is assumed, and listed. Exit status 1 when it does not fit.",
    )
    command.add_argument("model", metavar="MODEL", help="a model directory (a config.json is enough), or a hub id in the local hub cache")
    command.add_argument("--plan", metavar="FILE", help="the training plan or script")
    command.add_argument("--gpu", metavar="NAME", help='the card, and how many of them: "RTX 3090 x3" (default: those of this machine)')
    command.add_argument("--data", metavar="FILE", help="training data: the lengths of its rows decide how much memory is needed")
    command.add_argument(
        "--exact", action="store_true", help="run the model's code on fake tensors in the examined environment: no weights, no GPU"
    )
    _situation(command)
    _output(command, ("text", "json", "html"))


def _probe(commands: _Commands) -> None:
    command = commands.add_parser(
        "probe",
        help="run small real training steps that show a fault: PASS or FAIL",
        description="Run probes in the examined interpreter; without NAME all that fit the plan. Exit status 1 when one fails.",
    )
    command.add_argument("names", metavar="NAME", nargs="*", help="a probe (see --list)")
    command.add_argument("--list", action="store_true", help="what each probe shows, needs and costs")
    command.add_argument(
        "--target", dest="targets", metavar="TARGET", action="append", default=[], help="a model directory or a training plan"
    )
    _situation(command)
    _output(command)


def _explain(commands: _Commands) -> None:
    command = commands.add_parser(
        "explain", help="all that is known of one rule", description="Show a rule: when it applies, why, what fixes it, and the evidence."
    )
    command.add_argument("rule", metavar="RULE", help="the id of a rule (envdoctor rules lists them)")
    _extra_rules(command)
    _output(command)


def _rules(commands: _Commands) -> None:
    command = commands.add_parser(
        "rules",
        help="list or search the rules; `rules lint PATH` for rule authors",
        description="List the rules, or those about a package or with words; start, lint, verify or reproduce rules.",
    )
    command.add_argument(
        "action",
        metavar="WORD",
        nargs="?",
        help="a package, or words that a rule has; or one of: list; new ID: the skeleton of a rule; lint: what is wrong with rule files; "
        "verify: check their claims on the released wheels (downloads them); "
        "reproduce: see their harm in a bad and in a good environment (builds both); "
        "refresh: ask the package index which releases there are today and what they require",
    )
    command.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="more words; or rule files, directories or ids (default: all rules; reproduce asks for --all); refresh: packages",
    )
    command.add_argument("--severity", choices=("error", "warning", "note"), help="list: only those of this severity")
    command.add_argument("--offline", action="store_true", help="never use the network")
    group = command.add_argument_group("verify and reproduce")
    group.add_argument(
        "--record", action="store_true", help="write what was seen beside the rule, and the confidence it has earned into it"
    )
    group.add_argument("--wheels", metavar="DIR", help="verify: wheels are looked for and kept there (default: in the cache)")
    group.add_argument(
        "--large",
        action="store_true",
        help="verify: download wheels of hundreds of MB as well (torch, vllm); reproduce --cures: install another torch",
    )
    group.add_argument("--all", action="store_true", help="reproduce: every rule that can be")
    group.add_argument("--cures", action="store_true", help="reproduce: run the cures of each rule too, where its fault shows")
    group.add_argument("--keep", metavar="DIR", help="reproduce: build the environments there and keep them")
    _extra_rules(command)
    _output(command)


def _completion(commands: _Commands) -> None:
    command = commands.add_parser(
        "completion",
        help="shell completion for bash, zsh, fish and PowerShell",
        description="Print what a shell is told once. Needs the extra `completion` (argcomplete).",
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish", "powershell"), help="the shell")
    command.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")


def _facts(commands: _Commands) -> None:
    command = commands.add_parser(
        "facts",
        help="show what was found; as TOML it can be given back with --facts",
        description="Show every fact of the situation with its origin.",
    )
    command.add_argument("targets", metavar="TARGET", nargs="*", help=_TARGETS)
    command.add_argument("--vocabulary", action="store_true", help="list every fact that can be stated, with its kind, unit and meaning")
    _machine(command)
    _situation(command)
    _output(command, formats=("text", "toml", "json"))


def _situation(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("the situation")
    group.add_argument(
        "-p",
        "--python",
        metavar="PATH",
        help="the environment to examine: an interpreter, venv or conda prefix; its packages are read, not imported",
    )
    group.add_argument(
        "--root",
        metavar="DIR",
        help="an unpacked image: its environment is examined (--python /opt/venv says which), nothing of it is run",
    )
    group.add_argument(
        "--facts",
        metavar="FILE",
        help="facts stated by hand (TOML), or what pip freeze, pip list, pip inspect, conda list or an env report prints (- for stdin); "
        "stated packages replace the installed stack",
    )
    group.add_argument(
        "-s", "--set", metavar="NAME=VALUE", dest="settings", action="append", default=[], help="state one fact; it wins over every file"
    )
    group.add_argument(
        "--trust-remote-code", action="store_true", help="allow probes to execute files of the snapshot (nothing does without it)"
    )
    group.add_argument("--offline", action="store_true", help="never use the network")
    _extra_rules(command)


def _judging(command: argparse.ArgumentParser) -> None:
    probing = "confirm findings with a tiny training step (default: off)"
    command.add_argument("--probe", choices=("auto", "off", "all"), default="off", help=probing)
    _machine(command)
    add_against(command)


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
    group.add_argument("--baseline", metavar="FILE", help="findings in this file do not count: only new ones fail")
    if writes:
        group.add_argument("--write-baseline", metavar="FILE", help="write today's findings as a baseline")
    else:
        command.set_defaults(write_baseline=None)
    group.add_argument(
        "--config", metavar="FILE", help="settings (default: envdoctor.toml or [tool.envdoctor] of pyproject.toml, here or above)"
    )
    group.add_argument("--isolated", action="store_true", help="read no settings file")


def _extra_rules(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rules", metavar="DIR", dest="rule_directories", action="append", default=[], help="a directory with more rules")


def _verdict(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("exit status")
    group.add_argument(
        "--fail-on",
        choices=("error", "warning", "note", "never"),
        default="error",
        help="exit with 1 from this severity on (default: error)",
    )
    group.add_argument("--strict", action="store_true", help="possible findings count as findings")
    group.add_argument("--all", dest="show_all", action="store_true", help="show what waits for packages that nothing names as well")
    group.add_argument(
        "--allow-empty", action="store_true", help="do not exit with 2 when a target is empty, unreadable or of an unknown kind"
    )


def _report(command: argparse.ArgumentParser) -> None:
    """What a command takes that prints findings."""
    _output(command, FORMATS)
    group = command.add_argument_group("how much of it (text)").add_mutually_exclusive_group()
    group.add_argument(
        "-v", "--verbose", dest="detail", action="store_const", const="full", help="mechanism, every fact, every fix, evidence"
    )
    group.add_argument("-q", "--quiet", dest="detail", action="store_const", const="verdict", help="one line: the verdict")
    command.set_defaults(detail="short")


def _output(command: argparse.ArgumentParser, formats: Sequence[str] = ("text", "json")) -> None:
    command.add_argument("-f", "--format", choices=formats, default="text", help="default: text")
    command.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")
    command.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="default: auto, which NO_COLOR and FORCE_COLOR decide"
    )


def _lock(commands: _Commands) -> None:
    add_lock(commands, situation=_situation, output=_output)


def _verify(commands: _Commands) -> None:
    add_verify(commands, verdict=_verdict, output=_report, extra_rules=_extra_rules)


# In the order in which the overview lists them.
_COMMANDS: dict[str, Callable[[_Commands], None]] = {
    "check": _check,
    "diagnose": _diagnose,
    "fix": _fix,
    "lock": _lock,
    "verify": _verify,
    "report": _issue_report,
    "fit": _fit,
    "probe": _probe,
    "explain": _explain,
    "rules": _rules,
    "facts": _facts,
    "completion": _completion,
    "api": add_api,
    "atlas": add_atlas,
}
