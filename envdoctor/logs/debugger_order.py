"""What a debugger of an editor shows of an exception: first its class and its message, then the frames, the innermost first.

https://github.com/vllm-project/vllm/issues/21776
"""

from __future__ import annotations

import re

_OCCURRED = re.compile(r"^\s*Exception has occurred: (?P<kind>[A-Za-z_][\w.]{2,80})\b")
_FRAME = re.compile(r"^\s+File \"[^\"]{1,500}\", line \d{1,7}, in (?P<function>.+)$")

Lines = list[tuple[int, str]]


def as_python_tells(lines: Lines) -> Lines:
    """The lines, with such an exception in the order of a traceback; each keeps its number."""
    start = next((at for at, (_, line) in enumerate(lines) if _OCCURRED.search(line)), None)
    occurred = _OCCURRED.search(lines[start][1]) if start is not None else None
    if start is None or occurred is None:
        return lines
    first = next((at for at in range(start + 1, len(lines)) if _FRAME.match(lines[at][1])), len(lines))
    message = [(number, line.strip()) for number, line in lines[start + 1 : first] if line.strip()]
    end = first
    groups: list[Lines] = []
    while end < len(lines) and (_FRAME.match(lines[end][1]) or (groups and lines[end][1].startswith("   "))):
        if _FRAME.match(lines[end][1]):
            groups.append([])
        groups[-1].append(lines[end])
        end += 1
    if not message:
        return lines
    outermost = _FRAME.match(groups[0][0][1]) if groups else None
    if outermost is not None and outermost["function"] != "<module>":
        groups.reverse()
    told = (message[0][0], f"{occurred['kind']}: {' '.join(line for _, line in message)}")
    head = [(lines[start][0], "Traceback (most recent call last):")] if groups else []
    return [*lines[:start], *head, *(line for group in groups for line in group), told, *lines[end:]]
