"""Numbers of a config.json that may be missing, of another name, or absurd."""

from __future__ import annotations

import math
from collections.abc import Mapping

from envdoctor.memory.class_defaults import class_defaults

LARGEST = 2**32
# A directory with nothing but a model_type says nothing; inside of another configuration it means the sizes of the class.
_SIZES = """
hidden_size n_embd d_model dim num_hidden_layers n_layer n_layers num_layers num_attention_heads n_head n_heads num_heads vocab_size
intermediate_size ffn_dim d_ff hidden_dim
"""
_OF_EVERY_MODEL = frozenset(_SIZES.split())


class ArchitectureError(Exception):
    """A config.json that tells no sizes of a transformer. ``field`` is what is wrong in it."""

    def __init__(self, field: str, *, found: str, expected: str) -> None:
        self.field = field
        self.found = found
        self.expected = expected
        super().__init__(f"{field}: found {found}; expected {expected}")


class Fields:
    """What a config.json says, by any of the names that a family has for it.

    A field that is not stated has the default that its class in transformers gives it; numbers among them are listed in ``assumed``.
    The sizes that every model has are not taken from a class unless the configuration stands inside of another one (``nested``),
    which leaves out what is as in the class.
    """

    def __init__(self, config: Mapping[str, object], kind: str, *, nested: bool = False) -> None:
        self.config = config
        self.kind = kind
        self.assumed: list[str] = []
        defaults = class_defaults().get(kind, {})
        self._defaults = defaults if nested else {name: value for name, value in defaults.items() if name not in _OF_EVERY_MODEL}

    def raw(self, *names: str) -> object:
        """The value of the first of these names that is stated, else that of the class, else None."""
        for name in names:
            if name in self.config:
                return self.config[name]
        for name in names:
            if name in self._defaults:
                return self._defaults[name]
        return None

    def optional(self, *names: str, least: int = 1, most: int = LARGEST) -> int | None:
        """A whole number, or None where there is none.

        Raises ArchitectureError for anything that is no whole number from ``least`` to ``most``.
        """
        value = self.raw(*names)
        if value is None:
            return None
        if not any(name in self.config for name in names) and names[0] not in self.assumed:
            self.assumed.append(names[0])
        if type(value) is not int or not least <= value <= most:
            name = next((name for name in names if name in self.config), names[0])
            raise ArchitectureError(name, found=shown(value), expected=f"a whole number from {least} to {most}")
        return value

    def size(self, *names: str, default: int | None = None, least: int = 1, most: int = LARGEST) -> int:
        """A whole number that must be there, or has a ``default``. Raises ArchitectureError otherwise."""
        value = self.optional(*names, least=least, most=most)
        if value is None:
            value = default
        if value is None:
            stated = next((name for name in names if name in self.config), None)
            raise ArchitectureError(
                names[0], found="nothing" if stated is None else "null", expected="the number that the model was built with"
            )
        return value

    def flag(self, *names: str, default: bool = False) -> bool:
        """True or false; anything else than a boolean or null is refused."""
        value = self.raw(*names)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ArchitectureError(names[0], found=shown(value), expected="true or false")
        return value

    def probability(self, *names: str) -> float:
        """A dropout: a number from 0 to 1, 0 where there is none."""
        value = self.raw(*names)
        if value is None:
            return 0.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ArchitectureError(names[0], found=shown(value), expected="a number from 0 to 1")
        return float(value)

    def word(self, *names: str, default: str) -> str:
        """A short name, such as that of an activation; the default for anything else."""
        value = self.raw(*names)
        return value if isinstance(value, str) and len(value) <= 40 and value.replace("-", "_").isidentifier() else default


def table(value: object) -> Mapping[str, object]:
    """A JSON object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def shown(value: object) -> str:
    """A value of unknown kind and length in a few characters."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 100 else f"a number of {value.bit_length()} bits"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "a number that is not finite"
    if isinstance(value, str):
        return ascii(value if len(value) <= 40 else value[:37] + "...")
    return "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else type(value).__name__
