"""What pip and uv are asked for where nothing but the command is known: in a launcher, in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from envdoctor.sources.installers.request import Request
from envdoctor.sources.shell.marks import is_known, shown

_OTHER_TARGET = "give that file as a target of its own"
_OTHER_PROJECT = "give that project as a target of its own"
_UNKNOWN_VERSION = "a URL or path, its version is not known"


def list_wanted(request: Request) -> Iterator[tuple[str, int, str]]:
    """Each requirement that pip or uv is to install, with its line, and the reason why it states no package, or ""."""
    if request.action != "install" or request.tool not in ("pip", "uv", "uv-project"):
        return
    for argument in request.files:
        yield f"-r {shown(argument.text)}", argument.line, _OTHER_TARGET
    for argument in request.constraints:
        yield f"-c {shown(argument.text)}", argument.line, _OTHER_TARGET
    # A project's own environment is synchronised with what its manifest says: that is a target of its own.
    for argument in request.projects if request.tool in ("pip", "uv") else ():
        yield f"-e {shown(argument.text)}", argument.line, _UNKNOWN_VERSION if "://" in argument.text else _OTHER_PROJECT
    for argument in request.wanted:
        text = shown(argument.text)
        if not is_known(argument.text) or "$" in text or "{" in text:
            yield text, argument.line, "it names a variable"
        elif _is_place(text):
            yield text, argument.line, _UNKNOWN_VERSION
        else:
            yield unquote(text) if text.endswith(".whl") else text, argument.line, ""


def _is_place(text: str) -> bool:
    """Whether a requirement names a place that tells no version; the file name of a wheel tells one."""
    from envdoctor.sources.declared.requirement_line import wheel_release

    return ("://" in text or text.startswith((".", "/"))) and wheel_release(text) is None
