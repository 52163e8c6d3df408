"""Signatures as text: ``model,args=,/,*,data=,**`` - names in order, ``=`` for a default, ``/`` ``*`` ``**`` as Python writes them.

An object's own first parameter is left out. ``~`` is a signature that a decorator hides. What the body refuses (``refusals.py``) stands
behind it: ``!a&b~`` are parameters that may not be given together, ``b`` only if it is something that counts as true, and
``**>module:function`` says where any other keyword is handed on to. ``^module:Class.method`` is a method of which it takes the old names
of parameters as well.
"""

from __future__ import annotations

import ast

from envdoctor.records import dataclass

HIDDEN = "~"
# Decorators that leave the call as it is written.
TRANSPARENT = frozenset(
    [
        "abstractmethod",
        "add_code_sample_docstrings",
        "add_end_docstrings",
        "add_model_info_to_auto_map",
        "add_start_docstrings",
        "add_start_docstrings_to_callable",
        "add_start_docstrings_to_model_forward",
        "auto_docstring",
        "cache",
        "cached_property",
        "can_return_tuple",
        "capture_outputs",
        "check_model_inputs",
        "classmethod",
        "compile",
        "contextmanager",
        "copy_func",
        "deprecate_nonkeyword_arguments",
        "deprecated",
        "disable",
        "validate_params",
        "compatibility",
        "_disable_dynamo",
        "exposed_in",
        "disable_dynamo",
        "_deprecate_arguments",
        "_deprecate_positional_args",
        "_defaults_from_env_vars",
        "_deprecate_method",
        "xp_capabilities",
        "export",
        "final",
        "force_fp32",
        "ignore",
        "inference_mode",
        "jit",
        "lru_cache",
        "merge_with_config_defaults",
        "no_grad",
        "override",
        "overload",
        "property",
        "replace_return_docstrings",
        "requires",
        "script",
        "staticmethod",
        "torch_compilable_check",
        "torch_jit",
        "unused",
        "use_kernelized_func",
        "validate_hf_hub_args",
        "wraps",
        "register_to_config",
        "experimental",
        "keras_export",
        "doc",
        "Appender",
        "Substitution",
        "array_function_dispatch",
        "set_module",
        "profile",
        # datasets, accelerate, diffusers, trl, huggingface_hub, scikit-learn, wandb, gradio: all is handed on as it is given.
        "_compiler_disable",
        "_fit_context",
        "_log_to_run",
        "apply_forward_hook",
        "chained_operation",
        "deepspeed_required",
        "ensure_logged",
        "fingerprint_transform",
        "flag_as_download_call",
        "force_accelerate_hooks",
        "future_compatible",
        "is_documented_by",
        "normalize_exceptions",
        "profiling_decorator",
        "traced_sync",
        "transmit_format",
        "verify_operation",
        # pandas, scipy, scikit-learn, scikit-image, matplotlib, streamlit, torchvision, timm, networkx, optuna, openai, mlflow, torch,
        # Triton.
        "_apply_over_batch",
        "_attach",
        "_tensor_member_fn",
        "builtin",
        "_exception_logger",
        "_no_grad",
        "_raise_if_finished",
        "_time_logger",
        "_use_grad_for_differentiable",
        "allow_rasterization",
        "allow_relogging_after_mutation",
        "available_if",
        "beta",
        "catch_mlflow_exception",
        "channel_as_last_axis",
        "dedent_interpd",
        "delete_parameter",
        "deprecate_func",
        "deprecated_func",
        "docfiller",
        "document",
        "experimental_func",
        "extend_notes_in_docstring",
        "forbid_nonstring_types",
        "format_docstring",
        "gather_metrics",
        "inherit_docstring_from",
        "interpd",
        "make_keyword_only",
        "no_type_check",
        "nodes_or_number",
        "not_implemented_for",
        "np_random_state",
        "on_main_process",
        "open_file",
        "py_random_state",
        "rank_zero_only",
        "record_usage_event",
        "register_model",
        "replace_example_docstring",
        "replace_list_option_in_docstrings",
        "require_peft_backend",
        "required_args",
        "tracked",
    ]
)
# Those by which a keyword of an older release is still taken, which they name first; matplotlib names it second.
_KEEPS = frozenset(("deprecate_kwarg", "deprecate_arg", "rename_parameter"))
# Those that take a keyword besides.
_ADDS = {"_preprocess_data": ("data",), "_dispatchable": ("backend",), "_dispatch": ("backend",)}
# Those that take the keywords by which they are called: ``deprecated_kwargs(old="new")`` of sentence-transformers.
_RENAMES = frozenset(("deprecated_kwargs",))
# torchvision's, of which each keyword names first what it stands for: ``weights=("pretrained", ...)``.
_LEGACY = frozenset(("handle_legacy_interface",))
# It makes a function of matplotlib.pyplot take the old names that the method takes for which it stands.
COPIES = "_copy_docstring_and_deprecators"


