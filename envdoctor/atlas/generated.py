"""What protobuf refuses of code that protoc generated: no signature says so, and every such file runs it when it is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from envdoctor.atlas.signatures import read_call

# Since 4.21.0 a _pb2 file of protoc before 3.19 cannot make these: "Descriptors cannot be created directly".
_MADE = frozenset(("Descriptor", "EnumDescriptor", "EnumValueDescriptor", "FieldDescriptor"))
_MADE_UNTIL = (4, 21)
# Compares the release of protoc with the one that is installed, which may not be older.
_COMPARES = "ValidateProtobufRuntimeVersion"
_MODULE = "google.protobuf"
_NUMBERS = re.compile(r"\d+")


def call_of_generated(name: str, node: ast.Call) -> str:
    """A call of generated code as text, with the release of protoc that it compares: ``6,5.27.2=``; empty for any other call."""
    if not is_generated(name):
        return ""
    numbers = [item.value for item in node.args[1:4] if isinstance(item, ast.Constant) and isinstance(item.value, int)]
    return ",".join((str(len(node.args)), *([f"{'.'.join(map(str, numbers))}="] if name.endswith(_COMPARES) and len(numbers) == 3 else [])))


def is_generated(name: str) -> bool:
    """Whether a full name is called by generated code alone."""
    word = re.split(r"[.:]", name)[-1]
    return name.startswith(_MODULE) and (word in _MADE or word == _COMPARES)


def refused_of_generated(releases: Sequence[str], name: str, call: str) -> int:
    """The releases of protobuf, as places, that refuse a call of generated code."""
    keywords = read_call(call).keywords
    if not name.endswith(_COMPARES):
        return sum(1 << place for place, release in enumerate(releases) if _key(release) >= _MADE_UNTIL)
    by = _key(keywords[0]) if keywords else ()
    return sum(1 << place for place, release in enumerate(releases) if _key(release)[:3] < by)


def _key(release: str) -> tuple[int, ...]:
    return tuple(map(int, _NUMBERS.findall(release)))
