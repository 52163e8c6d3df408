"""Raise messages in an environment by wrong calls that nobody chose, and draw a set of them.

    ENV/bin/python raise_messages.py raise SEED a.json a.names             # wrong calls; a.names: what the packages of the environment offer
    ENV/bin/python raise_messages.py others SEED a.json a.names b.names ... # names and keywords that the others have and this one lacks
    python raise_messages.py draw SEED NUMBER KNOWN.jsonl a.json b.json ... > messages-2.jsonl

A call is a public function, class or method of one of ``SHARE``, with arguments drawn by their names, annotations and defaults, one or two of
them wrong. Kept is what a ``raise`` or ``assert`` of one of these packages said, or its compiled code (Cython's frames, or a call without a
frame of its own); not what the interpreter itself says of types, nor a text of fewer than three words. Names and keywords that another
of the environments has and this one lacks give the messages of Python itself about them. Nothing is written outside a folder of its own,
no process is started and no address is called: an audit hook refuses these.
"""

# ruff: noqa: BLE001, E501 - whatever a wrong call raises is what is looked for, and the tables are wide
from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import json
import linecache
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import typing
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Of each package no more rows are drawn than this; seconds of calls in each environment.
SHARE = {
    "transformers": (62, 150), "diffusers": (34, 60), "datasets": (38, 60), "peft": (34, 60), "trl": (30, 60), "accelerate": (32, 40),
    "huggingface_hub": (30, 40), "numpy": (30, 30), "pandas": (24, 40), "tokenizers": (16, 30), "pydantic": (10, 20), "pyarrow": (8, 20),
    "torch": (5, 30), "safetensors": (4, 10), "evaluate": (3, 15), "sentence_transformers": (4, 25), "sklearn": (4, 20),
    "torchmetrics": (4, 20), "lightning": (4, 25), "einops": (3, 10), "tiktoken": (3, 10), "fsspec": (3, 15), "wandb": (2, 15),
    "httpx": (2, 10), "gguf": (2, 10), "sentencepiece": (2, 10),
}  # fmt: skip
MISSING = 26
# So much of these seconds is spent, counted as time of the processor.
PART = 0.025
MODULES = {
    "transformers": ["", ".utils", ".trainer_utils", ".optimization", ".generation", ".image_utils", ".image_transforms", ".trainer_pt_utils",
                     ".modeling_utils", ".configuration_utils", ".tokenization_utils_base", ".pipelines", ".integrations", ".training_args"],
    "diffusers": ["", ".utils", ".training_utils", ".optimization", ".loaders", ".image_processor"],
    "datasets": ["", ".features", ".utils", ".arrow_dataset", ".iterable_dataset", ".formatting", ".combine"],
    "peft": ["", ".utils", ".tuners", ".helpers", ".tuners.lora"],
    "trl": ["", ".trainer", ".trainer.utils", ".models", ".data_utils", ".extras", ".rewards"],
    "accelerate": ["", ".utils", ".big_modeling", ".data_loader", ".hooks", ".scheduler", ".optimizer", ".tracking"],
    "huggingface_hub": ["", ".utils", ".hf_api", ".repocard", ".repocard_data", ".serialization", ".inference"],
    "numpy": ["", ".linalg", ".random", ".fft", ".lib.stride_tricks"],
    "pandas": ["", ".api.types", ".tseries.offsets", ".io.api"],
    "tokenizers": ["", ".models", ".pre_tokenizers", ".processors", ".normalizers", ".decoders", ".trainers"],
    "pydantic": ["", ".types", ".fields", ".functional_validators"],
    "pyarrow": ["", ".compute", ".parquet", ".json", ".csv", ".dataset"],
    "torch": ["", ".nn.functional", ".optim", ".utils.data", ".nn", ".amp"],
    "safetensors": ["", ".torch", ".numpy"],
    "sentence_transformers": ["", ".losses", ".util", ".models"],
    "sklearn": [".model_selection", ".metrics", ".utils", ".preprocessing", ".linear_model"],
    "torchmetrics": ["", ".functional", ".classification"],
    "lightning": ["", ".pytorch", ".pytorch.callbacks", ".pytorch.loggers", ".fabric"],
}  # fmt: skip
NOT_CALLED = re.compile(
    r"launch|spawn|login|logout|exit|kill|serve|server|main$|debug|breakpoint|interact|input|sleep|wait|benchmark|notebook|show_|test|daemon"
    r"|faulthandler|set_start|jit|compile|export|cuda|distributed|dist_|subprocess|install|upgrade|hook$",
    re.IGNORECASE,
)
OF_PYTHON = re.compile(
    r"object is not (?:iterable|subscriptable|callable)|object does not support|missing \d+ required|positional argument|unsupported operand"
    r"|has no attribute|not supported between instances|indices must be|unhashable type|expected str, bytes or os\.PathLike|argument of type"
    r"|can only concatenate|must be real number|cannot be interpreted as an integer|a bytes-like object|object has no len|cannot unpack"
    r"|not enough values|too many values|No such file or directory|Is a directory|list index out of range|takes no keyword arguments"
    r"|unexpected keyword argument|^argument '|object cannot be converted|expected at (?:most|least)|NoneType|not a mapping|must be str"
    r"|descriptor '|No module named|cannot import name|invalid literal for int|could not convert string to float|maximum recursion"
    r"|sequence item \d|after \* must|after \*\* must|keywords must be strings|is not a real number|integer division|division by zero",
)
WORD = re.compile(r"[A-Za-z]{2,}")
STRINGS = (
    "nosuch",
    "",
    "auto",
    "none",
    "linear",
    "cosine",
    "max_length",
    "pt",
    "np",
    "mean",
    "all",
    "text",
    "label",
    "a",
    "0",
    "float16",
    "cpu",
)


