"""Put a changed function in the place of the one that everybody has imported already."""

from __future__ import annotations

import ast
import functools
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any


def function_of(module: ModuleType, name: str) -> FunctionType:
    """The function behind a qualified name, without its decorators.

    Raises:
        LookupError: there is none, as for one that is used at import and then forgotten.
    """
    found: Any = module
    for part in name.split("."):
        found = vars(found).get(part)
    match found:
        case property(fget=function):
            found = function
        case classmethod() | staticmethod():
            found = found.__func__
        case functools.cached_property(func=function):
            found = function
    while hasattr(found, "__wrapped__"):
        if hasattr(found, "cache_clear"):
            found.cache_clear()
        found = found.__wrapped__
    if not isinstance(found, FunctionType):
        raise LookupError(f"{module.__name__} has no function {name}")
    return found


def swap(module_name: str, name: str, text: str) -> None:
    """Give a function the code and the defaults that it has in a changed text of its module."""
    module = sys.modules[module_name]
    function = function_of(module, name)
    function.__code__ = _code(compile(text, str(module.__file__), "exec", dont_inherit=True), name)
    arguments = _definition(ast.parse(text), name).args
    function.__defaults__ = tuple(_default(node, module) for node in arguments.defaults) or None
    for argument, node in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if node is not None and function.__kwdefaults__ is not None:
            function.__kwdefaults__[argument.arg] = _default(node, module)


def _default(node: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), "<default>", "eval"), vars(module))


def _code(outer: CodeType, name: str) -> CodeType:
    for const in outer.co_consts:
        if isinstance(const, CodeType):
            if const.co_qualname == name:
                return const
            if name.startswith(f"{const.co_qualname}."):
                return _code(const, name)
    raise LookupError(name)


def _definition(tree: ast.AST, name: str) -> ast.FunctionDef:
    first, _, rest = name.partition(".")
    [node] = [
        n for n in ast.iter_child_nodes(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == first
    ]
    if rest:
        return _definition(node, rest)
    assert isinstance(node, ast.FunctionDef)
    return node
