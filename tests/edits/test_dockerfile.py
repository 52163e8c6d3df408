"""Pins in the install commands of a Dockerfile."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.edits.dockerfile import edit_dockerfile
from envdoctor.edits.edit import Edited, Pin
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.sources.docker.dockerfile import collect_dockerfile
from envdoctor.world.installation import Installation

LINUX = Installation().on("linux", "x86_64").with_python("3.10")
ROOT = Path(__file__).parent.parent.parent
TORCH, PEFT, BOUND = Pin("torch", "==2.4.1"), Pin("peft", "==0.12.0"), Pin("transformers", "<5")
INDEX = "https://download.pytorch.org/whl/cu118"


def edit(directory: Path, text: str, *pins: Pin) -> Edited:
    path = directory / "Dockerfile"
    path.write_bytes(text.encode())
    (found,) = edit_dockerfile(path, pins, LINUX)
    assert path.read_bytes() == text.encode()
    return found


def after(directory: Path, run: str, *pins: Pin) -> str:
    """The image's instructions after FROM, with the pins in them."""
    head = "FROM python:3.10\n"
    found = edit(directory, head + run, *pins)
    assert not found.refused
    changed = found.after.decode()
    assert changed.startswith(head)
    return changed.removeprefix(head)


def refusal(directory: Path, text: str, pin: Pin) -> str:
    found = edit(directory, text, pin)
    assert (found.after, found.done, found.lines) == (found.before, (), ())
    (refused,) = found.refused
    assert refused.wish == pin
    return refused.why


@pytest.mark.parametrize(
    ("run", "wished"),
    [
        ("RUN pip install torch==2.1.0 transformers peft\n", 'RUN pip install torch==2.4.1 "transformers<5" peft==0.12.0\n'),
        (
            "RUN pip3 install -U 'torch==2.1.0' \"transformers>=4.28\" 'peft[x]'",
            "RUN pip3 install -U 'torch==2.4.1' \"transformers>=4.28,<5\" 'peft[x]==0.12.0'",
        ),
        (
            "RUN apt-get update && \\\r\n  python3 -m pip install --no-cache-dir \\\r\n    "
            "# the model\r\n    torch \\\r\n\r\n    transformers \\\r\n    peft\r\n",
            "RUN apt-get update && \\\r\n  python3 -m pip install --no-cache-dir \\\r\n    "
            '# the model\r\n    torch==2.4.1 \\\r\n\r\n    "transformers<5" \\\r\n    peft==0.12.0\r\n',
        ),
        (
            "RUN sudo -H pip install torch && uv pip install --system transformers peft",
            'RUN sudo -H pip install torch==2.4.1 && uv pip install --system "transformers<5" peft==0.12.0',
        ),
        (
            'RUN ["pip", "install", "torch==2.1.0",  "transformers>=4", "peft"]\n',
            'RUN ["pip", "install", "torch==2.4.1",  "transformers>=4,<5", "peft==0.12.0"]\n',
        ),
        (
            'RUN ["/bin/bash", "-c", "pip install torch transformers peft"]\n',
            'RUN ["/bin/bash", "-c", "pip install torch==2.4.1 \'transformers<5\' peft==0.12.0"]\n',
        ),
        (
            "RUN bash -lc 'pip install torch transformers peft'\n",
            "RUN bash -lc 'pip install torch==2.4.1 \"transformers<5\" peft==0.12.0'\n",
        ),
        ('RUN bash -c "pip install torch transformers peft"\n', "RUN bash -c \"pip install torch==2.4.1 'transformers<5' peft==0.12.0\"\n"),
        (
            "RUN <<EOF\nset -e\npip install torch \\\n  transformers\npip install peft==0.6\nEOF\n",
            'RUN <<EOF\nset -e\npip install torch==2.4.1 \\\n  "transformers<5"\npip install peft==0.12.0\nEOF\n',
        ),
        (
            "RUN bash <<-EOF\n\tpip install torch transformers peft\n\tEOF\n",
            'RUN bash <<-EOF\n\tpip install torch==2.4.1 "transformers<5" peft==0.12.0\n\tEOF\n',
        ),
        (
            "RUN --mount=type=cache,target=/x pip install torch\\\n   transformers\\\n   peft",
            'RUN --mount=type=cache,target=/x pip install torch==2.4.1\\\n   "transformers<5"\\\n   peft==0.12.0',
        ),
        (
            'RUN pip install "torch"==2.1 transformers\\>=4.28 "peft ; python_version > \'3\'"',
            'RUN pip install "torch==2.4.1" "transformers>=4.28,<5" "peft==0.12.0 ; python_version > \'3\'"',
        ),
    ],
)
def test_a_word_is_replaced_in_place(tmp_path: Path, run: str, wished: str) -> None:
    assert after(tmp_path, run, TORCH, BOUND, PEFT) == wished


