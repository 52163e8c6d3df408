"""The grammar of a shell script, as far as it decides which commands run: POSIX, with bash's tests, arrays and sums.

Words keep their quotes and variables; they are expanded when a command is looked at, because variables change on the way.
"""

from __future__ import annotations

import re

from envdoctor.records import dataclass
from envdoctor.sources.shell.lexer import ASSIGNMENT, CutError, Lexer, ShellError, Token
from envdoctor.sources.shell.text import Heredoc, Text
from envdoctor.sources.shell.tree import Case, For, Function, Group, If, Node, Not, Redirect, Sequence, Simple, While, Word

_FUNCTION = re.compile(r"[^\s$'\"`=]+")
# What sets one element leaves the array unknown: as $? is.
_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[[^\]]*\]\+?=")
_CLOSERS = frozenset(("then", "do", "else", "elif", "fi", "done", "esac", "}"))
_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Script:
    """What was understood, up to ``problem`` where there is one."""

    body: Sequence
    problem: ShellError | None = None


def parse_shell(text: Text, heredocs: tuple[Heredoc, ...] = ()) -> Script:
    """Read a script; ``heredocs`` are those that the Dockerfile holds for it."""
    try:
        tokens, problem = Lexer(text, list(heredocs)).tokens(), None
    except CutError as cut:
        tokens, problem = cut.tokens, cut.problem
    parser = _Parser(tokens)
    items: list[tuple[str, Node]] = []
    try:
        parser.into(items)
        parser.nothing_left()
    except ShellError as error:
        problem = problem or error
    return Script(Sequence(tuple(items)), problem)


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens, self.at, self.depth = tokens, 0, 0

    def _advance(self) -> None:
        self.at = min(self.at + 1, len(self.tokens) - 1)

    def nothing_left(self) -> None:
        token = self.tokens[self.at]
        if token.kind != "end":
            raise ShellError(token.line, f"{token.text.strip() or 'a line end'!r} stands where a command was expected")

    def into(self, items: list[tuple[str, Node]]) -> None:
        """Read commands up to a closing word or parenthesis; what was read stays, whatever comes after."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ShellError(self.tokens[self.at].line, "nested too deep")
        before = ";"
        while True:
            self._newlines()
            token = self.tokens[self.at]
            if token.kind == "end" or (token.kind == "word" and token.text in _CLOSERS) or token.text in (")", ";;", ";&", ";;&"):
                break
            items.append((before, self._command()))
            token = self.tokens[self.at]
            if token.kind == "operator" and token.text in ("&&", "||", "|", "|&", ";", "&", "\n"):
                before = {"|&": "|", "\n": ";"}.get(token.text, token.text)
                self._advance()
            else:
                break
        self.depth -= 1

    def _sequence(self) -> Sequence:
        items: list[tuple[str, Node]] = []
        self.into(items)
        return Sequence(tuple(items))

    def _newlines(self) -> None:
        while self.tokens[self.at].kind == "operator" and self.tokens[self.at].text in ("\n", ";", "&"):
            self._advance()

    def _is_word(self, text: str) -> bool:
        token = self.tokens[self.at]
        return token.kind == "word" and token.text == text

    def _expect(self, text: str) -> None:
        self._newlines()
        token = self.tokens[self.at]
        if token.text != text or token.kind not in ("word", "operator"):
            raise ShellError(token.line, f"{text!r} was expected")
        self._advance()

    def _command(self) -> Node:
        token = self.tokens[self.at]
        if token.kind == "operator":
            if token.text == "(":
                return self._group(")", subshell=True)
            raise ShellError(token.line, f"{token.text.strip() or 'a line end'!r} stands where a command was expected")
        if token.kind == "word":
            reader = {
                "!": self._not,
                "if": self._if,
                "for": self._for,
                "select": self._for,
                "while": self._while,
                "until": self._while,
                "case": self._case,
                "function": self._function,
            }.get(token.text)
            if reader is not None:
                return reader()
            if token.text == "{":
                return self._group("}", subshell=False)
            if self._defines(self.at):
                return self._function()
        return self._simple()

    def _defines(self, at: int) -> bool:
        following = self.tokens[at + 1 : at + 3]
        named = _FUNCTION.fullmatch(self.tokens[at].text) is not None
        return named and [(token.kind, token.text) for token in following] == [("operator", "("), ("operator", ")")]

    def _not(self) -> Node:
        self._advance()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ShellError(self.tokens[self.at].line, "nested too deep")
        node = Not(self._command())
        self.depth -= 1
        return node

    def _group(self, end: str, *, subshell: bool) -> Node:
        self._advance()
        body = self._sequence()
        self._expect(end)
        self._redirects()
        return Group(body, subshell)

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while self.tokens[self.at].kind == "redirect":
            found.append(self._one_redirect())
        return tuple(found)

    def _one_redirect(self) -> Redirect:
        token = self.tokens[self.at]
        self._advance()
        if token.text == "<<":
            return Redirect("<<", heredoc=token.heredoc)
        target = self.tokens[self.at]
        self._advance()
        return Redirect(token.text, Word(target.text, target.line))

    def _if(self) -> Node:
        branches: list[tuple[Sequence, Sequence]] = []
        otherwise = None
        while True:
            self._advance()
            condition = self._sequence()
            self._expect("then")
            branches.append((condition, self._sequence()))
            if not self._is_word("elif"):
                break
        if self._is_word("else"):
            self._advance()
            otherwise = self._sequence()
        self._expect("fi")
        self._redirects()
        return If(tuple(branches), otherwise)

    def _for(self) -> Node:
        self._advance()
        token = self.tokens[self.at]
        name, words = token.text, None
        self._advance()
        if name.startswith("(("):
            return While(Sequence(()), self._body())
        if self._is_word("in"):
            self._advance()
            listed: list[Word] = []
            while self.tokens[self.at].kind == "word":
                listed.append(Word(self.tokens[self.at].text, self.tokens[self.at].line))
                self._advance()
            words = tuple(listed)
        return For(name, words, self._body())

    def _body(self) -> Sequence:
        self._expect("do")
        body = self._sequence()
        self._expect("done")
        self._redirects()
        return body

    def _while(self) -> Node:
        self._advance()
        condition = self._sequence()
        return While(condition, self._body())

    def _case(self) -> Node:
        self._advance()
        subject = Word(self.tokens[self.at].text, self.tokens[self.at].line)
        self._advance()
        self._expect("in")
        clauses: list[tuple[tuple[Word, ...], Sequence]] = []
        while True:
            self._newlines()
            if self._is_word("esac") or self.tokens[self.at].kind == "end":
                break
            if self.tokens[self.at].text == "(":
                self._advance()
            patterns: list[Word] = []
            while self.tokens[self.at].kind == "word":
                patterns.append(Word(self.tokens[self.at].text, self.tokens[self.at].line))
                self._advance()
                if self.tokens[self.at].text == "|":
                    self._advance()
            self._expect(")")
            clauses.append((tuple(patterns), self._sequence()))
            if self.tokens[self.at].text in (";;", ";&", ";;&"):
                self._advance()
        self._expect("esac")
        return Case(subject, tuple(clauses))

    def _function(self) -> Node:
        if self._is_word("function"):
            self._advance()
        name = self.tokens[self.at].text
        self._advance()
        if self.tokens[self.at].text == "(":
            self._advance()
            self._expect(")")
        self._newlines()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ShellError(self.tokens[self.at].line, "nested too deep")
        node = Function(name, self._command())
        self.depth -= 1
        return node

    def _simple(self) -> Node:
        first = self.tokens[self.at]
        assignments: list[tuple[str, bool, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        inside_test = False
        while True:
            token = self.tokens[self.at]
            if token.kind == "redirect" and not inside_test:
                redirects.append(self._one_redirect())
                continue
            if token.kind != "word" and not (inside_test and token.kind != "end"):
                break
            self._advance()
            assigned = None if words else ASSIGNMENT.match(token.text)
            if assigned and token.kind == "word":
                assignments.append((assigned[1], bool(assigned[2]), Word(token.text[assigned.end() :], token.line)))
                continue
            element = None if words else _ELEMENT.match(token.text)
            if element and token.kind == "word":
                assignments.append((element[1], False, Word("$?", token.line)))
                continue
            words.append(Word(token.text, token.line))
            if token.text == "[[" and len(words) == 1:
                inside_test = True
            elif token.text == "]]":
                inside_test = False
        if not assignments and not words and not redirects:
            raise ShellError(first.line, f"{first.text!r} stands where a command was expected")
        return Simple(first.line, tuple(assignments), tuple(words), tuple(redirects))
