"""Requirements files: what each line states, with file and line, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected
from envdoctor.sources.declared.requirements import collect_requirements, is_requirements
from envdoctor.world.installation import Installation


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def collected(path: Path, python: str | None = None) -> Collected:
    here = Installation({"sys_platform": "linux", "platform_machine": "x86_64"})
    (variant,) = collect_requirements(path, here if python is None else here.with_python(python))
    assert variant.label == ""
    return variant.collected


def stated(path: Path, python: str | None = None) -> dict[str, tuple[str, str | None, int | None]]:
    found = collected(path, python)
    return {
        fact.name.removeprefix("packages."): (str(fact.value), Path(str(fact.origin.file)).name, fact.origin.line) for fact in found.facts
    }


def skips(path: Path) -> dict[str, str]:
    """Reasons by file name and line."""
    return {Path(skip.what).name: skip.why for skip in collected(path).skips}


SILENT = ", which states no release"
NIGHTLY = "https://download.pytorch.org/whl/nightly/cu121"
FILE = """\
# the stack
torch==2.5.1+cu121  # a CUDA build
transformers[torch] >= 4.46, \\
    < 4.50
--extra-index-url https://download.pytorch.org/whl/cu121
Flash_Attn
peft==0.13.2 ; python_version >= "3.9"
numpy<2 ; python_version < "3.9"
accelerate==1.0.1 \\
    --hash=sha256:aaaa
