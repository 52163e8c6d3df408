"""A module of Python's own that lacks what it has in every Python: a file of the project's with its name is imported in its place.

https://github.com/lm-sys/FastChat/commit/0c905f4: a file inspect.py beside the script, and numpy that asks inspect for cleandoc.
"""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.logs.statements import MissingAttribute, MissingName

OWN = "error-of-own-code"
# What Python 3.7 has as well as 3.14, of modules by whose names people call their files.
_ALWAYS = {
    "calendar": "monthrange month_name",
    "code": "InteractiveConsole InteractiveInterpreter",
    "copy": "copy deepcopy",
    "csv": "reader writer DictReader DictWriter",
    "email": "message_from_string",
    "enum": "Enum IntEnum Flag",
    "glob": "glob iglob",
    "inspect": "cleandoc currentframe getdoc getfullargspec getmembers getsource isclass isfunction ismodule signature stack Parameter",
    "io": "BytesIO StringIO",
    "json": "dump dumps load loads JSONDecodeError",
    "logging": "Formatter Handler NullHandler StreamHandler basicConfig getLogger Logger DEBUG INFO WARNING ERROR",
    "math": "ceil exp floor log pi sqrt",
    "numbers": "Integral Number Real",
    "operator": "attrgetter itemgetter",
    "platform": "machine python_version system",
    "queue": "Empty Full Queue",
    "random": "Random choice choices randint random randrange sample seed shuffle uniform",
    "select": "select",
    "signal": "SIGINT SIGTERM signal",
    "statistics": "mean median",
    "string": "Formatter Template ascii_letters digits punctuation",
    "struct": "calcsize pack unpack",
    "time": "perf_counter sleep strftime time",
    "token": "NAME NUMBER OP",
    "tokenize": "detect_encoding generate_tokens open tokenize",
    "types": "FunctionType MappingProxyType MethodType ModuleType SimpleNamespace",
    "typing": "Any Callable Dict List Optional Tuple Union",
    "uuid": "UUID uuid4",
}


def judge_shadowed_standard(statement: object) -> Hit | None:
    """None of what some Python has not: that is told with the Pythons that have it."""
    if not isinstance(statement, (MissingAttribute, MissingName)):
        return None
    name = statement.module
    if statement.name not in _ALWAYS.get(name, "").split():
        return None
    return Hit(
        OWN,
        True,
        detail=f"every Python has {name}.{statement.name}, and what was imported as {name} has not: Python looks first in the folder of "
        "the script that was started, and in the one that it was started from",
        edge=f"shadowed:{name}",
        headline=f"A file {name}.py, or a folder {name}, of your own is imported in the place of Python's own {name}",
        advice=f"rename it, and remove the __pycache__ beside it; python -c 'import {name}; print({name}.__file__)' tells where",
    )
