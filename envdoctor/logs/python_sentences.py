"""What Python says itself, also where a package says it in Python's words."""

from __future__ import annotations

import re

from envdoctor.atlas.messages import fixed_parts

_PYTHONS = re.compile(
    r"(?:name |function |class |type |the |an |init |tuple |list |dict |str )*(?:object )?"
    r"(?:got an |has no |is not |takes no |missing |got multiple values for )?"
    r"(?:unexpected keyword arguments?|arguments?|attributes?|keyword arguments?|required positional arguments?|"
    r"defined|callable|subscriptable|iterable)"
    r"|cant set attribute|property (?:of )?(?:object )?has no setter|unhashable type|unsupported operand type ?s? for(?: .{1,20})?"
    r"|(?:object )?of type has no len|(?:(?:list|tuple|string|deque|pop) )?(?:assignment )?index out of range"
    r"|(?:float |integer )?(?:division|modulo)(?: or modulo)? by zero"
    r"|(?:not enough|too many) values to unpack(?: expected(?: got)?)?|object does not support item (?:assignment|deletion)"
    r"|(?:expected str bytes or os pathlike object|must be real number|must be str|must be bytes) not|could not convert string to float"
    r"|invalid literal for int with base|cannot unpack non iterable object|object cannot be interpreted as an integer"
    r"|dictionary changed size during iteration|cannot import name from|no module named"
    r"|(?:function )?takes (?:at most|at least|exactly)(?: positional)?(?: arguments?)?(?: s)? given"
    r"|takes(?: from to)?(?: positional)?(?: arguments?)?(?: s)? but(?: (?:was|were))? given"
    r"|(?:issubclass|isinstance) arg must be an? .*|maximum recursion depth exceeded(?: .*)?|can only concatenate .*"
)


def is_pythons(template: str) -> bool:
    """Whether a template of a package is one of Python's own messages."""
    return _PYTHONS.fullmatch(" ".join(re.findall(r"[a-z]+", " ".join(fixed_parts(template))))) is not None
