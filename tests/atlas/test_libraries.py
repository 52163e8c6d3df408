"""What compiled libraries say: the sentences among the texts in them, and the releases that have each."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from envdoctor.refresh.index import Answer
from envdoctor.refresh.pages import File
from envdoctor.survey.choice import Release
from envdoctor.survey.libraries import libraries_in, read_libraries, sentences, without_libraries, write_libraries

LIBRARY = (
    b"\x00\x01mat1 and mat2 shapes cannot be multiplied (\x00_ZN2at6nativeEv\x00"
    b"add(Tensor input, Tensor other) -> Tensor\x00expected %d rows in all of the batch\x00two words\x00"
    b"a graph that is traced has no such node in it\x00"
)


def test_sentences_are_told_from_names_signatures_and_what_compilers_say() -> None:
    assert list(sentences(LIBRARY)) == ["{} mat1 and mat2 shapes cannot be multiplied ( {}", "{} expected {} rows in all of the batch {}"]


def test_the_wheel_for_macos_is_read_and_what_has_none_is_told() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as wheel:
        wheel.writestr("torch/lib/libtorch_cpu.dylib", LIBRARY)
        wheel.writestr("torch/lib/libomp.dylib", b"\x00nobody reads what stands in here\x00")

    def get(address: str, headers: Mapping[str, str], most: int) -> Answer:
        assert address == "https://x/torch-2.1.0-cp311-none-macosx_11_0_arm64.whl"
        return Answer(stream.getvalue())

    releases = [
        Release(version, "", (File(name, address=f"https://x/{name}#sha256=0"),))
        for version, name in (("2.0.0", "torch-2.0.0-cp311-linux_x86_64.whl"), ("2.1.0", "torch-2.1.0-cp311-none-macosx_11_0_arm64.whl"))
    ]
    assert dict(read_libraries("torch", releases, get)) == {"2.0.0": "no wheel for macOS", "2.1.0": frozenset(sentences(LIBRARY))}


def test_a_sentence_stands_under_the_releases_that_have_it_and_what_only_old_ones_say_is_left_out() -> None:
    found = {"1.0": frozenset("ac"), "3.0": frozenset("ab"), "4.0": frozenset("b")}
    text = "".join(f"{line}\n" for line in write_libraries("torch", ["1.0", "2.0", "3.0", "4.0"], found))
    assert text == "in torch.libraries 1.0-3.0\nraise\t\t1\t\ta\nin torch.libraries 3.0-\nraise\t\t1\t\tb\n"
    others = "messages torch\nin torch.nn 1.0-\nValueError\tf\t1\t\tno such layer\n"
    assert (without_libraries(others + text, "torch"), libraries_in(others + text, "torch")) == (others, text)