class TooLongError(BaseException):
    pass


def names_of(package: str) -> Iterator[tuple[str, Any, str]]:
    """The public names of a package: their places, modules and names. What is given on request is not loaded for that."""
    for suffix in MODULES.get(package, [""]):
        try:
            module = importlib.import_module(package + suffix)
        except Exception:
            continue
        for name in sorted({*dir(module), *getattr(module, "__all__", ())}):
            if not name.startswith("_") and not NOT_CALLED.search(name):
                yield f"{package}{suffix}:{name}", module, name


def callable_of(package: str, module: Any, name: str) -> Any:
    """What a name stands for, where it is a callable of this package; else None."""
    try:
        one = getattr(module, name)
    except BaseException:
        return None
    owner = getattr(one, "__module__", "") or package
    return one if callable(one) and str(owner).partition(".")[0] in (package, "builtins") else None


def parameters(one: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(one).parameters.values())
    except BaseException:
        return None


def line_of(package: str, place: str, module: Any, name: str) -> str:
    """A callable's place and its keywords; a star where it takes any, or where that would have to be loaded to be known."""
    lazy = name not in vars(module)
    one = None if lazy else callable_of(package, module, name)
    found = None if one is None else parameters(one)
    if found is None:
        return f"{place} *" if one is not None or lazy else ""
    open_ = any(p.kind is p.VAR_KEYWORD for p in found)
    return " ".join([place, *(["*"] if open_ else []), *(p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))])


