"""Methods that a snapshot's code overrides, and what the library does with them."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.code.chain import Chain, Link
from envdoctor.code.context import Context, Target, runs_in
from envdoctor.code.members import MEMBER
from envdoctor.code.shape import Use
from envdoctor.facts.uses import CODE_USES, is_used

REFUSES = "remote-code-override-refuses"
BEFORE_SET = "remote-code-read-before-set"
NEEDS = "remote-code-base-needs"
NO_OP = "remote-code-checkpointing-no-op"
# Ways of generating that only run when they are asked for by name.
_RARE_CALLERS = ("assisted", "contrastive", "dola", "constrained", "group_beam", "candidate", "prefill_chunk", "low_memory", "heal")
_TABLE_ONLY = frozenset(("keys", "items", "values"))


def overrides(context: Context) -> Iterator[Hit]:
    """What the library calls, reads and needs of the classes that derive from it."""
    for target in context.targets:
        if target.kind:
            yield from _refusing(context, target)
            yield from _kinds(context, target)
        if target.kind == "model":
            yield from _post_init(context, target)
            yield from _layers(context, target)
            yield from _checkpointing(context, target)
        if target.kind == "tokenizer":
            yield from _before_set(context, target)


def _calls(chain: Chain, name: str) -> Iterator[tuple[Link, Use]]:
    """Calls of ``self.name`` in methods of the library that are not themselves overridden by the snapshot."""
    replaced = {method for link in chain.own() for method in link.shape.methods}
    kept = {use.name for link in chain.own() for use in link.shape.uses if use.owner == "super"}
    for place, link in enumerate(chain.links):
        if link.remote is not None:
            continue
        for use in link.shape.uses:
            if use.owner != "self" or use.name != name or use.arguments is None or use.guarded:
                continue
            if use.method in replaced and use.method not in kept:
                continue
            first = chain.method(use.method)
            if first is not None and first[0] < place and chain.links[first[0]].remote is None and use.method != "__init__":
                continue
            yield link, use


def _refusing(context: Context, target: Target) -> Iterator[Hit]:
    """Overrides that do not accept what a method of the base class passes them."""
    chain = target.chain
    done: set[str] = set()
    for link in chain.own():
        for name, method in link.shape.methods.items():
            if name in done or link.remote is None:
                continue
            done.add(name)
            if name == "_pad" and context.facts.text("plan.trainer") == "llamafactory":
                continue  # its patch_tokenizer puts transformers' own _pad in the place of an override
            if method.kind != "method" or (name.startswith("__") and name.endswith("__")):
                continue
            for base, use in _calls(chain, name):
                if any(word in use.method for word in _RARE_CALLERS) or use.arguments is None:
                    continue
                refusal = method.signature.refusal(use.arguments)
                if refusal is not None:
                    caller = f"{base.shape.name}.{use.method} of transformers {context.release}"
                    words = f"{caller} calls it, and the override of {link.shape.name} {refusal}"
                    needs = "plan.generate" if base.shape.name == "GenerationMixin" else runs_in(name, target.kind)
                    yield context.hit(REFUSES, link.remote, method.line, name, words, needs=needs)
                    break


def _kinds(context: Context, target: Target) -> Iterator[Hit]:
    """A class attribute that is a list, and that the base class takes for a table."""
    chain = target.chain
    for link in chain.own():
        for name, kind in link.shape.attributes.items():
            if kind not in ("list", "tuple", "set", "str") or link.remote is None:
                continue
            if name == "_tied_weights_keys" and context.settings.get("tie_word_embeddings") is not True:
                continue  # the library looks at it only where the configuration ties weights
            for base in chain.library():
                uses = [use for use in base.shape.uses if use.owner == "self" and use.name == name and use.via in _TABLE_ONLY]
                if uses and not any(use.guarded for use in uses):
                    reader = f"{base.shape.name}.{uses[0].method} of transformers {context.release}"
                    words = f"a {kind} in {link.shape.name}, and {reader} takes it for a table"
                    yield context.hit(NEEDS, link.remote, link.shape.line, name, words)
                    break


def _post_init(context: Context, target: Target) -> Iterator[Hit]:
    """What the base class sets in ``post_init()`` alone and reads later, where the snapshot's class never calls it."""
    chain = target.chain
    inits = [link for link in chain.own() if "__init__" in link.shape.methods]
    if not target.entry or not chain.complete or not inits:
        return
    for link in chain.own():
        if any(use.name == "post_init" and use.owner in ("self", "super") for use in link.shape.uses) or "post_init" in link.shape.methods:
            return
    only_there: set[str] = set()
    elsewhere: set[str] = set()
    for base in chain.library():
        elsewhere.update(base.shape.attributes, base.shape.methods)
        for store in base.shape.stores:
            (only_there if store.method == "post_init" else elsewhere).add(store.name)
    read = {
        use.name: (base.shape.name, use.method)
        for base in chain.library()
        for use in base.shape.uses
        if use.owner == "self" and not use.guarded and not use.conditional and use.method != "post_init"
    }
    own = {name for link in chain.own() for name in link.shape.members()}
    for name in sorted((only_there - elsewhere - own) & set(read)):
        first = inits[0]
        if first.remote is not None:
            reader = ".".join(read[name])
            words = f"transformers {context.release} sets it in post_init(), which {target.name} never calls, and reads it in {reader}"
            yield context.hit(NEEDS, first.remote, first.shape.methods["__init__"].line, name, words)


