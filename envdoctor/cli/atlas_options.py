"""What users type after ``api`` and ``atlas``, and of upgrades."""

from __future__ import annotations

from typing import Any


def add_against(command: Any) -> None:
    """``--against``."""
    command.add_argument(
        "--against",
        metavar="RELEASE",
        action="append",
        default=[],
        help="what would break with this release in place of the present one: transformers==5.23.0, several, or a requirements file",
    )


def add_api(commands: Any) -> None:
    """``api``."""
    command = commands.add_parser(
        "api",
        help="since when a package has a name, a member or an argument, where it went, and who takes it",
        description="What every release holds of transformers.Trainer, 'transformers.Trainer(processing_class)', peft.tuners.*",
    )
    command.add_argument("symbol", metavar="SYMBOL", help="package.module.Name, package.Class.member, package.function(keyword); * for any")
    command.add_argument("--in", dest="requirements", metavar="FILE", help="answer for the release that this file pins")
    command.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    command.add_argument("--output", metavar="FILE", help="write there in place of standard output")


def add_atlas(commands: Any) -> None:
    """``atlas``."""
    command = commands.add_parser(
        "atlas",
        help="what the releases of packages hold: its state, or read what it lacks",
        description="status: the packages and their releases; build, update: read the releases that were not read yet.",
    )
    command.add_argument("action", choices=("status", "build", "update"), help="what to do")
    command.add_argument("packages", metavar="PACKAGE", nargs="*", help="these packages only")
    command.add_argument("--from", dest="wheels", metavar="DIR", help="read the wheels of a folder in place of the index")
    command.add_argument("--output", metavar="DIR", help="where to write (for status: the file); ENVDOCTOR_ATLAS=DIR has it used")
    command.add_argument("--offline", action="store_true", help="ask no index")
