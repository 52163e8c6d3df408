"""What package managers print, given in the place of a facts file."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Facts, NotUnderstood
from envdoctor.facts.values import shown
from envdoctor.facts.versions import Ranged
from envdoctor.sources.stated.listings import Listing, parse_listing
from envdoctor.sources.stated.statements import collect_facts_file, collect_facts_text
from tests.examples import examples

FREEZE = """\
accelerate==0.33.0
# Editable install with no version control (my-tool==0.3)
-e /home/me/my-tool
-e git+https://github.com/hiyouga/LLaMA-Factory.git@0123abc#egg=llamafactory
flash_attn @ https://example.org/releases/flash_attn-2.6.3%2Bcu123torch2.4-cp310-cp310-linux_x86_64.whl#sha256=00
numpy @ file:///croot/numpy_base_1682953417311/work
peft==0.12.0
torch==2.4.0+cu121
"""


def listing(text: str) -> Listing:
    found = parse_listing(text, "env.txt")
    assert found is not None
    return found


def facts(found: Listing) -> dict[str, str]:
    assert len({fact.name for fact in found.facts}) == len(found.facts)
    return {fact.name: f"{shown(fact.value)} @{fact.origin.line}" for fact in found.facts}


def test_pip_freeze_is_read_whole() -> None:
    found = listing(FREEZE)
    assert (found.kind, found.closed) == ("pip freeze", True)
    assert facts(found) == {
        "packages.accelerate": "0.33.0 @1",
        "packages.my-tool": "0.3 @3",
        "packages.llamafactory": " @4",
        "packages.flash-attn": "2.6.3+cu123torch2.4 @5",
        "packages.numpy": " @6",
        "packages.peft": "0.12.0 @7",
        "packages.torch": "2.4.0+cu121 @8",
        "packages.pip": "not told by pip freeze @None",
        "packages.setuptools": "not told by pip freeze @None",
        "packages.wheel": "not told by pip freeze @None",
    }
    assert [fact.value for fact in found.facts if fact.name == "packages.numpy"] == [Ranged("")]
    assert [f"{skip.what}: {skip.why}" for skip in found.skips] == [
        "env.txt:4: llamafactory: an editable install, its version is not known",
        "env.txt:6: numpy: taken from a URL or a path, its version is not known",
    ]


def test_a_freeze_that_names_pip_leaves_nothing_out() -> None:
    assert set(facts(listing("pip==24.0\ntorch==2.4.0\n"))) == {"packages.pip", "packages.torch"}


PIP_LIST = """\
Package           Version      Editable project location
----------------- ------------ -------------------------
flash_attn        2.6.3
my-tool           0.3          /home/me/my tool
torch             2.4.0+cu121
odd               1.0-custom
WARNING: You are using pip version 21.2.4; however, version 24.0 is available.
"""


def test_the_columns_of_pip_list_are_read() -> None:
    found = listing(PIP_LIST)
    assert (found.kind, found.closed) == ("pip list", True)
    assert facts(found) == {
        "packages.flash-attn": "2.6.3 @3",
        "packages.my-tool": "0.3 @4",
        "packages.torch": "2.4.0+cu121 @5",
        "packages.odd": "1.0-custom @6",
    }
    assert [f"{skip.what}: {skip.why}" for skip in found.skips] == ["env.txt:6: odd: '1.0-custom' is no version; kept as free text"]


def test_a_list_of_the_outdated_says_nothing_of_the_others() -> None:
    outdated = "Package Version Latest Type\n------- ------- ------ -----\ntorch   2.4.0   2.5.1  wheel\n"
    assert (listing(outdated).closed, facts(listing(outdated))) == (False, {"packages.torch": "2.4.0 @3"})
    rows = json.dumps([{"name": "torch", "version": "2.4.0", "latest_version": "2.5.1"}])
    assert (listing(rows).closed, facts(listing(rows))) == (False, {"packages.torch": "2.4.0 @1"})


def test_pip_list_json_is_read_with_its_lines() -> None:
    rows = [{"name": "Flash_Attn", "version": "2.6.3"}, {"name": "torch", "version": "2.4.0", "editable_project_location": "/x"}]
    found = listing(json.dumps(rows, indent=1))
    assert (found.kind, found.closed) == ("pip list", True)
    assert facts(found) == {"packages.flash-attn": "2.6.3 @3", "packages.torch": "2.4.0 @7"}
    assert listing("[]") == Listing(kind="pip list", closed=True)


def test_pip_inspect_tells_the_python_and_the_system_too() -> None:
    report = {
        "version": "1",
        "pip_version": "24.0",
        "installed": [{"metadata": {"name": "torch", "version": "2.4.0+cu121"}}, {"metadata": {"version": "1"}}, 3],
        "environment": {"python_full_version": "3.10.12", "sys_platform": "win32", "platform_machine": "AMD64", "python_version": "3.10"},
    }
    found = listing(json.dumps(report))
    assert (found.kind, found.closed) == ("pip inspect", True)
    assert facts(found) == {"packages.torch": "2.4.0+cu121 @1", "python": "3.10.12 @None", "os": "windows @None", "machine": "x86_64 @None"}
    assert [skip.why for skip in found.skips] == ["an installed package without a name"] * 2


CONDA = """\
# packages in environment at /opt/conda:
#
# Name                    Version                   Build  Channel
_libgcc_mutex             0.1                        main
attr                      2.5.1                h166bdaf_1    conda-forge
numpy                     1.26.4          py310h5f9d8c6_0
peft                      0.12.0                   pypi_0    pypi
python                    3.10.14              h955ad1f_1
pytorch                   2.3.1           py3.10_cuda12.1_cudnn8.9.2_0    pytorch
torchtriton               2.3.1                     py310    pytorch
transformers              4.44.2             pyhd8ed1ab_0    conda-forge
"""
CONDA_FACTS = {
    "packages.numpy": "1.26.4",
    "packages.peft": "0.12.0",
    "python": "3.10.14",
    "packages.torch": "2.3.1",
    "cuda": "12.1",
    "cudnn": "8.9.2",
    "packages.triton": "2.3.1",
    "packages.transformers": "4.44.2",
}


def test_the_columns_of_conda_list_are_read_and_its_libraries_are_no_packages() -> None:
    found = listing(CONDA)
    assert (found.kind, found.closed) == ("conda list", True)
    assert {name: value.rpartition(" @")[0] for name, value in facts(found).items()} == CONDA_FACTS
    assert facts(found)["packages.torch"].endswith("@9")


def conda_rows() -> list[list[str]]:
    return [line.split() for line in CONDA.splitlines() if not line.startswith("#")]


def test_conda_list_json_and_export_say_the_same() -> None:
    rows = conda_rows()
    as_json = [{"name": r[0], "version": r[1], "build_string": r[2], "channel": r[3] if len(r) > 3 else "defaults"} for r in rows]
    for text in (json.dumps(as_json), "# platform: linux-64\n" + "\n".join("=".join(r[:3]) for r in rows)):
        found = listing(text)
        assert (found.kind, found.closed) == ("conda list", True)
        assert {name: value.rpartition(" @")[0] for name, value in facts(found).items()} == CONDA_FACTS
    explicit = "@EXPLICIT\n" + "\n".join(f"https://conda.anaconda.org/x/linux-64/{'-'.join(r[:3])}.conda#00" for r in rows)
    found = listing(explicit)
    assert (found.kind, found.closed) == ("conda list", False)  # what pip installed is not in it
    assert {name: value.rpartition(" @")[0] for name, value in facts(found).items()} == CONDA_FACTS


def test_a_cpu_build_of_conda_computes_on_the_cpu_and_a_forge_build_tells_its_cuda() -> None:
    head = "# Name Version Build Channel\n"
    assert facts(listing(head + "pytorch 2.3.1 py3.10_cpu_0 pytorch"))["accelerator"] == "cpu @2"
    assert facts(listing(head + "pytorch 2.5.1 cuda126_generic_py310_h478b6cf_200 conda-forge"))["cuda"] == "12.6 @2"


def test_rows_without_their_header_may_be_an_excerpt() -> None:
    found = listing("torch                    2.4.0\ntorchvision              0.19.0\ntransformers             4.46.0\nodd-name 1.0\n")
    assert (found.kind, found.closed) == ("rows of a package list", False)
    assert facts(found) == {
        "packages.torch": "2.4.0 @1",
        "packages.torchvision": "0.19.0 @2",
        "packages.transformers": "4.46.0 @3",
        "packages.odd-name": "1.0 @4",
    }


def test_a_report_is_not_closed() -> None:
    text = "Collecting environment information...\nPyTorch version: 2.5.1+cu121\nOS: Ubuntu 22.04 LTS (x86_64)\n[pip3] numpy==1.26.4\n"
    found = listing(text)
    assert (found.kind, found.closed) == ("environment report", False)
    assert facts(found) == {
        "packages.torch": "2.5.1+cu121 @2", "cuda": "12.1 @2", "os": "linux @3", "machine": "x86_64 @3", "packages.numpy": "1.26.4 @4",
    }  # fmt: skip


def test_of_two_installed_releases_the_first_counts_and_the_other_is_told() -> None:
    found = listing("torch==2.4.0\nTorch==2.5.0\npip==24.0\n")
    assert facts(found) == {"packages.torch": "2.4.0 @1", "packages.pip": "24.0 @3"}
    assert [f"{skip.what}: {skip.why}" for skip in found.skips] == ["env.txt:2: torch 2.5.0: listed before as 2.4.0, which was taken"]


def test_a_requirements_file_is_a_target_and_no_listing() -> None:
    with pytest.raises(EnvdoctorError) as raised:
        parse_listing("torch==2.4.0\npeft>=0.10,<0.12\n", "requirements.txt")
    assert str(raised.value) == (
        "requirements.txt, line 2: found the requirement 'peft>=0.10,<0.12'; expected exact versions, as pip freeze prints them; "
        "next: a requirements file is a target: give it to check without --facts"
    )


@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        ('[{"name": "torch",\n', "env.json, line 2, column 1", "the end of the file"),
        ('{"a": 1}', "env.json", "a JSON object of no known shape"),
        ('[{"name": "torch"}]', "env.json", "a JSON list of no known shape"),
        ('[{"a":' * 60_000, "env.json, line 1, column 1", "lists or objects nested too deeply"),
    ],
)
def test_broken_json_is_told_with_its_place(text: str, place: str, found: str) -> None:
    with pytest.raises(EnvdoctorError) as raised:
        collect_facts_text(text.encode(), "env.json")
    assert (raised.value.place, raised.value.found) == (place, found)


def test_a_facts_file_in_toml_stays_one() -> None:
    collected = collect_facts_text(b'python = "3.10"\n[packages]\ntorch = "2.4.0"\n', "facts.toml")
    assert {fact.name: shown(fact.value) for fact in collected.facts} == {"python": "3.10", "packages.torch": "2.4.0"}
    assert not collected.closed


def test_a_broken_facts_file_is_never_taken_for_a_report() -> None:
    """Its lines look like statements of packages to a reader of reports: silence would hide the slip."""
    with pytest.raises(EnvdoctorError) as raised:
        collect_facts_text(b'python = "3.10"\n[packages\ntorch = "2.4.0"\npeft = "0.12.0"\n', "facts.toml")
    assert "no TOML" in raised.value.found
    assert "line 2" in raised.value.found or "line 2" in raised.value.place


def test_an_unknown_fact_is_still_told() -> None:
    with pytest.raises(EnvdoctorError, match=r"found the fact 'pyhton'; expected a fact of the vocabulary; next: did you mean `python`\?"):
        collect_facts_text(b'pyhton = "3.10"\n', "facts.toml")


@pytest.mark.parametrize(
    "text",
    ["hello world", "<html><body>torch 2.1.0</body></html>", "\x00\x01\x02", "we use torch 2.1.0 and peft 0.5.0 here", "[[" * 60_000],
)
def test_text_of_no_known_form_is_an_error_that_says_what_is_read(text: str) -> None:
    with pytest.raises(EnvdoctorError) as raised:
        collect_facts_text(text.encode(), "notes.txt")
    assert raised.value.place == "notes.txt"
    assert raised.value.found.startswith("text of no known form, beginning '")
    assert raised.value.found.isprintable()
    assert "pip freeze, pip list, pip inspect, conda list, transformers env" in raised.value.expected
    assert raised.value.next_step == "envdoctor facts --format toml prints a facts file to start from"


def test_utf_16_as_powershell_writes_it_and_a_byte_order_mark_are_read() -> None:
    for data in (FREEZE.encode("utf-16"), b"\xef\xbb\xbf" + FREEZE.encode(), FREEZE.replace("\n", "\r\n").encode()):
        collected = collect_facts_text(data, "env.txt")
        assert "packages.torch" in {fact.name for fact in collected.facts}
        assert collected.closed


def test_bytes_that_are_no_utf_8_do_not_hide_the_rest() -> None:
    collected = collect_facts_text("- `transformers` version: 4.44.2\n- 系统: x\n".encode("gbk"), "env.txt")
    assert {fact.name: shown(fact.value) for fact in collected.facts} == {"packages.transformers": "4.44.2"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_is_read_as_a_file(tmp_path: Path) -> None:
    """As a shell makes one of --facts <(pip freeze): it can be read once."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(FREEZE,))
    writer.start()
    try:
        collected = collect_facts_file(pipe)
    finally:
        writer.join()
    assert collected.closed