def _layers(context: Context, target: Target) -> Iterator[Hit]:
    """The number of layers that the library's cache reads from the configuration when text is generated."""
    if not target.entry or not target.chain.derives_from("GenerationMixin"):
        return
    if any(
        "_supports_default_dynamic_cache" in link.shape.methods or "_supports_cache_class" in link.shape.attributes
        for link in target.chain.own()
    ):
        return
    config = next((item for item in context.targets if item.kind == "config" and item.entry), None)
    cache = context.library.find_class("transformers.cache_utils", "DynamicCache")
    if config is None or cache is None or not config.chain.complete or "layer_types" in context.settings:
        return
    init = cache.shape.methods.get("__init__")
    if init is None or "config" not in (*init.signature.positional, *init.signature.keywords):
        return
    asked = [
        use for use in cache.shape.uses if use.method == "__init__" and use.owner.endswith("config") and use.name == "num_hidden_layers"
    ]
    provided = config.chain.members() | set(context.settings)
    if (
        asked
        and "num_hidden_layers" not in provided
        and not any(use.guarded for use in asked)
        and "get_text_config" not in {name for link in config.chain.own() for name in link.shape.methods}
    ):
        first = next(config.chain.own())
        if first.remote is not None:
            words = f"DynamicCache of transformers {context.release}, which generate() makes, reads it, and {config.name} does not set it"
            yield context.hit(MEMBER, first.remote, first.shape.line, "config.num_hidden_layers", words, needs="plan.generate")


def _checkpointing(context: Context, target: Target) -> Iterator[Hit]:
    """An override of ``gradient_checkpointing_enable`` that switches nothing on."""
    chain = target.chain
    found = chain.method("gradient_checkpointing_enable")
    supports = next(
        (
            link.shape.attributes["supports_gradient_checkpointing"]
            for link in chain.links
            if "supports_gradient_checkpointing" in link.shape.attributes
        ),
        "",
    )
    if not target.entry or found is None or supports != "true":
        return
    link, method = chain.links[found[0]], found[1]
    if link.remote is None or _switched_on(context):
        return
    for use in link.shape.uses:
        if use.method == method.name and (
            use.owner in ("super", "=", "raise")
            or (use.owner == "self" and use.arguments is not None)
            or ("checkpointing" in use.name and use.owner != "self")
            or use.name == "setattr"
        ):
            return
    if any(store.method == method.name for store in link.shape.stores):
        return
    words = f"the override of {link.shape.name} sets no flag and calls nothing: gradient checkpointing stays off, and nothing says so"
    yield context.hit(NO_OP, link.remote, method.line, method.name, words, needs="plan.gradient_checkpointing")


def _switched_on(context: Context) -> bool:
    """Whether a script calls the library's own method on the model: PreTrainedModel.gradient_checkpointing_enable(model)."""
    uses = context.facts.value(CODE_USES)
    return isinstance(uses, tuple) and is_used(["transformers.PreTrainedModel.gradient_checkpointing_enable"], [*map(str, uses)]) is True


# --- what the constructor of the base class asks for too early -----------------------------------


def _before_set(context: Context, target: Target) -> Iterator[Hit]:
    """Attributes that overrides read while ``super().__init__()`` runs, and that are set only after it."""
    chain = target.chain
    if not chain.complete:
        return
    set_before = {name for link in chain.links for name in link.shape.attributes} | {
        store.name for link in chain.library() for store in link.shape.stores
    }
    for place, link in enumerate(chain.links):
        calls = [use.line for use in link.shape.uses if use.method == "__init__" and use.name == "__init__" and use.owner != "self"]
        if link.remote is None or not calls:
            continue
        set_before |= {store.name for store in link.shape.stores if store.method == "__init__" and store.line < min(calls)}
        late = {store.name for store in link.shape.stores if store.method == "__init__" and store.line > min(calls)} - set_before
        for reader, use in _reached(chain, place):
            if use.name in late and use.owner == "self" and reader.remote is not None and not use.guarded:
                words = (
                    f"{reader.shape.name}.{use.method} reads it while the constructor of transformers {context.release} runs, "
                    f"and {link.shape.name}.__init__ sets it only afterwards"
                )
                yield context.hit(BEFORE_SET, reader.remote, use.line, use.name, words)
                return


def _reached(chain: Chain, place: int) -> Iterator[tuple[Link, Use]]:
    """Uses in the snapshot's methods that certainly run inside the constructors after ``place``."""
    start = chain.method("__init__", place + 1)
    waiting = [] if start is None else [(start[0], "__init__")]
    seen = set(waiting)
    while waiting:
        where, method = waiting.pop(0)
        link = chain.links[where]
        for use in link.shape.uses:
            if use.method != method or use.guarded or (use.conditional and link.remote is None):
                continue
            if link.remote is not None:
                yield link, use
            if use.owner in ("self", "super"):
                found = chain.method(use.name, where + 1 if use.owner == "super" else 0)
                if found is not None and (use.arguments is not None or found[1].kind == "property") and (found[0], use.name) not in seen:
                    seen.add((found[0], use.name))
                    waiting.append((found[0], use.name))
