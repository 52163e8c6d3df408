"""Tests that stand over a statement, as conditions on what is installed: ``transformers>=4.50``, ``peft``, ``!python<3.10``, ``?``.

Several hold together (``a & b``). ``?`` is a test of what is there that cannot be read, or a ``try``; ``*`` is any other test, of which
nothing is known but that it has nothing to do with what is installed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import lru_cache

from envdoctor.syntax.walking import walk

UNKNOWN = "?"
BRANCH = "*"
NEVER = "never"
_SIGNS: Mapping[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_LOOKS = frozenset(
    (
        "hasattr",
        "getattr",
        "find_spec",
        "modules",
        "signature",
        "parameters",
        "callable",
        "getfullargspec",
        "dir",
        "vars",
        "__dict__",
        "is_torch_tpu",
    )
)
_ASKING = ("version", "available", "installed", "_ge_", "greater", "has_", "supports")
_DEVICES = frozenset(("cuda", "mps", "xpu", "npu", "hpu", "distributed", "dist"))
_WRAPS = frozenset(("bool", "set", "list", "tuple", "frozenset", "sorted", "keys"))
_PARSERS = frozenset(("parse", "Version", "LooseVersion", "StrictVersion", "parse_version"))
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*(?:(?:\.?dev|a|b|rc|\.?post)[0-9]*)?")
_AVAILABLE = re.compile(r"_?(?:is|has|have)_(\w+?)_(?:available|installed)")
_FLAG = re.compile(r"_(\w+?)_AVAILABLE")
_AT_LEAST = re.compile(
    r"_?(?:is_)?(torch|transformers|peft|accelerate|trl|diffusers|numpy)_(?:greater_or_equal_than|greater_equal|ge|gte)_([0-9_]+)"
)
_FLAG_AT_LEAST = re.compile(r"_(TORCH|TRANSFORMERS|TORCHVISION|NUMPY|LIGHTNING|TORCHMETRICS)_GREATER_EQUAL_([0-9_]+)")
_BELOW = re.compile(r"_?is_(torch|transformers|peft|accelerate|trl|diffusers)_(?:less_than|lower_than|lt)_([0-9_]+)")
_RELEASED = re.compile(r"_?is_(\w+?)_version")
_REQUIRED = re.compile(r"\s*([A-Za-z0-9_.-]+?)\s*(?:([<>=!]=?|~=)\s*([0-9][0-9.]*\w*))?\s*")
# Names under which availability is asked for, where the package is called otherwise.
_CALLED = {
    "pil": "pillow",
    "vision": "pillow",
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "tf": "tensorflow",
    "torch_fx": "torch",
    "torch_cuda": UNKNOWN,
    "sentencepiece": "sentencepiece",
    "bnb": "bitsandbytes",
    "flash_attn_2": UNKNOWN,
    "flash_attn_3": UNKNOWN,
    "torch_xla": "torch-xla",
    "torch_npu": "torch-npu",
    "hf_hub": "huggingface-hub",
    "liger": "liger-kernel",
    "torchaudio": "torchaudio",
    "torchvision": "torchvision",
    "auto_gptq": "auto-gptq",
    "auto_awq": "autoawq",
    "flash_attn": "flash-attn",
    "yaml": "pyyaml",
    "rich": "rich",
}
_PLAIN = frozenset(
    [
        "accelerate",
        "apex",
        "av",
        "bitsandbytes",
        "clearml",
        "comet_ml",
        "datasets",
        "decord",
        "deepspeed",
        "diffusers",
        "einops",
        "faiss",
        "flax",
        "fsspec",
        "gptqmodel",
        "hqq",
        "jax",
        "jinja",
        "joblib",
        "keras",
        "kernels",
        "liger_kernel",
        "librosa",
        "matplotlib",
        "mlflow",
        "ninja",
        "nltk",
        "numpy",
        "onnx",
        "onnxruntime",
        "opencv",
        "optimum",
        "pandas",
        "peft",
        "phonemizer",
        "pillow",
        "polars",
        "psutil",
        "pyarrow",
        "pydantic",
        "pytest",
        "ray",
        "requests",
        "rich",
        "safetensors",
        "scipy",
        "soundfile",
        "swanlab",
        "tensorboard",
        "tensorboardX",
        "tensorflow",
        "tiktoken",
        "timm",
        "tokenizers",
        "torch",
        "torchao",
        "torchdata",
        "torchdiffeq",
        "tqdm",
        "transformers",
        "triton",
        "trl",
        "unsloth",
        "vllm",
        "wandb",
        "xformers",
    ]
)


@lru_cache(4096)
def _is_asking(word: str) -> bool:
    return word in _LOOKS or any(part in word.lower() for part in _ASKING)


def _is_of_a_device(node: ast.AST) -> bool:
    """Whether a name is ``is_available`` of ``torch.cuda`` or its like."""
    if not isinstance(node, ast.Attribute) or node.attr != "is_available":
        return False
    owner = node.value
    return (owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else "") in _DEVICES


class Guards:
    """Reads tests; ``names`` are what the module's top level binds, by which a name stands for what it was bound to.

    ``flags`` are names that say how an attempt to import went, or what a test of what is there came to, with the condition of that.
    ``asks_version`` says whether the module names ``__version__`` at all, ``own`` that it is somebody's own: what it asks of a device is
    nothing that it asks of packages.
    """

    def __init__(self, *, asks_version: bool = True, own: bool = False) -> None:
        self.own = own
        self.names: dict[str, ast.expr] = {}
        self.modules: dict[str, str] = {}
        self.flags: dict[str, str] = {}
        self.asks_version = asks_version

    def of(self, test: ast.expr) -> str:
        """The condition of a test. ``NEVER`` is one that no run takes."""
        told = self._of(test, 6)
        return BRANCH if told == UNKNOWN and not self.looks(test) else told

    def looks(self, test: ast.AST) -> bool:
        """Whether a test asks what is there: by ``hasattr``, by a release, by a flag of availability."""
        for node in walk(test):
            word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if word and (word in self.flags or (_is_asking(word) and not (self.own and _is_of_a_device(node)))):
                return True
        return False

    def asks(self, value: ast.expr) -> bool:
        """Whether a value is what such a test came to, or what one is made of: ``inspect.signature(Trainer).parameters``."""
        if isinstance(value, ast.Compare | ast.BoolOp | ast.UnaryOp):
            return self.looks(value)
        if isinstance(value, ast.Call):
            word = value.func.attr if isinstance(value.func, ast.Attribute) else value.func.id if isinstance(value.func, ast.Name) else ""
            if word in _LOOKS or word in _PARSERS or word in self.flags or _AVAILABLE.fullmatch(word):
                return True
            if word in _WRAPS and any(map(self.asks, value.args)):
                return True
        if isinstance(value, ast.Attribute) and value.attr in _LOOKS and self.looks(value.value):
            return True
        # ``major, minor = map(int, transformers.__version__.split(".")[:2])``
        return self.asks_version and any(isinstance(node, ast.Attribute) and node.attr == "__version__" for node in walk(value))

    def _of(self, test: ast.expr, depth: int) -> str:
        if depth == 0:
            return UNKNOWN
        if isinstance(test, ast.Name):
            return self._of_name(test.id, depth)
        if isinstance(test, ast.Attribute):
            return NEVER if test.attr == "TYPE_CHECKING" else _of_word(test.attr) or UNKNOWN
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return negated(self._of(test.operand, depth - 1))
        if isinstance(test, ast.BoolOp):
            return self._joined(test, depth)
        if isinstance(test, ast.Call):
            return self._of_call(test, depth)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compared(test, depth)
        if isinstance(test, ast.Constant):
            return "" if test.value else NEVER
        return UNKNOWN

    def _of_name(self, name: str, depth: int) -> str:
        if name == "TYPE_CHECKING":
            return NEVER
        told = _of_word(name) or UNKNOWN
        if told == UNKNOWN and name in self.names:
            told = self._of(self.names[name], depth - 1)
        return self.flags.get(name, UNKNOWN) if told == UNKNOWN else told

    def _joined(self, test: ast.BoolOp, depth: int) -> str:
        parts = [self._of(value, depth - 1) for value in test.values]
        if isinstance(test.op, ast.And):
            return joined(*parts)
        if "" in parts:
            return ""
        left = [part for part in parts if part != NEVER]
        return NEVER if not left else left[0] if len(set(left)) == 1 else UNKNOWN

    def _of_call(self, test: ast.Call, depth: int) -> str:
        name = test.func.attr if isinstance(test.func, ast.Attribute) else test.func.id if isinstance(test.func, ast.Name) else ""
        told = [item.value for item in test.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        if (
            name
            in ("RequirementCache", "package_available", "find_spec", "module_available", "_package_available", "_is_package_available")
            and told
        ):
            match = _REQUIRED.fullmatch(told[0])
            # Whether a module of a package is there is asked as a name of it is.
            below = name == "find_spec" and "." in told[0]
            return UNKNOWN if match is None or below else atom(match[1], match[2] or "", match[3] or "")
        if name == "compare_version" and len(test.args) == 3 and len(told) == 2 and isinstance(test.args[1], ast.Attribute):
            sign = {"ge": ">=", "gt": ">", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}.get(test.args[1].attr)
            return UNKNOWN if sign is None else atom(told[0], sign, told[1])
        released = _RELEASED.fullmatch(name)
        if released and len(told) == 2 and told[0] in _TURNED:
            return atom(released[1], told[0], told[1])
        if name == "bool" and len(test.args) == 1:
            return self._of(test.args[0], depth - 1)
        if test.args or test.keywords:
            at_least = _AVAILABLE.fullmatch(name)
            if at_least and told and _VERSION.fullmatch(told[0]):
                return joined(_of_word(name) or UNKNOWN, atom(at_least[1], ">=", told[0]))
            return joined(_of_word(name) or "", UNKNOWN)
        return _of_word(name) or UNKNOWN

    def _compared(self, test: ast.Compare, depth: int) -> str:
        left, right, op = test.left, test.comparators[0], test.ops[0]
        if isinstance(op, ast.IsNot | ast.Is) and isinstance(right, ast.Constant) and right.value is None:
            if isinstance(left, ast.Call):
                told = self._of_call(left, depth)
                return negated(told) if isinstance(op, ast.Is) else told
            return UNKNOWN
        if isinstance(left, ast.Name) and left.id == "__name__" and isinstance(op, ast.Eq):
            # A package is imported; somebody's own script is what is run.
            return "" if self.own else NEVER
        sign = _SIGNS.get(type(op))
        if sign is None:
            return UNKNOWN
        return self._versions(left, sign, right) or self._versions(right, _TURNED[sign], left) or UNKNOWN

    def _versions(self, left: ast.expr, sign: str, right: ast.expr) -> str | None:
        if isinstance(left, ast.Subscript):
            left = left.value
        if isinstance(left, ast.Attribute) and left.attr == "version_info" and isinstance(right, ast.Tuple):
            numbers = [item.value for item in right.elts if isinstance(item, ast.Constant) and isinstance(item.value, int)]
            return atom("python", sign, ".".join(map(str, numbers))) if numbers else None
        if isinstance(left, ast.Attribute) and left.attr in ("platform", "name") and isinstance(right, ast.Constant):
            system = {"win32": "Windows", "nt": "Windows", "darwin": "Darwin", "linux": "Linux", "posix": ""}.get(str(right.value))
            return None if not system else f"{'' if sign == '==' else '!'}system:{system}"
        package, version = self._package(left), self._version(right)
        return atom(package, sign, version) if package and version else None

    def _package(self, node: ast.expr, depth: int = 5) -> str | None:
        if depth == 0:
            return None
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
            if name == "version" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
                return str(node.args[0].value)
            if name in _PARSERS and len(node.args) == 1:
                return self._package(node.args[0], depth - 1)
            return None
        if isinstance(node, ast.Attribute) and node.attr in ("base_version", "release", "public"):
            return self._package(node.value, depth - 1)
        if isinstance(node, ast.Attribute) and node.attr in ("__version__", "version") and isinstance(node.value, ast.Name):
            return self.modules.get(node.value.id, node.value.id).partition(".")[0]
        if isinstance(node, ast.Name):
            if node.id in self.modules and self.modules[node.id].endswith(".__version__"):
                return self.modules[node.id].partition(".")[0]
            told = re.fullmatch(r"_?(torch|transformers|peft|accelerate|numpy|trl|diffusers|bitsandbytes|datasets)_version", node.id)
            if told:
                return told[1]
            return self._package(self.names[node.id], depth - 1) if node.id in self.names else None
        return None

    def _version(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Call) and len(node.args) == 1:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
            return self._version(node.args[0]) if name in _PARSERS else None
        if isinstance(node, ast.Name) and node.id in self.names:
            return self._version(self.names[node.id]) if not isinstance(self.names[node.id], ast.Name) else None
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        return text if _VERSION.fullmatch(text) else None


def atom(package: str, sign: str = "", version: str = "") -> str:
    """One condition: a package that is there, or its release against a number."""
    name = package.replace("_", "-").lower()
    name = _CALLED.get(package.lower(), name)
    if name == UNKNOWN:
        return UNKNOWN
    # Code says ``.dev0`` for everything from the release on: that is how its own checkout counts.
    return f"{name}{sign}{version.partition('.dev')[0]}" if sign and sign != "~=" else name


def _of_word(name: str) -> str | None:
    """What a name of a test says by itself: ``is_peft_available``, ``is_torch_greater_or_equal_than_2_1``, gradio's ``IS_WASM``."""
    if name == "IS_WASM":  # ``sys.platform == "emscripten"``: Python in a browser
        return "system:Emscripten"
    for pattern, sign in ((_AT_LEAST, ">="), (_FLAG_AT_LEAST, ">="), (_BELOW, "<")):
        match = pattern.fullmatch(name)
        if match:
            return atom(match[1].lower(), sign, match[2].replace("_", "."))
    match = _AVAILABLE.fullmatch(name) or _FLAG.fullmatch(name)
    if match:
        word = match[1].lower()
        return atom(word) if word in _PLAIN or word in _CALLED else UNKNOWN
    return None


@lru_cache(maxsize=65_536)
def joined(*conditions: str) -> str:
    """All of them at once."""
    parts = dict.fromkeys(part for condition in conditions for part in condition.split(" & ") if part)
    return NEVER if NEVER in parts else " & ".join(parts)


def negated(condition: str) -> str:
    """The other branch."""
    if condition in (UNKNOWN, BRANCH, "", NEVER):
        return {UNKNOWN: UNKNOWN, BRANCH: BRANCH, "": NEVER, NEVER: ""}[condition]
    if " & " in condition:
        return UNKNOWN
    match = re.fullmatch(r"([A-Za-z0-9-]+)([<>=!]=?)(.+)", condition)
    if match:
        return f"{match[1]}{_OPPOSITE[match[2]]}{match[3]}"
    return condition[1:] if condition.startswith("!") else f"!{condition}"