def test_a_file_that_cannot_be_read_or_is_too_large_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.txt", tmp_path):
        with pytest.raises(EnvdoctorError) as raised:
            collect_facts_file(path)
        assert (raised.value.place, raised.value.expected) == (str(path), "a readable facts file")
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(EnvdoctorError, match="more than 16 MiB"):
        collect_facts_file(large)


def test_a_listing_closes_the_facts_and_a_report_does_not() -> None:
    """The meaning of closed to a rule: peft is absent by a freeze, and unknown by a report."""
    from envdoctor.rules.conditions import evaluate, parse_condition

    condition = parse_condition({"packages": ["peft >=0.5"]})
    outcomes = []
    for text in (b"torch==2.4.0\n", b"- PyTorch version: 2.4.0\n- Platform: Linux-5.4\n"):
        collected = collect_facts_text(text, "env.txt")
        known = Facts({fact.name: fact for fact in collected.facts}, closed=collected.closed)
        outcomes.append(evaluate(condition, known, lambda _: ()))
    assert outcomes == [False, None]


def test_what_pip_freeze_leaves_out_stays_unknown_in_a_closed_listing() -> None:
    found = {fact.name: fact.value for fact in listing("torch==2.4.0\n").facts}
    assert found["packages.setuptools"] == NotUnderstood("not told by pip freeze")


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(?:-[a-z]{1,6})?", fullmatch=True).filter(lambda name: name not in ("package", "name"))
VERSIONS = st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)).map(lambda numbers: ".".join(map(str, numbers)))


@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(NAMES, VERSIONS, min_size=1, max_size=12))
def test_every_form_of_one_listing_says_the_same(packages: dict[str, str]) -> None:
    forms = (
        "".join(f"{name}=={version}\n" for name, version in [*packages.items(), ("pip", "24.0")]),
        "Package  Version\n-------- -------\n" + "".join(f"{name}  {version}\n" for name, version in [*packages.items(), ("pip", "24.0")]),
        json.dumps([{"name": name, "version": version} for name, version in [*packages.items(), ("pip", "24.0")]]),
        json.dumps({"installed": [{"metadata": {"name": n, "version": v}} for n, v in [*packages.items(), ("pip", "24.0")]]}),
    )
    expected = {f"packages.{name}": version for name, version in {"pip": "24.0", **packages}.items()}
    for text in forms:
        if "pip" in packages:
            continue
        collected = collect_facts_text(text.encode(), "env")
        assert {fact.name: shown(fact.value) for fact in collected.facts} == expected
        assert collected.closed


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_give_facts_or_the_error_of_exit_2(data: bytes) -> None:
    try:
        collected = collect_facts_text(data, "env")
    except EnvdoctorError:
        return
    assert all(fact.origin.file == "env" for fact in collected.facts)