def test_what_says_so_already_is_left(tmp_path: Path) -> None:
    run = "ARG P=0.12.0\nRUN pip install torch==2.4.1 'transformers~=4.40' peft==$P\n"
    assert after(tmp_path, run, TORCH, BOUND, PEFT) == run


def test_only_what_decides_is_changed(tmp_path: Path) -> None:
    run = "RUN pip install torch==2.0 peft==0.6\nRUN pip install torch==2.1 peft\nRUN pip uninstall -y trl && pip install trl==0.9\n"
    assert after(tmp_path, run, TORCH, PEFT, Pin("trl", "==0.10.1")) == (
        "RUN pip install torch==2.0 peft==0.12.0\nRUN pip install torch==2.4.1 peft\nRUN pip uninstall -y trl && pip install trl==0.10.1\n"
    )


def test_what_would_replace_it_again_is_changed_as_well(tmp_path: Path) -> None:
    run = "RUN pip install torch==2.1\nRUN pip install trl 'torch==2.1'\nRUN pip install 'torch>=2'\nRUN pip install peft torch==2.1.0\n"
    assert after(tmp_path, run, TORCH) == run.replace("==2.1.0", "==2.1").replace("==2.1", "==2.4.1")
    run = "RUN pip install trl torch==2.1\nRUN pip install torch trl\n"
    assert after(tmp_path, run, Pin("torch", "")) == "RUN pip install trl\nRUN pip install trl\n"


def test_a_stage_whose_environment_is_copied_is_changed(tmp_path: Path) -> None:
    run = (
        "AS build\nRUN python -m venv /opt/venv && /opt/venv/bin/pip install peft==0.5\nFROM python:3.10\n"
        "COPY --from=build /opt/venv /opt/venv\nENV PATH=/opt/venv/bin:$PATH\n"
    )
    found = edit(tmp_path, f"FROM python:3.10 {run}", PEFT)
    assert found.after.decode() == f"FROM python:3.10 {run}".replace("0.5", "0.12.0")
    assert found.lines == (2,)


@pytest.mark.parametrize(
    ("run", "wished"),
    [
        ("ARG V=2.1.0\nRUN pip install torch==${V}\n", "ARG V=2.4.1\nRUN pip install torch==${V}\n"),
        ('ARG A=1 V="2.1.0"\nRUN pip install "torch==$V"\n', 'ARG A=1 V="2.4.1"\nRUN pip install "torch==$V"\n'),
    ],
)
def test_the_default_of_an_argument_is_changed(tmp_path: Path, run: str, wished: str) -> None:
    assert after(tmp_path, run, TORCH) == wished


def test_what_stands_behind_an_argument_counts(tmp_path: Path) -> None:
    text = "ARG V=2.1.0\nFROM python:3.10\nARG V\nRUN pip install torch==${V}+cu118\n"
    assert edit(tmp_path, text, Pin("torch", "==2.4.1+cu118")).after.decode() == text.replace("2.1.0", "2.4.1")
    assert "a variable" in refusal(tmp_path, text, Pin("torch", "==2.4.1+cu121"))
    assert "a variable" in refusal(tmp_path, text, Pin("torch", "<2"))


@pytest.mark.parametrize(
    "text",
    [
        "ARG V=2.1.0\nRUN pip install torch==$V && echo $V\n",
        "ARG V=2.1.0\nARG V=2.1.1\nRUN pip install torch==$V\n",
        "ENV V=2.1.0\nRUN pip install torch==$V\n",
        "ARG M=2.1\nARG V=$M.0\nRUN pip install torch==$V\n",
        "RUN V=2.1.0; pip install torch==$V\n",
        "RUN for p in torch==2.1; do pip install $p; done\n",
        "RUN if [ $X ]; then pip install torch==2.1; fi\n",
        "RUN pip install git+https://github.com/pytorch/torch\n",
        "RUN pip install https://example.org/torch-2.1.0-cp310-cp310-linux_x86_64.whl\n",
        "RUN conda install pytorch=2.1\n",
        "RUN pip install --no-deps trl\n",
        "RUN pip install trl --index-url https://example.org/simple\n",
        "RUN pip install trl || true\n",
        "RUN pip install -U pip setuptools wheel\n",
        "RUN echo pip install torch==2.1\n",
        "RUN pip install -e .\n",
        "",
    ],
)
def test_what_cannot_be_said_in_one_place_is_refused(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, f"FROM python:3.10\n{text}", TORCH)


