"""The faster walk over a syntax tree tells what ``ast.walk`` does."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from envdoctor.syntax.walking import children, statements, walk

ROOT = Path(__file__).resolve().parent.parent
UNASKED = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
EVERYTHING = """
import a as b, c
async def f(x: int = 1, /, *y, z=None, **k) -> None:
    global g
    async with a as (b, c): pass
    async for i in x: await i
    return {**k, 1: 2}, {1, 2}, [i async for i in x if i], lambda q, *, r=1: (yield)
class C(b, metaclass=m): x: int = 3; y[1:2, ...] += 4
try: raise E from e
except (A, B) as e: del e
else: assert x, 'why'
finally: f'{x!r:>{width}}'
match x:
    case {'a': 1, **rest}: pass
    case [1, *more] | P(2, k=3) as whole if (n := 4): pass
    case None | True: pass
while x and not y or 1 < z <= 3: continue
"""


@pytest.mark.parametrize("text", [EVERYTHING, *(path.read_text() for path in sorted((ROOT / "envdoctor" / "atlas").glob("*.py"))[:12])])
def test_the_same_nodes_in_the_same_order(text: str) -> None:
    tree = ast.parse(text)
    plain = [node for node in ast.walk(tree) if not isinstance(node, UNASKED)]
    assert list(walk(tree)) == plain
    for node in plain:
        assert children(node) == [one for one in ast.iter_child_nodes(node) if not isinstance(one, UNASKED)]
    assert set(statements(tree.body)) == {node for node in plain if isinstance(node, ast.stmt)}
