"""Attributes, methods and arguments that a snapshot's code uses and the installed library does not have."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.code.chain import Link, find_own, full_name
from envdoctor.code.context import Context, Target, runs_in
from envdoctor.code.remote import RemoteModule
from envdoctor.code.shape import ClassShape, Signature, Use

AT_LOAD = "remote-code-load-member-missing"
MEMBER = "remote-code-member-missing"
ARGUMENT = "remote-code-argument-refused"
RESULT = "remote-code-result-changed"
_CACHE_VARIABLES = frozenset(("past_key_values", "past_key_value", "past_kv", "cache"))
_CACHES = "transformers.cache_utils"


def missing_members(context: Context) -> Iterator[Hit]:
    """Members of base classes, of the configuration and of caches that some release had and the installed one has not."""
    for target in context.targets:
        refused = list(_of_self(context, target))
        yield from refused
        told = {(hit.file, hit.line) for hit in refused}
        yield from (hit for hit in _results(context, target) if (hit.file, hit.line) not in told)
    yield from _of_config(context)
    yield from _of_caches(context)
    yield from _of_names(context)


# --- self ----------------------------------------------------------------------------------------


def _of_self(context: Context, target: Target) -> Iterator[Hit]:
    chain = target.chain
    if not target.kind or not chain.complete:
        return
    members = chain.members()
    given = {name for module in context.code.modules.values() for name in (*module.set_elsewhere, *module.texts)}
    for link in chain.own():
        for use in link.shape.uses:
            if use.owner not in ("self", "super") or use.guarded or link.remote is None:
                continue
            if use.name in members:
                yield from _refused(context, target, link, use)
            elif (
                context.history.ever(target.kind, use.name)
                and use.name not in given
                and not chain.may_have(use.name, called=use.arguments is not None)
                and not use.name.startswith("__")
            ):
                base = next((item.shape.name for item in chain.library()), "its base class")
                words = f"{target.name} uses it, and neither it nor {base} of transformers {context.release} has it"
                rule = AT_LOAD if use.method == "__init__" and not use.conditional else MEMBER
                needs = "" if rule == AT_LOAD else runs_in(use.method, target.kind)
                yield context.hit(rule, link.remote, use.line, use.name, words, surface=target.kind, needs=needs)


def _refused(context: Context, target: Target, link: Link, use: Use) -> Iterator[Hit]:
    """A call of a method that the library defines, with arguments that it does not take."""
    if use.arguments is None or link.remote is None:
        return
    chain = target.chain
    start = next(place for place, item in enumerate(chain.links) if item.shape is link.shape) + 1 if use.owner == "super" else 0
    found = chain.method(use.name, start)
    if found is None or found[1].kind not in ("method", "classmethod", "staticmethod") or chain.links[found[0]].remote is not None:
        return
    refusal = found[1].signature.refusal(use.arguments)
    if refusal is not None:
        owner = chain.links[found[0]].shape.name
        words = f"{target.name} calls it, and {owner}.{use.name} of transformers {context.release} {refusal}"
        yield context.hit(ARGUMENT, link.remote, use.line, use.name, words, needs=runs_in(use.method, target.kind))


def _results(context: Context, target: Target) -> Iterator[Hit]:
    """A method of the library that gives a tuple, which its own callers take apart and the snapshot's code stores whole."""
    chain = target.chain
    for link in chain.own():
        for use in link.shape.uses:
            if use.owner != "self" or use.result != "whole" or use.guarded or link.remote is None:
                continue
            found = chain.method(use.name)
            if found is None or found[1].returns < 2 or chain.links[found[0]].remote is not None:
                continue
            others = [call.result for item in chain.library() for call in item.shape.uses if call.owner == "self" and call.name == use.name]
            if others and all(result in ("unpacked", "indexed") for result in others):
                words = f"it gives {found[1].returns} values in transformers {context.release}, and {target.name} keeps them as one"
                yield context.hit(RESULT, link.remote, use.line, use.name, words, needs=runs_in(use.method, target.kind))


# --- the configuration ---------------------------------------------------------------------------