def test_what_the_image_brings_is_refused(tmp_path: Path) -> None:
    text = "FROM pytorch/pytorch:2.1.0-cuda11.8-cudnn8-runtime\nRUN pip install transformers\n"
    assert refusal(tmp_path, text, TORCH) == "torch comes with line 1, which is no install command of pip or uv that names it"


def test_what_a_copied_file_states_is_to_be_changed_there(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("peft==0.6\n")
    text = "FROM python:3.10\nCOPY requirements.txt .\nRUN pip install -r requirements.txt torch\n"
    assert refusal(tmp_path, text, PEFT) == f"peft is stated in {tmp_path / 'requirements.txt'}: give that file"


@pytest.mark.parametrize(
    ("run", "wished"),
    [
        ("RUN pip install trl\nRUN pip install -U pip\n", "RUN pip install trl peft==0.12.0\nRUN pip install -U pip\n"),
        ("RUN pip install \\\n  trl \\\n  --no-cache-dir\n", "RUN pip install \\\n  trl peft==0.12.0 \\\n  --no-cache-dir\n"),
        ('RUN ["pip", "install", "trl"]', 'RUN ["pip", "install", "trl", "peft==0.12.0"]'),
    ],
)
def test_a_package_that_none_installs_is_added_to_a_plain_command(tmp_path: Path, run: str, wished: str) -> None:
    assert after(tmp_path, run, PEFT) == wished
    assert after(tmp_path, "RUN pip install trl", BOUND) == 'RUN pip install trl "transformers<5"'


def test_several_are_added_one_after_the_other(tmp_path: Path) -> None:
    assert after(tmp_path, "RUN pip install trl\n", PEFT, BOUND) == 'RUN pip install trl peft==0.12.0 "transformers<5"\n'


def test_a_package_is_taken_out(tmp_path: Path) -> None:
    run = "RUN pip install trl \\\n  peft==0.6 \\\n  torch\n"
    assert after(tmp_path, run, Pin("peft", "")) == "RUN pip install trl \\\n  torch\n"
    assert after(tmp_path, run, Pin("torch", "")) == "RUN pip install trl \\\n  peft==0.6\n"
    assert after(tmp_path, run, Pin("numpy", "")) == run
    assert "nothing but" in refusal(tmp_path, "FROM python:3.10\nRUN pip install peft\n", Pin("peft", ""))
    assert "by hand" in refusal(tmp_path, 'FROM python:3.10\nRUN ["pip", "install", "trl", "peft"]\n', Pin("peft", ""))


def test_an_index_is_named_once(tmp_path: Path) -> None:
    pin = Pin("torch", "==2.4.1+cu118", index=INDEX)
    assert after(tmp_path, "RUN pip install trl torch\n", pin) == f"RUN pip install trl --extra-index-url {INDEX} torch==2.4.1+cu118\n"
    there = f"RUN pip install torch==2.1 --index-url {INDEX}/\n"
    assert after(tmp_path, there, pin) == there.replace("2.1", "2.4.1+cu118")
    there = f"ENV PIP_EXTRA_INDEX_URL={INDEX}\nRUN pip install torch==2.1\n"
    assert after(tmp_path, there, pin) == there.replace("2.1", "2.4.1+cu118")
    assert after(tmp_path, 'RUN ["pip", "install", "torch"]', pin) == (
        f'RUN ["pip", "install", "--extra-index-url", "{INDEX}", "torch==2.4.1+cu118"]'
    )
    assert "--no-index" in refusal(tmp_path, "FROM python:3.10\nRUN pip install --no-index torch\n", pin)


def test_a_byte_order_mark_and_odd_bytes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    data = b"\xef\xbb\xbfFROM python:3.10\r\n# \xff\xe9 \xe4\xb8\xad\r\nRUN pip install peft==0.6 # x"
    path.write_bytes(data)
    (found,) = edit_dockerfile(path, [PEFT], LINUX)
    assert found.after == data.replace(b"0.6", b"0.12.0")
    assert found.lines == (3,)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError):
        edit_dockerfile(tmp_path / "Dockerfile", [PEFT], LINUX)


@pytest.mark.parametrize("source", ["tests/data/inputs/Dockerfile", "examples/container/Dockerfile"])
def test_the_projects_own_files_change_in_the_lines_that_are_named(tmp_path: Path, source: str) -> None:
    text = (ROOT / source).read_text()
    found = edit(tmp_path, text, TORCH, PEFT, BOUND, Pin("trl", "==0.9.6"))
    holds(found)


