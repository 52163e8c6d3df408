"""Modules that are not there: of a package that is not installed, of one that builds it itself, or of another release."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact
from envdoctor.logs.built_modules import judge_built
from envdoctor.logs.demanded import NOT_INSTALLED
from envdoctor.logs.hollow_packages import HOLLOW, part_of
from envdoctor.logs.places import owner_of
from envdoctor.logs.statements import MissingModule
from envdoctor.logs.tested_pins import of_torch, pins_with
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import among_installed, caller_of, describe, misspelt, named, reasons
from envdoctor.world.dependencies import is_required
from envdoctor.world.import_names import PORTIONS, package_of
from envdoctor.world.other_names import from_its_page, other_distribution
from envdoctor.world.releases import listed

MODULE = "error-module-missing"
# What builds import without asking for it.
_BUILT_AGAINST = frozenset(("torch", "numpy", "packaging", "wheel"))
# What `python -m` says of it stands in brackets behind "Error while finding module specification".
_RUN_AS_MODULE = re.compile(r"^[^()]*\)$")
# Import names that projects give to modules of their own: nobody can tell whose they are.
_ANYBODYS = frozenset(("utils", "model", "models", "data", "config", "configs", "src", "lib", "common", "core", "modules", "helpers",
             "tools", "dataset", "test", "tests", "train", "main", "app", "scripts"))  # fmt: skip

# What stands in the repository and in no wheel: https://github.com/modelscope/ms-swift/issues/6033
_MEGATRON_LM = (
    "git clone https://github.com/NVIDIA/Megatron-LM, at the tag of the megatron-core that is installed, and its folder in PYTHONPATH "
    "(ms-swift: MEGATRON_LM_PATH)"
)
_OF_CHECKOUTS = {f"megatron.{name}": _MEGATRON_LM for name in ("training", "legacy", "inference", "model", "data")}


def is_of_a_package(module: str, failure: Failure, path: str = "") -> bool:
    """Whether a module is of a package that is known, or stands among installed ones, and is not somebody's own."""
    top = module.partition(".")[0]
    if path and path != "unknown location":
        return bool(owner_of(path)[0])
    if package_of(module) in listed():
        return True
    # A module within another one is of a package; whose that is stands in its name.
    return top not in _ANYBODYS and ("." in module or any(frame.package == top for frame in failure.frames))


def judge_module(one: MissingModule, failure: Failure, facts: Facts) -> Hit | None:
    top = one.name.partition(".")[0]
    if one.shadowed or top in _ANYBODYS:
        return None
    caller, where = caller_of(failure)
    provider = package_of(one.name)
    if (part := part_of(one.name, facts)) is not None:
        said, how = part
        return Hit(MODULE, True, detail=said, packages=named(provider or top, caller), edge=f"{caller or 'code'}:{one.name}", advice=how)
    if provider not in listed() and other_distribution(top) is None and (built := judge_built(one, failure)) is not None:
        return built
    if "." in one.name and provider not in listed() and (paged := from_its_page(one.name)) is not None:
        package, how = paged
        detail = f"there is no module {one.name} here: what is found as {top} is another project's, or a folder of that name"
        return Hit(MODULE, True, (), detail=detail, packages=named(package, caller), edge=f"{caller or 'code'}:{one.name}", advice=how)
    if "." in one.name and one.name not in PORTIONS:
        # A project has modules of its own: what no installed file imports, and nobody lists, may be one of them.
        if not is_of_a_package(one.name, failure) or (provider not in listed() and not among_installed(top, caller, failure)):
            return None
        asks = f"{describe(caller, facts)} imports it ({where})" if caller and caller != provider else "it is imported there"
        detail = f"{describe(provider, facts)} has no module {one.name}; {asks}"
        packages = named(provider, caller)
        how = next((how for begins, how in _OF_CHECKOUTS.items() if one.name.startswith(begins)), "")
        return Hit(MODULE, True, reasons(*packages), detail=detail, packages=packages, edge=f"{caller or 'code'}:{one.name}", advice=how)
    known = provider in listed()
    if not known and (other := other_distribution(top)) is not None:
        package, how = other
        asks = f"; {describe(caller, facts)} imports it ({where})" if caller else ""
        detail = f"{package} is not installed: there is no module {one.name}{asks}"
        edge = f"{caller or 'code'}:{one.name}"
        return Hit(NOT_INSTALLED, True, (), detail=detail, packages=named(package, caller), edge=edge, advice=how)
    if not known and one.name not in PORTIONS and (meant := misspelt(top)):
        detail = f"no package gives a module {top}; {meant} is one, by a name that differs in a letter: mistyped"
        if re.sub(r"[-_.]", "", meant) == re.sub(r"[-_.]", "", top.lower()):
            # Many a distribution has a dash where its module has nothing: clean-fid gives cleanfid.
            detail = f"{meant} is not installed: there is no module {top}"
        return Hit(NOT_INSTALLED, True, (), detail=detail, packages=(meant,), edge=f"{caller or 'code'}:{one.name}")
    if not known and not caller and canonical(provider) == canonical(top):
        return None  # whose module that is nobody knows
    asks = f"; {describe(caller, facts)} imports it ({where})" if caller else ""
    if provider in HOLLOW:
        detail = f"there is no module {one.name}: what the package index has under the name {provider} holds none{asks}"
        edge = f"{caller or 'code'}:{one.name}"
        return Hit(NOT_INSTALLED, True, (), detail=detail, packages=named(provider, caller), edge=edge, advice=HOLLOW[provider])
    stated = facts.value(f"packages.{provider}")
    if isinstance(stated, Exact):
        detail = f"{provider} {stated} is stated, and the Python that failed has no module {one.name}: it runs in another environment{asks}"
        edge = f"{caller or 'code'}:{one.name}"
        return Hit(NOT_INSTALLED, True, reasons(provider), detail=detail, packages=named(provider, caller), edge=edge)
    pins = pins_with(provider, failure, caller, where, facts) if known else ()
    bound = of_torch(provider, facts)
    pins = pins if bound is None else bound[0]
    detail = f"{provider} is not installed: there is no module {one.name}{asks}"
    if _RUN_AS_MODULE.search(failure.message):
        detail += f", or it is in another Python than the one that was called: pip show {provider}, as python -m pip of each, tells which"
    if provider in _BUILT_AGAINST and not failure.frames:
        detail += (
            "; where an installer printed this, it builds a package apart from what is installed (flash-attn, deepspeed, causal-conv1d and "
            f"others import {provider} to be built): install {provider} first, then that package with --no-build-isolation"
        )
    beside = "flash-attn" if provider == "torch" and not failure.frames else ""
    packages = named(provider, caller, beside)
    # What is on no list that is kept here may be on no index, or be somebody else's there.
    advice = "" if known or is_required(provider) else _look_up(top, caller)
    advice = advice if bound is None else bound[1]
    return Hit(NOT_INSTALLED, True, (), detail=detail, packages=packages, pins=pins, edge=f"{caller or 'code'}:{one.name}", advice=advice)


def _look_up(top: str, caller: str) -> str:
    asker = f"what {caller} names for it (its page, or an extra: pip install '{caller}[...]')" if caller else "what gives it"
    return f"install {asker} in the environment that runs: {top} is the name of the module, and a package of that name may be another one"
