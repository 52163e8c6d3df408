"""The commands that a script hands to a shell or starts itself: ``subprocess.run(["llamafactory-cli", "train", "plan.yaml"])``."""

from __future__ import annotations

import ast
import shlex

from envdoctor.sources.scripts.reading import Call, Reading
from envdoctor.sources.scripts.source import ShellLine

_STARTS = frozenset(
    ("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "os.system", "os.popen")
)
_MOST = 100
# Nobody sees what it stands for, and a shell reads it as a word of its own.
_UNSEEN = '"$_"'


def read_commands(reading: Reading) -> None:
    """Add the commands that a script's calls start to those that a notebook hands to a shell, as it would write them.

    One with an environment of its own is left out: what is set there may decide how it runs.
    """
    if reading.source.shell:  # a notebook's commands are read; which of both comes first is not told
        return
    for call in [call for call in reading.calls if call.name in _STARTS and "env" not in call.keywords][:_MOST]:
        text = _text(reading, call)
        if text:
            reading.source.shell.append(ShellLine(f"!{text}", call.line, call.sure))


def _text(reading: Reading, call: Call) -> str | None:
    given, scope = call.node.args[0] if call.node.args else call.keywords.get("args", (None, call.scope))[0], call.scope
    known = reading.of(given, scope)
    if known is not None and isinstance(known.value, str) and "\n" not in known.value:
        return known.value
    if not isinstance(given, (ast.List, ast.Tuple)):
        return None
    words = [reading.of(item, scope) for item in given.elts]
    told = [shlex.quote(word.value) if word is not None and isinstance(word.value, str) else _UNSEEN for word in words]
    return " ".join(told) if told and told[0] != _UNSEEN else None