# Laws.

packages = st.sampled_from(
    ["torch", "peft==0.6", "'transformers>=4.28'", '"peft>=0.4,<1"', "torch==$V", "torch==2.1+cu118", "trl", "numpy<2", "peft[x]"]
)
words = st.lists(st.one_of(packages, st.sampled_from(["-U", "--no-cache-dir", "-r none.txt", "--no-deps", "."])), min_size=1, max_size=4)
gaps = st.sampled_from([" ", " ", "  ", " \\\n    ", "\\\n", " \\\n  # between\n  "])
installs = st.tuples(
    st.sampled_from(["pip install", "pip3 install", "uv pip install --system", "python -m pip install", "sudo pip install"]), words, gaps
).map(lambda found: found[0] + " " + found[2].join(found[1]))
commands = st.one_of(
    installs,
    installs,
    st.sampled_from(
        ["apt-get update", "echo pip install torch", "pip uninstall -y torch", "cd /x", "false", "if true; then pip install peft; fi"]
    ),
)
scripts = st.tuples(st.lists(commands, min_size=1, max_size=3), st.sampled_from([" && ", " && \\\n  ", "; ", " || "])).map(
    lambda found: found[1].join(found[0])
)
instructions = st.one_of(
    scripts.map("RUN {}".format),
    scripts.map("RUN {}".format),
    scripts.map("RUN <<EOF\n{}\nEOF".format),
    scripts.map(lambda text: "RUN bash -c '" + text.replace("'", "").replace("\\\n", " ").replace("# between", "") + "'"),
    st.sampled_from(
        [
            "ARG V=2.1.0",
            "ENV V=2.0",
            "# a comment",
            "",
            "FROM python:3.10",
            "FROM python:3.10 AS x",
            "FROM x",
            "WORKDIR /x",
            "CMD pip install peft",
            'RUN ["pip", "install", "torch", "peft==0.5"]',
            "FROM pytorch/pytorch:2.1.0-cuda11.8-cudnn8-runtime",
            "USER 1",
            "RUN",
        ]
    ),
)
dockerfiles = st.tuples(st.lists(instructions, max_size=6), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\n"])).map(
    lambda found: ("\n".join(["FROM python:3.10", *found[0]]) + found[2]).replace("\n", found[1])
)
wishes = st.lists(
    st.builds(
        Pin,
        st.sampled_from(["torch", "peft", "transformers", "trl"]),
        st.sampled_from(["==0.12.0", "==2.4.1+cu118", "<5", ""]),
        st.sampled_from(["", INDEX]),
    ),
    max_size=3,
    unique_by=lambda pin: pin.package,
)


def stated(path: Path) -> list[dict[str, Fact]]:
    return [
        {fact.name.removeprefix("packages."): fact for fact in variant.collected.facts if fact.name.startswith("packages.")}
        for variant in collect_dockerfile(path, LINUX)
    ]


def said(fact: Fact | None, pin: Pin) -> bool:
    if fact is None or not pin.specifier:
        return fact is None
    if pin.exact:
        return isinstance(fact.value, Exact) and fact.value.text == pin.specifier[2:]
    return isinstance(fact.value, (Exact, Ranged)) and version_condition(pin.specifier).relation(fact.value) is True


def holds(one: Edited) -> None:
    """Lines that are not named are the same; the image holds what was wished, and of all else what it held before."""
    place = 0
    for number, line in enumerate(one.before.split(b"\n"), start=1):
        if number not in one.lines:
            place = one.after.index(line, place) + len(line)
    before = stated(one.path)
    one.path.write_bytes(one.after)
    now = stated(one.path)
    done = {pin.package: pin for pin in one.done if isinstance(pin, Pin)}
    assert len(now) == len(before)
    assert all(said(held.get(name), pin) for held in now[:1] for name, pin in done.items())
    for old, new in zip(before, now, strict=True):
        assert {n: f.value for n, f in old.items() if n not in done} == {n: f.value for n, f in new.items() if n not in done}


@given(dockerfiles, wishes)
def test_only_what_is_named_changes_and_the_image_holds_what_was_wished(text: str, pins: list[Pin]) -> None:
    with tempfile.TemporaryDirectory() as place:
        found = edit(Path(place), text, *pins)
        done = [pin for pin in pins if pin in found.done]
        assert {*done, *(refused.wish for refused in found.refused)} == set(pins)
        holds(found)
        (again,) = edit_dockerfile(found.path, done, LINUX)
        assert (again.after, again.refused) == (found.after, ())
