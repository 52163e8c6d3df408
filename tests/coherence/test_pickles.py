"""Weights stored as pickles: what they would import, without anything of them being run."""

from __future__ import annotations

import builtins
import collections
import importlib
import io
import os
import pickle
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.coherence import pickles
from envdoctor.facts.fact import Defect, Facts
from envdoctor.sources.model.snapshot import read_snapshot
from tests.coherence.models import llama, model, packed
from tests.coherence.situations import rules

LABEL = f"picklescan {importlib.import_module('importlib.metadata').version('picklescan')}"
NOTHING_SEEN = f"pytorch_model.bin is loaded by unpickling; {LABEL} sees no import that tensors do not need, which is no proof"


def examined(path: Path) -> tuple[list[Defect], list[str]]:
    """What is found, and why something was not scanned."""
    read = read_snapshot(path)
    told = [defect for check in pickles.CHECKS for defect in check(read, Facts())]
    return told, [skip.why for skip in read.directory.skips]


def found(path: Path) -> list[str]:
    return rules(examined(path)[0])


class Calls:
    """Calls something when it is unpickled."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.told = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.told


def state(*more: object) -> dict[str, object]:
    return {"embed": collections.OrderedDict(weight=[1.0, 2.0]), **{str(number): one for number, one in enumerate(more)}}


def archive(*objects: object, name: str = "pytorch_model/data.pkl", compression: int = zipfile.ZIP_STORED) -> bytes:
    """A file as torch.save writes it since 1.6: the pickle and the storages in an archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as made:
        for number, one in enumerate(objects):
            made.writestr(name if not number else f"{number}/{name}", one if isinstance(one, bytes) else pickle.dumps(one, protocol=2))
        made.writestr("pytorch_model/version", "3\n")
        made.writestr("pytorch_model/data/0", bytes(4096))
    return stream.getvalue()


def legacy(content: object) -> bytes:
    """A file as torch.save wrote it before 1.6: five pickles, then raw storages."""
    parts = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, content, ["0"])
    return b"".join(pickle.dumps(part, protocol=2) for part in parts) + os.urandom(64)


def plain(content: object) -> bytes:
    return pickle.dumps(content)


WAYS = pytest.mark.parametrize("way", [archive, legacy, plain])


def weights(path: Path, content: bytes) -> Path:
    return model(path, {"pytorch_model.bin": content})


@WAYS
def test_what_tensors_need_is_no_news(tmp_path: Path, way: Callable[[object], bytes]) -> None:
    told, skips = examined(weights(tmp_path, way(state())))
    assert [(defect.rule, defect.detail) for defect in told] == [("snapshot-weights-pickled", NOTHING_SEEN)]
    assert skips == []


@WAYS
def test_code_in_weights_is_told_of_and_not_run(tmp_path: Path, way: Callable[[object], bytes]) -> None:
    mark = tmp_path / "run"
    harm = weights(tmp_path / "model", way(state(Calls(os.system, f"echo > {mark}"))))
    told, skips = examined(harm)
    assert rules(told) == ["snapshot-pickle-dangerous-import", "snapshot-weights-pickled"]
    assert told[0].detail == f"loading pytorch_model.bin would import {os.name if os.name == 'nt' else 'posix'}.system"
    assert told[0].file == str(harm / "pytorch_model.bin")
    assert "no proof" not in told[1].detail
    assert skips == []
    assert not mark.exists()


def test_the_same_code_runs_when_it_is_unpickled(tmp_path: Path) -> None:
    """So the test above would notice."""
    mark = tmp_path / "run"
    pickle.loads(plain(state(Calls(os.system, f"echo > {mark}"))))
    assert mark.exists()


@WAYS
def test_a_name_that_no_list_calls_dangerous_is_told_of_all_the_same(tmp_path: Path, way: Callable[[object], bytes]) -> None:
    told, _ = examined(weights(tmp_path, way(state(Calls(importlib.import_module, "os")))))
    assert rules(told) == ["snapshot-pickle-unknown-import", "snapshot-weights-pickled"]
    assert told[0].detail == "loading pytorch_model.bin would import importlib.import_module, which tensors do not need"


@pytest.mark.parametrize("function", [eval, exec, builtins.getattr, pickle.loads])
def test_dangerous_names(tmp_path: Path, function: Callable[..., object]) -> None:
    assert found(weights(tmp_path, archive(state(Calls(function, b"1"))))) == [
        "snapshot-pickle-dangerous-import",
        "snapshot-weights-pickled",
    ]


def test_names_of_torch_are_those_that_weights_only_admits(tmp_path: Path) -> None:
    def imports(*names: str) -> bytes:
        return b"\x80\x02" + b"".join(f"c{name.rpartition('.')[0]}\n{name.rpartition('.')[2]}\n0".encode() for name in names) + b"N."

    needed = (
        "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter", "torch.FloatStorage", "torch.BFloat16Storage",
        "torch.bfloat16", "torch.storage.UntypedStorage", "torch.Size", "torch.nn.parameter.Parameter",
        "collections.OrderedDict", "_codecs.encode",
    )  # fmt: skip
    assert found(weights(tmp_path / "needed", archive(imports(*needed)))) == ["snapshot-weights-pickled"]
    for name in ("torch.hub.load", "torch.nn.modules.linear.Linear", "transformers.models.llama.LlamaModel", "torch._utils.evil"):
        assert found(weights(tmp_path / name, archive(imports(name))))[0] == "snapshot-pickle-unknown-import", name


