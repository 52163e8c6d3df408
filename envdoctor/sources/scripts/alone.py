"""Whether a script shows all that it loads: nothing of the project's own, nothing that another program runs for it."""

from __future__ import annotations

import ast
import re
import sys

from envdoctor.sources.scripts.reading import Reading
from envdoctor.world.import_names import is_known

_LOADS_MORE = frozenset(
    ("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "os.system", "os.execvp",
     "os.execv", "os.popen", "runpy.run_path", "runpy.run_module", "importlib.import_module")
)  # fmt: skip
# Packages beyond those of the field that scripts import, which are no files of the project's.
_OF_OTHERS = frozenset(
    ("absl", "boto3", "cachetools", "colbert", "data_designer", "discord", "docx", "emoji", "environs", "evalscope", "flask", "groq",
     "imageio", "inflect", "ipdb", "ipywidgets", "kagglehub", "langdetect", "langsmith", "lxml", "more_itertools", "nbformat", "num2words",
     "opencc", "polars", "prettytable", "psycopg2", "pyannote", "pydub", "pymongo", "pypdf", "pypinyin", "rapidfuzz", "redis",
     "requests_toolbelt", "selenium", "sounddevice", "sqlalchemy", "telegram", "tenacity", "termcolor", "textblob", "tomli", "twine",
     "umap", "unidecode", "whisper", "zhconv", "zstandard")
)  # fmt: skip
_BY_NAME = frozenset(("exec", "eval", "__import__"))
# Commands of a notebook that run no code of anybody's.
_HARMLESS = re.compile(
    r"[!%]?\s*(?:[A-Z_]+=\S*\s+)*(?:(?:\S*python\S* -m )?(?:uv )?pip3? "
    r"|conda |mamba |apt|nvidia-smi|ls\b|cd\b|mkdir\b|cat\b|wget\b|git clone)"
)


def shows_all(reading: Reading) -> bool:
    """Every module that it imports is a package known by name, and no call or command runs anything else."""
    if not reading.source.body or reading.source.skips or not reading.outline.imports:
        return False
    tops = {name.partition(".")[0] for name, _ in reading.outline.imports}
    if "" in tops or not all(top in sys.stdlib_module_names or top in _OF_OTHERS or is_known(top) for top in tops):
        return False
    named = (call.node.func for call in reading.calls)
    if any(isinstance(one, ast.Name) and one.id in _BY_NAME for one in named) or any(call.name in _LOADS_MORE for call in reading.calls):
        return False
    return all(_HARMLESS.match(line.text.lstrip()) for line in reading.source.shell)
