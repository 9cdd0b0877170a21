"""``to_python``: write the lines that the NumPy engine runs to a file that needs only NumPy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from keyword import iskeyword

import optree

from funcgrad._core.bind import Tracer
from funcgrad._core.graph.ir import Graph
from funcgrad._engines.source.extend import Writer, results_of
from funcgrad._report.python import runtime
from funcgrad._report.python.texts import RefusedError, Texts
from funcgrad._types import Value
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.tree import TreeDef, key_path_str

_KIND = optree.PyTreeKind


def to_python(graph: Graph) -> str:
    """Return the text of the file."""
    texts = Texts(lambda body, name: _body(body, name, texts))
    name = graph.name if graph.name.isidentifier() and not iskeyword(graph.name) else "function"
    texts.taken(name)
    _refuse_tracers(graph)
    main = _main(graph, name, texts)
    imports = ["import numpy as np", *texts.imports]
    head = f'"""{name}: written out by funcgrad, as NumPy that runs without it.\n\n{_types(graph)}\n"""\n'
    return (
        "\n".join([head, *sorted(imports, key=lambda line: ("numpy" not in line, line)), ""])
        + "\n\n"
        + "\n\n\n".join([*texts.lines, main])
        + "\n"
    )


def _types(graph: Graph) -> str:
    found = ", ".join(str(x.aval) for x in graph.inputs)
    return f"From {found} to {', '.join(str(x.aval) for x in graph.outputs)}."


def _refuse_tracers(graph: Graph) -> None:
    for _, value in graph.constants:
        if isinstance(value, Tracer):
            raise UnsupportedFunctionError(
                f"to_python: a constant of {graph.name} is traced by a running {value._owner.transform}; needed "
                "numbers. Make the graph outside of transforms, or pass the value as an argument."
            )


def _lines(graph: Graph, texts: Texts) -> tuple[Writer, list[str], list[str], list[str]]:
    """Return the writer, the lines that define the names the body reads, the body, and the names of the results."""
    texts.unread(graph)
    writer = Writer(graph)
    body = writer.body()
    names, copies = results_of(writer)
    defined = []
    for each, value in writer.scope.items():
        if each == "__name__":
            continue
        try:
            text = texts.text(value)
        except RefusedError as refused:
            raise UnsupportedFunctionError(
                f"to_python: {_user(graph, value)} of {graph.name} was to be written out, and holds {refused}, which "
                "belongs to no module that the file could import. Leave it out of the function, or keep the graph with "
                "pickle instead."
            ) from refused
        if each != text:
            defined.append(f"{each} = {text}")
    return writer, defined, [*body, *copies], names


def _user(graph: Graph, value: Value) -> str:
    """Return the equation that uses a value."""
    for equation in graph.equations:
        if equation.primitive.numpy is value or any(each is value for each in equation.params.values()):
            return f"{equation.primitive.name}{f' at {equation.source}' if equation.source else ''}"
    return "a constant"


def _body(graph: Graph, name: str, texts: Texts) -> str:
    """Write a graph inside another: a function of flat arrays, inside a function that binds its names."""
    _refuse_tracers(graph)
    writer, defined, body, names = _lines(graph, texts)
    inner = [f"def {name}({', '.join(writer.inputs.values())}):", *[f"    {line}" for line in body]]
    inner.append(f"    return [{', '.join(names)}]")
    if not defined:
        return "\n".join(inner)
    lines = [f"def _make{name}():", *[f"    {line}" for line in [*defined, *inner]], f"    return {name}"]
    return "\n".join([*lines, "", "", f"{name} = _make{name}()"])


def _main(graph: Graph, name: str, texts: Texts) -> str:
    """Write the function of the user's arguments."""
    writer, defined, body, names = _lines(graph, texts)
    head, given = _signature(graph)
    checks = []
    for (argument, code), x in zip(given, graph.inputs, strict=True):
        own, aval = writer.inputs[x], x.aval
        if aval.weak:
            kind = {"i": int, "f": float, "c": complex}[aval.dtype.kind]
            checks.append(f"{own} = {texts.text(runtime.number)}({code}, {argument!r}, {texts.text(kind)})")
        else:
            dtype = texts.text(aval.dtype) if aval.dtype.num >= 256 else repr(aval.dtype.name)
            checks.append(f"{own} = {texts.text(runtime.checked)}({code}, {argument!r}, {aval.shape}, {dtype})")
    trees = graph.trees
    result = f"[{', '.join(names)}]" if trees is None else _result(trees[1], iter(names), graph.name)
    lines = [f"def {name}({head}):", *[f"    {line}" for line in [*checks, *body]], f"    return {result}"]
    if name in writer.scope:
        # The function's name may be that of a NumPy function which it calls.
        lines[0] = f"def _main({head}):"
        inner = [f"    {line}" for line in [*defined, *lines, "return _main"]]
        return "\n".join(["def _make_main():", *inner, "", "", f"{name} = _make_main()"])
    return "\n".join([*defined, *(["", ""] if defined else []), *lines])


def _signature(graph: Graph) -> tuple[str, list[tuple[str, str]]]:
    """Return the parameters of the function, and for each input its name and the expression that reads it."""
    if graph.trees is None:
        names = [f"arg{i}" for i in range(len(graph.inputs))]
        return ", ".join(names), [(name, name) for name in names]
    args, kwargs = graph.trees[0].children()
    keywords = list(kwargs.entries())
    head = [f"arg{i}" for i in range(args.num_children)] + (["*", *keywords] if keywords else [])
    given = []
    for accessor in graph.trees[0].accessors():
        path = accessor.path
        base = f"arg{path[1]}" if path[0] == 0 else str(path[1])
        code = base + key_path_str(accessor[2:])
        if not re.fullmatch(r"\w+(\[(-?\d+|'[^']*'|\"[^\"]*\")\]|\.\w+)*", code):
            raise UnsupportedFunctionError(
                f"to_python: an argument of {graph.name} has the key path {code}, which is no Python expression; "
                "needed dicts, lists, tuples and attributes. Make the graph of a function of these."
            )
        given.append((code, code))
    return ", ".join(head), given


def _result(tree: TreeDef, names: Iterator[str], name: str) -> str:
    """Return the expression of a pytree of results."""
    kind = tree.kind
    if kind == _KIND.LEAF:
        return next(names)
    if kind == _KIND.NONE:
        return "None"
    parts = [_result(child, names, name) for child in tree.children()] if kind in _WRITTEN else []
    if kind == _KIND.TUPLE:
        return f"({''.join(f'{part}, ' for part in parts)})"
    if kind == _KIND.LIST:
        return f"[{', '.join(parts)}]"
    if kind == _KIND.DICT:
        one = tree.one_level()
        found = dict(zip(tree.entries(), parts, strict=True))
        order = found if one is None else one.unflatten(range(len(found)))
        return "{" + ", ".join(f"{key!r}: {found[key]}" for key in order) + "}"
    raise UnsupportedFunctionError(
        f"to_python: the result of {name} holds a {getattr(tree.type, '__name__', tree.type)}; needed dicts, lists and "
        "tuples, which the file can make. Return these from the function."
    )


_WRITTEN = (_KIND.TUPLE, _KIND.LIST, _KIND.DICT)