def test_every_shard_is_scanned(tmp_path: Path) -> None:
    names = [f"pytorch_model-{number:05}-of-00003.bin" for number in (1, 2, 3)]
    contents = (archive(state()), archive(state(Calls(os.system, "true"))), archive(state()))
    files: dict[str, object] = dict(zip(names, contents, strict=True))
    files["pytorch_model.bin.index.json"] = {"metadata": {}, "weight_map": {str(number): name for number, name in enumerate(names)}}
    told, _ = examined(model(tmp_path, files))
    assert told[0].file == str(tmp_path / names[1])
    assert told[1].detail == f"3 files such as {names[0]} are loaded by unpickling"


def test_other_pickles_of_an_archive_are_scanned(tmp_path: Path) -> None:
    harm = archive(state(), state(Calls(os.system, "true")), compression=zipfile.ZIP_DEFLATED)
    assert found(weights(tmp_path, harm))[0] == "snapshot-pickle-dangerous-import"


def test_pickles_beside_safetensors_are_not_loaded(tmp_path: Path) -> None:
    path = model(tmp_path, {"model.safetensors": packed(llama()), "pytorch_model.bin": plain(Calls(os.system, "true"))})
    assert examined(path) == ([], [])


def test_without_picklescan_it_is_said_that_nothing_was_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent: dict[str, ModuleType | None] = {"picklescan": None, "picklescan.scanner": None}
    for name, nothing in absent.items():
        monkeypatch.setitem(sys.modules, name, nothing)
    told, skips = examined(weights(tmp_path, plain(Calls(os.system, "true"))))
    assert [(defect.rule, defect.detail) for defect in told] == [("snapshot-weights-pickled", "pytorch_model.bin is loaded by unpickling")]
    assert skips == ['pickles were not scanned for imports: pip install "llm-envdoctor[scan]"']


def test_the_scanner_says_nothing_itself(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    examined(weights(tmp_path, legacy(state(Calls(os.system, "true")))))
    assert capfd.readouterr() == ("", "")


# --- files that are something else, or made to cost


def beyond(size: int) -> bytes:
    """The end of an archive that claims a directory of so many bytes."""
    return b"PK\x03\x04" + bytes(4096) + b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 1, 1, size, 0, 0)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b"<html>502 Bad Gateway</html>", "long, or no pickle"),
        (plain(state())[:-5], "long, or no pickle"),
        pytest.param(b"\x80\x02" + b"N0" * 2**19 + b".", "long, or no pickle", marks=pytest.mark.large),
        (archive(state(), name="other.txt"), "an archive without data.pkl"),
        (archive(state(), compression=zipfile.ZIP_BZIP2), "compressed as torch never does"),
        (archive(*[state()] * 20), "20 pickles in one archive"),
        (b"PK\x03\x04" + b"x" * 100, "not a zip file"),
        (beyond(2**31), "not scanned for imports: Bad"),
        (archive(state())[:-1], "not scanned for imports"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1000\n", "a git-lfs pointer"),
    ],
)
def test_what_cannot_be_scanned_is_said(tmp_path: Path, content: bytes, why: str) -> None:
    told, skips = examined(weights(tmp_path, content))
    assert rules(told) == ["snapshot-weights-pickled"]
    assert "no proof" not in told[0].detail
    assert len(skips) == 1
    assert why in skips[0]


def test_harm_before_a_broken_end_is_told_of(tmp_path: Path) -> None:
    """A pickle runs up to the place where it breaks."""
    told, skips = examined(weights(tmp_path, plain(state(Calls(os.system, "true")))[:-1] + b"\xff"))
    assert rules(told) == ["snapshot-pickle-dangerous-import", "snapshot-weights-pickled"]
    assert len(skips) == 1


def test_an_archive_that_claims_gigabytes_is_left_alone(tmp_path: Path) -> None:
    path = weights(tmp_path, b"PK\x03\x04")
    with (path / "pytorch_model.bin").open("ab") as stream:
        stream.truncate(10 * 2**30)
        stream.seek(0, os.SEEK_END)
        stream.write(beyond(2**31)[-22:])
    _, skips = examined(path)
    assert skips == ["not scanned for imports: an archive whose directory has more than 4194304 bytes"]


def test_names_made_to_harm_a_terminal_are_not_printed(tmp_path: Path) -> None:
    told, _ = examined(weights(tmp_path, b"\x80\x04\x8c\x06os\x1b[2J\x8c\x06system\x93."))
    assert told[0].detail.isprintable()


@given(st.binary(max_size=300), st.sampled_from([b"", b"\x80\x02", b"\x80\x04\x95", b"PK\x03\x04"]), st.booleans())
def test_any_bytes_are_survived(raw: bytes, start: bytes, zipped: bool) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        told, skips = examined(weights(Path(folder), archive(start + raw) if zipped else start + raw))
    assert told[-1].rule == "snapshot-weights-pickled"
    assert all(text.isprintable() for text in (*skips, *(defect.detail for defect in told)))