def of_function(node: ast.FunctionDef | ast.AsyncFunctionDef, *, bound: bool) -> str:
    """The signature of a function; ``bound``: in a class, where the first parameter is the object."""
    static = False
    kept: list[str] = []
    for decorator in node.decorator_list:
        name = last_word(decorator)
        if name in _ADDS or name == COPIES:
            kept += _ADDS.get(name, ())
        elif isinstance(decorator, ast.Call) and name in (_KEEPS | _RENAMES | _LEGACY):
            old = _kept_by(decorator, name)
            if old is None:
                return HIDDEN
            kept += old
        elif name not in TRANSPARENT:
            return HIDDEN
        static = static or name == "staticmethod"
    told = of_arguments(node.args, drop=bound and not static)
    if any(last_word(one) in _LEGACY for one in node.decorator_list):
        told = ",".join(part for part in told.split(",") if part != "*-")  # it takes them by position as well
    kept = [name for name in dict.fromkeys(kept) if name not in names_of(told)]
    if kept:
        parts = [] if told == "-" else told.split(",")
        rest = [parts.pop()] if parts and parts[-1] == "**" else []
        star = [] if "*" in parts or "*-" in parts else ["*-"]
        told = ",".join([*parts, *star, *(f"{name}=" for name in kept), *rest])
    return told


def names_of(told: str) -> list[str]:
    """The parameters of a signature's text."""
    return [part.removesuffix("=") for part in told.split(",")]


