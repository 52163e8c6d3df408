"""``envdoctor rules new ID``: the skeleton of a rule file, to be filled in."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from envdoctor.cli.output import emit
from envdoctor.errors import EnvdoctorError
from envdoctor.rules.rulebook import shipped_rules

SKELETON = """\
id         = "{id}"
title      = "{package}: what breaks, in one line"
severity   = "error"                 # error | warning | note
effect     = "crash"                 # silent | crash | oom | slow | blocked
confidence = "cited"                 # raised by `rules verify --record` and `rules reproduce --record`
symptoms   = ["a literal fragment of the error text"]
details    = '''
What happens, why, since which release, in your own words.
'''

[affected]
packages = ["{package} >=0, <1"]

[[fix]]
pin  = "{package} >=1"
note = "why this cures it"

[[evidence]]
url  = "https://github.com/..."
kind = "issue"                       # issue | pr | commit | release-notes | docs | source | wheel | execution | forum
says = "what it says, in your own words"

[[case]]
expect = "match"
facts  = {{ packages.{package} = "==0.9.0" }}

[[case]]
expect = "no-match"
facts  = {{ packages.{package} = "==1.0.0" }}

[[case]]
expect = "unknown"
facts  = {{ packages.{package} = ">=0.9" }}
"""


def run(options: argparse.Namespace) -> int:
    """Write ``<directory>/<package>/<id>.toml``; the directory is the first of ``--rules``, else that of the shipped rules.

    Raises:
        EnvdoctorError: no id, one of another form, or a file that is there already.
    """
    if len(options.paths) != 1 or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", options.paths[0]):
        found = " ".join(options.paths) or "nothing"
        expected = "one id: lower-case words joined by dashes, the package first"
        raise EnvdoctorError("rules new", found=repr(found), expected=expected, next_step="rules new peft-what-breaks")
    name = options.paths[0]
    package = name.partition("-")[0]
    directory = Path(options.rule_directories[0]) if options.rule_directories else shipped_rules()
    path = directory / package / f"{name}.toml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(SKELETON.format(id=name, package=package))
    except OSError as error:
        raise EnvdoctorError(
            str(path), found=error.strerror or str(error), expected="a file that can be made", next_step="another id, or --rules DIR"
        ) from error
    emit(options, f"{path}\nfill it in (CONTRIBUTING.md, how a rule is written), then: envdoctor rules lint {path}\n")
    return 0
