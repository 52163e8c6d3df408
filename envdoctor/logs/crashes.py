"""An interpreter that was ended by the system while compiled code ran, with what Python's faulthandler prints of it.

Its frames go from the innermost to the outermost, unlike those of a traceback: "most recent call first".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.checks.hit import Hit
from envdoctor.logs.places import owner_of
from envdoctor.logs.run_errors import RUN
from envdoctor.logs.wording import named
from envdoctor.world.import_names import package_of

_HEAD = re.compile(
    r"Fatal Python error: (?P<what>Segmentation fault|Bus error|Illegal instruction|Aborted|Floating point exception)"
    r"|Windows fatal exception: (?P<windows>access violation|stack overflow|code 0x[0-9a-f]{8})"
)
_FRAME = re.compile(r"^\s{0,8}File \"(?P<path>[^\"]{1,600})\", line (?P<line>\d{1,9}) in (?P<function>\S{1,200})")
_NEAR = 60
_BEHIND = (
    "its compiled part is of another build than the libraries that are loaded beside it (conda's beside pip's, another numpy or "
    "torch), two of "
    "them do not bear each other in that order, or the file is damaged"
)
_OLD_CPU = "its compiled part uses instructions that this processor does not have (AVX, AVX2, AVX-512)"


def judge_crash(lines: Iterable[tuple[int, str]]) -> tuple[Hit, int, str] | None:
    """Whose compiled code ran, and who called it, where the interpreter itself was ended; with the line that says so."""
    head: tuple[int, str, str] | None = None
    found: list[tuple[str, str]] = []
    for number, line in lines:
        if head is None:
            if (told := _HEAD.search(line)) is not None:
                head = (number, line.strip(), told["what"] or told["windows"])
            continue
        frame = _FRAME.match(line) if number - head[0] <= _NEAR else None
        owner = owner_of(frame["path"])[0] if frame is not None else ""
        if frame is not None and owner:
            found.append((package_of(owner), f"{frame['path'].replace(chr(92), '/').rpartition('-packages/')[2]}:{frame['line']}"))
    if head is None or not found:
        return None
    (package, where), others = found[0], [name for name, _ in found if name != found[0][0]]
    by = f", which {others[0]} led to" if others else ""
    behind = _OLD_CPU if head[2] == "Illegal instruction" else _BEHIND
    module, first = where.partition("/")[0].partition(".")[0], others[0] if others else "the others"
    advice = (
        f"python -X faulthandler -c 'import {module}' alone: where that ends so, another build or release of {package} "
        f"(pip install --force-reinstall --no-cache-dir {package}); where it does not, import it before {first}"
    )
    return (
        Hit(
            RUN,
            True,
            detail=f"it ran {where} of {package}{by}; {behind}",
            packages=named(package, others[0] if others else ""),
            edge=f"{package}:crash:{where}"[:160],
            headline=f"The interpreter was ended ({head[2]}) while compiled code of {package} was loaded or ran",
            advice=advice,
        ),
        head[0],
        head[1][:300],
    )