def _kept_by(decorator: ast.Call, name: str) -> list[str] | None:
    """The keywords that a decorator takes for others; None where it does not say which."""
    keywords = decorator.keywords
    if name in _RENAMES:
        given = [one.arg for one in keywords if one.arg]
        return given if not decorator.args and len(given) == len(keywords) else None
    if name in _LEGACY:
        old: list[ast.expr] = [one.value.elts[0] for one in keywords if isinstance(one.value, ast.Tuple) and one.value.elts]
        if len(old) != len(keywords):
            return None
    else:
        place = 1 if name == "rename_parameter" else 0
        old = [*decorator.args[place : place + 1], *(one.value for one in keywords if one.arg in ("old_name", "old_arg_name", "old"))]
    texts = [one.value for one in old if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return texts if texts and len(texts) == len(old) else None


def of_arguments(arguments: ast.arguments, *, drop: bool) -> str:
    """Parameters as text."""
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    parts = []
    for place, item in enumerate(positional):
        if not (drop and place == 0):
            parts.append(item.arg + "=" * (place >= first_default))
        if place + 1 == len(arguments.posonlyargs) and parts:
            parts.append("/")
    if arguments.vararg is not None:
        parts.append("*")
    if arguments.kwonlyargs:
        if arguments.vararg is None:
            parts.append("*-")
        parts += [item.arg + "=" * (default is not None) for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg is not None:
        parts.append("**")
    return ",".join(parts) or "-"


def last_word(node: ast.expr) -> str:
    """The last name of what a decorator or a base is: ``no_grad`` of ``torch.no_grad()``."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@dataclass(frozen=True, slots=True)
class Signature:
    """``positional`` may be given by position, the first ``only`` in no other way; ``required`` have no default.

    ``onward`` is the function that is handed all keywords that are no parameter; ``together`` are those that the body refuses.
    """

    positional: tuple[str, ...]
    only: int
    keywords: tuple[str, ...]
    required: frozenset[str]
    any_positional: bool
    any_keyword: bool
    onward: str = ""
    together: tuple[frozenset[str], ...] = ()

    def takes(self, keyword: str) -> bool:
        """Whether a keyword of this name is accepted."""
        return self.any_keyword or keyword in self.keywords or keyword in self.positional[self.only :]


def read(text: str) -> Signature | None:
    """A signature out of its text; None for one that is hidden."""
    if text == HIDDEN or not text:
        return None
    positional: list[str] = []
    keywords: list[str] = []
    required: set[str] = set()
    only, starred, any_positional, any_keyword, onward = 0, False, False, False, ""
    together: list[frozenset[str]] = []
    for part in text.split(","):
        if part == "/":
            only = len(positional)
        elif part in ("*", "*-"):
            starred, any_positional = True, part == "*"
        elif part.startswith("**"):
            any_keyword, onward = True, part[3:]
        elif part.startswith("!"):
            together.append(frozenset(part[1:].split("&")))
        elif part != "-":
            name = part.removesuffix("=")
            (keywords if starred else positional).append(name)
            if name == part:
                required.add(name)
    return Signature(tuple(positional), only, tuple(keywords), frozenset(required), any_positional, any_keyword, onward, tuple(together))


@dataclass(frozen=True, slots=True)
class Call:
    """What a call passes: so many by position, these by name; ``open``: and more that is not written out.

    ``firm`` are keywords for which something is written out that counts as true.
    """

    count: int
    keywords: tuple[str, ...]
    open: bool
    firm: frozenset[str] = frozenset()


def of_call(node: ast.Call) -> str:
    """A call's arguments as text: ``2,a=,b=`` and ``*`` for what is unpacked; ``b=!``: what is written out counts as true."""
    parts = [str(sum(not isinstance(item, ast.Starred) for item in node.args))]
    parts += [f"{item.arg}={'!' * _counts_as_true(item.value)}" for item in node.keywords if item.arg]
    if any(isinstance(item, ast.Starred) for item in node.args) or any(item.arg is None for item in node.keywords):
        parts.append("*")
    return ",".join(parts)


def _counts_as_true(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return any(not isinstance(one, ast.Starred) for one in node.elts)
    return isinstance(node, ast.Lambda) or (isinstance(node, ast.Dict) and any(key is not None for key in node.keys))


def plain_call(text: str) -> str:
    """A call's text without what is said of values."""
    return text.replace("=!", "=")


def read_call(text: str) -> Call:
    """A call out of its text."""
    count, *rest = text.split(",")
    firm = frozenset(part[:-2] for part in rest if part.endswith("!"))
    return Call(int(count), tuple(part.partition("=")[0] for part in rest if part != "*"), "*" in rest, firm)


def refusal(signature: Signature, call: Call) -> str | None:
    """Why a call raises TypeError; None where it does not, or where that cannot be told."""
    for name in call.keywords:
        if not signature.takes(name):
            return f"takes no argument {name}"
    if not signature.any_positional and call.count > len(signature.positional):
        return f"takes {len(signature.positional)} arguments by position, and is given {call.count}"
    if not call.open:
        given = {*signature.positional[: call.count], *call.keywords}
        missing = [name for name in (*signature.positional, *signature.keywords) if name in signature.required and name not in given]
        # Old names that a decorator takes stand behind the others: one that is given is one of those that are missing.
        spare = [name for name in call.keywords if name in signature.keywords and name not in signature.required]
        if len(missing) > len(spare):
            return f"needs {', '.join(missing)}"
    refused = refused_together(signature, call)
    return f"refuses {' and '.join(refused)}{' together' if len(refused) > 1 else ''}" if refused else None


def refused_together(signature: Signature, call: Call) -> tuple[str, ...]:
    """The parameters of a call that the body of a function refuses; of what is passed by position only that it is passed is known."""
    given = {*signature.positional[: call.count], *call.keywords} if signature.together else set()
    for some in signature.together:
        if all(one.removesuffix("~") in (call.firm if one.endswith("~") else given) for one in some):
            return tuple(sorted(one.removesuffix("~") for one in some))
    return ()


def shifted(old: Signature, new: Signature, call: Call) -> list[str]:
    """What a call passes by position, and what another parameter gets in a later release: no error says so.

    A parameter that stands in the place of one that is gone, and was not there before, is taken for the same one by another name.
    """
    pairs = list(zip(old.positional, new.positional, strict=False))[: call.count]
    before, after = {*old.positional, *old.keywords}, {*new.positional, *new.keywords}
    return [
        f"{one} is passed by position, where {other} stands" for one, other in pairs if one != other and (one in after or other in before)
    ]
