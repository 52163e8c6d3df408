"""Modules that protoc wrote: what one of them has is made when it is imported, by the protobuf that is there.

wandb/proto/wandb_internal_pb2.py of the wheel 0.16.6 imports everything from a folder v3 or v4 by the major of protobuf, and nothing for a
major that it does not know. https://github.com/wandb/wandb/issues/9383
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.asked import ATTRIBUTE
from envdoctor.logs.statements import MissingAttribute, MissingName, Statement
from envdoctor.logs.wording import describe, named
from envdoctor.world.dependencies import dependencies
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

_GENERATED = re.compile(r"\w_pb2(?:_grpc)?$")


def judge_generated(one: Statement | None, facts: Facts) -> Hit | None:
    """That a module of protobuf was made without a name: the release of protobuf does not fit, and no name of it came or went."""
    if not isinstance(one, (MissingName, MissingAttribute)):
        return None
    module, name, provider = one.module, one.name, package_of(one.module)
    if _GENERATED.search(module) is None or provider not in listed() or one.circular:
        return None
    protobuf, stated = facts.value("packages.protobuf"), facts.value(f"packages.{provider}")
    there = f", and {describe('protobuf', facts)} is stated" if isinstance(protobuf, Exact) else ""
    required = dependencies(provider, stated.text) or () if isinstance(stated, Exact) else ()
    asked = next((one.specifier for one in required if one.name == "protobuf" and one.specifier), "")
    wants = f"; {provider} {stated} requires protobuf{asked}" if asked else ""
    detail = (
        f"protoc wrote {module}, and what it has is made by the protobuf that is there, or chosen by its major: that one made no {name}. "
        f"Either it is of another major than {describe(provider, facts)} knows, or files of two releases are mixed{there}{wants}"
    )
    return Hit(
        ATTRIBUTE,
        True,
        (("packages.protobuf", "made the module"),),
        detail=detail,
        packages=named(provider, "protobuf"),
        edge=f"protobuf:{module}.{name}",
        headline=f"{module} came out without {name}",
        advice=f"pip install -U {provider} protobuf, which brings two that go together; where {provider} has to stay: pip install "
        f"--force-reinstall {f'{provider}=={stated}' if isinstance(stated, Exact) else provider}, with the protobuf that it requires",
    )