class Things:
    """What calls are made with."""

    def __init__(self, chance: random.Random, folder: str) -> None:
        self.chance, self.folder = chance, folder
        (Path(folder) / "a.json").write_text('{"a": 1}', encoding="utf-8")
        (Path(folder) / "b.json").write_text("nosuch", encoding="utf-8")
        (Path(folder) / "c.csv").write_text("text,label\na,1\nb,2\n", encoding="utf-8")
        self.made: dict[str, Any] = {}
        self.makers: dict[str, Callable[[], Any]] = {
            "model": self._model, "tokenizer": self._tokenizer, "config": lambda: self.get("model").config, "dataset": self._dataset,
            "args": self._args, "peft_config": self._peft_config, "frame": self._frame, "series": lambda: self.get("frame")["a"],
            "array": self._array, "tensor": self._tensor, "table": self._table, "optimizer": self._optimizer, "scheduler": self._scheduler,
            "peft_model": self._peft_model, "iterable": lambda: self.get("dataset").to_iterable_dataset(), "raw": self._raw,
            "accelerator": self._accelerator, "features": lambda: self.get("dataset").features, "image": self._image, "api": self._api,
            "trainer": self._trainer, "dict": self._datasets, "noise": self._noise, "unet": self._unet, "index": lambda: self.get("frame").index,
        }  # fmt: skip
        self.by_package = {
            "transformers": ["model", "tokenizer", "config", "args", "trainer", "config"], "peft": ["peft_model", "peft_config"],
            "datasets": ["dataset", "iterable", "features", "dict"], "diffusers": ["noise", "unet"], "pandas": ["frame", "series", "index"],
            "numpy": ["array"], "torch": ["tensor", "optimizer", "scheduler"], "pyarrow": ["table"], "tokenizers": ["raw"],
            "accelerate": ["accelerator"], "huggingface_hub": ["api"],
        }  # fmt: skip

    def get(self, name: str) -> Any:
        if name not in self.made:
            try:
                self.made[name] = self.makers[name]()
            except BaseException:
                self.made[name] = None
        return self.made[name]

    def _model(self) -> Any:
        t = importlib.import_module("transformers")
        config = t.LlamaConfig(
            hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, vocab_size=32
        )
        return t.LlamaForCausalLM(config)

    def _raw(self) -> Any:
        t = importlib.import_module("tokenizers")
        raw = t.Tokenizer(t.models.WordLevel({"<unk>": 0, "a": 1, "b": 2, "<s>": 3}, unk_token="<unk>"))
        raw.pre_tokenizer = t.pre_tokenizers.Whitespace()
        return raw

    def _tokenizer(self) -> Any:
        return importlib.import_module("transformers").PreTrainedTokenizerFast(tokenizer_object=self._raw(), unk_token="<unk>")

    def _dataset(self) -> Any:
        return importlib.import_module("datasets").Dataset.from_dict({"text": ["a b", "b"], "label": [0, 1]})

    def _datasets(self) -> Any:
        return importlib.import_module("datasets").DatasetDict({"train": self.get("dataset")})

    def _args(self) -> Any:
        return importlib.import_module("transformers").TrainingArguments(self.folder + "/out", report_to=[], use_cpu=True)

    def _trainer(self) -> Any:
        return importlib.import_module("transformers").Trainer(
            model=self.get("model"), args=self.get("args"), train_dataset=self.get("dataset")
        )

    def _peft_config(self) -> Any:
        return importlib.import_module("peft").LoraConfig(target_modules=["q_proj"], r=2)

    def _peft_model(self) -> Any:
        return importlib.import_module("peft").get_peft_model(self._model(), self._peft_config())

    def _frame(self) -> Any:
        return importlib.import_module("pandas").DataFrame({"a": [1, 2, 2], "b": ["x", "y", None], "c": [0.5, 1.5, 2.5]})

    def _array(self) -> Any:
        return importlib.import_module("numpy").arange(6.0).reshape(2, 3)

    def _tensor(self) -> Any:
        return importlib.import_module("torch").arange(6.0).reshape(2, 3)

    def _table(self) -> Any:
        return importlib.import_module("pyarrow").table({"a": [1, 2], "b": ["x", "y"]})

    def _optimizer(self) -> Any:
        torch = importlib.import_module("torch")
        return torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)

    def _scheduler(self) -> Any:
        return importlib.import_module("torch").optim.lr_scheduler.StepLR(self.get("optimizer"), 1)

    def _noise(self) -> Any:
        return importlib.import_module("diffusers").DDPMScheduler()

    def _unet(self) -> Any:
        return importlib.import_module("diffusers").UNet2DModel(
            sample_size=8,
            block_out_channels=(4, 4),
            down_block_types=("DownBlock2D",) * 2,
            up_block_types=("UpBlock2D",) * 2,
            norm_num_groups=2,
        )

    def _accelerator(self) -> Any:
        return importlib.import_module("accelerate").Accelerator(cpu=True)

    def _image(self) -> Any:
        return importlib.import_module("PIL.Image").new("RGB", (4, 4))

    def _api(self) -> Any:
        return importlib.import_module("huggingface_hub").HfApi()

    def wrong(self) -> Any:
        """Anything."""
        chance = self.chance
        pick = chance.randrange(9)
        if pick == 0:
            return chance.choice((-1, 0, 1, 2, 3, 7, 100))
        if pick == 1:
            return chance.choice((-1.0, 0.0, 0.5, 1.5, 1e9))
        if pick == 2:
            return chance.choice(([], [1, 2], ["a"], ["a", "a"], [[1, 2], [3]], ["nosuch"], [None], ("a", 1), (1, 2, 3), [[["a"]]]))
        if pick == 3:
            return chance.choice(({}, {"a": 1}, {"a": [1], "b": [1, 2]}, {"nosuch": "nosuch"}, {"": None}, {1: 2}))
        if pick == 4:
            return chance.choice((None, True, False, object(), int, str))
        if pick == 5:
            return self.get(chance.choice(sorted(self.makers)))
        if pick == 6:
            return self.folder + chance.choice(("/a.json", "/b.json", "/c.csv", "/nosuch", "", "/nosuch.json"))
        return chance.choice(STRINGS)

    def fitting(self, one: inspect.Parameter) -> Any:
        """What may be meant, by name, annotation and default."""
        chance, name = self.chance, one.name
        near = {
            "model": "model", "base_model": "model", "tokenizer": "tokenizer", "processing_class": "tokenizer", "config": "config", "args": "args",
            "train_dataset": "dataset", "eval_dataset": "dataset", "dataset": "dataset", "peft_config": "peft_config", "optimizer": "optimizer",
            "df": "frame", "frame": "frame", "a": "array", "x": "array", "arr": "array", "input": "tensor", "tensor": "tensor", "table": "table",
            "images": "image", "image": "image", "scheduler": "noise", "sample": "tensor", "model_output": "tensor", "other": "frame",
            "adapter_config": "peft_config", "unet": "unet", "array": "array", "preds": "tensor", "target": "tensor", "logits": "tensor",
        }  # fmt: skip
        if name in near and chance.random() < 0.85 and (found := self.get(near[name])) is not None:
            return found
        kind = one.annotation
        if isinstance(kind, str):
            kind = {"int": int, "str": str, "float": float, "bool": bool}.get(kind.partition("|")[0].strip(), inspect.Parameter.empty)
        choices = [c for c in (kind, *typing.get_args(kind)) if c is not type(None)]
        for choice in chance.sample(choices, len(choices)):
            if typing.get_origin(choice) is typing.Literal:
                return chance.choice(typing.get_args(choice))
            if choice is bool:
                return chance.random() < 0.5
            if choice is int:
                return chance.choice((1, 2, 3, 8, -1, 0))
            if choice is float:
                return chance.choice((0.1, 0.5, 1.0, -1.0, 2.0))
            if choice is str or "Path" in str(choice):
                return chance.choice((*STRINGS, self.folder + "/a.json", self.folder + "/nosuch"))
            if inspect.isclass(choice) and issubclass(choice, str) and hasattr(choice, "__members__"):
                return chance.choice(list(choice.__members__.values()))
        default = one.default
        if isinstance(default, bool):
            return not default
        if isinstance(default, (int, float)):
            return chance.choice((default * 2, -default, default + 1, 0))
        return self.wrong()

    def arguments(self, found: list[inspect.Parameter]) -> tuple[list[Any], dict[str, Any]]:
        chance = self.chance
        least = chance.choice((0.05, 0.15, 0.3))
        values, keywords = [], {}
        by_place = True
        for one in found:
            if one.name == "self" or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            needed = one.default is one.empty
            if not needed and chance.random() > least:
                by_place = False
                continue
            value = self.wrong() if chance.random() < 0.2 else self.fitting(one)
            if one.kind is one.POSITIONAL_ONLY or (by_place and needed and one.kind is not one.KEYWORD_ONLY):
                values.append(value)
            else:
                by_place = False
                keywords[one.name] = value
        return values, keywords


