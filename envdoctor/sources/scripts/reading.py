"""One script as its readers see it: calls that may run, with resolved names, and where to state what they say."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from envdoctor.facts.fact import Skip
from envdoctor.records import dataclass, field
from envdoctor.sources.scripts.claims import Claims
from envdoctor.sources.scripts.kinds import Known, Made, Table
from envdoctor.sources.scripts.names import ancestry, called, dotted, is_from
from envdoctor.sources.scripts.outline import Guard, Outline, Scope
from envdoctor.sources.scripts.partials import partial_of
from envdoctor.sources.scripts.source import Source
from envdoctor.sources.scripts.values import Evaluator

Keywords = Mapping[str, tuple[ast.expr | None, Scope]]
_MOST_CALLS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call that is not ruled out. ``sure`` says that no open condition stands above it; ``name`` is dotted, "" where unknown.

    ``at`` is the line of a call that a library makes with keywords of the script; ``chosen`` are keywords that it gives under a test of
    a release.
    """

    node: ast.Call
    scope: Scope
    sure: bool
    name: str
    keywords: Keywords
    whole: bool
    at: int | None = None
    chosen: frozenset[str] = frozenset()

    @property
    def line(self) -> int:
        return self.at or self.node.lineno

    @property
    def last(self) -> str:
        function = self.node.func
        return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""

    def line_of(self, keyword: str) -> int:
        """The line on which a keyword's value begins; the call's for one of a table."""
        return next((word.value.lineno for word in self.node.keywords if word.arg == keyword and self.at is None), self.line)


@dataclass(slots=True)
class Reading:
    source: Source
    outline: Outline
    evaluator: Evaluator
    claims: Claims
    calls: list[Call] = field(default_factory=list)
    guards: dict[int, Guard] = field(default_factory=dict)
    _named: dict[str, list[Call]] = field(default_factory=dict)
    _methods: dict[str, list[Call]] = field(default_factory=dict)
    ancestries: dict[str, list[str]] = field(default_factory=dict)

    def find_calls(self) -> None:
        """Resolve all calls once."""
        for site in self.outline.calls:
            runs = self.evaluator.runs(site.guard)
            if runs is not False and isinstance(site.node, ast.Call):
                if site.guard is not None:
                    self.guards[id(site.node)] = site.guard
                given = self.evaluator.keywords(site.node, site.scope)
                name = called(self.outline, site.node, site.scope) or ""
                part = partial_of(self.outline, site.node.func, site.scope) if not name else None
                if part is not None:
                    before = self.evaluator.keywords(part.node, part.scope)
                    whole, chosen = given.whole and before.whole, given.chosen | before.chosen
                    name, given = part.name, Table({**before.entries, **given.entries}, whole, chosen)
                call = Call(site.node, site.scope, runs is True, name, given.entries, given.whole, chosen=given.chosen)
                self.calls.append(call)
                self._named.setdefault(name.rpartition(".")[2], []).append(call)
                if isinstance(site.node.func, ast.Attribute):
                    self._methods.setdefault(site.node.func.attr, []).append(call)

    def add(self, call: Call, method: str) -> None:
        """Take down a call of a method that a library makes for the script."""
        self.calls.append(call)
        self._named.setdefault(method, []).append(call)
        self._methods.setdefault(method, []).append(call)

    def is_provided(self, call: Call) -> bool:
        """Whether a call is made where the script provides for releases that do not take it."""
        provision = self.evaluator.provision
        return provision.stands_over(self.guards.get(id(call.node))) or provision.comes_after(call.node, call.scope)

    def is_tested(self, call: Call) -> bool:
        """Whether a test of a release, or of what is there, stands over a call."""
        guard, asks = self.guards.get(id(call.node)), self.evaluator.provision.asks
        while guard is not None and (guard.test is None or not asks(guard.test, guard.scope)):
            guard = guard.above
        return guard is not None

    def named(self, package: str, *lasts: str) -> Iterator[Call]:
        """Calls of objects of a package."""
        return (call for last in lasts for call in self._named.get(last, ()) if is_from(call.name, package, last))

    def methods(self, *names: str) -> Iterator[Call]:
        """Calls of methods of these names, whatever of."""
        return (call for name in names for call in self._methods.get(name, ()))

    def value(self, call: Call, keyword: str, position: int | None = None) -> Known | None:
        """The value that a call gives a parameter; None where it is unknown or not given."""
        if keyword in call.keywords:
            expression, scope = call.keywords[keyword]
            return self.evaluator.of(expression, scope)
        if position is not None and call.at is None and position < len(call.node.args):
            return self.evaluator.of(call.node.args[position], call.scope)
        return None

    def of(self, expression: ast.expr | None, scope: Scope) -> Known | None:
        return self.evaluator.of(expression, scope)

    def made(self, known: Known | None) -> Made | None:
        return known.value if known is not None and isinstance(known.value, Made) else None

    def dotted(self, expression: ast.AST, scope: Scope) -> str | None:
        return dotted(self.outline, expression, scope)

    def ancestry(self, name: str) -> list[str]:
        """The dotted names of a class and of those that it derives from, as far as the file tells."""
        if name not in self.ancestries:
            self.ancestries[name] = ancestry(self.outline, name)
        return self.ancestries[name]

    def few(self, calls: list[Call]) -> list[Call]:
        """The first calls of a kind; that a file has more is said: it is no training script."""
        if len(calls) > _MOST_CALLS:
            why = f"more than {_MOST_CALLS} calls like the one on {self.source.short(calls[0].line)}: the rest is not read"
            self.claims.skips.append(Skip(self.source.place(calls[_MOST_CALLS].line), why))
        return calls[:_MOST_CALLS]

    def is_kind(self, name: str, package: str, *lasts: str) -> bool:
        """Whether a dotted name is a class of a package, or a class of the file that derives from one."""
        return any(is_from(one, package, last) for one in self.ancestry(name) for last in lasts)

    def imports(self, package: str) -> bool:
        """Whether anything is imported from a package."""
        return any(name.partition(".")[0] == package for name, _ in self.outline.imports)
