"""The classes that a snapshot's class is made of: its own, then the library's."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.code.library import Library
from envdoctor.code.remote import RemoteCode, RemoteModule, relative
from envdoctor.code.shape import ClassShape, Method
from envdoctor.records import dataclass, field

_DEEPEST = 40
_TORCH_MODULE = "torch.nn.Module"
# Bases that add no attribute that code asks for.
_PLAIN = frozenset(("object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol", "typing.TypedDict"))
# What torch.nn.Module has (torch 1.10 to 2.13); the rest of torch changes nothing here.
MODULE_MEMBERS = frozenset(
    (
        "T_destination", "dump_patches", "training", "call_super_init", "register_buffer", "register_parameter", "add_module",
        "register_module", "get_submodule", "set_submodule", "get_parameter", "get_buffer", "get_extra_state", "set_extra_state",
        "apply", "cuda", "ipu", "xpu", "mtia", "cpu", "type", "float", "double", "half", "bfloat16", "to_empty", "to",
        "register_full_backward_pre_hook", "register_backward_hook", "register_full_backward_hook", "register_forward_pre_hook",
        "register_forward_hook", "register_state_dict_post_hook", "register_state_dict_pre_hook", "state_dict",
        "register_load_state_dict_pre_hook", "register_load_state_dict_post_hook", "load_state_dict", "parameters",
        "named_parameters", "buffers", "named_buffers", "children", "named_children", "modules", "named_modules", "train", "eval",
        "requires_grad_", "zero_grad", "share_memory", "extra_repr", "compile", "forward", "_apply", "_call_impl",
        "_load_from_state_dict", "_save_to_state_dict", "_named_members", "_get_name", "_register_state_dict_hook",
        "_register_load_state_dict_pre_hook", "_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks",
        "_backward_hooks", "_backward_pre_hooks", "_non_persistent_buffers_set", "_is_full_backward_hook", "_state_dict_hooks",
        "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_version", "_compiled_call_impl",
        "_maybe_warn_non_full_backward_hook", "_replicate_for_data_parallel",
    )
)  # fmt: skip
# Classes of transformers whose __getattr__ answers for special tokens and their ids, and for nothing that is called.
_TOKENS_ONLY = frozenset(("PreTrainedTokenizerBase", "SpecialTokensMixin"))
_OBJECT_MEMBERS = frozenset(dir(object)) | {"__dict__", "__module__", "__annotations__", "__name__", "__slots__"}


@dataclass(frozen=True, slots=True)
class Link:
    """One class of a chain: of the snapshot, in the module ``remote``, or of the library, in the module ``module``."""

    shape: ClassShape
    module: str
    remote: RemoteModule | None = None


@dataclass(slots=True)
class Chain:
    """A class and all that it derives from, in the order in which attributes are looked up.

    ``complete`` says that every base is known; ``torch`` that one of them is ``torch.nn.Module``.
    """

    links: list[Link] = field(default_factory=list)
    complete: bool = True
    torch: bool = False

    def own(self) -> Iterator[Link]:
        return (link for link in self.links if link.remote is not None)

    def library(self) -> Iterator[Link]:
        return (link for link in self.links if link.remote is None)

    def derives_from(self, *names: str) -> bool:
        return any(link.shape.name in names for link in self.library())

    def method(self, name: str, start: int = 0) -> tuple[int, Method] | None:
        """The place of the class whose method of that name is found, at ``start`` or after."""
        for place in range(start, len(self.links)):
            found = self.links[place].shape.methods.get(name)
            if found is not None:
                return place, found
            if name in self.links[place].shape.attributes:
                return None
        return None

    def members(self) -> set[str]:
        """All names that are defined or set, those included that the snapshot's constructors hand to a base class by keyword."""
        found = set(_OBJECT_MEMBERS)
        for link in self.links:
            found |= link.shape.members()
            if link.remote is not None:
                for use in link.shape.uses:
                    if use.method == "__init__" and use.name == "__init__" and use.arguments is not None:
                        found.update(use.arguments.keywords)
        return found | MODULE_MEMBERS if self.torch else found

    def may_have(self, name: str, *, called: bool = False) -> bool:
        """Whether an attribute may be set by names that the source does not show; ``called``: one that is a method."""
        return any(
            ("__getattr__" in link.shape.methods and not (link.remote is None and called and link.shape.name in _TOKENS_ONLY))
            or ("__getattribute__" in link.shape.methods and link.remote is not None)
            or (link.shape.dynamic and (link.remote is not None or name in link.shape.strings))
            for link in self.links
        )


