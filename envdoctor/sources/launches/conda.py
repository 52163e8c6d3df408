"""What ``conda install`` puts into the environment of a run, in the words of a launcher or an installing script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from envdoctor.sources.declared.conda_environment import CondaReading
from envdoctor.sources.declared.conda_spec import parse_match_spec
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.installers.wanted import list_wanted
from envdoctor.sources.launches.script import Install
from envdoctor.sources.shell.marks import is_known


def state_conda(path: Path, of_conda: Sequence[Install], of_pip: Sequence[Install], declared: Declarations) -> None:
    """Declare the packages of conda's commands that surely run; of a script that fills several environments nothing is taken."""
    certain = [one for one in of_conda if one.certain]
    if len({one.request.into for one in certain if one.request.into}) > 1:
        for one in certain:
            declared.skip(f"{path}:{one.line}", "conda fills several environments here: which of them the run takes is not read")
        return
    reading = CondaReading(path, [], declared.installation, declared)
    for one in certain:
        words = [argument for argument in one.request.wanted if is_known(argument.text)]
        reading.specs += [(spec, word.line) for word in words if (spec := parse_match_spec(word.text)) is not None]
        reading.channels += one.request.channels
    asked = (text for one in of_pip for text, _, why in list_wanted(one.request) if not why)
    reading.state_conda(asked)
