"""The atlas' texts are held against themselves again: what nothing lacks any more is dropped, and nothing else moves."""

from __future__ import annotations

from pathlib import Path

from envdoctor.survey.rechecking import recheck
from tests.atlas.wheels import forget, make_atlas

LIB = {"1.0": {"libra/__init__.py": "class Old: pass\n"}, "2.0": {"libra/__init__.py": ""}}
OWN = "module unsloth 1.0-\nn y\n"
ACME = {"1.0": {"acme/__init__.py": "from libra import Old\ndef later():\n    from libra import Never\n"}}


def takes(folder: Path) -> Path:
    assert make_atlas(folder, {"acme": ACME, "libra": LIB}) == []
    forget()
    return folder / "atlas" / "acme" / "takes.txt"


def test_what_was_just_read_stays_as_it_is(tmp_path: Path) -> None:
    path = takes(tmp_path)
    before = path.read_text(encoding="utf-8")
    assert [*recheck(tmp_path / "atlas")] == []
    assert path.read_text(encoding="utf-8") == before
    assert "bad libra:Old 2.0-" in before


def test_a_name_that_was_called_missing_and_is_there_is_dropped_with_its_line(tmp_path: Path) -> None:
    path = takes(tmp_path)
    before = path.read_text(encoding="utf-8")
    (tmp_path / "atlas" / "libra" / "contents.txt").write_text(
        (tmp_path / "atlas" / "libra" / "contents.txt").read_text(encoding="utf-8").replace("c Old\t1.0", "c Old"), encoding="utf-8"
    )
    assert [*recheck(tmp_path / "atlas")] == ["acme: 8 -> 5 lines"]
    after = path.read_text(encoding="utf-8")
    assert [line for line in before.splitlines() if line.startswith("bad")] == ["bad libra:Old 2.0-", "bad libra:Never 1.0-"]
    assert after.splitlines() == ["takes acme", "bad libra:Never 1.0-", "take 0 acme/__init__.py 3@1.0- later", *after.splitlines()[3:]]
    assert not any(line.startswith("0 ") for line in after.splitlines())


def test_a_part_that_is_not_read_any_more_leaves_both_texts(tmp_path: Path) -> None:
    path = takes(tmp_path)
    home = tmp_path / "atlas" / "unsloth"
    home.mkdir()
    (home / "contents.txt").write_text(
        "package unsloth\ntop studio unsloth\nrelease 1.0\nmodule studio 1.0-\nn x\nmodule unsloth 1.0-\nn y\n"
    )
    (home / "takes.txt").write_text(
        "takes unsloth\nbad libra:Old 2.0-\ntake 0 studio/a.py 1@1.0- -\ntake 0 unsloth/__init__.py 2@1.0- -\nentry unsloth\n1 1.0-\n"
    )
    assert [*recheck(tmp_path / "atlas")] == ["unsloth: 1 modules dropped", "unsloth: 6 -> 5 lines"]
    assert (home / "contents.txt").read_text() == f"package unsloth\ntop unsloth\nrelease 1.0\n{OWN}"
    assert (home / "takes.txt").read_text() == (
        "takes unsloth\nbad libra:Old 2.0-\ntake 0 unsloth/__init__.py 2@1.0- -\nentry unsloth\n0 1.0-\n"
    )
    assert path.exists()


def test_what_is_left_out_is_no_module_of_a_release_whether_it_is_a_folder_or_a_file(tmp_path: Path) -> None:
    files = {"flashinfer/__init__.py": "x = 1\n", "build_backend.py": "y = 1\n", "cutlass/__init__.py": "z = 1\n"}
    assert make_atlas(tmp_path, {"flashinfer-python": {"0.6.0": files}}) == []
    forget()
    text = (tmp_path / "atlas" / "flashinfer-python" / "contents.txt").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith(("top ", "module "))] == ["top flashinfer", "module flashinfer 0.6.0-"]
