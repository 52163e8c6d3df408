"""Who says an error: the package, the function, the condition, the releases; and nobody where that cannot be told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.logs.answers import tell_message
from envdoctor.logs.error_classes import with_releases_of_class
from envdoctor.logs.sayings import home_of, judge_saying, name_author
from envdoctor.logs.torch_sentences import says_torch
from envdoctor.logs.tracebacks import Failure, read_failures
from tests.atlas.wheels import atlas_of

SOURCE = """
def load(path, size):
    if not path:
        raise ValueError(f"The adapter at {path} has no weights for a rank of {size}")
    assert size > 0, "sizes are positive in this house"
"""
ACME = {
    "1.0": {"acme/__init__.py": "", "acme/files.py": "def load(path): pass\n"},
    "2.0": {"acme/__init__.py": "", "acme/files.py": SOURCE},
    "3.0": {"acme/__init__.py": "", "acme/files.py": "import os\n" + SOURCE},
    "4.0": {
        "acme/__init__.py": "from acme.lib import GivenError\n",
        "acme/keys.py": "def take(name):\n    raise TypeError(f'got an unexpected keyword argument {name}')\n"
        "    raise TypeError('issubclass() arg 1 must be a class')\n"
        "    raise ValueError(f'The colours of this house are only: {name}.')\n",
        "acme/files.py": "def load(path, size):\n    raise ValueError('no weights')\n    raise OSError(f'Nothing lies at {path}')\n"
        "def fetch(name):\n    raise KeyError('`fetch` has been removed from the files of this house, ask for load')\n"
        "    raise EnvironmentError(f'Nothing lies at {name}')\n",
        "acme/errors.py": "class HouseError(ValueError):\n    pass\ndef check(number):\n"
        "    raise HouseError('house_number', f'No door of this street bears {number}')\n",
    },
}
TESTED = "def same(one, other):\n    raise ValueError(f'The two halves of this pair of {one} are not alike in their colours')\n"
OTHER = {
    "1.0": {
        "other/testing/__init__.py": "",
        "other/testing/pairs.py": TESTED,
        "other/__init__.py": SOURCE + "def fetch(path): raise IOError(f'Nothing lies at {path}')\n",
    }
}
TORCH = {
    release: {
        "torch/__init__.py": "",
        "torch/module.py": "def add(module):\n    raise TypeError(f'{module} is not a Module subclass of this house')\n",
    }
    for release in ("2.0.1", "2.1.2")
}
# What a build of libraries would have written: a head for each set of releases.
LIBRARIES = """in torch.libraries 2.1.2-
raise\t\t1\t\t{} which must be broadcast as the weights of it are {}
raise\t\t1\t\t{} of tensors and their {}
"""
HOUSE = {
    release: {"house/__init__.py": "", "house/kinds.py": f"def make(cls):\n    raise TypeError({text})\n"}
    for release, text in (("8.0", "'Do not call Table of the house itself'"), ("9.0", "f'Do not call {cls} of the house itself'"))
}
ERROR = "ValueError: The adapter at `/x/y.bin` has no weights for a rank of 16"


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), {"acme": ACME, "other": OTHER, "torch": TORCH, "house": HOUSE}) as atlas:
        said = atlas / "torch" / "messages.txt"
        said.write_text(said.read_text(encoding="utf-8") + LIBRARIES, encoding="utf-8")
        yield atlas


def tell(text: str, **releases: str) -> list[str]:
    failure = read_failures(enumerate(text.splitlines(), 1))[-1]
    facts = {f"packages.{name}": Fact(f"packages.{name}", exact(release), Origin("a test")) for name, release in releases.items()}
    return list(tell_message(failure, Facts(facts)))


def at(line: int) -> str:
    return (
        f'Traceback (most recent call last):\n  File "/x/site-packages/acme/files.py", line {line}, in load\n    raise ValueError(\n{ERROR}'
    )


def test_the_text_is_a_line_a_message_and_moves_with_the_file(made: Path) -> None:
    text = (made / "acme" / "messages.txt").read_text()
    assert "in acme.files 1.0|2.0|3.0|4.0-" in text
    assert "ValueError\tload\tx,4,1,x\tnot path\tThe adapter at {} has no weights for a rank of {}" in text
    assert "AssertionError\tload\tx,5,1,x\tnot (size > 0)\tsizes are positive in this house" in text


def test_what_a_package_says_to_who_tests_it_is_not_what_a_run_met() -> None:
    said = "ValueError: The two halves of this pair of x are not alike in their colours"
    frame = 'Traceback (most recent call last):\n  File "/x/site-packages/other/testing/pairs.py", line 2, in same\n    raise ValueError(\n'
    assert tell(said) == []
    assert "other.testing.pairs:same" in "".join(tell(frame + said))


def test_the_line_of_the_frame_tells_the_release() -> None:
    assert tell(at(5)) == [
        "acme says this in acme.files:load, where not path; releases 3.0",
        "this traceback is of acme 3.0: there this stands in that line",
    ]


def test_a_line_that_no_release_has_leaves_all_that_say_it_and_names_the_one_that_is_stated() -> None:
    assert tell(at(77), acme="2.0") == ["acme says this in acme.files:load, where not path; releases 2.0-3.0, 2.0 among them"]


def test_what_two_packages_say_names_both() -> None:
    assert [one.split(" ")[0] for one in tell(ERROR)] == ["acme", "other"]


def test_a_stated_release_that_does_not_say_it_is_not_told_of() -> None:
    assert [one.split(" ")[0] for one in tell(ERROR, acme="4.0")] == ["other"]


def test_a_short_text_counts_where_it_is_the_whole_of_a_message_of_that_class_or_where_its_package_is() -> None:
    assert len(tell("AssertionError: sizes are positive in this house")) == 2
    assert tell("AssertionError: I read that sizes are positive in this house") == []
    assert tell("ValueError: sizes are positive in this house") == []
    assert len(tell("AssertionError: I read that sizes are positive in this house", acme="3.0")) == 1


def test_what_python_says_itself_is_of_no_package() -> None:
    assert tell("TypeError: got an unexpected keyword argument tokenizer") == []
    assert tell("TypeError: issubclass() arg 1 must be a class") == []


def test_a_sentence_without_its_full_stop_is_the_same_sentence() -> None:
    whole = "ValueError: The colours of this house are only: red, green"
    assert tell(whole) == tell(f"{whole}.")
    assert len(tell(whole)) == 1


def judge(text: str) -> Hit | None:
    return judge_saying(read_failures(enumerate(text.splitlines(), 1))[-1], Facts({}))


def test_an_error_that_one_package_says_in_the_frame_is_its_finding_and_the_whole_of_what_two_say_names_both() -> None:
    found = judge(at(5))
    assert found is not None
    assert (found.packages, found.rule) == (("acme",), "error-said-by-package")
    assert "where not path" in found.detail
    both = judge(ERROR)
    assert both is not None
    assert both.packages == ("acme", "other")
    assert judge("ValueError: Somebody wrote that the adapter at `/x/y.bin` has no weights for a rank of 16") is None
    assert judge(at(5).replace("ValueError:", "TypeError:")) is None


def test_what_is_said_to_be_gone_is_had_in_the_releases_before() -> None:
    found = judge("KeyError: fetch has been removed from the files of this house, ask for load instead")
    assert found is not None
    assert found.pins == (("acme", "<=3.0"),)


def test_the_releases_are_those_of_all_places_that_say_it() -> None:
    found = judge("OSError: Nothing lies at /x/y")
    assert found is not None
    assert (
        found.detail
        == "acme says this in acme.files:load, and in acme.files:fetch; releases 4.0-; other says this in other:fetch; releases 1.0-"
    )


def test_what_lacks_a_file_is_not_who_asked_for_it_but_who_says_so() -> None:
    failure = read_failures([(1, ERROR)])[-1]
    found = name_author(Hit("error-hub-refuses", True, (), detail="/x has no y", packages=("huggingface-hub",)), failure, Facts({}))
    assert found.packages == ("acme", "other", "huggingface-hub")
    assert found.detail.startswith("/x has no y; acme says this in acme.files:load")
    other = read_failures([(1, "ValueError: what nobody says of anything")])[-1]
    assert name_author(found, other, Facts({})) is found


def test_the_class_of_an_error_tells_its_package() -> None:
    assert home_of(read_failures([(1, "pandas.errors.EmptyDataError: nothing")])[-1]) == "pandas"
    assert home_of(read_failures([(1, "pydantic_core._pydantic_core.ValidationError: nothing")])[-1]) == "pydantic"
    assert home_of(read_failures([(1, "json.decoder.JSONDecodeError: nothing")])[-1]) == ""
    assert home_of(read_failures([(1, "ValueError: nothing")])[-1]) == ""


def test_a_class_that_is_filled_in_is_said_by_the_releases_that_wrote_it_out_too() -> None:
    found = judge("TypeError: Do not call Table of the house itself")
    assert found is not None
    assert found.detail.endswith("releases 8.0-")


def test_a_message_stands_behind_the_name_of_its_kind_and_the_module_of_a_class_tells_its_releases() -> None:
    found = judge("acme.errors.HouseError: No door of this street bears 7")
    assert found is not None
    assert found.detail == "acme says this in acme.errors:check; releases 4.0-"
    failure = read_failures([(1, "acme.errors.HouseError: something else")])[-1]
    told = with_releases_of_class(Hit("error-raised-by-package", None, (), detail="its own", packages=("acme",)), failure, "acme")
    assert told.detail == "its own; there is acme.errors.HouseError in acme's releases 4.0-"
    assert with_releases_of_class(told, failure, "acme") is told
    compiled = read_failures([(1, "acme.lib.GivenError: something else")])[-1]
    told = with_releases_of_class(Hit("error-raised-by-package", None, (), detail="", packages=("acme",)), compiled, "acme")
    assert told.detail == "there is acme.GivenError in acme's releases 4.0-"


def test_the_address_that_pydantic_adds_tells_its_minor_release() -> None:
    words = "pydantic.errors.PydanticUserError: no. For further information visit https://errors.pydantic.dev/2.7/u/base-model"
    hit = Hit("error-raised-by-package", None, (), detail="", packages=("pydantic",))
    told = with_releases_of_class(hit, read_failures([(1, words)])[-1], "pydantic")
    assert told.detail == "the address in it is of pydantic's releases 2.7.0-2.7.4"


def test_what_torch_says_is_told_with_its_releases_where_nobody_else_says_it() -> None:
    module = read_failures([(1, "TypeError: datasets.Dataset is not a Module subclass of this house")])[-1]
    assert says(module) == "torch says this in torch.module:add; releases 2.0.1-"
    compiled = read_failures([(1, "RuntimeError: x has 3 rows, which must be broadcast as the weights of it are (9)")])[-1]
    assert says(compiled) == "torch says this in its compiled code; releases 2.1.2-"
    short = read_failures([(1, "RuntimeError: somebody asked whether the names of tensors and their places may be told to anybody")])[-1]
    assert says(short) is None
    assert says_torch(compiled, stated("2.0.1")) is None
    found = name_author(Hit("error-of-the-run", True, (), detail="rows differ"), compiled, Facts({}))
    assert (found.packages, found.detail) == (("torch",), "rows differ; torch says this in its compiled code; releases 2.1.2-")


def test_whose_words_a_pattern_knows_are_told_with_their_releases_alone() -> None:
    failure = read_failures([(1, ERROR)])[-1]
    found = name_author(Hit("error-of-the-run", True, (), detail="no weights", packages=("other",)), failure, Facts({}))
    assert (found.packages, found.detail) == (("other",), "no weights; other says this in other:load, where not path; releases 1.0-")
    nobody = Hit("error-of-the-run", True, (), detail="no weights", packages=("house",))
    assert name_author(nobody, failure, Facts({})) is nobody


def says(failure: Failure) -> str | None:
    found = says_torch(failure, Facts({}))
    return None if found is None else found.words()


def stated(release: str) -> Facts:
    return Facts({"packages.torch": Fact("packages.torch", exact(release), Origin("a test"))})