def guard(folder: str) -> None:
    """Refuse what would reach out of the folder."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.kill", "socket.connect", "pty.spawn"):
            raise PermissionError(event)
        if event == "socket.getaddrinfo":
            raise OSError(event)
        if event == "open" and isinstance(arguments[0], (str, bytes)) and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            path = os.path.abspath(os.fsdecode(arguments[0]))
            if not path.startswith((folder, "/dev/null")):
                raise PermissionError(event)
        if event in ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.symlink", "os.link", "os.chmod", "os.truncate", "shutil.rmtree"):
            for path in arguments[:2] if event in ("os.rename", "os.symlink", "os.link") else arguments[:1]:
                if isinstance(path, (str, bytes)) and not os.path.abspath(os.fsdecode(path)).startswith(folder):
                    raise PermissionError(event)

    sys.addaudithook(refuse)


def told(error: BaseException, package: str, tops: dict[str, list[str]]) -> dict[str, Any] | None:
    """The row of an error, where it is one of a package's own."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    numbers = [number for _, number in traceback.walk_tb(error.__traceback__)]
    if not frames or isinstance(error, (TooLongError, KeyboardInterrupt, SystemExit, GeneratorExit, RecursionError, MemoryError)):
        return None
    lines = "".join(traceback.format_exception_only(type(error), error)).rstrip("\n").split("\n")
    words = str(error)
    if len(WORD.findall(words)) < 3 or len("\n".join(lines)) > 2500 or len(lines) > 20:
        return None
    inner, number = frames[-1], numbers[-1]
    top = str(inner.f_globals.get("__name__", "")).partition(".")[0]
    line = linecache.getline(inner.f_code.co_filename, number).strip()
    own = top == "__main__"
    if top in SHARE and line.startswith(("raise ", "assert ")):
        how = "raised"
    elif top in SHARE and inner.f_code.co_filename.endswith((".pyx", ".pxi", ".pxd")) and not OF_PYTHON.search(words):
        how = "compiled"
    elif (own or top == package) and package in ("numpy", "tokenizers", "safetensors", "torch", "sentencepiece", "pandas", "pyarrow"):
        if OF_PYTHON.search(words) or isinstance(error, (AttributeError, ImportError, OSError, NotImplementedError)):
            return None
        if own and type(error).__module__ == "builtins" and package in ("pandas",):
            return None
        how, top = "compiled", package
    else:
        return None
    distribution = (tops.get(top) or [top])[0]
    return {"how": how, "package": distribution, "top": top, "exception": type(error).__name__, "lines": lines}


