"""Which index has a build, and which indexes a requirements file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.remedies.indexes import blamed, declared_indexes, has_build, index_lines, index_of, label_of


@pytest.mark.parametrize(
    ("package", "version", "label"),
    [
        ("torch", "2.4.1+cu118", "cu118"),
        ("torchvision", "0.19.1+cpu", "cpu"),
        ("torchaudio", "==2.4.1+rocm6.0", "rocm6.0"),
        ("torch", "2.4.1", ""),
        ("torch", "2.4.0a0+git1234", ""),
        ("torch", "2.4.0+nv24.10", ""),
        ("flash-attn", "2.6.3+cu118", ""),
        ("torch", "2.4.1+cu118/../../evil", ""),
    ],
)
def test_labels_are_those_of_pytorch_alone(package: str, version: str, label: str) -> None:
    assert label_of(package, version) == label


def test_every_label_has_its_index() -> None:
    assert index_of("cu118") == "https://download.pytorch.org/whl/cu118"


@pytest.mark.parametrize(
    ("package", "version", "known"),
    [
        ("torch", "2.4.1+cu118", True),
        ("torch", "2.9.0+cu118", False),
        ("torch", "2.4.1+cpu", True),
        ("torch", "99.0+cu118", None),
        ("torch", "2.4.1+rocm6.0", None),
        ("torchvision", "0.19.1+cu118", None),
    ],
)
def test_a_build_exists_as_far_as_the_table_tells(package: str, version: str, known: bool | None) -> None:
    assert has_build(package, version) is known


def test_the_indexes_of_a_file_and_of_those_that_it_includes(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "requirements.txt").write_text(
        "--extra-index-url https://download.pytorch.org/whl/cu118  # builds\n"
        "-i https://user:secret@example.org/simple\n-f wheels\n-f ./gone\n--find-links=https://example.org/all.html\n"
        "--extra-index-url https://${TOKEN}@example.org/private\n-r sub/more.txt\n-r requirements.txt\n-r missing.txt\n--wrong x\n"
        "--find-links 'https://example.org/x -r /etc/passwd'\n"
        "torch==2.4.1 --index-url https://example.org/none\n--extra-index-url https://download.pytorch.org/whl/cu118\n"
    )
    (tmp_path / "sub" / "more.txt").write_text("--no-index\n--extra-index-url https://example.org/\x1b[31m\n")
    assert index_lines(tmp_path / "requirements.txt") == (
        "--extra-index-url https://download.pytorch.org/whl/cu118",
        "--index-url https://user:secret@example.org/simple",
        f"--find-links {(tmp_path / 'wheels').as_uri()}",
        "--find-links https://example.org/all.html",
        "--no-index",
    )


@pytest.mark.parametrize("text", [b"\xff\xfe", b"", b"\0" * 100, b"-r \0\n", b"-f \xc3\n", b"-i\n", b"--no-index=\n"])
def test_a_bad_file_names_none_or_says_what_it_says(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "requirements.txt"
    path.write_bytes(text)
    assert set(index_lines(path)) <= {"--no-index"}
    assert index_lines(tmp_path / "gone.txt") == index_lines(tmp_path) == ()


def test_who_is_to_blame_for_silence() -> None:
    lines = (
        "--extra-index-url https://user:token@example.org/simple/",
        "--extra-index-url https://download.pytorch.org/whl/cu118",
        "--no-index",
    )
    assert blamed("Failed to fetch: https://****@example.org/simple/torch/", lines) == lines[:1]
    assert blamed("Failed to fetch: https://download.pytorch.org/whl/cu118/torch/", lines) == lines[1:2]
    assert blamed("Failed to fetch: https://pypi.org/simple/torch/", lines) == ()


CU118 = "https://download.pytorch.org/whl/cu118"


@pytest.mark.parametrize(
    ("name", "kind", "text", "told"),
    [
        (
            "pyproject.toml",
            "requirements",
            '[[tool.uv.index]]\nname = "pt"\nurl = "https://one.example/s"\nexplicit = true\n[tool.uv]\nextra-index-url = ["https://two.example"]\n'
            'find-links = "https://three.example/w.html"\n[[tool.poetry.source]]\nname = "x"\nurl = "https://four.example/s"\n',
            ("extra-index-url https://one.example/s", "extra-index-url https://four.example/s", "extra-index-url https://two.example",
             "find-links https://three.example/w.html"),
        ),
        (
            "Pipfile",
            "requirements",
            f'[[source]]\nurl = "https://pypi.org/simple"\n[[source]]\nurl = "{CU118}"\n',
            (f"extra-index-url {CU118}",),
        ),
        (
            "Dockerfile",
            "image",
            'FROM python:3.10\nENV PIP_EXTRA_INDEX_URL="https://one.example/s"\n# RUN pip install -i https://no.example x\n'
            f'RUN pip install torch==2.1.0 --extra-index-url={CU118} -i https://pypi.org/simple\nRUN pip install -i https://${{HOST}}/s x\n'
            'RUN ["pip", "install", "--index-url", "https://two.example/s", "x"]\n'
            "RUN curl -f https://no.example/x\nRUN pip install -f https://three.example/w.html y\n",
            ("extra-index-url https://one.example/s", f"extra-index-url {CU118}", "extra-index-url https://two.example/s",
             "find-links https://three.example/w.html"),
        ),
        (
            "environment.yml",
            "requirements",
            f"dependencies:\n  - pip:\n    - --extra-index-url {CU118}\n    - torch==2.1.0+cu118\n",
            (f"extra-index-url {CU118}",),
        ),
        ("requirements.txt", "requirements", f"--extra-index-url {CU118}\ntorch\n", (f"extra-index-url {CU118}",)),
        ("pyproject.toml", "requirements", "[[tool.uv.index]\n", ()),
        ("pyproject.toml", "requirements", '[tool.uv]\nindex = [1, {url = 2}, {url = "a\\nb"}, {url = "--no-index"}]\n', ()),
    ],
)  # fmt: skip
def test_every_kind_of_file_says_where_packages_come_from(tmp_path: Path, name: str, kind: str, text: str, told: tuple[str, ...]) -> None:
    (tmp_path / name).write_text(text)
    assert declared_indexes(tmp_path / name, kind) == tuple(f"--{one}" for one in told)


def test_a_file_that_is_not_there_names_no_index(tmp_path: Path) -> None:
    assert [declared_indexes(tmp_path / name, "image") for name in ("Dockerfile", "pyproject.toml")] == [(), ()]
