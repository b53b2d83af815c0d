"""Mutants of a module: mutmut's operators on every function, each giving the whole text of the changed module.

Besides mutmut's, one operator of our own leaves out a statement that is nothing but a call: `payer.debit(event)`.

Left alone, because a test would only repeat the text or nothing depends on it: what stands in a `raise` (messages),
annotations and docstrings, decorators, `TYPE_CHECKING` blocks, and what is not within a function (constants of a
module, fields of a class: they are read at import, before anything could be changed).
"""

from __future__ import annotations

import ast
import collections
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

SKIPPED = (cst.Annotation, cst.Raise, cst.Decorator, cst.Import, cst.ImportFrom)
UNTOUCHED_CALLS = ("len", "isinstance", "cast")


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        file: The module's file, relative to the source folder.
        function: Qualified name of the outermost function or method that was changed.
        number: Which of the function's mutants.
        lines: First and last line of what was changed, in the module as it is.
        before: What stood there.
        after: What stands there now.
        text: The changed module.
    """

    file: str
    function: str
    number: int
    lines: tuple[int, int]
    before: str
    after: str
    text: str


class _Visitor(cst.CSTVisitor):
    """Collects changes of what stands within functions: place in the module, function, node, new node, lines."""

    def __init__(self, positions: Mapping[cst.CSTNode, Any]) -> None:
        super().__init__()
        self.positions, self.place = positions, 0
        self.scope: list[str] = []
        self.depth = 0
        self.whole: tuple[int, int] | None = None  # lines of the function, while its signature is looked at
        self.found: list[tuple[int, str, cst.CSTNode, cst.CSTNode, tuple[int, int]]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, SKIPPED):
            return False
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in UNTOUCHED_CALLS:
            return False
        if isinstance(node, cst.ClassDef | cst.FunctionDef):
            if not self.depth:
                self.scope.append(node.name.value)
            self.depth += isinstance(node, cst.FunctionDef)
        elif self.depth:
            lines = self.whole or self._lines(node)
            self.found += [(self.place, ".".join(self.scope), node, changed, lines) for changed in _changes(node)]
        return True

    def visit_FunctionDef_params(self, node: cst.FunctionDef) -> None:
        self.whole = self._lines(node)  # a default is used wherever the function is; its own line runs at import

    def leave_FunctionDef_params(self, node: cst.FunctionDef) -> None:
        self.whole = None

    def _lines(self, node: cst.CSTNode) -> tuple[int, int]:
        where = self.positions.get(node)
        return (where.start.line, where.end.line) if where else (0, 0)

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.ClassDef | cst.FunctionDef):
            self.depth -= isinstance(original_node, cst.FunctionDef)
            if not self.depth:
                self.scope.pop()


def _changes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for kind, operator in mutation_operators:
        if isinstance(node, kind):
            yield from operator(node)
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        yield cst.Expr(cst.Ellipsis())


class _Replacement(cst.CSTTransformer):
    def __init__(self, old: cst.CSTNode, new: cst.CSTNode) -> None:
        super().__init__()
        self.old, self.new = old, new

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node is not self.old

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        return self.new if original_node is self.old else updated_node


def mutants_of(source: Path, file: str, share: float = 1.0, draw: int = 0) -> list[Mutant]:
    """Mutants of a module that are Python and not the same program; a share of them is a fair sample.

    The same `draw` gives the same sample each time, and with a larger share the mutants of a smaller one, and more.
    """
    text = (source / file).read_text()
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    module, visitor = wrapper.module, _Visitor(wrapper.resolve(PositionProvider))
    for visitor.place, statement in enumerate(module.body):
        statement.visit(visitor)
    texts = [module.code_for_node(statement) for statement in module.body]
    numbers: collections.Counter[str] = collections.Counter()
    changes = []
    for place, function, old, new, lines in visitor.found:
        numbers[function] += 1
        changes.append((place, function, numbers[function], old, new, lines))
    random.Random(f"{file} {draw}").shuffle(changes)
    found = []
    for place, function, number, old, new, lines in changes[: math.ceil(share * len(changes))]:
        changed = module.code_for_node(module.body[place].visit(_Replacement(old, new)))  # type: ignore[arg-type]
        try:
            if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(texts[place])):
                continue
        except SyntaxError:
            continue
        before, after = (module.code_for_node(node).strip() for node in (old, new))
        whole = "".join([*texts[:place], changed, *texts[place + 1 :]])
        found.append(Mutant(file, function, number, lines, before, after, whole))
    return found
