"""Instructions of a Dockerfile, each with its line, flags and heredocs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from envdoctor.sources.docker.parse import INSTRUCTIONS, parse_dockerfile


def told(text: str) -> list[tuple[str, int, str]]:
    return [(one.keyword, one.line, one.body.text) for one in parse_dockerfile(text).instructions]


def test_continuation_lines_and_what_stands_between_them() -> None:
    text = "FROM a\n  # a comment\nrun echo 1 && \\\n# between\n\n   \\\n    echo 2 \\  \n  echo 3\nCMD x"
    parsed = parse_dockerfile(text)
    assert [(one.keyword, one.line) for one in parsed.instructions] == [("FROM", 1), ("RUN", 3), ("CMD", 9)]
    run = parsed.instructions[1].body
    assert run.text == "echo 1 && " + "   " + "    echo 2 " + "  echo 3"
    assert [run.line_at(run.text.index(f"echo {n}")) for n in (1, 2, 3)] == [3, 7, 8]
    assert parsed.problems == ()


def test_parser_directives_are_read_on_top_alone() -> None:
    parsed = parse_dockerfile("# syntax=docker/dockerfile:1\n# escape=`\nFROM a\nRUN one `\n two\\\nWORKDIR c:\\\\\n# escape=\\\n")
    assert (parsed.syntax, parsed.escape) == ("docker/dockerfile:1", "`")
    assert [(one.keyword, one.line, one.body.text) for one in parsed.instructions] == [
        ("FROM", 3, "a"),
        ("RUN", 4, "one  two\\"),
        ("WORKDIR", 6, "c:\\\\"),
    ]
    late = parse_dockerfile("# only a comment\n# escape=`\nFROM a\nRUN x \\\n y\n")
    assert late.escape == "\\"
    assert len(late.instructions) == 2


def test_a_doubled_escape_continues_nothing() -> None:
    assert told("FROM a\nRUN x \\\\\nCMD y\n") == [("FROM", 1, "a"), ("RUN", 2, "x \\\\"), ("CMD", 3, "y")]


def test_byte_order_mark_and_windows_line_ends() -> None:
    assert told("\ufeffFROM a\r\nRUN x \\\r\n y\r\n") == [("FROM", 1, "a"), ("RUN", 2, "x  y")]


def test_flags_and_the_json_form() -> None:
    run, copy, entry, broken = parse_dockerfile(
        "RUN --mount=type=cache,target=/root/.cache --network=none pip list\n"
        'COPY --from=build --chown="a b" ["x y", "/z"]\nENTRYPOINT ["python", "-m", "m"]\nCMD [\'python\']\n'
    ).instructions
    assert run.flags == (("mount", "type=cache,target=/root/.cache"), ("network", "none"))
    assert run.body.text == "pip list"
    assert (copy.flag("from"), copy.words) == ("build", ("x y", "/z"))
    assert entry.words == ("python", "-m", "m")
    assert broken.words is None


def test_heredocs_several_quoted_and_dedented() -> None:
    text = 'COPY <<one <<-"two" /x/\n# no comment\n\\\none\n\t\tfrom tabs\n\ttwo\n'
    text += 'RUN 3<<EOF cat && echo \'<<no\' "<<NO" $((1<<3))\nx\nEOF\nRUN ["<<EOF"]\n'
    copy, run, form = parse_dockerfile(text).instructions
    assert [(h.name, h.expand, h.body.text, h.body.line_at(0)) for h in copy.heredocs] == [
        ("one", True, "# no comment\n\\\n", 2),
        ("two", False, "from tabs\n", 5),
    ]
    assert [(h.name, h.body.text) for h in run.heredocs] == [("EOF", "x\n")]
    assert (form.line, form.heredocs, form.words) == (10, (), ("<<EOF",))


def test_only_three_instructions_carry_heredocs() -> None:
    assert told("ENV A=1 <<EOF\nFROM b\n") == [("ENV", 1, "A=1 <<EOF"), ("FROM", 2, "b")]
    onbuild = parse_dockerfile("ONBUILD RUN <<EOF\nls\nEOF\nFROM b\n")
    assert [one.keyword for one in onbuild.instructions] == ["ONBUILD", "FROM"]
    assert onbuild.instructions[0].heredocs[0].body.text == "ls\n"


def test_what_is_no_instruction_hides_nothing() -> None:
    parsed = parse_dockerfile("FROM a\nINSTALL torch\nRUN <<EOF\npip install x\n")
    assert [one.keyword for one in parsed.instructions] == ["FROM", "RUN"]
    assert parsed.problems == ((2, "'INSTALL' is no instruction of a Dockerfile"), (3, "the heredoc 'EOF' is never ended"))
    assert parsed.instructions[1].heredocs[0].body.text == "pip install x\n\n"


WORD = st.text(st.characters(codec="ascii", categories=("L", "N"), include_characters="=./:-_"), min_size=1, max_size=8).filter(
    lambda word: not word.startswith("--")
)
BODY = st.lists(WORD, min_size=1, max_size=4)
BREAK = st.sampled_from([" ", " \\\n", " \\\n# comment\n ", " \\\n\n\t", " \\ \t\n"])


@given(
    st.lists(st.tuples(st.sampled_from(sorted(INSTRUCTIONS - {"ONBUILD"})), BODY, BREAK, st.sampled_from(["", "\n", "# c\n"])), max_size=8)
)
def test_what_was_written_is_read_back_with_its_lines(rows: list[tuple[str, list[str], str, str]]) -> None:
    text, expected, line = "FROM base\n", [("FROM", 1, ["base"], [1])], 2
    for keyword, words, joint, after in rows:
        written = f"{keyword} {joint.join(words)}"
        lines = [line + joint.count("\n") * n for n in range(len(words))]
        expected.append((keyword, line, words, lines))
        text += f"{written}\n{after}"
        line += written.count("\n") + 1 + after.count("\n")
    read = []
    for one in parse_dockerfile(text).instructions:
        words = one.body.text.split()
        at, lines = 0, []
        for word in words:
            at = one.body.text.index(word, at)
            lines.append(one.body.line_at(at))
            at += len(word)
        read.append((one.keyword, one.line, words, lines))
    assert read == expected


@given(st.text(st.sampled_from("FROM RUN<<EOF\n\\#`\"' =-[]")))
def test_no_text_is_too_odd(text: str) -> None:
    parsed = parse_dockerfile(text)
    last = text.count("\n") + 1
    assert all(1 <= one.line <= last for one in parsed.instructions)
    assert all(1 <= line <= last for line, _ in parsed.problems)
