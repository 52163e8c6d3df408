"""The nodes of a YAML text, each with the marks where it begins and ends; PyYAML is imported where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# libyaml since 0.2.6 counts levels itself, and looks ahead: its count may be over before the first event is handed on.
_LIBYAMLS_OWN_LIMIT = "exceeded maximum nesting depth"


class NestedTooDeeplyError(Exception):
    """Lists or mappings within more of them than are followed; where, from 1."""

    def __init__(self, line: int, column: int) -> None:
        self.line, self.column = line, column
        super().__init__("lists or mappings nested too deeply")


def yaml_loader() -> Any:
    """libyaml's, where PyYAML has it."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def refuse_depth(text: str, most: int) -> None:
    """libyaml's composer is recursive in C and dies of a deep document; its parser is not.

    Raises:
        NestedTooDeeplyError: more than ``most`` levels.
        YAMLError: no YAML.
    """
    import yaml

    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml_loader()):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > most:
                    raise NestedTooDeeplyError(*_place(event.start_mark))
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.MarkedYAMLError as error:
        if error.problem == _LIBYAMLS_OWN_LIMIT:
            raise NestedTooDeeplyError(*_place(error.problem_mark)) from None
        raise


def _place(mark: Any) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def yaml_nodes(text: str, most: int) -> Iterator[Any]:
    """The node of each document.

    Raises:
        NestedTooDeeplyError: more than ``most`` levels.
        YAMLError: no YAML.
    """
    import yaml

    refuse_depth(text, most)
    yield from yaml.compose_all(text, Loader=yaml_loader())