git+https://github.com/huggingface/trl.git
bitsandbytes @ https://example.org/bitsandbytes.tar.gz
./local
-r more.txt
-c constraints.txt
"""


def test_every_form_of_line(tmp_path: Path) -> None:
    path = write(tmp_path / "requirements.txt", FILE)
    write(tmp_path / "more.txt", "datasets>=2.14\n-r requirements.txt\n-r missing.txt\n")
    write(tmp_path / "constraints.txt", "datasets<3\nscipy<1.12\n")
    found = collected(path, "3.11.7")
    assert stated(path, "3.11.7") == {
        "torch": ("2.5.1+cu121", "requirements.txt", 2),
        "transformers": ("<4.50,>=4.46", "requirements.txt", 3),
        "flash-attn": ("", "requirements.txt", 6),
        "peft": ("0.13.2", "requirements.txt", 7),
        "accelerate": ("1.0.1", "requirements.txt", 9),
        "datasets": (">=2.14,<3", "more.txt", 1),
    }
    assert [(defect.rule, defect.line) for defect in found.defects] == [("built-apart-from-torch", 6)]
    assert skips(path) == {
        "requirements.txt:11": "git+https://github.com/huggingface/trl.git: a repository, its version is not known",
        "requirements.txt:12": "bitsandbytes, https://example.org/bitsandbytes.tar.gz: a URL, its version is not known",
        "requirements.txt:13": "./local: a path, its version is not known",
        "requirements.txt": f"included at {tmp_path / 'more.txt'}:2: it includes itself",
        "missing.txt": f"included at {tmp_path / 'more.txt'}:3: No such file or directory",
    }


def test_markers_are_evaluated_for_the_python_at_hand(tmp_path: Path) -> None:
    path = write(tmp_path / "requirements.txt", FILE)
    assert "numpy" in stated(path, "3.8.18")
    assert "peft" not in stated(path, "3.8.18")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(tmp_path: Path, encoding: str, newline: str) -> None:
    path = write(tmp_path / "requirements.txt", newline.join(["torch==2.5.1", "", "peft==0.13.2"]), encoding)
    assert stated(path) == {"torch": ("2.5.1", "requirements.txt", 1), "peft": ("0.13.2", "requirements.txt", 3)}
    assert collected(path).defects == ()


def test_utf_16_of_the_other_order(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_bytes(b"\xfe\xff" + "torch==2.5.1\npeft\n".encode("utf-16-be"))
    assert stated(path) == {"torch": ("2.5.1", "requirements.txt", 1), "peft": ("", "requirements.txt", 2)}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read_and_told(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "requirements.txt", "torch==2.5.1\npeft\n", encoding)
    assert set(stated(path)) == {"torch", "peft"}
    (defect,) = collected(path).defects
    assert "without a byte order mark" in defect.detail


def test_a_coding_line_is_followed(tmp_path: Path) -> None:
    path = write(tmp_path / "requirements.txt", "# -*- coding: gbk -*-\ntorch==2.5.1  # \u6df1\u5ea6\u5b66\u4e60\n", "gbk")
    assert stated(path) == {"torch": ("2.5.1", "requirements.txt", 2)}
    assert collected(path).skips == ()


def test_a_coding_that_does_not_exist(tmp_path: Path) -> None:
    path = write(tmp_path / "requirements.txt", "# coding: klingon\ntorch\n")
    with pytest.raises(EnvdoctorError, match=r"requirements\.txt, line 1: found the encoding 'klingon'"):
        collect_requirements(path)


@pytest.mark.parametrize("encoding", ["gbk", "latin-1"])
def test_bytes_that_are_no_utf_8_spoil_their_line_only(tmp_path: Path, encoding: str) -> None:
    comment = "\u6a21\u578b" if encoding == "gbk" else "mod\xe8le"
    path = tmp_path / "requirements.txt"
    path.write_bytes(f"torch==2.5.1  # {comment}\npeft=={comment}\naccelerate==1.0.1\n".encode(encoding))
    assert stated(path) == {"torch": ("2.5.1", "requirements.txt", 1), "accelerate": ("1.0.1", "requirements.txt", 3)}
    (defect,) = collected(path).defects
    assert (defect.rule, defect.line) == ("requirement-malformed", 2)
    assert skips(path) == {
        "requirements.txt:1": "bytes in the comment are none of the file's encoding: some machines refuse the whole file"
    }


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("torch==2.5.1\npeft=0.13\n", "requirement-malformed", 2),
        ("peft==0.13\uff0ctorch\n", "requirement-malformed", 1),
        ("peft>=0.13,<0.12\n", "requirement-unsatisfiable", 1),
        ("torch<2.4\npeft\ntorch>=2.5\n", "requirement-unsatisfiable", 3),
        ("torch==2.4.1\ntorch==2.5.1\n", "requirement-unsatisfiable", 2),
    ],
)
def test_a_wrong_line_is_a_defect_and_the_rest_is_read(tmp_path: Path, text: str, rule: str, line: int) -> None:
    path = write(tmp_path / "requirements.txt", text + "accelerate==1.0.1\n")
    (defect,) = collected(path).defects
    assert (defect.rule, defect.line, defect.file) == (rule, line, str(path))
    assert stated(path)["accelerate"] == ("1.0.1", "requirements.txt", text.count("\n") + 1)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("torch=1.2", "'torch=1.2' is no requirement: a single = is conda's; here == states a version"),
        ("torch=2.1=py3.10_cuda11.8_0", "a single = is conda's"),
        ("jinja2=>3.0", "'=>' is no operator"),
        ("peft==0.13\uff0ctorch", "U+FF0C FULLWIDTH COMMA at column 11; ',' is meant"),
        ("peft \uff1e= 0.13", "U+FF1E FULLWIDTH GREATER-THAN SIGN at column 6; '>' is meant"),
        ("peft\u22650.13", "U+2265 GREATER-THAN OR EQUAL TO at column 5; '>=' is meant"),
        ("peft\u20132==0.13", "U+2013 EN DASH at column 5; '-' is meant"),
        ("to\u200brch==2.1", "U+200B ZERO WIDTH SPACE at column 3"),
        ("t\u043erch==2.1", "U+043E CYRILLIC SMALL LETTER O at column 2"),
        ("transformers>=4.*", "a version that ends in .* can follow == and !=, not >="),
        ("torch@2.1", "'2.1' after @ is no URL; a version stands after =="),
        ('"torch==2.1"', "is no requirement"),
        ("torch 2.1", "is no requirement"),
        ("torch==2.1 ; python_verson > '3'", "is no requirement"),
        ("torch==2.1 --no-such-option", "'--no-such-option' is no option of a requirements file"),
        ("-x torch", "'-x' is no option of a requirements file"),
        ("-r", "'-r without a value' is no option"),
        ("--index-url 'https://example.org", "is no option of a requirements file"),
        ("a" * 3000, "longer, or nested deeper, than any requirement is"),
        ("a ; " + "(" * 5000 + "python_version > '3'", "longer, or nested deeper, than any requirement is"),
        ("dist/torch-2.1.whl", "the file name of a wheel has five parts or six"),
        ("torch-x-py3-none-any.whl", "'torch ==x' is no requirement"),
    ],
)
def test_what_is_wrong_with_a_line(tmp_path: Path, line: str, why: str) -> None:
    path = write(tmp_path / "requirements.txt", f"numpy\n{line}\n")
    (defect,) = collected(path).defects
    assert defect.rule == "requirement-malformed"
    assert why in defect.detail
    assert "numpy" in stated(path)


@pytest.mark.parametrize(
    ("line", "package", "value"),
    [
        ("torch===2.1.0", "torch", "2.1.0"),
        ("streaming==v1.0.3.post0", "streaming", "v1.0.3.post0"),
        ("tool==1.0-dev", "tool", "1.0-dev"),
        ("torch == 2.1", "torch", "2.1"),
        ("torch==2.1;", "torch", "2.1"),
        ("torch==2.1\u00a0 ; python_version > '3'", "torch", "2.1"),
        ("torch (>=2.1,<3)", "torch", "<3,>=2.1"),
        ("unstructured[]~=0.12.0", "unstructured", "~=0.12.0"),
        ("deepspeed==0.16.5 ; sys_platform  ==  'linux'", "deepspeed", "0.16.5"),
        ("torch==2.1.0#no-comment-without-a-blank", None, ""),
        ("torch==2.1 --config-settings=a=b --global-option='x y'", "torch", "2.1"),
        ("https://example.org/whl/torch-2.1.0%2Bcu118-cp310-cp310-linux_x86_64.whl#sha256=aa", "torch", "2.1.0+cu118"),
        ("flash_attn @ https://example.org/flash_attn-2.5.8-1-cp310-cp310-linux_x86_64.whl", "flash-attn", "2.5.8"),
        ("flash_attn@file:///wheels/flash_attn-2.5.8-cp310-cp310-linux_x86_64.whl ; python_version > '3'", "flash-attn", "2.5.8"),
        ("./wheels/triton-3.0.0-cp310-cp310-win_amd64.whl", "triton", "3.0.0"),
        ("triton-3.0.0-cp310-cp310-win_amd64.whl; sys_platform == 'win32'", "", ""),
        ("git+https://example.org/x.git ; sys_platform == 'win32'", "", ""),
        ("--hash=sha256:aa", "", ""),
        ("--pre --no-index -f ./wheels --trusted-host=a --use-feature fast-deps --prefer-binary --require-hashes", "", ""),
    ],
)
def test_what_a_line_states(tmp_path: Path, line: str, package: str | None, value: str) -> None:
    path = write(tmp_path / "requirements.txt", f"{line}\n")
    found = collected(path)
    if package is None:
        assert [defect.rule for defect in found.defects] == ["requirement-malformed"]
        return
    told = stated(path)
    by_address = told.pop("present", None)
    assert told == ({package: (value, "requirements.txt", 1)} if package else {})
    assert (by_address is not None) == (bool(package) and ".whl" in line)
    assert (found.defects, found.skips) == ((), ())


def test_no_index_is_asked_for_a_wheel_that_is_given_by_its_address(tmp_path: Path) -> None:
    lines = (
        "triton @ https://example.org/triton-3.0.0-cp310-cp310-win_amd64.whl",
        "https://example.org/Flash_Attn-2.7.4-cp310-cp310-win_amd64.whl",
        "https://download.pytorch.org/whl/cu121/torch-2.5.1%2Bcu121-cp310-cp310-win_amd64.whl",
        "xformers==0.0.28.post3",
    )
    found = collected(write(tmp_path / "requirements.txt", "\n".join(lines)))
    assert [fact.value for fact in found.facts if fact.name == "present"] == [("flash-attn", "triton")]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("git+https://u:secret@x.org/tr.git@v4.36.2", "git+https://***@x.org/tr.git: a repository at the tag v4.36.2" + SILENT),
        ("-e git+https://x.org/tr.git@a1b2c3d#egg=tr", "tr, git+https://x.org/tr.git: a repository at the commit a1b2c3d" + SILENT),
        ("tr @ git+https://x.org/tr@release/3.6.x", "tr, git+https://x.org/tr: a repository at the branch or tag release/3.6.x" + SILENT),
        ("git+ssh://git@x.org/tr.git#subdirectory=a", "git+ssh://***@x.org/tr.git: a repository, its version is not known"),
        ("numpy @ file:///croot/numpy_17/work", "numpy, file:///croot/numpy_17/work: a path, its version is not known"),
        ("-e tr @ git+https://x.org/tr.git", "tr, git+https://x.org/tr.git: a repository, its version is not known"),
        ("-e .[dev]", ".[dev]: a path, its version is not known"),
        ("--editable=sub/folder", "./sub/folder: a path, its version is not known"),
        ("C:\\wheels\\torch.zip", "C:\\wheels\\torch.zip: a path, its version is not known"),
        ("third_party/apex", "third_party/apex: a path, its version is not known"),
        ("torch==${NO_SUCH_VERSION}", "torch==${NO_SUCH_VERSION}: the environment variable NO_SUCH_VERSION is not set"),
        ("--process-dependency-links", "--process-dependency-links: an option that pip had once and refuses today"),
        (f"--index-url {NIGHTLY}", f"{NIGHTLY}: nightly builds, which are no releases"),
    ],
)  # fmt: skip
def test_what_cannot_be_known_is_said_with_its_line(tmp_path: Path, line: str, why: str) -> None:
    path = write(tmp_path / "requirements.txt", f"\n{line}\nnumpy\n")
    assert skips(path) == {"requirements.txt:2": why}
    assert collected(path).defects == ()
    assert set(stated(path)) == {"numpy"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("git+https://github.com/huggingface/peft.git@v0.17.0", ("peft", "0.17.0")),
        ("-e git+https://github.com/hiyouga/LLaMA-Factory.git@v0.9.3#egg=llamafactory", ("llamafactory", "0.9.3")),
        ("transformers @ git+https://u:secret@github.com/huggingface/transformers@v4.46.0", ("transformers", "4.46.0")),
        ("datasets @ git+https://github.com/huggingface/datasets@2.19.0", ("datasets", "2.19.0")),
        # no such release, a fork, a branch, another package of that repository
        ("git+https://github.com/huggingface/peft.git@v0.17.77", None),
        ("git+https://github.com/somebody/peft.git@v0.17.0", None),
        ("git+https://github.com/huggingface/peft.git@v0.17-release", None),
        ("own-peft @ git+https://github.com/huggingface/peft.git@v0.17.0", None),
    ],
)
def test_the_tag_of_a_release_in_the_package_s_own_repository(tmp_path: Path, line: str, told: tuple[str, str] | None) -> None:
    found = stated(write(tmp_path / "requirements.txt", f"{line}\n"))
    assert {name: row[0] for name, row in found.items()} == (dict([told]) if told else {})


def test_variables_are_put_in_where_pip_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_VERSION", "2.1.0")
    monkeypatch.setenv("torch_version", "2.1.0")
    monkeypatch.setenv("TOKEN", "s3cret")
    text = "torch==${TORCH_VERSION}\npeft==${torch_version}\nnumpy==$TORCH_VERSION\n"
    text += "x @ git+https://${TOKEN}@x.org/x.git\n-r ${TORCH_VERSION}.txt\n"
    path = write(tmp_path / "requirements.txt", text)
    write(tmp_path / "2.1.0.txt", "scipy\n")
    assert set(stated(path)) == {"torch", "scipy"}
    assert [defect.line for defect in collected(path).defects] == [2, 3]
    assert skips(path) == {"requirements.txt:4": "x, git+https://***@x.org/x.git: a repository, its version is not known"}


def test_a_constraint_narrows_and_requires_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "requirements.txt", "-c limits.txt\ntorch>=2\n")
    write(tmp_path / "limits.txt", "torch<2.5\nnumpy<2\n-r more.txt\n")
    write(tmp_path / "more.txt", "peft\n")
    assert stated(path) == {"torch": (">=2,<2.5", "requirements.txt", 2), "peft": ("", "more.txt", 1)}


def test_includes_are_relative_and_read_once(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    path = write(tmp_path / "requirements.txt", "-r sub/a.txt\n--requirement=sub/b.txt\n-rsub/c.txt\n-r https://u:pw@example.org/r.txt\n")
    write(tmp_path / "sub" / "a.txt", "-r c.txt\ntorch\n")
    write(tmp_path / "sub" / "b.txt", "-r ../sub/c.txt\npeft\n")
    write(tmp_path / "sub" / "c.txt", "numpy\n")
    assert stated(path) == {"numpy": ("", "c.txt", 1), "torch": ("", "a.txt", 2), "peft": ("", "b.txt", 2)}
    assert [skip.what for skip in collected(path).skips] == ["https://***@example.org/r.txt"]


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    path = write(tmp_path / "requirements.txt", "-r a\0b.txt\ntorch\n")
    assert [skip.why.rpartition(": ")[2] for skip in collected(path).skips] == ["a name that no file can have"]
    assert set(stated(path)) == {"torch"}
    assert stated(write(tmp_path / "requirements.txt", "a/\0")) == {}


def test_includes_have_an_end(tmp_path: Path) -> None:
    path = write(tmp_path / "requirements.txt", "-r r0.txt\n")
    for number in range(60):
        write(tmp_path / f"r{number}.txt", f"p{number}\n-r r{number + 1}.txt\n")
    assert len(stated(path)) == 49
    assert [skip.why.rpartition(": ")[2] for skip in collected(path).skips] == ["too many includes"]


def test_a_link_that_git_wrote_as_text(tmp_path: Path) -> None:
    (tmp_path / "docker").mkdir()
    write(tmp_path / "requirements.txt", "torch==2.1.0\n")
    path = write(tmp_path / "docker" / "requirements.txt", "../requirements.txt")
    assert stated(path) == {"torch": ("2.1.0", "requirements.txt", 1)}
    assert skips(path) == {"requirements.txt": "a symbolic link written as text; ../requirements.txt is read in its place"}
    gone = write(tmp_path / "docker" / "dev-requirements.txt", "../gone.txt")
    assert (stated(gone), len(skips(gone))) == ({}, 1)


def test_comments_and_continuations_as_pip_has_them(tmp_path: Path) -> None:
    text = "# c \\\ntorch==2.\\\n1  # d \\\nnumpy\npeft \\\n# e\n>=0.5\naccelerate\\"
    assert stated(write(tmp_path / "requirements.txt", text)) == {
        "torch": ("2.1", "requirements.txt", 2),
        "peft": ("", "requirements.txt", 5),
        "accelerate": ("", "requirements.txt", 8),
    }
    assert [(defect.line, defect.detail[:6]) for defect in collected(tmp_path / "requirements.txt").defects] == [(7, "'>=0.5")]


def test_the_output_of_pip_compile(tmp_path: Path) -> None:
    text = (
        "#\n# This file is autogenerated by pip-compile\n#\n--index-url https://pypi.org/simple\n\nnumpy==1.26.4 \\\n"
        "    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via\n    #   -r requirements.in\n    #   torch\n"
        "torch==2.1.0\n    # via -r requirements.in\n"
    )
    path = write(tmp_path / "requirements.txt", text)
    assert stated(path) == {"numpy": ("1.26.4", "requirements.txt", 6), "torch": ("2.1.0", "requirements.txt", 12)}
    assert (collected(path).defects, collected(path).skips) == ((), ())


def test_builds_of_onnxruntime_for_another_cuda_have_an_index_of_their_own(tmp_path: Path) -> None:
    own = "https://aiinfra.pkgs.visualstudio.com/PublicPackages/_packaging/onnxruntime-cuda-12/pypi/simple/"
    found = collected(write(tmp_path / "requirements.txt", f"--extra-index-url {own}\nonnxruntime-gpu==1.17.1\n"))
    assert [fact.value for fact in found.facts if fact.name == "builds"] == [("onnxruntime-gpu+own",)]


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("--index-url https://download.pytorch.org/whl/cu118\ntorch\n", ("11.8", 1)),
        ("torch>=2\n-i https://download.pytorch.org/whl/cu121/\n", ("12.1", 2)),
        ("--extra-index-url https://download.pytorch.org/whl/cu118\ntorch==2.1.2\n", ("11.8", 1)),
        ("-f https://download.pytorch.org/whl/cu118\ntorch==2.1.2\n", ("11.8", 1)),
        # The public index may have a higher version, torch 2.1 has no build for CUDA 12.8, and a label says it itself.
        ("--extra-index-url https://download.pytorch.org/whl/cu118\ntorch>=2.1.2\n", None),
        ("--extra-index-url https://download.pytorch.org/whl/cu128\ntorch==2.1.2\n", None),
        ("--index-url https://download.pytorch.org/whl/cu118\ntorch==2.1.2+cu121\n", None),
        ("--index-url https://download.pytorch.org/whl/cu118\nnumpy\n", None),
        ("--index-url https://download.pytorch.org/whl/cpu\ntorch\n", None),
        ("--index-url https://example.org/whl/cu118\ntorch\n", None),
    ],
)
def test_an_index_states_cuda_where_it_leaves_no_choice(tmp_path: Path, text: str, cuda: tuple[str, int] | None) -> None:
    found = stated(write(tmp_path / "requirements.txt", text))
    assert found.get("cuda") == (None if cuda is None else (cuda[0], "requirements.txt", cuda[1]))


def test_names_of_requirements_files() -> None:
    for name in ("requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "constraints.txt", "requirements.in", "my_reqs.txt"):
        assert is_requirements(Path(name)), name
    for name in ("train.log", "notes.txt", "plan.yaml", "requirements.md"):
        assert not is_requirements(Path(name)), name


def test_other_names_are_told_by_folder_or_content(tmp_path: Path) -> None:
    folder = tmp_path / "requirements"
    folder.mkdir()
    assert is_requirements(write(folder / "cuda.txt", "torch == 2.5.1 !"))
    assert is_requirements(write(tmp_path / "studio.txt", "-r base.txt\ntorch==2.5.1 --hash=sha256:aa\ngit+https://x.org/y.git\n"))
    assert not is_requirements(write(tmp_path / "notes.txt", "torch is a library\n"))
    assert not is_requirements(write(tmp_path / "empty.txt", "# nothing\n"))


@pytest.mark.parametrize("odd", ["-", "--", "\u2581", "-5", "a b"])
def test_a_vocabulary_of_a_tokenizer_is_no_list_of_requirements(tmp_path: Path, odd: str) -> None:
    tokens = [f"tok{number}" for number in range(200)]
    assert is_requirements(write(tmp_path / "studio.txt", "\n".join([*tokens, "torch==2.5.1"])))
    assert not is_requirements(write(tmp_path / "vocab.txt", "\n".join([*tokens, odd, *tokens])))


def test_what_setuptools_writes_beside_a_package_is_no_list_for_pip(tmp_path: Path) -> None:
    folder = tmp_path / "mine.egg-info"
    folder.mkdir()
    assert not is_requirements(write(folder / "requires.txt", "yt-dlp>=2024.8.6\n\n[dev]\npytest>=8.0.0\n"))
    assert not is_requirements(write(folder / "top_level.txt", "torch\n"))
    assert is_requirements(write(tmp_path / "requires.txt", "yt-dlp>=2024.8.6\n"))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError, match=r"requirements\.txt"):
        collect_requirements(tmp_path / "requirements.txt")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(EnvdoctorError, match="found a directory"):
        collect_requirements(tmp_path / "folder.txt")


def test_a_file_of_more_lines_than_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "requirements.txt", "-\n" * 30_000)
    assert skips(path) == {"requirements.txt:20001": "more than 20000 lines: the rest is not read"}


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,4})?", fullmatch=True).filter(lambda name: name not in ("torch", "none"))
VERSIONS = st.lists(st.integers(0, 99), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
ROWS = st.tuples(
    NAMES,
    st.sampled_from(["==", ">=", "~=", ""]),
    VERSIONS,
    st.sampled_from(["", " ", "  "]),
    st.sampled_from(["", "  # a comment", " --hash=sha256:aa", " ; python_version >= '3'", " \\\n    --hash=sha256:aa  # b"]),
    st.integers(0, 2),
)


@given(st.lists(ROWS, max_size=8, unique_by=lambda row: row[0]), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["utf-8", "utf-16"]))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, str, str, int]], newline: str, encoding: str
) -> None:
    text, expected = "", {}
    for name, operator, version, blank, tail, empty in rows:
        text += "\n" * empty
        version = f"{version}.0" if operator == "~=" else version
        specifier = f"{operator}{version}" if operator else ""
        expected[name] = (version if operator == "==" else specifier, "requirements.txt", text.count("\n") + 1)
        text += f"{name}{blank}{specifier}{tail}\n"
    path = write(tmp_path_factory.mktemp("round") / "requirements.txt", text.replace("\n", newline), encoding)
    assert stated(path) == expected
    assert (collected(path).defects, collected(path).skips) == ((), ())


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=12))
def test_any_text_is_read_or_said(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = write(tmp_path_factory.mktemp("any") / "requirements.txt", "\n".join(lines))
    last = len("\n".join(lines).splitlines()) + 1
    found = collected(path)
    for fact in found.facts:
        assert fact.origin.line is not None
        assert 1 <= fact.origin.line <= last
    assert all(defect.line is not None and defect.file == str(path) for defect in found.defects)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_words(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "requirements.txt"
    path.write_bytes(data)
    try:
        found = collected(path)
    except EnvdoctorError:
        assert b"coding" in data
        return
    assert all(text.isprintable() for text in (*(skip.why for skip in found.skips), *(defect.detail for defect in found.defects)))


@pytest.mark.parametrize(
    ("wheel", "version"),
    [
        ("gradio-4.37.2+custom.20-py3-none-any.whl", None),
        ("flash_attn-2.8.1+cu12torch2.8cxx11abiFALSE-cp312-cp312-linux_x86_64.whl", "2.8.1+cu12torch2.8cxx11abifalse"),
        ("torch-2.5.1+cpu-cp311-cp311-linux_x86_64.whl", "2.5.1+cpu"),
        ("torch-2.5.1-cp311-cp311-linux_x86_64.whl", "2.5.1"),
    ],
)
def test_a_wheel_that_somebody_built_of_a_fork_is_no_release(tmp_path: Path, wheel: str, version: str | None) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(f"https://example.org/{wheel}\n")
    found = collect_requirements(path)[0].collected
    told = [str(fact.value).lower() for fact in found.facts if fact.name.startswith("packages.")]
    assert told == ([] if version is None else [version])
    assert [skip.what for skip in found.skips] == ([f"{path}:1"] if version is None else [])


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("# platform: linux-64\nabsl-py=2.3.1=pypi_0\nnumpy=1.26.4=py311h64a7726_0\ntorch=2.1.0=pypi_0\n", 2, "3 lines are of the form"),
        ("@EXPLICIT\nhttps://conda.anaconda.org/conda-forge/linux-64/numpy-1.26.4-py311h64a7726_0.conda\n", 1, "conda list --explicit"),
        ("name: env\nchannels:\n  - defaults\ndependencies:\n  - numpy=1.26\n  - pip:\n    - torch==2.1.0\n", 1, "environment file"),
        ("Package    Version\n---------- -------\nnumpy      1.26.4\ntorch      2.1.0+cu121\npeft       0.9.0\n", 3, "pip freeze writes"),
        ("# Name Version Build\nnumpy 1.26.4 py311h_0\npeft 0.9.0 pypi_0 pypi\nsix 1.16 py_0\n", 2, "3 lines are the columns"),
    ],
)
def test_a_list_that_another_tool_wrote_is_one_mistake(tmp_path: Path, text: str, line: int, told: str) -> None:
    (defect,) = collected(write(tmp_path / "requirements.txt", text)).defects
    assert (defect.rule, defect.line) == ("requirement-malformed", line)
    assert told in defect.detail


def test_strings_that_a_setup_py_reads_by_itself_are_no_mistakes(tmp_path: Path) -> None:
    found = collected(write(tmp_path / "install_requires.txt", "'numpy>=1.22,<2.0',  # why\n\"torch>=2.0\",\n'peft~=0.9'\n"))
    assert (found.defects, found.facts) == ((), ())
    assert [(skip.what, skip.lost) for skip in found.skips] == [(str(tmp_path / "install_requires.txt"), True)]


def test_one_line_of_conda_among_others_is_told_by_itself(tmp_path: Path) -> None:
    found = collected(write(tmp_path / "requirements.txt", "torch==2.5.1\ntransformers=4.32.0\npeft=0.9.0\naccelerate==1.0.1\n"))
    assert [defect.line for defect in found.defects] == [2, 3]
    assert {fact.name for fact in found.facts} >= {"packages.torch", "packages.accelerate"}


@pytest.mark.parametrize(("folder", "read"), [("wandb/run-20250902_045302-oemgy8we/files", False), ("wandb/run-of-mine/files", True)])
def test_what_wandb_wrote_down_of_a_run_is_no_list_to_install(tmp_path: Path, folder: str, read: bool) -> None:
    (tmp_path / folder).mkdir(parents=True)
    found = collected(write(tmp_path / folder / "requirements.txt", "transformers==4.57.0\ntokenizers==0.22.0\ntransformers==4.54.0\n"))
    assert bool(found.defects) == read
    assert bool(found.facts) == read
    assert [skip.lost for skip in found.skips] == ([] if read else [False])


LABELLED = "build-label-without-its-index"


@pytest.mark.parametrize("label", ["cu113", "cpu", "cu116"])
def test_the_index_of_the_pinned_label_is_told(tmp_path: Path, label: str) -> None:
    (defect,) = collected(write(tmp_path / "requirements.txt", f"torch==1.12.1+{label}\n")).defects
    assert f"https://download.pytorch.org/whl/{label}`" in defect.advice


CU118 = "https://download.pytorch.org/whl/cu118"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("torch==2.0.1+cu118\ntorchvision==0.15.2+cu118\n", 1),
        ("numpy\ntorchaudio===2.1.0+cpu\n", 2),
        ("--extra-index-url https://download.pytorch.org/whl/cu121\ntorch==2.0.1+cu118\n", 2),
        ("-i https://pypi.org/simple\ntorch==2.0.1+cu118\n", 2),
        (f"--extra-index-url {CU118}\ntorch==2.0.1+cu118\n", None),
        ("-f https://download.pytorch.org/whl/torch_stable.html\ntorch==2.0.1+cu118\n", None),
        ("--index-url https://mirror.example/simple\ntorch==2.0.1+cu118\n", None),
        ("torch==2.0.1\nvllm==0.6.0+ours\n", None),
        ("torch==2.0.1+cu121\n", None),
        ("-c pins.txt\ntorch\n", None),
    ],
)
def test_a_build_by_its_label_needs_an_index_that_has_it(tmp_path: Path, text: str, line: int | None) -> None:
    write(tmp_path / "pins.txt", "torch==2.0.1+cu118\n")
    found = [defect.line for defect in collected(write(tmp_path / "requirements.txt", text)).defects if defect.rule == LABELLED]
    assert found == ([] if line is None else [line])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("torch\nflash-attn==2.8.3\n", 2),
        ("flash_attn>=2.5\n", 1),
        ("mamba-ssm==1.2.2\n", 1),
        ("mamba-ssm==2.2.6\n", None),
        ("causal-conv1d>=1.5.1\n", None),
        ("flash-attn==2.8.3+cu12torch2.8\n", None),
        ("flash-attn @ https://example.org/flash_attn-2.8.3-cp310-cp310-linux_x86_64.whl\n", None),
        ("-f https://data.pyg.org/whl/torch-2.0.0+cu118.html\ntorch-scatter\n", None),
        ("--extra-index-url https://download.pytorch.org/whl/cu121\nflash-attn\n", 2),
    ],
)
def test_what_imports_torch_in_its_setup_is_not_built_apart(tmp_path: Path, text: str, line: int | None) -> None:
    found = collected(write(tmp_path / "requirements.txt", text)).defects
    assert [defect.line for defect in found if defect.rule == "built-apart-from-torch"] == ([] if line is None else [line])


@pytest.mark.parametrize(
    ("text", "system", "python", "line"),
    [
        ("xformers==0.0.29\n", "windows", "3.11", 1),
        ("xformers==0.0.28.post1\n", "windows", "3.10", 1),
        ("xformers==0.0.27.post2\n", "macos", "3.10", 1),
        ("xformers==0.0.27.post2\n", "windows", "3.10", None),
        ("xformers\n", "windows", "3.10", None),
        ("xformers==0.0.29\n", "linux", "3.10", None),
        ("xformers==0.0.29\n", None, "3.10", None),
        ("xformers==0.0.31\n", "macos", "3.10", None),
        ("--extra-index-url https://download.pytorch.org/whl/cu124\nxformers==0.0.29\n", "windows", "3.10", None),
        ("flash-attn==2.3.2\n", "linux", "3.8", None),
        ("flash-attn==2.3.2\n", "linux", "3.9", 1),
        ("mamba-ssm==1.2.2\n", "linux", "3.8", 1),
    ],
)
def test_what_is_built_depends_on_the_system_and_on_the_pip_of_the_python(
    tmp_path: Path, text: str, system: str | None, python: str, line: int | None
) -> None:
    (variant,) = collect_requirements(write(tmp_path / "requirements.txt", text), Installation().on(system, None).with_python(python))
    found = [defect.line for defect in variant.collected.defects if defect.rule == "built-apart-from-torch"]
    assert found == ([] if line is None else [line])


def test_a_line_of_several_pins_is_for_a_projects_own_installer(tmp_path: Path) -> None:
    """kohya_ss hands each line of its requirements_linux.txt to pip install as it stands."""
    line = "torch==2.0.1+cu118 torchvision==0.15.2+cu118 --extra-index-url https://download.pytorch.org/whl/cu118"
    path = write(tmp_path / "requirements_linux.txt", f"{line}\nxformers==0.0.20 bitsandbytes==0.35.0\n")
    found = collected(path)
    assert found.defects == ()
    assert {name: text for name, (text, _, _) in stated(path).items()} == {
        "torch": "2.0.1+cu118", "torchvision": "0.15.2+cu118", "xformers": "0.0.20", "bitsandbytes": "0.35.0"
    }  # fmt: skip
    wrong = collected(write(tmp_path / "requirements.txt", "numpy pandas==1.0\n"))
    assert [defect.rule for defect in wrong.defects] == ["requirement-malformed"]


@pytest.mark.parametrize(("torch", "malformed"), [("1.6.0", False), ("2.1.0", True)])
def test_the_latest_of_openmmlab_is_a_requirement_to_the_pip_of_its_day(tmp_path: Path, torch: str, malformed: bool) -> None:
    found = collected(write(tmp_path / "requirements.txt", f"mmcv-full==latest+torch{torch}+cu101\nnumpy==1.19.5\n"))
    assert [defect.rule for defect in found.defects] == ["requirement-malformed"] * malformed
    assert any("pip from 24.1 on" in skip.why for skip in found.skips) is not malformed