def _of_config(context: Context) -> Iterator[Hit]:
    """``config.name`` in model code, where the configuration is the class that ``auto_map`` names."""
    configs = [target for target in context.targets if target.kind == "config"]
    entry = next((target for target in configs if target.entry), configs[0] if len(configs) == 1 else None)
    if entry is None or not entry.chain.complete:
        return
    members = entry.chain.members() | set(context.settings)
    modules = context.code.modules.values()
    stored = (use for module in modules for uses in module.uses.values() for use in uses if use.owner == "=")
    given = {use.name for use in stored if use.via in ("", "self.config", "config")}
    for target in context.targets:
        if target.kind != "model":
            continue
        for link in target.chain.own():
            for use in link.shape.uses:
                if use.guarded or link.remote is None or use.arguments is not None:
                    continue
                if use.owner not in ("config", "self.config") or not _is_of(link, use, entry.name, len(configs)):
                    continue
                missing = use.name not in members and use.name not in given and not entry.chain.may_have(use.name)
                if missing and context.history.ever("config", use.name):
                    words = f"{link.shape.name} reads it, and neither {entry.name} nor transformers {context.release} sets it"
                    rule = AT_LOAD if use.method == "__init__" and not use.conditional else MEMBER
                    needs = runs_in(use.method)
                    yield context.hit(rule, link.remote, use.line, f"config.{use.name}", words, surface="config", needs=needs)


def _is_of(link: Link, use: Use, config: str, configs: int) -> bool:
    """Whether the object is the configuration of the entry: annotated so, or there is no other kind."""
    if link.remote is None:
        return False
    kinds = link.remote.kinds.get((link.shape.name, use.method, use.owner), set())
    return config in kinds or (not kinds and configs == 1)


# --- caches --------------------------------------------------------------------------------------


def _of_caches(context: Context) -> Iterator[Hit]:
    """Members of caches: of a variable that the code takes for one, or of a class of ``transformers.cache_utils``."""
    classes = context.library.classes_of(_CACHES)
    if not classes:
        return
    members = {name for cls in classes.values() for name in cls.members()}
    for module in context.code.modules.values():
        imported = {
            name for name, bound in module.shape.names.items() if bound.rpartition(":")[2] in classes and bound.startswith("transformers")
        }
        own = {name for cls in module.shape.classes.values() for name in cls.members()}
        for owner, uses in module.uses.items():
            for use in uses:
                if (
                    use.guarded
                    or use.name in members
                    or not context.history.ever("cache", use.name)
                    or not _is_needed(context, module, owner, use)
                ):
                    continue
                kinds = module.kinds.get((owner, use.method, use.owner), set())
                by_name = use.owner in _CACHE_VARIABLES and (kinds & imported or imported)
                if use.owner in imported or (by_name and use.name not in own and not kinds & {"dict", "Dict"}):
                    words = f"the code asks a cache for it, and no cache of transformers {context.release} has it"
                    yield context.hit(MEMBER, module, use.line, use.name, words, surface="cache", needs=runs_in(use.method))


def _is_needed(context: Context, module: RemoteModule, owner: str, use: Use) -> bool:
    needed = context.needed.get(module.file, set())
    return (owner or use.method) in needed or not (owner or use.method)


# --- imported functions and classes --------------------------------------------------------------


def _of_names(context: Context) -> Iterator[Hit]:
    """Calls of imported functions and classes, or of those of an imported module, with arguments that the installed ones do not take."""
    for module in context.code.modules.values():
        for owner, uses in module.uses.items():
            for use in uses:
                if use.arguments is None or use.guarded or not _is_needed(context, module, owner, use):
                    continue
                # A function of a module of the library, where the module is what was imported.
                target = f"{full_name(module, use.owner)}.{use.name}" if use.owner else full_name(module, use.name)
                if not target.startswith("transformers.") or find_own(context.code, module, use.name) is not None:
                    continue
                source, _, name = target.rpartition(".")
                told = _callable(context, source, name)
                refusal = None if told is None else told.refusal(use.arguments)
                if refusal is not None:
                    words = f"the code calls it, and it {refusal} in transformers {context.release}"
                    yield context.hit(ARGUMENT, module, use.line, name, words, needs=runs_in(use.method))


def _callable(context: Context, source: str, name: str) -> Signature | None:
    function = context.library.find_function(source, name)
    if function is not None:
        return function.signature if function.kind == "method" else None
    found = context.library.find_class(source, name)
    return None if found is None else _constructor(context, found.module, found.shape, 12)


def _constructor(context: Context, module: str, shape: ClassShape, depth: int) -> Signature | None:
    if shape.decorators or "__new__" in shape.methods or depth == 0:
        return None
    init = shape.methods.get("__init__")
    if init is not None:
        return init.signature if init.kind == "method" else None
    if len(shape.bases) != 1:
        return None
    source, _, name = context.library.full_name(module, shape.bases[0]).rpartition(".")
    base = context.library.find_class(source, name) if source else None
    return None if base is None else _constructor(context, base.module, base.shape, depth - 1)