def chain_of(code: RemoteCode, library: Library, module: RemoteModule, name: str) -> Chain | None:
    """The chain of a class of the snapshot; None where the module has no class of that name."""
    shape = module.shape.classes.get(name)
    if shape is None:
        return None
    chain = Chain()
    links: list[Link] = []
    _add_own(code, library, module, shape, chain, links, _DEEPEST)
    kept: list[Link] = []
    for link in reversed(links):
        if not any(link.shape is other.shape for other in kept):
            kept.insert(0, link)
    chain.links = kept
    return chain


def _add_own(
    code: RemoteCode, library: Library, module: RemoteModule, shape: ClassShape, chain: Chain, links: list[Link], depth: int
) -> None:
    if depth == 0 or any(link.shape is shape for link in links):
        chain.complete = False
        return
    links.append(Link(shape, module.file, module))
    for base in shape.bases:
        own = find_own(code, module, base)
        if own is not None:
            _add_own(code, library, own[0], own[1], chain, links, depth - 1)
        else:
            add_named(library, full_name(module, base), chain, links, depth - 1)


def add_named(library: Library, target: str, chain: Chain, links: list[Link], depth: int) -> None:
    """Append the library's class of this full name, and its bases, to the links."""
    if target in _PLAIN or target in ("ABC", "Generic", "Protocol"):
        return
    if target in (_TORCH_MODULE, "torch.nn.modules.module.Module", "torch.nn.modules.Module"):
        chain.torch = True
        return
    source, _, name = target.rpartition(".")
    found = library.find_class(source, name) if source and depth else None
    if found is None:
        chain.complete = False
        return
    if any(link.shape is found.shape for link in links):
        return
    links.append(Link(found.shape, found.module))
    for base in found.shape.bases:
        add_named(library, library.full_name(found.module, base), chain, links, depth - 1)


def find_own(code: RemoteCode, module: RemoteModule, name: str, depth: int = 8) -> tuple[RemoteModule, ClassShape] | None:
    """The snapshot's class that a name of one of its modules stands for."""
    if name in module.shape.classes:
        return module, module.shape.classes[name]
    target = module.shape.names.get(name, "")
    source, _, original = target.partition(":")
    other = code.modules.get(relative(source))
    if other is None and target.startswith("=") and depth:
        return find_own(code, module, target[1:], depth - 1)
    return find_own(code, other, original, depth - 1) if other is not None and depth else None


def full_name(module: RemoteModule, name: str) -> str:
    """``nn.Module`` as the module imports it: ``torch.nn.Module``; the name itself where it is not imported."""
    head, dot, rest = name.partition(".")
    target = module.shape.names.get(head)
    if not target or target.startswith("="):
        return name
    source, _, original = target.partition(":")
    return ".".join(filter(None, (source, original))) + dot + rest


def add_generation(chain: Chain, library: Library) -> None:
    """What the Auto classes do for remote models since transformers 4.45: GenerationMixin becomes a base as well."""
    helper = library.find_function("transformers.models.auto.auto_factory", "add_generation_mixin_to_remote_model")
    if helper is None or chain.derives_from("GenerationMixin") or not chain.torch:
        return
    if any(chain.method(name) is not None for name in ("generate", "prepare_inputs_for_generation")):
        mixin = library.find_class("transformers.generation.utils", "GenerationMixin")
        if mixin is not None:
            links: list[Link] = []
            add_named(library, "transformers.generation.utils.GenerationMixin", chain, links, _DEEPEST)
            chain.links += [link for link in links if all(link.shape is not other.shape for other in chain.links)]
