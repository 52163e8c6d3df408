"""What the standard library had and has, asked of the Python that runs."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module

import pytest

from envdoctor.logs.specifiers import admits
from envdoctor.world.standard_library import MODULES, NAMES

NOW = f"{sys.version_info[0]}.{sys.version_info[1]}.0"


def has(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return hasattr(import_module(module), attribute) or bool(import_module(name))
    except ImportError:
        return False


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_name_is_there_where_the_table_says_so(name: str) -> None:
    assert has(name) is admits(NAMES[name], NOW)


@pytest.mark.parametrize("name", sorted(name for name in MODULES if "." not in name))
def test_a_module_is_there_where_the_table_says_so(name: str) -> None:
    # setuptools brings a distutils of its own
    if name != "distutils":
        assert (name in sys.stdlib_module_names) is admits(MODULES[name], NOW)
