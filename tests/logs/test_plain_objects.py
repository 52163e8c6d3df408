"""One of Python's plain objects, a tensor or None in the place of something else: what stands there, by its name in the line, and the way
from one to the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

LINE = 'Traceback (most recent call last):\n  File "/home/u/proj/train.py", line 12, in main\n    {code}\n{error}'


def told(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str) -> str:
    first, *_ = findings(capsys, tmp_path, log)
    assert first["severity"] in ("note", "error")
    return " ".join((str(first["detail"]), *(str(fix.get("note", "")) for fix in first["fixes"])))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("'tuple' object has no attribute 'logits'", "return_dict=True"),
        ("'tuple' object has no attribute 'contiguous'", "x[0]"),
        ("'list' object has no attribute 'to'", "return_tensors='pt'"),
        ("'str' object has no attribute 'size'", "outputs.last_hidden_state"),
        ("'bool' object has no attribute 'sum'", "of one shape"),
        ("'dict' object has no attribute 'model_type'", 'x["model_type"]'),
        ("'numpy.ndarray' object has no attribute 'unsqueeze'", "torch.from_numpy"),
        ("'BatchEncoding' object has no attribute 'shape'", "model(**batch)"),
        ("'CausalLMOutputWithPast' object has no attribute 'log_softmax'", ".logits"),
        ("'NoneType' object has no attribute 'shape'", "cv2.imread"),
        ("'list' object has no attribute 'map'", "Dataset.from_list"),
        ("'DataFrame' object has no attribute 'column_names'", "Dataset.from_pandas"),
        ("'DatasetDict' object has no attribute 'train_test_split'", "['train']"),
        ("'DynamicCache' object has no attribute 'shape'", "get_seq_length()"),
    ],
)
def test_two_kinds_alone_tell_what_happened(message: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert words in told(capsys, tmp_path, f"AttributeError: {message}")


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        ("loss.backward()", "AttributeError: 'tuple' object has no attribute 'backward'", "loss = loss[0]"),
        ("loss.backward()", "AttributeError: 'NoneType' object has no attribute 'backward'", "loss is None"),
        ("m = re.match(p, t).group(1)", "AttributeError: 'NoneType' object has no attribute 'group'", "found nothing"),
        ("first = args.checkpoint_dir[0]", "TypeError: 'NoneType' object is not subscriptable", "--checkpoint_dir"),
        ("model, tok = load(args)", "TypeError: cannot unpack non-iterable NoneType object", "load() returned None"),
        ("for row in self.rows:", "TypeError: 'NoneType' object is not iterable", "self.rows is None"),
        ("ids = self.tokenizer(text)", "TypeError: 'NoneType' object is not callable", "self.tokenizer = AutoTokenizer"),
        ("if 'w' in ckpt['generator']:", "TypeError: argument of type 'NoneType' is not iterable", "ckpt['generator'] is None"),
        ("print(len(results))", "TypeError: object of type 'NoneType' has no len()", "results is None"),
    ],
)
def test_the_line_names_it(code: str, error: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = LINE.format(code=code, error=error)
    assert words in told(capsys, tmp_path, log)
    assert "proj/train.py:12" in told(capsys, tmp_path, log)


def test_of_two_names_in_a_line_none_is_chosen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = LINE.format(code="total = a[0] + b[0]", error="TypeError: 'NoneType' object is not subscriptable")
    said = told(capsys, tmp_path, log)
    assert "a is None" not in said
    assert "b is None" not in said


def test_a_stated_release_whose_base_makes_names_is_like_those_that_lack_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    has = "from torch import nn\nclass LlamaAttention(nn.Module):\n    def __init__(self):\n        self.num_heads = 1\n"
    lacks = "from torch import nn\nclass LlamaAttention(nn.Module):\n    def __init__(self):\n        self.scaling = 1\n"
    files = {"transformers/__init__.py": "", "transformers/models/llama/modeling_llama.py": has}
    newer = {**files, "transformers/models/llama/modeling_llama.py": lacks}
    with atlas_of(tmp_path, {"transformers": {"4.47.1": files, "4.48.0": newer, "4.53.3": newer}}):
        log, stated = "AttributeError: 'LlamaAttention' object has no attribute 'num_heads'", '[packages]\ntransformers = "4.53.3"\n'
        first, *_ = findings(capsys, tmp_path, log, stated)
    assert first["rule"] == "error-attribute-missing"
    assert {"transformers": "==4.47.1"} in [fix.get("pins") for fix in first["fixes"]]
