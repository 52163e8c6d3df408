"""When the functions of a package changed: what counts as a change, the text, and how it is looked up."""

from __future__ import annotations

import pytest

from envdoctor.atlas.changes import Changes, bind_changes
from envdoctor.atlas.volume import DamagedAtlasError
from envdoctor.survey.bodies import bodies_of, write_changes

BEFORE = '''
class Model:
    """A model."""

    def load(self, path: str) -> None:
        """Load it."""
        self.weights = read(path, strict=True)


def merge(weights):
    return sum(weights)
'''


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ('"""Load it."""', '"""Load the weights."""', set()),
        ("path: str", "path: str | None = None", set()),
        ("read(path, strict=True)", "read(\n            path,\n            strict=True,\n        )  # all of them", set()),
        ("        self.weights", "        # read once\n        self.weights", set()),
        ("strict=True", "strict=False", {"Model.load"}),
        ("sum(weights)", "max(weights)", {"merge"}),
        ("def merge", "def join", {"merge", "join"}),
    ],
)
def test_only_what_a_function_does_counts(old: str, new: str, changed: set[str]) -> None:
    before, after = bodies_of(BEFORE), bodies_of(BEFORE.replace(old, new))
    assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == changed


def test_a_name_that_is_bound_twice_changes_with_either() -> None:
    source = "if new:\n    def load():\n        return 1\nelse:\n    def load():\n        return 2\n"
    assert bodies_of(source) != bodies_of(source.replace("return 1", "return 3"))
    assert bodies_of(source) != bodies_of(source.replace("return 2", "return 3"))


def test_code_for_another_python_is_refused() -> None:
    with pytest.raises(SyntaxError):
        bodies_of("print 'old'")


TEXT = "\n".join(
    write_changes(
        "some",
        {
            "some.trainer": {"Trainer.loss": [(0, 1), (1, 1), (2, 5), (3, 6)], "Trainer.same": [(0, 7), (3, 7)], "loss": [(1, 1), (3, 2)]},
            "some.quiet": {"one": [(0, 1), (3, 1)]},
        },
        ["1.0", "1.1", "1.1.1", "2.0"],
    )
)


def test_the_text_has_a_line_for_each_function_that_changed() -> None:
    assert TEXT == "changes some\nread 1.0 1.1 1.1.1 2.0\nin some.trainer\nTrainer.loss 1.1.1 2.0\nloss 2.0"


def test_it_is_looked_up_by_the_last_name_as_tracebacks_have_it() -> None:
    changes = Changes.unpack(bind_changes(TEXT + "\n"), "some.changed")
    assert changes.releases == ("1.0", "1.1", "1.1.1", "2.0")
    assert changes.of("some.trainer", "loss") == {"Trainer.loss": ("1.1.1", "2.0"), "loss": ("2.0",)}
    assert changes.of("some.trainer", "same") == changes.of("some.quiet", "one") == changes.of("some", "loss") == {}


@pytest.mark.parametrize("data", [b"", b"envdoctor-changes 1\n", bind_changes(TEXT)[:-9], b"envdoctor-changes 1\n\xff\x00\xff"])
def test_damaged_bytes_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(DamagedAtlasError, match=r"some\.changed"):
        Changes.unpack(data, "some.changed")
