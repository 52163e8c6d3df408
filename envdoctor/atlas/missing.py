"""In which releases of its provider something that is taken is not there."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.atlas.callables import has_member, is_method_of, lacks_method, lineage, method_of, signature_of
from envdoctor.atlas.generated import is_generated, refused_of_generated
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.signatures import Call, Signature, read, read_call, refusal, refused_together
from envdoctor.atlas.volume import Presence, Volume, sum_of
from envdoctor.records import replace

_STUBS_LATER = 8
# How often keywords are handed on from one function to the next.
_DEEPEST = 4
# Its classes are made by a generator and get another constructor after that, which no file shows as theirs.
_PATCHED = frozenset(("sentencepiece",))
# What torch's compiled functions take for a parameter besides its name, as numpy calls it; no stub of theirs shows it.
_AS_NUMPY = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
# Keywords that a decorator of the package itself passes on by their new names, and until which release: validate_hf_hub_args
# (huggingface_hub/utils/_validators.py, smoothly_deprecate_use_auth_token), which every function that takes a token has.
_SMOOTHED = {"huggingface-hub": ({"use_auth_token": "token"}, "1.0.0")}
# Keywords that it drops with a warning from that release on (smoothly_deprecate_legacy_arguments): they count as one that is taken.
_DROPPED = dict.fromkeys(("proxies", "resume_download", "force_filename", "local_dir_use_symlinks"), "token")
# Folders of a package that are not read: nothing below them is known.
UNREAD = frozenset(("tests", "test", "testing_data", "examples", "docs", "benchmarks", "node_modules", "third_party"))
# Parts of packages that no training imports and that would double the reading, or that lie in a source archive and are never installed
# (another package's cutlass): nothing below them is known either.
UNREAD_PARTS = {
    "anthropic": ("anthropic.resources.beta", "anthropic.resources.organization", "anthropic.types"),
    "axolotl": ("chat", "cli", "e2e", "integrations", "prompt_strategies"),
    "deepspeed": ("accelerator", "op_builder", "unit"),
    "flash-attn": ("base_dsl", "ck4inductor", "codegen", "cutlass", "cutlass_dsl", "cutlass_library", "hopper", "pycute"),
    "flashinfer-python": (
        "b12x", "base_dsl", "build_backend", "build_utils", "cutlass", "cutlass_cppgen", "cutlass_dsl", "cutlass_library", "pycute",
        "flashinfer.attention.prims_ts", "flashinfer.data", "flashinfer.experimental", "flashinfer.moe_ep.kernel_src",
    ),
    "mlflow": ("mlflow.server",),
    "modelscope": ("modelscope.models.cv", "modelscope.pipelines.cv"),
    "onnx": ("onnx.onnx_cpp2py_export",),
    "onnxruntime": ("onnxruntime.capi.onnxruntime_pybind11_state",),
    "optimum": ("bettertransformer", "commands", "exporters", "fx", "gptq", "intel", "onnx", "onnxruntime", "pipelines", "utils"),
    "ray": ("ray.rllib", "ray.dashboard", "ray.serve", "ray._private.thirdparty", "ray.thirdparty_files"),
    "requests": ("requests.packages",),
    "scipy": ("scipy._lib.array_api_compat",),
    "setuptools": ("setuptools._vendor", "pkg_resources._vendor", "setuptools._distutils"),
    "sglang": ("sglang.multimodal_gen.runtime",),
    "torch": ("torch.testing", "torch.include", "torch.share"),
    "triton": ("triton._C",),
    "unsloth": ("studio", "blackwell", "cli", "scripts", "unsloth_compiled_cache"),
    "vllm": ("vllm.third_party",),
    "wandb": ("wandb.vendor", "wandb.proto"),
    "xinference": ("xinference.thirdparty",),
}  # fmt: skip
# From these releases on the package finds its modules by their old names, from a table that it hands to the import system.
_FINDS_OLD = {"sentence-transformers": "5.4.0"}
# These put modules of a new place in Python's table by their old names, in a loop over these: what is below them is there with them.
_SHIMS = ("torch.distributed._tensor", "torch.distributed._shard.checkpoint", "torch.distributed._sharded_tensor")
# What a module of a package puts into others as it is loaded, in a function: a graveyard its old names, sklearn what is experimental.
_PRECISION = tuple(
    f"{name}PrecisionPlugin"
    for name in (
        "", "Bitsandbytes", "DeepSpeed", "Double", "FSDP", "FSDPMixed", "Half", "HPU", "IPU", "Mixed", "TPU", "TPUBf16",
        "TransformerEngine", "XLA", "XLABf16",
    )
)  # fmt: skip
_BURIED = {
    "plugins": (*_PRECISION, "HPUCheckpointIO"),
    "strategies": ("HPUParallelStrategy", "SingleHPUStrategy", "SingleTPUStrategy", "IPUStrategy"),
    "accelerators": ("HPUAccelerator", "IPUAccelerator", "TPUAccelerator"),
}
_OF_FABRIC = {
    "plugins": ("TPUPrecision", "TPUBf16Precision", "XLABf16Precision"),
    "strategies": ("SingleTPUStrategy",),
    "accelerators": ("TPUAccelerator",),
}
_PUT_THERE = {
    "sklearn.impute": (("IterativeImputer",), "sklearn.experimental.enable_iterative_imputer"),
    "sklearn.model_selection": (("HalvingGridSearchCV", "HalvingRandomSearchCV"), "sklearn.experimental.enable_halving_search_cv"),
    **{
        f"{top}.{part}": (names, f"{top}._graveyard")
        for tops, parts in ((("pytorch_lightning", "lightning.pytorch"), _BURIED), (("lightning_fabric", "lightning.fabric"), _OF_FABRIC))
        for top in tops
        for part, names in parts.items()
    },
}
# What stands in for a library that is not installed gives all its names to the package's top, also those two that it imports itself.
_OF_STAND_INS = frozenset(f"{package}{sign}{name}" for package in ("transformers", "diffusers") for sign in ".:"
                          for name in ("DummyObject", "requires_backends"))  # fmt: skip
# Compiled code, a loop over another module or a function puts names there as they are loaded.
_FILLED = frozenset(
    (
        "matplotlib.backends.qt_compat",
        "numpy.dtypes",
        *(f"numpy._core.{name}" for name in ("_dtype", "_dtype_ctypes", "_internal", "_multiarray_umath", "multiarray", "umath")),
        "onnx.onnx_data_pb",
        "onnx.onnx_operators_pb",
        "onnx.onnx_pb",
        "psutil",
        "psutil._psutil_linux",
    )
)
# What the import system gives every module, and no source shows.
_OF_EVERY_MODULE = frozenset(
    (
        "__annotations__", "__builtins__", "__cached__", "__dict__", "__doc__", "__file__", "__loader__", "__name__", "__package__",
        "__path__", "__spec__",
    )
)  # fmt: skip


def split(volume: Volume, name: str) -> tuple[str, str, tuple[str, ...]]:
    """A full name as a module that some release has, a name in it, and what is asked of that: ``torch.utils.data:DataLoader.x``."""
    module, colon, rest = name.partition(":")
    words = rest.split(".") if colon else []
    if not colon:
        parts = module.split(".")
        size = 1
        while size < len(parts) and volume.chunk(".".join(parts[: size + 1])) is not None:
            if size + 1 < len(parts) and _is_an_object(volume, ".".join(parts[:size]), parts[size]):
                break  # ``jax.config.update``, of the object that jax has by the name of a module that it once had
            size += 1
        module, words = ".".join(parts[:size]), parts[size:]
    while len(words) > 1 and volume.chunk(f"{module}.{words[0]}") is not None and not _is_a_name(volume, module, words[0]):
        module, words = f"{module}.{words[0]}", words[1:]
    return module, words[0] if words else "", tuple(words[1:])


def _is_a_name(volume: Volume, module: str, name: str) -> bool:
    """Whether a module gives something else by the name of a module below it: the class ``SentenceTransformer`` of such a module."""
    chunk = volume.chunk(module)
    if chunk is None:
        return False
    if name in chunk.classes or name in chunk.functions:
        return True
    links = [one for one in chunk.links.get(name, ()) if ":" in one]
    # ``from acme import io`` in acme itself is the module, unless the name is given to something else after that.
    return any(volume.chunk(one.replace(":", ".")) is None for one in links) or bool(links and name in chunk.names)


def _is_an_object(volume: Volume, module: str, name: str) -> bool:
    """Whether a module takes what it calls by the name of a module below it from elsewhere, and that is no module."""
    chunk = volume.chunk(module)
    targets = () if chunk is None else chunk.links.get(name, ())
    return any(":" in one and one != f"{module}:{name}" and volume.chunk(one.replace(":", ".")) is None for one in targets)


def missing(volume: Volume, name: str, *, imported: bool) -> int:
    """The releases in which a name is not there; ``imported``: by an import statement, for which a module has to be one."""
    module, first, _ = split(volume, name)
    if is_unread(volume, name) or name in _OF_STAND_INS:
        return 0
    gone = _missing(volume, name, imported=imported)
    shim = next((one for one in _SHIMS if gone and name.startswith(f"{one}.")), "")
    gone &= ~volume.has_module(shim) if shim else gone
    if gone and first:
        gone &= ~_put_there(volume, module, first)
    since = _FINDS_OLD.get(volume.name, "")
    if gone and since in volume.places:
        module = f"{module}.{first}" if volume.has_module(f"{module}.{first}") else module
        gone &= volume.has_module(module) | ((1 << volume.places[since]) - 1)
    return gone


def _put_there(volume: Volume, module: str, name: str) -> int:
    """The releases in which another module of the package puts a name into a module."""
    found = (told for into, told in _PUT_THERE.items() if f"{module}.".startswith(f"{into}.") and name in told[0])
    return sum_of({by: volume.has_module(by) for _, by in found})


def is_unread(volume: Volume, name: str) -> bool:
    """Whether a name stands in a part of the package that nobody read."""
    module = split(volume, name)[0]
    if volume.chunk(module) is None and not UNREAD.isdisjoint(module.split(".")):
        return True
    if _is_below_compiled(volume, module):
        return True
    return is_left_out(volume.name, name.replace(":", "."))


def is_left_out(package: str, module: str) -> bool:
    """Whether a module, or a name by its full path, is of a part of its package that is not read."""
    return any(f"{module}.".startswith(f"{part}.") for part in UNREAD_PARTS.get(package, ()))


def _is_below_compiled(volume: Volume, module: str) -> bool:
    """Whether a module is one that compiled code would have to make: nothing but that code tells."""
    parent = module.rpartition(".")[0]
    if not parent or volume.chunk(module) is not None:
        return False
    chunk = volume.chunk(parent)
    if chunk is None:
        return _is_below_compiled(volume, parent)
    return bool(chunk.open) and not (chunk.names or chunk.functions or chunk.classes or chunk.links or chunk.stars)


def _missing(volume: Volume, name: str, *, imported: bool) -> int:
    module, first, rest = split(volume, name)
    if first in _OF_EVERY_MODULE or (first and module.endswith("_pb2")):  # protoc's modules make their names when they are imported
        return 0
    if first == "*":
        return volume.all & ~volume.has_module(module)
    if not first:
        gone = volume.all & ~volume.has_module(module)
        if not imported:  # ``a.b`` as an attribute may be a name as well
            parent, _, last = module.rpartition(".")
            gone = volume.provides(parent, last).gone if parent else 0
        return gone
    if imported and ":" not in name:  # ``import a.b.c``, of which c is no module of any release
        return 0
    presence = volume.provides(module, first)
    if module in _FILLED:
        return volume.all & ~volume.has_module(module)
    if not imported and ":" not in name:
        presence = _of_a_name_too(volume, module, presence)
    if module == "torch._C" or module.startswith("torch._C."):
        return 0  # compiled: its stubs got names long after it had them
    if module.partition(".")[0] == "torch" and (rest or not presence.there):
        # Compiled code gives torch's modules and classes names that no file shows (torch.cuda.LongTensor, ReduceOp.AVG), and builds for
        # other hardware add theirs (torch.version.cann). A module that is gone has none.
        return volume.all & ~volume.has_module(module) if imported and not rest and volume.chunk(module) is not None else 0
    if not rest:
        return _after_it_came(presence) if module == "torch" else presence.gone
    return _members(volume, module, first, rest[0], presence.there)


def _of_a_name_too(volume: Volume, module: str, presence: Presence) -> Presence:
    """What a module gives that is none in some releases, where its parent gives something by its name: ``numpy.rec`` of numpy 1.26."""
    parent, _, last = module.rpartition(".")
    elsewhere = volume.all & ~volume.has_module(module)
    if not parent or not presence.gone & elsewhere:
        return presence
    return replace(presence, gone=presence.gone & (~elsewhere | volume.provides(parent, last).gone))


def _after_it_came(presence: Presence) -> int:
    """``torch`` gives some names in ways that no file shows, and its stubs had some of them later: those just before are left alone."""
    if not presence.there:
        return 0
    first = (presence.there & -presence.there).bit_length() - 1
    start = max(first - _STUBS_LATER, 0)
    return presence.gone & ~((1 << first) - (1 << start))


def _members(volume: Volume, module: str, name: str, member: str, there: int) -> int:
    gone = 0
    known = was_method = False
    answers: dict[int, bool | None] = {}
    homes: dict[int, tuple[str, str]] = {}
    for first, last in stretches(there):
        for place in range(first, last + 1):
            found = volume.follow(module, name, place)
            if found is None:
                continue
            homes[place] = found
            answers[place] = has_member(volume, *found, member, place)
    for place, answer in answers.items():
        known = known or answer is True
        if answer is False:
            gone |= 1 << place
        elif answer is True and not was_method:
            was_method = is_method_of(lineage(volume, *homes[place], place, dynamic=True)[0], member, place)
    unsure = [place for place, answer in answers.items() if answer is None] if was_method else []
    gone |= sum(1 << place for place in unsure if lacks_method(volume, *homes[place], member, place))
    # What no release ever had is made in a way that the source does not show.
    return gone if known else 0


def refused(volume: Volume, name: str, call: str) -> int:
    """The releases in which a call of a name is a TypeError."""
    module, first, rest = split(volume, name)
    if not first or len(rest) > 1 or module in _PATCHED:
        return 0
    if is_generated(name):
        return refused_of_generated(volume.releases, name, call) if volume.name == "protobuf" else 0
    given = read_call(call)
    verdicts: dict[tuple[str, int], bool] = {}
    bad = 0
    accepted = False
    there = volume.provides(module, first).there
    for start, end in stretches(there):
        for place in range(start, end + 1):
            told = signature_at(volume, module, first, rest, place)
            key = told, place if "**>" in told or volume.name in _SMOOTHED else 0
            if key not in verdicts:
                verdicts[key] = bool(refusal_at(volume, told, given, place, of_class=bool(rest)))
            if verdicts[key]:
                bad |= 1 << place
            else:
                accepted = True
    # What no release was seen to take may be made to fit in a way that the source does not show, unless that is plain everywhere.
    return bad if accepted or (bad == there and _plainly_refused(volume, module, first, rest, given, there)) else 0


def _plainly_refused(volume: Volume, module: str, name: str, rest: tuple[str, ...], given: Call, there: int) -> bool:
    """Whether every release has a keyword of a call in no signature, and shows the whole of it in Python."""
    for start, end in stretches(there):
        for place in range(start, end + 1):
            found = volume.follow(module, name, place)
            chunk = None if found is None else volume.chunk(found[0])
            signature = read(signature_at(volume, module, name, rest, place))
            if found is None or chunk is None or signature is None or signature.any_keyword:
                return False
            sheet = None if rest else chunk.classes.get(found[1])
            if sheet is not None and "__init__" not in sheet.methods:  # the fields of a dataclass may be another package's
                return False
            if chunk.open >> place & 1 or all(signature.takes(one) for one in given_to(volume, signature, given, place).keywords):
                return False
    return True


def refusal_at(volume: Volume, told: str, given: Call, place: int, *, of_class: bool = False) -> str | None:
    """Why a signature of a release refuses a call; None where it does not, or where that cannot be told."""
    signature = read(told)
    if signature is None:
        return None
    passed = given_to(volume, signature, given, place)
    if of_class:
        # A method may be called on the class, with the object in front: what is passed by position is not counted then.
        refused_ones = [name for name in passed.keywords if not signature.takes(name)]
        together = refused_together(signature, replace(passed, count=0))
        why = f"takes no argument {refused_ones[0]}" if refused_ones else f"refuses {' and '.join(together)}" if together else None
    else:
        why = refusal(signature, passed)
    if why is None and (left := handed_on(volume, signature, passed, place)):
        return f"takes no argument {left[0]}"
    return why


def handed_on(volume: Volume, signature: Signature, call: Call, place: int, depth: int = 0) -> tuple[str, ...]:
    """The keywords of a call that no parameter takes, and neither does the function to which they are handed on."""
    own = (*signature.positional[signature.only :], *signature.keywords)
    left = tuple(name for name in call.keywords if name not in own)
    if not left or not signature.any_keyword or not signature.onward or depth == _DEEPEST:
        return ()
    module, first, rest = split(volume, signature.onward)
    inner = read(signature_at(volume, module, first, rest[:1], place))
    if inner is None:
        return ()
    return tuple(name for name in left if not inner.takes(name)) or handed_on(volume, inner, Call(0, left, True), place, depth + 1)


def refuses_at(volume: Volume, name: str, call: str, where: tuple[int, ...]) -> bool:
    """Whether all of some releases may refuse a call: asked first, since most calls are taken by the release at hand."""
    module, first, rest = split(volume, name)
    given = read_call(call)
    told = ((signature_at(volume, module, first, rest[:1], place), place) for place in where)
    return all(refusal_at(volume, one, given, place, of_class=bool(rest)) for one, place in told)


def by_body(volume: Volume, name: str, call: str, place: int) -> bool:
    """Whether a release refuses a call that the signature alone takes: no test of the signature shows it."""
    module, first, rest = split(volume, name)
    signature = read(signature_at(volume, module, first, rest[:1], place))
    if signature is None:
        return False
    passed = given_to(volume, signature, read_call(call), place)
    return refusal(replace(signature, together=()), passed) is None and all(signature.takes(one) for one in passed.keywords)


def given_to(volume: Volume, signature: Signature | None, call: Call, place: int) -> Call:
    """What a call passes to a function of a release, by the function's own names."""
    table: Mapping[str, str] = {}
    if volume.name == "torch":
        table = _AS_NUMPY
    elif volume.name in _SMOOTHED:
        table, end = _SMOOTHED[volume.name]
        table = table if place < volume.places.get(end, len(volume.releases)) else _DROPPED
    if signature is None or table.keys().isdisjoint(call.keywords):
        return call
    return replace(call, keywords=tuple(one if signature.takes(one) else table.get(one, one) for one in call.keywords))


def signature_at(volume: Volume, module: str, name: str, rest: tuple[str, ...], place: int) -> str:
    """How a name, or a method of a class of this name, is called in a release."""
    if not rest:
        return signature_of(volume, module, name, place)
    found = volume.follow(module, name, place)
    return "~" if found is None else method_of(volume, found[0], found[1], rest[0], place)