def call_packages(packages: list[str], seed: int, names: Path) -> None:
    """Wrong calls of packages, one after the other, each until its time is over; each error is a line of the file behind descriptor 3."""
    warnings.simplefilter("ignore")
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    tops: dict[str, list[str]] = {key: list(value) for key, value in importlib.metadata.packages_distributions().items()}
    things = Things(random.Random(seed), folder)
    for name in things.makers:
        things.get(name)
    if not names.exists():
        names.write_text("\n".join(line_of(package, *found) for package in SHARE for found in names_of(package)) + "\n", encoding="utf-8")

    def ring(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, ring)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    guard(folder)
    with os.fdopen(os.dup(3), "a", encoding="utf-8") as out:
        for package in packages:
            things.chance = random.Random(f"{seed} {package}")
            for row in call_package(package, things, tops):
                row["lines"] = [line.replace(folder, "/tmp/run") for line in row["lines"]]
                out.write(json.dumps(row) + "\n")
                out.flush()
            out.write(json.dumps({"done": package}) + "\n")
            out.flush()


def call_package(package: str, things: Things, tops: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    """The errors of one package, each wording once."""
    chance = things.chance
    instances = [one for name in things.by_package.get(package, []) if (one := things.get(name)) is not None]
    public = list(names_of(package))
    seen: set[str] = set()
    until = time.process_time() + PART * SHARE[package][1]
    while public and time.process_time() < until:
        if instances and chance.random() < 0.4:
            holder = chance.choice(instances)
            name = chance.choice([name for name in dir(type(holder)) if not name.startswith("_") and not NOT_CALLED.search(name)])
            place, one = f"{type(holder).__name__}().{name}", getattr(type(holder), name, None)
            one = one.__get__(holder) if inspect.isfunction(one) else getattr(holder, name, None) if callable(one) else None
        else:
            place, module, name = chance.choice(public)
            one = callable_of(package, module, name)
            if inspect.isclass(one) and chance.random() < 0.5:
                names = [
                    name for name in vars(one) if not name.startswith("_") and isinstance(vars(one)[name], (classmethod, staticmethod))
                ]
                if names:
                    name = chance.choice(names)
                    place, one = f"{place}.{name}", getattr(one, name)
        if not callable(one):
            continue
        found = parameters(one)
        values, keywords = ([things.wrong() for _ in range(chance.randrange(4))], {}) if found is None else things.arguments(found)
        row = None
        try:
            signal.setitimer(signal.ITIMER_REAL, 4)
            made = one(*values, **keywords)
            if inspect.isgenerator(made):
                next(made, None)
        except BaseException as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            try:
                row = told(error, package, tops)
            except BaseException:
                row = None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if row is None or (key := wording(row["lines"])) in seen:
            continue
        seen.add(key)
        try:
            row["release"] = importlib.metadata.version(row["package"])
            row["call"] = f"{place}({', '.join([*map(short, values), *(f'{k}={short(v)}' for k, v in keywords.items())])})"
        except BaseException:
            continue
        yield row


def short(value: Any) -> str:
    return (
        repr(value).replace("\n", " ")[:60]
        if isinstance(value, (str, int, float, list, dict, tuple, type(None)))
        else f"<{type(value).__name__}>"
    )


def wording(lines: list[str]) -> str:
    """A message without what is filled in: numbers, what is quoted, what is in brackets."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|<[^>]*>|\S*[/\d]\S*", "", " ".join(lines))
    return " ".join(re.findall(r"[A-Za-z_]{2,}", text))[:160].lower()


def raise_all(seed: int, output: Path, names: Path) -> None:
    """All packages in one process; where it breaks, another one goes on with the next package."""
    output.write_text("", encoding="utf-8")
    environ = {
        **os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "WANDB_MODE": "disabled", "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1", "HOME": tempfile.mkdtemp(), "TQDM_DISABLE": "1",
    }  # fmt: skip
    # Those last whose compiled code ends the process when it is called wrongly; the others in another order for every other seed.
    left = sorted(SHARE, key=lambda name: (name in ("numpy", "pandas"), list(SHARE).index(name) * (-1) ** seed))
    while left:
        start = time.monotonic()
        with output.open("a", encoding="utf-8") as out:
            os.dup2(out.fileno(), 3)
            command = [sys.executable, __file__, "packages", str(seed), str(names.resolve()), *left]
            quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            ended = subprocess.run(command, env=environ, pass_fds=(3,), timeout=2400, check=False, **quiet).returncode
        rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
        done = {row["done"] for row in rows if "done" in row}
        left = [package for package in left if package not in done][1 if ended else 0 :]
        print(f"ended with {ended} after {time.monotonic() - start:.0f} s; {len(rows) - len(done)} errors by now, left: {left}", flush=True)
        if not ended:
            break


def ask_for_others(seed: int, output: Path, lists: list[Path]) -> None:
    """Names and keywords that another environment has and this one has not."""
    here: dict[str, set[str]] = {}
    there: dict[str, set[str]] = {}
    for number, path in enumerate(lists):
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line:
                continue
            place, *keywords = line.split()
            (here if number == 0 else there).setdefault(place, set()).update(keywords)
    chance = random.Random(seed)
    tops = importlib.metadata.packages_distributions()
    wanted: list[tuple[str, str]] = []
    for place, names in there.items():
        if place not in here:
            wanted.append((place, ""))
        elif "*" not in here[place]:
            wanted += [(place, keyword) for keyword in sorted(names - here[place] - {"*"})]
    by_package: dict[str, list[tuple[str, str]]] = {}
    for one in wanted:
        by_package.setdefault(one[0].partition(".")[0].partition(":")[0], []).append(one)
    asked = [one for found in by_package.values() for one in chance.sample(found, min(16, len(found)))]
    with output.open("a", encoding="utf-8") as out:
        for place, keyword in asked:
            module, _, name = place.partition(":")
            top = module.partition(".")[0]
            try:
                if keyword:
                    getattr(importlib.import_module(module), name)(**{keyword: None})
                elif chance.random() < 0.5:
                    exec(f"from {module} import {name}", {})
                else:
                    getattr(importlib.import_module(module), name)
            except (TypeError, ImportError, AttributeError) as error:
                words = str(error)
                if (keyword or name) not in words or "missing" in words:
                    continue
                words = re.sub(r"\([^()]*site-packages/", "(/usr/lib/python3.11/site-packages/", words)
                distribution = tops[top][0]
                row = {
                    "how": "missing", "package": distribution, "top": top, "exception": type(error).__name__, "call": f"{place}({keyword})",
                    "lines": [f"{type(error).__name__}: {words}"], "release": importlib.metadata.version(distribution),
                }  # fmt: skip
                out.write(json.dumps(row) + "\n")
            except BaseException:
                continue


def draw(seed: int, number: int, known: Path, found: list[Path]) -> None:
    """Rows by chance, each wording once, none that is known, of each package no more than its share."""
    seen = {wording(json.loads(line)["lines"]) for line in known.read_text(encoding="utf-8").splitlines()}
    rows = [json.loads(line) for path in found for line in path.read_text(encoding="utf-8").splitlines() if "done" not in json.loads(line)]
    print(f"{len(rows)} errors", file=sys.stderr)
    random.Random(seed).shuffle(rows)
    left = {top: share for top, (share, _) in SHARE.items()}
    left["missing"] = MISSING
    drawn: list[dict[str, Any]] = []
    for row in rows:
        top = row.pop("top")
        quota = "missing" if row["how"] == "missing" else top
        key = " ".join(row["lines"]) if quota == "missing" else wording(row["lines"])
        if key in seen or left[quota] <= 0 or len(drawn) >= number:
            continue
        seen.add(key)
        left[quota] -= 1
        row = {name: row[name] for name in ("how", "package", "release", "exception", "lines", "call")} | {"url": None}
        drawn.append({"id": f"n{len(drawn) + 1:03d}", **row})
    for row in drawn:
        print(json.dumps(row))
    print(f"{len(drawn)} drawn", file=sys.stderr)


def main(words: list[str]) -> None:
    if words[0] == "raise":
        raise_all(int(words[1]), Path(words[2]), Path(words[3]))
    elif words[0] == "others":
        ask_for_others(int(words[1]), Path(words[2]), [Path(word) for word in words[3:]])
    elif words[0] == "packages":
        call_packages(words[3:], int(words[1]), Path(words[2]))
    else:
        draw(int(words[1]), int(words[2]), Path(words[3]), [Path(word) for word in words[4:]])


if __name__ == "__main__":
    main(sys.argv[1:])
