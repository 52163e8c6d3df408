"""``envdoctor rules new ID``: the skeleton of a rule file, to be filled in."""

from __future__ import annotations

import argparse
from pathlib import Path

from envdoctor.cli.output import emit
from envdoctor.errors import EnvdoctorError
from envdoctor.rules.skeleton import skeleton


def run(options: argparse.Namespace) -> int:
    """Write ``<directory>/<folder>/<id>.toml``; the directory is the first of ``--rules``, else that of the checkout.

    Raises:
        EnvdoctorError: not one id, or one for which there is no place or no file can be made.
    """
    directory = Path(options.rule_directories[0]) if options.rule_directories else None
    new = skeleton(" ".join(options.paths), directory)
    try:
        new.path.parent.mkdir(parents=True, exist_ok=True)
        with new.path.open("x", encoding="utf-8") as file:
            file.write(new.text)
    except OSError as error:
        raise EnvdoctorError(
            str(new.path), found=error.strerror or str(error), expected="a file that can be made", next_step="another id, or --rules DIR"
        ) from error
    emit(
        options,
        f"{new.path}\nfill in what is empty or in capitals (CONTRIBUTING.md, how a rule is written), "
        f"then: envdoctor rules lint {new.path}\n",
    )
    return 0
