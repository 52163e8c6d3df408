"""Public revisions, recognised by content: the table is sound, and a mixed snapshot is told as such."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from envdoctor.snapshot.revisions import FileDigest, describe, recognise, repositories, revisions, supported_transformers

ROOT = Path(__file__).parent.parent.parent
TABLE: dict[str, Any] = json.loads((ROOT / "envdoctor" / "data" / "revisions.json").read_text(encoding="utf-8"))
CHATGLM3 = "THUDM/chatglm3-6b"

# Git blob ids as the hub shows them.
CONFIG = FileDigest(git_blob="37933c87f711fa0815a7712880bbf83eac4299c5")
MODEL_OF_DECEMBER = FileDigest(git_blob="dc5c662b87ecce81078daf3a8a8b7c64d74b2d21")
MODEL_OF_FEBRUARY = FileDigest(git_blob="1adc3125e3a61c73518a57383e2a8d7d6740c9ca")
TOKENIZER_OF_NOVEMBER = FileDigest(git_blob="50e44b05e4b3e54d2f1c3f0cab8247ea53a7d4e5")
TOKENIZER_OF_FEBRUARY = FileDigest(git_blob="be1cbbf6a3601de6f291e498c482e74cc91eedea")
LLAMA_VOCABULARY = FileDigest(499723, sha256="9e556afd44213b6bd1be2b850ebbbd98f5481437a8021afaf58ee7fb1818d347")


def rows() -> Iterator[tuple[Mapping[str, Any], str, Mapping[str, Any]]]:
    for entry in TABLE["repositories"]:
        for name, contents in entry["files"].items():
            for row in contents:
                yield entry, name, row


def digest_of(row: Mapping[str, Any]) -> FileDigest:
    return FileDigest(row.get("size"), row.get("sha256"), row.get("git"))


def at(repo: str, number: int) -> dict[str, FileDigest]:
    """The files that the table knows of one revision."""
    entry = next(item for item in TABLE["repositories"] if item["repo"] == repo)
    return {
        name: digest_of(row)
        for name, contents in entry["files"].items()
        for row in contents
        if any(first <= number <= last for first, last in row["at"])
    }


def number_of(repo: str, commit: str) -> int:
    return next(revision.number for revision in revisions(repo) if revision.id.startswith(commit))


REVISIONS = [(entry["repo"], number) for entry in TABLE["repositories"] for number in range(len(entry["revisions"]))]


# The story: model code of February 2024 beside older files trains in 26 GiB instead of 13 and says nothing.


def test_a_snapshot_is_recognised_whatever_its_files_are_called() -> None:
    files = {"weights/settings": CONFIG, "net.py": MODEL_OF_FEBRUARY, "tok.py": TOKENIZER_OF_FEBRUARY}
    found = recognise(files)
    assert not found.mixed
    assert [(part.repo, part.revisions[0].id[:8], part.revisions[-1].id[:8]) for part in found.consistent] == [
        (CHATGLM3, "f3082595", "b3121c8")
    ]
    assert describe(found) == (
        "net.py is THUDM/chatglm3-6b f3082595 .. b3121c8 (after 2024-02-06) (there modeling_chatglm.py): "
        "gradient checkpointing is a silent no-op; generation fails from transformers 4.42 on; cannot be loaded by transformers 5",
        "tok.py is THUDM/chatglm3-6b 37f2196f .. 67d005d3 (after 2023-12-07) (there tokenization_chatglm.py): "
        "tokenizing fails from transformers 4.45 on (padding_side); building chat prompts fails from transformers 5 on",
        "all 3 recognised files are of THUDM/chatglm3-6b f3082595 .. b3121c8 (after 2024-02-06)",
    )


def test_a_mixed_snapshot_is_told_file_by_file() -> None:
    found = recognise({"config.json": CONFIG, "modeling_chatglm.py": MODEL_OF_FEBRUARY, "tokenization_chatglm.py": TOKENIZER_OF_NOVEMBER})
    assert found.mixed
    assert not found.consistent
    assert [(part.files, part.revisions[0].id[:8]) for part in found.parts] == [
        (("tokenization_chatglm.py",), "e46a1488"),
        (("config.json", "modeling_chatglm.py"), "f3082595"),
    ]
    assert describe(found)[-1] == (
        "a mixed snapshot: tokenization_chatglm.py of THUDM/chatglm3-6b e46a1488 .. 340a2eb3 (from 2023-11-09); "
        "config.json, modeling_chatglm.py of THUDM/chatglm3-6b f3082595 .. b3121c8 (after 2024-02-06)"
    )


def test_a_stray_file_of_another_model_does_not_hide_the_mixture() -> None:
    found = recognise({"a.py": MODEL_OF_FEBRUARY, "b.py": TOKENIZER_OF_NOVEMBER, "vocabulary": LLAMA_VOCABULARY})
    assert found.mixed
    assert {part.repo for part in found.parts} == {CHATGLM3, "huggyllama/llama-7b"}


def test_files_of_two_models_are_no_mixed_snapshot() -> None:
    found = recognise({"a.py": MODEL_OF_FEBRUARY, "vocabulary": LLAMA_VOCABULARY})
    assert not found.mixed
    assert describe(found)[-1].startswith("files of several origins: ")


def test_a_revision_that_may_have_the_file_is_no_ground_for_accusing() -> None:
    """The table knows the tokenizer of bd8234f and the index of all revisions, but not the model code between."""
    repo = "THUDM/glm-4-9b-chat"
    july = at(repo, number_of(repo, "76f3474"))
    files = {name: digest for name, digest in july.items() if name in ("config.json", "generation_config.json")}
    tokenizer = at(repo, number_of(repo, "bd8234f"))["tokenizer_config.json"]
    found = recognise({**files, "tokenizer_config.json": tokenizer})
    assert not found.consistent
    assert not found.mixed
    assert describe(found)[-1].startswith("between the revisions that are known: ")


def test_the_february_code_checkpoints_nothing_and_the_december_code_does() -> None:
    february, december = (recognise({"m.py": digest}).files["m.py"][0] for digest in (MODEL_OF_FEBRUARY, MODEL_OF_DECEMBER))
    assert "chatglm-gradient-checkpointing-no-op" in february.breaks
    assert "chatglm-gradient-checkpointing-no-op" not in december.breaks
    change = revisions(CHATGLM3)[number_of(CHATGLM3, "37fe0008")]
    assert change.date == "2024-02-06"
    assert "no-op" in (change.note or "")
    assert december.revisions[-1].number == change.number - 1


def test_the_file_that_limits_transformers_is_named() -> None:
    found = recognise({"config.json": CONFIG, "modeling_chatglm.py": MODEL_OF_FEBRUARY, "tokenization_chatglm.py": TOKENIZER_OF_FEBRUARY})
    supported = supported_transformers(found)
    assert supported is not None
    assert supported.specifier == ">=4.37.2,<4.42.0"
    assert [limit.file for limit in supported.limits] == ["modeling_chatglm.py"]
    assert "chatglm-generate-cache-pair" in supported.limits[0].because


def test_two_files_can_limit_transformers_together() -> None:
    repo = "THUDM/chatglm2-6b"
    supported = supported_transformers(recognise(at(repo, number_of(repo, "8fd7fba"))))
    assert supported is not None
    assert supported.specifier == "<4.34.0"
    assert [limit.file for limit in supported.limits] == ["tokenization_chatglm.py"]
    december = at(CHATGLM3, number_of(CHATGLM3, "456aa87"))
    supported = supported_transformers(recognise(december))
    assert supported is not None
    assert supported.specifier == ">=4.30.2,!=4.35.*,<4.42.0"


def test_nothing_is_known_of_nothing() -> None:
    found = recognise({})
    assert (found.files, found.unknown, found.consistent, found.parts, found.mixed) == ({}, (), (), (), False)
    assert describe(found) == ()
    assert supported_transformers(found) is None


def test_a_file_without_any_digest_is_unknown() -> None:
    assert recognise({"config.json": FileDigest(1317)}).unknown == ("config.json",)


def test_a_digest_with_another_size_is_unknown() -> None:
    assert recognise({"v": FileDigest(499724, LLAMA_VOCABULARY.sha256)}).unknown == ("v",)


def test_a_known_blob_id_beside_another_sha256_is_unknown() -> None:
    assert recognise({"m.py": FileDigest(sha256="0" * 64, git_blob=MODEL_OF_FEBRUARY.git_blob)}).unknown == ("m.py",)


def test_a_renamed_organisation_finds_the_same_revisions() -> None:
    assert revisions("zai-org/chatglm3-6b") == revisions(CHATGLM3)
    assert revisions("nobody/nothing") == ()


# Laws.


@given(st.dictionaries(st.text(max_size=20), st.binary(min_size=32, max_size=32).map(bytes.hex)))
def test_unknown_digests_recognise_nothing(digests: dict[str, str]) -> None:
    found = recognise({name: FileDigest(1, digest, digest[:40]) for name, digest in digests.items()})
    assert not found.files
    assert found.unknown == tuple(sorted(digests))
    assert not found.mixed
    assert describe(found) == ()


@given(st.data())
def test_the_order_of_the_files_is_irrelevant(data: st.DataObject) -> None:
    known = [(f"{name}-{place}", digest_of(row)) for place, (_, name, row) in enumerate(rows())]
    chosen = data.draw(st.lists(st.sampled_from(known), max_size=8, unique=True))
    shuffled = data.draw(st.permutations(chosen))
    assert recognise(dict(chosen)) == recognise(dict(shuffled))


@given(st.sampled_from(REVISIONS), st.data())
def test_files_of_one_revision_are_consistent_with_it(revision: tuple[str, int], data: st.DataObject) -> None:
    repo, number = revision
    files = at(repo, number)
    some = {name: files[name] for name in files if data.draw(st.booleans())}
    found = recognise(some)
    assert not found.mixed
    assert not found.unknown
    if some:
        part = next(part for part in found.consistent if part.repo == repo)
        assert number in [held.number for held in part.revisions]


@given(st.data())
def test_every_recognised_file_is_in_one_part_and_its_revisions_have_it(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from([digest_of(row) for _, _, row in rows()]), max_size=8, unique=True))
    found = recognise({str(place): digest for place, digest in enumerate(chosen)})
    parts = found.consistent[:1] or found.parts
    assert sorted(name for part in parts for name in part.files) == sorted(found.files)
    for part in parts:
        for name in part.files:
            held = {revision.number for known in found.files[name] if known.repo == part.repo for revision in known.revisions}
            assert held >= {revision.number for revision in part.revisions}


# The table.


def test_digests_are_lower_case_hexadecimal_of_the_right_length() -> None:
    for entry, name, row in rows():
        place = f"{entry['repo']} {name}"
        assert row.get("sha256") or row.get("git"), place
        assert re.fullmatch("[0-9a-f]{64}", row.get("sha256", "0" * 64)), place
        assert re.fullmatch("[0-9a-f]{40}", row.get("git", "0" * 40)), place
        assert row.get("size", 0) >= 0, place


def test_one_digest_is_one_content() -> None:
    seen: dict[str, dict[str, object]] = {}
    for entry, name, row in rows():
        for key in ("sha256", "git"):
            for other in ("sha256", "git", "size"):
                if key in row and other in row:
                    assert seen.setdefault(row[key], {}).setdefault(other, row[other]) == row[other], f"{entry['repo']} {name}"


def test_no_repository_lists_a_content_of_a_file_twice() -> None:
    for entry in TABLE["repositories"]:
        for name, contents in entry["files"].items():
            digests = [row.get("sha256") or row["git"] for row in contents]
            assert len(digests) == len(set(digests)), f"{entry['repo']} {name}"


def test_a_file_has_one_content_at_a_revision() -> None:
    for entry in TABLE["repositories"]:
        for name, contents in entry["files"].items():
            held = [number for row in contents for first, last in row["at"] for number in range(first, last + 1)]
            assert len(held) == len(set(held)), f"{entry['repo']} {name}"


def test_spans_lie_within_the_history() -> None:
    for entry, name, row in rows():
        assert row["at"], f"{entry['repo']} {name}"
        for first, last in (*row["at"], *row.get("maybe", ())):
            assert 0 <= first <= last < len(entry["revisions"]), f"{entry['repo']} {name}"


def test_every_row_has_a_source_and_every_source_an_address() -> None:
    for _, _, row in rows():
        assert row["sources"]
        assert set(row["sources"]) <= set(TABLE["sources"])
    for entry in TABLE["repositories"]:
        assert entry["sources"]
        for revision in entry["revisions"]:
            assert set(revision.get("sources", ())) <= set(TABLE["sources"])
            assert not revision.get("note") or revision["sources"]
    for source in TABLE["sources"].values():
        assert re.fullmatch(r"https://\S+", source["url"])
        assert source["kind"] in ("history", "copy", "manifest", "page", "issue")
        assert source["what"]


def test_a_digest_that_is_only_of_a_copy_says_so() -> None:
    """A copy proves a content, not whose revision it is: that comes from a page, or is called inferred."""
    for entry, name, row in rows():
        kinds = {TABLE["sources"][key]["kind"] for key in row["sources"]}
        assert kinds != {"copy"}, f"{entry['repo']} {name}"
        assert "inferred" in row or kinds & {"history", "manifest", "page"}, f"{entry['repo']} {name}"


def test_commits_are_named_once_and_in_hexadecimal() -> None:
    for entry in TABLE["repositories"]:
        ids = [revision["id"] for revision in entry["revisions"]]
        assert all(re.fullmatch("[0-9a-f]{7,40}", commit) for commit in ids), entry["repo"]
        assert len({commit[:7] for commit in ids}) == len(ids), entry["repo"]
        assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", revision["date"]) for revision in entry["revisions"] if "date" in revision)


def test_rules_that_a_content_can_meet_exist_and_ranges_can_be_read() -> None:
    rules = {path.stem for path in (ROOT / "rules").rglob("*.toml")}
    digests = {row.get("sha256") for _, _, row in rows()}
    assert set(TABLE["words"]) <= rules
    for digest, content in TABLE["contents"].items():
        assert digest in digests
        assert set(content.get("breaks", ())) <= rules
        if "transformers" in content:
            assert list(SpecifierSet(content["transformers"]))
            assert content["because"]
        for reason in content.get("because", ()):
            assert reason in rules or reason.startswith("https://")


@pytest.mark.parametrize("repo", repositories())
def test_the_page_lists_every_repository_with_its_sources(repo: str) -> None:
    page = (ROOT / "docs" / "revisions.md").read_text(encoding="utf-8")
    entry = next(item for item in TABLE["repositories"] if item["repo"] == repo)
    assert f"`{repo}`" in page
    for key in entry["sources"]:
        assert TABLE["sources"][key]["url"] in page
